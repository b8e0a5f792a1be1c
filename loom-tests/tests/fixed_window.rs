//! Models of the fixed window.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::{Answer, Recorder, ask, granted, model, spawn};
use tollgate::{FixedWindow, Limiter, Quota};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

type Window = Limiter<FixedWindow, Recorder>;

/// `limit` permits per `period` ns and a clock that reads `now`.
fn window(limit: u64, period: u64, now: u64) -> Arc<Window> {
    let quota = Quota::new(limit, Duration::from_nanos(period));
    let window = FixedWindow::new(quota).clock(Recorder::starting_at(now)).build();
    Arc::new(window.expect("a window"))
}

/// The start of the window that a grant was charged to: it resets when that one ends.
fn charged_to(grant: &Answer, period: u64) -> u64 {
    grant.reset_at() - period
}

/// Asserts that the grants of each window fill it one after the other, at most to the limit, none of them in a
/// window before that of its reading; and that what is left at last is what the limiter tells `now`.
fn assert_history(window: &Window, answers: &[Answer], limit: u64, period: u64, now: u64) {
    let mut grants: Vec<_> = answers.iter().filter(|answer| answer.granted() > 0).collect();
    grants.sort_by_key(|grant| (charged_to(grant, period), limit - grant.remaining()));
    let mut filled = (0, 0);
    for grant in grants {
        let start = charged_to(grant, period);
        assert!(start >= grant.at / period * period, "an old window is open again: {answers:?}");
        let used = if start == filled.0 { filled.1 } else { 0 };
        filled = (start, used + grant.cost);
        assert_eq!(limit.checked_sub(filled.1), Some(grant.remaining()), "{answers:?}");
    }
    let left = if now < filled.0 + period { limit - filled.1 } else { limit };
    window.clock().set(now);
    assert_eq!(window.peek(0).remaining(), Some(left), "{answers:?}");
}

/// Two threads and a third that change the window together charge the new one from zero, each its own permit.
///
/// Catches a change of windows in two steps: the count is cleared, then charged.
#[test]
fn change_of_window_by_three_threads_loses_and_adds_nothing() {
    const PERIOD: u64 = MS;
    model(3, || {
        let window = window(3, PERIOD, 0);
        let first = ask(&window, 2);
        let others = [1, 2].map(|cost| spawn(&window, move |window| ask(window, cost)));
        window.clock().set(PERIOD);
        let third = ask(&window, 1);
        let [second, fourth] = others.map(|thread| thread.join().expect("an answer"));
        let answers = [first, second, third, fourth];
        assert_history(&window, &answers, 3, PERIOD, PERIOD);
    });
}

/// Of three threads that ask for a window's last permit, one gets it.
///
/// Catches a charge that takes another's equal word for its own success, and one that is a load and a store.
#[test]
fn last_permit_when_three_threads_ask_is_granted_once() {
    const PERIOD: u64 = MS;
    model(3, || {
        let window = window(2, PERIOD, 0);
        let first = ask(&window, 1);
        let others = [(); 2].map(|()| spawn(&window, |window| ask(window, 1)));
        window.clock().set(PERIOD - 1);
        let last = ask(&window, 1);
        let [second, third] = others.map(|thread| thread.join().expect("an answer"));
        let answers = [first, second, third, last];
        assert_eq!(granted(&answers), 2, "{answers:?}");
        assert_history(&window, &answers, 2, PERIOD, PERIOD - 1);
    });
}

/// A thread whose reading is of a window that others have closed is charged to the newest window.
///
/// Catches a window taken from the reading in hand alone: the old one is open again, and so is the new one after it.
#[test]
fn late_thread_after_a_change_of_window_opens_no_old_one() {
    const PERIOD: u64 = MS;
    model(4, || {
        let window = window(2, PERIOD, 0);
        let late = spawn(&window, |window| [ask(window, 1), ask(window, 1)]);
        let mut answers = vec![ask(&window, 1)];
        window.clock().set(PERIOD);
        answers.push(ask(&window, 1));
        window.clock().set(3 * PERIOD);
        answers.push(ask(&window, 1));
        answers.extend(late.join().expect("two answers"));
        answers.push(ask(&window, 1));
        assert_history(&window, &answers, 2, PERIOD, 3 * PERIOD);
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
        let window = window(1, S, 100 * S);
        let late = spawn(&window, |window| ask(window, 1));
        window.clock().set(107 * S);
        let mut answers = vec![ask(&window, 1), ask(&window, 1)];
        window.clock().set(114 * S);
        answers.push(ask(&window, 1));
        answers.push(late.join().expect("an answer"));
        answers.push(ask(&window, 1));
        for now in [107 * S, 114 * S] {
            assert_eq!(granted(answers.iter().filter(|answer| answer.at == now)), 1, "{answers:?}");
        }
        assert_history(&window, &answers, 1, S, 114 * S);
        // Nor does it take anything away.
        window.clock().set(116 * S);
        assert!(window.check().is_allowed());
    });
}

/// A window that a glitch has left an hour ahead is healed by whoever comes, to the edge: the window at the slack from
/// the reading, spent. Two who heal at once heal once, and however late the second is, it takes nobody's grant back.
///
/// Catches healing to an unspent window, healing that overwrites what it did not load, and none at all.
#[test]
fn two_healers_of_one_glitch_give_at_most_one_limit() {
    model(2, || {
        let window = window(1, S, 3600 * S);
        assert!(window.check().is_allowed());
        window.clock().set(S);
        let others = [(); 2].map(|()| spawn(&window, |window| ask(window, 1)));
        window.clock().set(3 * S);
        let early = ask(&window, 1);
        // 5 s and a window after the last reading that healed.
        window.clock().set(9 * S);
        let due = [ask(&window, 1), ask(&window, 1)];
        let [second, third] = others.map(|thread| thread.join().expect("an answer"));
        let answers = [early, due[0], due[1], second, third, ask(&window, 1)];
        let before = answers.iter().filter(|answer| answer.at <= 3 * S);
        assert_eq!(granted(before), 0, "{answers:?}");
        assert_eq!(granted(&answers), 1, "{answers:?}");
        assert_history(&window, &answers, 1, S, 9 * S);
    });
}
