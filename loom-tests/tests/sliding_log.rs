//! Models of the sliding-window log. Limits are 1 to 3, costs 1 to the limit.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::{Answer, Recorder, ask, ask_at, at, granted, model, spawn};
use tollgate::{Limiter, Quota, SlidingLog};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// A time some spans of a head's time bits from the clock's origin: the bits of a time are not the time.
const FAR: u64 = 3 << 59 | 0x1234_5678;

/// The span of the time bits in a head of limit 2.
const SPAN: u64 = 1 << 59;

type Log = Limiter<SlidingLog, Recorder>;

/// `limit` permits per `period` ns and a clock that reads `now`.
fn log(limit: u64, period: u64, now: u64) -> Arc<Log> {
    let quota = Quota::new(limit, Duration::from_nanos(period));
    let log = SlidingLog::new(quota).without_remaining().clock(Recorder::starting_at(now)).build();
    Arc::new(log.expect("a log"))
}

/// The times of the permits granted, each that of its reading or of a newer entry: the window is empty a period
/// after the grant.
fn entries(answers: &[Answer], period: u64) -> Vec<u64> {
    let mut entries = Vec::new();
    for grant in answers.iter().filter(|answer| answer.granted() > 0) {
        let entered = grant.reset_at() - period;
        assert!(entered >= grant.at, "dated before its reading: {answers:?}");
        entries.extend((0..grant.cost).map(|_| entered));
    }
    entries
}

/// Asserts that no window holds more than the limit; and that the limiter, asked at any time from the newest entry
/// on, admits exactly what fits beside the entries.
fn assert_history(log: &Log, answers: &[Answer], limit: u64, period: u64) {
    let entries = entries(answers, period);
    let within =
        |now: u64| entries.iter().filter(|time| **time <= now && now - **time < period).count() as u64;
    for entry in &entries {
        assert!(within(*entry) <= limit, "more than {limit} in a window: {entries:?} {answers:?}");
    }
    let newest = entries.iter().copied().max().unwrap_or(0);
    for now in entries.iter().flat_map(|time| [time + period - 1, time + period]).chain([newest]) {
        for cost in (1..=limit).filter(|_| now >= newest) {
            assert_eq!(
                log.peek_at(at(now), cost).is_allowed(),
                within(now) + cost <= limit,
                "{cost} at {now}: {entries:?} {answers:?}"
            );
        }
    }
}

/// Of two threads that ask when the window's only entry leaves it, one gets its place.
///
/// Catches a decision on a claim that is not entered yet, and a claim that is not one exchange.
#[test]
fn last_permit_when_two_threads_ask_is_granted_once() {
    const PERIOD: u64 = MS;
    model(3, || {
        let log = log(1, PERIOD, FAR);
        let first = ask(&log, 1);
        let other = spawn(&log, |log| ask(log, 1));
        log.clock().set(FAR + PERIOD);
        let last = ask(&log, 1);
        let answers = [first, last, other.join().expect("an answer")];
        assert_eq!(granted(&answers), 2, "{answers:?}");
        assert_history(&log, &answers, 1, PERIOD);
    });
}

/// Claims that go around the end of the ring and into the next lap enter their times in order.
///
/// Catches a position or a lap that goes wrong at the end of the ring.
#[test]
fn claims_around_the_end_of_the_ring_keep_their_order() {
    const PERIOD: u64 = MS;
    model(2, || {
        let log = log(2, PERIOD, FAR);
        let mut answers = vec![ask(&log, 2)];
        log.clock().set(FAR + PERIOD);
        answers.push(ask(&log, 1));
        let other = spawn(&log, |log| ask(log, 2));
        log.clock().set(FAR + 2 * PERIOD);
        answers.push(ask(&log, 2));
        log.clock().set(FAR + 3 * PERIOD);
        answers.push(ask(&log, 1));
        answers.push(other.join().expect("an answer"));
        assert_history(&log, &answers, 2, PERIOD);
    });
}

/// A claimant that is stopped after its claim stops nobody: another thread enters the rest and decides on it.
///
/// Catches a claim of several that others take for entered when its first slot is, and one whose claimant alone
/// enters it.
#[test]
fn stalled_claimant_is_helped_by_whoever_comes() {
    const PERIOD: u64 = MS;
    model(2, || {
        let log = log(3, PERIOD, FAR);
        let claimant = spawn(&log, |log| ask(log, 2));
        log.clock().set(FAR + PERIOD / 2);
        let answers = [ask(&log, 2), ask(&log, 1), ask(&log, 1), claimant.join().expect("an answer")];
        assert_eq!(granted(&answers), 3, "{answers:?}");
        assert_history(&log, &answers, 3, PERIOD);
    });
}

/// A claim of the whole ring holds from the exchange on, its oldest slot too.
///
/// Catches a search for the open slots that takes an empty prefix for an entered one.
#[test]
fn claim_of_the_whole_ring_leaves_room_for_nobody() {
    const PERIOD: u64 = MS;
    model(2, || {
        let log = log(3, PERIOD, FAR);
        let mut answers = vec![ask(&log, 1)];
        let other = spawn(&log, |log| ask(log, 1));
        log.clock().set(FAR + PERIOD);
        answers.push(ask(&log, 3));
        answers.push(other.join().expect("an answer"));
        assert_history(&log, &answers, 3, PERIOD);
    });
}

/// A thread that helps with a reading older than the claim dates the entries by the claim.
///
/// Catches a helper that dates them otherwise: by the entry before.
#[test]
fn helper_with_an_older_reading_dates_by_the_claim() {
    const PERIOD: u64 = MS;
    model(2, || {
        let log = log(2, PERIOD, FAR);
        let helper = spawn(&log, |log| ask(log, 1));
        log.clock().set(FAR + PERIOD / 2);
        let answers = [ask(&log, 2), ask(&log, 1), helper.join().expect("an answer")];
        assert!(granted(&answers) > 0, "{answers:?}");
        assert_history(&log, &answers, 2, PERIOD);
    });
}

/// A claim is dated by the entry before it, though `born` was last raised a span ago.
///
/// Catches a time that is rebuilt from `born` alone.
#[test]
fn helper_dates_by_the_entry_before_however_long_ago_born_was_raised() {
    const PERIOD: u64 = MS;
    model(3, || {
        let log = log(2, PERIOD, FAR);
        let mut answers = Vec::new();
        for fifth in 0..4 {
            log.clock().set(FAR + SPAN / 5 * fifth);
            answers.push(ask_at(&log, 1));
        }
        let helper = spawn(&log, |log| ask_at(log, 1));
        log.clock().set(FAR + SPAN / 5 * 4);
        answers.extend([ask_at(&log, 1), helper.join().expect("an answer"), ask_at(&log, 1)]);
        assert!(granted(&answers) > 5, "{answers:?}");
        assert_history(&log, &answers, 2, PERIOD);
    });
}

/// A claim of the whole ring leaves no entry of its lap to compare with. After a long time it is no claim that heals.
///
/// Catches a claim dated back from the entry before it, though it came after.
#[test]
fn whole_ring_claimed_after_half_a_span_is_dated_forward() {
    const PERIOD: u64 = MS;
    model(3, || {
        let log = log(2, PERIOD, FAR);
        let first = ask(&log, 2);
        log.clock().set(FAR + SPAN / 2);
        let claimant = spawn(&log, |log| ask(log, 2));
        log.clock().set(FAR + SPAN / 2 + PERIOD);
        let answers = [first, ask(&log, 2), claimant.join().expect("an answer"), ask(&log, 1)];
        assert!(granted(&answers) > 3, "{answers:?}");
        assert_history(&log, &answers, 2, PERIOD);
    });
}

/// A thread that heals and is stopped before it has entered anything has healed: whoever comes enters the time that it
/// claimed, also when the clock has come so near to the glitch that nothing looks ahead any more.
///
/// Catches a claim that heals dated a span later.
#[test]
fn healer_that_is_stopped_has_healed_whoever_comes() {
    model(3, || {
        let log = log(2, S, 3600 * S);
        assert!(log.check_n(2).is_allowed());
        log.clock().set(S);
        let healer = spawn(&log, |log| ask(log, 1));
        log.clock().set(3597 * S);
        let late = ask(&log, 1);
        let answers = [late, healer.join().expect("an answer"), ask(&log, 1)];
        // Healed at 1 s it works again; nobody heals it at 3597 s. So it waits for the glitch's entries or for none.
        for Answer { at, decision, .. } in answers.iter().filter(|answer| answer.at > S) {
            let wait = decision.retry_after_nanos().unwrap_or(0);
            assert!(at + wait <= 3601 * S, "{answers:?}");
        }
    });
}

/// The first claims after some idle spans, by threads with readings a minute apart, are dated by their readings,
/// whoever enters them.
///
/// Catches a claim dated by its time bits alone, and one dated by another thread's reading.
#[test]
fn claims_after_idle_spans_are_dated_by_their_readings() {
    const PERIOD: u64 = MS;
    model(2, || {
        let log = log(2, PERIOD, FAR);
        let other = spawn(&log, |log| ask_at(log, 1));
        log.clock().set(FAR + 60 * S);
        let answers = [ask_at(&log, 1), ask_at(&log, 1), other.join().expect("an answer")];
        assert!(granted(&answers) > 1, "{answers:?}");
        assert_history(&log, &answers, 2, PERIOD);
    });
}

/// A helper that is stopped before it enters a slot, for a whole lap, leaves the next lap's entry alone.
///
/// Catches a slot entered without a look at the head after loading it, and one that is entered by a store.
#[test]
fn helper_stopped_for_a_lap_enters_nothing_old() {
    const PERIOD: u64 = MS;
    model(2, || {
        let log = log(2, PERIOD, FAR);
        let helper = spawn(&log, |log| ask(log, 1));
        let first = ask(&log, 2);
        log.clock().set(FAR + PERIOD);
        let answers = [first, ask(&log, 2), helper.join().expect("an answer"), ask(&log, 1)];
        assert!(granted(&answers) > 2, "{answers:?}");
        assert_history(&log, &answers, 2, PERIOD);
    });
}

/// A slot that a later claim has entered since the head was loaded refuses nobody.
///
/// Catches a refusal that does not look at the head again.
#[test]
fn refusal_across_a_claim_is_of_one_state() {
    const PERIOD: u64 = MS;
    model(2, || {
        let log = log(3, PERIOD, FAR);
        let first = ask(&log, 3);
        let others = spawn(&log, |log| ask(log, 1));
        log.clock().set(FAR + PERIOD);
        let answers = [first, ask(&log, 1), ask(&log, 1), others.join().expect("an answer")];
        let [_, second, third, other] = &answers;
        assert!(granted([second, third]) == 2, "{answers:?}");
        assert!(other.at == FAR || other.granted() == 1, "there was room for three: {answers:?}");
        assert_history(&log, &answers, 3, PERIOD);
    });
}

/// What a grant tells to remain is what it left, with entries on both sides of the window's edge.
///
/// Catches what remains being counted in a ring that has moved on.
#[test]
fn remaining_when_threads_race_is_each_grants_own() {
    const PERIOD: u64 = MS;
    model(2, || {
        let quota = Quota::new(3, Duration::from_nanos(PERIOD));
        let log = SlidingLog::new(quota).clock(Recorder::starting_at(FAR)).build();
        let log = Arc::new(log.expect("a log"));
        let first = ask(&log, 2);
        let other = spawn(&log, |log| ask(log, 1));
        log.clock().set(FAR + PERIOD);
        let answers = [first, ask(&log, 1), other.join().expect("an answer")];
        let mut grants: Vec<_> = answers.iter().filter(|answer| answer.granted() > 0).collect();
        grants.sort_by_key(|grant| (grant.reset_at(), 3 - grant.remaining()));
        for (place, grant) in grants.iter().enumerate() {
            let counts = |earlier: &&&Answer| grant.reset_at() - earlier.reset_at() < PERIOD;
            let used = granted(grants[..=place].iter().filter(counts).copied());
            assert_eq!(grant.remaining(), 3 - used, "{answers:?}");
        }
        assert_history(&log, &answers, 3, PERIOD);
    });
}

/// A thread reads the clock and is stopped for longer than the slack, twice, while others use all there is: what it
/// finds is no glitch, and it gives nothing back.
///
/// Catches healing by the reading in hand, healing a head that was loaded after the fresh reading, and healing one that
/// the fresh reading explains.
#[test]
fn sleep_longer_than_the_slack_gives_nothing_back() {
    model(2, || {
        let log = log(1, S, 100 * S);
        let late = spawn(&log, |log| ask(log, 1));
        log.clock().set(107 * S);
        let mut answers = vec![ask(&log, 1), ask(&log, 1)];
        log.clock().set(114 * S);
        answers.push(ask(&log, 1));
        answers.push(late.join().expect("an answer"));
        answers.push(ask(&log, 1));
        for now in [107 * S, 114 * S] {
            assert_eq!(granted(answers.iter().filter(|answer| answer.at == now)), 1, "{answers:?}");
        }
        assert_history(&log, &answers, 1, S);
        // Nor does it take anything away.
        log.clock().set(116 * S);
        assert!(log.check().is_allowed());
    });
}

/// A log that a glitch has left an hour ahead, with a claim that is not entered yet, is healed to the edge: a claim
/// of the whole ring, dated the slack after the reading.
///
/// Catches healing over an open claim.
#[test]
fn glitched_claim_that_is_open_is_entered_before_it_is_healed() {
    model(2, || {
        let log = log(3, S, 3600 * S);
        assert!(log.check().is_allowed());
        let glitched = spawn(&log, |log| log.check_n(2).is_allowed());
        log.clock().set(S);
        let early = ask(&log, 1);
        let _ = glitched.join().expect("an answer");
        log.clock().set(3 * S);
        let answers = [early, ask(&log, 3)];
        assert_eq!(granted(&answers), 0, "{answers:?}");
        // 5 s and a window after the last reading that healed.
        log.clock().set(9 * S);
        assert!(log.check_n(3).is_allowed() && !log.check().is_allowed());
    });
}

/// Two threads that heal a log at once heal it once, and however late one is, it takes nobody's grant back.
///
/// Catches healing to less than the whole ring.
#[test]
fn two_healers_of_one_glitch_admit_nobody_before_the_edge() {
    model(2, || {
        let log = log(1, S, 3600 * S);
        assert!(log.check().is_allowed());
        log.clock().set(S);
        let other = spawn(&log, |log| ask(log, 1));
        log.clock().set(3 * S);
        let early = ask(&log, 1);
        log.clock().set(9 * S);
        let due = ask(&log, 1);
        let answers = [early, due, other.join().expect("an answer"), ask(&log, 1)];
        let before = answers.iter().filter(|answer| answer.at <= 3 * S);
        assert_eq!(granted(before), 0, "{answers:?}");
        assert_eq!(granted(&answers), 1, "{answers:?}");
        assert_history(&log, &answers, 1, S);
    });
}
