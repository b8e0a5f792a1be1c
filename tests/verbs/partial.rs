use tollgate::{Algorithm, FixedWindow, Outcome, Overflow, Quota, SlidingCounter, SlidingLog, TokenBucket};

use crate::{at, clock_at, nanos};

fn for_each(limit: u64, test: &impl Test) {
    let quota = Quota::new(limit, nanos(100));
    test.run(&TokenBucket::new(quota));
    test.run(&FixedWindow::new(quota));
    test.run(&SlidingCounter::new(quota));
    test.run(&SlidingLog::new(quota));
    test.run(&SlidingLog::new(quota).without_remaining());
}

trait Test {
    fn run<A: Algorithm>(&self, algorithm: &A);
}

struct TakesWhatIsThere;

impl Test for TakesWhatIsThere {
    fn run<A: Algorithm>(&self, algorithm: &A) {
        let clock = clock_at(100);
        let limiter = tollgate::Builder::new(algorithm.clone(), clock.clone()).build().expect("fits");
        let keyed = tollgate::Builder::new(algorithm.clone(), clock.clone()).keyed::<u64>(10);
        let keyed = keyed.build().expect("fits");
        for (asked, taken) in [(0, 0), (3, 3), (0, 0), (3, 2), (3, 0), (1, 0)] {
            for grant in [limiter.take_up_to(asked), keyed.take_up_to(&7, asked)] {
                assert_eq!(grant.permits(), taken, "{algorithm:?}");
                let refused = asked > 0 && taken == 0;
                assert_eq!(grant.decision().is_allowed(), !refused, "{algorithm:?}");
                assert_eq!(
                    grant.decision().retry_after(),
                    refused.then(|| limiter.check().retry_after()).flatten()
                );
            }
        }
        clock.set(at(1000));
        assert_eq!(limiter.take_up_to(u64::MAX).permits(), 5, "{algorithm:?}");
        assert_eq!(keyed.take_up_to(&8, u64::MAX).permits(), 5, "{algorithm:?}");
        assert_eq!(keyed.take_up_to_at(&9, at(990), 4).permits(), 4, "{algorithm:?}");
        assert_eq!(limiter.take_up_to_at(at(990), 4).permits(), 0, "{algorithm:?}");
    }
}

#[test]
fn as_many_are_taken_as_are_there_and_no_more() {
    for_each(5, &TakesWhatIsThere);
}

struct NothingOfNothing;

impl Test for NothingOfNothing {
    fn run<A: Algorithm>(&self, algorithm: &A) {
        let limiter = tollgate::Builder::new(algorithm.clone(), clock_at(5)).build().expect("fits");
        let keyed = tollgate::Builder::new(algorithm.clone(), clock_at(5)).keyed::<u64>(10).build();
        let keyed = keyed.expect("fits");
        for grant in [limiter.take_up_to(3), keyed.take_up_to(&7, 3)] {
            assert_eq!(
                (grant.permits(), grant.decision().outcome()),
                (0, Outcome::TooLarge),
                "{algorithm:?}"
            );
        }
        assert!(limiter.take_up_to(0).decision().is_allowed());
        assert_eq!(keyed.stats().inserted, 0);
    }
}

#[test]
fn of_a_limit_of_zero_nothing_is_taken() {
    for_each(0, &NothingOfNothing);
}

#[test]
fn a_key_without_a_slot_takes_as_its_overflow_policy_says() {
    for (overflow, asked, taken) in
        [(Overflow::Deny, 3, 0), (Overflow::Allow, 3, 3), (Overflow::Shared(Quota::per_day(2)), 3, 2)]
    {
        let limiter = FixedWindow::new(Quota::per_day(9)).clock(clock_at(0)).keyed::<u64>(1);
        let limiter = limiter.overflow(overflow).build().expect("fits");
        let mut key = 0;
        while limiter.stats().overflowed == 0 {
            // 0 of the shared limit: it admits no more than 2.
            let _ = limiter.check_n(&key, 9);
            key += 1;
        }
        assert_eq!(limiter.take_up_to(&1000, asked).permits(), taken, "{overflow:?}");
    }
}
