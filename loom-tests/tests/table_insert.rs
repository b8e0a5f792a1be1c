//! Models of the keyed table: inserting new keys.
#![cfg(loom)]

use loom_tests::table::{
    Answer, MS, Places, ask_at, assert_nobody_found_it_full, buckets, grants, uninterrupted,
};
use loom_tests::{model, spawn};

/// Two threads that ask for one new key share one state, and both are answered by it.
///
/// Catches an insertion that is not committed under the word of the guard that the scan was made under.
#[test]
fn new_key_from_two_threads_has_one_state() {
    let [key, ..] = Places::new(2).neighbours;
    model(3, move || {
        let table = buckets(2, 2);
        let other = spawn(&table, move |table| ask_at(table, key, 0));
        let own = ask_at(&table, key, 0);
        let other = other.join().expect("the other thread");
        assert_eq!((own, other), (Answer::Granted, Answer::Granted));
        assert_eq!(ask_at(&table, key, 0), Answer::Refused);
        assert_eq!(table.stats().inserted, 1);
    });
}

/// A thread that loses an insertion to another of the same key gives the slot that it holds back.
///
/// Catches a slot that stays held for ever.
#[test]
fn slot_held_by_the_loser_of_an_insertion_serves_another_key() {
    let [key, later, _] = Places::new(2).neighbours;
    model(2, move || {
        let table = buckets(1, 2);
        let other = spawn(&table, move |table| ask_at(table, key, 0));
        let own = ask_at(&table, key, 0);
        let other = other.join().expect("the other thread");
        assert_eq!(grants(&[own, other]), 1);
        assert_eq!(ask_at(&table, later, 0), Answer::Granted);
    });
}

/// Three threads that ask for one new key in an empty table of three slots share one state; none is turned away.
///
/// Catches a table that calls itself full while all its slots are held for one key.
#[test]
fn new_key_from_three_threads_has_one_state_and_is_not_turned_away() {
    let [key, ..] = Places::new(3).neighbours;
    model(1, move || {
        let table = buckets(2, 3);
        let other = spawn(&table, move |table| ask_at(table, key, 0));
        // At once, wherever the others are stopped.
        let third = spawn(&table, move |table| uninterrupted(|| ask_at(table, key, 0)));
        let own = ask_at(&table, key, 0);
        let answers = [own, other.join().expect("the other thread"), third.join().expect("the third")];
        assert_eq!(grants(&answers), 2, "{answers:?}");
        assert!(!answers.contains(&Answer::NoRoom), "{answers:?}");
    });
}

/// Of two new keys one gets the only slot and the other none; neither is charged for the other.
///
/// Catches a slot that is taken by two inserters.
#[test]
fn only_slot_goes_to_one_of_two_new_keys() {
    model(2, || {
        let table = buckets(1, 1);
        let other = spawn(&table, |table| ask_at(table, 2, 0));
        let answers = [ask_at(&table, 1, 0), other.join().expect("the other thread")];
        assert!(
            [[Answer::Granted, Answer::NoRoom], [Answer::NoRoom, Answer::Granted]].contains(&answers),
            "{answers:?}"
        );
        let winner = if answers[0] == Answer::Granted { 1 } else { 2 };
        assert_eq!(ask_at(&table, winner, 0), Answer::Refused);
        assert_eq!(ask_at(&table, 3 - winner, 0), Answer::NoRoom);
    });
}

/// A key whose only slot is held by its own inserter is waited for; nobody says "full" after a look.
///
/// Catches "full" answered by a scan that met a held slot, or one during which the key was inserted.
#[test]
fn held_slot_is_not_counted_as_full() {
    model(2, || {
        let table = buckets(2, 1);
        let other = spawn(&table, |table| ask_at(table, 1, 0));
        let answers = [ask_at(&table, 1, 0), other.join().expect("the other thread")];
        assert_nobody_found_it_full(&table);
        assert!(grants(&answers) > 0 && !answers.contains(&Answer::Refused), "{answers:?}");
    });
}

/// A thread that is stopped anywhere in an insertion does not stop the insertion of another key of its guard.
///
/// Catches an insertion that only its own thread can finish.
#[test]
fn inserter_that_is_stopped_stops_no_other_key() {
    let [first, second, _] = Places::new(2).neighbours;
    model(3, move || {
        let table = buckets(1, 2);
        let other = spawn(&table, move |table| ask_at(table, second, 0));
        let own = ask_at(&table, first, 0);
        let other = other.join().expect("the other thread");
        assert_eq!((own, other), (Answer::Granted, Answer::Granted));
        let again = [first, second].map(|key| ask_at(&table, key, 0));
        assert_eq!(again, [Answer::Refused; 2]);
        assert_eq!([first, second].map(|key| ask_at(&table, key, MS)), [Answer::Granted; 2]);
    });
}
