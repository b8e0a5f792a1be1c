//! What calls ask of a state, as one attempt each: the loops around them are those of the limiters.

use crate::algorithm::policy::{Answer, Intent, Owe, Policy};
use crate::algorithm::state::{Retry, State};
use crate::algorithm::word::Word;

/// One attempt at what a call asks for, on a `word` that was just loaded from the state.
pub(crate) trait Ask<P: Policy>: Copy {
    fn attempt(
        self,
        policy: &P,
        state: State<'_>,
        word: Word,
        now: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry>;

    /// How many ns before they are due the permits may be granted.
    fn max_wait(self, _policy: &P) -> u64 {
        0
    }
}

/// So many permits, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct All(pub(crate) u64);

impl<P: Policy> Ask<P> for All {
    #[inline]
    fn attempt(
        self,
        policy: &P,
        state: State<'_>,
        word: Word,
        now: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        policy.attempt(state, word, now, self.0, intent)
    }
}

/// As many permits as there are, up to so many. Refused as one permit is if there are none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpTo(pub(crate) u64);

impl<P: Policy> Ask<P> for UpTo {
    fn attempt(
        self,
        policy: &P,
        state: State<'_>,
        word: Word,
        now: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        policy.attempt_up_to(state, word, now, self.0, intent)
    }
}

/// So many permits, now or, where a reservation can be made, once they have come back, if that takes no longer than so
/// many ns.
#[derive(Debug, Clone, Copy)]
pub struct Reserve {
    pub(crate) permits: u64,
    pub(crate) max_wait: u64,
}

impl<P: Policy> Ask<P> for Reserve {
    fn attempt(
        self,
        policy: &P,
        state: State<'_>,
        word: Word,
        now: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        policy.reserve(state, word, now, self, intent)
    }

    fn max_wait(self, policy: &P) -> u64 {
        self.max_wait.min(policy.max_wait())
    }
}

/// So many permits taken away, whether they are there or not, or as many as the debt may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Penalty(pub(crate) u64);

impl<P: Owe> Ask<P> for Penalty {
    fn attempt(
        self,
        policy: &P,
        state: State<'_>,
        word: Word,
        now: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        policy.penalize(state, word, now, self.0, intent)
    }
}
