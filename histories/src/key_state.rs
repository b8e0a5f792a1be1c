//! What one key may be in, and what a call may make of it.
//!
//! That is what the sequential reference makes of it, with the readings that calls took as its times; except that
//! readings which are older than somebody else's may be dealt with as if they were that one:
//!
//! - Who moves a sliding counter on to the next window closes the last one first. A call that comes in between, with
//!   a reading of the closed window, counts as one at the start of the next. And permits that are given back in between
//!   may weigh there all the same.
//! - A key whose state is as good as new may lose its slot to another. If it comes back, its state is fresh *as of the
//!   newest recycling* its guard knows of; for readings that are not older than this it makes no difference. It can be
//!   seen before it is charged.
//! - A log that was about to be recycled, and was charged instead, has recorded the time all the same.
//!
//! All these times are readings of some call that charges, and began before this one ended: see [`Others`].

use oracle::reference::Reference;
use oracle::vectors::Rule;
use oracle::verbs::{Ask, Told};

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
        call.request.ask().is_some_and(|ask| ask.inserts(self.rule.limit()))
    }

    /// The states that the key may be in after a call that was told what is recorded; none if that cannot be explained.
    pub fn after(&self, state: &KeyState, call: &Call, others: &Others) -> Vec<KeyState> {
        let mut after = Vec::new();
        let charges = self.charges(call);
        if self.is_keyed && charges && others.are_crowded && may_have_no_slot(call) {
            after.extend(Self::new_since(state, others).map(|since| KeyState::New { since }));
        }
        match (call.request.ask(), call.request.verb) {
            (Some(ask @ (Ask::Refund(_) | Ask::Reset)), _) => {
                let taken_back = |state: &mut Reference, now| state.ask(now, ask);
                // None before the newest recycling that it may know of.
                after.extend(Self::lessened(state, call, others, &others.recyclings, taken_back));
                after.extend(Self::without_state(state, call, others));
            }
            (Some(ask), _) => {
                after.extend(self.asked(state, call, ask, others));
                after.extend(Self::refused_before(state, call, ask));
            }
            (None, Verb::Cancel { name }) => {
                let cancelled = |state: &mut Reference, now| Told::Moved(state.cancel(now, name));
                // Not without the reservation's own word, whenever that was: the newest recycling is no concern of it.
                after.extend(Self::lessened(state, call, others, &[], cancelled));
                after.extend(Self::without_state(state, call, others));
            }
            (None, _) => {}
        }
        after
    }

    /// After a call that decides.
    fn asked(&self, state: &KeyState, call: &Call, ask: Ask, others: &Others) -> Vec<KeyState> {
        let mut after = Vec::new();
        let charges = self.charges(call);
        for &reading in &call.readings {
            for mut before in self.before(state, reading, others, charges) {
                let is_told = match (before.ask(reading, ask), call.told) {
                    // At once: since the first reading, or since the permits have been there.
                    (Told::Due(due), Told::Due(told)) if due <= reading => {
                        call.readings[0] <= told && told <= reading
                    }
                    (expected, told) => expected == told,
                };
                if !is_told {
                    continue;
                }
                if !charges || call.granted() == 0 && matches!(state, KeyState::Charged(_)) {
                    // A time that it may have found recorded need not stay so.
                    after.push(state.clone());
                }
                if charges {
                    after.push(KeyState::Charged(before));
                }
            }
        }
        after
    }

    /// After a call that was granted nothing, by a counter's state of before another thread recorded what it takes over:
    /// see [`Reference::closing`].
    fn refused_before(state: &KeyState, call: &Call, ask: Ask) -> Option<KeyState> {
        let KeyState::Charged(charged) = state else { return None };
        let earlier = charged.not_yet_closing().filter(|_| call.granted() == 0)?;
        let is_told = |reading: &u64| earlier.clone().ask(*reading, ask) == call.told;
        call.readings.iter().any(is_told).then(|| state.clone())
    }

    /// After a call that takes charges back from a key's state, as of its reading or of a later one of `recyclings`.
    fn lessened(
        state: &KeyState,
        call: &Call,
        others: &Others,
        recyclings: &[u64],
        take_back: impl Fn(&mut Reference, u64) -> Told,
    ) -> Vec<KeyState> {
        let mut after = Vec::new();
        let KeyState::Charged(charged) = state else { return after };
        // Of nothing that was reserved nothing comes back, whenever that is.
        let readings = if call.readings.is_empty() { &[0][..] } else { &call.readings };
        for &reading in readings {
            let later = recyclings.iter().filter(|at| **at > reading);
            for now in later.chain([&reading]) {
                let mut less = charged.clone();
                if take_back(&mut less, *now) == call.told {
                    let mut closing = others.recorded.iter().map(|at| less.closing(charged, *at));
                    let closing = closing.find(|states| !states.is_empty());
                    after.extend(closing.into_iter().flatten().map(KeyState::Charged));
                    after.push(KeyState::Charged(less));
                }
            }
        }
        if call.told == Told::Forgot(true) && charged.is_unused() {
            after.push(state.clone());
        }
        after
    }

    /// After a call that finds nothing to take back, for the key has no state; or has one that was never charged.
    fn without_state(state: &KeyState, call: &Call, others: &Others) -> Option<KeyState> {
        let is_possible = matches!(call.told, Told::Moved(0) | Told::Forgot(_));
        Self::new_since(state, others).filter(|_| is_possible).map(|since| KeyState::New { since })
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

/// Whether the call may have been told this because its key found no slot.
fn may_have_no_slot(call: &Call) -> bool {
    match (call.request.verb, call.told) {
        (_, Told::NoSlot) | (Verb::Penalize, Told::Moved(0)) => true,
        (Verb::Reserve { .. }, Told::Refused { is_too_large, .. }) => !is_too_large,
        _ => false,
    }
}
