//! What has been used carries over.

use tollgate::{
    Adjustable, Adjusts, FixedWindow, Limiter, ManualClock, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::{SECOND, at, quota};

fn adjustable<A: Adjusts>(algorithm: A, limit_max: u64) -> Limiter<Adjustable<A>, ManualClock> {
    Adjustable::new(algorithm)
        .max_limit(limit_max)
        .clock(ManualClock::new())
        .build()
        .expect("a quota that fits")
}

fn remaining<A: Adjusts>(limiter: &Limiter<Adjustable<A>, ManualClock>, now: u64) -> Option<u64> {
    limiter.peek_at(at(now), 0).remaining()
}

#[test]
fn what_was_used_is_used_under_a_higher_and_a_lower_limit() {
    fn test<A: Adjusts>(algorithm: impl Fn(u64) -> A) {
        let limiter = adjustable(algorithm(5), 10);
        assert!(limiter.check_at(at(SECOND), 5).is_allowed());
        for (limit, left, now) in [(10, 5, SECOND), (3, 0, 11 * SECOND), (6, 1, 21 * SECOND)] {
            limiter.set_quota_at(at(now), &algorithm(limit)).expect("slowly enough");
            assert_eq!(remaining(&limiter, now), Some(left), "{:?}", algorithm(limit));
            let decision = limiter.check_at(at(now), left + 1);
            assert!(!decision.is_allowed());
            assert_eq!(decision.limit(), limit);
        }
    }
    test(|limit| FixedWindow::new(quota(limit, 100 * SECOND)));
    test(|limit| SlidingCounter::new(quota(limit, 100 * SECOND)));
    test(|limit| SlidingLog::new(quota(limit, 100 * SECOND)));
}

#[test]
fn bucket_of_a_lower_capacity_misses_what_was_used() {
    let limiter = adjustable(TokenBucket::new(quota(10, SECOND)), 10);
    assert!(limiter.check_at(at(0), 3).is_allowed());
    limiter.set_quota_at(at(0), &TokenBucket::new(quota(5, SECOND))).expect("the first change");
    assert!(limiter.check_at(at(0), 2).is_allowed());
    assert!(!limiter.check_at(at(0), 1).is_allowed());
}

#[test]
fn bucket_refills_at_the_old_rate_up_to_the_change_and_at_the_new_one_after() {
    let hour = 3600 * SECOND;
    let limiter = adjustable(TokenBucket::new(quota(1, hour)), 1);
    assert!(limiter.check_at(at(0), 1).is_allowed());
    limiter
        .set_quota_at(at(60 * SECOND), &TokenBucket::new(quota(100, hour)).burst(1))
        .expect("the first change");
    // 59 of 60 parts of a permit are missing, and one comes back in 36 s.
    let again = 60 * SECOND + 36 * SECOND * 59 / 60;
    assert!(!limiter.check_at(at(again - 1), 1).is_allowed());
    assert!(limiter.check_at(at(again), 1).is_allowed());
}

#[test]
fn past_of_a_bucket_is_settled_at_the_old_rate() {
    let bucket = |rate| TokenBucket::new(quota(rate, SECOND)).burst(10_000);
    let limiter = adjustable(bucket(1), 10_000);
    assert!(limiter.check_at(at(0), 10_000).is_allowed());
    limiter.set_quota_at(at(9 * SECOND), &bucket(1000)).expect("the first change");
    assert_eq!(remaining(&limiter, 9 * SECOND), Some(9));
    assert_eq!(remaining(&limiter, 10 * SECOND), Some(1009));
}

#[test]
fn bucket_whose_capacity_is_lowered_and_raised_forgives_the_difference() {
    let bucket = |capacity| TokenBucket::new(quota(1, 86_400 * SECOND)).burst(capacity);
    let limiter = adjustable(bucket(100), 100);
    assert!(limiter.check_at(at(0), 100).is_allowed());
    limiter.set_quota_at(at(0), &bucket(1)).expect("the first change");
    assert_eq!(remaining(&limiter, 0), Some(0));
    limiter.set_quota_at(at(10 * SECOND), &bucket(100)).expect("the second change");
    assert_eq!(remaining(&limiter, 10 * SECOND), Some(99));
}

#[test]
fn what_is_reserved_stays_reserved() {
    let bucket = |rate| {
        TokenBucket::new(quota(rate, SECOND)).burst(2).max_wait(10 * core::time::Duration::from_secs(1))
    };
    let limiter = adjustable(bucket(1), 2);
    let reserved = limiter.reserve_at(at(0), 2, core::time::Duration::ZERO).expect("a full bucket");
    let later = limiter.reserve_at(at(0), 2, core::time::Duration::from_secs(2)).expect("in two seconds");
    assert_eq!(later.due(), at(2 * SECOND));
    limiter.set_quota_at(at(0), &bucket(2)).expect("the first change");
    // Four are missing: the two that were there, and the two that are due.
    assert_eq!(limiter.peek_at(at(0), 1).retry_after_nanos(), Some(3 * SECOND / 2));
    assert_eq!((later.cancel(), reserved.cancel()), (2, 2), "nothing was charged since");
}

#[test]
fn fixed_window_of_another_period_begins_with_the_count_of_the_last() {
    let limiter = adjustable(FixedWindow::new(quota(5, 100 * SECOND)), 10);
    assert!(limiter.check_at(at(150 * SECOND), 3).is_allowed());
    limiter
        .set_quota_at(at(190 * SECOND), &FixedWindow::new(quota(10, 60 * SECOND)))
        .expect("the first change");
    // From 180 s to 240 s.
    assert_eq!(
        (
            remaining(&limiter, 190 * SECOND),
            remaining(&limiter, 239 * SECOND),
            remaining(&limiter, 240 * SECOND)
        ),
        (Some(7), Some(7), Some(10))
    );
    limiter
        .set_quota_at(at(240 * SECOND), &FixedWindow::new(quota(5, 100 * SECOND)))
        .expect("the second change");
    assert_eq!(remaining(&limiter, 240 * SECOND), Some(5));
}

#[test]
fn log_of_a_longer_period_counts_what_had_left_the_shorter_one() {
    let limiter = adjustable(SlidingLog::new(quota(2, 100 * SECOND)), 4);
    for now in [0, 10, 120, 130] {
        assert!(limiter.check_at(at(now * SECOND), 1).is_allowed());
    }
    limiter
        .set_quota_at(at(150 * SECOND), &SlidingLog::new(quota(4, 150 * SECOND)))
        .expect("the first change");
    assert_eq!((remaining(&limiter, 150 * SECOND), remaining(&limiter, 160 * SECOND)), (Some(1), Some(2)));
    limiter
        .set_quota_at(at(160 * SECOND), &SlidingLog::new(quota(3, 40 * SECOND)))
        .expect("the second change");
    assert_eq!((remaining(&limiter, 160 * SECOND), remaining(&limiter, 170 * SECOND)), (Some(2), Some(3)));
}
