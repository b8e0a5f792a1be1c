//! Finding a slot for a key that has none.

use crate::algorithm::{Policy, SLACK_NANOS, TIME_MAX, Tag, Word};
use crate::clock::Clock;
use crate::direct::heal;
use crate::reading::Readings;
use crate::sync::MODELLED;
use crate::table::guard::{Guard, GuardWord};
use crate::table::shape::{Fingerprint, Probes};
use crate::table::slot::{Located, Slot};
use crate::table::{Full, Table};

/// Scans that are tried while slots are held or exchanges are lost, before the table counts as full.
const ROUNDS_MAX: usize = if MODELLED { 4 } else { 40 };
/// A line with fewer taken slots than this is taken before the next line is looked at.
const LIGHTLY_TAKEN: usize = 2;

/// A slot that may be taken, or, HELD, has been.
#[derive(Clone, Copy)]
struct Seat<'t> {
    slot: Slot<'t>,
    word: Word,
    /// It lies in the window only.
    is_spilled: bool,
}

/// What a look for a slot has found.
enum Room<'t> {
    Vacant(Seat<'t>),
    /// None that stayed so: try again.
    Contended,
    None,
}

/// What the lines looked at so far have to offer.
struct Offer<'t> {
    /// The slot, its word, and how many slots of its line are taken.
    best: Option<(Slot<'t>, Word, usize)>,
    /// A slot was held, or changed while it was looked at: it may be vacant by now.
    is_unsettled: bool,
}

impl<P: Policy> Table<P> {
    /// Finds the key, or inserts it.
    ///
    /// Lock-free: a commit that is lost was lost to the insertion of another key of the guard, or of this one. A
    /// thread that is stopped in here withholds one slot and nothing else: what it has committed others finish.
    #[cold]
    #[inline(never)]
    pub(super) fn locate<C: Clock>(
        &self,
        probes: &Probes,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
    ) -> Result<Located<'_>, Full> {
        let guard = self.guard(fingerprint);
        let mut hold: Option<Seat<'_>> = None;
        for _ in 0..ROUNDS_MAX {
            let seen = guard.load();
            if seen.in_progress().is_some() {
                self.finish(guard, seen);
                continue;
            }
            let near = self.find_near(probes, fingerprint);
            if let Some(found) = near.or_else(|| self.find_spilled(probes, seen, fingerprint)) {
                give_back(hold);
                return Ok(found);
            }
            let seat = match hold {
                Some(seat) => seat,
                None => match self.find_room(probes, readings) {
                    Room::Vacant(seat) => match self.take(seat, fingerprint, readings) {
                        Some(seat) => seat,
                        None => continue,
                    },
                    Room::None if guard.load() == seen => {
                        self.heal_all(guard, probes, readings);
                        return Err(self.full(probes));
                    }
                    Room::None | Room::Contended => continue,
                },
            };
            let seat = self.stamp(seat, guard, readings);
            hold = Some(seat);
            if let Ok(committed) = guard.commit(seen, seat.slot.number, seat.is_spilled) {
                self.stats.inserted(fingerprint);
                let word = Word::new(Tag::Newborn, seat.word.value());
                // Lost only to a thread that did the same.
                let _ = seat.slot.state.exchange(seat.word, word);
                guard.finish(committed);
                return Ok(Located { slot: seat.slot, word });
            }
        }
        give_back(hold);
        self.stats.contended(fingerprint);
        Err(self.full(probes))
    }

    /// Whether an insertion of the key, which has no slot, would find one now. Takes none; slots that are held count as
    /// room, for they may be given back.
    ///
    /// Heals as [`locate`](Self::locate) does: whoever looks first would never come to do it.
    #[cold]
    #[inline(never)]
    pub(super) fn look_for_room<C: Clock>(
        &self,
        probes: &Probes,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
    ) -> Result<(), Full> {
        let guard = self.guard(fingerprint);
        let seen = guard.load();
        // Inserted since it was looked for: then it was new.
        if self.find(probes, fingerprint).is_some() {
            return Ok(());
        }
        if matches!(self.find_room(probes, readings), Room::None) && guard.load() == seen {
            self.heal_all(guard, probes, readings);
            return Err(self.full(probes));
        }
        Ok(())
    }

    /// Finishes the insertion that a guard has committed.
    fn finish(&self, guard: Guard<'_>, seen: GuardWord) {
        let Some(number) = seen.in_progress() else { return };
        let slot = self.numbered(number);
        let word = slot.state.load();
        if word.tag() == Tag::Held {
            // As long as the guard names the slot nobody else can hold it, so this word is the committed one.
            if guard.load() != seen {
                return;
            }
            let _ = slot.state.exchange(word, Word::new(Tag::Newborn, word.value()));
        }
        guard.finish(seen);
    }

    /// Looks for a slot: one that is nobody's before one that is stale, near before in the window; and of the near
    /// lines the least taken.
    ///
    /// A key that is asked for now and then so keeps its slot while there are others.
    fn find_room<C: Clock>(&self, probes: &Probes, readings: &Readings<'_, C>) -> Room<'_> {
        let is_free = |_: Slot<'_>, word: Word| word.tag() == Tag::Free;
        let free = self.best_of(probes.all_near(), is_free);
        if let Some((slot, word, _)) = free.best {
            return Room::Vacant(Seat { slot, word, is_spilled: false });
        }
        let now = recycling_time(readings);
        // FREE too: a slot that was a key's at the first look may have been freed since.
        let is_vacant = |slot: Slot<'_>, word: Word| {
            is_free(slot, word) || (word.is_owned() && self.recyclable(slot, word, now).is_some())
        };
        let stale = self.best_of(probes.all_near(), is_vacant);
        if let Some((slot, word, _)) = stale.best {
            return Room::Vacant(Seat { slot, word, is_spilled: false });
        }
        let window = self.best_of(probes.window(), is_vacant);
        if let Some((slot, word, _)) = window.best {
            return Room::Vacant(Seat { slot, word, is_spilled: true });
        }
        if stale.is_unsettled || window.is_unsettled { Room::Contended } else { Room::None }
    }

    /// The first vacant slot of the least taken of the lines; of a lightly taken one without looking further.
    fn best_of<'t>(
        &'t self,
        lines: impl Iterator<Item = usize>,
        is_vacant: impl Fn(Slot<'t>, Word) -> bool,
    ) -> Offer<'t> {
        let mut offer = Offer { best: None, is_unsettled: false };
        for line in lines {
            let mut taken = 0;
            let mut vacancy = None;
            for slot in self.slots_of(line) {
                let word = slot.state.load();
                if !is_vacant(slot, word) {
                    taken += 1;
                    offer.is_unsettled |= word.tag() == Tag::Held || slot.state.confirm(word).is_err();
                } else if vacancy.is_none() {
                    vacancy = Some((slot, word));
                }
            }
            if let Some((slot, word)) = vacancy
                && offer.best.as_ref().is_none_or(|(.., least)| taken < *least)
            {
                offer.best = Some((slot, word, taken));
                if taken < LIGHTLY_TAKEN {
                    break;
                }
            }
        }
        offer
    }

    /// Takes a FREE or stale slot for the key; `None` if another thread was first.
    fn take<'t, C: Clock>(
        &'t self,
        Seat { slot, word, is_spilled }: Seat<'t>,
        fingerprint: Fingerprint,
        readings: &Readings<'_, C>,
    ) -> Option<Seat<'t>> {
        let free = if word.is_owned() { self.recycle(slot, word, recycling_time(readings))? } else { word };
        if let Some(last) = slot.last_fingerprint() {
            // The slot may have lived and died while its insertion was never finished. Finished now, or whoever
            // finishes it late would take our hold for the committed one.
            let guard = self.guard(last);
            let seen = guard.load();
            if seen.in_progress() == Some(slot.number) {
                slot.state.confirm(free).ok()?;
                guard.finish(seen);
            }
        }
        let word = Word::new(Tag::Held, free.value());
        slot.state.exchange(free, word).ok()?;
        slot.inscribe(fingerprint);
        Some(Seat { slot, word, is_spilled })
    }

    /// If the slot may go to another key at `now`: the value of its word when free, and the time it is free as of.
    ///
    /// A key that was just inserted is as good as new until it is charged. It is left alone for as long as the slack:
    /// two inserters that took one slot from each other would not get anywhere.
    fn recyclable(&self, slot: Slot<'_>, word: Word, now: u64) -> Option<(u64, u64)> {
        let as_of = if word.is_newborn() { now.checked_sub(SLACK_NANOS)? } else { now };
        Some((self.policy.stale(slot.state, word, as_of)?, as_of))
    }

    /// Frees a slot whose state is stale at `now`; `None` if it is not, or another thread was first.
    fn recycle(&self, slot: Slot<'_>, word: Word, now: u64) -> Option<Word> {
        let (value, as_of) = self.recyclable(slot, word, now)?;
        let owner = slot.last_fingerprint()?;
        // Before the slot is free: whoever finds the key gone must find when.
        self.guard(owner).raise_newest(as_of);
        self.policy.seal(slot.state, as_of);
        let free = Word::new(Tag::Free, value);
        slot.state.exchange(word, free).ok()?;
        self.stats.recycled(owner);
        Some(free)
    }

    /// Raises the stamp of a held slot to the time its key was last recycled, which this scan cannot have missed.
    ///
    /// Without it a thread that slept with an old reading would revive the key as of that reading.
    fn stamp<'t, C: Clock>(
        &'t self,
        seat: Seat<'t>,
        guard: Guard<'_>,
        readings: &mut Readings<'_, C>,
    ) -> Seat<'t> {
        let newest = newest(guard, readings);
        let value = self.policy.prepare(seat.slot.state, seat.word.value(), newest);
        let word = Word::new(Tag::Held, value);
        if word != seat.word {
            // Ours alone until it is committed, so this cannot be lost.
            let raised = seat.slot.state.exchange(seat.word, word);
            debug_assert!(raised.is_ok(), "a held slot was changed by another thread");
        }
        Seat { word, ..seat }
    }

    /// Heals the states that lie ahead of a fresh reading: a key that fell silent after a glitch of the clock would
    /// keep its slot for as long as the glitch was wide.
    fn heal_all<C: Clock>(&self, guard: Guard<'_>, probes: &Probes, readings: &mut Readings<'_, C>) {
        if !readings.charge().heals() {
            return;
        }
        newest(guard, readings);
        for slot in self.slots_of_probes(probes) {
            let word = slot.state.load();
            if word.is_owned() && self.policy.is_ahead(slot.state, word, readings.now()) {
                heal(&self.policy, slot.state, word, readings);
            }
        }
    }

    fn full(&self, probes: &Probes) -> Full {
        let free_at = |slot: Slot<'_>| {
            let word = slot.state.load();
            if !word.is_owned() {
                return Some(0);
            }
            // See `recyclable`.
            let slack = if word.is_newborn() { SLACK_NANOS } else { 0 };
            self.policy.stale_at(slot.state, word)?.checked_add(slack).filter(|at| *at <= TIME_MAX)
        };
        Full { free_at: self.slots_of_probes(probes).filter_map(free_at).min() }
    }

    fn slots_of_probes(&self, probes: &Probes) -> impl Iterator<Item = Slot<'_>> {
        probes.all_near().chain(probes.window()).flat_map(|line| self.slots_of(line))
    }
}

/// When a state must be stale for its slot to be taken: by two readings, for one that errs must not make live keys
/// look stale.
fn recycling_time<C: Clock>(readings: &Readings<'_, C>) -> u64 {
    readings.now().min(readings.fresh())
}

/// When a key of the guard was last recycled. A reading older than that is taken afresh; a time that lies ahead of
/// even a fresh one, by more than the slack, is a clock's that erred, and is lowered to the edge.
pub(super) fn newest<C: Clock>(guard: Guard<'_>, readings: &mut Readings<'_, C>) -> u64 {
    let newest = guard.newest();
    if newest <= readings.now() {
        return newest;
    }
    let fresh = readings.fresh();
    readings.replace(fresh);
    let edge = fresh.saturating_add(SLACK_NANOS);
    if newest <= edge || !readings.charge().heals() {
        return newest;
    }
    guard.lower_newest(newest, edge);
    guard.newest()
}

fn give_back(hold: Option<Seat<'_>>) {
    if let Some(Seat { slot, word, .. }) = hold {
        let given = slot.state.exchange(word, Word::new(Tag::Free, word.value()));
        debug_assert!(given.is_ok(), "a held slot was changed by another thread");
    }
}

#[cfg(test)]
mod tests;
