//! After construction no decision allocates: each verb and each way a decision can take, for all four algorithms.

#[path = "support/each_algorithm.rs"]
mod each_algorithm;

use std::time::Duration;

use tollgate::{
    Algorithm, Builder, Clock, CoarseClock, Decision, Instant, Keyed, Limiter, ManualClock, Outcome,
    Overflow, QuantaClock, Quota, StdClock,
};

use each_algorithm::for_each_algorithm;

const LIMIT: u64 = 4;
const PERIOD: Duration = Duration::from_secs(1);
const QUOTA: Quota = Quota::new(LIMIT, PERIOD);

/// Declared keys; with the few slots beside them far fewer than [`CROWD`].
const KEYS: usize = 100;
const CROWD: u64 = 1000;

/// Counts on this thread only.
#[track_caller]
fn assert_allocates_nothing(work: impl FnOnce()) {
    let counted = allocation_counter::measure(work);
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

/// Looks at everything a decision tells, so that nothing of it can be left out.
fn look_at(decision: Decision) -> Outcome {
    let details = (decision.limit(), decision.remaining(), decision.retry_after(), decision.reset_after());
    let refusal = decision.into_result().map_err(|denied| (denied.kind(), denied.retry_after_secs()));
    std::hint::black_box((details, decision.overflowed(), refusal.is_ok()));
    decision.outcome()
}

#[test]
fn allocations_are_counted() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn direct_decisions_allocate_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let limiter: Limiter<A, ManualClock> = builder.clone().build().expect("the configuration is legal");
        assert_allocates_nothing(|| {
            assert_eq!(look_at(limiter.check()), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_n(LIMIT - 1)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_n(0)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check()), Outcome::Denied);
            assert_eq!(look_at(limiter.check_n(LIMIT + 1)), Outcome::TooLarge);
            assert_eq!(look_at(limiter.peek(1)), Outcome::Denied);
            let later = limiter.clock().now() + PERIOD * 2;
            assert_eq!(look_at(limiter.peek_at(later, LIMIT)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_at(later, LIMIT)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_at(later, 1)), Outcome::Denied);
        });
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn keyed_decisions_allocate_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let limiter: Keyed<A, str, ManualClock> =
            builder.clone().keyed(KEYS).build().expect("the configuration is legal");
        assert_allocates_nothing(|| {
            assert_eq!(look_at(limiter.peek("key", LIMIT)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check("key")), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_n("key", LIMIT - 1)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_n("key", 0)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check("key")), Outcome::Denied);
            assert_eq!(look_at(limiter.check_n("key", LIMIT + 1)), Outcome::TooLarge);
            assert_eq!(look_at(limiter.peek("key", 1)), Outcome::Denied);
            let later = limiter.clock().now() + PERIOD * 2;
            assert_eq!(look_at(limiter.peek_at("key", later, LIMIT)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_at("key", later, LIMIT)), Outcome::Allowed);
            assert_eq!(look_at(limiter.check_at("key", later, 1)), Outcome::Denied);
            std::hint::black_box((limiter.stats(), limiter.live(later), limiter.memory_bytes()));
        });
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn readings_of_the_real_clocks_allocate_nothing() {
    fn test<C: Clock>(clock: &C) {
        fn ask<A: Algorithm, C: Clock>(builder: &Builder<A, C>) {
            let limiter = builder.clone().build().expect("the configuration is legal");
            let keyed = builder.clone().keyed::<u64>(KEYS).build().expect("the configuration is legal");
            assert_allocates_nothing(|| {
                for _ in 0..=LIMIT {
                    look_at(limiter.check());
                    look_at(keyed.check(&1));
                }
            });
        }
        for_each_algorithm!(QUOTA, clock.clone(), ask());
    }
    test(&QuantaClock::new());
    test(&StdClock::new());
    test(&CoarseClock::new(Duration::from_millis(1)).expect("an upkeep that starts"));
}

#[test]
fn batches_into_a_vector_with_room_allocate_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let limiter: Keyed<A, u64, ManualClock> =
            builder.clone().keyed(KEYS).build().expect("the configuration is legal");
        let keys: Vec<u64> = (0..KEYS as u64).collect();
        let mut decisions = Vec::with_capacity(2 * keys.len());
        let later = limiter.clock().now() + PERIOD;
        assert_allocates_nothing(|| {
            limiter.check_many(&keys, &mut decisions);
            limiter.check_many_at(&keys, later, &mut decisions);
        });
        assert_eq!(decisions.len(), 2 * keys.len());
        assert!(decisions.iter().all(Decision::is_allowed));
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn inserts_and_recycling_allocate_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let limiter: Keyed<A, u64, ManualClock> =
            builder.clone().keyed(KEYS).build().expect("the configuration is legal");
        assert_allocates_nothing(|| {
            for key in 0..CROWD {
                // Each key is as good as new before as many as declared have come after it.
                limiter.clock().advance(PERIOD / 40);
                assert_eq!(look_at(limiter.check(&key)), Outcome::Allowed);
            }
        });
        let stats = limiter.stats();
        assert_eq!((stats.inserted, stats.overflowed), (CROWD, 0));
        assert!(stats.recycled > CROWD / 2, "{stats:?}");
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn overflow_allocates_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        for overflow in [Overflow::Deny, Overflow::Allow, Overflow::Shared(QUOTA)] {
            let limiter = builder
                .clone()
                .keyed::<u64>(KEYS)
                .overflow(overflow)
                .build()
                .expect("the configuration is legal");
            assert_allocates_nothing(|| {
                // The second time those that have a slot are found, some of them where they have spilled to.
                for key in (0..CROWD).chain(0..CROWD) {
                    look_at(limiter.check(&key));
                    look_at(limiter.check_n(&key, LIMIT + 1));
                    look_at(limiter.peek(&key, 1));
                }
            });
            assert!(limiter.stats().overflowed > 0, "{overflow:?}");
        }
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn healing_allocates_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let glitch = Instant::from_nanos(3_600_000_000_000);
        let limiter = builder.clone().build().expect("the configuration is legal");
        let keyed = builder.clone().keyed::<u64>(KEYS).build().expect("the configuration is legal");
        assert_allocates_nothing(|| {
            limiter.clock().set(glitch);
            assert_eq!(look_at(limiter.check_n(LIMIT)), Outcome::Allowed);
            limiter.clock().set(Instant::ORIGIN);
            assert_eq!(look_at(limiter.check()), Outcome::Denied);
            // What the key's own call heals, what a new key's scan for a slot does, and the time at which the glitch
            // has recycled the slots of others.
            for key in CROWD..2 * CROWD {
                look_at(keyed.check(&key));
            }
            keyed.clock().set(glitch);
            for key in 0..CROWD {
                look_at(keyed.check_n(&key, LIMIT));
            }
            keyed.clock().set(Instant::ORIGIN);
            for key in 0..CROWD {
                look_at(keyed.check(&key));
            }
        });
        // Healed: no wait is anywhere near the glitch's width.
        let healed = Duration::from_secs(10);
        assert!(limiter.peek(1).retry_after().is_some_and(|wait| wait < healed));
        assert!(keyed.peek(&0, 1).retry_after().is_some_and(|wait| wait < healed));
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}
