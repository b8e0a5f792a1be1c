//! Keys that have a slot and were never charged.

use oracle::SLACK;
use tollgate::{Instant, Keyed, ManualClock, Outcome, Quota, TokenBucket};

const NANOS_PER_S: u64 = 1_000_000_000;
/// When the slots were recycled.
const RECYCLED: u64 = 100 * NANOS_PER_S;

type Table = Keyed<TokenBucket, str, ManualClock>;

fn ask(table: &Table, nanos: u64, key: &str) -> tollgate::Decision {
    table.check_at(key, Instant::from_nanos(nanos), 1)
}

/// A table of four slots. Three are recycled at `RECYCLED`; for the fourth a thread comes with a reading of half of
/// that: its key is inserted as of `RECYCLED`, and refused.
fn with_a_newborn() -> Table {
    let bucket = TokenBucket::new(Quota::per_second(1)).clock(ManualClock::new());
    let table = bucket.keyed(1).build().expect("a limiter");
    for old in ["a", "b", "c", "d"] {
        assert!(ask(&table, 0, old).is_allowed());
    }
    for new in ["e", "f", "g"] {
        assert!(ask(&table, RECYCLED, new).is_allowed());
    }
    let refused = ask(&table, RECYCLED / 2, "newborn");
    assert_eq!((refused.outcome(), refused.overflowed()), (Outcome::Denied, false));
    assert_eq!(refused.retry_after_nanos(), Some(RECYCLED / 2));
    let stats = table.stats();
    assert_eq!((stats.inserted, stats.recycled, stats.occupied()), (8, 4, 4));
    assert_eq!(table.live(Instant::from_nanos(RECYCLED)), 3, "what was never charged owes nothing");
    table
}

#[test]
fn newborn_is_granted_from_the_time_it_was_inserted_as_of() {
    let table = with_a_newborn();
    assert_eq!(ask(&table, RECYCLED - 1, "newborn").outcome(), Outcome::Denied);
    assert!(ask(&table, RECYCLED, "newborn").is_allowed());
    assert_eq!(ask(&table, RECYCLED, "newborn").outcome(), Outcome::Denied);
    assert_eq!(table.stats().inserted, 8);
}

#[test]
fn newborn_keeps_its_slot_for_the_slack_and_no_longer() {
    let table = with_a_newborn();
    for now in [RECYCLED + NANOS_PER_S + 1, RECYCLED + SLACK] {
        for live in ["e", "f", "g"] {
            assert!(ask(&table, now, live).is_allowed(), "{live} at {now}");
        }
        let refused = ask(&table, now, "newcomer");
        assert!(refused.overflowed(), "at {now}");
        // The live ones are stale later than the newborn's slack ends, or sooner.
        let wait = (NANOS_PER_S + 1).min(RECYCLED + SLACK + 1 - now);
        assert_eq!(refused.retry_after_nanos(), Some(wait), "at {now}");
    }
    assert!(ask(&table, RECYCLED + SLACK + 1, "newcomer").is_allowed());
    assert!(ask(&table, RECYCLED + SLACK + 1, "another").overflowed());
    assert_eq!(table.stats().recycled, 5);
}
