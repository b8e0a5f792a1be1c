//! More keys than slots, used and stale in turn: slots go from key to key while threads ask for both.

use std::time::Duration;

use oracle::grants::{self, Grant, assert_bounded};
use tollgate::{
    Algorithm, Clock, FixedWindow, KeyedBuilder, Quota, SlidingCounter, SlidingLog, StdClock, TokenBucket,
};

use crate::race::race;
use crate::{THREADS, repeat};

const LIMIT: u64 = 2;
const PERIOD: u64 = 200_000;
const QUOTA: Quota = Quota::new(LIMIT, Duration::from_nanos(PERIOD));
const KEYS: usize = 16;
/// How long each thread asks.
const SPAN: u64 = 20 * PERIOD;

/// Each thread takes the keys in an order of its own, one at a time.
fn assert_bound_of_each_key<A: Algorithm>(
    limiter: impl Fn() -> KeyedBuilder<A, usize>,
    bound: impl Fn(u64, u64) -> u64,
) {
    repeat(|| {
        for threads in THREADS {
            // Eight slots.
            let table = limiter().clock(StdClock::new()).build().expect("a limiter");
            let now = || table.clock().now().as_nanos();
            let grants = race(threads, |thread| {
                let mut grants: [Vec<Grant>; KEYS] = Default::default();
                let end = now() + SPAN;
                for key in (0..).map(|call| call * (2 * thread + 1) % KEYS) {
                    let from = now();
                    if from >= end {
                        break;
                    }
                    if table.check(&key).is_allowed() {
                        grants[key].push(Grant { from, to: now(), permits: 1 });
                    }
                }
                grants
            });
            for key in 0..KEYS {
                let of_key = grants.iter().flat_map(|grants| grants[key].iter().copied());
                assert_bounded(&mut of_key.collect::<Vec<_>>(), &bound);
            }
            let stats = table.stats();
            assert!(stats.occupied() <= 8, "{stats:?}");
        }
    });
}

#[test]
fn buckets_that_change_keys_keep_the_bound_of_each() {
    let bound = grants::bucket(LIMIT, PERIOD / LIMIT);
    assert_bound_of_each_key(|| TokenBucket::new(QUOTA).keyed(5), bound);
}

#[test]
fn fixed_windows_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(|| FixedWindow::new(QUOTA).keyed(5), grants::windows(LIMIT, PERIOD));
}

#[test]
fn sliding_counters_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(|| SlidingCounter::new(QUOTA).keyed(5), grants::windows(LIMIT, PERIOD));
}

#[test]
fn sliding_logs_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(|| SlidingLog::new(QUOTA).keyed(5), grants::log(LIMIT, PERIOD));
}
