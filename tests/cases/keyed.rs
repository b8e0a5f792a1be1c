//! What becomes of a key's debt when other keys need its slot.

use std::time::Duration;

use tollgate::{
    Algorithm, Builder, Decision, FixedWindow, Instant, ManualClock, Outcome, Quota, SlidingCounter,
    SlidingLog, TokenBucket,
};

use crate::{NANOS_PER_MS, NANOS_PER_S};

const QUOTA: Quota = Quota::new(10, Duration::from_secs(10));
const CAPACITY: usize = 100;

fn details(decision: Decision) -> (Outcome, Option<u64>, Option<u64>, Option<u64>) {
    let (wait, reset) = (decision.retry_after_nanos(), decision.reset_after_nanos());
    (decision.outcome(), decision.remaining(), wait, reset)
}

#[test]
fn drained_keys_fare_as_if_alone_while_ten_times_the_capacity_of_other_keys_pass() {
    flood(|| TokenBucket::new(QUOTA).clock(ManualClock::new()));
    flood(|| FixedWindow::new(QUOTA).clock(ManualClock::new()));
    flood(|| SlidingCounter::new(QUOTA).clock(ManualClock::new()));
    flood(|| SlidingLog::new(QUOTA).clock(ManualClock::new()));
}

fn flood<A: Algorithm>(limiter: impl Fn() -> Builder<A, ManualClock>) {
    const VICTIMS: u64 = 10;
    const ROUNDS: u64 = 200;
    const STRANGERS_PER_ROUND: u64 = 40;
    let table = limiter().keyed::<u64>(CAPACITY).build().expect("a limiter");
    let alone: Vec<_> = (0..VICTIMS).map(|_| limiter().build().expect("a limiter")).collect();
    let mut strangers = VICTIMS..;
    for round in 0..ROUNDS {
        let now = Instant::from_nanos(round * 250 * NANOS_PER_MS);
        for (victim, alone) in (0..).zip(&alone) {
            while alone.peek_at(now, 1).is_allowed() {
                assert_eq!(details(table.check_at(&victim, now, 1)), details(alone.check_at(now, 1)));
            }
            assert_eq!(details(table.check_at(&victim, now, 1)), details(alone.check_at(now, 1)));
        }
        for stranger in strangers.by_ref().take(usize::try_from(STRANGERS_PER_ROUND).unwrap_or(0)) {
            let _ = table.check_at(&stranger, now, 1);
        }
    }
    let stats = table.stats();
    assert!(stats.recycled > 10 * VICTIMS && stats.overflowed > 0, "{stats:?}");
}

#[test]
fn slot_needed_by_a_new_key_is_taken_from_the_full_bucket_and_not_from_the_drained_one() {
    // Four slots.
    let table = TokenBucket::new(QUOTA).clock(ManualClock::new()).keyed::<str>(1).build().expect("a limiter");
    assert!(table.check_n("drained", 10).is_allowed());
    for idle in ["a", "b", "c"] {
        assert!(table.check(idle).is_allowed());
    }
    assert!(table.check("newcomer").overflowed());
    // The idle ones, whose single permit is back, make room for as many.
    table.clock().advance(Duration::from_nanos(NANOS_PER_S + 1));
    for newcomer in ["d", "e", "f"] {
        assert!(table.check(newcomer).is_allowed());
    }
    assert!(table.check("newcomer").overflowed());
    assert_eq!(table.check_n("drained", 2).outcome(), Outcome::Denied);
    assert_eq!(table.check_n("drained", 2).remaining(), Some(1));
}
