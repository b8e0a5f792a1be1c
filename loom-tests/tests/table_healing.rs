//! Models of the keyed table: clocks that err.
#![cfg(loom)]

use loom_tests::table::{Answer, MS, Places, ask, buckets, grants};
use loom_tests::{at, model, spawn};

const SECOND: u64 = 1_000 * MS;
const HOUR: u64 = 3_600 * SECOND;

/// A thread that slept with an old reading heals no key that is right.
///
/// Catches a state that is healed by the reading in hand: its key is granted a second permit at 7 s.
#[test]
fn sleeper_heals_no_key_that_is_right() {
    model(3, || {
        let table = buckets(1, 1);
        assert_eq!(ask(&table, 1), Answer::Granted);
        let sleeper = spawn(&table, |table| ask(table, 1));
        table.clock().set(at(7 * SECOND));
        let own = [ask(&table, 1), ask(&table, 1)];
        let slept = sleeper.join().expect("the sleeper");
        assert_eq!(grants(&own) + grants(&[slept]), 1, "{own:?}, {slept:?}");
    });
}

/// A thread that slept with an old reading and finds no room heals no key that is right.
///
/// Catches the same of the search for a slot, which heals the keys of others.
#[test]
fn sleeper_that_finds_no_room_heals_no_key_that_is_right() {
    model(1, || {
        let table = buckets(1, 1);
        assert_eq!(ask(&table, 1), Answer::Granted);
        let sleeper = spawn(&table, |table| ask(table, 2));
        table.clock().set(at(7 * SECOND));
        let own = [ask(&table, 1), ask(&table, 1)];
        let slept = sleeper.join().expect("the sleeper");
        // Whoever reads 7 s first gets the slot.
        assert_eq!(grants(&own) + grants(&[slept]), 1, "{own:?}, {slept:?}");
    });
}

/// A key that a glitch of the clock has charged an hour ahead, and that is never asked for again, gives its slot up.
///
/// Catches a search for a slot that does not heal: the slot is lost for an hour.
#[test]
fn silent_key_of_a_glitch_gives_its_slot_up() {
    model(2, || {
        let table = buckets(1, 1);
        table.clock().set(at(HOUR));
        assert_eq!(ask(&table, 1), Answer::Granted);
        table.clock().set(at(0));
        let other = spawn(&table, |table| ask(table, 2));
        table.clock().set(at(SECOND));
        let own = ask(&table, 3);
        let other = other.join().expect("the other thread");
        assert_eq!((own, other), (Answer::NoRoom, Answer::NoRoom));
        // The slack, a refill and the time of the one that healed last.
        table.clock().set(at(6 * SECOND + 2 * MS));
        assert_eq!(ask(&table, 2), Answer::Granted);
        assert_eq!(ask(&table, 2), Answer::Refused);
    });
}

/// The first call of a key is granted, also if its reading is older than what the key's slot was inserted as of.
///
/// Catches a refusal by a newborn state without a look at the clock: the key has never been charged.
#[test]
fn first_call_with_an_older_reading_is_not_refused() {
    model(1, || {
        let table = buckets(2, 1);
        ask(&table, 1);
        let early = spawn(&table, |table| table.check(&2));
        table.clock().set(at(2 * MS));
        let own = ask(&table, 2);
        let early = early.join().expect("the early thread");
        assert!(own == Answer::Granted || table.stats().contended > 0);
        // The key is fresh as of 2 ms. A reading of 0 is refused after a charge since, and only then.
        let wait = early.retry_after_nanos();
        assert!(early.is_allowed() || early.overflowed() || wait == Some(2 * MS), "{own:?}, {early:?}");
    });
}

/// A time of recycling that a glitch of the clock has left in the guard is lowered by whoever comes next.
///
/// Catches a time that nobody lowers: for an hour each new key of the guard is inserted as of the glitch, and waits.
#[test]
fn recycling_in_a_glitch_delays_no_new_key_for_longer_than_the_slack() {
    let [back, taker, new] = Places::new(3).neighbours;
    model(2, move || {
        let table = buckets(1, 3);
        assert_eq!(ask(&table, back), Answer::Granted);
        table.clock().set(at(HOUR));
        assert_eq!(ask(&table, taker), Answer::Granted);
        table.clock().set(at(0));
        let other = spawn(&table, move |table| ask(table, back));
        table.clock().set(at(SECOND));
        let own = ask(&table, back);
        let other = other.join().expect("the other thread");
        assert!(own != Answer::NoRoom || other != Answer::NoRoom);
        table.clock().set(at(6 * SECOND + 2 * MS));
        assert_eq!(ask(&table, new), Answer::Granted);
    });
}
