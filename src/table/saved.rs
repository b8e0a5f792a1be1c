//! Reading the states of all keys, and putting states into a new table.

use crate::algorithm::{Policy, Portable, Retry, Word};
use crate::clock::Clock;
use crate::reading::Readings;
use crate::table::guard::Guard;
use crate::table::shape::Fingerprint;
use crate::table::slot::{Located, Slot};
use crate::table::{Full, Table};

impl<P: Portable> Table<P> {
    /// Calls `each` with the state of each key that is not as good as new at `now`, as the key had it at some moment of
    /// this call. A key that comes while this runs may be left out; one whose slot changes may be met twice, the second
    /// time in the newer state.
    pub(crate) fn save<E>(
        &self,
        now: u64,
        mut each: impl FnMut(Fingerprint, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut saved = Vec::new();
        for slot in self.slots() {
            let save = |slot: Slot<'_>, word| {
                saved.clear();
                self.policy.save(slot.state, word, &mut saved)
            };
            if let Some((fingerprint, ())) = self.read_live(slot, now, save) {
                each(fingerprint, &saved)?;
            }
        }
        Ok(())
    }

    /// Gives a key this state, which [`Portable::resume`] made; whether or not it had one.
    pub(crate) fn put<C: Clock>(
        &mut self,
        fingerprint: Fingerprint,
        resumed: &[u64],
        readings: &mut Readings<'_, C>,
    ) -> Result<(), Full> {
        let Located { slot, word } = self.locate(&self.shape.probes(fingerprint), fingerprint, readings)?;
        let put = slot.state.exchange(word, Word::live(self.policy.put(slot.state, resumed)));
        debug_assert!(put.is_ok(), "a table that nobody else sees was changed");
        Ok(())
    }

    /// Keys that have no state are as good as new as of `now`, and not as of a time before.
    pub(crate) fn begin(&mut self, now: u64) {
        let (first, end) = (self.shape.line_words(), self.shape.own_words());
        for at in (first..end).step_by(Guard::WORDS) {
            Guard::new(self.words.get(at, Guard::WORDS), self.shape.slot_bits()).raise_newest(now);
        }
    }
}

impl<P: Policy> Table<P> {
    /// What `read` finds in the slot, and whose it is, if it is a key's whose state is not as good as new at `now`: all
    /// at one moment.
    ///
    /// The word is loaded, then the fingerprint, then what else there is; then both are looked at again, the word first.
    /// So whoever's the word was at that look, the fingerprint was that key's. Lost, and tried again, only when another
    /// thread has succeeded.
    pub(crate) fn read_live<T>(
        &self,
        slot: Slot<'_>,
        now: u64,
        mut read: impl FnMut(Slot<'_>, Word) -> Result<T, Retry>,
    ) -> Option<(Fingerprint, T)> {
        loop {
            let word = slot.state.load();
            if !word.is_live() {
                return None;
            }
            let fingerprint = slot.last_fingerprint();
            let is_stale = self.policy.stale(slot.state, word, now).is_some();
            let found = if is_stale { Ok(None) } else { read(slot, word).map(Some) };
            let Ok(found) = found else { continue };
            if slot.state.confirm(word).is_ok() && slot.last_fingerprint() == fingerprint {
                return fingerprint.zip(found);
            }
        }
    }
}
