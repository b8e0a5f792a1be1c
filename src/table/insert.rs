//! Finding a slot for a key that has none.

use crate::algorithm::{Policy, SLACK_NANOS, TIME_MAX, Tag, Word};
use crate::clock::Clock;
use crate::limiter::heal;
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
fn newest<C: Clock>(guard: Guard<'_>, readings: &mut Readings<'_, C>) -> u64 {
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
mod tests {
    use std::fmt;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use super::*;
    use crate::algorithm::Algorithm;
    use crate::table::shape::WAYS;
    use crate::table::tests::key;
    use crate::{Instant, ManualClock, Quota, TokenBucket};

    type Bucket = <TokenBucket as Algorithm>::Policy;

    const NANOS_PER_S: u64 = 1_000_000_000;
    const NOW: u64 = 1000 * NANOS_PER_S;

    /// Buckets of one permit, full again after a second.
    fn table(keys: usize) -> Table<Bucket> {
        let policy = TokenBucket::new(Quota::per_second(1)).policy(&ManualClock::new()).expect("a policy");
        Table::new(policy, keys).expect("a table")
    }

    fn given(now: u64) -> Readings<'static, ManualClock> {
        Readings::given(Instant::from_nanos(now))
    }

    /// Makes the slot a key's, whose bucket is full at `full_at`.
    fn occupy(slot: Slot<'_>, fingerprint: Fingerprint, full_at: u64) {
        set(slot, fingerprint, Word::live(full_at));
    }

    fn set(slot: Slot<'_>, fingerprint: Fingerprint, word: Word) {
        slot.inscribe(fingerprint);
        slot.state.exchange(slot.state.load(), word).expect("nobody else writes");
    }

    fn all_slots<P: Policy>(table: &Table<P>) -> impl Iterator<Item = Slot<'_>> {
        (0..table.shape.lines()).flat_map(|line| table.slots_of(line))
    }

    /// Every slot a key's, from the 100th on, whose bucket is full at `full_at`.
    fn occupy_all(table: &Table<Bucket>, full_at: u64) {
        for (slot, number) in all_slots(table).zip(100..) {
            occupy(slot, key(number), full_at);
        }
    }

    /// What an inserter does before it commits.
    fn hold(table: &Table<Bucket>, fingerprint: Fingerprint, now: u64) -> Seat<'_> {
        let probes = table.shape.probes(fingerprint);
        let Room::Vacant(seat) = table.find_room(&probes, &given(now)) else { panic!("no room") };
        table.take(seat, fingerprint, &given(now)).expect("a vacant slot")
    }

    /// An inserter that is stopped as soon as it has committed.
    fn commit(table: &Table<Bucket>, fingerprint: Fingerprint, now: u64) -> (Seat<'_>, GuardWord) {
        let seat = hold(table, fingerprint, now);
        let guard = table.guard(fingerprint);
        let committed = guard.commit(guard.load(), seat.slot.number, false).expect("nobody else commits");
        (seat, committed)
    }

    fn locate<'t, C: Clock>(
        table: &'t Table<Bucket>,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
    ) -> Result<Located<'t>, Full> {
        table.locate(&table.shape.probes(fingerprint), fingerprint, readings)
    }

    fn find(table: &Table<Bucket>, fingerprint: Fingerprint) -> Option<Located<'_>> {
        table.find_near(&table.shape.probes(fingerprint), fingerprint)
    }

    type Something = Box<dyn FnOnce() + Send>;

    /// A clock that stands at a time, and on which something can happen while it is read.
    #[derive(Clone)]
    struct Interrupted {
        clock: ManualClock,
        meanwhile: Arc<Mutex<Option<Something>>>,
    }

    impl Interrupted {
        fn at(now: u64) -> Self {
            let interrupted = Self { clock: ManualClock::new(), meanwhile: Arc::default() };
            interrupted.set(now);
            interrupted
        }

        fn set(&self, now: u64) {
            self.clock.set(Instant::from_nanos(now));
        }

        fn something(&self) -> MutexGuard<'_, Option<Something>> {
            self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Done while the clock is read next.
        fn meanwhile(&self, something: impl FnOnce() + Send + 'static) {
            *self.something() = Some(Box::new(something));
        }
    }

    impl fmt::Debug for Interrupted {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.clock.fmt(f)
        }
    }

    impl Clock for Interrupted {
        fn now(&self) -> Instant {
            let something = self.something().take();
            if let Some(something) = something {
                something();
            }
            self.clock.now()
        }
    }

    #[test]
    fn a_key_whose_inserter_stopped_after_its_commit_is_inserted_by_the_next_one() {
        let table = table(1);
        let (seat, committed) = commit(&table, key(1), NOW);
        assert!(find(&table, key(1)).is_none(), "found before it is inserted");
        let other = locate(&table, key(2), &mut given(NOW)).expect("room");
        let found = find(&table, key(1)).expect("inserted");
        assert_eq!((found.slot.number, found.word), (seat.slot.number, Word::new(Tag::Newborn, 0)));
        assert_ne!(other.slot.number, seat.slot.number);
        assert_eq!(table.guard(key(1)).load().in_progress(), None);
        // The one that was stopped comes back, and finds nothing left to do.
        let after = table.guard(key(1)).load();
        table.finish(table.guard(key(1)), committed);
        assert_eq!(
            (find(&table, key(1)).map(|found| found.word), table.guard(key(1)).load()),
            (Some(found.word), after)
        );
    }

    #[test]
    fn a_guard_whose_inserter_stopped_before_it_moved_on_is_moved_on_by_the_next_one() {
        let table = table(1);
        let (seat, _) = commit(&table, key(1), NOW);
        occupy(seat.slot, key(1), NOW + NANOS_PER_S);
        let _ = locate(&table, key(2), &mut given(NOW)).expect("room");
        assert_eq!(table.guard(key(1)).load().in_progress(), None);
        assert_eq!(find(&table, key(1)).map(|found| found.word), Some(Word::live(NOW + NANOS_PER_S)));
    }

    #[test]
    fn whoever_finishes_an_insertion_late_leaves_the_next_hold_of_the_slot_alone() {
        let table = table(1);
        let (seat, committed) = commit(&table, key(1), NOW);
        table.finish(table.guard(key(1)), committed);
        set(seat.slot, key(2), Word::new(Tag::Held, NOW));
        table.finish(table.guard(key(1)), committed);
        assert_eq!(seat.slot.state.load(), Word::new(Tag::Held, NOW));
    }

    #[test]
    fn a_slot_taken_again_before_its_insertion_was_finished_is_no_longer_in_progress() {
        let table = table(1);
        let (seat, committed) = commit(&table, key(1), NOW);
        occupy(seat.slot, key(1), NOW);
        let stale = Seat { word: Word::live(NOW), ..seat };
        let taken = table.take(stale, key(2), &given(NOW + 1)).expect("a stale slot");
        assert_eq!(taken.word, Word::new(Tag::Held, NOW + 1));
        assert_eq!(table.guard(key(1)).load().in_progress(), None);
        table.finish(table.guard(key(1)), committed);
        assert_eq!(seat.slot.state.load(), taken.word);
    }

    #[test]
    fn a_slot_that_changed_is_not_taken() {
        let table = table(1);
        let slot = table.numbered(0);
        occupy(slot, key(1), NOW);
        let seat = |word| Seat { slot, word, is_spilled: false };
        assert!(table.take(seat(Word::from_raw(0)), key(2), &given(NOW + 1)).is_none(), "free once");
        assert!(table.take(seat(Word::live(NOW - 1)), key(2), &given(NOW + 1)).is_none(), "stale once");
        assert!(table.take(seat(Word::live(NOW)), key(2), &given(NOW)).is_none(), "not stale yet");
        assert_eq!((slot.fingerprint(), slot.state.load()), (key(1).get(), Word::live(NOW)));
        assert_eq!(table.stats.snapshot().recycled, 0);
    }

    #[test]
    fn a_slot_given_back_is_no_keys_and_takes_the_next() {
        let table = table(1);
        let seat = hold(&table, key(1), NOW);
        give_back(Some(seat));
        assert_eq!(seat.slot.state.load().tag(), Tag::Free);
        assert!(find(&table, key(1)).is_none());
        let taken = hold(&table, key(2), NOW);
        assert_eq!(taken.slot.number, seat.slot.number);
    }

    #[test]
    fn an_inserter_overtaken_by_another_of_its_key_gives_its_slot_back() {
        let table = Arc::new(table(1));
        let (clock, other) = (Interrupted::at(NOW), table.clone());
        // So that it reads the clock between taking a slot and its commit.
        table.guard(key(1)).raise_newest(NOW + 1);
        let mut readings = Readings::of(&clock);
        clock.meanwhile(move || assert!(locate(&other, key(1), &mut given(NOW + 1)).is_ok()));
        let found = locate(&table, key(1), &mut readings).expect("room");
        let owned: Vec<_> = all_slots(&table).filter(|slot| slot.state.load().is_owned()).collect();
        assert_eq!(owned.iter().map(|slot| slot.number).collect::<Vec<_>>(), [found.slot.number]);
        assert!(all_slots(&table).all(|slot| slot.state.load().tag() != Tag::Held));
        assert_eq!(table.stats.snapshot().inserted, 1);
    }

    #[test]
    fn a_key_inserted_elsewhere_while_there_was_no_room_is_found() {
        let table = Arc::new(table(1));
        occupy_all(&table, NOW);
        let clock = Interrupted::at(NOW);
        let (mut readings, other) = (Readings::of(&clock), table.clone());
        clock.meanwhile(move || assert!(locate(&other, key(1), &mut given(NOW + 1)).is_ok()));
        // By its own reading no slot is stale.
        let found = locate(&table, key(1), &mut readings).expect("inserted");
        assert_eq!(found.word, Word::new(Tag::Newborn, NOW + 1));
        assert_eq!(table.stats.snapshot().inserted, 1);
    }

    #[test]
    fn a_full_table_tells_when_its_next_slot_is_free_and_is_not_contended() {
        let table = table(1);
        for (slot, full_at) in all_slots(&table).zip([NOW + 7, NOW + 5, NOW + 6, NOW + 8]) {
            occupy(slot, key(100 + full_at), full_at);
        }
        let full = locate(&table, key(1), &mut given(NOW + 5)).expect_err("full");
        assert_eq!(full.free_at, Some(NOW + 6));
        assert_eq!(table.stats.snapshot().contended, 0);
        let located = locate(&table, key(1), &mut given(NOW + 6)).expect("a stale slot");
        assert_eq!((located.slot.number, located.word), (1, Word::new(Tag::Newborn, NOW + 6)));
    }

    #[test]
    fn a_slot_held_for_as_long_as_it_is_waited_for_counts_as_contended() {
        let table = table(1);
        let holds: Vec<_> = (0..WAYS as u64).map(|number| hold(&table, key(100 + number), NOW)).collect();
        let full = locate(&table, key(1), &mut given(NOW)).expect_err("full");
        assert_eq!((full.free_at, table.stats.snapshot().contended), (Some(0), 1));
        give_back(holds.first().copied());
        let found = locate(&table, key(1), &mut given(NOW)).expect("a slot given back");
        assert_eq!(found.slot.number, holds[0].slot.number);
    }

    #[test]
    fn a_slot_held_in_the_window_alone_is_waited_for() {
        let table = table(8);
        let lines = table.shape.lines();
        let is_far =
            |line: &usize, number| !table.shape.probes(key(number)).all_near().any(|near| near == *line);
        let (newcomer, far) = (1..)
            .find_map(|number| (0..lines).find(|line| is_far(line, number)).map(|line| (key(number), line)))
            .expect("a line that is not near");
        occupy_all(&table, NOW);
        set(table.slot(far, 0), key(2), Word::new(Tag::Held, 0));
        assert!(locate(&table, newcomer, &mut given(NOW)).is_err());
        assert_eq!(table.stats.snapshot().contended, 1);
    }

    #[test]
    fn a_slot_that_changes_while_it_is_looked_at_is_unsettled() {
        let table = table(1);
        occupy_all(&table, NOW);
        assert!(!table.best_of(0..1, |_, _| false).is_unsettled);
        let offer = table.best_of(0..1, |slot, word| {
            slot.number == 0 && slot.state.exchange(word, Word::live(NOW + 1)).is_err()
        });
        assert!(offer.best.is_none() && offer.is_unsettled);
    }

    #[test]
    fn a_new_key_goes_to_the_least_taken_line_or_at_once_to_one_that_is_lightly_taken() {
        let is_free = |_: Slot<'_>, word: Word| word.tag() == Tag::Free;
        for (taken, best) in [
            ([0, 0, 0], Some((0, 0))),
            ([1, 0, 0], Some((0, 1))),
            ([2, 1, 0], Some((1, 1))),
            ([2, 2, 2], Some((0, 2))),
            ([3, 2, 2], Some((1, 2))),
            ([3, 3, 2], Some((2, 2))),
            ([2, 3, 3], Some((0, 2))),
            ([4, 4, 3], Some((2, 3))),
            ([4, 4, 4], None),
        ] {
            let table = table(8);
            for (line, taken) in taken.into_iter().enumerate() {
                for slot in table.slots_of(line).take(taken) {
                    occupy(slot, key(1), NOW);
                }
            }
            let offer = table.best_of(0..3, is_free).best;
            let chosen = offer.map(|(slot, _, taken)| (slot.number / WAYS, taken));
            assert_eq!(chosen, best, "{taken:?}");
            let first = offer.is_none_or(|(slot, ..)| slot.number % WAYS == taken[slot.number / WAYS]);
            assert!(first, "{taken:?}: not the first vacant slot of its line");
        }
    }

    #[test]
    fn a_key_just_inserted_keeps_its_slot_for_the_slack() {
        let table = table(1);
        let slot = table.numbered(0);
        let newborn = Word::new(Tag::Newborn, NOW);
        assert_eq!(table.recyclable(slot, newborn, SLACK_NANOS - 1), None, "before time began");
        assert_eq!(table.recyclable(slot, newborn, NOW + SLACK_NANOS), None);
        let as_of = NOW + 1;
        assert_eq!(table.recyclable(slot, newborn, as_of + SLACK_NANOS), Some((as_of, as_of)));
        assert_eq!(table.recyclable(slot, Word::live(NOW), as_of), Some((as_of, as_of)));
    }

    #[test]
    fn a_slot_is_stale_by_the_older_of_two_readings() {
        let clock = Interrupted::at(NOW);
        let readings = Readings::of(&clock);
        for (fresh, time) in [(NOW - 1, NOW - 1), (NOW, NOW), (NOW + 1, NOW)] {
            clock.set(fresh);
            assert_eq!(recycling_time(&readings), time);
        }
    }

    #[test]
    fn a_key_that_comes_back_is_stamped_with_its_recycling() {
        let table = table(1);
        let (returning, other) = (key(1), key(2));
        for slot in all_slots(&table) {
            occupy(slot, returning, NOW);
        }
        let taken = locate(&table, other, &mut given(NOW + 5)).expect("a stale slot");
        assert_eq!(taken.word, Word::new(Tag::Newborn, NOW + 5));
        set(table.numbered(3), returning, Word::from_raw(0));
        for slot in all_slots(&table).take(3) {
            occupy(slot, other, NOW + 5);
        }
        let back = locate(&table, returning, &mut given(NOW)).expect("a free slot");
        assert_eq!((back.slot.number, back.word), (3, Word::new(Tag::Newborn, NOW + 5)));
        assert_eq!(back.slot.state.load(), back.word);
    }

    #[test]
    fn a_recycling_later_than_the_reading_is_seen_by_a_fresh_one() {
        let table = table(1);
        let guard = table.guard(key(1));
        guard.raise_newest(NOW);
        let clock = Interrupted::at(0);
        for (reading, fresh, now_after) in
            [(NOW + 1, NOW + 9, NOW + 1), (NOW, NOW + 9, NOW), (NOW - 1, NOW + 9, NOW + 9)]
        {
            clock.set(reading);
            let mut readings = Readings::of(&clock);
            clock.set(fresh);
            assert_eq!((newest(guard, &mut readings), readings.now()), (NOW, now_after));
        }
    }

    #[test]
    fn a_recycling_further_ahead_than_the_slack_is_healed_on_the_clock_alone() {
        let table = table(1);
        let guard = table.guard(key(1));
        let clock = Interrupted::at(NOW);
        let edge = NOW + SLACK_NANOS;
        guard.raise_newest(edge);
        assert_eq!(newest(guard, &mut Readings::of(&clock)), edge);
        guard.raise_newest(edge + 1);
        assert_eq!(newest(guard, &mut given(NOW)), edge + 1, "the caller's time is the caller's word");
        assert_eq!(newest(guard, &mut Readings::of(&clock)), edge);
        assert_eq!(guard.newest(), edge);
    }

    #[test]
    fn a_table_full_of_keys_ahead_of_the_clock_heals_them_and_nothing_else() {
        let table = table(1);
        let clock = Interrupted::at(NOW);
        let ahead = NOW + SLACK_NANOS + NANOS_PER_S + 1;
        let words = [
            Word::live(ahead),
            Word::new(Tag::Held, ahead),
            Word::live(ahead - 1),
            Word::new(Tag::Newborn, ahead),
        ];
        for (slot, word) in all_slots(&table).zip(words) {
            set(slot, key(100), word);
        }
        let now_in = || all_slots(&table).map(|slot| slot.state.load()).collect::<Vec<_>>();
        let (guard, probes) = (table.guard(key(1)), table.shape.probes(key(1)));
        guard.raise_newest(ahead);
        table.heal_all(guard, &probes, &mut given(NOW));
        assert_eq!((now_in(), guard.newest()), (words.to_vec(), ahead), "the caller's time heals nothing");
        table.heal_all(guard, &probes, &mut Readings::of(&clock));
        let edge = Word::live(ahead - 1);
        assert_eq!((now_in(), guard.newest()), (vec![edge, words[1], edge, edge], NOW + SLACK_NANOS));
    }
}
