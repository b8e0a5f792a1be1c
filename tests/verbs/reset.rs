use tollgate::{Algorithm, FixedWindow, Quota, SlidingCounter, SlidingLog, TokenBucket};

use crate::{SECOND, at, clock_at};

fn starts_anew<A: Algorithm>(algorithm: A) {
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
    let stats = limiter.stats();
    assert_eq!((stats.overflowed, stats.contended), (0, 0));
}

#[test]
fn a_key_that_is_reset_has_all_of_its_limit_and_others_what_they_had() {
    starts_anew(TokenBucket::new(Quota::new(5, crate::nanos(100))));
    starts_anew(FixedWindow::new(Quota::new(5, crate::nanos(100))));
    starts_anew(SlidingCounter::new(Quota::new(5, crate::nanos(100))));
    starts_anew(SlidingLog::new(Quota::new(5, crate::nanos(100))));
}

#[test]
fn a_reset_at_an_older_reading_gives_that_reading_no_more_than_one_limit() {
    fn test<A: Algorithm>(algorithm: A) {
        let limiter = tollgate::Builder::new(algorithm, clock_at(0)).keyed::<u64>(10).build().expect("fits");
        assert!(limiter.check_at(&7, at(1000), 5).is_allowed());
        assert!(limiter.reset_at(&7, at(300)));
        assert!(limiter.check_at(&7, at(300), 5).is_allowed());
        assert!(!limiter.check_at(&7, at(300), 1).is_allowed());
    }
    test(TokenBucket::new(Quota::new(5, crate::nanos(100))));
    test(FixedWindow::new(Quota::new(5, crate::nanos(100))));
    test(SlidingCounter::new(Quota::new(5, crate::nanos(100))));
    test(SlidingLog::new(Quota::new(5, crate::nanos(100))));
}

/// The log's slot is freed and may go to another key, which finds nothing of what was forgotten.
#[test]
fn a_log_that_is_reset_leaves_nothing_to_the_next_key() {
    let clock = clock_at(1000);
    let log = SlidingLog::new(Quota::new(2, crate::nanos(100))).without_remaining();
    let limiter = log.clock(clock.clone()).keyed::<u64>(1).build().expect("fits");
    for round in 0..200 {
        for key in 0..40 {
            let key = round * 100 + key;
            assert!(limiter.check_n(&key, 2).is_allowed(), "{key}");
            assert!(!limiter.check(&key).is_allowed(), "{key}");
            assert!(limiter.reset(&key), "{key}");
            assert!(!limiter.reset(&key), "{key}");
            clock.advance(crate::nanos(key % 3));
        }
    }
    assert_eq!((limiter.stats().inserted, limiter.stats().recycled), (8000, 0));
}

/// The clock errs by a day for a moment, in which one key's slot goes to another.
fn after_a_glitch<A: Algorithm>(algorithm: A) {
    let clock = clock_at(100);
    let limiter = tollgate::Builder::new(algorithm, clock.clone()).keyed::<u64>(1).build().expect("fits");
    let is_held = |key: &u64| !limiter.peek(key, 1).is_allowed();
    for key in 0..64 {
        let _ = limiter.check(&key);
    }
    let held = (0..64).filter(is_held).count();
    clock.advance(24 * 3600 * SECOND);
    assert!(limiter.check(&1000).is_allowed());
    assert_eq!(limiter.stats().recycled, 1);
    clock.set(at(101));
    let keys: Vec<u64> = (0..64).filter(is_held).collect();
    assert_eq!(keys.len(), held - 1);
    for key in [keys[0], 1000] {
        assert!(limiter.reset(&key));
    }
    // A healed clock's readings may be as far apart as this.
    clock.advance(5 * SECOND);
    for key in [keys[0], 1000] {
        assert!(limiter.check(&key).is_allowed(), "{key}");
        assert!(!limiter.check(&key).is_allowed(), "{key}");
    }
    assert!(!limiter.check(&keys[1]).is_allowed(), "others stay as they were");
}

#[test]
fn a_key_that_is_reset_after_a_glitch_of_the_clock_has_all_of_its_limit_once_the_slack_has_passed() {
    after_a_glitch(TokenBucket::new(Quota::per_hour(1)));
    after_a_glitch(FixedWindow::new(Quota::per_hour(1)));
    after_a_glitch(SlidingCounter::new(Quota::per_hour(1)));
    after_a_glitch(SlidingLog::new(Quota::per_hour(1)));
}
