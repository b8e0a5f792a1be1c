//! Floods of keys that are used once, around a few victims that are asked for all the time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oracle::grants::{self, Grant, assert_bounded};
use tollgate::{
    Algorithm, Clock, FixedWindow, KeyedBuilder, Quota, SlidingCounter, SlidingLog, StdClock, TokenBucket,
};

use crate::race::race;
use crate::{NANOS_PER_MS, THREADS, repeat};

const LIMIT: u64 = 10;
const PERIOD: u64 = NANOS_PER_MS;
const QUOTA: Quota = Quota::new(LIMIT, Duration::from_nanos(PERIOD));
const CAPACITY: usize = 64;
const VICTIMS: u64 = 4;
/// How long each thread asks for victims.
const SPAN: u64 = 20 * PERIOD;

/// Half of the threads make keys up; the others ask for one victim each, in turn.
fn assert_bound_of_victims<A: Algorithm>(
    limiter: impl Fn() -> KeyedBuilder<A, u64>,
    bound: impl Fn(u64, u64) -> u64,
) {
    repeat(|| {
        for threads in THREADS {
            let table = limiter().clock(StdClock::new()).build().expect("a limiter");
            let now = || table.clock().now().as_nanos();
            let (strangers, is_over) = (AtomicU64::new(VICTIMS), AtomicBool::new(false));
            let grants = race(threads, |thread| {
                let mut grants = Vec::new();
                if thread % 2 == 0 {
                    while !is_over.load(Ordering::Relaxed) {
                        let _ = table.check(&strangers.fetch_add(1, Ordering::Relaxed));
                    }
                    return grants;
                }
                let end = now() + SPAN;
                for victim in (0..VICTIMS).cycle() {
                    let from = now();
                    if from >= end {
                        break;
                    }
                    if table.check(&victim).is_allowed() {
                        grants.push((victim, Grant { from, to: now(), permits: 1 }));
                    }
                }
                is_over.store(true, Ordering::Relaxed);
                grants
            });
            for victim in 0..VICTIMS {
                let all = grants.iter().flatten();
                let of_victim = all.filter(|(key, _)| *key == victim).map(|(_, grant)| *grant);
                assert_bounded(&mut of_victim.collect::<Vec<_>>(), &bound);
            }
        }
    });
}

#[test]
fn buckets_of_victims_keep_their_bound_in_a_flood() {
    let bound = grants::bucket(LIMIT, PERIOD / LIMIT);
    assert_bound_of_victims(|| TokenBucket::new(QUOTA).keyed(CAPACITY), bound);
}

#[test]
fn fixed_windows_of_victims_keep_their_bound_in_a_flood() {
    let bound = grants::windows(LIMIT, PERIOD);
    assert_bound_of_victims(|| FixedWindow::new(QUOTA).keyed(CAPACITY), bound);
}

#[test]
fn sliding_counters_of_victims_keep_their_bound_in_a_flood() {
    let bound = grants::windows(LIMIT, PERIOD);
    assert_bound_of_victims(|| SlidingCounter::new(QUOTA).keyed(CAPACITY), bound);
}

#[test]
fn sliding_logs_of_victims_keep_their_bound_in_a_flood() {
    let bound = grants::log(LIMIT, PERIOD);
    assert_bound_of_victims(|| SlidingLog::new(QUOTA).keyed(CAPACITY), bound);
}
