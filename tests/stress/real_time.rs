//! A bucket of 1000 that gets 1000 a second, asked for as fast as can be: at most 2500 in a second and a half.

use tollgate::{Clock, Quota, StdClock, TokenBucket};

use crate::THREADS;
use crate::race::race;

const CAPACITY: u64 = 1000;
const SPAN: u64 = 1_500_000_000;

fn now() -> u64 {
    StdClock::new().now().as_nanos()
}

/// What several threads are granted until `end`.
fn granted(threads: usize, end: u64, is_allowed: impl Fn() -> bool + Sync) -> usize {
    let granted = race(threads, |_| {
        let mut granted = 0;
        loop {
            let is_allowed = is_allowed();
            if now() > end {
                return granted;
            }
            granted += usize::from(is_allowed);
        }
    });
    granted.into_iter().sum()
}

/// Several buckets at once, each for threads of its own.
#[test]
fn bucket_of_1000_per_second_grants_at_most_2500_in_a_second_and_a_half() {
    let bucket = || TokenBucket::new(Quota::per_second(CAPACITY)).clock(StdClock::new());
    let granted = race(2 * THREADS.len(), |run| {
        let (threads, end) = (THREADS[run / 2], now() + SPAN);
        if run % 2 == 0 {
            let direct = bucket().build().expect("a limiter");
            granted(threads, end, || direct.check().is_allowed())
        } else {
            let keyed = bucket().keyed::<str>(8).build().expect("a limiter");
            granted(threads, end, || keyed.check("key").is_allowed())
        }
    });
    assert!(granted.iter().all(|granted| (1000..=2500).contains(granted)), "{granted:?}");
}
