//! Many threads on one state: its grants, over the merged readings of all of them, keep the bound.

use std::time::Duration;

use oracle::grants::{self, Grant, assert_bounded};
use tollgate::{Algorithm, Builder, FixedWindow, Quota, SlidingCounter, SlidingLog, StdClock, TokenBucket};

use crate::race::hammer;
use crate::stream::on_each_face;
use crate::{NANOS_PER_MS, THREADS, repeat};

const LIMIT: u64 = 8;
/// Short, so that a round sees many of them, and no divisor of 10^9.
const PERIOD: u64 = 700_001;
const QUOTA: Quota = Quota::new(LIMIT, Duration::from_nanos(PERIOD));

/// Asks for one permit to three at a time, on each face, with 2 to 16 threads.
fn assert_of_grants<A: Algorithm>(limiter: impl Fn() -> Builder<A, StdClock>, assert: impl Fn(&mut [Grant])) {
    repeat(|| {
        for threads in THREADS {
            on_each_face(&limiter, |stream| {
                let mut grants = hammer(threads, stream, 20 * NANOS_PER_MS, |thread| 1 + thread as u64 % 3);
                assert!(!grants.is_empty());
                assert(&mut grants);
            });
        }
    });
}

#[test]
fn bucket_keeps_its_bound() {
    let limiter = || TokenBucket::new(QUOTA).burst(20).clock(StdClock::new());
    assert_of_grants(limiter, |grants| {
        assert_bounded(grants, |from, to| 20 + (to - from) * LIMIT / PERIOD);
    });
}

#[test]
fn fixed_window_keeps_its_bound() {
    let limiter = || FixedWindow::new(QUOTA).clock(StdClock::new());
    assert_of_grants(limiter, |grants| assert_bounded(grants, grants::windows(LIMIT, PERIOD)));
}

#[test]
fn sliding_counter_keeps_its_bound_and_its_estimate() {
    let limiter = || SlidingCounter::new(QUOTA).clock(StdClock::new());
    assert_of_grants(limiter, |grants| {
        assert_bounded(grants, grants::windows(LIMIT, PERIOD));
        assert_estimated(grants);
    });
}

/// For each grant whose window is certain: what was surely granted before it in the same window, and in the previous
/// one, weighted by the least overlap, left room for it.
fn assert_estimated(grants: &[Grant]) {
    let window = |nanos| nanos / PERIOD;
    let certain: Vec<_> = grants.iter().filter(|grant| window(grant.from) == window(grant.to)).collect();
    let permits = |condition: &dyn Fn(&Grant) -> bool| {
        certain.iter().filter(|grant| condition(grant)).map(|grant| grant.permits).sum::<u64>()
    };
    for grant in &certain {
        let at = window(grant.from);
        let previous = permits(&|other| window(other.from) + 1 == at);
        let current = permits(&|other| window(other.from) == at && other.to < grant.from);
        let overlap = PERIOD - grant.to % PERIOD;
        let estimate = previous * overlap / PERIOD + current + grant.permits;
        assert!(estimate <= LIMIT, "{estimate} of {LIMIT} permits at {}", grant.to);
    }
}

#[test]
fn sliding_log_keeps_its_bound() {
    let limiter = || SlidingLog::new(QUOTA).clock(StdClock::new());
    assert_of_grants(limiter, |grants| assert_bounded(grants, grants::log(LIMIT, PERIOD)));
}
