//! What one key may be in, and what a call may make of it.
//!
//! That is what the sequential reference makes of it, with the readings that calls took as its times; except that
//! readings which are older than somebody else's may be dealt with as if they were that one:
//!
//! - Who moves a sliding counter on to the next window closes the last one first. A call that comes in between, with
//!   a reading of the closed window, counts as one at the start of the next.
//! - A key whose state is as good as new may lose its slot to another. If it comes back, its state is fresh *as of the
//!   newest recycling* its guard knows of; for readings that are not older than this it makes no difference. It can be
//!   seen before it is charged.
//! - A log that was about to be recycled, and was charged instead, has recorded the time all the same.
//!
//! All these times are readings of some call that charges, and began before this one ended: see [`Others`].

use oracle::reference::Reference;
use oracle::vectors::Rule;

use crate::plan::Verb;
use crate::record::Call;

/// The state of one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyState {
    /// It has no slot, and is as good as new since then.
    New {
        since: u64,
    },
    Charged(Reference),
}

/// What other calls may have done by the end of one.
#[derive(Debug, Clone, Default)]
pub struct Others {
    /// Whether there are so many keys that slots may have been wanting.
    pub are_crowded: bool,
    /// As of when they may have recycled slots, if they are so many.
    pub recyclings: Vec<u64>,
    /// What this key's state may have recorded of them without a charge: the time of a counter that was moved on, or of
    /// a log that was about to be recycled.
    pub recorded: Vec<u64>,
}

/// What is the same for all calls.
#[derive(Debug, Clone, Copy)]
pub struct Semantics {
    pub rule: Rule,
    pub horizon: u64,
    pub is_keyed: bool,
}

impl Semantics {
    /// The state of a key before the first call.
    pub fn initial(&self) -> KeyState {
        if self.is_keyed {
            KeyState::New { since: 0 }
        } else {
            KeyState::Charged(Reference::new(self.rule, self.horizon))
        }
    }

    /// Whether the call charges if it can; what does not, finds no slot for a key that has none.
    pub fn charges(&self, call: &Call) -> bool {
        let cost = call.request.cost;
        call.request.verb != Verb::Peek && 0 < cost && cost <= self.rule.limit()
    }

    /// The states that the key may be in after a call which was answered as recorded; none if the answer cannot be
    /// explained.
    pub fn after(&self, state: &KeyState, call: &Call, others: &Others) -> Vec<KeyState> {
        let (cost, charges) = (call.request.cost, self.charges(call));
        let Some(answer) = call.answer else {
            let is_possible = self.is_keyed && charges && others.are_crowded;
            return Self::new_since(state, others)
                .filter(|_| is_possible)
                .map(|since| KeyState::New { since })
                .into_iter()
                .collect();
        };
        let mut after = Vec::new();
        for &reading in &call.readings {
            for mut before in self.before(state, reading, others, charges) {
                if !charges {
                    if before.peek(reading, cost) == answer {
                        after.push(state.clone());
                    }
                    continue;
                }
                if before.call(reading, cost) == answer {
                    after.push(KeyState::Charged(before));
                }
            }
        }
        after
    }

    /// The states that a call at this reading may find.
    fn before(&self, state: &KeyState, reading: u64, others: &Others, charges: bool) -> Vec<Reference> {
        let mut before = Vec::new();
        if let KeyState::Charged(state) = state {
            before.push(state.clone());
        }
        if let Some(since) = Self::new_since(state, others) {
            let fresh = |since| Reference::fresh(self.rule, self.horizon, since);
            // What charges nothing finds no slot, and tells what a new key would be told at any time.
            before.push(fresh(if charges { since } else { 0 }));
            let later = others.recyclings.iter().filter(|at| **at > reading && **at > since);
            before.extend(later.map(|at| fresh(*at)));
        }
        let later = others.recorded.iter().filter(|at| **at > reading);
        let recorded = later.flat_map(|at| before.iter().filter_map(|state| state.recorded(*at)));
        let recorded: Vec<_> = recorded.collect();
        before.extend(recorded);
        before
    }

    /// Since when a key is as good as new and may be without a slot.
    fn new_since(state: &KeyState, others: &Others) -> Option<u64> {
        match state {
            KeyState::New { since } => Some(*since),
            KeyState::Charged(state) => others.recyclings.iter().copied().find(|at| state.is_stale(*at)),
        }
    }
}
