//! All keys at once.

use tollgate::{Adjustable, Keyed, ManualClock, SlidingLog, TokenBucket};

use crate::{SECOND, at, quota};

#[test]
fn change_is_of_all_keys_whether_they_have_a_state_or_not() {
    let bucket = |capacity| TokenBucket::new(quota(1, 3600 * SECOND)).burst(capacity);
    let limiter: Keyed<Adjustable<TokenBucket>, u64, _> =
        bucket(10).adjustable().clock(ManualClock::new()).keyed(1000).build().expect("a table that fits");
    for key in 0..500 {
        assert!(limiter.check_at(&key, at(key), key % 10 + 1).is_allowed());
    }
    limiter.set_quota_at(at(500), &bucket(5)).expect("the first change");
    limiter.set_quota_at(at(500 + 10 * SECOND), &bucket(7)).expect("the second change");
    for key in 0..1000 {
        // Under a capacity of 5 no more than 5 are missing. Nothing comes back within an hour but a part of a permit.
        let used = if key < 500 { (key % 10 + 1).min(5) } else { 0 };
        let remaining = limiter.peek_at(&key, at(500 + 10 * SECOND), 0).remaining();
        assert_eq!(remaining, Some(7 - used), "key {key}");
    }
}

#[test]
fn cost_between_the_old_limit_and_the_new_one_is_charged() {
    let log = |limit| SlidingLog::new(quota(limit, SECOND));
    let limiter = log(2)
        .adjustable()
        .max_limit(10)
        .clock(ManualClock::new())
        .keyed::<str>(10)
        .build()
        .expect("a table");
    assert!(!limiter.check_at("a", at(0), 5).is_allowed());
    limiter.set_quota_at(at(0), &log(10)).expect("the first change");
    assert!(limiter.check_at("a", at(0), 5).is_allowed());
    assert_eq!(limiter.peek_at("a", at(0), 0).remaining(), Some(5));
}
