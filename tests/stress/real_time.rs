//! A bucket of 1000 that gets 1000 a second, asked for as fast as can be: at most 2500 in a second and a half.

use std::sync::OnceLock;

use tollgate::{Clock, Quota, StdClock, TokenBucket};

use crate::THREADS;
use crate::race::race;

const CAPACITY: u64 = 1000;
const SPAN: u64 = 1_500_000_000;

fn now() -> u64 {
    StdClock::new().now().as_nanos()
}

/// What several threads are granted in the span from the first's first reading on.
fn granted(threads: usize, is_allowed: impl Fn() -> bool + Sync) -> usize {
    let end = OnceLock::new();
    let granted = race(threads, |_| {
        let end = *end.get_or_init(|| now() + SPAN);
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
        let threads = THREADS[run / 2];
        if run % 2 == 0 {
            let direct = bucket().build().expect("a limiter");
            granted(threads, || direct.check().is_allowed())
        } else {
            let keyed = bucket().keyed::<str>(8).build().expect("a limiter");
            granted(threads, || keyed.check("key").is_allowed())
        }
    });
    assert!(granted.iter().all(|granted| *granted <= 2500), "{granted:?}");
}
