//! The guard of a group of keys: what makes an insertion happen once.
//!
//! ```text
//!   63                         s+1   s    s-1                  0
//!  +------------------------------+-----+----------------------+
//!  |           sequence           |  o  |  slot in progress    |
//!  +------------------------------+-----+----------------------+
//! ```
//!
//! Slots are numbered from 1; 0 is none. `o` tells that a key of this guard has ever spilled over into its window of
//! further lines. The sequence grows with each insertion, so that whoever scanned under a guard's word and commits by
//! exchanging exactly that word knows that no key of the guard was inserted in between. The width of a slot's number
//! is what the table needs; for a million keys the sequence has 42 bits.
//!
//! A second word, `newest`, is the newest time at which a slot of one of the guard's keys was recycled.

use crate::sync::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy)]
pub(super) struct Guard<'t> {
    word: &'t AtomicU64,
    newest: &'t AtomicU64,
    slot_bits: u32,
}

/// A guard's word, unpacked on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuardWord {
    raw: u64,
    slot_bits: u32,
}

impl GuardWord {
    /// The number of the slot whose insertion is committed but not finished.
    #[expect(clippy::cast_possible_truncation, reason = "the number of a slot, plus 1")]
    pub(super) fn in_progress(self) -> Option<usize> {
        ((self.raw & ((1 << self.slot_bits) - 1)) as usize).checked_sub(1)
    }

    pub(super) fn has_spilled(self) -> bool {
        self.raw >> self.slot_bits & 1 == 1
    }

    /// No slot is in progress: this word with `slot`.
    fn committed(self, slot: usize, spilled: bool) -> u64 {
        self.raw | (slot as u64 + 1) | u64::from(spilled) << self.slot_bits
    }

    /// The next in sequence, with no slot in progress.
    fn finished(self) -> u64 {
        let slot = self.raw & ((1 << self.slot_bits) - 1);
        (self.raw - slot).wrapping_add(1 << (self.slot_bits + 1))
    }
}

/// Another thread changed the guard first.
#[derive(Debug)]
pub(super) struct Overtaken;

impl<'t> Guard<'t> {
    pub(super) const WORDS: usize = 2;

    pub(super) fn new(words: &'t [AtomicU64], slot_bits: u32) -> Self {
        Self { word: &words[0], newest: &words[1], slot_bits }
    }

    pub(super) fn load(&self) -> GuardWord {
        // ORDERING: Acquire pairs with the Release of `commit` and `finish`: a scan under this word sees every slot
        // whose insertion it counts.
        GuardWord { raw: self.word.load(Ordering::Acquire), slot_bits: self.slot_bits }
    }

    /// Commits the insertion into `slot` if nothing was inserted since `seen` was loaded.
    pub(super) fn commit(&self, seen: GuardWord, slot: usize, spilled: bool) -> Result<GuardWord, Overtaken> {
        let raw = seen.committed(slot, spilled);
        // ORDERING: Release publishes the slot, HELD and inscribed, to whoever loads the guard; Acquire for the chain
        // of insertions before. On failure the guard is loaded again.
        match self.word.compare_exchange(seen.raw, raw, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(GuardWord { raw, slot_bits: self.slot_bits }),
            Err(_) => Err(Overtaken),
        }
    }

    /// Moves the sequence on from `seen`. Losing means that another thread has.
    pub(super) fn finish(&self, seen: GuardWord) {
        // ORDERING: Release publishes the slot as NEWBORN; see `load`. Failure uses nothing that was read.
        let _ = self.word.compare_exchange(seen.raw, seen.finished(), Ordering::AcqRel, Ordering::Relaxed);
    }

    pub(super) fn newest(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release of `raise_newest`.
        self.newest.load(Ordering::Acquire)
    }

    /// Records that a key of this guard is recycled as of `now`.
    pub(super) fn raise_newest(&self, now: u64) {
        // ORDERING: Release pairs with the Acquire of `newest`. The slot is freed by a Release exchange after this,
        // so whoever finds the key gone reads at least `now`.
        self.newest.fetch_max(now, Ordering::AcqRel);
    }

    /// Takes a `newest` of a clock that erred down to `edge`. Losing means that another thread changed it.
    pub(super) fn lower_newest(&self, from: u64, edge: u64) {
        // ORDERING: AcqRel keeps the word's history in one chain; the value read is not used on failure.
        let _ = self.newest.compare_exchange(from, edge, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_counts_insertions_and_remembers_that_a_key_spilled() {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        let guard = Guard::new(&words, 5);
        for (round, spilled) in [false, true, false].into_iter().enumerate() {
            let seen = guard.load();
            assert_eq!(seen.in_progress(), None);
            let committed = guard.commit(seen, 30, spilled).expect("nobody else commits");
            assert_eq!(guard.load(), committed);
            assert_eq!(committed.in_progress(), Some(30));
            assert_eq!(committed.has_spilled(), round > 0);
            assert!(guard.commit(seen, 30, spilled).is_err());
            guard.finish(committed);
            assert_ne!(guard.load(), seen);
            assert_eq!(guard.load().has_spilled(), round > 0);
        }
    }

    #[test]
    fn the_sequence_wraps_into_itself() {
        let last = GuardWord { raw: u64::MAX << 6, slot_bits: 5 };
        assert_eq!(last.finished(), 0);
    }
}
