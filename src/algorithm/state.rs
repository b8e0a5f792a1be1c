//! The words of one state, and the only things done to its main word.

use core::fmt::Debug;

use crate::algorithm::word::{Parameters, Word};
use crate::sync::{AtomicU64, Ordering};

/// The words of one state, wherever they lie: the main word, which every decision is linearized on, and whatever
/// else the algorithm keeps. A policy sees the main word through the lens.
#[derive(Debug, Clone, Copy)]
pub struct State<'a, L = Plain> {
    word: &'a AtomicU64,
    pub(crate) extra: &'a [AtomicU64],
    lens: L,
}

/// Why an attempt decided nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Another thread changed the state first.
    Lost,
    /// The state lies in the future of the reading, by more than any honest clock explains.
    Ahead,
}

/// How the words that a policy sees are stored.
pub trait Lens: Copy + Debug {
    /// The word that is there when the policy sees this one.
    fn stored(self, shown: Word) -> Word;

    /// The word to write where the policy writes this one.
    fn written(self, word: Word) -> Word;
}

/// As they are.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Lens for Plain {
    #[inline]
    fn stored(self, shown: Word) -> Word {
        shown
    }

    #[inline]
    fn written(self, word: Word) -> Word {
        word
    }
}

/// Under parameters that the policy knows nothing of; and one word, which may be under others, as another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tagged {
    pub(crate) stored: Word,
    pub(crate) shown: Word,
    pub(crate) parameters: Parameters,
}

impl Lens for Tagged {
    #[inline]
    fn stored(self, shown: Word) -> Word {
        if shown == self.shown { self.stored } else { self.written(shown) }
    }

    #[inline]
    fn written(self, word: Word) -> Word {
        word.under(self.parameters)
    }
}

impl<'a> State<'a> {
    #[inline]
    pub(crate) fn new(word: &'a AtomicU64, extra: &'a [AtomicU64]) -> Self {
        Self { word, extra, lens: Plain }
    }

    /// Loads the word by writing it: whoever exchanges or loads it from here on sees what this thread has seen.
    pub(crate) fn touch(&self) -> Word {
        // ORDERING: AcqRel: Release publishes the parameters this thread knows of to the Acquire of `load` and
        // `exchange`, also of a thread that exchanges the very word which was here before; Acquire as in `load`.
        Word::from_raw(self.word.fetch_add(0, Ordering::AcqRel))
    }
}

impl<'a, L: Lens> State<'a, L> {
    /// The same state through another lens.
    #[inline]
    pub(crate) fn through<M: Lens>(self, lens: M) -> State<'a, M> {
        State { word: self.word, extra: self.extra, lens }
    }

    /// The word as it is stored.
    #[inline]
    pub(crate) fn load(&self) -> Word {
        // ORDERING: Acquire pairs with the Release of `exchange`: whoever sees a word sees what its writer stored in
        // the state's other words and in the slot's fingerprint before. (A direct one-word state needs none of it.)
        Word::from_raw(self.word.load(Ordering::Acquire))
    }

    /// Replaces exactly `from`.
    #[inline]
    pub(crate) fn exchange(&self, from: Word, to: Word) -> Result<(), Retry> {
        let (from, to) = (self.lens.stored(from), self.lens.written(to));
        // ORDERING: Release publishes the other words written before (the counter's previous window, a slot's
        // fingerprint) to the Acquire of `load`; Acquire keeps what follows (the log's filling) behind the claim.
        // On failure nothing read is used, so Relaxed is enough.
        match self.word.compare_exchange(from.raw(), to.raw(), Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(Retry::Lost),
        }
    }

    /// Confirms that what was read beside the word since it was loaded belongs to it.
    ///
    /// Every value read in between was loaded with Acquire; a word that is still the same was not replaced before.
    #[inline]
    pub(crate) fn confirm(&self, word: Word) -> Result<(), Retry> {
        if self.load() == self.lens.stored(word) { Ok(()) } else { Err(Retry::Lost) }
    }
}
