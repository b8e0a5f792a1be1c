//! Taking charges of a key back.
//!
//! A word that is taken back from is lowered, and so it may recur: a thread that has found its key's word and is stopped
//! may wake when the slot is another key's, at just that word. A charge that has met one decides again, and has only
//! refused; what was given back to another key would be granted at once. So charges are taken back in two exchanges.
//!
//! - The first *marks* the word: the same value under another tag, by which no decision differs, whose word it may be.
//!   The fingerprint, read after it, tells whose it is; another key's is left as it was.
//! - The second takes back from the marked word. A charge leaves an unmarked one, and a slot changes hands by unmarked
//!   ones. So if it succeeds the word was the key's all the while.
//!
//! Not if another thread has marked the same value meanwhile. So what remains is: a thread stopped between its two
//! exchanges, a slot that goes to another key and comes to the same word, and a second thread that is between the two
//! exchanges of a take-back at that moment, of the other key's charges, or also of the first's and stopped before it
//! marked. No thread that is stopped once gives another key anything back, as long as no other is stopped in here.

use crate::algorithm::{Charged, Policy, Refund, Reset, Tag, Word};
use crate::clock::Clock;
use crate::direct::heal;
use crate::reading::Readings;
use crate::table::insert::newest;
use crate::table::shape::Fingerprint;
use crate::table::slot::Slot;
use crate::table::{Located, Table};

impl<P: Policy> Table<P> {
    /// Undoes a charge, if nothing was charged to the key since: how many permits come back.
    pub(crate) fn undo(&self, fingerprint: Fingerprint, now: u64, charged: Charged) -> u64 {
        let probes = self.shape.probes(fingerprint);
        // Marked or not: the mark may be that of a thread which was after another key.
        let is_as_charged = |word: Word| word.marked() == charged.word.marked();
        loop {
            let found = self.find(&probes, fingerprint).filter(|found| is_as_charged(found.word));
            let Some(found) = found else { return 0 };
            let Some(Located { slot, word }) = mark(found, fingerprint) else { continue };
            let (given, before) = self.policy.undone(charged, now);
            if slot.state.exchange(word, before).is_ok() {
                return given;
            }
        }
    }

    /// Forgets what was charged to the key; whether it had a state.
    pub(crate) fn reset<C: Clock>(&self, fingerprint: Fingerprint, readings: &mut Readings<'_, C>) -> bool {
        let probes = self.shape.probes(fingerprint);
        loop {
            let Some(found) = self.find(&probes, fingerprint) else { return false };
            if found.word.is_newborn() {
                return true;
            }
            // Or it would be as of a time ahead still, and be healed to spent by the next charge.
            if readings.charge().heals() && self.policy.is_ahead(found.slot.state, found.word, readings.now())
            {
                heal(&self.policy, found.slot.state, found.word, readings);
                continue;
            }
            let Some(Located { slot, word }) = mark(found, fingerprint) else { continue };
            let now = self.not_before_its_slot(fingerprint, readings);
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
    /// that would be granted what was granted before. One recycled in a glitch of the clock counts as recycled at the
    /// edge, as for an insertion: in that slack others may have read the time of an honest recycling.
    fn not_before_its_slot<C: Clock>(&self, fingerprint: Fingerprint, readings: &mut Readings<'_, C>) -> u64 {
        newest(self.guard(fingerprint), readings).max(readings.now())
    }
}

impl<P: Refund> Table<P> {
    /// How many permits come back to the key.
    pub(crate) fn refund<C: Clock>(
        &self,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
        permits: u64,
    ) -> u64 {
        let probes = self.shape.probes(fingerprint);
        loop {
            let found = self.find(&probes, fingerprint).filter(|found| found.word.is_live());
            let Some(found) = found else { return 0 };
            let Some(Located { slot, word }) = mark(found, fingerprint) else { continue };
            let now = self.not_before_its_slot(fingerprint, readings);
            let refunded = self.policy.refunded(word, now, permits);
            let (given, less) = refunded.unwrap_or((0, Word::live(word.value())));
            if slot.state.exchange(word, less).is_ok() {
                return given;
            }
        }
    }
}

/// Marks the owner's word, or finds it marked; `None` if it was changed first, or is another key's.
fn mark(Located { slot, word }: Located<'_>, owner: Fingerprint) -> Option<Located<'_>> {
    let marked = word.marked();
    slot.state.exchange(word, marked).ok()?;
    // After the exchange: the slot's owner then, or a later one, under whom the word is no longer marked.
    if slot.fingerprint() == owner.get() {
        return Some(Located { slot, word: marked });
    }
    let _ = slot.state.exchange(marked, word);
    None
}
