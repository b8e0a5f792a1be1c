//! Threads whose clocks differ.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oracle::grants::{self, Grant, assert_bounded};
use tollgate::{FixedWindow, Quota, SlidingCounter, SlidingLog, TokenBucket};

use crate::churn::{Churn, assert_bound_of_each_key};
use crate::erring_clock::{ErringClock, err};
use crate::promises::on_each_promise;
use crate::race::{hammer_by, race};
use crate::random::Random;
use crate::{NANOS_PER_MS, NANOS_PER_S, THREADS, repeat};

const LIMIT: u64 = 8;
/// Shorter than the slack and longer in turn, with as many threads.
const PERIODS: [(u64, usize); 4] =
    [(NANOS_PER_S, 2), (6 * NANOS_PER_S, 4), (NANOS_PER_S, 8), (6 * NANOS_PER_S, 16)];
const SPAN: u64 = 10 * NANOS_PER_S;
/// No reading errs by more, so that no two are further apart than the slack.
const APART: u64 = 2400 * NANOS_PER_MS;

/// What is granted keeps the bound over the readings that the clocks may have shown, once each thread, of so many,
/// has begun to err.
fn assert_bounded_by_readings(err: impl Fn(usize, usize) + Sync) {
    repeat(|| {
        for (period, threads) in PERIODS {
            on_each_promise(LIMIT, period, |stream, promise| {
                let right = || stream.clock.right();
                let grants = hammer_by(right, threads, stream, SPAN, |thread| {
                    err(thread, threads);
                    1 + thread as u64 % 3
                });
                assert!(!grants.is_empty());
                let by_readings =
                    |grant: Grant| Grant { from: grant.from - APART, to: grant.to + APART, ..grant };
                let mut grants: Vec<_> = grants.into_iter().map(by_readings).collect();
                assert_bounded(&mut grants, promise.bound);
            });
        }
    });
}

#[test]
fn clocks_that_differ_from_thread_to_thread_by_less_than_the_slack_keep_the_bound() {
    assert_bounded_by_readings(|thread, threads| {
        let ahead = 2 * APART * thread as u64 / (threads as u64 - 1);
        err(move |right| right - APART + ahead);
    });
}

#[test]
fn clocks_that_step_at_random_by_less_than_the_slack_keep_the_bound() {
    assert_bounded_by_readings(|thread, _| step(thread));
}

/// From now on this thread's readings err at random.
fn step(thread: usize) {
    let mut random = Random(thread as u64);
    err(move |right| right - APART + random.below(2 * APART));
}

/// More keys than slots, which are recycled by readings that differ.
const CHURN: Churn<ErringClock> = Churn {
    clock: ErringClock::default,
    now: ErringClock::right,
    span: 20 * NANOS_PER_S,
    begin: step,
    apart: APART,
};
const QUOTA: Quota = Quota::per_second(2);

#[test]
fn buckets_that_change_keys_by_clocks_that_differ_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || TokenBucket::new(QUOTA).keyed(5), grants::bucket(2, NANOS_PER_S / 2));
}

#[test]
fn fixed_windows_that_change_keys_by_clocks_that_differ_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || FixedWindow::new(QUOTA).keyed(5), grants::windows(2, NANOS_PER_S));
}

#[test]
fn sliding_counters_that_change_keys_by_clocks_that_differ_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || SlidingCounter::new(QUOTA).keyed(5), grants::windows(2, NANOS_PER_S));
}

#[test]
fn sliding_logs_that_change_keys_by_clocks_that_differ_keep_the_bound_of_each() {
    assert_bound_of_each_key(&CHURN, || SlidingLog::new(QUOTA).keyed(5), grants::log(2, NANOS_PER_S));
}

/// By so much one thread is behind the others.
const BEHIND: u64 = 6 * NANOS_PER_S;
/// How often it asks.
const TURNS: u64 = 3;

#[test]
fn clock_that_is_behind_by_more_than_the_slack_costs_at_most_one_limit_each_time() {
    repeat(|| {
        for threads in THREADS {
            on_each_promise(LIMIT, NANOS_PER_S, |stream, promise| {
                let is_over = AtomicBool::new(false);
                let begin = stream.clock.right();
                let granted = race(threads, |thread| {
                    if thread > 0 {
                        let asks = (0..).take_while(|_| !is_over.load(Ordering::Relaxed));
                        return asks.filter(|_| stream.check(1).is_allowed()).count();
                    }
                    err(|right| right - BEHIND);
                    let late = (0..TURNS).filter(|_| {
                        thread::sleep(Duration::from_millis(1));
                        stream.check(1).is_allowed()
                    });
                    let late = late.count();
                    is_over.store(true, Ordering::Relaxed);
                    late
                });
                let granted = granted.iter().sum::<usize>() as u64;
                let most = (promise.bound)(begin - BEHIND, stream.clock.right()) + TURNS * LIMIT;
                assert!(granted <= most, "{granted} of {most} permits");
            });
        }
    });
}
