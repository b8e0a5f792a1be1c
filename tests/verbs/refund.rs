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

/// The clock errs by a day for a moment, in which one key's slot goes to another.
#[test]
fn a_refund_after_a_glitch_of_the_clock_comes_back() {
    fn test<A: Refundable>(algorithm: A) {
        let clock = clock_at(100);
        let limiter = tollgate::Builder::new(algorithm, clock.clone()).keyed::<u64>(1).build().expect("fits");
        for key in 0..64 {
            let _ = limiter.check(&key);
        }
        clock.advance(24 * 3600 * SECOND);
        assert!(limiter.check(&1000).is_allowed());
        assert_eq!(limiter.stats().recycled, 1);
        clock.set(at(101));
        let key = (0..64).find(|key| !limiter.peek(key, 1).is_allowed()).expect("a key that kept its slot");
        assert_eq!((limiter.refund(&key, 1), limiter.refund(&key, 1)), (1, 0));
        assert!(limiter.check(&key).is_allowed());
    }
    test(FixedWindow::new(Quota::per_hour(1)));
    test(SlidingCounter::new(Quota::per_hour(1)));
}

/// Of a bucket less: the time of recycling counts as that of the slack from now, until which it refills.
#[test]
fn a_bucket_refunded_after_a_glitch_of_the_clock_gets_back_all_but_what_comes_back_in_the_slack() {
    let clock = clock_at(100);
    let bucket = TokenBucket::new(Quota::per_hour(3600)).clock(clock.clone());
    let limiter = bucket.keyed::<u64>(1).build().expect("fits");
    for key in 0..64 {
        let _ = limiter.check_n(&key, 100);
    }
    clock.advance(24 * 3600 * SECOND);
    assert!(limiter.check(&1000).is_allowed());
    clock.set(at(100));
    let has_slot = |key: &u64| limiter.peek(key, 0).remaining() == Some(3500);
    let key = (0..64).find(has_slot).expect("a key that kept its slot");
    assert_eq!(limiter.refund(&key, 100), 95);
    assert_eq!(limiter.peek(&key, 0).remaining(), Some(3595));
}
