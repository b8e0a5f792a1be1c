//! Several limits at once.

use core::time::Duration;
use std::thread;

use tollgate::{
    AllOf, FixedWindow, Instant, Keyed, Limit, LimitList, Limiter, ManualClock, Outcome, Overflow, Quota,
    Revocable, SlidingCounter, SlidingLog, TokenBucket,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn bucket(quota: Quota, clock: &ManualClock) -> Limiter<TokenBucket, ManualClock> {
    TokenBucket::new(quota).clock(clock.clone()).build().expect("a quota that fits")
}

/// A table of keys with one permit a day each, with no slot left for another key.
fn full_table(clock: &ManualClock) -> Keyed<FixedWindow, u64, ManualClock> {
    let keyed = FixedWindow::new(Quota::per_day(1)).clock(clock.clone()).keyed(1).build().expect("fits");
    for key in 0..64 {
        let _ = keyed.check(&key);
    }
    assert!(keyed.stats().overflowed > 0);
    keyed
}

#[test]
fn a_refusal_by_a_later_limit_charges_no_earlier_one_and_tells_which_refused() {
    let clock = ManualClock::new();
    let (minute, second) = (bucket(Quota::per_minute(2), &clock), bucket(Quota::per_second(1), &clock));
    let both = AllOf::new((&minute, &second));
    assert!(both.check().is_allowed());
    clock.set(at(MS));
    let refused = both.check();
    assert_eq!((refused.outcome(), refused.limiting()), (Outcome::Denied, 1));
    assert_eq!(refused.retry_after(), Some(Duration::from_millis(999)));
    assert_eq!(minute.peek(0).remaining(), Some(1));
    clock.set(at(SECOND));
    assert!(both.check().is_allowed());
    clock.set(at(2 * SECOND));
    let refused = both.check();
    assert_eq!((refused.limiting(), refused.retry_after()), (0, Some(Duration::from_secs(28))));
    assert!(refused.into_result().is_err_and(|denied| denied.retry_after_secs() == Some(28)));
    assert_eq!(second.peek(0).remaining(), Some(1), "not charged");
}

#[test]
fn each_limits_own_decision_is_told_and_of_those_a_refusal_spares_what_they_have_left() {
    let clock = ManualClock::new();
    clock.set(at(MS));
    let (minute, second) = (bucket(Quota::per_minute(3), &clock), bucket(Quota::per_second(1), &clock));
    let log = SlidingLog::new(Quota::per_hour(5)).clock(clock.clone()).build().expect("fits");
    let all = AllOf::new((&minute, &second, &log));
    let mut decisions = [None; 3];
    let mut told = |peek| {
        let (combined, now) =
            if peek { all.peek_each(1, &mut decisions) } else { all.check_each(1, &mut decisions) };
        assert_eq!(now, at(MS));
        let decisions = decisions.map(|decision| decision.expect("told"));
        (combined.is_allowed(), decisions.map(|decision| (decision.is_allowed(), decision.remaining())))
    };
    assert_eq!(told(true), (true, [(true, Some(3)), (true, Some(1)), (true, Some(5))]));
    assert_eq!(told(false), (true, [(true, Some(2)), (true, Some(0)), (true, Some(4))]));
    let refused = (false, [(true, Some(2)), (false, Some(0)), (true, Some(4))]);
    assert_eq!(told(false), refused);
    assert_eq!(told(true), refused);
    let mut one = [None];
    let (combined, _) = all.check_each(1, &mut one);
    assert_eq!((combined.limiting(), one[0].map(|told| told.is_allowed())), (1, Some(true)));
}

#[test]
fn of_several_that_refuse_the_longest_wait_is_told_and_none_is_the_longest() {
    let clock = ManualClock::new();
    let quotas = [Quota::per_second(1), Quota::per_hour(1), Quota::per_minute(1)];
    let limiters = quotas.map(|quota| bucket(quota, &clock));
    let limits = [&limiters[0] as &dyn Revocable, &limiters[1], &limiters[2]];
    let all = AllOf::new(LimitList::new(&limits));
    assert!(all.check().is_allowed());
    let refused = all.check();
    assert_eq!((refused.limiting(), refused.retry_after()), (1, Some(Duration::from_secs(3600))));
    let too_large =
        AllOf::new((&limiters[1], &bucket(Quota::per_second(5), &clock), &limiters[0])).check_n(2);
    assert_eq!((too_large.outcome(), too_large.limiting()), (Outcome::TooLarge, 0));
    assert_eq!(too_large.retry_after(), None);
}

#[test]
fn what_remains_is_that_of_the_limit_with_the_least_left() {
    let clock = ManualClock::new();
    let (wide, tight) = (bucket(Quota::per_second(10), &clock), bucket(Quota::per_hour(3), &clock));
    let both = AllOf::new((&wide, &tight));
    for (peek, left) in [(true, 3), (false, 1)] {
        let decision = if peek { both.peek(2) } else { both.check_n(2) };
        assert_eq!((decision.limiting(), decision.decision().remaining()), (1, Some(left)));
    }
    assert_eq!(wide.peek(0).remaining(), Some(8));
}

#[test]
fn of_limits_that_all_allow_the_earlier_is_told_if_it_has_less_left_or_as_much() {
    let clock = ManualClock::new();
    let (tight, wide) = (bucket(Quota::per_hour(3), &clock), bucket(Quota::per_second(10), &clock));
    let decision = AllOf::new((&tight, &wide)).check();
    assert_eq!((decision.limiting(), decision.decision().remaining()), (0, Some(2)));
    let (first, second) = (bucket(Quota::per_hour(5), &clock), bucket(Quota::per_second(5), &clock));
    let both = AllOf::new((&first, &second));
    for decision in [both.peek(1), both.check()] {
        assert_eq!((decision.is_allowed(), decision.limiting()), (true, 0));
    }
}

#[test]
fn a_cost_beyond_all_numbers_is_too_large_and_does_not_wrap() {
    let bytes = bucket(Quota::per_second(1000), &ManualClock::new());
    let both = AllOf::new(((&bytes).costing(1 << 63),));
    for decision in [both.peek(2), both.check_n(2)] {
        assert_eq!(decision.outcome(), Outcome::TooLarge);
    }
}

#[test]
fn a_limit_named_twice_without_room_for_both_tells_a_wait_that_is_never_enough_and_with_its_cost_none() {
    let clock = ManualClock::new();
    let limiter = bucket(Quota::per_second(1), &clock);
    for _ in 0..10 {
        let refused = AllOf::new((&limiter, &limiter)).check();
        assert_eq!((refused.limiting(), refused.retry_after()), (1, Some(Duration::from_secs(1))));
        assert_eq!(limiter.peek(0).remaining(), Some(1), "nothing is charged");
        clock.advance(Duration::from_secs(1));
    }
    let refused = AllOf::new(((&limiter).costing(2),)).check();
    assert_eq!((refused.outcome(), refused.retry_after()), (Outcome::TooLarge, None));
    let roomy = TokenBucket::new(Quota::per_second(1)).burst(2).clock(clock.clone()).build().expect("fits");
    let costing = AllOf::new(((&roomy).costing(2),));
    assert!(costing.check().is_allowed());
    assert_eq!(costing.check().retry_after(), Some(Duration::from_secs(2)));
}

#[test]
fn keys_and_logs_and_costs_go_together() {
    let clock = ManualClock::new();
    let bytes = bucket(Quota::per_second(1000), &clock);
    let users = SlidingCounter::new(Quota::per_minute(5)).clock(clock.clone()).keyed::<str>(10).build();
    let users = users.expect("fits");
    let log = SlidingLog::new(Quota::per_minute(3)).clock(clock.clone()).build().expect("fits");
    let ask = |user| AllOf::new(((&bytes).costing(300), users.for_key(user), &log)).check();
    assert!(ask("a").is_allowed() && ask("b").is_allowed() && ask("a").is_allowed());
    let refused = ask("b");
    assert_eq!((refused.limiting(), refused.retry_after()), (2, Some(Duration::from_secs(60))));
    assert_eq!((bytes.peek(0).remaining(), log.peek(0).remaining()), (Some(100), Some(0)));
    assert_eq!(["a", "b"].map(|user| users.peek(user, 0).remaining()), [Some(3), Some(4)]);
}

#[test]
fn limits_that_were_charged_are_undone_when_a_later_one_refuses_after_all() {
    let clock = ManualClock::new();
    clock.set(at(SECOND));
    let bucket = bucket(Quota::per_second(5), &clock);
    let window = FixedWindow::new(Quota::per_second(5)).clock(clock.clone()).build().expect("fits");
    let users = SlidingCounter::new(Quota::per_second(5)).clock(clock.clone()).keyed::<u64>(10).build();
    let users = users.expect("fits");
    // Twice the same limit: each look says that there is one permit.
    let last = self::bucket(Quota::per_second(1), &clock);
    let refused = AllOf::new((&bucket, &window, users.for_key(&7), &last, &last)).check_n(1);
    assert_eq!((refused.outcome(), refused.limiting()), (Outcome::Denied, 4));
    let left = [bucket.peek(0), window.peek(0), users.peek(&7, 0)].map(|decision| decision.remaining());
    assert_eq!(left, [Some(5); 3]);
    assert_eq!((users.stats().inserted, last.peek(0).remaining()), (1, Some(1)));
}

#[test]
fn a_key_that_a_later_table_has_no_room_for_charges_no_earlier_limit_and_inserts_no_key() {
    let clock = ManualClock::new();
    clock.set(at(SECOND));
    let full = full_table(&clock);
    let users = TokenBucket::new(Quota::per_second(5)).clock(clock.clone()).keyed::<u64>(10).build();
    let users = users.expect("fits");
    let before = full.stats();
    let all = AllOf::new((users.for_key(&7), full.for_key(&1000)));
    for refused in [all.peek(1), all.check(), all.check_at(at(SECOND), 1)] {
        assert_eq!((refused.outcome(), refused.limiting()), (Outcome::Denied, 1));
        assert!(refused.decision().overflowed());
        assert_eq!(
            refused.retry_after(),
            Some(Duration::from_nanos(86_399 * SECOND)),
            "until the windows end"
        );
    }
    assert_eq!((users.stats().inserted, full.stats().inserted), (0, before.inserted));
    assert_eq!(full.stats().overflowed, before.overflowed + 2, "a peek does not count");
    // Neither needs a slot.
    assert_eq!(all.check_n(0).outcome(), Outcome::Allowed);
    assert_eq!(all.check_n(6).outcome(), Outcome::TooLarge);
    clock.set(at(86_400 * SECOND));
    assert!(all.check().is_allowed());
    assert_eq!(full.stats().recycled, 1);
}

#[test]
fn a_key_without_a_slot_passes_all_limits_as_its_overflow_policy_says() {
    let clock = ManualClock::new();
    let everybody = bucket(Quota::per_second(5), &clock);
    let table = |overflow| {
        let table =
            FixedWindow::new(Quota::per_day(1)).clock(clock.clone()).keyed::<u64>(1).overflow(overflow);
        let table = table.build().expect("fits");
        while table.stats().overflowed == 0 {
            let _ = table.check(&(100 + table.stats().inserted));
        }
        table
    };
    let open = table(Overflow::Allow);
    assert!(AllOf::new((&everybody, open.for_key(&1))).check().is_allowed());
    assert_eq!((everybody.peek(0).remaining(), open.stats().overflowed), (Some(4), 2));
    // One of three is spent.
    let shared = table(Overflow::Shared(Quota::per_day(3)));
    let all = AllOf::new((&everybody, shared.for_key(&1)));
    let granted = (0..4).filter(|_| all.check().is_allowed()).count();
    assert_eq!((granted, everybody.peek(0).remaining()), (2, Some(2)));
    assert!(!all.peek(1).is_allowed() && all.peek(1).decision().overflowed());
}

/// Keys that fell silent ahead of the clock would keep their slots for as long as it erred.
#[test]
fn a_key_that_is_only_asked_for_among_several_limits_finds_a_slot_after_a_glitch() {
    let clock = ManualClock::new();
    clock.set(at(1_000 * 86_400 * SECOND));
    let full = full_table(&clock);
    clock.set(at(SECOND));
    let everybody = bucket(Quota::per_second(5), &clock);
    let all = AllOf::new((&everybody, full.for_key(&1000)));
    assert!(!all.check().is_allowed());
    clock.set(at(2 * 86_400 * SECOND));
    assert!(all.check().is_allowed());
}

#[test]
fn a_flood_of_keys_without_a_slot_leaves_the_earlier_limit_all_of_its_permits() {
    let clock = ManualClock::new();
    let (full, everybody) = (full_table(&clock), bucket(Quota::per_day(1000), &clock));
    thread::scope(|scope| {
        for thread in 1..=4 {
            let (full, everybody) = (&full, &everybody);
            scope.spawn(move || {
                for number in 0..5_000 {
                    let key = thread * 100_000 + number;
                    assert!(!AllOf::new((everybody, full.for_key(&key))).check().is_allowed());
                }
            });
        }
    });
    assert_eq!(everybody.peek(0).remaining(), Some(1000));
}

#[test]
fn no_limits_allow_everything() {
    let all = AllOf::new(LimitList::new(&[]));
    assert!(all.check_n(u64::MAX).is_allowed() && all.peek(1).is_allowed());
    assert_eq!(all.check().decision().remaining(), Some(u64::MAX));
    let log = SlidingLog::new(Quota::per_minute(1)).build().expect("fits");
    let one = AllOf::new(LimitList::new(&[]).and_last(&log));
    assert!(one.check().is_allowed() && !one.check().is_allowed());
}

#[test]
fn a_limit_that_a_glitch_has_left_ahead_is_healed() {
    let clock = ManualClock::new();
    let (first, second) = (bucket(Quota::per_second(1), &clock), bucket(Quota::per_second(1), &clock));
    let both = AllOf::new((&first, &second));
    clock.set(at(3600 * SECOND));
    assert!(both.check().is_allowed());
    clock.set(at(SECOND));
    assert!(!both.check().is_allowed(), "spent as of 5 s from now, and the refill");
    clock.set(at(7 * SECOND));
    assert!(!both.check_at(at(5 * SECOND), 1).is_allowed());
    assert!(both.check().is_allowed());
}

#[test]
fn a_time_that_the_caller_has_read_is_everybodys() {
    let clock = ManualClock::new();
    let (first, second) = (bucket(Quota::per_second(1), &clock), bucket(Quota::per_second(1), &clock));
    let both = AllOf::new((&first, &second));
    assert!(both.check_at(at(9 * SECOND), 1).is_allowed());
    assert_eq!(both.check_at(at(9 * SECOND), 1).retry_after(), Some(Duration::from_secs(1)));
    assert!(both.check_at(at(10 * SECOND), 1).is_allowed());
}

/// Threads compete for the last permits of the later limit, so that earlier ones are charged and undone all the time.
#[test]
fn threads_that_compete_exceed_no_limit_and_lose_nothing_beyond_what_competed() {
    const THREADS: u64 = 8;
    let clock = ManualClock::new();
    for round in 0..50 {
        clock.set(at(round * SECOND));
        let first = bucket(Quota::per_day(10_000), &clock);
        let window = FixedWindow::new(Quota::per_day(10_000)).clock(clock.clone()).build().expect("fits");
        let last = SlidingLog::new(Quota::per_day(100)).clock(clock.clone()).build().expect("fits");
        let all = AllOf::new((&first, &window, &last));
        let granted = thread::scope(|scope| {
            let ask = || (0..40).filter(|_| all.check().is_allowed()).count() as u64;
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a count")).sum::<u64>()
        });
        assert_eq!((granted, last.peek(0).remaining()), (100, Some(0)));
        for remaining in [first.peek(0).remaining(), window.peek(0).remaining()] {
            let charged = 10_000 - remaining.expect("told");
            // Each thread can have lost the race for the log's last permit once; then the log is seen to be spent.
            assert!((100..100 + THREADS).contains(&charged), "{charged}");
        }
    }
}
