//! The token bucket's arithmetic.

use tollgate::{Outcome, Quota, TokenBucket};

use crate::stream::{Stream, on_each_face};
use crate::{NANOS_PER_MS, NANOS_PER_S};

fn on_bucket(bucket: &TokenBucket, scenario: impl Fn(&Stream<'_>)) {
    on_each_face(|| bucket.clone().clock(tollgate::ManualClock::new()), scenario);
}

#[test]
fn bucket_idle_for_longer_than_it_takes_to_fill_grants_its_capacity() {
    on_bucket(&TokenBucket::new(Quota::per_second(5)), |stream| {
        assert_eq!(stream.take_all(0), 5);
        assert_eq!(stream.take_all(2 * NANOS_PER_S), 5);
    });
}

#[test]
fn bucket_of_one_idle_for_30_s_grants_one() {
    on_bucket(&TokenBucket::new(Quota::per_second(1)), |stream| {
        assert_eq!(stream.take_all(30 * NANOS_PER_S), 1);
        assert_eq!(stream.take_all(60 * NANOS_PER_S), 1);
    });
}

#[test]
fn bucket_idle_for_years_grants_its_capacity() {
    const NANOS_PER_YEAR: u64 = 365 * 24 * 3600 * NANOS_PER_S;
    on_bucket(&TokenBucket::new(Quota::per_second(1)).burst(3), |stream| {
        for years in [0, 1, 2, 4, 8, 16, 32, 64] {
            assert_eq!(stream.take_all(years * NANOS_PER_YEAR), 3, "after {years} years");
        }
    });
}

#[test]
fn bucket_of_1200_per_minute_refills_ten_in_half_a_second() {
    on_bucket(&TokenBucket::new(Quota::per_minute(1200)), |stream| {
        assert!(stream.ask(0, 1200).is_allowed());
        assert_eq!(stream.take_all(500 * NANOS_PER_MS), 10);
    });
}

#[test]
fn hundreds_of_millions_per_second_refill_exactly() {
    for limit in [300_000_000, 600_000_000] {
        on_bucket(&TokenBucket::new(Quota::per_second(limit)), |stream| {
            assert!(stream.ask(0, limit).is_allowed());
            for tenth in 1..=10 {
                let now = tenth * 100 * NANOS_PER_MS;
                assert_eq!(stream.ask(now, 0).remaining(), Some(tenth * limit / 10));
            }
            assert!(stream.ask(NANOS_PER_S, limit).is_allowed());
            assert_eq!(stream.ask(NANOS_PER_S, 1).outcome(), Outcome::Denied);
        });
    }
}

#[test]
fn wait_of_a_drained_bucket_is_that_for_one_permit() {
    on_bucket(&TokenBucket::new(Quota::per_second(10)), |stream| {
        assert_eq!(stream.take_all(0), 10);
        assert_eq!(stream.ask(0, 1).retry_after_nanos(), Some(100 * NANOS_PER_MS));
    });
}

#[test]
fn wait_at_every_rate_is_enough_and_one_ns_less_is_not() {
    for limit in 1..=2000 {
        on_bucket(&TokenBucket::new(Quota::per_second(limit)), |stream| {
            assert!(stream.ask(0, limit).is_allowed());
            let mut now = 0;
            for permit in 0..20 {
                let wait = stream.ask(now, 1).retry_after_nanos().expect("the bucket is empty");
                assert!(!stream.ask(now + wait - 1, 1).is_allowed(), "{limit}/s, permit {permit}");
                now += wait;
                assert!(stream.ask(now, 1).is_allowed(), "{limit}/s, permit {permit}");
            }
        });
    }
}

#[test]
fn bucket_polled_more_often_than_it_refills_loses_no_refill() {
    on_bucket(&TokenBucket::new(Quota::per_second(1)), |stream| {
        assert_eq!(stream.take_all(0), 1);
        let polls = (1..=100).map(|poll| poll * 100 * NANOS_PER_MS);
        assert_eq!(polls.filter(|now| stream.ask(*now, 1).is_allowed()).count(), 10);
    });
}

#[test]
fn bucket_polled_at_no_divisor_of_its_refill_is_late_by_less_than_a_poll_each_time() {
    const POLL: u64 = 1999;
    const REFILL: u64 = 100 * NANOS_PER_MS;
    on_bucket(&TokenBucket::new(Quota::per_second(10)).burst(1), |stream| {
        assert_eq!(stream.take_all(0), 1);
        // A bucket of one token counts its refill from the grant, so that each one comes at the next poll.
        let granted_each = REFILL.next_multiple_of(POLL);
        let polls = (1..).map(|poll| poll * POLL).take_while(|now| *now <= NANOS_PER_S);
        let granted: Vec<_> = polls.filter(|now| stream.ask(*now, 1).is_allowed()).collect();
        let expected: Vec<_> = (1..10).map(|grant| grant * granted_each).collect();
        assert_eq!(granted, expected);
    });
}
