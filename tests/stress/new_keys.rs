//! Threads that ask for one new key at once: it gets one state, and always gets it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{
    Algorithm, FixedWindow, Instant, Keyed, KeyedBuilder, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::race::race;
use crate::{NANOS_PER_MS, THREADS, repeat};

const LIMIT: u64 = 3;
const QUOTA: Quota = Quota::new(LIMIT, Duration::from_millis(1));
/// Tables that the threads go through in one race.
const TABLES: usize = 250;

/// A table of four slots, and what was granted of the key at hand.
struct Trial<A: Algorithm> {
    table: Keyed<A, u64>,
    granted: AtomicU64,
}

/// In every round each table is asked for a key it has not seen, at a time at which the keys before are stale.
fn assert_one_state<A: Algorithm>(threads: usize, rounds: u64, limiter: impl Fn() -> KeyedBuilder<A, u64>) {
    let trial = || Trial { table: limiter().build().expect("a limiter"), granted: AtomicU64::new(0) };
    let trials: Vec<_> = (0..TABLES).map(|_| trial()).collect();
    for round in 0..rounds {
        let now = Instant::from_nanos(round * 3 * NANOS_PER_MS);
        let overflowed = race(threads, |_| {
            let mut overflowed = 0;
            for Trial { table, granted } in &trials {
                // Together more than there is.
                for _ in 0..=LIMIT.div_ceil(threads as u64) {
                    let decision = table.check_at(&round, now, 1);
                    granted.fetch_add(u64::from(decision.is_allowed()), Ordering::Relaxed);
                    overflowed += usize::from(decision.overflowed());
                }
            }
            overflowed
        });
        assert_eq!(overflowed.iter().sum::<usize>(), 0, "round {round}");
        for Trial { table, granted } in &trials {
            assert_eq!(granted.swap(0, Ordering::Relaxed), LIMIT, "round {round}");
            assert_eq!(table.stats().inserted, round + 1);
        }
    }
}

/// 10^5 times.
#[test]
fn new_key_of_four_threads_always_finds_one_slot() {
    repeat(|| assert_one_state(4, 400, || TokenBucket::new(QUOTA).keyed(1)));
}

#[test]
fn new_key_of_any_number_of_threads_gets_one_state_of_any_algorithm() {
    repeat(|| {
        for threads in THREADS {
            assert_one_state(threads, 10, || TokenBucket::new(QUOTA).keyed(1));
            assert_one_state(threads, 10, || FixedWindow::new(QUOTA).keyed(1));
            assert_one_state(threads, 10, || SlidingCounter::new(QUOTA).keyed(1));
            assert_one_state(threads, 10, || SlidingLog::new(QUOTA).keyed(1));
        }
    });
}
