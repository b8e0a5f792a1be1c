//! What the limiters and the table ask of an algorithm.

use core::fmt::Debug;

use crate::algorithm::state::{Retry, State};
use crate::algorithm::word::Word;
use crate::decision::{Decision, Outcome};
use crate::error::BuildError;
use crate::sync::AtomicU64;

/// What a call wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Charge on the limiter's own clock: a state ahead of the reading is reported, to be healed.
    Charge,
    /// Charge at a time the caller gave: the caller's time is the caller's word, and nothing is healed.
    ChargeAt,
    /// Charge nothing, at a time that may be of any age.
    Peek,
}

impl Intent {
    #[inline]
    pub(crate) fn heals(self) -> bool {
        self == Self::Charge
    }

    #[inline]
    pub(crate) fn provenance(self) -> Provenance {
        if self.heals() { Provenance::InHand } else { Provenance::Given }
    }

    #[inline]
    pub(crate) fn charges(self) -> bool {
        self != Self::Peek
    }
}

/// Where the reading that a state is seen at comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// From the limiter's own clock, after the word was loaded.
    Fresh,
    /// From the limiter's own clock, but the thread may have slept since.
    InHand,
    /// From the caller.
    Given,
}

/// What an attempt decides: the outcome, and what the details of a [`Decision`] are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Answer<V> {
    pub(crate) outcome: Outcome,
    pub(crate) view: V,
}

impl<V> Answer<V> {
    #[inline]
    pub(crate) fn is_allowed(&self) -> bool {
        self.outcome == Outcome::Allowed
    }
}

/// The checked numbers of an algorithm and its step.
///
/// Times are ns since the clock's origin, at most [`TIME_MAX`](crate::algorithm::TIME_MAX). A word handed in is LIVE
/// or NEWBORN and was just loaded from the state.
pub trait Policy: Copy + Debug + Send + Sync + 'static {
    /// The words that decided, and the constants their details need.
    type View: Copy + Debug;

    /// The other words of a direct limiter's state.
    type Extra: AsRef<[AtomicU64]> + Debug + Send + Sync;

    /// The most permits one call can be granted.
    fn limit(&self) -> u64;

    /// The last time this policy's words can tell; time stands still there.
    fn horizon(&self) -> u64;

    /// How many words a state has beside its main word.
    fn extra_words(&self) -> usize;

    /// The other words of a direct limiter's state, fresh.
    fn extra(&self) -> Result<Self::Extra, BuildError>;

    /// The value of the main word of a state that is fresh as of `stamp`.
    fn fresh(&self, stamp: u64) -> u64;

    /// The value of the main word of a new direct limiter.
    fn initial(&self, _now: u64) -> u64 {
        self.fresh(0)
    }

    /// The decision on a state that nobody has charged yet.
    fn unknown(&self, now: u64, cost: u64) -> Answer<Self::View>;

    /// The answer as the user gets it.
    fn decision(answer: Answer<Self::View>) -> Decision;

    /// One attempt: decides on `word` and charges by one exchange, or tells why not.
    ///
    /// A refusal is a decision on the words read, confirmed to belong together. What is read is `word` alone for the
    /// one-word algorithms, so that a keyed caller still has to confirm that the word was its key's.
    fn attempt(
        &self,
        state: State<'_>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<Self::View>, Retry>;

    /// Whether the state lies in the future of the reading `now` by more than the slack explains. On a reading that is
    /// not [`Provenance::Fresh`] a yes may be a maybe.
    fn is_ahead(&self, state: State<'_>, word: Word, now: u64, provenance: Provenance) -> bool;

    /// Takes a state that is ahead of the fresh reading `now` back to the edge of being ahead: spent as of the slack
    /// from now. An exchange that is lost leaves the state to whoever won.
    fn heal(&self, state: State<'_>, word: Word, now: u64);

    /// If the state equals a fresh one strictly before `now`: the value of its word when FREE as of `now`.
    fn stale(&self, state: State<'_>, word: Word, now: u64) -> Option<u64>;

    /// The first time at which the state, left alone, is stale; `None` if never.
    fn stale_at(&self, state: State<'_>, word: Word) -> Option<u64>;

    /// The value of a word that is nobody's, raised to be fresh as of `newest`; with whatever else the state needs
    /// before it may become a key's that was last recycled at `newest`.
    fn prepare(&self, state: State<'_>, value: u64, newest: u64) -> u64;

    /// Records, before a stale state is freed as of `now`, what its word cannot.
    #[inline]
    fn seal(&self, _state: State<'_>, _now: u64) {}
}
