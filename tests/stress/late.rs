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

/// From now on this thread is stopped after some of its readings, for up to `longest`.
fn be_late(thread: usize, longest: Duration) {
    let mut random = Random(thread as u64);
    let longest = u64::try_from(longest.as_nanos()).expect("a short time");
    err(move |right| {
        match random.below(512) {
            0..4 => thread::sleep(Duration::from_nanos(random.below(longest))),
            4..20 => thread::yield_now(),
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
                    // In the limiter's time that is more than the slack.
                    be_late(thread, Duration::from_millis(8));
                    1 + thread as u64 % 3
                });
                assert!(!grants.is_empty());
                assert_bounded(&mut grants, promise.bound);
            });
        }
    });
}

const PERIOD: u64 = 4 * NANOS_PER_S;
const QUOTA: Quota = Quota::new(1, Duration::from_nanos(PERIOD));

/// More keys than slots: a late reader's key may have lost its slot meanwhile, and its debt with it. One that is late
/// by one to two periods finds it as good as new, or finds another's grant as of an older time.
const CHURN: Churn<ErringClock> = Churn {
    clock: ErringClock::default,
    now: ErringClock::right,
    span: 12 * PERIOD,
    begin: |thread| be_late(thread, Duration::from_millis(8)),
    apart: 0,
};

#[test]
fn late_readings_of_buckets_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || TokenBucket::new(QUOTA).keyed(5), grants::bucket(1, PERIOD));
}

#[test]
fn late_readings_of_fixed_windows_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || FixedWindow::new(QUOTA).keyed(5), grants::windows(1, PERIOD));
}

#[test]
fn late_readings_of_sliding_counters_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || SlidingCounter::new(QUOTA).keyed(5), grants::windows(1, PERIOD));
}

#[test]
fn late_readings_of_sliding_logs_that_change_keys_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || SlidingLog::new(QUOTA).keyed(5), grants::log(1, PERIOD));
}
