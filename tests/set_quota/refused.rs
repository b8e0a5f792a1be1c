//! Changes that are refused, and change nothing.

use tollgate::{
    Adjustable, Adjusts, AnyAlgorithm, BuildError, FixedWindow, SetQuotaError, SlidingCounter, SlidingLog,
    TokenBucket,
};

use crate::quota;

#[track_caller]
fn is_refused<A: Adjusts>(from: A, to: &A, error: SetQuotaError) {
    let limiter = Adjustable::new(from).build().expect("a quota that fits");
    assert!(limiter.check().is_allowed());
    let before = (limiter.peek(0).limit(), limiter.peek(0).remaining());
    assert_eq!(limiter.set_quota(to), Err(error));
    assert_eq!((limiter.peek(0).limit(), limiter.peek(0).remaining()), before);
}

const DAY: u64 = 86_400_000_000_000;

#[test]
fn limit_above_what_the_limiter_was_built_for() {
    let error = SetQuotaError::LimitTooLarge { limit: 6, max: 5 };
    is_refused(FixedWindow::new(quota(5, DAY)), &FixedWindow::new(quota(6, DAY)), error);
    is_refused(SlidingCounter::new(quota(5, DAY)), &SlidingCounter::new(quota(6, DAY)), error);
    is_refused(SlidingLog::new(quota(5, DAY)), &SlidingLog::new(quota(6, DAY)), error);
    let bounded =
        Adjustable::new(TokenBucket::new(quota(5, DAY))).max_limit(5).build().expect("a quota that fits");
    assert_eq!(bounded.set_quota(&TokenBucket::new(quota(6, DAY))), Err(error));
}

#[test]
fn limit_above_the_highest_from_the_start() {
    let built = Adjustable::new(SlidingLog::new(quota(6, DAY))).max_limit(5).build();
    assert_eq!(built.expect_err("too much"), BuildError::LimitTooLarge { limit: 6, max: 5 });
}

#[test]
fn quota_that_cannot_be_represented() {
    let error = SetQuotaError::Build(BuildError::ZeroPeriod);
    is_refused(TokenBucket::new(quota(5, DAY)), &TokenBucket::new(quota(5, 0)), error);
    is_refused(SlidingLog::new(quota(5, DAY)), &SlidingLog::new(quota(5, 0)), error);
    assert!(error.to_string().contains("1 ns"));
}

#[test]
fn another_period_of_a_counter() {
    let error = SetQuotaError::PeriodFixed { period_nanos: DAY };
    is_refused(SlidingCounter::new(quota(5, DAY)), &SlidingCounter::new(quota(5, DAY + 1)), error);
}

#[test]
fn another_longest_wait_of_a_bucket() {
    let error = SetQuotaError::MaxWaitFixed { max_wait_nanos: 0 };
    let bucket = TokenBucket::new(quota(5, DAY));
    is_refused(bucket.clone(), &bucket.max_wait(core::time::Duration::from_nanos(1)), error);
}

#[test]
fn another_algorithm() {
    let any = |text: &str| text.parse::<AnyAlgorithm>().expect("an algorithm");
    is_refused(any("sliding-log 5/day"), &any("sliding-counter 5/day"), SetQuotaError::AlgorithmFixed);
    is_refused(
        any("sliding-counter 5/day"),
        &any("sliding-counter 5/hour"),
        SetQuotaError::PeriodFixed { period_nanos: DAY },
    );
}
