use tollgate::{FixedWindow, Quota, Refundable, SlidingCounter, TokenBucket};

use crate::{at, clock_at};

fn starts_anew<A: Refundable>(algorithm: A) {
    let clock = clock_at(0);
    let limiter = tollgate::Builder::new(algorithm, clock.clone()).keyed::<u64>(10).build().expect("fits");
    // So that there is a window before the current one.
    for now in [500, 1000, 1000, 1030, 1099] {
        clock.set(at(now));
        assert!(!limiter.reset(&(now + 10_000)), "it has no state");
        let _ = limiter.check_n(&7, 5);
        let _ = limiter.check_n(&8, 2);
        let other = limiter.peek(&8, 0).remaining();
        assert!(limiter.reset(&7));
        assert_eq!(limiter.peek(&7, 0).remaining(), Some(5), "at {now}");
        assert!(limiter.check_n(&7, 5).is_allowed(), "at {now}");
        assert!(!limiter.check(&7).is_allowed(), "at {now}");
        assert_eq!(limiter.peek(&8, 0).remaining(), other);
        assert!(limiter.reset(&7));
    }
    assert_eq!(limiter.stats().inserted, 2, "a reset inserts nothing");
}

#[test]
fn a_key_that_is_reset_has_all_of_its_limit_and_others_what_they_had() {
    starts_anew(TokenBucket::new(Quota::new(5, crate::nanos(100))));
    starts_anew(FixedWindow::new(Quota::new(5, crate::nanos(100))));
    starts_anew(SlidingCounter::new(Quota::new(5, crate::nanos(100))));
}

#[test]
fn a_reset_at_an_older_reading_gives_that_reading_no_more_than_one_limit() {
    fn test<A: Refundable>(algorithm: A) {
        let limiter = tollgate::Builder::new(algorithm, clock_at(0)).keyed::<u64>(10).build().expect("fits");
        assert!(limiter.check_at(&7, at(1000), 5).is_allowed());
        assert!(limiter.reset_at(&7, at(300)));
        assert!(limiter.check_at(&7, at(300), 5).is_allowed());
        assert!(!limiter.check_at(&7, at(300), 1).is_allowed());
    }
    test(TokenBucket::new(Quota::new(5, crate::nanos(100))));
    test(FixedWindow::new(Quota::new(5, crate::nanos(100))));
    test(SlidingCounter::new(Quota::new(5, crate::nanos(100))));
}
