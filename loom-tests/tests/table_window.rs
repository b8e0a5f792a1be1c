//! Models of the keyed table: keys that find their near line taken and spill into their window.
#![cfg(loom)]

use std::iter::zip;

use loom_tests::table::{Answer, MS, Places, ask_at, ask_for, assert_nobody_found_it_full, buckets, grants};
use loom_tests::{model, spawn};

/// A key whose near line is taken has one state in its window, however many threads put it there.
///
/// Catches a guard that does not tell that one of its keys lies in a window, and a scan that does not look there.
#[test]
fn key_that_spills_from_two_threads_has_one_state() {
    let Places { neighbours: [key, tenant, _], .. } = Places::new(3);
    model(2, move || {
        let table = buckets(2, 3);
        ask_at(&table, tenant, 0);
        let other = spawn(&table, move |table| ask_at(table, key, 0));
        let answers = [ask_at(&table, key, 0), other.join().expect("the other thread")];
        assert_nobody_found_it_full(&table);
        assert!(!answers.contains(&Answer::Refused), "{answers:?}");
        assert!(grants(&answers) > 0, "{answers:?}");
        assert_eq!(table.stats().inserted, 2);
        assert_eq!(ask_for(&table, key, 2, 0), Answer::Refused);
    });
}

/// A key in its window is found there by whoever could put it into its near line meanwhile.
///
/// Catches an insertion whose scan ends at a vacant near line: at most 3 permits may pass by 1 ms, and 4 do.
#[test]
fn key_in_its_window_is_not_inserted_again_when_its_near_line_is_vacant() {
    let Places { neighbours: [key, tenant, _], .. } = Places::new(3);
    model(2, move || {
        let table = buckets(2, 3);
        assert_eq!(ask_at(&table, tenant, 0), Answer::Granted);
        let early = spawn(&table, move |table| ask_for(table, key, 2, 0));
        // The tenant is stale.
        let late = ask_for(&table, key, 2, MS + 1);
        let early = early.join().expect("the early thread");
        assert_nobody_found_it_full(&table);
        assert!(grants(&[early, late]) < 2, "{early:?}, {late:?}");
        // A refusal has a grant for its reason, or a recycling after the reading.
        assert!(late != Answer::Refused || early == Answer::Granted);
    });
}

/// Two keys that spill into one window at once are given a slot each.
///
/// Catches a slot in the window that is taken by two inserters.
#[test]
fn two_keys_that_spill_at_once_share_no_state() {
    let Places { neighbours: [first, second, tenant], .. } = Places::new(3);
    model(2, move || {
        let table = buckets(1, 3);
        ask_at(&table, tenant, 0);
        let other = spawn(&table, move |table| ask_at(table, second, 0));
        let answers = [ask_at(&table, first, 0), other.join().expect("the other thread")];
        assert_nobody_found_it_full(&table);
        assert!(!answers.contains(&Answer::Refused), "{answers:?}");
        assert!(grants(&answers) > 0, "{answers:?}");
        for (key, answer) in zip([first, second], answers) {
            assert!(answer == Answer::NoRoom || ask_at(&table, key, 0) == Answer::Refused);
        }
        assert_eq!(ask_at(&table, tenant, 0), Answer::Refused);
    });
}
