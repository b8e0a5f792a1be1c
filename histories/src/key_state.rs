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
//! All these times are readings of some call that began before this one ended, and later than this one's own.

use oracle::reference::Reference;
use oracle::vectors::Rule;
use tollgate::Outcome;

use crate::plan::Verb;
use crate::record::Call;

/// Slots that were never charged are recycled as of this much before the reading; in ns.
const SLACK: u64 = 5_000_000_000;

/// `None`: the key has no slot, and is as good as new.
pub type KeyState = Option<Reference>;

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
        (!self.is_keyed).then(|| Reference::new(self.rule, self.horizon))
    }

    /// The states that the key may be in after a call which was answered as recorded; none if the answer cannot be
    /// explained. `readings` are those of all calls that began before this one ended.
    pub fn after(&self, state: &KeyState, call: &Call, readings: &[u64]) -> Vec<KeyState> {
        let mut after = Vec::new();
        let mut add = |state: KeyState| {
            if !after.contains(&state) {
                after.push(state);
            }
        };
        let Some(answer) = call.answer else {
            let may_be_new =
                state.as_ref().is_none_or(|state| recyclings(readings).any(|at| state.is_stale(at)));
            if may_be_new {
                add(None);
            }
            return after;
        };
        let cost = call.request.cost;
        let charges = call.request.verb != Verb::Peek && cost > 0 && answer.outcome != Outcome::TooLarge;
        for &reading in &call.readings {
            for before in self.before(state, reading, readings, charges) {
                if charges {
                    let mut next = before;
                    if next.call(reading, cost) == answer {
                        add(Some(next));
                    }
                } else if before.peek(reading, cost) == answer {
                    add(state.clone());
                }
            }
        }
        after
    }

    /// The states that a call at this reading may find.
    fn before(&self, state: &KeyState, reading: u64, readings: &[u64], charges: bool) -> Vec<Reference> {
        let later = || recyclings(readings).filter(|at| *at > reading);
        let mut before: Vec<_> = state.iter().cloned().collect();
        if self.is_keyed || matches!(self.rule, Rule::SlidingCounter { .. }) {
            before.extend(state.iter().flat_map(|state| later().filter_map(|at| state.recorded(at))));
        }
        if !self.is_keyed {
            return before;
        }
        let fresh = |since| Reference::fresh(self.rule, self.horizon, since);
        let may_be_new_at = |at| state.as_ref().is_none_or(|state| state.is_stale(at));
        if state.is_none() || !charges && recyclings(readings).any(may_be_new_at) {
            before.push(fresh(0));
        }
        before.extend(later().filter(|at| may_be_new_at(*at)).map(fresh));
        before
    }
}

/// The times as of which slots may have been recycled.
fn recyclings(readings: &[u64]) -> impl Iterator<Item = u64> {
    readings.iter().flat_map(|reading| [Some(*reading), reading.checked_sub(SLACK)]).flatten()
}
