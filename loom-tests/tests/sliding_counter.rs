//! Models of the sliding-window counter.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::{Answer, Recorder, ask, granted, model, spawn};
use tollgate::{Limiter, Quota, SlidingCounter};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

type Counter = Limiter<SlidingCounter, Recorder>;

/// `limit` permits per `period` ns and a clock that reads `now`.
fn counter(limit: u64, period: u64, now: u64) -> Arc<Counter> {
    let quota = Quota::new(limit, Duration::from_nanos(period));
    let counter = SlidingCounter::new(quota).clock(Recorder::starting_at(now)).build();
    Arc::new(counter.expect("a counter"))
}

/// The number of the window that a grant was charged to: the limit remains again at some time of the next, since
/// the grant counts there as the window before.
fn charged_to(grant: &Answer, period: u64) -> u64 {
    (grant.reset_at() - 1) / period - 1
}

/// The weighted count of the window before, at `now` in window `number`.
fn carried(previous: u64, number: u64, now: u64, period: u64) -> u64 {
    let left = period - now.saturating_sub(number * period).min(period);
    previous * left / period
}

/// Asserts that the grants of each window fill it one after the other, each by an estimate over exactly what the
/// window before granted in all, at most to the limit; and that what is left at last is what the limiter tells `now`.
fn assert_history(counter: &Counter, answers: &[Answer], limit: u64, period: u64, now: u64) {
    let grants: Vec<_> = answers.iter().filter(|answer| answer.granted() > 0).collect();
    let of = |number: u64| grants.iter().filter(move |grant| charged_to(grant, period) == number);
    let total = |number: u64| -> u64 { of(number).map(|grant| grant.cost).sum() };
    let previous = |number: u64| number.checked_sub(1).map_or(0, total);
    let newest = grants.iter().map(|grant| charged_to(grant, period)).max().unwrap_or(0);
    for number in 0..=newest {
        let previous = previous(number);
        let mut counts: Vec<_> = of(number)
            .map(|grant| {
                assert!(number >= grant.at / period, "an old window is open again: {answers:?}");
                let carried = carried(previous, number, grant.at, period);
                (limit.checked_sub(grant.remaining() + carried), grant.cost, carried)
            })
            .collect();
        counts.sort_unstable();
        let mut used = 0;
        for (count, cost, carried) in counts {
            used += cost;
            assert_eq!(count, Some(used), "window {number}: {answers:?}");
            assert!(carried + used <= limit, "window {number}: {answers:?}");
        }
    }
    let number = newest.max(now / period);
    let used = carried(previous(number), number, now, period) + total(number);
    counter.clock().set(now);
    assert_eq!(counter.peek(0).remaining(), limit.checked_sub(used), "{answers:?}");
}

/// Threads that roll over to the next window together weigh the one they close by its final count, and add their own.
///
/// Catches `prev` written after `cur`, and a rollover that clears the count in a step of its own.
#[test]
fn rollover_by_three_threads_closes_a_window_at_its_final_count() {
    const PERIOD: u64 = MS;
    model(2, || {
        let counter = counter(4, PERIOD, 0);
        let first = ask(&counter, 2);
        let others = [(); 2].map(|()| spawn(&counter, |counter| ask(counter, 1)));
        counter.clock().set(PERIOD + PERIOD / 4);
        let third = ask(&counter, 1);
        let [second, fourth] = others.map(|thread| thread.join().expect("an answer"));
        // 3 or 4 in the first window count 2 or 3 now, so there is room.
        assert!(third.granted() == 1, "{third:?}");
        let answers = [first, second, third, fourth, ask(&counter, 1)];
        assert_history(&counter, &answers, 4, PERIOD, PERIOD + PERIOD / 4);
    });
}

/// A thread stopped in the middle of a rollover comes back two windows later and leaves no trace.
///
/// Catches `prev` written whatever it holds by then, and one written for a `cur` that has moved on.
#[test]
fn late_roller_after_two_windows_leaves_the_pair_alone() {
    const PERIOD: u64 = MS;
    model(3, || {
        let counter = counter(3, PERIOD, 0);
        let mut answers = vec![ask(&counter, 1)];
        let late = spawn(&counter, |counter| ask(counter, 1));
        for cost in [(1, 2), (2, 1)] {
            counter.clock().set(cost.0 * PERIOD);
            answers.push(ask(&counter, cost.1));
        }
        answers.push(late.join().expect("an answer"));
        answers.push(ask(&counter, 1));
        answers.push(ask(&counter, 1));
        assert_history(&counter, &answers, 3, PERIOD, 2 * PERIOD);
    });
}

/// A thread with a reading of the window that others are closing counts as of the start of the next one: what came
/// before the closing window is overwritten.
///
/// Catches a late thread that charges the window whose final count is already recorded.
#[test]
fn late_thread_during_a_rollover_charges_the_next_window() {
    const PERIOD: u64 = MS;
    model(4, || {
        let counter = counter(2, PERIOD, 0);
        let mut answers = vec![ask(&counter, 2)];
        counter.clock().set(PERIOD + PERIOD / 2);
        answers.push(ask(&counter, 1));
        let late = spawn(&counter, |counter| ask(counter, 1));
        counter.clock().set(2 * PERIOD + PERIOD / 2);
        let roller = ask(&counter, 1);
        answers.extend([roller, late.join().expect("an answer"), ask(&counter, 1), ask(&counter, 1)]);
        assert!(roller.granted() == 1, "{answers:?}");
        assert_history(&counter, &answers, 2, PERIOD, 2 * PERIOD + PERIOD / 2);
    });
}

/// A window is weighed in the one right after it and no later, also when threads come to both.
///
/// Catches a recorded window that is weighed whatever its number.
#[test]
fn idle_gap_of_a_window_forgets_the_one_before() {
    const PERIOD: u64 = MS;
    model(3, || {
        let counter = counter(4, PERIOD, 0);
        let mut answers = vec![ask(&counter, 3)];
        let late = spawn(&counter, |counter| ask(counter, 1));
        counter.clock().set(PERIOD + PERIOD / 2);
        answers.push(ask(&counter, 1));
        counter.clock().set(4 * PERIOD);
        answers.push(ask(&counter, 3));
        answers.push(late.join().expect("an answer"));
        answers.push(ask(&counter, 1));
        let last = |answer: &&Answer| answer.granted() > 0 && charged_to(answer, PERIOD) == 4;
        assert_eq!(granted(answers.iter().filter(last)), 4, "{answers:?}");
        assert_history(&counter, &answers, 4, PERIOD, 4 * PERIOD);
    });
}

/// The two words are not read at one instant; a refusal on words that do not belong together is no refusal.
///
/// Catches a refusal that does not look at `cur` again.
#[test]
fn refusal_across_rollovers_is_of_one_state() {
    const PERIOD: u64 = MS;
    model(4, || {
        let counter = counter(4, PERIOD, 0);
        let first = ask(&counter, 1);
        let late = spawn(&counter, |counter| ask(counter, 1));
        counter.clock().set(PERIOD);
        let second = ask(&counter, 1);
        counter.clock().set(2 * PERIOD);
        let third = ask(&counter, 1);
        let answers = [first, second, third, late.join().expect("an answer")];
        assert_eq!(granted(&answers), 4, "nobody has used half of the limit: {answers:?}");
        assert_history(&counter, &answers, 4, PERIOD, 2 * PERIOD);
    });
}

/// A thread reads the clock and is stopped for longer than the slack, twice, while others use all there is: what it
/// finds is no glitch, and it gives nothing back.
///
/// Catches healing by the reading in hand, healing a word that was loaded after the fresh reading, and healing one that
/// the fresh reading explains.
#[test]
fn sleep_longer_than_the_slack_gives_nothing_back() {
    model(3, || {
        let counter = counter(1, S, 100 * S);
        let late = spawn(&counter, |counter| ask(counter, 1));
        counter.clock().set(107 * S);
        let mut answers = vec![ask(&counter, 1), ask(&counter, 1)];
        counter.clock().set(114 * S);
        answers.push(ask(&counter, 1));
        answers.push(late.join().expect("an answer"));
        answers.push(ask(&counter, 1));
        for now in [107 * S, 114 * S] {
            assert_eq!(granted(answers.iter().filter(|answer| answer.at == now)), 1, "{answers:?}");
        }
        assert_history(&counter, &answers, 1, S, 114 * S);
        // Nor does it take anything away.
        counter.clock().set(116 * S);
        assert!(counter.check().is_allowed());
    });
}

/// A pair that a glitch has left an hour ahead, in the middle of a rollover, is healed by whoever comes, to the edge.
/// Its junk of a previous window makes nobody spin, and two windows after the edge all is as before the glitch.
///
/// Catches a caller that waits for the junk to go, and healing to an unspent window.
#[test]
fn two_healers_of_one_glitch_neither_spin_nor_admit() {
    model(2, || {
        let counter = counter(2, S, 3600 * S);
        assert!(counter.check().is_allowed());
        counter.clock().set(3601 * S);
        let glitched = spawn(&counter, |counter| counter.check().is_allowed());
        counter.clock().set(S);
        let healer = spawn(&counter, |counter| ask(counter, 1));
        let early = ask(&counter, 1);
        counter.clock().set(3 * S);
        let late = ask(&counter, 1);
        let _ = glitched.join().expect("an answer");
        let answers = [early, late, healer.join().expect("an answer"), ask(&counter, 1)];
        assert_eq!(granted(answers.iter()), 0, "{answers:?}");
        // 5 s and two windows after the last reading that healed.
        counter.clock().set(10 * S);
        assert!(counter.check_n(2).is_allowed() && !counter.check().is_allowed());
    });
}
