//! Models of looks at all keys, and of snapshots, while slots change.
#![cfg(loom)]

use loom_tests::table::{Answer, MS, QUOTA, Table, ask_at, ask_for, buckets, table};
use loom_tests::{at, model, spawn};
use tollgate::{ManualClock, Quota, SlidingLog};

/// The keys that have used something, as of the clock's origin, and what they have left.
fn looked_at(table: &Table<tollgate::TokenBucket>) -> Vec<(u64, Option<u64>)> {
    table.live_keys(at(0)).map(|key| (key.fingerprint(), key.remaining())).collect()
}

/// A look at a slot that goes to another key finds one of the keys with its own state, and never a mixture.
///
/// Catches a fingerprint that is taken for that of a word that was loaded before: the new key with what the old one has
/// left.
#[test]
fn look_at_a_slot_that_is_recycled_mixes_no_keys() {
    model(3, || {
        let table = buckets(3, 1);
        assert_eq!(ask_for(&table, 1, 1, 0), Answer::Granted);
        let other = spawn(&table, |table| ask_for(table, 2, 2, 5 * MS));
        // As of a time at which both are live; what the second has taken comes back long after that.
        for seen in looked_at(&table) {
            assert!([(1, Some(2)), (2, Some(0))].contains(&seen), "{seen:?}");
        }
        assert_eq!(other.join().expect("the other thread"), Answer::Granted);
        assert_eq!(looked_at(&table), [(2, Some(0))]);
    });
}

/// A log is saved as it was before a claim or behind it.
///
/// Catches a ring that is read while it moves on: an entry too many or too few.
#[test]
fn snapshot_of_a_log_that_is_being_charged_is_of_one_moment() {
    model(2, || {
        let quota = Quota::new(2, QUOTA.period());
        let builder = || SlidingLog::new(quota).clock(ManualClock::new());
        let table = table(builder(), 1);
        assert_eq!(ask_at(&table, 1, 1), Answer::Granted);
        assert_eq!(ask_at(&table, 1, MS), Answer::Granted);
        // The older entry has just left: this one takes its place.
        let other = spawn(&table, |table| ask_at(table, 1, MS + 1));
        let mut file = Vec::new();
        assert_eq!(table.snapshot(&mut file).expect("a vector takes everything"), 1);
        assert_eq!(other.join().expect("the other thread"), Answer::Granted);
        let restored = builder().keyed::<u64>(1).with_hasher(*table.hasher());
        let restored = restored.restore(&mut file.as_slice()).expect("a snapshot that fits");
        // Before: an entry of 1 ns and one of 1 ms. After: one of 1 ms and one of 1 ns later.
        let remaining =
            [MS, MS + 1, 2 * MS, 2 * MS + 1].map(|now| restored.peek_at(&1, at(now), 0).remaining());
        let (before, after) = ([0, 1, 2, 2], [0, 0, 1, 2]);
        assert!([before.map(Some), after.map(Some)].contains(&remaining), "{remaining:?}");
    });
}
