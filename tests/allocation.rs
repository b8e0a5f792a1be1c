//! After construction no decision allocates: each verb and each way a decision can take, for all four algorithms.

#[path = "support/each_algorithm.rs"]
mod each_algorithm;

use std::time::Duration;

use tollgate::{
    Adjustable, Adjusts, Algorithm, AllOf, Builder, Clock, CoarseClock, Counters, Decision, FixedWindow,
    Instant, Keyed, LimitList, Limiter, ManualClock, MostRefused, Observed, Outcome, Overflow, Patience,
    QuantaClock, Quota, Refundable, Revocable, SetQuotaError, SlidingCounter, SlidingLog, StdClock,
    TokenBucket,
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
fn quotas_that_change_and_decisions_by_them_allocate_nothing() {
    fn test<A: Adjusts>(algorithm: impl Fn(u64) -> A) {
        let builder = || Adjustable::new(algorithm(LIMIT)).clock(ManualClock::new());
        let limiter = builder().build().expect("the configuration is legal");
        let keyed = builder().keyed::<u64>(KEYS).build().expect("the configuration is legal");
        let lower = algorithm(LIMIT - 1);
        assert_allocates_nothing(|| {
            assert_eq!(look_at(limiter.check_n(LIMIT - 1)), Outcome::Allowed);
            assert_eq!(look_at(keyed.check_n(&1, LIMIT - 1)), Outcome::Allowed);
            assert_eq!((limiter.set_quota(&lower), keyed.set_quota(&lower)), (Ok(()), Ok(())));
            // Carried over, in the head and by the charge.
            assert_eq!(look_at(limiter.check()), Outcome::Denied);
            assert_eq!(look_at(keyed.check(&1)), Outcome::Denied);
            let later = limiter.now() + PERIOD * 2;
            assert_eq!(look_at(limiter.check_at(later, 1)), Outcome::Allowed);
            assert_eq!(look_at(keyed.check_at(&1, later, 1)), Outcome::Allowed);
            assert_eq!(limiter.set_quota(&lower), Err(SetQuotaError::Busy));
        });
    }
    test(|limit| TokenBucket::new(Quota::new(limit, PERIOD)));
    test(|limit| FixedWindow::new(Quota::new(limit, PERIOD)));
    test(|limit| SlidingCounter::new(Quota::new(limit, PERIOD)));
    test(|limit| SlidingLog::new(Quota::new(limit, PERIOD)));
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

#[test]
fn partial_grants_allocate_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let limiter = builder.clone().build().expect("the configuration is legal");
        let keyed = builder.clone().keyed::<u64>(1).build().expect("the configuration is legal");
        assert_allocates_nothing(|| {
            assert_eq!(limiter.take_up_to(LIMIT + 1).permits(), LIMIT);
            assert_eq!(limiter.take_up_to(1).permits(), 0);
            for key in 0..100 {
                look_at(keyed.take_up_to(&key, LIMIT).decision());
            }
        });
        assert!(keyed.stats().overflowed > 0);
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn refunds_and_resets_allocate_nothing() {
    fn test<A: Refundable>(algorithm: A) {
        let builder = Builder::new(algorithm, ManualClock::new());
        let limiter = builder.clone().build().expect("the configuration is legal");
        let keyed = builder.keyed::<u64>(KEYS).build().expect("the configuration is legal");
        assert_allocates_nothing(|| {
            look_at(limiter.check_n(LIMIT));
            look_at(keyed.check_n(&1, LIMIT));
            assert_eq!((limiter.refund(2), keyed.refund(&1, 2), keyed.refund(&2, 2)), (2, 2, 0));
            assert!(keyed.reset(&1) && !keyed.reset(&2));
        });
    }
    test(TokenBucket::new(QUOTA));
    test(FixedWindow::new(QUOTA));
    test(SlidingCounter::new(QUOTA));
}

#[test]
fn reservations_penalties_and_waits_allocate_nothing() {
    let bucket = TokenBucket::new(Quota::new(1, Duration::from_micros(10))).max_wait(PERIOD);
    let limiter = bucket.clone().build().expect("the configuration is legal");
    let keyed = bucket.keyed::<u64>(KEYS).build().expect("the configuration is legal");
    assert_allocates_nothing(|| {
        let (first, second) = (limiter.reserve(1, PERIOD), keyed.reserve(&1, 1, PERIOD));
        let (first, second) = (first.expect("within 1 s"), second.expect("within 1 s"));
        std::hint::black_box((first.due(), first.wait(), second.permits()));
        first.cancel();
        drop(second);
        assert!(limiter.reserve(2, PERIOD).is_err());
        assert_eq!((limiter.penalize(3), keyed.penalize(&1, 3)), (3, 3));
        for _ in 0..3 {
            limiter.acquire_blocking(1, Patience::unlimited()).expect("within 1 s");
            keyed
                .acquire_blocking(&1, 1, Patience::up_to(PERIOD).with_jitter(PERIOD / 1000))
                .expect("within 1 s");
        }
    });
}

#[test]
fn several_limits_at_once_allocate_nothing() {
    let clock = ManualClock::new();
    let build = |limit| TokenBucket::new(Quota::per_hour(limit)).clock(clock.clone());
    let (wide, tight) = (build(100).build().expect("legal"), build(2).build().expect("legal"));
    let keyed = build(100).keyed::<u64>(1).build().expect("legal");
    let log = SlidingLog::new(Quota::per_hour(100)).clock(clock).build().expect("legal");
    let listed = [&wide as &dyn Revocable, &tight];
    assert_allocates_nothing(|| {
        look_at(AllOf::new((&wide, &tight, keyed.for_key(&1), &log)).check().decision());
        look_at(AllOf::new(LimitList::new(&listed).and_last(&log)).check().decision());
        look_at(AllOf::new(LimitList::new(&listed).and_last(&log)).check().decision());
        // Until there is no slot, and what was charged is undone.
        for key in 0..100 {
            look_at(AllOf::new((&wide, keyed.for_key(&key))).check().decision());
        }
    });
    assert!(keyed.stats().overflowed > 0);
}

#[test]
fn looking_at_all_keys_allocates_nothing() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let limiter = builder.clone().keyed::<u64>(KEYS).build().expect("the configuration is legal");
        assert_allocates_nothing(|| {
            for key in 0..50 {
                look_at(limiter.check(&key));
            }
            assert_eq!(
                limiter.live_keys(limiter.now()).filter(|key| key.remaining() == Some(LIMIT - 1)).count(),
                50
            );
        });
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn hooks_of_this_crate_allocate_nothing() {
    let limiter = TokenBucket::new(QUOTA).clock(ManualClock::new()).keyed::<u64>(KEYS);
    let limiter = limiter.build().expect("the configuration is legal");
    let limiter = Observed::new(limiter, (Counters::new(), MostRefused::new(10)));
    let keys: Vec<u64> = (0..CROWD).collect();
    let mut decisions = Vec::with_capacity(keys.len());
    assert_allocates_nothing(|| {
        for key in 0..CROWD {
            look_at(limiter.check_n(&(key % 20), LIMIT));
        }
        limiter.check_many(&keys, &mut decisions);
        std::hint::black_box(limiter.hook().0.counts());
    });
    assert!(limiter.hook().1.top().iter().all(|key| key.error > 0), "counters were taken over");
}
