use tollgate::{Quota, TokenBucket};

use crate::{SECOND, a_second_each, clock_at};

#[test]
fn a_penalty_goes_into_debt_as_deep_as_the_longest_wait_and_no_deeper() {
    let limiter = a_second_each().clock(clock_at(0)).build().expect("a quota that fits");
    let keyed = a_second_each().clock(clock_at(0)).keyed::<u64>(10).build().expect("fits");
    for (asked, taken) in [(0, 0), (3, 3), (5, 5), (u64::MAX, 3), (1, 0)] {
        assert_eq!((limiter.penalize(asked), keyed.penalize(&7, asked)), (taken, taken));
    }
    for decision in [limiter.check(), keyed.check(&7)] {
        assert_eq!((decision.remaining(), decision.retry_after()), (Some(0), Some(11 * SECOND)));
    }
    assert!(keyed.check(&8).is_allowed());
}

#[test]
fn a_penalty_without_debt_takes_what_is_there() {
    let limiter = TokenBucket::new(Quota::per_second(5)).clock(clock_at(0)).build().expect("fits");
    assert!(limiter.check_n(2).is_allowed());
    assert_eq!((limiter.penalize(9), limiter.penalize(9)), (3, 0));
}

#[test]
fn reservations_wait_for_a_penalty_too() {
    let limiter = a_second_each().clock(clock_at(0)).build().expect("a quota that fits");
    assert_eq!(limiter.penalize(4), 4);
    assert_eq!(limiter.reserve(1, 10 * SECOND).expect("within 10 s").wait(), 4 * SECOND);
}
