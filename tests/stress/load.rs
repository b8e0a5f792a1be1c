//! Tables filled to a part of their capacity and beyond, by threads at once, under each policy for the overflow.

use tollgate::{Algorithm, Decision, Instant, Keyed, Outcome, Overflow, Quota, RandomSipHash, TokenBucket};

use crate::race::race;
use crate::{THREADS, repeat};

const LIMIT: u64 = 2;
const QUOTA: Quota = Quota::per_hour(LIMIT);
const SHARED: Quota = Quota::per_hour(7);
const CAPACITY: usize = 1000;
/// The same each time: whether a key finds a slot depends on its hash.
const HASHER: RandomSipHash = RandomSipHash::with_key([1, 2]);

/// What all threads were answered.
#[derive(Default)]
struct Answers {
    granted: u64,
    refused: u64,
    overflowed: Vec<Decision>,
}

/// All threads ask for all keys at one time, each from another key on, and each more often than the limit allows.
fn fill<A: Algorithm>(table: &Keyed<A, usize>, keys: usize, threads: usize) -> Answers {
    let answers = race(threads, |thread| {
        let mut answers = Answers::default();
        for key in 0..keys * (usize::try_from(LIMIT).unwrap_or(0) + 1) {
            let key = (key + thread * keys / threads) % keys;
            let decision = table.check_at(&key, Instant::ORIGIN, 1);
            match decision.outcome() {
                _ if decision.overflowed() => answers.overflowed.push(decision),
                Outcome::Allowed => answers.granted += 1,
                _ => answers.refused += 1,
            }
        }
        answers
    });
    answers.into_iter().fold(Answers::default(), |mut sum, answers| {
        sum.granted += answers.granted;
        sum.refused += answers.refused;
        sum.overflowed.extend(answers.overflowed);
        sum
    })
}

fn on_each_load(overflow: Overflow, assert_overflow: impl Fn(&[Decision])) {
    repeat(|| {
        for threads in THREADS {
            for percent in [50, 75, 100, 200] {
                let keys = CAPACITY * percent / 100;
                let builder = TokenBucket::new(QUOTA).keyed(CAPACITY).with_hasher(HASHER).overflow(overflow);
                let table = builder.build().expect("a limiter");
                let answers = fill(&table, keys, threads);
                let stats = table.stats();
                assert_eq!(stats.overflowed, answers.overflowed.len() as u64);
                assert_eq!(stats.recycled, 0);
                if percent <= 100 {
                    assert_eq!((stats.inserted, stats.overflowed), (keys as u64, 0), "{percent} %");
                    assert_eq!(answers.granted, LIMIT * keys as u64, "{percent} %");
                } else {
                    assert!(stats.inserted >= CAPACITY as u64, "{stats:?}");
                    assert!(answers.granted <= LIMIT * stats.inserted, "{stats:?}");
                    assert!(answers.refused > 0);
                    assert_overflow(&answers.overflowed);
                }
            }
        }
    });
}

#[test]
fn key_without_a_slot_is_denied_with_a_wait_under_deny() {
    on_each_load(Overflow::Deny, |overflowed| {
        assert!(overflowed.iter().all(|decision| decision.outcome() == Outcome::Denied));
        assert!(overflowed.iter().all(|decision| decision.retry_after().is_some()));
    });
}

#[test]
fn key_without_a_slot_passes_under_allow() {
    on_each_load(Overflow::Allow, |overflowed| {
        assert!(overflowed.iter().all(Decision::is_allowed));
    });
}

#[test]
fn keys_without_a_slot_share_one_limit_under_shared() {
    on_each_load(Overflow::Shared(SHARED), |overflowed| {
        let granted = overflowed.iter().filter(|decision| decision.is_allowed()).count();
        assert_eq!(granted as u64, SHARED.limit());
    });
}
