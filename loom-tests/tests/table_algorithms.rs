//! Models of the keyed table with the other algorithms in it.
#![cfg(loom)]

use std::sync::Arc;

use loom_tests::table::{
    Answer, MS, Places, QUOTA, Table, ask, ask_at, assert_nobody_found_it_full, grants, table,
};
use loom_tests::{at, model, spawn};
use tollgate::{Algorithm, FixedWindow, ManualClock, SlidingCounter, SlidingLog};

const HOUR: u64 = 3_600_000 * MS;

fn windows(slots: usize) -> Arc<Table<FixedWindow>> {
    table(FixedWindow::new(QUOTA).clock(ManualClock::new()), slots)
}

fn counters(slots: usize) -> Arc<Table<SlidingCounter>> {
    table(SlidingCounter::new(QUOTA).clock(ManualClock::new()), slots)
}

fn logs(slots: usize) -> Arc<Table<SlidingLog>> {
    table(SlidingLog::new(QUOTA).clock(ManualClock::new()), slots)
}

/// A key is charged at 1 ns and its slot goes to another key at 2 ms, while a thread asks for it with a reading of 0.
/// That is refused, or counts as of 2 ms: one permit in all, after the first.
fn assert_sleeper_counts_as_of_the_recycling<A: Algorithm>(table: &Arc<Table<A>>, key: u64, taker: u64)
where
    Table<A>: Send + Sync + 'static,
{
    assert_eq!(ask_at(table, key, 1), Answer::Granted);
    let sleeper = spawn(table, move |table| ask_at(table, key, 0));
    let moved = ask_at(table, taker, 2 * MS);
    let slept = sleeper.join().expect("the sleeper");
    assert_nobody_found_it_full(table);
    assert_ne!(moved, Answer::Refused);
    let then = ask_at(table, key, 2 * MS);
    assert_eq!(grants(&[slept, then]), 1, "{slept:?}, {then:?}");
}

/// A stale key is charged while its slot goes to another: one of the two gets it, and the other is not told of it.
fn assert_charge_and_recycling_exclude_each_other<A: Algorithm>(table: &Arc<Table<A>>)
where
    Table<A>: Send + Sync + 'static,
{
    ask_at(table, 1, 0);
    let other = spawn(table, |table| ask_at(table, 2, 2 * MS));
    let answers = [ask_at(table, 1, 2 * MS), other.join().expect("the other thread")];
    assert!(!answers.contains(&Answer::Refused), "{answers:?}");
    assert_eq!(grants(&answers), 1, "{answers:?}");
    assert_eq!(table.live(at(2 * MS)), 1);
}

/// Catches a window that comes back as of an old reading: the permit of 1 ns is granted twice.
#[test]
fn sleeper_does_not_revive_a_recycled_window() {
    let [key, taker, _] = Places::new(3).neighbours;
    model(2, move || assert_sleeper_counts_as_of_the_recycling(&windows(3), key, taker));
}

/// Catches a window that is freed whatever has become of its word.
#[test]
fn charge_and_recycling_of_a_passed_window_exclude_each_other() {
    model(2, || assert_charge_and_recycling_exclude_each_other(&windows(1)));
}

/// Catches a counter that comes back as of an old reading.
#[test]
fn sleeper_does_not_revive_a_recycled_counter() {
    let [key, taker, _] = Places::new(3).neighbours;
    model(2, move || assert_sleeper_counts_as_of_the_recycling(&counters(3), key, taker));
}

/// Catches a counter that counts as passed while its previous window still weighs.
#[test]
fn roll_and_recycling_of_a_counter_exclude_each_other() {
    model(2, || {
        let table = counters(1);
        ask_at(&table, 1, 0);
        let other = spawn(&table, |table| ask_at(table, 2, 2 * MS));
        // The window after the one that is charged: a roll.
        let own = ask_at(&table, 1, MS + MS / 2);
        let other = other.join().expect("the other thread");
        assert!(own != Answer::Refused && other != Answer::Refused, "{own:?}, {other:?}");
        assert_eq!(grants(&[own, other]), 1);
        // Whoever has the slot rolls on, also if the roll of the key before came late.
        let winner = if own == Answer::Granted { 1 } else { 2 };
        assert_eq!(ask_at(&table, winner, 2 * MS), Answer::Refused);
        assert_eq!(ask_at(&table, winner, 3 * MS + MS / 2), Answer::Granted);
    });
}

/// A counter that a glitch of the clock has left two windows an hour ahead serves the next key in full once it is
/// healed and its slot is recycled.
///
/// Catches a previous window that stays in the slot: the next key is refused for it for an hour.
#[test]
fn slot_of_a_healed_counter_starts_the_next_key_afresh() {
    model(1, || {
        let table = counters(1);
        for nanos in [HOUR, HOUR + MS + MS / 2] {
            table.clock().set(at(nanos));
            assert_eq!(ask(&table, 1), Answer::Granted);
        }
        table.clock().set(at(0));
        assert_eq!(ask(&table, 1), Answer::Refused);
        let other = spawn(&table, |table| ask(table, 2));
        table.clock().set(at(6_000 * MS));
        let own = ask(&table, 3);
        let other = other.join().expect("the other thread");
        assert!(own != Answer::Refused && other != Answer::Refused, "{own:?}, {other:?}");
        assert_eq!(grants(&[own, other]), 1, "{own:?}, {other:?}");
    });
}

/// Catches a log that comes back as of an old reading, because the time of its recycling is not kept beside it.
#[test]
fn sleeper_does_not_revive_a_recycled_log() {
    let [key, taker, _] = Places::new(3).neighbours;
    model(1, move || assert_sleeper_counts_as_of_the_recycling(&logs(3), key, taker));
}

/// Catches a log that is judged by its entries before the latest claim is entered: a charge is forgotten.
#[test]
fn claim_and_recycling_of_a_log_exclude_each_other() {
    model(2, || assert_charge_and_recycling_exclude_each_other(&logs(1)));
}

/// Two threads that ask for one new key of a log share one ring.
///
/// Catches an insertion that is not committed by the guard; a state of several words must not differ there.
#[test]
fn new_log_from_two_threads_is_one() {
    let [key, ..] = Places::new(2).neighbours;
    model(2, move || {
        let table = logs(2);
        let other = spawn(&table, move |table| ask_at(table, key, 0));
        let answers = [ask_at(&table, key, 0), other.join().expect("the other thread")];
        assert_eq!(grants(&answers), 1, "{answers:?}");
        assert_eq!(table.stats().inserted, 1);
        assert_eq!(ask_at(&table, key, MS - 1), Answer::Refused);
        assert_eq!(ask_at(&table, key, MS), Answer::Granted);
    });
}
