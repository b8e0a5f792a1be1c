//! Keys in debt that fall silent while threads make up keys, many times as many as the table has room for.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::{
    Algorithm, FixedWindow, Instant, KeyedBuilder, Outcome, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::race::race;
use crate::{THREADS, repeat};

const LIMIT: u64 = 10;
const QUOTA: Quota = Quota::per_second(LIMIT);
const CAPACITY: usize = 64;
const VICTIMS: u64 = 16;
const STRANGERS: u64 = 10 * CAPACITY as u64;

/// The strangers come all through the time that the victims need. Their own debts are small.
fn assert_debts_are_kept<A: Algorithm>(limiter: impl Fn() -> KeyedBuilder<A, u64>) {
    repeat(|| {
        for threads in THREADS {
            let table = limiter().build().expect("a limiter");
            let ask = |key, nanos, n| table.check_at(&key, Instant::from_nanos(nanos), n);
            assert!((0..VICTIMS).all(|victim| ask(victim, 0, LIMIT).is_allowed()));
            let refill = ask(0, 0, LIMIT).retry_after_nanos().expect("it is drained");

            let strangers = AtomicU64::new(0);
            race(threads, |_| {
                loop {
                    let stranger = strangers.fetch_add(1, Ordering::Relaxed);
                    if stranger >= STRANGERS {
                        return;
                    }
                    let now = (refill - 1) * stranger / STRANGERS;
                    let _ = ask(VICTIMS + stranger, now, 1);
                }
            });
            for victim in 0..VICTIMS {
                assert_eq!(ask(victim, refill - 1, LIMIT).outcome(), Outcome::Denied, "victim {victim}");
                assert!(ask(victim, refill, LIMIT).is_allowed(), "victim {victim}");
            }
            let stats = table.stats();
            assert!(stats.overflowed > 0 || stats.recycled > 0, "{stats:?}");
        }
    });
}

#[test]
fn drained_buckets_stay_drained_until_their_own_refill() {
    assert_debts_are_kept(|| TokenBucket::new(QUOTA).keyed(CAPACITY));
}

#[test]
fn spent_fixed_windows_stay_spent_until_they_end() {
    assert_debts_are_kept(|| FixedWindow::new(QUOTA).keyed(CAPACITY));
}

#[test]
fn spent_sliding_counters_stay_spent_until_their_windows_have_passed() {
    assert_debts_are_kept(|| SlidingCounter::new(QUOTA).keyed(CAPACITY));
}

#[test]
fn spent_sliding_logs_stay_spent_until_their_entries_have_left() {
    assert_debts_are_kept(|| SlidingLog::new(QUOTA).keyed(CAPACITY));
}
