//! Clocks that err: a state left in the future by a glitch, and readings that differ from thread to thread.

use std::time::Duration;

use oracle::SLACK;
use oracle::grants;
use tollgate::{
    Algorithm, Builder, FixedWindow, Instant, ManualClock, Outcome, Quota, SlidingCounter, SlidingLog,
    TokenBucket,
};

use crate::stream::{Stream, on_each_face};
use crate::{NANOS_PER_MS, NANOS_PER_S};

const LIMIT: u64 = 10;
/// Longer than the slack.
const PERIOD: u64 = 10 * NANOS_PER_S;
/// Some time when the clock is right.
const NOW: u64 = 1_000_123 * NANOS_PER_MS;
const HOUR: u64 = 3600 * NANOS_PER_S;

/// What is promised of an algorithm.
struct Promise<'p> {
    /// The longest wait for one permit of a state that is spent.
    refill: u64,
    /// How long a state that is spent takes to be as good as new.
    idle: u64,
    /// The most permits for readings from one to another.
    bound: &'p dyn Fn(u64, u64) -> u64,
}

/// Something done with any algorithm, given how to build it.
trait Scenario {
    fn run<A: Algorithm>(&self, limiter: impl Fn() -> Builder<A, ManualClock>, promise: &Promise<'_>);
}

fn on_each_algorithm(period: u64, scenario: &impl Scenario) {
    let quota = Quota::new(LIMIT, Duration::from_nanos(period));
    let windows = grants::windows(LIMIT, period);
    scenario.run(
        || TokenBucket::new(quota).clock(ManualClock::new()),
        &Promise { refill: period / LIMIT, idle: period, bound: &grants::bucket(LIMIT, period / LIMIT) },
    );
    scenario.run(
        || FixedWindow::new(quota).clock(ManualClock::new()),
        &Promise { refill: period, idle: period, bound: &windows },
    );
    scenario.run(
        || SlidingCounter::new(quota).clock(ManualClock::new()),
        &Promise { refill: 2 * period, idle: 2 * period, bound: &windows },
    );
    scenario.run(
        || SlidingLog::new(quota).clock(ManualClock::new()),
        &Promise { refill: period, idle: period, bound: &grants::log(LIMIT, period) },
    );
}

/// A scenario with one stream of requests.
impl<F: Fn(&Stream<'_>, &Promise<'_>)> Scenario for F {
    fn run<A: Algorithm>(&self, limiter: impl Fn() -> Builder<A, ManualClock>, promise: &Promise<'_>) {
        on_each_face(limiter, |stream| self(stream, promise));
    }
}

#[test]
fn key_charged_while_the_clock_was_ahead_works_again_after_slack_and_a_refill() {
    for glitch in [SLACK - 1, SLACK, SLACK + 1, 60 * NANOS_PER_S, HOUR, 24 * 365 * HOUR] {
        for cost in [1, LIMIT] {
            on_each_algorithm(PERIOD, &|stream: &Stream<'_>, promise: &Promise<'_>| {
                assert!(stream.ask(NOW + glitch, cost).is_allowed());
                let decision = stream.ask(NOW, 1);
                if let Some(wait) = decision.retry_after_nanos() {
                    assert!(wait <= SLACK + promise.refill, "{glitch} ns ahead: {decision:?}");
                    assert_eq!(stream.ask(NOW + wait - 1, 1).outcome(), Outcome::Denied);
                    assert!(stream.ask(NOW + wait, 1).is_allowed());
                }
                let later = NOW + SLACK + promise.refill + promise.idle;
                assert_eq!(stream.take_all(later), 10, "{glitch} ns ahead");
            });
        }
    }
}

/// A clock that erred for an hour and more, again and again.
#[test]
fn key_works_again_after_each_of_many_glitches() {
    on_each_algorithm(PERIOD, &|stream: &Stream<'_>, promise: &Promise<'_>| {
        let mut now = NOW;
        for glitch in 1..50 {
            assert!(stream.ask(now + glitch * HOUR, 1).is_allowed(), "glitch {glitch}");
            let _ = stream.ask(now, 1);
            now += SLACK + promise.refill + promise.idle;
            assert_eq!(stream.take_all(now), 10, "glitch {glitch}");
            now += promise.idle;
        }
    });
}

#[test]
fn readings_in_turn_within_slack_never_exceed_the_bound_over_their_span() {
    for skew in [1, 1600 * NANOS_PER_MS, SLACK] {
        on_each_algorithm(PERIOD, &|stream: &Stream<'_>, promise: &Promise<'_>| {
            let mut granted = 0;
            for now in (0..60_000).step_by(20).map(|ms| ms * NANOS_PER_MS) {
                for reading in [now, now + skew] {
                    granted += u64::from(stream.ask(reading, 1).is_allowed());
                    assert!(granted <= (promise.bound)(0, now + skew), "{skew} ns apart, at {now} ns");
                }
            }
        });
    }
}

#[test]
fn readings_in_turn_beyond_slack_get_at_most_one_limit_more_each_time() {
    for skew in [SLACK + 1, 6 * NANOS_PER_S, 60 * NANOS_PER_S] {
        on_each_algorithm(PERIOD, &|stream: &Stream<'_>, promise: &Promise<'_>| {
            let mut granted = 0;
            for turn in 0..100 {
                let now = turn * 700 * NANOS_PER_MS;
                granted += stream.take_all(now) as u64;
                granted += stream.take_all(now + skew) as u64;
                let most = (promise.bound)(0, now + skew) + turn * LIMIT;
                assert!(granted <= most, "{skew} ns apart: {granted} of {most}");
            }
        });
    }
}

/// Healed to "spent as of the slack from now", and no further back: else each turn would give a limit away.
#[test]
fn readings_in_turn_barely_beyond_slack_get_hardly_anything_more() {
    const SKEW: u64 = SLACK + NANOS_PER_MS;
    for period in [NANOS_PER_S, PERIOD] {
        on_each_algorithm(period, &|stream: &Stream<'_>, promise: &Promise<'_>| {
            let mut granted = 0;
            // Each turn a reading less than SKEW behind, so that each one heals.
            for now in (0..100).map(|turn| turn * NANOS_PER_MS / 10) {
                granted += stream.take_all(now) as u64;
                granted += stream.take_all(now + SKEW) as u64;
                let most = (promise.bound)(0, now + SKEW) + 1;
                assert!(granted <= most, "{granted} of {most} at {now} ns");
            }
        });
    }
}

#[test]
fn readings_given_by_the_caller_never_exceed_the_bound_however_far_apart() {
    on_each_algorithm(PERIOD, &|stream: &Stream<'_>, promise: &Promise<'_>| {
        let mut granted = 0;
        for turn in 0..1000 {
            let now = turn * 70 * NANOS_PER_MS;
            for reading in [now, now + HOUR, now + 6 * NANOS_PER_S] {
                granted += u64::from(stream.check_at(reading, 1).is_allowed());
                assert!(granted <= (promise.bound)(0, now + HOUR), "at {now} ns");
            }
        }
    });
}

/// The table has four slots, all of keys that were charged while the clock was ahead.
struct SilentKeys;

impl Scenario for SilentKeys {
    fn run<A: Algorithm>(&self, limiter: impl Fn() -> Builder<A, ManualClock>, promise: &Promise<'_>) {
        let table = limiter().keyed::<str>(1).build().expect("a limiter");
        let ask = |now, key: &str, n| {
            table.clock().set(Instant::from_nanos(now));
            table.check_n(key, n)
        };
        for silent in ["a", "b", "c", "d"] {
            assert!(ask(NOW + HOUR, silent, LIMIT).is_allowed());
        }
        assert!(ask(NOW, "newcomer", 1).overflowed());
        let wait = ask(NOW, "newcomer", 1).retry_after_nanos().expect("a slot in time");
        assert!(wait <= SLACK + promise.idle + 1, "{wait} ns");
        for newcomer in ["e", "f", "g", "h"] {
            assert!(ask(NOW + wait, newcomer, 1).is_allowed());
        }
    }
}

#[test]
fn key_that_falls_silent_after_a_glitch_loses_its_slot_in_time() {
    on_each_algorithm(PERIOD, &SilentKeys);
}

/// Keys whose slots went to others while the clock was ahead.
struct DisplacedKeys;

impl Scenario for DisplacedKeys {
    fn run<A: Algorithm>(&self, limiter: impl Fn() -> Builder<A, ManualClock>, promise: &Promise<'_>) {
        let table = limiter().keyed::<str>(1).build().expect("a limiter");
        let ask = |now, key: &str| {
            table.clock().set(Instant::from_nanos(now));
            table.check(key)
        };
        let old = ["a", "b", "c", "d"];
        let new = ["e", "f", "g", "h"];
        assert!(old.iter().all(|key| ask(NOW, key).is_allowed()));
        assert!(new.iter().all(|key| ask(NOW + HOUR, key).is_allowed()));
        assert!(old.iter().all(|key| ask(NOW, key).overflowed()));
        for key in old {
            let decision = ask(NOW + SLACK + promise.idle + 1, key);
            assert!(decision.is_allowed(), "{key}: {decision:?}");
        }
    }
}

#[test]
fn key_displaced_while_the_clock_was_ahead_works_again_after_slack_and_a_refill() {
    on_each_algorithm(PERIOD, &DisplacedKeys);
}

/// A capacity of one is all that a key inserted as of some seconds from now would lack.
#[test]
fn bucket_of_one_displaced_while_the_clock_was_ahead_works_again_after_slack_and_a_refill() {
    DisplacedKeys.run(
        || TokenBucket::new(Quota::per_second(1)).clock(ManualClock::new()),
        &Promise { refill: NANOS_PER_S, idle: NANOS_PER_S, bound: &grants::bucket(1, NANOS_PER_S) },
    );
}
