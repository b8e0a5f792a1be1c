//! What a decision tells, for each algorithm.

#[path = "support/stream.rs"]
#[expect(dead_code, reason = "all are asked on the clock")]
mod stream;

use std::time::Duration;

use tollgate::{
    Decision, Denied, DeniedKind, FixedWindow, Instant, Keyed, ManualClock, Outcome, Overflow, Quota,
    SlidingCounter, SlidingLog, TokenBucket,
};

use stream::{on_each_algorithm, on_each_face};

const NANOS_PER_S: u64 = 1_000_000_000;
/// One permit per second.
const QUOTA: Quota = Quota::per_minute(60);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn allowed_decision_tells_the_limit_and_what_remains_and_no_wait() {
    on_each_algorithm(QUOTA, ManualClock::new, |stream| {
        let decision = stream.ask(0, 20);
        assert!(decision.is_allowed());
        assert_eq!(decision.outcome(), Outcome::Allowed);
        assert_eq!(decision.limit(), 60);
        assert_eq!(decision.remaining(), Some(40));
        assert_eq!(decision.retry_after(), None);
        assert!(!decision.overflowed());
    });
}

#[test]
fn decision_too_large_tells_the_limit_and_what_remains_and_no_wait() {
    on_each_algorithm(QUOTA, ManualClock::new, |stream| {
        assert!(stream.ask(0, 20).is_allowed());
        let decision = stream.ask(0, 61);
        assert_eq!(decision.outcome(), Outcome::TooLarge);
        assert_eq!((decision.limit(), decision.remaining()), (60, Some(40)));
        assert_eq!(decision.retry_after(), None);
    });
}

/// Asks for 20 of 60 permits at 10 s, and for 50 more at 13 s; returns the two decisions.
fn twenty_and_fifty(stream: &stream::Stream<'_>) -> [Decision; 2] {
    let decisions = [stream.ask(10 * NANOS_PER_S, 20), stream.ask(13 * NANOS_PER_S, 50)];
    assert_eq!(decisions.map(|decision| decision.outcome()), [Outcome::Allowed, Outcome::Denied]);
    decisions
}

#[test]
fn bucket_tells_when_tokens_have_refilled() {
    let bucket = || TokenBucket::new(QUOTA).clock(ManualClock::new());
    on_each_face(bucket, |stream| {
        let [first, second] = twenty_and_fifty(stream);
        assert_eq!(first.reset_after(), Some(seconds(20)));
        assert_eq!((second.remaining(), second.limit()), (Some(43), 60));
        assert_eq!(second.retry_after(), Some(seconds(7)));
        assert_eq!(second.reset_after(), Some(seconds(17)));
    });
}

#[test]
fn bucket_with_a_burst_tells_that_as_its_limit() {
    let bucket = || TokenBucket::new(QUOTA).burst(5).clock(ManualClock::new());
    on_each_face(bucket, |stream| {
        assert_eq!((stream.ask(0, 2).limit(), stream.ask(0, 0).remaining()), (5, Some(3)));
        assert_eq!(stream.ask(0, 6).outcome(), Outcome::TooLarge);
    });
}

#[test]
fn fixed_window_tells_when_it_ends() {
    let window = || FixedWindow::new(QUOTA).clock(ManualClock::new());
    on_each_face(window, |stream| {
        let [first, second] = twenty_and_fifty(stream);
        assert_eq!(first.reset_after(), Some(seconds(50)));
        assert_eq!((second.remaining(), second.limit()), (Some(40), 60));
        assert_eq!(second.retry_after(), Some(seconds(47)));
        assert_eq!(second.reset_after(), Some(seconds(47)));
    });
}

#[test]
fn sliding_counter_tells_when_the_last_window_weighs_little_enough() {
    let counter = || SlidingCounter::new(QUOTA).clock(ManualClock::new());
    on_each_face(counter, |stream| {
        let [first, second] = twenty_and_fifty(stream);
        // A third of a permit weighs less than one after 57 s of the window from 60 s on, and 1 ns.
        assert_eq!(first.reset_after_nanos(), Some(107 * NANOS_PER_S + 1));
        assert_eq!((second.remaining(), second.limit()), (Some(40), 60));
        // 20 permits weigh less than 11 after 27 s of it, and 1 ns.
        assert_eq!(second.retry_after_nanos(), Some(74 * NANOS_PER_S + 1));
        assert_eq!(second.reset_after_nanos(), Some(104 * NANOS_PER_S + 1));
    });
}

#[test]
fn sliding_log_tells_when_entries_leave() {
    let log = || SlidingLog::new(QUOTA).clock(ManualClock::new());
    on_each_face(log, |stream| {
        let [first, second] = twenty_and_fifty(stream);
        assert_eq!(first.reset_after(), Some(seconds(60)));
        assert_eq!((second.remaining(), second.limit()), (Some(40), 60));
        assert_eq!(second.retry_after(), Some(seconds(57)));
        assert_eq!(second.reset_after(), Some(seconds(57)));
    });
}

#[test]
fn sliding_log_without_remaining_tells_everything_else() {
    let log = || SlidingLog::new(QUOTA).without_remaining().clock(ManualClock::new());
    on_each_face(log, |stream| {
        let [first, second] = twenty_and_fifty(stream);
        assert_eq!([first.remaining(), second.remaining(), stream.ask(0, 0).remaining()], [None; 3]);
        assert_eq!(second.limit(), 60);
        assert_eq!(second.retry_after(), Some(seconds(57)));
        assert_eq!(second.reset_after(), Some(seconds(57)));
    });
}

#[test]
fn state_that_is_full_tells_that_it_is_reset() {
    on_each_algorithm(QUOTA, ManualClock::new, |stream| {
        assert_eq!(stream.ask(0, 0).reset_after(), Some(Duration::ZERO));
        assert!(stream.ask(0, 1).is_allowed());
        let decision = stream.ask(120 * NANOS_PER_S, 0);
        assert_eq!((decision.reset_after(), decision.remaining()), (Some(Duration::ZERO), Some(60)));
    });
}

#[test]
fn refusal_that_no_wait_can_help_tells_none() {
    let bucket = || TokenBucket::new(Quota::per_second(0)).burst(3).clock(ManualClock::new());
    on_each_face(bucket, |stream| {
        assert_eq!(stream.take_all(0), 3);
        let decision = stream.ask(NANOS_PER_S, 1);
        assert_eq!(decision.outcome(), Outcome::Denied);
        assert_eq!((decision.retry_after(), decision.reset_after()), (None, None));
    });
}

#[test]
fn limit_of_zero_refuses_everything_as_too_large() {
    on_each_algorithm(Quota::per_second(0), ManualClock::new, |stream| {
        assert_eq!(stream.ask(0, 1).outcome(), Outcome::TooLarge);
        assert_eq!((stream.ask(0, 1).limit(), stream.ask(0, 1).remaining()), (0, Some(0)));
        assert!(stream.ask(0, 0).is_allowed());
    });
}

#[test]
fn bucket_that_starts_empty_refills_from_its_construction_on() {
    let clock = ManualClock::new();
    clock.set(Instant::from_nanos(100 * NANOS_PER_S));
    let bucket = TokenBucket::new(QUOTA).start_empty().clock(clock.clone()).build().expect("a limiter");
    assert_eq!((bucket.peek(0).remaining(), bucket.check().retry_after()), (Some(0), Some(seconds(1))));
    clock.advance(seconds(7));
    assert_eq!(bucket.peek(0).remaining(), Some(7));
}

#[test]
fn cost_of_zero_is_allowed_and_changes_nothing() {
    on_each_algorithm(Quota::per_hour(3), ManualClock::new, |stream| {
        assert!((0..10).all(|_| stream.ask(0, 0).is_allowed()));
        assert_eq!(stream.take_all(0), 3);
        let decision = stream.ask(0, 0);
        assert!(decision.is_allowed());
        assert_eq!((decision.remaining(), decision.retry_after()), (Some(0), None));
        assert_eq!(stream.ask(0, 1).outcome(), Outcome::Denied);
    });
}

#[test]
fn decision_becomes_a_result_for_the_question_mark() {
    fn serve(decision: Decision) -> Result<Option<u64>, Denied> {
        Ok(decision.into_result()?.remaining())
    }
    on_each_algorithm(Quota::per_hour(2), ManualClock::new, |stream| {
        assert_eq!(serve(stream.ask(0, 2)), Ok(Some(0)));

        let decision = stream.ask(0, 1);
        let limited = serve(decision).expect_err("it is refused");
        assert_eq!(limited.kind(), DeniedKind::Limited);
        assert_eq!(limited.retry_after(), decision.retry_after());
        let wait = decision.retry_after().expect("it will pass");
        assert_eq!(limited.to_string(), format!("rate limit reached; retry after {wait:?}"));

        let too_large = serve(stream.ask(0, 3)).expect_err("it is refused");
        assert_eq!((too_large.kind(), too_large.retry_after()), (DeniedKind::TooLarge, None));
        assert_eq!(too_large.to_string(), "the request costs more than the limit itself; split it");
    });
}

#[test]
fn refusal_without_a_wait_says_so() {
    let bucket = TokenBucket::new(Quota::per_second(0)).burst(1).build().expect("a limiter");
    assert!(bucket.check().is_allowed());
    let denied = bucket.check().into_result().expect_err("it is refused");
    assert_eq!(denied.to_string(), "rate limit reached; no wait will help");
}

#[test]
fn decision_prints_what_it_tells() {
    let bucket = TokenBucket::new(Quota::per_second(1)).clock(ManualClock::new()).build();
    let bucket = bucket.expect("a limiter");
    assert!(bucket.check().is_allowed());
    assert_eq!(
        format!("{:?}", bucket.check()),
        "Decision { outcome: Denied, limit: 1, remaining: Some(0), retry_after: Some(1s), \
         reset_after: Some(1s), overflowed: false }"
    );
}

fn table(overflow: Overflow) -> Keyed<TokenBucket, str, ManualClock> {
    let bucket = TokenBucket::new(QUOTA).clock(ManualClock::new());
    bucket.keyed(1).overflow(overflow).build().expect("a limiter")
}

#[test]
fn questions_that_charge_nothing_insert_nothing() {
    let table = table(Overflow::Deny);
    assert_eq!(table.peek("peek", 1).remaining(), Some(60));
    assert_eq!(table.peek("peek", 61).outcome(), Outcome::TooLarge);
    assert_eq!(table.check_n("too large", 61).outcome(), Outcome::TooLarge);
    assert!(table.check_n("nothing", 0).is_allowed());
    assert_eq!((table.stats().inserted, table.live(Instant::ORIGIN)), (0, 0));

    assert!(table.check("key").is_allowed());
    assert_eq!((table.stats().inserted, table.live(Instant::ORIGIN)), (1, 1));
}

#[test]
fn peek_answers_what_the_charge_will_except_for_the_charge() {
    let table = table(Overflow::Deny);
    for cost in [0, 7, 53, 1, 60, 61] {
        let peeked = table.peek("key", cost);
        assert_eq!(peeked.outcome(), table.peek("key", cost).outcome());
        let before = table.peek("key", 0).remaining();
        assert_eq!(peeked.remaining(), before);
        let charged = table.check_n("key", cost);
        assert_eq!(peeked.outcome(), charged.outcome());
        assert_eq!(peeked.retry_after(), charged.retry_after());
        let taken = if charged.is_allowed() { cost } else { 0 };
        assert_eq!(charged.remaining(), before.map(|before| before - taken));
    }
}

/// Takes all four slots.
fn fill(table: &Keyed<TokenBucket, str, ManualClock>) {
    for key in ["a", "b", "c", "d"] {
        assert!(table.check_n(key, 30).is_allowed());
    }
}

#[test]
fn key_without_a_slot_is_told_when_to_look_for_one() {
    let table = table(Overflow::Deny);
    fill(&table);
    let decision = table.check("key");
    assert!(decision.overflowed());
    assert_eq!(decision.outcome(), Outcome::Denied);
    assert_eq!((decision.limit(), decision.remaining()), (60, Some(0)));
    let wait = decision.retry_after().expect("a slot in time");
    assert!(wait > seconds(30) && wait < seconds(31), "{wait:?}");
    assert_eq!(table.stats().overflowed, 1);

    table.clock().advance(wait);
    assert!(table.check("key").is_allowed());
    assert_eq!((table.stats().recycled, table.stats().occupied()), (1, 4));
}

#[test]
fn key_without_a_slot_passes_if_told_to() {
    let table = table(Overflow::Allow);
    fill(&table);
    let decision = table.check_n("key", 60);
    assert!(decision.is_allowed() && decision.overflowed());
    assert_eq!(decision.retry_after(), None);
    assert_eq!(table.check_n("key", 61).outcome(), Outcome::TooLarge);
}

#[test]
fn keys_without_a_slot_share_a_quota_if_told_to() {
    let table = table(Overflow::Shared(Quota::per_minute(2)));
    fill(&table);
    let decisions = ["e", "f", "g"].map(|key| table.check(key));
    assert!(decisions.iter().all(Decision::overflowed));
    assert_eq!(decisions.map(|decision| decision.remaining()), [Some(1), Some(0), Some(0)]);
    assert_eq!(decisions[2].outcome(), Outcome::Denied);
    assert_eq!(decisions[2].retry_after(), Some(seconds(30)));
}

#[test]
fn batch_is_decided_as_single_calls_in_order() {
    let limiter = || SlidingLog::new(Quota::per_hour(2)).clock(ManualClock::new()).keyed::<u64>(100);
    let (batched, single) = (limiter().build().expect("a limiter"), limiter().build().expect("a limiter"));
    let keys: Vec<u64> = (0..100).map(|place| place * place % 37).collect();
    for now in [0, 1, 3600 * NANOS_PER_S].map(Instant::from_nanos) {
        batched.clock().set(now);
        let mut decisions = Vec::new();
        batched.check_many(&keys, &mut decisions);
        batched.check_many_at(&keys, now, &mut decisions);
        let expected = keys.iter().chain(&keys).map(|key| format!("{:?}", single.check_at(key, now, 1)));
        let decided = decisions.iter().map(|decision| format!("{decision:?}"));
        assert!(decided.eq(expected), "at {now:?}");
    }
}

#[test]
fn batch_with_a_key_twice_charges_it_twice() {
    let limiter = TokenBucket::new(QUOTA).burst(2).clock(ManualClock::new()).keyed::<u64>(10).build();
    let limiter = limiter.expect("a limiter");
    let mut decisions = Vec::new();
    limiter.check_many(&[7, 8, 7, 7], &mut decisions);
    let remaining: Vec<_> =
        decisions.iter().map(|decision| (decision.is_allowed(), decision.remaining())).collect();
    assert_eq!(remaining, [(true, Some(1)), (true, Some(1)), (true, Some(0)), (false, Some(0))]);
}

#[test]
fn batch_of_nothing_decides_nothing() {
    let limiter = TokenBucket::new(QUOTA).clock(ManualClock::new()).keyed::<u64>(10).build();
    let mut decisions = Vec::new();
    limiter.expect("a limiter").check_many(&[0_u64; 0], &mut decisions);
    assert!(decisions.is_empty());
}

#[test]
fn batch_of_any_length_decides_every_key_once_and_takes_borrowed_keys() {
    let limiter =
        TokenBucket::new(Quota::per_second(1)).clock(ManualClock::new()).keyed::<String>(100).build();
    let limiter = limiter.expect("a limiter");
    for length in [0, 1, 15, 16, 17, 32, 33] {
        let keys: Vec<String> = (0..length).map(|key| format!("{length} {key}")).collect();
        let mut decisions = Vec::new();
        limiter.check_many(keys.iter().map(String::as_str), &mut decisions);
        assert_eq!(decisions.len(), length);
        assert!(decisions.iter().all(Decision::is_allowed));
        decisions.clear();
        limiter.check_many(&keys, &mut decisions);
        assert!(decisions.iter().all(|decision| decision.outcome() == Outcome::Denied));
    }
}

#[test]
fn retry_after_in_whole_seconds_is_rounded_up() {
    let clock = ManualClock::new();
    let limiter = TokenBucket::new(Quota::per_second(1)).clock(clock.clone()).build().expect("a limiter");
    assert_eq!(limiter.check().retry_after_secs(), None);
    assert_eq!(limiter.check().retry_after_secs(), Some(1));
    clock.set(Instant::from_nanos(1));
    let denied = limiter.check().into_result().expect_err("there is no token");
    assert_eq!(denied.retry_after_secs(), Some(1));
}

#[test]
fn peek_at_a_state_that_erred_ahead_tells_it_as_it_is() {
    let clock = ManualClock::new();
    let limiter = FixedWindow::new(Quota::new(10, Duration::from_secs(10))).clock(clock.clone());
    let limiter = limiter.build().expect("the configuration is legal");
    clock.advance(Duration::from_secs(3600));
    assert!(limiter.check().is_allowed());
    clock.set(Instant::ORIGIN);
    assert_eq!(limiter.peek(1).outcome(), Outcome::Allowed);
    assert_eq!(limiter.check().outcome(), Outcome::Denied, "healed first");
    assert_eq!(limiter.peek(1).outcome(), Outcome::Denied);
}
