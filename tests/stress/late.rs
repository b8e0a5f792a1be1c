//! Threads that are stopped between their reading and their decision, now and then for longer than the slack.

use std::thread;
use std::time::Duration;

use oracle::grants::{self, assert_bounded};
use tollgate::{FixedWindow, Quota, SlidingCounter, SlidingLog, TokenBucket};

use crate::churn::{Churn, assert_bound_of_each_key};
use crate::erring_clock::{ErringClock, err};
use crate::promises::on_each_promise;
use crate::race::hammer_by;
use crate::random::Random;
use crate::{NANOS_PER_S, THREADS, repeat};

/// The slack, in ms of the real clock: the erring one is a thousand times as fast.
const SLACK_REAL_MS: u64 = 5;

/// From now on this thread's readings are late: of the time at which it was stopped.
fn be_late(thread: usize) {
    let mut random = Random(thread as u64);
    err(move |right| {
        match random.below(512) {
            0 => thread::sleep(Duration::from_millis(SLACK_REAL_MS + random.below(3))),
            1..=3 => thread::sleep(Duration::from_micros(random.below(2000))),
            4..=20 => thread::yield_now(),
            _ => {}
        }
        right
    });
}

#[test]
fn late_readings_keep_the_bound() {
    repeat(|| {
        for threads in THREADS {
            on_each_promise(5, NANOS_PER_S, |stream, promise| {
                let right = || stream.clock.right();
                let mut grants = hammer_by(right, threads, stream, 20 * NANOS_PER_S, |thread| {
                    be_late(thread);
                    1 + thread as u64 % 3
                });
                assert!(!grants.is_empty());
                assert_bounded(&mut grants, promise.bound);
            });
        }
    });
}

/// More keys than slots: a late reader's key may have lost its slot meanwhile, and its debt with it.
const CHURN: Churn<ErringClock> = Churn {
    clock: ErringClock::default,
    now: ErringClock::right,
    span: 20 * NANOS_PER_S,
    begin: be_late,
    apart: 0,
};
const QUOTA: Quota = Quota::per_second(1);

#[test]
fn late_readings_of_buckets_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || TokenBucket::new(QUOTA).keyed(5), grants::bucket(1, NANOS_PER_S));
}

#[test]
fn late_readings_of_fixed_windows_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || FixedWindow::new(QUOTA).keyed(5), grants::windows(1, NANOS_PER_S));
}

#[test]
fn late_readings_of_sliding_counters_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || SlidingCounter::new(QUOTA).keyed(5), grants::windows(1, NANOS_PER_S));
}

#[test]
fn late_readings_of_sliding_logs_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || SlidingLog::new(QUOTA).keyed(5), grants::log(1, NANOS_PER_S));
}
