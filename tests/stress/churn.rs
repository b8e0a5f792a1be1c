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

/// By which clock threads ask.
pub(crate) struct Churn<C> {
    pub(crate) clock: fn() -> C,
    /// The right time, in ns.
    pub(crate) now: fn(&C) -> u64,
    /// How long each thread asks.
    pub(crate) span: u64,
    /// What each does before.
    pub(crate) begin: fn(usize),
    /// Readings are at most this far from the right time.
    pub(crate) apart: u64,
}

const CHURN: Churn<StdClock> = Churn {
    clock: StdClock::new,
    now: |clock| clock.now().as_nanos(),
    span: 20 * PERIOD,
    begin: |_| {},
    apart: 0,
};

/// Each thread takes the keys in an order of its own, one at a time.
pub(crate) fn assert_bound_of_each_key<A: Algorithm, C: Clock>(
    Churn { clock, now, span, begin, apart }: &Churn<C>,
    limiter: impl Fn() -> KeyedBuilder<A, usize>,
    bound: impl Fn(u64, u64) -> u64,
) {
    repeat(|| {
        for threads in THREADS {
            // Eight slots.
            let table = limiter().clock(clock()).build().expect("a limiter");
            let now = || now(table.clock());
            let grants = race(threads, |thread| {
                begin(thread);
                let mut grants: [Vec<Grant>; KEYS] = Default::default();
                let end = now() + span;
                for key in (0..).map(|call| call * (2 * thread + 1) % KEYS) {
                    let from = now();
                    if from >= end {
                        break;
                    }
                    if table.check(&key).is_allowed() {
                        grants[key].push(Grant { from: from - apart, to: now() + apart, permits: 1 });
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
    assert_bound_of_each_key(&CHURN, || TokenBucket::new(QUOTA).keyed(5), bound);
}

#[test]
fn fixed_windows_that_change_keys_keep_the_bound_of_each() {
    let bound = grants::windows(LIMIT, PERIOD);
    assert_bound_of_each_key(&CHURN, || FixedWindow::new(QUOTA).keyed(5), bound);
}

#[test]
fn sliding_counters_that_change_keys_keep_the_bound_of_each() {
    let bound = grants::windows(LIMIT, PERIOD);
    assert_bound_of_each_key(&CHURN, || SlidingCounter::new(QUOTA).keyed(5), bound);
}

#[test]
fn sliding_logs_that_change_keys_keep_the_bound_of_each() {
    let bound = grants::log(LIMIT, PERIOD);
    assert_bound_of_each_key(&CHURN, || SlidingLog::new(QUOTA).keyed(5), bound);
}
