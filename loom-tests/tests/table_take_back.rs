//! Models of the keyed table: charges that are taken back while slots go from key to key.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::table::{Answer, MS, Places, QUOTA, Table, ask_at, ask_for, buckets, grants, table};
use loom_tests::{at, model, spawn};
use tollgate::{ManualClock, TokenBucket};

const WAIT: Duration = Duration::from_millis(4);

/// A table of one slot, for buckets of `burst` permits that refill by one a ms and may be 4 ms in debt.
fn debtors(burst: u64) -> Arc<Table<TokenBucket>> {
    table(TokenBucket::new(QUOTA).burst(burst).max_wait(WAIT).clock(ManualClock::new()), 1)
}

/// A cancel that comes when the slot has gone to another key gives that one nothing back.
///
/// Catches a cancel that does not look whether the word is the one that it left.
#[test]
fn cancel_racing_with_recycling_gives_no_other_key_anything_back() {
    model(3, || {
        let table = debtors(2);
        let reserved = table.reserve_at(&1, at(0), 1, WAIT).expect("a full bucket");
        let other = spawn(&table, |table| (ask_for(table, 2, 2, 2 * MS), ask_at(table, 2, 2 * MS)));
        let back = reserved.cancel();
        assert_eq!(other.join().expect("the other thread"), (Answer::Granted, Answer::Refused));
        assert!(back <= 1, "{back}");
        assert_eq!(ask_at(&table, 2, 2 * MS), Answer::Refused);
    });
}

/// A key that has reserved permits keeps its slot until they are due and the bucket is full again: a cancel gives all
/// back, and the slot goes to another key only after it.
///
/// Catches a state that is stale once its permits are due.
#[test]
fn key_with_an_outstanding_reservation_is_not_recycled() {
    model(3, || {
        let table = debtors(1);
        table.reserve_at(&1, at(0), 1, WAIT).expect("a full bucket").keep();
        // Due at 1 ms, and full at 2 ms.
        let reserved = table.reserve_at(&1, at(0), 1, WAIT).expect("in time");
        let other = spawn(&table, |table| ask_at(table, 2, MS + MS / 2));
        table.clock().set(at(MS / 2));
        assert_eq!(reserved.cancel(), 1);
        let other = other.join().expect("the other thread");
        let then = ask_at(&table, 2, MS + MS / 2);
        assert_eq!(grants(&[other, then]), 1, "{other:?}, {then:?}");
    });
}

/// A refund that comes when the slot has gone to another key gives that one nothing back.
///
/// Catches a refund that tries again on the slot that it found.
#[test]
fn refund_racing_with_recycling_gives_no_other_key_anything_back() {
    model(3, || {
        let table = buckets(2, 1);
        assert_eq!(ask_at(&table, 1, 0), Answer::Granted);
        let refund = spawn(&table, |table| table.refund_at(&1, at(0), 1));
        assert_eq!(ask_for(&table, 2, 2, 2 * MS), Answer::Granted);
        let again = ask_at(&table, 2, 2 * MS);
        assert!(refund.join().expect("what came back") <= 1);
        assert_eq!([again, ask_at(&table, 2, 2 * MS)], [Answer::Refused; 2]);
    });
}

/// Three are granted to key 1 and given back by two callers, of whom one is stopped while the slot goes to key 2, whose
/// charge comes to the very word that it has found.
///
/// Catches a take-back from a word that does not look whose it is by then.
#[test]
fn refund_stopped_until_the_word_recurs_gives_no_other_key_anything_back() {
    model(3, || {
        let table = buckets(3, 1);
        assert_eq!(ask_for(&table, 1, 3, 0), Answer::Granted);
        let refund = spawn(&table, |table| table.refund_at(&1, at(0), 1));
        let back = table.refund_at(&1, at(0), 2);
        let first = ask_at(&table, 2, 2 * MS);
        let more = ask_for(&table, 2, 3, 2 * MS);
        let late = refund.join().expect("what came back");
        let then = ask_for(&table, 2, 3, 2 * MS);
        assert_eq!(back, 2);
        assert!(late <= 1, "{late}");
        if first == Answer::Granted {
            assert_eq!([more, then], [Answer::Refused; 2], "4 of a capacity of 3 at one instant");
        }
    });
}

/// The same of a cancel, after a refund of what was charged before the reservation.
///
/// Catches a take-back from a word that does not look whose it is by then.
#[test]
fn cancel_stopped_until_the_word_recurs_gives_no_other_key_anything_back() {
    model(3, || {
        let table = buckets(3, 1);
        assert_eq!(ask_for(&table, 1, 2, 0), Answer::Granted);
        let reserved = table.reserve_at(&1, at(0), 1, Duration::ZERO).expect("three");
        let other = spawn(&table, |table| {
            let back = table.refund_at(&1, at(0), 2);
            let first = ask_at(table, 2, 2 * MS);
            (back, first, ask_for(table, 2, 3, 2 * MS))
        });
        let cancelled = reserved.cancel();
        let (back, first, more) = other.join().expect("the other thread");
        let then = ask_for(&table, 2, 3, 2 * MS);
        if first == Answer::Granted {
            assert_eq!([more, then], [Answer::Refused; 2], "4 of 3 at one instant: {cancelled}, {back}");
        }
    });
}

/// A refund by a thread that slept while the key's slot was recycled gives back what was charged since, and no more.
///
/// Catches a refund that forgets when the key was recycled: it is told that three of one came back.
#[test]
fn refund_with_an_old_reading_does_not_revive_a_recycled_key() {
    let [key, taker, _] = Places::new(2).neighbours;
    model(1, move || {
        let table = buckets(1, 2);
        assert_eq!(ask_at(&table, key, 1), Answer::Granted);
        assert_eq!(ask_at(&table, taker, 2 * MS), Answer::Granted);
        let sleeper = spawn(&table, move |table| (table.refund_at(&key, at(0), 9), ask_at(table, key, 1)));
        let own = ask_at(&table, key, 2 * MS);
        let (back, slept) = sleeper.join().expect("the sleeper");
        let then = ask_at(&table, key, 2 * MS);
        assert!(back <= 1 && slept != Answer::Granted, "{back}, {slept:?}");
        assert!(grants(&[own, then]) <= 1 + usize::try_from(back).expect("a few"), "{own:?}, {then:?}");
    });
}
