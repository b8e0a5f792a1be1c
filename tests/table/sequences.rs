//! Any sequence of calls on tables of a few keys, under each policy for the overflow, one by one and in batches.
//!
//! In so small a table every key may lie in every slot: a key finds none exactly when all are live.

use std::collections::HashMap;
use std::time::Duration;

use oracle::reference::Reference;
use oracle::steps::{Step, Walk};
use oracle::vectors::{Answer, Rule};
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    Algorithm, BuildError, Builder, Decision, FixedWindow, Instant, Keyed, KeyedStats, ManualClock, Outcome,
    Overflow, Quota, RandomSipHash, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::cases::config;
use crate::rules::exact;
use crate::stale::stale_at;
use crate::steps::in_order;

/// Keys that calls are for: more than the largest table has slots.
const KEYS: u64 = 30;

/// A table, its policy for the overflow, and what is asked.
#[derive(Debug, Clone)]
struct Case {
    rule: Rule,
    declared: usize,
    overflow: Chosen,
    hasher: [u64; 2],
    calls: Vec<(Step, Asked)>,
}

#[derive(Debug, Clone, Copy)]
enum Chosen {
    Deny,
    Allow,
    /// This many permits in the rule's period.
    Shared(u64),
}

/// For whom a step asks.
#[derive(Debug, Clone)]
enum Asked {
    One(u64),
    /// A permit for each.
    Many(Vec<u64>),
}

fn case() -> impl Strategy<Value = Case> {
    let overflow =
        prop_oneof![Just(Chosen::Deny), Just(Chosen::Allow), (0..=16_u64).prop_map(Chosen::Shared)];
    let asked = prop_oneof![
        5 => (0..KEYS).prop_map(Asked::One),
        1 => vec(0..KEYS, 0..40).prop_map(Asked::Many),
    ];
    let calls =
        (in_order(), vec(asked, 40)).prop_map(|(steps, asked)| steps.into_iter().zip(asked).collect());
    (exact(), 1..=12_usize, overflow, any::<[u64; 2]>(), calls).prop_map(
        |(rule, declared, overflow, hasher, calls)| Case { rule, declared, overflow, hasher, calls },
    )
}

/// What decides for keys without a slot.
enum Spillway {
    Deny,
    Allow,
    Shared(Reference),
}

/// A state for each live key.
struct Model {
    rule: Rule,
    horizon: u64,
    slots: usize,
    states: HashMap<u64, Reference>,
    spillway: Spillway,
}

impl Model {
    /// Forgets what is stale, tells how many are not.
    fn live(&mut self, now: u64) -> usize {
        self.states.retain(|_, state| !state.is_stale(now));
        self.states.len()
    }

    /// The answer, and whether it is the policy's.
    fn call(&mut self, key: u64, now: u64, cost: u64) -> (Answer, bool) {
        let live = self.live(now);
        let fresh = Reference::new(self.rule, self.horizon);
        if let Some(state) = self.states.get_mut(&key) {
            return (state.call(now, cost), false);
        }
        let charges = cost > 0 && fresh.peek(now, cost).outcome != Outcome::TooLarge;
        if !charges {
            return (fresh.clone().call(now, cost), false);
        }
        if live == self.slots {
            return (self.overflow(now, cost), true);
        }
        (self.states.entry(key).or_insert(fresh).call(now, cost), false)
    }

    fn overflow(&mut self, now: u64, cost: u64) -> Answer {
        let free_at = self.states.values().filter_map(|state| stale_at(state, self.horizon)).min();
        let wait = free_at.map(|at| at - now);
        let without_state = |outcome, retry| Answer { outcome, remaining: Some(0), retry, reset: wait };
        match &mut self.spillway {
            Spillway::Deny => without_state(Outcome::Denied, wait),
            Spillway::Allow => without_state(Outcome::Allowed, Some(0)),
            Spillway::Shared(shared) => match shared.call(now, cost) {
                allowed @ Answer { outcome: Outcome::Allowed, .. } => allowed,
                refused => {
                    let retry = refused.retry.into_iter().chain(wait).min();
                    Answer { outcome: Outcome::Denied, retry, ..refused }
                }
            },
        }
    }
}

/// A table beside its model.
struct Pair<A: Algorithm> {
    table: Keyed<A, u64, ManualClock>,
    model: Model,
    stats: KeyedStats,
}

impl<A: Algorithm> Pair<A> {
    fn assert_one(&mut self, key: u64, now: u64, cost: u64, decision: Decision) -> Answer {
        let (expected, overflows) = self.model.call(key, now, cost);
        assert_eq!(decision.overflowed(), overflows, "key {key} at {now} for {cost}");
        let answer = Answer::from(decision);
        assert_eq!(answer, expected, "key {key} at {now} for {cost}");
        self.stats.overflowed += u64::from(overflows);
        answer
    }

    /// Between calls: what the counters say is possible.
    fn assert_counted(&mut self, now: u64) {
        let (stats, before) = (self.table.stats(), self.stats);
        assert_eq!((stats.overflowed, stats.contended), (before.overflowed, 0));
        assert!(stats.inserted >= before.inserted && stats.recycled >= before.recycled, "{stats:?}");
        assert!(stats.occupied() <= self.model.slots as u64, "{stats:?}");
        let live = self.model.live(now);
        assert_eq!(self.table.live(Instant::from_nanos(now)), live);
        assert!(stats.occupied() >= live as u64, "{stats:?} with {live} live ones");
        if stats.inserted - before.inserted <= 1 {
            let was_full = before.occupied() == self.model.slots as u64;
            let recycled = stats.recycled - before.recycled;
            assert!(recycled <= stats.inserted - before.inserted, "{stats:?} after {before:?}");
            assert!(recycled == 1 || !was_full || stats.inserted == before.inserted, "{stats:?}");
        }
        self.stats = stats;
    }

    fn ask(&mut self, asked: &Asked, now: u64, cost: u64) -> Option<Answer> {
        let at = Instant::from_nanos(now);
        match asked {
            // By turns on the clock and at a time given, which make no difference as long as time does not go back.
            Asked::One(key) if key % 2 == 0 => {
                self.table.clock().set(at);
                let decision = self.table.check_n(key, cost);
                Some(self.assert_one(*key, now, cost, decision))
            }
            Asked::One(key) => {
                let decision = self.table.check_at(key, at, cost);
                Some(self.assert_one(*key, now, cost, decision))
            }
            Asked::Many(keys) => {
                let mut decisions = Vec::new();
                if keys.len() % 2 == 0 {
                    self.table.clock().set(at);
                    self.table.check_many(keys, &mut decisions);
                } else {
                    self.table.check_many_at(keys, at, &mut decisions);
                }
                assert_eq!(decisions.len(), keys.len());
                let answers = keys.iter().zip(decisions);
                answers.map(|(key, decision)| self.assert_one(*key, now, 1, decision)).last()
            }
        }
    }
}

/// Asks a limiter of the case's rule all that the case asks; `shared` is the rule of a shared limit.
fn follow<A: Algorithm>(
    case: &Case,
    builder: &Builder<A, ManualClock>,
    shared: Option<(Rule, Builder<A, ManualClock>, Quota)>,
) -> Result<(), BuildError> {
    let (overflow, spillway) = match (case.overflow, shared) {
        (Chosen::Shared(_), Some((rule, builder, quota))) => {
            let horizon = builder.build()?.horizon().as_nanos();
            (Overflow::Shared(quota), Spillway::Shared(Reference::new(rule, horizon)))
        }
        (Chosen::Allow, _) => (Overflow::Allow, Spillway::Allow),
        _ => (Overflow::Deny, Spillway::Deny),
    };
    let keyed = builder.clone().keyed(case.declared).overflow(overflow);
    let table = keyed.with_hasher(RandomSipHash::with_key(case.hasher)).build()?;
    let horizon = table.horizon().as_nanos();
    let slots = oracle::slots(case.declared);
    let model = Model { rule: case.rule, horizon, slots, states: HashMap::new(), spillway };
    let mut pair = Pair { table, model, stats: KeyedStats::default() };
    let mut walk = Walk::new(case.rule, horizon);
    for (step, asked) in &case.calls {
        let (now, cost) = walk.next(step);
        if let Some(answer) = pair.ask(asked, now, cost) {
            walk.answered(answer);
        }
        pair.assert_counted(now);
    }
    Ok(())
}

impl Case {
    fn follow(&self) -> Result<(), BuildError> {
        let quota = |limit, period| Quota::new(limit, Duration::from_nanos(period));
        let shared = match self.overflow {
            Chosen::Shared(limit) => Some(limit),
            Chosen::Deny | Chosen::Allow => None,
        };
        macro_rules! follow {
            ($algorithm:ident, $period:expr, $built:expr, $rule:expr) => {{
                let build = |quota| $algorithm::new(quota).clock(ManualClock::new());
                let shared = shared.map(|limit| {
                    let quota = quota(limit, $period);
                    ($rule(limit), build(quota), quota)
                });
                follow(self, &$built.clock(ManualClock::new()), shared)
            }};
        }
        match self.rule {
            Rule::TokenBucket { capacity, limit, period, .. } => {
                let built = TokenBucket::new(quota(limit, period)).burst(capacity);
                follow!(TokenBucket, period, built, |limit| Rule::TokenBucket {
                    capacity: limit,
                    limit,
                    period,
                    max_wait: 0
                })
            }
            Rule::FixedWindow { limit, period } => {
                let built = FixedWindow::new(quota(limit, period));
                follow!(FixedWindow, period, built, |limit| Rule::FixedWindow { limit, period })
            }
            Rule::SlidingCounter { limit, period } => {
                let built = SlidingCounter::new(quota(limit, period));
                follow!(SlidingCounter, period, built, |limit| Rule::SlidingCounter { limit, period })
            }
            Rule::SlidingLog { limit, period } => {
                let built = SlidingLog::new(quota(limit, period));
                follow!(SlidingLog, period, built, |limit| Rule::SlidingLog { limit, period })
            }
        }
    }
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn table_turns_a_key_away_when_all_slots_are_live_and_answers_it_as_if_alone_otherwise(case in case()) {
        // A shared limit may have no representation.
        prop_assume!(case.follow().is_ok());
    }
}
