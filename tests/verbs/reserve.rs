use tollgate::{BuildError, DeniedKind, Keyed, Limiter, ManualClock, Outcome, Overflow, Quota, TokenBucket};

use crate::{SECOND, a_second_each, at, bucket_of_5, clock_at, nanos};

fn five() -> (Limiter<TokenBucket, ManualClock>, ManualClock) {
    let clock = clock_at(100);
    (bucket_of_5(100).clock(clock.clone()).build().expect("a quota that fits"), clock)
}

#[test]
fn permits_are_due_in_the_order_they_are_reserved_at_exactly_their_instants() {
    let clock = clock_at(0);
    let limiter = a_second_each().clock(clock.clone()).build().expect("a quota that fits");
    for number in 0..=10 {
        let reservation = limiter.reserve(1, 10 * SECOND).expect("within the longest wait");
        assert_eq!((reservation.due(), reservation.permits()), (at(number * 1_000_000_000), 1));
        assert_eq!(reservation.wait(), nanos(number * 1_000_000_000));
        reservation.keep();
    }
    let refused = limiter.reserve(1, 10 * SECOND).expect_err("due in 11 s");
    assert_eq!((refused.kind(), refused.retry_after()), (DeniedKind::Limited, Some(SECOND)));
    assert_eq!(limiter.check().outcome(), Outcome::Denied);
    clock.set(at(999_999_999));
    assert!(limiter.reserve(1, 10 * SECOND).is_err(), "1 ns less is not enough");
    clock.set(at(1_000_000_000));
    assert!(limiter.reserve(1, 10 * SECOND).is_ok());
}

#[test]
fn what_is_due_in_any_span_is_within_the_bound_of_one_nanosecond_more() {
    let mut is_above_that_of_the_span = false;
    for (limit, burst) in [(1_500_000, 1), (1_500_000, 2), (999_983, 1), (300_000_000, 1), (7, 3)] {
        let bucket = TokenBucket::new(Quota::per_second(limit)).burst(burst).max_wait(100 * SECOND);
        let limiter = bucket.clock(clock_at(0)).build().expect("a quota that fits");
        let reserve = |_| limiter.reserve(1, 100 * SECOND).expect("within 100 s");
        let held: Vec<_> = (0..100).map(reserve).collect();
        let bound = |span: u64| burst + span * limit / 1_000_000_000;
        for (number, last) in held.iter().enumerate() {
            for (first, permits) in held[..=number].iter().rev().zip(1..) {
                let span = last.due().as_nanos() - first.due().as_nanos();
                assert!(permits <= bound(span + 1), "{permits} of {limit} per second in {span} ns");
                is_above_that_of_the_span |= permits > bound(span);
            }
        }
    }
    assert!(is_above_that_of_the_span, "dues are rounded up");
}

#[test]
fn a_wait_longer_than_the_call_asks_for_is_refused_and_nothing_is_charged() {
    let limiter = a_second_each().clock(clock_at(0)).build().expect("a quota that fits");
    limiter.reserve(1, SECOND).expect("at once").keep();
    let refused = limiter.reserve(1, nanos(999_999_999)).expect_err("due in 1 s");
    assert_eq!(refused.retry_after(), Some(nanos(1)));
    assert_eq!(limiter.reserve(1, SECOND).expect("due in 1 s").due(), at(1_000_000_000));
}

#[test]
fn without_a_longest_wait_only_what_is_there_can_be_reserved() {
    let limiter = TokenBucket::new(Quota::per_second(1)).clock(clock_at(0)).build().expect("fits");
    let reservation = limiter.reserve(1, 10 * SECOND).expect("at once");
    assert_eq!(reservation.wait(), nanos(0));
    reservation.keep();
    assert_eq!(limiter.reserve(1, 10 * SECOND).expect_err("spent").retry_after(), Some(SECOND));
}

#[test]
fn more_than_the_capacity_can_never_be_reserved_and_nothing_always_can() {
    let (limiter, _) = five();
    assert_eq!(limiter.reserve(6, nanos(100)).expect_err("too large").kind(), DeniedKind::TooLarge);
    let nothing = limiter.reserve(0, nanos(0)).expect("nothing");
    assert_eq!((nothing.permits(), nothing.due(), nothing.cancel()), (0, at(100), 0));
    assert_eq!(limiter.peek(0).remaining(), Some(5));
}

#[test]
fn cancelled_in_reverse_order_everything_comes_back() {
    for sizes in [vec![5], vec![3, 3, 5], vec![1; 12], vec![5, 5, 5, 1]] {
        let (limiter, _) = five();
        let mut held: Vec<_> =
            sizes.iter().map(|n| limiter.reserve(*n, nanos(100)).expect("within 100 ns")).collect();
        while let Some(last) = held.pop() {
            let permits = last.permits();
            assert_eq!(last.cancel(), permits, "{sizes:?}");
        }
        assert_eq!(limiter.peek(0).remaining(), Some(5), "{sizes:?}");
    }
}

#[test]
fn cancelled_late_with_nothing_charged_since_leaves_a_full_bucket() {
    let (limiter, clock) = five();
    let reservation = limiter.reserve(5, nanos(0)).expect("a full bucket");
    clock.set(at(103));
    assert_eq!(reservation.cancel(), 2, "time has given back the others");
    assert_eq!(limiter.peek(0).remaining(), Some(5));
    assert!(limiter.check_n(5).is_allowed());
    assert_eq!(limiter.check().outcome(), Outcome::Denied);
}

#[test]
fn cancelled_out_of_order_nothing_comes_back_and_the_bound_holds() {
    let (limiter, clock) = five();
    let first = limiter.reserve(5, nanos(0)).expect("a full bucket");
    clock.set(at(103));
    assert!(limiter.check_n(3).is_allowed());
    clock.set(at(104));
    assert_eq!(first.cancel(), 0);
    assert_eq!(limiter.check_n(5).outcome(), Outcome::Denied, "eight in 2 ns of five");
    assert_eq!(limiter.peek(0).remaining(), Some(1));
}

#[test]
fn a_reservation_dropped_is_cancelled_and_one_that_is_kept_is_not() {
    let (limiter, _) = five();
    drop(limiter.reserve(2, nanos(0)).expect("a full bucket"));
    assert_eq!(limiter.peek(0).remaining(), Some(5));
    limiter.reserve(2, nanos(0)).expect("a full bucket").keep();
    assert_eq!(limiter.peek(0).remaining(), Some(3));
}

/// As documented: whoever refunds first has the word of the reservation come back, by another's charge.
#[test]
fn a_cancel_after_a_refund_may_take_back_a_later_charge_that_left_the_same_word() {
    let clock = clock_at(0);
    let limiter = TokenBucket::new(Quota::per_second(1)).burst(3).clock(clock.clone()).build().expect("fits");
    for (is_refunded_first, given_back) in [(true, 1), (false, 0)] {
        assert!(limiter.check_n(2).is_allowed());
        let held = limiter.reserve(1, nanos(0)).expect("three");
        if is_refunded_first {
            assert_eq!(limiter.refund(2), 2);
        }
        clock.advance(2 * SECOND);
        assert!(limiter.check().is_allowed());
        assert_eq!(held.cancel(), given_back);
        clock.advance(10 * SECOND);
    }
}

#[test]
fn an_unwanted_permit_given_back_twice_comes_back_once() {
    let (limiter, _) = five();
    let (first, second) = (
        limiter.reserve(2, nanos(0)).expect("a full bucket"),
        limiter.reserve(3, nanos(0)).expect("three left"),
    );
    assert_eq!(first.cancel(), 0, "out of order: lost");
    assert_eq!(second.cancel(), 3);
    assert_eq!(limiter.peek(0).remaining(), Some(3));
}

#[test]
fn a_key_with_an_outstanding_reservation_keeps_its_slot() {
    let clock = clock_at(0);
    let limiter = a_second_each().clock(clock.clone()).keyed::<u64>(1).build().expect("fits");
    let held: Vec<_> = (0..3).map(|_| limiter.reserve(&0, 1, 10 * SECOND).expect("within 10 s")).collect();
    clock.set(at(1_500_000_000));
    // More keys than there are slots come and stay, until only the slot of the key above could be recycled.
    for key in 1..=64 {
        let _ = limiter.check(&key);
    }
    assert!(limiter.stats().overflowed > 0, "the table is full");
    assert_eq!(limiter.stats().recycled, 0);
    // Due in 0.5 s, due since 0.5 s, due since 1.5 s.
    assert_eq!(held.into_iter().rev().map(tollgate::Reservation::cancel).collect::<Vec<_>>(), [1, 0, 0]);
    assert!(limiter.peek(&0, 1).is_allowed());
}

#[test]
fn a_cancel_does_not_reach_the_next_owner_of_the_slot() {
    let clock = clock_at(0);
    let limiter = a_second_each().clock(clock.clone()).keyed::<u64>(1).build().expect("fits");
    let late = limiter.reserve(&0, 1, SECOND).expect("at once");
    clock.set(at(5_000_000_000));
    for key in 1..=64 {
        limiter.check(&key).is_allowed();
    }
    assert!(limiter.stats().recycled > 0);
    let before: Vec<_> = (0..=64).map(|key| limiter.peek(&key, 0).remaining()).collect();
    assert_eq!(late.cancel(), 0, "its slot is another key's");
    let after: Vec<_> = (0..=64).map(|key| limiter.peek(&key, 0).remaining()).collect();
    assert_eq!(before, after);
}

#[test]
fn a_key_without_a_slot_reserves_as_its_overflow_policy_says() {
    let limiter = |overflow| {
        let limiter = a_second_each().clock(clock_at(0)).keyed::<u64>(1).overflow(overflow);
        let limiter = limiter.build().expect("fits");
        for key in 0..64 {
            let _ = limiter.check_n(&key, 1);
        }
        limiter
    };
    let refused = limiter(Overflow::Deny);
    let turned_away = (100..200).filter(|key| refused.reserve(key, 1, 10 * SECOND).is_err()).count();
    assert_eq!(turned_away, 100);
    let allowed = limiter(Overflow::Allow);
    assert!((100..200).all(|key| allowed.reserve(&key, 1, SECOND).is_ok_and(|held| held.wait().is_zero())));
    let shared = limiter(Overflow::Shared(Quota::per_second(2)));
    let held: Vec<_> = (100..150).map_while(|key| shared.reserve(&key, 1, 3 * SECOND).ok()).collect();
    // Two at once unless the keys above have taken them, and two for each second.
    assert!((6..=8).contains(&held.len()), "{held:?}");
    assert!(held.windows(2).all(|pair| pair[0].due() <= pair[1].due()));
    let len = held.len() as u64;
    assert_eq!(held.into_iter().rev().map(tollgate::Reservation::cancel).sum::<u64>(), len);
}

/// A table of buckets with a permit an hour each that is full, and a permit per second for all other keys.
fn full_table(clock: &ManualClock) -> Keyed<TokenBucket, u64, ManualClock> {
    let bucket = TokenBucket::new(Quota::per_hour(1)).max_wait(7200 * SECOND).clock(clock.clone());
    let limiter = bucket.keyed(1).overflow(Overflow::Shared(Quota::per_second(1))).build().expect("fits");
    for key in 0..64 {
        let _ = limiter.check(&key);
    }
    assert!(limiter.stats().overflowed > 0, "the table is full");
    limiter
}

#[test]
fn a_reservation_refused_by_the_shared_limit_is_told_the_exact_wait_for_it() {
    let clock = clock_at(0);
    let limiter = full_table(&clock);
    let reserve = |max_wait| limiter.reserve(&1000, 1, max_wait).map(tollgate::Reservation::keep);
    while reserve(3 * SECOND).is_ok() {}
    // The next is due in 4 s.
    for (max_wait, wait) in [(3, 1), (2, 2), (0, 4)] {
        let refused = reserve(max_wait * SECOND).expect_err("due in 4 s");
        assert_eq!(refused.retry_after(), Some(wait * SECOND), "{max_wait}");
    }
    clock.set(at(999_999_999));
    assert!(reserve(3 * SECOND).is_err(), "1 ns less is not enough");
    clock.set(at(1_000_000_000));
    assert!(reserve(3 * SECOND).is_ok());
}

#[test]
fn permits_of_the_shared_limit_that_are_there_are_due_at_the_reading_that_reserved_them() {
    let clock = clock_at(0);
    let shared = Overflow::Shared(Quota::per_second(3));
    let limiter =
        a_second_each().clock(clock.clone()).keyed::<u64>(1).overflow(shared).build().expect("fits");
    for key in 0..64 {
        let _ = limiter.check(&key);
    }
    clock.advance(SECOND / 2);
    // One has come back at least, before now.
    let held = limiter.reserve(&1000, 1, nanos(0)).expect("in half a second one and a half come back");
    assert_eq!((held.due(), held.wait()), (at(500_000_000), nanos(0)));
}

#[test]
fn more_than_the_limit_of_a_key_is_refused_without_a_slot() {
    let limiter = a_second_each().clock(clock_at(0)).keyed::<u64>(10).build().expect("fits");
    assert_eq!(limiter.reserve(&7, 2, SECOND).expect_err("too large").kind(), DeniedKind::TooLarge);
    assert!(limiter.reserve(&7, 0, SECOND).is_ok());
    assert_eq!(limiter.stats().inserted, 0);
}

#[test]
fn a_longest_wait_that_the_word_cannot_tell_is_refused_with_the_bound() {
    let bucket = |max_wait| TokenBucket::new(Quota::per_second(1)).max_wait(nanos(max_wait));
    let Err(BuildError::MaxWaitTooLong { max_wait_nanos, max_nanos }) = bucket(u64::MAX).build() else {
        panic!("refused")
    };
    assert_eq!(max_wait_nanos, u64::MAX);
    assert!(bucket(max_nanos).build().is_ok());
    assert!(matches!(bucket(max_nanos + 1).build(), Err(BuildError::MaxWaitTooLong { .. })));
}

#[test]
fn a_bucket_as_far_in_debt_as_reservations_go_is_not_taken_for_a_glitch() {
    let clock = clock_at(0);
    let bucket = TokenBucket::new(Quota::per_second(1)).max_wait(60 * SECOND);
    let limiter = bucket.clock(clock.clone()).build().expect("a quota that fits");
    let held: Vec<_> = (0..61).map(|_| limiter.reserve(1, 60 * SECOND).expect("within a minute")).collect();
    assert_eq!(limiter.check().retry_after(), Some(61 * SECOND));
    assert_eq!(held.into_iter().rev().map(tollgate::Reservation::cancel).sum::<u64>(), 61);
}
