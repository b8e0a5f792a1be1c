//! Threads that all ask at one instant for more than there is: exactly that is granted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{
    Algorithm, FixedWindow, Instant, Keyed, KeyedBuilder, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::race::race;
use crate::{THREADS, repeat};

/// Keys that the threads go through in one race.
///
/// Tables are declared for twice as many: no key may find itself without a slot.
const KEYS: usize = 250;

/// Each thread asks `asks` times for each key; tells what was granted of each.
fn granted<A: Algorithm>(table: &Keyed<A, usize>, now: Instant, threads: usize, asks: u64) -> Vec<u64> {
    let granted: Vec<_> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    race(threads, |_| {
        for (key, granted) in granted.iter().enumerate() {
            for _ in 0..asks {
                let is_allowed = table.check_at(&key, now, 1).is_allowed();
                granted.fetch_add(is_allowed.into(), Ordering::Relaxed);
            }
        }
    });
    granted.into_iter().map(AtomicU64::into_inner).collect()
}

/// All keys are drained; each time one permit has come back.
fn assert_returned_permit_is_granted_once<A: Algorithm>(limiter: impl Fn() -> KeyedBuilder<A, usize>) {
    repeat(|| {
        for threads in THREADS {
            let table = limiter().build().expect("a limiter");
            let mut now = Instant::ORIGIN;
            for round in 0..20 {
                assert_eq!(granted(&table, now, threads, 1), [1; KEYS], "round {round}");
                now = now + table.check_at(&0, now, 1).retry_after().expect("it is drained");
            }
        }
    });
}

#[test]
fn permit_that_has_come_back_to_a_bucket_is_granted_once() {
    assert_returned_permit_is_granted_once(|| TokenBucket::new(Quota::per_second(1)).keyed(2 * KEYS));
}

#[test]
fn permit_of_a_new_fixed_window_is_granted_once() {
    assert_returned_permit_is_granted_once(|| FixedWindow::new(Quota::per_second(1)).keyed(2 * KEYS));
}

#[test]
fn permit_that_has_come_back_to_a_sliding_counter_is_granted_once() {
    assert_returned_permit_is_granted_once(|| SlidingCounter::new(Quota::per_second(1)).keyed(2 * KEYS));
}

#[test]
fn permit_that_has_come_back_to_a_sliding_log_is_granted_once() {
    assert_returned_permit_is_granted_once(|| SlidingLog::new(Quota::per_second(1)).keyed(2 * KEYS));
}

/// In 10^4 windows at least.
#[test]
fn window_asked_by_threads_for_more_than_it_has_grants_exactly_its_limit() {
    const LIMIT: u64 = 100;
    const PERIOD: Duration = Duration::from_secs(600);
    repeat(|| {
        for threads in THREADS {
            let window = FixedWindow::new(Quota::new(LIMIT, PERIOD));
            let table = window.keyed(2 * KEYS).build().expect("a limiter");
            for round in 0..10 {
                let now = Instant::after_origin(PERIOD * round);
                let granted = granted(&table, now, threads, 160 / threads as u64);
                assert_eq!(granted, [LIMIT; KEYS], "round {round}");
            }
        }
    });
}
