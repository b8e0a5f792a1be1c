//! Models of the keyed table: keys that are reset.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::table::{Answer, MS, Places, Table, ask_at, ask_for, buckets, grants, table, uninterrupted};
use loom_tests::{at, model, spawn};
use tollgate::{ManualClock, Quota, SlidingCounter};

/// Half of the second window.
const LATER: u64 = MS + MS / 2;

/// A table of counters for four permits a ms.
fn counters(slots: usize) -> Arc<Table<SlidingCounter>> {
    let quota = Quota::new(4, Duration::from_millis(1));
    table(SlidingCounter::new(quota).clock(ManualClock::new()), slots)
}

fn take<A: tollgate::Algorithm>(table: &Table<A>, key: u64, nanos: u64) -> u64 {
    table.take_up_to_at(&key, at(nanos), 4).permits()
}

/// A key that is reset while it is charged is granted one limit more, and no part of another.
///
/// Catches a reset in two steps that both forget: what is charged in between is forgotten too.
#[test]
fn reset_racing_with_charges_grants_at_most_one_more_limit() {
    model(3, || {
        let table = counters(1);
        assert_eq!(ask_for(&table, 1, 4, 0), Answer::Granted);
        assert_eq!(ask_at(&table, 1, LATER), Answer::Granted);
        let reset = spawn(&table, |table| table.reset_at(&1, at(LATER)));
        let early = take(&table, 1, LATER);
        assert!(reset.join().expect("whether it had a state"));
        let late = take(&table, 1, LATER);
        assert!(early + late <= 1 + 4, "{early}, {late}");
        assert!(late > 0 || early == 4, "{early}, {late}");
    });
}

/// A counter that is reset while others roll it over: what was admitted before the reset, and one limit after it.
///
/// Catches a reset that forgets the window before and leaves the charges, and then forgets those.
#[test]
fn reset_racing_with_a_rollover_grants_at_most_one_more_limit() {
    model(2, || {
        let table = counters(1);
        assert_eq!(ask_for(&table, 1, 4, 0), Answer::Granted);
        let reset = spawn(&table, |table| table.reset_at(&1, at(LATER)));
        // At once, wherever the others are stopped.
        let other = spawn(&table, |table| uninterrupted(|| take(table, 1, LATER)));
        let own = take(&table, 1, LATER);
        assert!(reset.join().expect("whether it had a state"));
        let taken = own + other.join().expect("what it took") + take(&table, 1, LATER);
        // Half of the four weigh until the reset. If it forgot them and no charge, somebody has rolled over since, or
        // an old record came late, which only refuses.
        assert!((2..=2 + 4).contains(&taken), "{taken}");
    });
}

/// A reset by a thread that slept while the key's slot was recycled takes the key back to then, and not to its reading.
///
/// Catches a reset that forgets when the key was recycled: at 1 ns the key is granted a second permit, by 2 ms a
/// fourth.
#[test]
fn reset_with_an_old_reading_does_not_revive_a_recycled_key() {
    let [key, taker, _] = Places::new(2).neighbours;
    model(2, move || {
        let table = buckets(1, 2);
        assert_eq!(ask_at(&table, key, 1), Answer::Granted);
        assert_eq!(ask_at(&table, taker, 2 * MS), Answer::Granted);
        let sleeper = spawn(&table, move |table| (table.reset_at(&key, at(0)), ask_at(table, key, 1)));
        let own = ask_at(&table, key, 2 * MS);
        let (was_reset, slept) = sleeper.join().expect("the sleeper");
        let then = ask_at(&table, key, 2 * MS);
        assert_ne!(slept, Answer::Granted, "{own:?}, {then:?}");
        assert!(grants(&[own, then]) <= 1 + usize::from(was_reset), "{own:?}, {then:?}");
    });
}

/// A key that is reset while its slot goes to another key leaves that one as it is.
///
/// Catches a reset of whatever is in the slot by then.
#[test]
fn reset_racing_with_recycling_resets_no_other_key() {
    model(3, || {
        let table = buckets(1, 1);
        assert_eq!(ask_at(&table, 1, 0), Answer::Granted);
        let reset = spawn(&table, |table| table.reset_at(&1, at(MS)));
        assert_eq!(ask_at(&table, 2, 2 * MS), Answer::Granted);
        let again = ask_at(&table, 2, 2 * MS);
        let _ = reset.join().expect("whether it had a state");
        assert_eq!([again, ask_at(&table, 2, 2 * MS)], [Answer::Refused; 2]);
    });
}

/// Key 1 is reset twice, and one of the two is stopped while the slot goes to key 2, whose charge comes to the very word
/// that it has found.
///
/// Catches a reset of a word that does not look whose it is by then.
#[test]
fn reset_stopped_until_the_word_recurs_resets_no_other_key() {
    model(2, || {
        let table = buckets(3, 1);
        assert_eq!(ask_for(&table, 1, 3, 0), Answer::Granted);
        let reset = spawn(&table, |table| table.reset_at(&1, at(0)));
        assert!(table.reset_at(&1, at(0)));
        let first = ask_for(&table, 2, 2, MS);
        let more = ask_for(&table, 2, 3, MS);
        let _ = reset.join().expect("whether it had a state");
        let then = ask_for(&table, 2, 3, MS);
        if first == Answer::Granted {
            assert_eq!([more, then], [Answer::Refused; 2], "5 of a capacity of 3 at one instant");
        }
    });
}
