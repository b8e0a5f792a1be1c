//! Taking charges of a key back.

use crate::algorithm::{Charged, Policy, Refund, Reset, Tag, Word};
use crate::table::shape::Fingerprint;
use crate::table::slot::Slot;
use crate::table::{Located, Table};

impl<P: Policy> Table<P> {
    /// Undoes a charge, if nothing was charged to the key since: how many permits come back.
    pub(crate) fn undo(&self, fingerprint: Fingerprint, now: u64, charged: Charged) -> u64 {
        let found = self.find(&self.shape.probes(fingerprint), fingerprint);
        let Some(Located { slot, word }) = found.filter(|found| found.word == charged.word) else {
            return 0;
        };
        let (given, before) = self.policy.undone(charged, now);
        if slot.state.exchange(word, before).is_ok() { given } else { 0 }
    }

    /// Forgets what was charged to the key; whether it had a state.
    pub(crate) fn reset(&self, fingerprint: Fingerprint, now: u64) -> bool {
        let probes = self.shape.probes(fingerprint);
        loop {
            let Some(Located { slot, word }) = self.find(&probes, fingerprint) else { return false };
            if word.is_newborn() {
                return true;
            }
            let now = self.not_before_its_slot(fingerprint, now);
            let is_reset = match self.policy.reset(slot.state, word, now) {
                Ok(Reset::Done) => true,
                Ok(Reset::Hold) => self.free(slot, word, fingerprint, now),
                Err(_) => false,
            };
            if is_reset {
                return true;
            }
        }
    }

    /// Frees the key's slot as of `now`, though its state is not stale, and leaves nothing of that; whether nobody was
    /// faster. A thread that is stopped in here withholds the slot, as an inserter does.
    fn free(&self, slot: Slot<'_>, word: Word, owner: Fingerprint, now: u64) -> bool {
        let guard = self.guard(owner);
        let seen = guard.load();
        if seen.in_progress() == Some(slot.number) {
            // Or whoever finishes its insertion late would take this hold for the inserter's.
            if slot.state.confirm(word).is_err() {
                return false;
            }
            guard.finish(seen);
        }
        // Before the slot is free: see `recycle`.
        guard.raise_newest(now);
        let held = Word::new(Tag::Held, word.value());
        if slot.state.exchange(word, held).is_err() {
            return false;
        }
        let free = Word::new(Tag::Free, self.policy.wipe(slot.state, held, now));
        let freed = slot.state.exchange(held, free);
        debug_assert!(freed.is_ok(), "a held slot was changed by another thread");
        true
    }

    /// No state goes back to a time before its key was last recycled: a thread that slept with a reading as old as
    /// that would be granted what was granted before.
    fn not_before_its_slot(&self, fingerprint: Fingerprint, now: u64) -> u64 {
        now.max(self.guard(fingerprint).newest())
    }
}

impl<P: Refund> Table<P> {
    /// How many permits come back to the key.
    pub(crate) fn refund(&self, fingerprint: Fingerprint, now: u64, permits: u64) -> u64 {
        let probes = self.shape.probes(fingerprint);
        loop {
            let Some(Located { slot, word }) = self.find(&probes, fingerprint) else { return 0 };
            let now = self.not_before_its_slot(fingerprint, now);
            let Some((given, less)) = self.policy.refunded(word, now, permits) else { return 0 };
            if slot.state.exchange(word, less).is_ok() {
                return given;
            }
        }
    }
}
