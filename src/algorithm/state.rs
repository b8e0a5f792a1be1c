//! The words of one state, and the only two things done to its main word.

use crate::algorithm::word::Word;
use crate::sync::{AtomicU64, Ordering};

/// The words of one state, wherever they lie: the main word, which every decision is linearized on, and whatever
/// else the algorithm keeps.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    word: &'a AtomicU64,
    pub(crate) extra: &'a [AtomicU64],
}

/// Why an attempt decided nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Another thread changed the state first.
    Lost,
    /// The state lies in the future of the reading, by more than any honest clock explains.
    Ahead,
}

impl<'a> State<'a> {
    #[inline]
    pub(crate) fn new(word: &'a AtomicU64, extra: &'a [AtomicU64]) -> Self {
        Self { word, extra }
    }

    #[inline]
    pub(crate) fn load(&self) -> Word {
        // ORDERING: Acquire pairs with the Release of `exchange`: whoever sees a word sees what its writer stored in
        // the state's other words and in the slot's fingerprint before. (A direct one-word state needs none of it.)
        Word::from_raw(self.word.load(Ordering::Acquire))
    }

    /// Replaces exactly `from`.
    #[inline]
    pub(crate) fn exchange(&self, from: Word, to: Word) -> Result<(), Retry> {
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
        if self.load() == word { Ok(()) } else { Err(Retry::Lost) }
    }
}
