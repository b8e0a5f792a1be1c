//! Keys that lose their slots to others and are asked for at older readings, while there are slots that nobody has
//! had.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{
    Algorithm, FixedWindow, Instant, KeyedBuilder, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::race::race;
use crate::random::Random;
use crate::{NANOS_PER_MS, THREADS, repeat};

const PERIOD: u64 = NANOS_PER_MS;
const QUOTA: Quota = Quota::new(1, Duration::from_nanos(PERIOD));
/// So many keys for this many that some find all slots near them taken, and many of those they displace do not.
const DECLARED: usize = 1000;
const OLD: u64 = 1300;
const ALL: u64 = 1500;
const CALLS: u64 = 20_000;

/// So many periods pass from the first call to the last. The old keys come in the first half of the first, the new
/// ones join them later. One reading in four is late, by any time.
fn assert_one_permit_a_period<A: Algorithm>(periods: u64, limiter: impl Fn() -> KeyedBuilder<A, u64>) {
    let mut recycled = 0;
    repeat(|| {
        for threads in THREADS {
            let table = limiter().build().expect("a limiter");
            let granted: Vec<_> = (0..ALL).map(|_| AtomicU64::new(0)).collect();
            let (calls, spread) = (AtomicU64::new(0), table.hasher().key()[0]);
            race(threads, |thread| {
                let mut random = Random(spread ^ thread as u64);
                loop {
                    let call = calls.fetch_add(1, Ordering::Relaxed);
                    if call >= CALLS {
                        return;
                    }
                    let now = periods * PERIOD * call / CALLS;
                    let key = if now < PERIOD / 2 { call % OLD } else { random.below(ALL) };
                    let reading = if random.below(4) == 0 { random.below(now + 1) } else { now };
                    let is_allowed = table.check_at(&key, Instant::from_nanos(reading), 1).is_allowed();
                    granted[usize::try_from(key).expect("a small number")]
                        .fetch_add(is_allowed.into(), Ordering::Relaxed);
                }
            });
            let most = granted.into_iter().map(AtomicU64::into_inner).max();
            assert!(most <= Some(periods), "{most:?} permits");
            recycled += table.stats().recycled;
        }
    });
    assert!(recycled > 0);
}

#[test]
fn displaced_buckets_come_back_as_of_no_older_reading() {
    assert_one_permit_a_period(2, || TokenBucket::new(QUOTA).keyed(DECLARED));
}

#[test]
fn displaced_fixed_windows_come_back_as_of_no_older_reading() {
    assert_one_permit_a_period(2, || FixedWindow::new(QUOTA).keyed(DECLARED));
}

/// They are stale a period later than the others.
#[test]
fn displaced_sliding_counters_come_back_as_of_no_older_reading() {
    assert_one_permit_a_period(3, || SlidingCounter::new(QUOTA).keyed(DECLARED));
}

#[test]
fn displaced_sliding_logs_come_back_as_of_no_older_reading() {
    assert_one_permit_a_period(2, || SlidingLog::new(QUOTA).keyed(DECLARED));
}
