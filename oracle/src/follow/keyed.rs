//! Keyed limiters, whose slots change hands.
//!
//! A key that is recycled, because its state was as good as new, and then asked for at an *older* reading, is dated
//! by the newest recycling: that may refuse what its old state would have granted, and what is given back comes back as
//! of that time. A key that was refused so has a slot and was never charged; such a slot is recycled as of the slack
//! before the reading. Whose slot was taken is the table's own affair, so the test keeps every state that the key may be
//! in, and each answer leaves those that would have given it. As long as readings do not go back there is only one
//! answer.

use std::fmt::Debug;

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, ManualClock, Outcome};

use crate::follow::held::Held;
use crate::follow::honesty::is_honest;
use crate::follow::visit_both;
use crate::limiters::Visit;
use crate::reference::Reference;
use crate::steps::{KEYS, Step, Verb, Walk};
use crate::vectors::{Answer, Rule};
use crate::verbs::{Ask, Reply, Told, Verbs};
use crate::{SLACK, TIME_MAX};

/// Room for the keys of the test and a few others. So few slots have one guard, and every key may lie in each.
pub const CAPACITY: usize = 8;

/// The states that a key may be in.
struct Key {
    states: Vec<Reference>,
    may_be_new: bool,
    /// The newest recycling since the key was last asked for.
    recycling: Option<u64>,
}

struct Table<'l, A: Algorithm> {
    keyed: &'l Keyed<A, u64, ManualClock>,
    rule: Rule,
    keys: [Key; KEYS],
    held: Held<'l>,
    /// What the newest recycling may be dated.
    newest: Vec<u64>,
    /// Whether there may be a slot that was never charged.
    has_newborns: bool,
    recyclings: u64,
    overflows: u64,
    /// The name of the last key that is no part of the test; those that are, are called by their number.
    passers_by: u64,
}

impl<'l, A: Algorithm + 'static> Table<'l, A> {
    fn new(rule: Rule, keyed: &'l Keyed<A, u64, ManualClock>) -> Self {
        let keys = std::array::from_fn(|_| Key { states: vec![], may_be_new: true, recycling: None });
        let (newest, passers_by, held) = (vec![0], KEYS as u64, Held::new(keyed.clock().clone()));
        Self { keyed, rule, keys, held, newest, has_newborns: false, recyclings: 0, overflows: 0, passers_by }
    }

    fn fresh(&self, since: u64) -> Reference {
        Reference::fresh(self.rule, self.keyed.horizon().as_nanos(), since)
    }

    /// Asks for a key, and takes note of recycling.
    fn ask_limiter(&mut self, name: u64, now: u64, ask: Ask, may_be_new: bool) -> (Reply<'l>, Ask) {
        let (mut reply, ask) = self.keyed.ask_or_check(name, Some(Instant::from_nanos(now)), ask);
        let stats = self.keyed.stats();
        if stats.recycled > self.recyclings {
            self.recyclings = stats.recycled;
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
        let is_refused = match reply.told {
            Told::Decided(answer) => answer.outcome == Outcome::Denied,
            Told::Taken(permits, _) | Told::Moved(permits) => permits == 0,
            Told::Refused { is_too_large, .. } => !is_too_large,
            Told::Due(_) | Told::Forgot(_) | Told::NoSlot => false,
        };
        if stats.overflowed > self.overflows {
            self.overflows = stats.overflowed;
            assert!(is_refused || reply.told == Told::NoSlot, "without a slot: {reply:?}");
            reply.told = Told::NoSlot;
        } else {
            assert_ne!(reply.told, Told::NoSlot, "nobody is without a slot");
            self.has_newborns |= may_be_new && is_refused;
        }
        (reply, ask)
    }

    /// Asks for keys that are never asked for again, as long as that leaves slots for the others.
    fn pass_by(&mut self, count: usize, now: u64) {
        for _ in 0..count {
            if self.keyed.live(Instant::from_nanos(now)) + self.keys.len() >= CAPACITY {
                return;
            }
            self.passers_by += 1;
            let _ = self.ask_limiter(self.passers_by, now, Ask::Check(1), true);
        }
    }

    /// The key may have lost its slot to whoever came since it was last asked for.
    fn key(&mut self, key: usize) -> &mut Key {
        let key = &mut self.keys[key];
        let at = key.recycling.take();
        key.may_be_new |= at.is_some_and(|at| key.states.iter().any(|state| state.is_stale(at)));
        key
    }

    fn peek(&mut self, key: usize, now: u64, cost: u64) -> Answer {
        let answer = Answer::from(self.keyed.peek_at(&(key as u64), Instant::from_nanos(now), cost));
        let new = self.fresh(0);
        let Key { states, may_be_new, .. } = self.key(key);
        let states = states.iter().chain(may_be_new.then_some(&new));
        let expected: Vec<_> = states.map(|state| state.peek(now, cost)).collect();
        assert!(expected.contains(&answer), "peeked {answer} at {now} for {cost}, not one of {expected:?}");
        answer
    }

    /// What may be told, and the states after it; `None`: the key is still new.
    fn outcomes(&mut self, key: usize, now: u64, ask: Ask) -> Vec<(Told, Option<Reference>)> {
        let asked = |state: &Reference, now| {
            let mut state = state.clone();
            (state.ask(now, ask), Some(state))
        };
        let mut outcomes = Vec::new();
        for state in self.key(key).states.clone() {
            match ask {
                // Not as of a time before the newest recycling.
                Ask::Refund(_) | Ask::Reset => {
                    outcomes.extend(self.newest.iter().map(|date| asked(&state, now.max(*date))));
                }
                _ => outcomes.push(asked(&state, now)),
            }
            if ask == Ask::Reset && state.is_unused() {
                // It may never have been charged: there is nothing to forget.
                outcomes.push((Told::Forgot(true), Some(state)));
            }
        }
        if self.keys[key].may_be_new {
            match ask {
                Ask::Refund(_) => outcomes.push((Told::Moved(0), None)),
                Ask::Reset => outcomes.push((Told::Forgot(false), None)),
                _ if ask.inserts(self.rule.limit()) => {
                    outcomes.extend(self.newest.iter().map(|date| asked(&self.fresh(*date), now)));
                }
                _ => outcomes.push((asked(&self.fresh(0), now).0, None)),
            }
        }
        outcomes
    }

    /// Keeps the states after what was told.
    fn was_told<T: PartialEq + Debug>(
        &mut self,
        key: usize,
        told: &T,
        outcomes: Vec<(T, Option<Reference>)>,
        what: impl Debug,
    ) {
        let is_possible = outcomes.iter().any(|(possible, _)| possible == told);
        assert!(is_possible, "{told:?} for {what:?} of key {key}, and not one of {outcomes:?}");
        let key = &mut self.keys[key];
        (key.states, key.may_be_new) = (vec![], false);
        for (_, state) in outcomes.into_iter().filter(|(possible, _)| possible == told) {
            match state {
                Some(state) if key.states.contains(&state) => {}
                Some(state) => key.states.push(state),
                None => key.may_be_new = true,
            }
        }
    }

    /// Does what is asked, or a check if there is no such verb.
    fn ask(&mut self, key: usize, now: u64, ask: Ask) -> Told {
        let may_be_new = self.key(key).may_be_new;
        let (reply, ask) = self.ask_limiter(key as u64, now, ask, may_be_new);
        self.held.hold(key, reply.reservation);
        if reply.told == Told::NoSlot {
            assert!(may_be_new && ask.inserts(self.rule.limit()), "{ask:?} at {now}: the key has a slot");
        } else {
            // What was recycled for the key itself is none of its own.
            if may_be_new && ask.inserts(self.rule.limit()) {
                self.keys[key].recycling = None;
            }
            let outcomes = self.outcomes(key, now, ask);
            self.was_told(key, &reply.told, outcomes, (ask, now));
        }
        reply.told
    }

    /// Cancels or keeps the reservation that the verb is about, if there is one.
    fn end(&mut self, verb: Verb, now: u64) -> bool {
        let Some(ended) = self.held.end(verb, now) else { return false };
        let name = ended.name;
        if let Some(given) = ended.given {
            let cancelled = |mut state: Reference| (state.cancel(now, name), Some(state));
            let Key { states, may_be_new, .. } = self.key(ended.key);
            let new = may_be_new.then_some((0, None));
            let outcomes = states.iter().cloned().map(cancelled).chain(new).collect();
            self.was_told(ended.key, &given, outcomes, (verb, now));
        } else {
            self.keys[ended.key].states.iter_mut().for_each(|state| state.keep(name));
        }
        true
    }

    /// One step; when it is over, and a wait that the next may take.
    fn step(&mut self, key: usize, now: u64, ask: Ask, verb: Verb) -> (u64, Option<u64>) {
        if self.end(verb, now) {
            return (now, None);
        }
        match (self.ask(key, now, ask), ask) {
            (Told::Due(due), _) => (now, Some(due.saturating_sub(now))),
            (Told::Refused { wait: Some(wait), .. }, Ask::Reserve { permits, max_wait, .. }) => {
                // The same alone, after the wait, and 1 ns before.
                let at = now.checked_add(wait).expect("a wait until a reading that there is");
                let again = |name| Ask::Reserve { name, permits, max_wait };
                let early = self.ask(key, at - 1, again(self.held.name));
                assert!(matches!(early, Told::Refused { .. }), "{ask:?} at {now}, 1 ns before {wait}");
                let late = self.ask(key, at, again(self.held.name));
                assert!(matches!(late, Told::Due(_)), "{ask:?} at {now}, after {wait}");
                self.end(Verb::Cancel(0), at);
                (at, None)
            }
            _ => (now, None),
        }
    }
}

#[derive(Clone, Copy)]
struct Follows<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit<ManualClock> for Follows<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(self, _: Limiter<A, ManualClock>, keyed: Keyed<A, u64, ManualClock>) {
        let is_in_order = !self.steps.iter().any(Step::may_go_back);
        let mut walk = Walk::new(self.rule, keyed.horizon().as_nanos());
        let mut table = Table::new(self.rule, &keyed);
        for step in self.steps {
            let (now, cost) = walk.next(step);
            table.pass_by(step.passers_by, now);
            let Answer { retry, .. } = table.peek(step.key, now, cost);
            let overflows = table.overflows;
            let ask = walk.ask(step.verb, cost, table.held.name, retry);
            let (now, wait) = table.step(step.key, now, ask, step.verb);
            walk.went_on(now);
            if table.overflows > overflows {
                assert!(!is_in_order, "no slot at {now}");
                continue;
            }
            let peek_at = |at| keyed.peek_at(&(step.key as u64), Instant::from_nanos(at), cost);
            is_honest(peek_at(now), now, peek_at);
            let answer = Answer::from(peek_at(now));
            walk.answered(Answer { retry: wait.or(answer.retry), ..answer });
        }
    }
}

/// Asserts that each answer of a keyed limiter of a rule it is exact for follows from what its key was charged.
pub fn keyed(rule: Rule, steps: &[Step], hasher: [u64; 2]) -> Result<(), BuildError> {
    visit_both(rule, CAPACITY, hasher, Follows { rule, steps })
}
