//! Models of quotas that change: a decision is by one of them, and what has been used carries over.
//!
//! There are three sets of numbers and two tags, so that the second change uses a tag again, and the third a set.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::table::{Answer, Table, ask_for, table};
use loom_tests::{at, model, spawn};
use tollgate::{Adjustable, Decision, FixedWindow, Limiter, ManualClock, Quota};

type Window = Limiter<Adjustable<FixedWindow>, ManualClock>;

const HOUR: u64 = 3_600_000_000_000;

/// In the seventh window of an hour, the fourth of two, the third of three and the second of four.
const NOW: u64 = 6 * HOUR;

/// Long enough for a set to be used again.
const LATER: u64 = 10_000_000_000;

const LAST: u64 = NOW + 2 * LATER;

const CHANGES: [(u64, u32); 3] = [(NOW, 2), (NOW + LATER, 3), (LAST, 4)];

/// So many permits in so many hours: values of the one mean nothing under the other.
fn window(hours: u32) -> FixedWindow {
    FixedWindow::new(Quota::new(10 * u64::from(hours), Duration::from_secs(3600) * hours))
}

fn limiter() -> Arc<Window> {
    let builder = window(1).adjustable().max_limit(100).clock(ManualClock::new());
    Arc::new(builder.build().expect("a quota that fits"))
}

fn keyed() -> Arc<Table<Adjustable<FixedWindow>>> {
    table(window(1).adjustable().max_limit(100).clock(ManualClock::new()), 1)
}

fn set(limiter: &Window, nanos: u64, hours: u32) {
    limiter.set_quota_at(at(nanos), &window(hours)).expect("slowly enough");
}

fn change_thrice(limiter: &Window) {
    for (nanos, hours) in CHANGES {
        set(limiter, nanos, hours);
    }
}

/// All that a decision tells is of one quota: the limit, what remains of it, and when its window ends.
fn assert_of_one_quota(decision: Decision, used: u64, now: u64) {
    let (limit, left) = (decision.limit(), decision.remaining().expect("a window tells"));
    let (end, period) = (now + decision.reset_after_nanos().expect("a window ends"), limit / 10 * HOUR);
    assert_eq!((left, end), (limit - used, (now / period + 1) * period), "of {limit}");
}

/// Catches a refusal by a word that is so old that its tag means another quota.
#[test]
fn decision_while_sets_are_used_again_is_by_one_quota() {
    model(1, || {
        let limiter = limiter();
        assert!(limiter.check_at(at(NOW), 2).is_allowed());
        let setter = spawn(&limiter, change_thrice);
        assert_of_one_quota(limiter.peek_at(at(LAST), 0), 2, LAST);
        setter.join().expect("the setter");
        let last = limiter.peek_at(at(LAST), 0);
        assert_eq!(last.limit(), 40);
        assert_of_one_quota(last, 2, LAST);
    });
}

/// Each thread's charges are among what the next quota finds used, whichever it was decided by.
///
/// Catches a state carried over without comparing it with what was carried.
#[test]
fn charges_while_the_quota_changes_carry_over() {
    model(2, || {
        let limiter = limiter();
        assert!(limiter.check_at(at(NOW), 1).is_allowed());
        let setter = spawn(&limiter, |limiter| set(limiter, NOW, 2));
        let other = spawn(&limiter, |limiter| limiter.check_at(at(NOW), 1));
        assert!(limiter.check_at(at(NOW), 1).is_allowed());
        assert!(other.join().expect("the other thread").is_allowed());
        setter.join().expect("the setter");
        assert_of_one_quota(limiter.peek_at(at(NOW), 0), 3, NOW);
    });
}

/// A thread that decided by the first quota and slept through two changes charges nothing by it.
///
/// Catches a change that leaves states under the quota before the last: their tag then means another one.
#[test]
fn sleeper_through_changes_charges_by_no_quota_that_is_gone() {
    model(1, || {
        let limiter = limiter();
        let setter = spawn(&limiter, change_thrice);
        let slept = limiter.check_at(at(LAST), 1);
        setter.join().expect("the setter");
        let own = limiter.check_at(at(LAST), 1);
        assert!(own.is_allowed() && slept.is_allowed());
        assert_of_one_quota(limiter.peek_at(at(LAST), 0), 2, LAST);
    });
}

/// A change while another one is under way is told so, and changes nothing.
///
/// Catches two setters at once, of which one names the set that the other is storing.
#[test]
fn setters_at_once_take_turns_or_are_told() {
    model(2, || {
        let limiter = limiter();
        assert!(limiter.check_at(at(NOW), 2).is_allowed());
        let other = spawn(&limiter, |limiter| limiter.set_quota_at(at(NOW), &window(2)));
        let own = limiter.set_quota_at(at(NOW), &window(3));
        let other = other.join().expect("the other setter");
        assert!(own.is_ok() || other.is_ok());
        let told = limiter.peek_at(at(NOW), 0);
        assert_of_one_quota(told, 2, NOW);
        match (own, other) {
            (Ok(()), Ok(())) => assert!([20, 30].contains(&told.limit())),
            (Ok(()), Err(_)) => assert_eq!(told.limit(), 30),
            _ => assert_eq!(told.limit(), 20),
        }
    });
}

/// A key that is charged for the first time while the quota changes twice.
///
/// Catches a change that passes over slots which are no key's yet, or whose key was never charged: the charge is then
/// under a quota that is gone.
#[test]
fn new_key_while_the_quota_changes_twice_is_charged_by_a_quota_that_is_not_gone() {
    model(1, || {
        let limiter = keyed();
        let setter = spawn(&limiter, |limiter| {
            for (nanos, hours) in CHANGES {
                limiter.set_quota_at(at(nanos), &window(hours)).expect("slowly enough");
            }
        });
        assert_eq!(ask_for(&limiter, 1, 1, LAST), Answer::Granted);
        setter.join().expect("the setter");
        assert_of_one_quota(limiter.peek_at(&1, at(LAST), 0), 1, LAST);
    });
}
