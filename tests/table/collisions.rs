//! Keys whose hashes are alike, wholly or in part.

use tollgate::{Algorithm, Builder, Decision, Instant, ManualClock, Outcome, Quota};

use oracle::vectors::Answer;

use crate::each_algorithm::for_each_algorithm;
use crate::hashers::By;

const LIMIT: u64 = 3;
const QUOTA: Quota = Quota::per_second(LIMIT);
const NANOS_PER_MS: u64 = 1_000_000;

/// 100 keys with seven hashes, beside a table of seven keys.
#[test]
fn keys_with_equal_hashes_are_one_key() {
    const HASHES: u64 = 7;
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let keyed = || builder.clone().keyed::<u64>(5);
        let alike = keyed().with_hasher(By(|key| key % HASHES + 100)).build().expect("a limiter");
        let apart = keyed().build().expect("a limiter");
        for call in 0..2000 {
            let (key, now) = (call * 37 % 100, Instant::from_nanos(call / 5 * 40 * NANOS_PER_MS));
            let cost = call % 5;
            let answers = [alike.check_at(&key, now, cost), apart.check_at(&(key % HASHES), now, cost)];
            assert_eq!(Answer::from(answers[0]), Answer::from(answers[1]), "call {call}");
            assert!(!answers.iter().any(Decision::overflowed));
            assert_eq!(alike.live(now), apart.live(now), "call {call}");
        }
        assert!(alike.stats().occupied() <= HASHES, "{:?}", alike.stats());
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

#[test]
fn all_keys_with_one_hash_have_one_limit() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        for hasher in [By(|_| 0), By(|_| 1), By(|_| u64::MAX), By(|_| 1 << 63)] {
            let table = builder.clone().keyed::<u64>(1000).with_hasher(hasher).build().expect("a limiter");
            let granted = (0..10_000_u64).filter(|key| table.check(key).is_allowed());
            assert_eq!(granted.count() as u64, LIMIT);
            let stats = table.stats();
            assert_eq!((stats.inserted, stats.overflowed), (1, 0));
            assert_eq!(table.live(Instant::ORIGIN), 1);
        }
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

/// A hash of 0 is taken for 1, because 0 marks a slot that nobody has had.
#[test]
fn hash_of_zero_shares_the_limit_of_one_and_of_nobody_else() {
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        let keyed = builder.clone().keyed::<u64>(10).with_hasher(By(|key| key));
        let table = keyed.build().expect("a limiter");
        assert!(table.check_n(&0, LIMIT).is_allowed());
        assert_eq!(table.check(&1).outcome(), Outcome::Denied);
        assert_eq!(table.check(&0).outcome(), Outcome::Denied);
        for other in [2, 1 << 32, u64::MAX - 1, u64::MAX] {
            assert_eq!(table.peek(&other, 1).remaining(), Some(LIMIT), "key {other}");
            assert!(table.check_n(&other, LIMIT).is_allowed(), "key {other}");
            assert_eq!(table.check(&other).outcome(), Outcome::Denied, "key {other}");
        }
        assert_eq!(table.stats().inserted, 5);
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}

/// As many keys as declared, three times, each time when the ones before are stale.
#[test]
fn keys_whose_hashes_differ_in_few_bits_have_a_slot_and_a_limit_each() {
    const KEYS: u64 = 5000;
    const HASHERS: [(&str, By); 8] = [
        ("the key", By(|key| key)),
        ("its complement", By(|key| !key)),
        ("in the high bits", By(|key| key << 40)),
        ("in the high half, the low one constant", By(|key| key << 32 | 0x1234_5678)),
        ("in the low half, the high one constant", By(|key| 0xABCD_EF01 << 32 | key)),
        ("in both halves", By(|key| key << 32 | key)),
        ("in the middle", By(|key| key << 25)),
        ("its bits reversed", By(u64::reverse_bits)),
    ];
    fn test<A: Algorithm>(builder: &Builder<A, ManualClock>) {
        for (name, hasher) in HASHERS {
            let keys = usize::try_from(KEYS).expect("a number that fits");
            let table = builder.clone().keyed::<u64>(keys).with_hasher(hasher).build().expect("a limiter");
            for generation in 0..3 {
                let now = Instant::from_nanos(generation * 3000 * NANOS_PER_MS);
                // A hash of 0 is that of 1.
                let names = generation * KEYS + 1..(generation + 1) * KEYS + 1;
                // Each key is asked for again when all are there.
                for _ in 0..LIMIT {
                    for key in names.clone() {
                        assert!(table.check_at(&key, now, 1).is_allowed(), "{name}: key {key}");
                    }
                }
                for key in names {
                    let decision = table.check_at(&key, now, 1);
                    assert!(!decision.is_allowed() && !decision.overflowed(), "{name}: key {key}");
                }
                assert_eq!(table.live(now), keys, "{name}");
                let stats = table.stats();
                assert_eq!((stats.inserted, stats.overflowed), ((generation + 1) * KEYS, 0), "{name}");
            }
        }
    }
    for_each_algorithm!(QUOTA, ManualClock::new(), test());
}
