//! Whether some order of the calls explains what all of them were told.
//!
//! The search is the one of Wing and Gong (*Testing and verifying concurrent objects*, 1993) with the memory of Lowe
//! (*Testing for linearizability*, 2017): calls are taken one by one, each only when no call that is left had ended
//! before it began, and what is left over in one state is looked at once. A history is linearizable if that of each
//! key is (Herlihy and Wing, 1990), so keys are searched one by one.

use std::collections::HashSet;
use std::fmt;

use oracle::SLACK;
use oracle::grants::{self, Grant, assert_bounded};
use oracle::vectors::Rule;
use oracle::verbs::Told;

use crate::key_state::{KeyState, Others, Semantics};
use crate::plan::{Face, Plan, Verb};
use crate::record::Call;

/// The calls of one key that no order explains.
#[derive(Debug)]
pub struct Unexplained {
    plan: Plan,
    calls: Vec<Call>,
}

/// Finds an order of the calls, of all threads, that explains every answer.
pub fn explain(plan: &Plan, horizon: u64, calls: &[Call]) -> Result<(), Box<Unexplained>> {
    let is_keyed = plan.face != Face::Direct;
    let semantics = Semantics { rule: plan.rule, horizon, is_keyed };
    let mut keys: Vec<_> = calls.iter().map(|call| call.request.key).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let of_key: Vec<_> = calls.iter().filter(|call| call.request.key == key).collect();
        let search = Search::new(semantics, plan, &of_key, calls);
        if !search.run() {
            let mut calls: Vec<_> = of_key.into_iter().cloned().collect();
            calls.sort_by_key(|call| call.invoked);
            return Err(Box::new(Unexplained { plan: plan.clone(), calls }));
        }
    }
    Ok(())
}

/// Asserts that no window of the history, from whichever reading to whichever other, holds more grants than the bound;
/// for as often again as the key was reset, and with what was refunded. A reservation counts when it is due, and one that
/// was cancelled does not.
pub fn assert_windows(plan: &Plan, calls: &[Call]) {
    let mut keys: Vec<_> = calls.iter().map(|call| call.request.key).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let of_key = || calls.iter().filter(|call| call.request.key == key);
        let is_cancelled = |call: &Call| match call.request.verb {
            Verb::Reserve { name, .. } => of_key().any(|other| other.request.verb == Verb::Cancel { name }),
            _ => false,
        };
        let mut grants: Vec<_> = of_key()
            .filter(|call| call.granted() > 0 && !is_cancelled(call))
            .map(|call| grant(call, calls))
            .collect();
        let resets = of_key().filter(|call| call.told == Told::Forgot(true)).count() as u64;
        let refunded: u64 = of_key().map(|call| refunded(plan.rule, call)).sum();
        assert_bounded(&mut grants, |from, to| {
            let most = u64::try_from(grants::most(plan.rule, from, to)).unwrap_or(u64::MAX);
            most.saturating_mul(1 + resets).saturating_add(refunded)
        });
    }
}

/// When a call was granted its permits.
fn grant(call: &Call, calls: &[Call]) -> Grant {
    let permits = call.granted();
    let from = call.readings.iter().copied().min().unwrap_or(0);
    let to = known(call, calls.iter()).last().copied().unwrap_or(u64::MAX);
    match call.told {
        // Within the ns before.
        Told::Due(due) if due > from => Grant { from: due - 1, to: due, permits },
        _ => Grant { from, to, permits },
    }
}

/// How much more may be granted than the bound: of a bucket the part of a permit may have come back untold.
fn refunded(rule: Rule, call: &Call) -> u64 {
    match (call.request.verb, call.told) {
        (Verb::Refund, Told::Moved(permits)) => {
            permits + u64::from(matches!(rule, Rule::TokenBucket { .. }) && permits < call.request.cost)
        }
        _ => 0,
    }
}

/// While no more keys than this have slots, or threads hold them, there is room for all.
const LINE_SLOTS: u64 = 4;

/// The readings of calls that began before this one ended, in order.
fn known<'c>(call: &Call, calls: impl Iterator<Item = &'c Call>) -> Vec<u64> {
    let begun = calls.filter(|other| other.invoked <= call.returned);
    let mut readings: Vec<_> = begun.flat_map(|other| other.readings.iter().copied()).collect();
    readings.sort_unstable();
    readings.dedup();
    readings
}

struct Search<'h> {
    semantics: Semantics,
    calls: &'h [&'h Call],
    /// For each call what others may have done.
    others: Vec<Others>,
    /// For each call those that it comes after, as a mask.
    after: Vec<u32>,
    /// What was looked at: the calls taken, as a mask, and the state they left.
    seen: HashSet<(u32, KeyState)>,
}

impl<'h> Search<'h> {
    fn new(semantics: Semantics, plan: &Plan, calls: &'h [&'h Call], all: &[Call]) -> Self {
        let charging = || all.iter().filter(|call| semantics.charges(call));
        let are_crowded = match plan.face {
            Face::Direct => false,
            Face::Keyed { fillers, .. } => {
                let distinct = |of: fn(&Call) -> u64| charging().map(of).collect::<HashSet<_>>().len() as u64;
                fillers + distinct(|call| call.request.key) + distinct(|call| call.thread as u64) > LINE_SLOTS
            }
        };
        let others = |call: &&Call| {
            let recyclings = known(call, charging().filter(|_| are_crowded));
            let mut recyclings: Vec<_> = recyclings
                .iter()
                // The slack before if the slot was never charged.
                .flat_map(|reading| [Some(*reading), reading.checked_sub(SLACK)])
                .flatten()
                .collect();
            recyclings.sort_unstable();
            let recorded = match plan.rule {
                Rule::TokenBucket { .. } | Rule::FixedWindow { .. } => Vec::new(),
                // Only who asks for the key moves its counter on.
                Rule::SlidingCounter { .. } => {
                    known(call, charging().filter(|other| other.request.key == call.request.key))
                }
                // Who is about to recycle a log has found it empty: of all that was granted before it began.
                Rule::SlidingLog { period, .. } => {
                    let found_empty = |recycler: &&Call| {
                        let newest = recycler.readings.iter().max();
                        calls
                            .iter()
                            .filter(|grant| grant.returned < recycler.invoked && grant.granted() > 0)
                            .all(|grant| grant.readings.iter().min().map(|at| at + period) <= newest.copied())
                    };
                    known(call, charging().filter(|_| are_crowded).filter(found_empty))
                }
            };
            Others { are_crowded, recyclings, recorded }
        };
        let precedes = |(at, first): (usize, &&Call), (then, second): (usize, &&Call)| {
            // Calls of one thread are in order, whatever the witness's instants tell.
            first.returned < second.invoked || first.thread == second.thread && at < then
        };
        let mask = |second| {
            let first = calls.iter().enumerate();
            first.filter(|first| precedes(*first, second)).map(|(at, _)| 1 << at).sum()
        };
        let others = calls.iter().map(others).collect();
        let after = calls.iter().enumerate().map(mask).collect();
        Self { semantics, calls, others, after, seen: HashSet::new() }
    }

    fn run(mut self) -> bool {
        assert!(self.calls.len() < 32, "a mask has 32 bits");
        self.explains(0, &self.semantics.initial())
    }

    /// Whether the calls that are left can be explained after the ones that are taken.
    fn explains(&mut self, taken: u32, state: &KeyState) -> bool {
        if taken == (1 << self.calls.len()) - 1 {
            return true;
        }
        for at in 0..self.calls.len() {
            if taken & 1 << at != 0 || self.after[at] & !taken != 0 {
                continue;
            }
            for next in self.semantics.after(state, self.calls[at], &self.others[at]) {
                let taken = taken | 1 << at;
                if self.seen.insert((taken, next.clone())) && self.explains(taken, &next) {
                    return true;
                }
            }
        }
        false
    }
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no order explains the calls of this key of {:?}, {:?}", self.plan.rule, self.plan.face)?;
        self.calls.iter().try_for_each(|call| writeln!(f, "  {call}"))
    }
}

impl std::error::Error for Unexplained {}
