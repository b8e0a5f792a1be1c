//! Keyed limiters, whose slots change hands.
//!
//! A key that is recycled, because its state was as good as new, and then asked for at an *older* reading, is dated
//! by the newest recycling: that may refuse what its old state would have granted. A key that was refused so has a slot
//! and was never charged; such a slot is recycled as of the slack before the reading. Whose slot was taken is the
//! table's own affair, so the test keeps every state that the key may be in, and each answer leaves those that would
//! have given it. As long as readings do not go back there is only one answer.

use tollgate::{Algorithm, BuildError, Decision, Instant, Keyed, Limiter, Outcome, RandomSipHash};

use crate::SLACK;
use crate::follow::honesty::is_honest;
use crate::limiters::Visit;
use crate::reference::Reference;
use crate::steps::{KEYS, Step, Walk};
use crate::vectors::{Answer, Rule};

/// Room for the keys of the test and a few others. So few slots have one guard, and every key may lie in each.
pub const CAPACITY: usize = 8;

/// Later readings count as this.
const TIME_MAX: u64 = (1 << 61) - 1;

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
    /// What the newest recycling may be dated.
    newest: Vec<u64>,
    /// Whether there may be a slot that was never charged.
    has_newborns: bool,
    recyclings: u64,
    /// The name of the last key that is no part of the test; those that are, are called by their number.
    passers_by: u64,
}

impl<A: Algorithm> Table<A> {
    fn new(rule: Rule, keyed: Keyed<A, u64>) -> Self {
        let keys = std::array::from_fn(|_| Key { states: vec![], may_be_new: true, recycling: None });
        let (newest, passers_by) = (vec![0], KEYS as u64);
        Self { keyed, rule, keys, newest, has_newborns: false, recyclings: 0, passers_by }
    }

    fn fresh(&self, since: u64) -> Reference {
        Reference::fresh(self.rule, self.keyed.horizon().as_nanos(), since)
    }

    /// Asks for a key, and takes note of recycling.
    fn check_at(&mut self, name: u64, now: u64, cost: u64, may_be_new: bool) -> Decision {
        let decision = self.keyed.check_at(&name, Instant::from_nanos(now), cost);
        let recyclings = self.keyed.stats().recycled;
        if recyclings > self.recyclings {
            self.recyclings = recyclings;
            let now = now.min(TIME_MAX);
            let earlier = now.checked_sub(SLACK).filter(|_| self.has_newborns);
            let dates = || [Some(now), earlier].into_iter().flatten();
            let newest = self.newest.iter().flat_map(|last| dates().map(|date| date.max(*last)));
            self.newest = newest.collect();
            self.newest.sort_unstable();
            self.newest.dedup();
            for key in &mut self.keys {
                key.recycling = key.recycling.max(Some(now));
            }
        }
        self.has_newborns |= may_be_new && decision.outcome() == Outcome::Denied && !decision.overflowed();
        decision
    }

    /// Asks for keys that are never asked for again, as long as that leaves slots for the others.
    fn pass_by(&mut self, count: usize, now: u64) {
        for _ in 0..count {
            if self.keyed.live(Instant::from_nanos(now)) + self.keys.len() >= CAPACITY {
                return;
            }
            self.passers_by += 1;
            let _ = self.check_at(self.passers_by, now, 1, true);
        }
    }

    fn peek(&self, key: usize, now: u64, cost: u64) {
        let answer = Answer::from(self.keyed.peek_at(&(key as u64), Instant::from_nanos(now), cost));
        let Key { states, may_be_new, .. } = &self.keys[key];
        let new = may_be_new.then(|| self.fresh(0));
        let expected: Vec<_> = states.iter().chain(&new).map(|state| state.peek(now, cost)).collect();
        assert!(expected.contains(&answer), "peeked {answer} at {now} for {cost}, not one of {expected:?}");
    }

    fn call(&mut self, key: usize, now: u64, cost: u64) -> Decision {
        let may_have_been_recycled = {
            let Key { states, recycling, .. } = &mut self.keys[key];
            recycling.take().is_some_and(|at| states.iter().any(|state| state.is_stale(at)))
        };
        self.keys[key].may_be_new |= may_have_been_recycled;
        self.peek(key, now, cost);

        let decision = self.check_at(key as u64, now, cost, self.keys[key].may_be_new);
        let answer = Answer::from(decision);
        let Key { states, may_be_new, .. } = &self.keys[key];
        if decision.overflowed() {
            assert_eq!(decision.outcome(), Outcome::Denied);
            assert!(may_be_new, "the key has a slot");
            return decision;
        }
        // What charges nothing inserts nothing.
        let charges = cost > 0 && cost <= decision.limit();
        let dates = if charges { &self.newest[..] } else { &[0] };
        let new = dates.iter().filter(|_| *may_be_new).map(|date| self.fresh(*date));
        let mut matching = Vec::new();
        for mut state in states.iter().cloned().chain(new) {
            if state.call(now, cost) == answer && !matching.contains(&state) {
                matching.push(state);
            }
        }
        assert!(
            !matching.is_empty(),
            "{answer} at {now} for {cost} does not follow from any of {states:?}, new: {may_be_new}"
        );
        if charges {
            let key = &mut self.keys[key];
            (key.states, key.may_be_new, key.recycling) = (matching, false, None);
        }
        decision
    }
}

struct Follows<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit for Follows<'_> {
    type Output = ();

    fn visit<A: Algorithm>(self, _: Limiter<A>, keyed: Keyed<A, u64>) {
        let is_in_order = !self.steps.iter().any(Step::may_go_back);
        let mut walk = Walk::new(self.rule, keyed.horizon().as_nanos());
        let mut table = Table::new(self.rule, keyed);
        for step in self.steps {
            let (now, cost) = walk.next(step);
            table.pass_by(step.passers_by, now);
            let decision = table.call(step.key, now, cost);
            if decision.overflowed() {
                assert!(!is_in_order, "no slot at {now}");
                continue;
            }
            is_honest(decision, now, |at| {
                table.keyed.peek_at(&(step.key as u64), Instant::from_nanos(at), cost)
            });
            walk.answered(decision.into());
        }
    }
}

/// Asserts that each answer of a keyed limiter of a rule it is exact for follows from what its key was charged.
pub fn keyed(rule: Rule, steps: &[Step], hasher: [u64; 2]) -> Result<(), BuildError> {
    rule.build(CAPACITY, RandomSipHash::with_key(hasher), Follows { rule, steps })
}
