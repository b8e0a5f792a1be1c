//! Keyed limiters, whose slots change hands.
//!
//! A key that is recycled, because its state was as good as new, and then asked for at an *older* reading, is dated
//! by the newest recycling: that may refuse what its old state would have granted. Whether it was this key whose slot
//! was taken is the table's own affair, so the test keeps every state that the key may be in, and each answer leaves
//! those that would have given it. As long as readings do not go back there is only one answer.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::{Algorithm, Decision, Instant, Keyed, Limiter, Outcome, RandomSipHash};

use crate::config;
use crate::honesty::is_honest;
use crate::limiters::Visit;
use crate::reference::Reference;
use crate::rules::exact;
use crate::steps::{KEYS, Step, Walk, any_order, in_order};
use crate::vectors::{Answer, Rule};

/// Room for the keys of the test and a few others. So few slots have one guard, and every key may lie in each.
pub(crate) const CAPACITY: usize = 8;

/// The states that a key may be in.
struct Key {
    states: Vec<Reference>,
    may_be_new: bool,
    /// The newest recycling since the key was last asked for.
    recycling: Option<u64>,
}

struct Table<A: Algorithm> {
    keyed: Keyed<A, u64>,
    rule: Rule,
    keys: [Key; KEYS],
    /// The newest recycling.
    newest: u64,
    recyclings: u64,
    /// The name of the last key that is no part of the test; those that are, are called by their number.
    passers_by: u64,
}

impl<A: Algorithm> Table<A> {
    fn new(rule: Rule, keyed: Keyed<A, u64>) -> Self {
        let keys = std::array::from_fn(|_| Key { states: vec![], may_be_new: true, recycling: None });
        Self { keyed, rule, keys, newest: 0, recyclings: 0, passers_by: KEYS as u64 }
    }

    fn fresh(&self, since: u64) -> Reference {
        Reference::fresh(self.rule, self.keyed.horizon().as_nanos(), since)
    }

    /// Asks for a key, and takes note of recycling.
    fn check_at(&mut self, name: u64, now: u64, cost: u64) -> Decision {
        let decision = self.keyed.check_at(&name, Instant::from_nanos(now), cost);
        let recyclings = self.keyed.stats().recycled;
        if recyclings > self.recyclings {
            self.recyclings = recyclings;
            self.newest = self.newest.max(now);
            for key in &mut self.keys {
                key.recycling = key.recycling.max(Some(now));
            }
        }
        decision
    }

    /// Asks for keys that are never asked for again, as long as that leaves slots for the others.
    fn pass_by(&mut self, count: usize, now: u64) {
        for _ in 0..count {
            if self.keyed.live(Instant::from_nanos(now)) + self.keys.len() >= CAPACITY {
                return;
            }
            self.passers_by += 1;
            let _ = self.check_at(self.passers_by, now, 1);
        }
    }

    fn peek(&self, key: usize, now: u64, cost: u64) -> TestCaseResult {
        let answer = Answer::from(self.keyed.peek_at(&(key as u64), Instant::from_nanos(now), cost));
        let Key { states, may_be_new, .. } = &self.keys[key];
        let new = may_be_new.then(|| self.fresh(0));
        let expected: Vec<_> = states.iter().chain(&new).map(|state| state.peek(now, cost)).collect();
        prop_assert!(expected.contains(&answer), "peeked {answer}, not one of {expected:?}");
        Ok(())
    }

    fn call(&mut self, key: usize, now: u64, cost: u64) -> Result<Decision, TestCaseError> {
        let may_have_been_recycled = {
            let Key { states, recycling, .. } = &mut self.keys[key];
            recycling.take().is_some_and(|at| states.iter().any(|state| state.is_stale(at)))
        };
        self.keys[key].may_be_new |= may_have_been_recycled;
        self.peek(key, now, cost)?;

        let decision = self.check_at(key as u64, now, cost);
        let answer = Answer::from(decision);
        let Key { states, may_be_new, .. } = &self.keys[key];
        if decision.overflowed() {
            prop_assert_eq!(decision.outcome(), Outcome::Denied);
            prop_assert!(may_be_new, "the key has a slot");
            return Ok(decision);
        }
        // What charges nothing inserts nothing.
        let charges = cost > 0 && cost <= decision.limit();
        let new = may_be_new.then(|| self.fresh(if charges { self.newest } else { 0 }));
        let mut matching = Vec::new();
        for mut state in states.iter().cloned().chain(new) {
            if state.call(now, cost) == answer && !matching.contains(&state) {
                matching.push(state);
            }
        }
        prop_assert!(
            !matching.is_empty(),
            "{answer} does not follow from any of {states:?}, new: {may_be_new}"
        );
        if charges {
            let key = &mut self.keys[key];
            (key.states, key.may_be_new, key.recycling) = (matching, false, None);
        }
        Ok(decision)
    }
}

struct Follows<'s> {
    rule: Rule,
    steps: &'s [Step],
    /// Whether readings do not go back, so that there is room for every key.
    in_order: bool,
}

impl Visit for Follows<'_> {
    type Output = TestCaseResult;

    fn visit<A: Algorithm>(self, _: Limiter<A>, keyed: Keyed<A, u64>) -> TestCaseResult {
        let mut walk = Walk::new(self.rule, keyed.horizon().as_nanos());
        let mut table = Table::new(self.rule, keyed);
        for (number, step) in self.steps.iter().enumerate() {
            let (now, cost) = walk.next(step);
            table.pass_by(step.passers_by, now);
            let decision = table.call(step.key, now, cost).map_err(|error| {
                TestCaseError::fail(format!("step {number}, key {} at {now} for {cost}: {error}", step.key))
            })?;
            if decision.overflowed() {
                prop_assert!(!self.in_order, "step {}: no slot", number);
                continue;
            }
            is_honest(decision, now, |at| {
                table.keyed.peek_at(&(step.key as u64), Instant::from_nanos(at), cost)
            })?;
            walk.answered(decision.into());
        }
        Ok(())
    }
}

fn follows(rule: Rule, steps: &[Step], hasher: [u64; 2], in_order: bool) -> TestCaseResult {
    rule.build(CAPACITY, RandomSipHash::with_key(hasher), Follows { rule, steps, in_order })
        .map_err(|error| TestCaseError::fail(error.to_string()))?
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn every_answer_follows_whoever_passes_by(
        rule in exact(),
        steps in in_order(),
        hasher in any::<[u64; 2]>(),
    ) {
        follows(rule, &steps, hasher, true)?;
    }

    #[test]
    fn an_older_reading_gets_no_more_than_the_newest_recycling_allows(
        rule in exact(),
        steps in any_order(),
        hasher in any::<[u64; 2]>(),
    ) {
        follows(rule, &steps, hasher, false)?;
    }
}
