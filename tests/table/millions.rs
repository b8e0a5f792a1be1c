//! Millions of keys, as many live ones as declared: new ones, ones that are asked for again soon, and ones that come
//! back when their states may be stale and their slots another key's.
//!
//! Each of four tables is for 400,000 keys, or for as many as `TOLLGATE_TABLE_KEYS` says.

use std::collections::HashMap;
use std::env;

use oracle::limiters::Visit;
use oracle::reference::Reference;
use oracle::vectors::{Answer, Rule};
use tollgate::{Algorithm, Instant, Keyed, Limiter, RandomSipHash};

use crate::random::Random;

const LIMIT: u64 = 4;
/// From one pair of calls to the next, in ns.
const STEP: u64 = 1000;
/// How often the table's keys are replaced.
const GENERATIONS: u64 = 4;

fn declared() -> u64 {
    let keys = env::var("TOLLGATE_TABLE_KEYS");
    keys.map_or(400_000, |text| text.parse().expect("a number of keys"))
}

/// Calls come in pairs: one is for a stranger, one for one of the latest keys.
struct Crowd {
    rule: Rule,
    declared: u64,
}

impl Crowd {
    /// The latest keys.
    fn latest(declared: u64) -> u64 {
        declared / 8
    }

    /// A state stays live for at most this long. The strangers of so long a time and the latest keys before it are
    /// all that can be live.
    fn life(declared: u64) -> u64 {
        (declared - Self::latest(declared) - 2) * STEP
    }
}

/// Mostly one that is charged.
fn cost(random: &mut Random) -> u64 {
    match random.below(16) {
        0 => 0,
        1 => LIMIT + 1,
        other => 1 + other % LIMIT,
    }
}

impl Visit for Crowd {
    type Output = ();

    fn visit<A: Algorithm>(self, _: Limiter<A>, table: Keyed<A, u64>) {
        let Self { rule, declared } = self;
        let latest = Self::latest(declared);
        let mut random = Random(declared);
        let mut states: HashMap<u64, Reference> = HashMap::new();
        let (mut known, mut most_live) = (0, 0);
        for pair in 0..GENERATIONS * declared {
            let now = pair * STEP;
            // Three of four strangers are new; the others have been asked for before, at any time.
            let stranger = if random.below(4) < 3 || known == 0 {
                known += 1;
                known - 1
            } else {
                random.below(known)
            };
            let acquaintance = known - 1 - random.below(latest.min(known));
            for key in [stranger, acquaintance] {
                let cost = cost(&mut random);
                let answer = table.check_at(&key, Instant::from_nanos(now), cost);
                assert!(!answer.overflowed(), "pair {pair}: no slot for {key}");
                let fresh = || Reference::new(rule, table.horizon().as_nanos());
                let expected = if cost == 0 || cost > LIMIT {
                    states
                        .get_mut(&key)
                        .map_or_else(|| fresh().call(now, cost), |state| state.call(now, cost))
                } else {
                    states.entry(key).or_insert_with(fresh).call(now, cost)
                };
                assert_eq!(Answer::from(answer), expected, "pair {pair}: key {key}, cost {cost}");
            }
            if pair % (declared / 4) == declared / 4 - 1 {
                states.retain(|_, state| !state.is_stale(now));
                assert_eq!(table.live(Instant::from_nanos(now)), states.len(), "pair {pair}");
                most_live = states.len().max(most_live);
            }
        }
        let counted = table.stats();
        assert_eq!((counted.overflowed, counted.contended), (0, 0));
        assert!(counted.recycled > declared, "{counted:?}");
        assert!(2 * most_live as u64 > declared, "at most {most_live} of {declared} live ones");
    }
}

/// `lives` periods after its last charge a state is stale.
fn test(rule: impl Fn(u64) -> Rule, lives: u64) {
    let declared = declared();
    let rule = rule(Crowd::life(declared) / lives);
    let keys = usize::try_from(declared).expect("a number of keys that fits");
    let built = rule.build(keys, RandomSipHash::with_key([3, 4]), Crowd { rule, declared });
    built.expect("the configuration is legal");
}

#[test]
fn buckets_of_millions_of_keys_answer_as_if_each_were_alone() {
    test(|period| Rule::TokenBucket { capacity: LIMIT, limit: LIMIT, period, max_wait: 0 }, 1);
}

#[test]
fn fixed_windows_of_millions_of_keys_answer_as_if_each_were_alone() {
    test(|period| Rule::FixedWindow { limit: LIMIT, period }, 1);
}

#[test]
fn sliding_counters_of_millions_of_keys_answer_as_if_each_were_alone() {
    test(|period| Rule::SlidingCounter { limit: LIMIT, period }, 2);
}

#[test]
fn sliding_logs_of_millions_of_keys_answer_as_if_each_were_alone() {
    test(|period| Rule::SlidingLog { limit: LIMIT, period }, 1);
}
