//! The ends of the ranges of limits and periods.

use std::time::Duration;

use tollgate::{
    BuildError, FixedWindow, ManualClock, Outcome, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::stream::{Stream, on_each_face};

const LONGEST: Duration = Duration::from_nanos(u64::MAX);

#[test]
fn longest_duration_as_period_is_an_error() {
    for limit in [0, 1, u64::MAX] {
        let quota = Quota::new(limit, Duration::MAX);
        let errors = [
            TokenBucket::new(quota).burst(u64::MAX).build().err(),
            FixedWindow::new(quota).build().err(),
            SlidingCounter::new(quota).build().err(),
            SlidingLog::new(quota).build().err(),
        ];
        assert_eq!(errors, [Some(BuildError::PeriodTooLong); 4]);
    }
}

#[test]
fn largest_limit_is_an_error() {
    for period in [Duration::from_nanos(1), Duration::from_secs(1), LONGEST] {
        let quota = Quota::new(u64::MAX, period);
        assert!(TokenBucket::new(quota).build().is_err());
        assert!(FixedWindow::new(quota).build().is_err());
        assert!(SlidingCounter::new(quota).build().is_err());
        assert!(SlidingLog::new(quota).build().is_err());
    }
}

#[test]
fn largest_burst_is_an_error() {
    let bucket = TokenBucket::new(Quota::per_second(1)).burst(u64::MAX);
    assert!(matches!(bucket.build(), Err(BuildError::BurstTooLarge { burst: u64::MAX, .. })));
}

#[test]
fn one_permit_in_the_longest_period_is_an_error_or_granted_once() {
    let once = |stream: &Stream<'_>| {
        assert_eq!(stream.take_all(0), 1);
        for bit in 0..63 {
            assert_eq!(stream.ask(1 << bit, 1).outcome(), Outcome::Denied, "after 2^{bit} ns");
        }
    };
    let quota = Quota::new(1, LONGEST);
    assert!(matches!(TokenBucket::new(quota).build(), Err(BuildError::BurstTooLarge { burst: 1, .. })));
    on_each_face(|| FixedWindow::new(quota).clock(ManualClock::new()), once);
    on_each_face(|| SlidingCounter::new(quota).clock(ManualClock::new()), once);
    on_each_face(|| SlidingLog::new(quota).clock(ManualClock::new()), once);
}
