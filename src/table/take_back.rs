//! Taking charges of a key back.

use crate::algorithm::{Charged, Policy, Refund};
use crate::table::shape::Fingerprint;
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

    /// Forgets what was charged to the key; whether it had a state.
    pub(crate) fn reset(&self, fingerprint: Fingerprint, now: u64) -> bool {
        let probes = self.shape.probes(fingerprint);
        loop {
            let Some(Located { slot, word }) = self.find(&probes, fingerprint) else { return false };
            if word.is_newborn() {
                return true;
            }
            let now = self.not_before_its_slot(fingerprint, now);
            // The slot stays the key's until a state charged as of now is stale.
            if self.policy.reset(slot.state, word, now).is_ok() {
                return true;
            }
        }
    }

    /// No state goes back to a time before its key was last recycled: a thread that slept with a reading as old as
    /// that would be granted what was granted before.
    fn not_before_its_slot(&self, fingerprint: Fingerprint, now: u64) -> u64 {
        now.max(self.guard(fingerprint).newest())
    }
}
