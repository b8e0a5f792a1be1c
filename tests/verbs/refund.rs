use tollgate::{FixedWindow, Quota, Refundable, SlidingCounter, TokenBucket};

use crate::{SECOND, at, bucket_of_5, clock_at};

#[test]
fn a_refund_never_fills_beyond_the_limit() {
    fn test<A: Refundable>(algorithm: A) {
        let limiter = tollgate::Builder::new(algorithm, clock_at(100)).build().expect("a quota that fits");
        assert_eq!(limiter.refund(3), 0, "nothing was charged");
        assert!(limiter.check_n(3).is_allowed());
        assert_eq!(
            (limiter.refund(0), limiter.refund(2), limiter.refund(u64::MAX), limiter.refund(1)),
            (0, 2, 1, 0)
        );
        assert_eq!(limiter.peek(0).remaining(), Some(5));
    }
    test(TokenBucket::new(Quota::per_second(5)));
    test(FixedWindow::new(Quota::per_second(5)));
    test(SlidingCounter::new(Quota::per_second(5)));
}

#[test]
fn a_window_takes_nothing_back_once_it_has_passed() {
    fn test<A: Refundable>(algorithm: A) {
        let clock = clock_at(999_999_999);
        let limiter = tollgate::Builder::new(algorithm, clock.clone()).build().expect("a quota that fits");
        assert!(limiter.check_n(3).is_allowed());
        clock.advance(crate::nanos(1));
        let before = limiter.peek(0).remaining();
        assert_eq!(limiter.refund(3), 0);
        assert_eq!(limiter.peek(0).remaining(), before);
    }
    test(FixedWindow::new(Quota::per_second(5)));
    test(SlidingCounter::new(Quota::per_second(5)));
}

#[test]
fn what_time_has_given_back_is_not_given_twice() {
    let clock = clock_at(100);
    let limiter = bucket_of_5(0).clock(clock.clone()).build().expect("a quota that fits");
    assert!(limiter.check_n(5).is_allowed());
    clock.set(at(103));
    assert_eq!(limiter.refund(5), 2);
    assert_eq!(limiter.peek(0).remaining(), Some(5));
}

#[test]
fn a_part_of_a_permit_given_back_counts_as_none() {
    let clock = clock_at(0);
    let limiter = TokenBucket::new(Quota::per_second(1)).burst(2).clock(clock.clone()).build().expect("fits");
    assert!(limiter.check_n(2).is_allowed());
    clock.advance(SECOND / 2);
    assert_eq!(limiter.refund(2), 1, "half of one came back by itself");
    assert_eq!(limiter.peek(0).remaining(), Some(2));
}

#[test]
fn a_refund_reaches_its_key_alone() {
    fn test<A: Refundable>(algorithm: A) {
        let limiter = tollgate::Builder::new(algorithm, clock_at(100)).keyed::<str>(100);
        let limiter = limiter.build().expect("a quota that fits");
        for key in ["a", "b"] {
            assert!(limiter.check_n(key, 3).is_allowed());
        }
        assert_eq!((limiter.refund("c", 1), limiter.refund("a", 9), limiter.refund("b", 1)), (0, 3, 1));
        assert_eq!(limiter.stats().inserted, 2, "a refund inserts nothing");
        assert_eq!(["a", "b", "c"].map(|key| limiter.peek(key, 0).remaining()), [Some(5), Some(3), Some(5)]);
    }
    test(TokenBucket::new(Quota::per_second(5)));
    test(FixedWindow::new(Quota::per_second(5)));
    test(SlidingCounter::new(Quota::per_second(5)));
}
