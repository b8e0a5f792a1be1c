//! The keyed table: fixed memory, inline states, no stored keys; no algorithm in it.
//!
//! An open table of slots `[fingerprint | state words]` in cache lines of four. A key may lie in one of three lines
//! that its fingerprint names, or, when those are full, in a window of eight more. Every state is such that *stale
//! means fresh*: a bucket that is full again, a window that has passed, a log whose entries have all left equal a new
//! one. A slot whose state is stale may go to another key, and nobody's limit is forgotten. So there is no sweeper.
//!
//! # The life of a slot
//!
//! `FREE -> HELD -> NEWBORN -> LIVE -> FREE`, as the tag of the state's main word.
//!
//! - FREE to HELD: an inserter takes it, and stores the fingerprint.
//! - HELD to NEWBORN: the key is inserted. What commits the insertion is the exchange of the key's *guard* (see
//!   `guard.rs`), so of any number of threads that insert one key at once exactly one commits.
//! - NEWBORN to LIVE: the first charge, in its own exchange.
//! - LIVE to MARKED and back: charges are taken back (`take_back.rs`). Everybody else takes the one for the other.
//! - LIVE to FREE: recycled, once it is stale.
//!
//! FREE, HELD and NEWBORN words carry a stamp: the state is fresh as of then. A recycled slot is stamped with the
//! reading that found it stale, and so is the guard of the key it was taken from (`newest`); a key that comes back is
//! stamped with that. So a thread that slept with an old reading cannot revive a recycled key in an older state.
//!
//! # Why a decision is its key's
//!
//! A hit loads the word, then checks the fingerprint again, then exchanges the word. The fingerprint changes only
//! while a slot is HELD, and the words of a new owner are later than the last owner's. So a successful exchange proves
//! that the fingerprint checked in between was the owner's; a refusal re-loads the word to prove the same.
//!
//! Not if charges were taken back: then the last owner's word may have been a later one, and the new owner may come to
//! just that. So a charge looks at the fingerprint once more after its exchange. If it has met another key's word it
//! decides again; the other key is charged for nothing. (What it cannot see is a slot that went to another key and back
//! while it was stopped twice, both times at the same word.) Nor may a take-back trust the word that it has found: see
//! `take_back.rs`.

#[cfg(test)]
mod crowd;
mod guard;
mod insert;
mod saved;
mod shape;
mod slot;
mod take_back;
mod words;

use crate::algorithm::{All, Answer, Ask, Intent, Policy, Retry, State};
use crate::clock::Clock;
use crate::decision::Outcome;
use crate::direct::heal;
use crate::error::BuildError;
use crate::reading::Readings;
use crate::stats::Stats;
use guard::{Guard, GuardWord};
use shape::{Probes, Shape};
use slot::Located;
use words::Words;

pub(crate) use shape::Fingerprint;
pub(crate) use slot::Slot;

/// The states of all keys.
#[derive(Debug)]
pub(crate) struct Table<P> {
    policy: P,
    shape: Shape,
    /// One allocation, so that it is large enough for pages of its own, which are zeroed as they are first touched:
    /// lines of fingerprints and main words, then pairs of a guard and its `newest`, then the other words of each
    /// state, slot by slot.
    words: Words,
    pub(crate) stats: Stats,
}

/// There is no slot for the key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Full {
    /// The first time at which a slot of the key's probe set may be free.
    pub(crate) free_at: Option<u64>,
}

impl<P: Policy> Table<P> {
    pub(crate) fn new(policy: P, keys: usize) -> Result<Self, BuildError> {
        let shape = Shape::new(keys)?;
        let count = usize::try_from(Self::words(&policy, shape)).ok();
        let words = count.and_then(|count| Words::new(count).ok());
        let words = words.ok_or(BuildError::OutOfMemory { bytes: Self::memory_bytes(&policy, shape) })?;
        Ok(Self { policy, shape, words, stats: Stats::new() })
    }

    /// The bytes of a table for `keys` keys.
    pub(crate) fn bytes_for(policy: &P, keys: usize) -> Result<u128, BuildError> {
        Ok(Self::memory_bytes(policy, Shape::new(keys)?))
    }

    fn words(policy: &P, shape: Shape) -> u128 {
        shape.own_words() as u128 + shape.slots() as u128 * policy.extra_words() as u128
    }

    fn memory_bytes(policy: &P, shape: Shape) -> u128 {
        Words::bytes(Self::words(policy, shape))
    }

    #[inline]
    pub(crate) fn policy(&self) -> &P {
        &self.policy
    }

    /// Decides for the key with this fingerprint; finds it a slot if it has none.
    #[inline]
    pub(crate) fn charge<C: Clock>(
        &self,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
        ask: impl Ask<P>,
    ) -> Result<Answer<P::View>, Full> {
        let probes = self.shape.probes(fingerprint);
        loop {
            let found = match self.find_near(&probes, fingerprint) {
                Some(found) => found,
                None => self.locate(&probes, fingerprint, readings)?,
            };
            let intent = readings.charge();
            if let Ok(answer) = self.on_hit(found, readings, ask, intent)
                && (answer.charged.is_none() || found.slot.fingerprint() == fingerprint.get())
            {
                return Ok(answer);
            }
        }
    }

    /// What a charge would be answered: an intent that charges nothing. A key without a state reads as fresh, and stays without.
    #[inline]
    pub(crate) fn look<C: Clock>(
        &self,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
        cost: u64,
        intent: Intent,
    ) -> Answer<P::View> {
        let probes = self.shape.probes(fingerprint);
        let known = self.look_at_slot(&probes, fingerprint, readings, cost, intent);
        known.unwrap_or_else(|| self.policy.unknown(readings.now(), cost))
    }

    /// The same, but that a key without a state reads as fresh only if there is room for one.
    #[inline]
    pub(crate) fn foresee<C: Clock>(
        &self,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Full> {
        let probes = self.shape.probes(fingerprint);
        if let Some(known) = self.look_at_slot(&probes, fingerprint, readings, cost, intent) {
            return Ok(known);
        }
        self.look_for_room(&probes, fingerprint, readings)?;
        Ok(self.policy.unknown(readings.now(), cost))
    }

    /// What the key's own state answers, if it has one.
    #[inline]
    fn look_at_slot<C: Clock>(
        &self,
        probes: &Probes,
        fingerprint: Fingerprint,
        readings: &mut Readings<'_, C>,
        cost: u64,
        intent: Intent,
    ) -> Option<Answer<P::View>> {
        loop {
            let found = self.find(probes, fingerprint)?;
            if let Ok(answer) = self.on_hit(found, readings, All(cost), intent) {
                return Some(answer);
            }
        }
    }

    /// The slot that is the key's.
    #[inline]
    fn find(&self, probes: &Probes, fingerprint: Fingerprint) -> Option<Located<'_>> {
        let near = self.find_near(probes, fingerprint);
        near.or_else(|| self.find_spilled(probes, self.guard(fingerprint).load(), fingerprint))
    }

    /// One attempt at the key's own state.
    #[inline]
    fn on_hit<C: Clock>(
        &self,
        Located { slot, word }: Located<'_>,
        readings: &mut Readings<'_, C>,
        ask: impl Ask<P>,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        match ask.attempt(&self.policy, slot.state, word, readings.now(), intent) {
            Ok(answer) if answer.is_allowed() && intent.charges() => Ok(answer),
            Ok(answer) => {
                // A key just inserted as of a time after this reading: not refused without a look at the clock.
                if word.is_newborn() && answer.outcome == Outcome::Denied && readings.renew_once() {
                    return Err(Retry::Lost);
                }
                slot.state.confirm(word)?;
                Ok(answer)
            }
            Err(Retry::Lost) => Err(Retry::Lost),
            Err(Retry::Ahead) => {
                heal(&self.policy, slot.state, word, readings);
                Err(Retry::Ahead)
            }
        }
    }

    /// The slot that is the key's, in its near lines.
    #[expect(clippy::inline_always, reason = "what it finds stays in registers")]
    #[inline(always)]
    fn find_near(&self, probes: &Probes, fingerprint: Fingerprint) -> Option<Located<'_>> {
        for choice in 0..shape::CHOICES {
            if let Some(found) = self.find_in(probes.near(choice), fingerprint) {
                return Some(found);
            }
        }
        None
    }

    /// The slot that is the key's, in its window, if the guard says that this has ever been used.
    fn find_spilled(
        &self,
        probes: &Probes,
        guard: GuardWord,
        fingerprint: Fingerprint,
    ) -> Option<Located<'_>> {
        if !guard.has_spilled() {
            return None;
        }
        probes.window().find_map(|line| self.find_in(line, fingerprint))
    }

    /// The slot that is the key's, in this line.
    #[expect(clippy::inline_always, reason = "see `find_near`")]
    #[inline(always)]
    fn find_in(&self, line: usize, fingerprint: Fingerprint) -> Option<Located<'_>> {
        let mut matches = self.line(line).matches(fingerprint);
        while matches != 0 {
            let slot = self.slot(line, matches.trailing_zeros() as usize);
            let word = slot.state.load();
            // After the word: see the head of this file.
            if word.is_owned() && slot.fingerprint() == fingerprint.get() {
                return Some(Located { slot, word });
            }
            matches &= matches - 1;
        }
        None
    }

    /// Reads a word of the lines in which the keys most likely lie, so that the cache misses of a batch overlap.
    ///
    /// A loop of its own, and as short as can be: a processor overlaps only what fits its window of instructions.
    #[inline]
    pub(crate) fn touch(&self, fingerprints: &[Fingerprint]) {
        let mut read = 0;
        for fingerprint in fingerprints {
            let probes = self.shape.probes(*fingerprint);
            for choice in 0..shape::CHOICES.min(2) {
                read ^= self.line(probes.near(choice)).touch();
            }
        }
        core::hint::black_box(read);
    }

    /// The number of keys whose state is not stale at `now`. Reads every slot.
    pub(crate) fn live(&self, now: u64) -> usize {
        self.slots()
            .filter(|slot| {
                let word = slot.state.load();
                word.is_live() && self.policy.stale(slot.state, word, now).is_none()
            })
            .count()
    }

    /// The states of all slots, whosever they are.
    pub(crate) fn states(&self) -> impl Iterator<Item = State<'_>> {
        self.slots().map(|slot| slot.state)
    }

    fn guard(&self, fingerprint: Fingerprint) -> Guard<'_> {
        let at = self.shape.line_words() + self.shape.guard(fingerprint) * Guard::WORDS;
        Guard::new(self.words.get(at, Guard::WORDS), self.shape.slot_bits())
    }

    #[inline]
    fn line(&self, line: usize) -> slot::Line<'_> {
        slot::Line::new(self.words.get(line * slot::Line::WORDS, slot::Line::WORDS))
    }

    #[inline]
    fn slot(&self, line: usize, way: usize) -> Slot<'_> {
        let number = line * shape::WAYS + way;
        let extra = self.policy.extra_words();
        self.line(line).slot(way, number, self.words.get(self.shape.own_words() + number * extra, extra))
    }

    fn numbered(&self, number: usize) -> Slot<'_> {
        let line = number / shape::WAYS;
        self.slot(line, number - line * shape::WAYS)
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        (0..self.shape.lines()).flat_map(|line| self.slots_of(line))
    }

    fn slots_of(&self, line: usize) -> impl Iterator<Item = Slot<'_>> {
        (0..shape::WAYS).map(move |way| self.slot(line, way))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Algorithm, Tag, Word};
    use crate::sync::{AtomicU64, Ordering};
    use crate::{FixedWindow, Instant, ManualClock, Quota, SlidingCounter, SlidingLog, TokenBucket};

    const KEYS: usize = 50_000;
    const DAY: u64 = 86_400_000_000_000;

    /// Random enough for places, and another for each key.
    pub(super) fn key(number: u64) -> Fingerprint {
        Fingerprint::new(
            (number + 1)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29)
                .wrapping_mul(0xBF58_476D_1CE4_E5B9),
        )
    }

    fn charge(table: &Table<<TokenBucket as Algorithm>::Policy>, number: u64, now: u64) {
        let mut readings = Readings::<ManualClock>::given(Instant::from_nanos(now));
        let answer = table.charge(key(number), &mut readings, All(1));
        assert!(answer.is_ok_and(|answer| answer.is_allowed()), "key {number}");
    }

    /// Lines of the table that hits on these keys touch, in all.
    fn lines_touched(
        table: &Table<<TokenBucket as Algorithm>::Policy>,
        keys: core::ops::Range<u64>,
    ) -> usize {
        let lines_of = |number: u64| {
            let (key, probes) = (key(number), table.shape.probes(key(number)));
            let choice =
                (0..shape::CHOICES).find(|choice| table.find_in(probes.near(*choice), key).is_some());
            // Spilled: the near lines, the guard's, and at most all of the window.
            choice.map_or(shape::CHOICES + 1 + 8, |choice| choice + 1)
        };
        keys.map(lines_of).sum()
    }

    #[test]
    fn hits_touch_less_than_two_lines_on_average_even_after_churn() {
        let policy =
            TokenBucket::new(Quota::per_day(1)).policy(&ManualClock::new()).expect("a quota that fits");
        let table = Table::new(policy, KEYS).expect("a table that fits");
        let keys = KEYS as u64;
        for number in 0..keys {
            charge(&table, number, number);
        }
        let filled = lines_touched(&table, 0..keys);
        // Keys come and go one by one: each is live for a day, and always as many as declared.
        for number in keys..6 * keys {
            charge(&table, number, (number / keys) * DAY + number % keys + number / keys);
        }
        let churned = lines_touched(&table, 5 * keys..6 * keys);
        assert!(2 * filled < 3 * KEYS && churned < 2 * KEYS, "{KEYS} keys: {filled}, {churned} lines");
        assert_eq!(table.stats.snapshot().overflowed, 0);
    }

    #[test]
    fn refusal_by_a_limit_leaves_every_word_as_it_was() {
        fn test<A: Algorithm>(algorithm: &A) {
            let policy = algorithm.keyed_policy(&ManualClock::new()).expect("a quota that fits");
            let table = Table::new(policy, 8).expect("a table that fits");
            let limit = table.policy.limit();
            for (number, now) in [(0, 5), (1, DAY + 5), (2, DAY + 5)] {
                let mut readings = Readings::<ManualClock>::given(Instant::from_nanos(now));
                assert!(
                    table
                        .charge(key(number), &mut readings, All(limit))
                        .is_ok_and(|answer| answer.is_allowed())
                );
            }
            let words = || {
                let words = Table::words(&table.policy, table.shape).try_into().expect("a table that fits");
                // ORDERING: Relaxed: one thread.
                let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
                table.words.get(0, words).iter().map(load).collect::<Vec<_>>()
            };
            let before = words();
            for (number, now, cost) in [(1, DAY + 5, 1), (2, DAY + 6, limit), (1, 5, 1), (2, DAY, limit + 1)]
            {
                let mut readings = Readings::<ManualClock>::given(Instant::from_nanos(now));
                let refused = table.charge(key(number), &mut readings, All(cost));
                assert!(refused.is_ok_and(|answer| !answer.is_allowed()));
            }
            assert_eq!(words(), before);
        }
        test(&TokenBucket::new(Quota::per_day(3)));
        test(&FixedWindow::new(Quota::per_day(3)));
        test(&SlidingCounter::new(Quota::per_day(3)));
        test(&SlidingLog::new(Quota::per_day(3)));
    }

    #[test]
    fn the_bytes_of_a_table_are_told_before_it_is_built() {
        let policy =
            SlidingLog::new(Quota::per_day(10)).policy(&ManualClock::new()).expect("a quota that fits");
        // 364 lines of 4 slots of 2 + 11 words, 23 guards of 2, and 7 words to align them.
        let words = 364 * 4 * 13 + 23 * 2 + 7;
        assert_eq!(Table::bytes_for(&policy, 1000), Ok(8 * words));
    }

    #[test]
    fn the_parts_of_a_table_lie_apart() {
        let policy =
            SlidingLog::new(Quota::per_day(10)).policy(&ManualClock::new()).expect("a quota that fits");
        let table = Table::new(policy, 1000).expect("a table that fits");
        let guards: Vec<_> = (0..1000).map(|number| table.guard(key(number))).collect();
        let slots = || (0..table.shape.slots()).map(|number| (number, table.numbered(number)));
        for guard in &guards {
            guard.raise_newest(5);
            let _ = guard.commit(guard.load(), 0, true).expect("nobody else commits");
        }
        for (number, slot) in slots() {
            assert_eq!((slot.number, slot.state.load()), (number, Word::from_raw(0)));
            slot.inscribe(key(number as u64));
            slot.state.exchange(Word::from_raw(0), Word::live(number as u64)).expect("nobody else writes");
            for word in slot.state.extra {
                word.fetch_max(number as u64, Ordering::Relaxed);
            }
        }
        for (number, slot) in slots() {
            assert_eq!(
                (slot.fingerprint(), slot.state.load()),
                (key(number as u64).get(), Word::live(number as u64))
            );
            assert!(slot.state.extra.iter().all(|word| word.load(Ordering::Relaxed) == number as u64));
        }
        for guard in &guards {
            assert_eq!((guard.newest(), guard.load().in_progress()), (5, Some(0)));
        }
    }

    /// A table of four slots for buckets of one permit, full again after a day; the first slot is that of key 1.
    fn small(word: Word) -> Table<<TokenBucket as Algorithm>::Policy> {
        let policy =
            TokenBucket::new(Quota::per_day(1)).policy(&ManualClock::new()).expect("a quota that fits");
        let table = Table::new(policy, 1).expect("a table that fits");
        let slot = table.slot(0, 0);
        slot.inscribe(key(1));
        slot.state.exchange(slot.state.load(), word).expect("nobody else writes");
        table
    }

    #[test]
    fn a_key_is_found_in_the_slots_that_it_owns_alone() {
        for (tag, is_found) in
            [(Tag::Free, false), (Tag::Held, false), (Tag::Newborn, true), (Tag::Live, true)]
        {
            let table = small(Word::new(tag, 5));
            assert_eq!(table.find_in(0, key(1)).is_some(), is_found, "{tag:?}");
            assert!(table.find_in(0, key(2)).is_none(), "{tag:?}");
        }
    }

    #[test]
    fn what_charges_nothing_is_decided_on_a_word_that_is_still_there() {
        let table = small(Word::live(DAY));
        let slot = table.slot(0, 0);
        let decide = |full_at, now, intent| {
            let mut readings = Readings::<ManualClock>::given(Instant::from_nanos(now));
            let located = Located { slot, word: Word::live(full_at) };
            table.on_hit(located, &mut readings, All(1), intent).map(|answer| answer.outcome)
        };
        for (replaced, now, intent, outcome) in [
            (DAY + 1, DAY - 1, Intent::ChargeAt, Outcome::Denied),
            (DAY + 1, DAY - 1, Intent::Peek, Outcome::Denied),
            (DAY - 1, DAY, Intent::Peek, Outcome::Allowed),
        ] {
            assert_eq!(decide(DAY, now, intent), Ok(outcome));
            assert_eq!(decide(replaced, now, intent), Err(Retry::Lost), "{outcome:?}, {intent:?}");
        }
    }

    #[test]
    fn a_key_just_inserted_as_of_a_later_time_is_not_refused_by_an_old_reading() {
        let clock = ManualClock::new();
        let (then, now) = (Instant::from_nanos(DAY - 1), Instant::from_nanos(DAY));
        clock.set(then);
        let table = small(Word::new(Tag::Newborn, DAY));
        let mut readings = Readings::of(&clock);
        assert!(table.charge(key(1), &mut readings.clone(), All(1)).is_ok_and(|answer| !answer.is_allowed()));
        clock.set(now);
        assert!(table.charge(key(1), &mut readings, All(1)).is_ok_and(|answer| answer.is_allowed()));
    }
}
