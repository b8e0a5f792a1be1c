//! A line of slots, and one slot in it.

use crate::algorithm::{State, Word};
use crate::sync::{AtomicU64, Ordering};
use crate::table::shape::{Fingerprint, WAYS};

/// `fingerprint[WAYS], word[WAYS]`: one cache line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    fingerprints: &'t [AtomicU64],
    words: &'t [AtomicU64],
}

impl<'t> Line<'t> {
    pub(super) const WORDS: usize = 2 * WAYS;

    #[inline]
    pub(super) fn new(words: &'t [AtomicU64]) -> Self {
        let (fingerprints, words) = words.split_at(WAYS);
        Self { fingerprints, words }
    }

    /// The ways whose fingerprint is this one, as a mask. All are compared: an early exit mispredicts once a call.
    #[inline]
    pub(super) fn matches(&self, fingerprint: Fingerprint) -> u32 {
        let mut mask = 0;
        for (way, stored) in self.fingerprints[..WAYS].iter().enumerate() {
            // ORDERING: Acquire pairs with the Release of `inscribe`: whoever finds another key where this one was sees
            // what its recycling recorded in the guard. (A match is only a hint, checked again after the word.)
            mask |= u32::from(stored.load(Ordering::Acquire) == fingerprint.get()) << way;
        }
        mask
    }

    /// Reads anything of the line.
    #[inline]
    pub(super) fn touch(&self) -> u64 {
        // ORDERING: Relaxed: the value means nothing.
        self.fingerprints[0].load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn slot(&self, way: usize, number: usize, extra: &'t [AtomicU64]) -> Slot<'t> {
        let state = State::new(&self.words[way], extra);
        Slot { number, fingerprint: &self.fingerprints[way], state }
    }
}

/// One slot of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot<'t> {
    /// Its place in the table.
    pub(super) number: usize,
    fingerprint: &'t AtomicU64,
    pub(crate) state: State<'t>,
}

/// The slot that is a key's, and the word that said so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Located<'t> {
    pub(super) slot: Slot<'t>,
    pub(super) word: Word,
}

impl Slot<'_> {
    /// The fingerprint, read after the word: that of the word's owner if the word is still the same later.
    #[inline]
    pub(super) fn fingerprint(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release of `inscribe`, and keeps a confirming load of the word behind it.
        self.fingerprint.load(Ordering::Acquire)
    }

    /// The key that the slot is or was last for.
    pub(super) fn last_fingerprint(&self) -> Option<Fingerprint> {
        let stored = self.fingerprint();
        (stored != 0).then(|| Fingerprint::new(stored))
    }

    /// Stores the fingerprint of the key that a HELD slot is for.
    pub(super) fn inscribe(&self, fingerprint: Fingerprint) {
        // ORDERING: Release pairs with the Acquire of `fingerprint`: who reads it sees the slot HELD, or later.
        self.fingerprint.store(fingerprint.get(), Ordering::Release);
    }
}
