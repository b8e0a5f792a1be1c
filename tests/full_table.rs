//! More keys than a table has slots: what each policy answers those without one, and that nobody's debt is forgiven
//! to make room for them.

#[path = "support/each_algorithm.rs"]
mod each_algorithm;

use std::time::Duration;

use tollgate::{Algorithm, Builder, Decision, Instant, Keyed, ManualClock, Outcome, Overflow, Quota};

use each_algorithm::for_each_algorithm;

const LIMIT: u64 = 10;
const PERIOD: Duration = Duration::from_secs(60);
const QUOTA: Quota = Quota::new(LIMIT, PERIOD);

/// Declared keys.
const KEYS: u16 = 1000;
const CROWD: u64 = 10 * KEYS as u64;

type Table<A> = Keyed<A, u64, ManualClock>;

/// A table in which every slot is taken by a key that has spent its limit at the clock's origin, and what the keys
/// that found none were answered.
fn overfilled<A: Algorithm>(
    builder: &Builder<A, ManualClock>,
    overflow: Overflow,
) -> (Table<A>, Vec<(u64, Decision)>) {
    let table =
        builder.clone().keyed(KEYS.into()).overflow(overflow).build().expect("the configuration is legal");
    table.clock().set(Instant::ORIGIN);
    let decisions = (0..CROWD).map(|key| (key, table.check_n(&key, LIMIT)));
    let turned_away: Vec<_> = decisions.filter(|(_, decision)| decision.overflowed()).collect();
    let stats = table.stats();
    assert_eq!(stats.overflowed, turned_away.len() as u64);
    assert_eq!((stats.occupied(), stats.contended), (CROWD - stats.overflowed, 0));
    assert!(stats.occupied() >= u64::from(KEYS), "{stats:?}");
    (table, turned_away)
}

#[test]
fn deny_refuses_with_a_wait_that_is_a_lower_bound() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let (table, turned_away) = overfilled(builder, Overflow::Deny);
        for (_, decision) in &turned_away {
            assert_eq!((decision.outcome(), decision.remaining()), (Outcome::Denied, Some(0)));
            assert_eq!(decision.limit(), LIMIT);
        }
        let (key, decision) = turned_away[0];
        let wait = decision.retry_after_nanos().expect("a slot will be free some time");
        assert!(u128::from(wait) >= PERIOD.as_nanos(), "{wait}");
        let almost = Instant::from_nanos(wait - 1);
        assert!(!table.check_at(&key, almost, LIMIT).is_allowed(), "{wait} is not the least");
        // All slots are spent alike, so that here the bound is reached.
        let decision = table.check_at(&key, Instant::from_nanos(wait), LIMIT);
        assert!(decision.is_allowed() && !decision.overflowed(), "{decision:?}");
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn allow_lets_everything_pass_that_no_limit_forbids() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let (table, turned_away) = overfilled(builder, Overflow::Allow);
        for (key, decision) in turned_away {
            assert!(decision.is_allowed());
            assert!(table.check(&key).is_allowed(), "passing once is not a state");
            assert_eq!(table.check_n(&key, LIMIT + 1).outcome(), Outcome::TooLarge);
        }
        assert_eq!(table.check(&0).outcome(), Outcome::Denied, "a key with a slot is still limited");
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn shared_limits_all_keys_without_a_slot_together() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let shared = Quota::new(3 * LIMIT, PERIOD);
        let (table, turned_away) = overfilled(builder, Overflow::Shared(shared));
        let outcomes: Vec<_> = turned_away.iter().map(|(_, decision)| decision.outcome()).collect();
        assert_eq!(outcomes[..3], [Outcome::Allowed; 3]);
        assert!(outcomes[3..].iter().all(|outcome| *outcome == Outcome::Denied));
        let (key, refused) = turned_away[3];
        assert!(refused.overflowed());
        // Until the shared limit may admit it or a slot may be free: a lower bound, and one of the two.
        let wait = refused.retry_after_nanos().expect("the shared limit refills");
        table.clock().set(Instant::from_nanos(wait - 1));
        assert_eq!(table.check_n(&key, LIMIT).outcome(), Outcome::Denied);
        table.clock().set(Instant::from_nanos(wait + 1));
        assert!(table.check_n(&key, LIMIT).is_allowed());
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn flood_of_ten_times_the_capacity_forgives_no_victims_debt() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        const VICTIM: u64 = u64::MAX;
        let table: Table<A> = builder.clone().keyed(KEYS.into()).build().expect("the configuration is legal");
        assert!(table.check_n(&VICTIM, LIMIT).is_allowed());
        let refill = table.check(&VICTIM).retry_after_nanos().expect("the victim is drained");
        // Half of the flood at once, the other half spread over the victim's wait.
        for key in 0..CROWD / 2 {
            let _ = table.check(&key);
        }
        let pause = Duration::from_nanos(refill / (CROWD / 2 + 1));
        for key in CROWD / 2..CROWD {
            table.clock().advance(pause);
            let _ = table.check(&key);
            assert_eq!(table.check(&VICTIM).outcome(), Outcome::Denied, "after {key} keys");
        }
        assert!(table.stats().overflowed > 0, "the flood has filled the table");
        table.clock().set(Instant::from_nanos(refill - 1));
        assert_eq!(table.check(&VICTIM).outcome(), Outcome::Denied);
        table.clock().set(Instant::from_nanos(refill));
        assert!(table.check(&VICTIM).is_allowed());
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}
