//! The answer of several limits.

use core::time::Duration;

use crate::decision::{Decision, Denied, Outcome};

/// The answer to a request of several limits: see [`AllOf`](crate::AllOf).
///
/// Its details are those of the limit that matters most: of those that refused, the one with the longest wait; if all
/// allowed, the one that has the least left.
#[derive(Debug, Clone, Copy)]
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct CombinedDecision {
    limiting: usize,
    decision: Decision,
}

impl CombinedDecision {
    pub(super) fn of(limiting: usize, decision: Decision) -> Self {
        Self { limiting, decision }
    }

    /// No limit refuses.
    pub(super) fn unlimited() -> Self {
        Self::of(0, Decision::unlimited())
    }

    /// The one of two that matters more; the earlier if they matter the same.
    pub(super) fn stricter(self, later: Self) -> Self {
        let (first, second) = (self.decision, later.decision);
        let is_stricter = match (first.is_allowed(), second.is_allowed()) {
            (true, true) => least_left(second) < least_left(first),
            (true, false) => true,
            (false, true) => false,
            (false, false) => longest_wait(second) > longest_wait(first),
        };
        if is_stricter { later } else { self }
    }

    /// Whether the request may pass; only then anything was charged.
    pub fn outcome(&self) -> Outcome {
        self.decision.outcome()
    }

    /// Whether every limit allowed it.
    pub fn is_allowed(&self) -> bool {
        self.decision.is_allowed()
    }

    /// Which limit matters most, numbered from 0: the one that refused, or the one that has the least left.
    pub fn limiting(&self) -> usize {
        self.limiting
    }

    /// That limit's decision.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// How long to wait until no limit refuses, alone: the longest of the waits of those that did. `None` if allowed,
    /// and where no wait can help. Not of [a limit that is named twice](crate::AllOf#the-same-limit-twice).
    pub fn retry_after(&self) -> Option<Duration> {
        self.decision.retry_after()
    }

    /// The decision if the request may pass, the refusal as an error otherwise: for `?`.
    ///
    /// # Errors
    ///
    /// [`Denied`] unless every limit allowed it.
    pub fn into_result(self) -> Result<Self, Denied> {
        self.decision.into_result().map(|_| self)
    }
}

/// A limit that does not tell has the most.
fn least_left(decision: Decision) -> u64 {
    decision.remaining().unwrap_or(u64::MAX)
}

/// Where no wait can help the wait is the longest.
fn longest_wait(decision: Decision) -> u64 {
    decision.retry_after_nanos().unwrap_or(u64::MAX)
}
