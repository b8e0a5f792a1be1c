//! What the cost of a request does, in all four algorithms.

use tollgate::{ManualClock, Outcome, Quota, TokenBucket};

use crate::stream::{on_each_algorithm, on_each_face};

#[test]
fn request_above_the_limit_is_too_large_and_leaves_the_state_alone() {
    on_each_algorithm(Quota::per_hour(10), ManualClock::new, |stream| {
        assert!(stream.ask(0, 4).is_allowed());
        assert_eq!(stream.ask(0, 11).outcome(), Outcome::TooLarge);
        assert_eq!(stream.take_all(0), 6);
        assert_eq!(stream.ask(0, 11).outcome(), Outcome::TooLarge);
        assert_eq!(stream.ask(0, 1).outcome(), Outcome::Denied);
    });
}

/// Costs whose product with the time a permit takes is a small number modulo 2^64.
#[test]
fn request_whose_price_wraps_64_bits_is_too_large() {
    for (quota, n) in
        [(Quota::per_day(1), 213_505), (Quota::per_hour(1), 5_124_097), (Quota::per_minute(2), 614_891_471)]
    {
        on_each_face(
            || TokenBucket::new(quota).burst(2).clock(ManualClock::new()),
            |stream| {
                assert_eq!(stream.ask(0, n).outcome(), Outcome::TooLarge, "{n} of {quota}");
                assert_eq!(stream.take_all(0), 2, "{n} of {quota}");
            },
        );
    }
}

#[test]
fn request_of_the_largest_number_is_too_large() {
    on_each_algorithm(Quota::per_second(3), ManualClock::new, |stream| {
        assert_eq!(stream.ask(0, u64::MAX).outcome(), Outcome::TooLarge);
        assert_eq!(stream.take_all(0), 3);
    });
}

#[test]
fn refusal_tells_what_is_left_and_not_a_full_limit() {
    on_each_algorithm(Quota::per_hour(5), ManualClock::new, |stream| {
        assert_eq!(stream.ask(0, 3).remaining(), Some(2));
        let refused = stream.ask(0, 3);
        assert_eq!(refused.outcome(), Outcome::Denied);
        assert_eq!(refused.remaining(), Some(2));
        assert_eq!(stream.ask(0, 2).remaining(), Some(0));
        assert_eq!(stream.ask(0, 1).remaining(), Some(0));
    });
}
