//! Past its horizon a limiter's time stands still: it refuses, and neither wraps nor panics.

#[path = "support/stream.rs"]
mod stream;

use std::time::Duration;

use tollgate::{
    Algorithm, Builder, Clock, FixedWindow, Instant, ManualClock, Outcome, Quota, SlidingCounter, SlidingLog,
    TokenBucket,
};

use stream::{on_each_algorithm, on_each_face};

const LAST: Instant = Instant::from_nanos(u64::MAX);

#[test]
fn the_largest_cost_is_too_large_at_any_time() {
    on_each_algorithm(Quota::per_second(5), ManualClock::new, |stream| {
        for nanos in [0, 1, u64::MAX >> 3, u64::MAX - 1, u64::MAX, 0] {
            let decision = stream.ask(nanos, u64::MAX);
            assert_eq!(decision.outcome(), Outcome::TooLarge);
            assert_eq!((decision.remaining(), decision.retry_after()), (Some(5), None));
            assert_eq!(decision.reset_after_nanos(), Some(0), "something was charged");
        }
    });
}

#[test]
fn a_first_call_at_the_last_reading_passes_and_no_permit_comes_back() {
    on_each_algorithm(Quota::per_second(5), ManualClock::new, |stream| {
        assert_eq!(stream.take_all(u64::MAX), 5);
        let refused = stream.ask(u64::MAX, 1);
        assert_eq!(refused.outcome(), Outcome::Denied);
        assert_eq!(refused.remaining(), Some(0));
        assert_eq!((refused.retry_after(), refused.reset_after()), (None, None));
    });
}

#[test]
fn a_caller_at_the_last_reading_shuts_out_those_before_but_gives_them_nothing() {
    on_each_algorithm(Quota::per_second(5), ManualClock::new, |stream| {
        assert!(stream.check_at(u64::MAX, 5).is_allowed());
        for nanos in [0, 1, 1_000_000_000, u64::MAX >> 1, u64::MAX - 1, u64::MAX] {
            assert_eq!(stream.check_at(nanos, 1).outcome(), Outcome::Denied);
        }
    });
}

/// The horizons of a configuration's limiters, the direct and the keyed one.
fn horizons<A: Algorithm, C: Clock>(builder: Builder<A, C>) -> [u64; 2] {
    let direct = builder.clone().build().expect("the configuration is legal");
    let keyed = builder.keyed::<str>(1).build().expect("the configuration is legal");
    [direct.horizon().as_nanos(), keyed.horizon().as_nanos()]
}

#[test]
fn what_is_spent_at_the_horizon_stays_spent() {
    fn stands_still<A: Algorithm>(limiter: impl Fn() -> Builder<A, ManualClock>, limit: usize) {
        for horizon in horizons(limiter()) {
            on_each_face(&limiter, |stream| {
                assert_eq!(stream.take_all(horizon), limit);
                for nanos in [horizon, horizon.saturating_add(1), u64::MAX] {
                    let refused = stream.ask(nanos, 1);
                    assert_eq!(refused.outcome(), Outcome::Denied, "{nanos} ns");
                    assert_eq!((refused.remaining(), refused.retry_after()), (Some(0), None));
                    assert_eq!(refused.reset_after(), None);
                }
            });
        }
    }

    // Short and long periods, below and above the number of permits.
    for (limit, period) in [(1, 1), (3, 7), (16, 28), (100, 1_000_000_000), (2, u64::MAX >> 7)] {
        let quota = Quota::new(limit, Duration::from_nanos(period));
        let limit = usize::try_from(limit).expect("a few permits");
        stands_still(|| TokenBucket::new(quota).clock(ManualClock::new()), limit);
        stands_still(|| FixedWindow::new(quota).clock(ManualClock::new()), limit);
        stands_still(|| SlidingCounter::new(quota).clock(ManualClock::new()), limit);
        stands_still(|| SlidingLog::new(quota).clock(ManualClock::new()), limit);
    }
}

#[test]
fn an_instant_saturates_at_the_last_one() {
    assert_eq!(LAST + Duration::from_nanos(1), LAST);
    assert_eq!(Instant::ORIGIN + Duration::MAX, LAST);
    let clock = ManualClock::new();
    clock.set(LAST);
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), LAST);
}
