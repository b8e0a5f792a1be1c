//! The ring of the log: slots, laps, claims, and how a claim is entered by whoever comes.
//!
//! ```text
//!   head value   60           p  p-1              0        slot   63                     1   0
//!               +---------------+------------------+             +-----------------------+---+
//!               |   time bits   |     position     |             |  time + 1 (0 = never) | l |
//!               +---------------+------------------+             +-----------------------+---+
//! ```
//!
//! `l` is the parity of the lap that entered the slot: lap `k` writes `(k + 1) mod 2`. A slot of the latest claim that
//! still has the other parity is *open*. A slot that was wiped has the top bit set: "never" too, in a way that no other
//! wiping has. A zeroed ring reads as "the lap before, filled with never". Values do
//! not recur in a slot: its entries are dated in order, and two laps are at least a period apart. (Two claims that heal
//! at one reading may be equal; a claimant that was stopped across both leaves a slot dated too late, which refuses.)

use crate::algorithm::sliding_log::born::Stamp;
use crate::algorithm::state::{Lens, Retry, State};
use crate::algorithm::word::{TIME_MAX, VALUE_BITS, Word};
use crate::error::BuildError;
use crate::sync::{AtomicU64, Ordering};

/// The time bits must span at least this long: one hour.
const SPAN_MIN_NANOS: u64 = 3600 * 1_000_000_000;

/// How a head's value is packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// How many slots there are; at least the limit.
    ring: u64,
    position_bits: u32,
}

/// A head's value, unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The low bits of the latest claim's time.
    time_bits: u64,
    /// Where the next admission is entered, modulo twice the number of slots.
    position: u64,
}

impl Layout {
    pub(super) fn new(ring: u64) -> Result<Self, BuildError> {
        let max_bits = VALUE_BITS - (u64::BITS - (SPAN_MIN_NANOS - 1).leading_zeros());
        let max = 1 << (max_bits - 1);
        if ring > max {
            return Err(BuildError::LimitTooLarge { limit: ring, max });
        }
        // Positions run from 0 to 2 * ring - 1.
        let position_bits = u64::BITS - (2 * ring).saturating_sub(1).leading_zeros();
        Ok(Self { ring, position_bits })
    }

    /// All of it: the inverse of [`from_numbers`](Self::from_numbers).
    pub(super) fn numbers(self) -> [u64; 2] {
        [self.ring, self.position_bits.into()]
    }

    #[expect(clippy::cast_possible_truncation, reason = "it was 32 bits wide")]
    pub(super) fn from_numbers([ring, position_bits]: [u64; 2]) -> Self {
        Self { ring, position_bits: position_bits as u32 }
    }

    /// How many slots there are.
    #[inline]
    pub(super) fn ring(self) -> u64 {
        self.ring
    }

    /// How many slots there are.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^18")]
    pub(super) fn slots(self) -> usize {
        self.ring as usize
    }

    /// ns after which the time bits recur.
    #[inline]
    pub(super) fn span(self) -> u64 {
        1 << (VALUE_BITS - self.position_bits)
    }

    /// The longest time from the newest recorded one to a claim that can be told from the time bits alone.
    #[inline]
    pub(super) fn gap_max(self) -> u64 {
        self.span() / 2 - self.apart_max() - 1
    }

    /// How much newer than a claim the reading may be by which another thread raises `born` meanwhile.
    #[inline]
    fn apart_max(self) -> u64 {
        self.span() / 4
    }

    #[inline]
    pub(super) fn head(self, value: u64) -> Head {
        Head { time_bits: value >> self.position_bits, position: value & ((1 << self.position_bits) - 1) }
    }

    #[inline]
    fn pack(self, time: u64, position: u64) -> u64 {
        (time & (self.span() - 1)) << self.position_bits | position
    }

    /// The value of `head` dated `time`.
    pub(super) fn dated(self, head: Head, time: u64) -> u64 {
        self.pack(time, head.position)
    }

    /// The word of a claim of the next `cost` slots.
    #[inline]
    pub(super) fn claimed(self, head: Head, time: u64, cost: u64) -> Word {
        Word::live(self.pack(time, self.after(head.position, cost)))
    }

    /// The position `places` after, at most as many as there are slots.
    #[inline]
    fn after(self, position: u64, places: u64) -> u64 {
        let next = position + places;
        if next < 2 * self.ring { next } else { next - 2 * self.ring }
    }

    /// The position `places` before, at most as many as there are slots.
    #[inline]
    fn before(self, position: u64, places: u64) -> u64 {
        self.after(self.after(position, self.ring), self.ring - places)
    }

    /// The parity that the lap of this position writes.
    #[inline]
    fn parity(self, position: u64) -> u64 {
        u64::from(position < self.ring)
    }

    /// The time of a claim with these time bits, from the entry before it and from `born`; whatever the reading of
    /// the thread that asks.
    ///
    /// A claim is dated within half a span of the entry before it or of `born`, for one after a longer gap raises that
    /// first. (Less a part of the span, for another thread may have raised `born` since by a newer reading.) The
    /// exception is a claim that heals: it is of the whole ring, and dated *before* the entry before it, by up to half
    /// a span. One that heals a longer glitch is taken to be later than it is, and healed again.
    fn date(self, before: u64, born: u64, time_bits: u64, is_whole: bool) -> u64 {
        let floor = before.max(born.saturating_sub(self.apart_max()));
        let after = time_bits.wrapping_sub(floor) & (self.span() - 1);
        let healed = floor.checked_sub(self.span() - after);
        match healed {
            Some(time) if is_whole && floor == before && after >= self.span() / 2 => time,
            _ => floor.saturating_add(after).min(TIME_MAX),
        }
    }
}

/// The bit of a slot that was wiped.
const WIPED: u64 = 1 << 63;

/// The value of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot(u64);

impl Slot {
    #[inline]
    fn new(time: u64, parity: u64) -> Self {
        Self((time + 1) << 1 | parity)
    }

    /// The slot without its entry, in its lap: as no slot was before, or an exchange that was prepared long ago might
    /// succeed.
    fn wiped(self, stamp: Stamp) -> Self {
        Self(WIPED | stamp.salt() << 1 & !WIPED | self.parity())
    }

    #[inline]
    fn time(self) -> Option<u64> {
        if self.0 & WIPED == 0 { (self.0 >> 1).checked_sub(1) } else { None }
    }

    #[inline]
    fn parity(self) -> u64 {
        self.0 & 1
    }
}

/// The slots of one log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ring<'a> {
    slots: &'a [AtomicU64],
    layout: Layout,
}

impl<'a> Ring<'a> {
    #[inline]
    pub(super) fn new(slots: &'a [AtomicU64], layout: Layout) -> Self {
        Self { slots, layout }
    }

    #[inline]
    fn slot(&self, position: u64) -> &'a AtomicU64 {
        let place = if position < self.layout.ring { position } else { position - self.layout.ring };
        #[expect(clippy::cast_possible_truncation, reason = "a place is below 2^18")]
        &self.slots[place as usize]
    }

    #[inline]
    fn load(&self, position: u64) -> Slot {
        // ORDERING: Acquire pairs with the Release of `enter`, and keeps this load before the confirming one of the
        // head: a slot read under an unchanged head was not entered by a later claim.
        Slot(self.slot(position).load(Ordering::Acquire))
    }

    /// The entry `place` places after the oldest.
    #[inline]
    pub(super) fn entry(&self, head: Head, place: u64) -> Option<u64> {
        self.load(self.layout.after(head.position, place)).time()
    }

    /// The entries, from the oldest.
    pub(super) fn entries(&self, head: Head) -> impl Iterator<Item = u64> {
        let ring = *self;
        (0..ring.layout.ring).filter_map(move |place| ring.entry(head, place))
    }

    /// The newest entry.
    #[inline]
    pub(super) fn newest(&self, head: Head) -> Option<u64> {
        self.load(self.layout.before(head.position, 1)).time()
    }

    /// The newest entry, once the latest claim is entered: every slot before the head's position then is.
    #[inline]
    pub(super) fn settled_newest(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        born: u64,
    ) -> Result<Option<u64>, Retry> {
        let head = self.layout.head(word.value());
        // Slots are entered in order: the last one tells.
        let last = self.layout.before(head.position, 1);
        let slot = self.load(last);
        if slot.parity() == self.layout.parity(last) {
            return Ok(slot.time());
        }
        self.finish(state, word, head, born)?;
        Ok(self.newest(head))
    }

    /// Leaves no entry. The caller holds the slot of the table, and every claim is entered.
    pub(super) fn wipe(&self, stamp: Stamp) {
        for slot in self.slots {
            // ORDERING: Acquire as in `load`, Release as in `enter`: the exchange that frees the slot publishes it. A
            // claimant of an earlier lap may still come late: it does not find what it expects, before or after.
            let wiped = Slot(slot.load(Ordering::Acquire)).wiped(stamp);
            slot.store(wiped.0, Ordering::Release);
        }
    }

    /// The value of a head behind these entries, from the oldest, in a ring that nobody else sees: as if it were new and
    /// each had been claimed.
    pub(super) fn fill(&self, times: &[u64]) -> u64 {
        for (place, slot) in self.slots.iter().enumerate() {
            let entered = times.get(place).map_or(Slot(0), |time| Slot::new(*time, self.layout.parity(0)));
            // ORDERING: Relaxed: the exchange that makes the state a key's publishes the store.
            slot.store(entered.0, Ordering::Relaxed);
        }
        self.layout.pack(times.last().copied().unwrap_or(0), times.len() as u64)
    }

    #[inline]
    fn is_open(&self, position: u64) -> bool {
        self.load(position).parity() != self.layout.parity(position)
    }

    /// Enters what the latest claim has left open.
    #[cold]
    #[inline(never)]
    fn finish(&self, state: State<'_, impl Lens>, word: Word, head: Head, born: u64) -> Result<(), Retry> {
        let slots = self.layout.ring;
        // Of the last positions, as many as there are slots, a prefix is entered. `open` is the number of open ones, at least.
        let (mut entered, mut open) = (0, slots);
        while entered < open {
            let middle = entered + (open - entered) / 2;
            if self.is_open(self.layout.before(head.position, slots - middle)) {
                open = middle;
            } else {
                entered = middle + 1;
            }
        }
        let open = slots - entered;
        // With nothing entered the last position still holds the newest entry of the lap before.
        let last = if entered == 0 { 1 } else { open + 1 };
        let before = self.load(self.layout.before(head.position, last)).time().unwrap_or(0);
        let time = self.layout.date(before, born, head.time_bits, entered == 0);
        self.enter_all(state, word, self.layout.before(head.position, open), open, time)
    }

    /// Claims the next `cost` slots for `time` and enters them: the word that it leaves.
    #[inline]
    pub(super) fn claim(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        head: Head,
        time: u64,
        cost: u64,
    ) -> Result<Word, Retry> {
        let first = self.load(head.position);
        let claimed = self.layout.claimed(head, time, cost);
        state.exchange(word, claimed)?;
        // Read before the claim was won, so nobody had entered the slot: this exchange needs no look at the head.
        self.enter(head.position, first, time);
        if cost > 1 {
            // Whoever moves the head on has entered the rest, so losing it there is no loss.
            let _ = self.enter_all(state, claimed, self.layout.after(head.position, 1), cost - 1, time);
        }
        Ok(claimed)
    }

    /// Enters `count` slots from `position` on, in order, while the head stays `word`.
    fn enter_all(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        position: u64,
        count: u64,
        time: u64,
    ) -> Result<(), Retry> {
        for place in 0..count {
            let position = self.layout.after(position, place);
            let slot = self.load(position);
            // Unchanged after the load: the slot's value is not of a later lap.
            state.confirm(word)?;
            if slot.parity() != self.layout.parity(position) {
                self.enter(position, slot, time);
            }
        }
        Ok(())
    }

    #[inline]
    fn enter(&self, position: u64, open: Slot, time: u64) {
        let entered = Slot::new(time, self.layout.parity(position));
        // ORDERING: Release pairs with the Acquire of `load`. Losing means that another thread has entered the slot.
        let _ = self.slot(position).compare_exchange(open.0, entered.0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::SLACK_NANOS;

    fn layout(limit: u64) -> Layout {
        Layout::new(limit).expect("a limit that fits")
    }

    #[test]
    fn a_head_packed_is_unpacked_as_it_was() {
        for limit in [1, 2, 3, 1_000, 262_144] {
            let layout = layout(limit);
            for position in [0, limit - 1, limit, 2 * limit - 1] {
                let time = layout.span() * 5 + 123_456_789;
                let head = layout.head(layout.pack(time, position));
                assert_eq!(head, Head { time_bits: time % layout.span(), position });
                let dated = layout.head(layout.dated(head, 77));
                assert_eq!(dated, Head { time_bits: 77, position });
            }
        }
    }

    #[test]
    fn positions_go_round_two_laps() {
        let layout = layout(3);
        assert_eq!(
            [layout.after(5, 1), layout.after(4, 3), layout.before(0, 1), layout.before(2, 3)],
            [0, 1, 5, 5]
        );
        assert_eq!([layout.parity(0), layout.parity(2), layout.parity(3), layout.parity(5)], [1, 1, 0, 0]);
    }

    #[test]
    fn the_time_bits_span_13_days_at_a_limit_of_1000_and_an_hour_at_the_largest() {
        const DAY: u64 = 24 * 3600 * 1_000_000_000;
        assert!(layout(1_000).span() > 13 * DAY);
        assert!(layout(262_144).span() >= SPAN_MIN_NANOS);
        assert_eq!(
            Layout::new(262_145).err(),
            Some(BuildError::LimitTooLarge { limit: 262_145, max: 262_144 })
        );
    }

    /// Times that a claim comes after, or before if it heals.
    fn floors(layout: Layout) -> [u64; 6] {
        let span = layout.span();
        [0, 1, span / 2, span - 1, span, 7 * span + 12_345]
    }

    #[test]
    fn a_claim_within_half_a_span_of_the_time_before_is_dated_exactly() {
        let layout = layout(100_000);
        let span = layout.span();
        for floor in floors(layout) {
            for gap in [0, 1, SLACK_NANOS + 1, span / 4, span / 2 - 1] {
                let (time, bits) = (floor + gap, (floor + gap) % span);
                for is_whole in [false, true] {
                    assert_eq!(layout.date(floor, 0, bits, is_whole), time);
                    // From `born`, though another thread raised it since.
                    assert_eq!(layout.date(0, floor + layout.apart_max(), bits, is_whole), time);
                }
            }
            let next = floor.saturating_add(span - 1);
            assert_eq!(
                layout.date(floor, 0, next % span, false),
                next,
                "only a claim of the whole ring heals"
            );
        }
    }

    #[test]
    fn a_claim_of_the_whole_ring_that_heals_is_dated_up_to_half_a_span_back() {
        let layout = layout(100_000);
        let span = layout.span();
        for before in floors(layout) {
            for back in [1, SLACK_NANOS + 1, span / 2] {
                let Some(time) = before.checked_sub(back) else { continue };
                assert_eq!(layout.date(before, 0, time % span, true), time);
                assert_eq!(layout.date(before, before + layout.apart_max(), time % span, true), time);
                assert_eq!(layout.date(before, 0, time % span, false), time + span);
            }
            // Too long ago to be told: later than it is, and never earlier.
            let time = before + span / 2 - 1;
            assert_eq!(layout.date(before, 0, time % span, true), time);
        }
    }

    #[test]
    fn a_slot_that_was_wiped_was_never_entered_and_is_no_other_that_was() {
        let stamp = |time| {
            let word = AtomicU64::new(0);
            let born = crate::algorithm::sliding_log::born::Born::new(&word);
            born.raise(time);
            born.load()
        };
        for parity in [0, 1] {
            let wiped = [Slot(parity), Slot::new(7, parity), Slot::new(TIME_MAX, parity)]
                .map(|slot| [slot.wiped(stamp(7)), slot.wiped(stamp(8)), slot.wiped(stamp(TIME_MAX))]);
            for [first, second, last] in wiped {
                assert_eq!(
                    [first, second, last].map(|slot| (slot.time(), slot.parity())),
                    [(None, parity); 3]
                );
                assert!(first != second && first != Slot(parity) && second != last);
            }
        }
    }

    #[test]
    fn a_slot_of_zeros_was_never_entered() {
        assert_eq!((Slot(0).time(), Slot(0).parity()), (None, 0));
        let slot = Slot::new(TIME_MAX, 1);
        assert_eq!((slot.time(), slot.parity()), (Some(TIME_MAX), 1));
    }

    /// A head and a ring.
    struct Log {
        head: AtomicU64,
        slots: Vec<AtomicU64>,
        layout: Layout,
    }

    impl Log {
        /// With entries of these times.
        fn new(limit: u64, times: impl IntoIterator<Item = u64>) -> Self {
            let layout = layout(limit);
            let slots = (0..limit).map(|_| AtomicU64::new(0)).collect();
            let log = Self { head: AtomicU64::new(Word::live(0).raw()), slots, layout };
            for time in times {
                log.claim(time, 1);
            }
            log
        }

        fn state(&self) -> State<'_> {
            State::new(&self.head, &[])
        }

        fn ring(&self) -> Ring<'_> {
            Ring::new(&self.slots, self.layout)
        }

        fn claim(&self, time: u64, cost: u64) {
            let word = self.state().load();
            let head = self.layout.head(word.value());
            self.ring().claim(self.state(), word, head, time, cost).expect("nobody else claims");
        }

        /// A claim whose claimant is stopped when it has entered so many of its slots.
        fn claim_and_stop(&self, time: u64, cost: u64, entered: u64) {
            let word = self.state().load();
            let head = self.layout.head(word.value());
            let claimed = self.layout.claimed(head, time, cost);
            self.state().exchange(word, claimed).expect("nobody else claims");
            self.ring()
                .enter_all(self.state(), claimed, head.position, entered, time)
                .expect("nobody else claims");
        }

        fn settle(&self, born: u64) -> Result<Option<u64>, Retry> {
            self.ring().settled_newest(self.state(), self.state().load(), born)
        }

        fn slots(&self) -> Vec<Slot> {
            (0..self.layout.ring).map(|position| self.ring().load(position)).collect()
        }
    }

    /// Does `check` to a log whose claimant was stopped at any slot, and to one whose claimant was not: for all places
    /// in small rings, with entries `spacing` apart and a claim `gap` after the last.
    fn for_each_stopped_claim(
        spacing: fn(Layout) -> u64,
        gap: fn(Layout) -> u64,
        check: impl Fn(&Log, &Log, u64),
    ) {
        for limit in 1..=5 {
            let layout = layout(limit);
            for before in 1..=2 * limit {
                let times = || (1..=before).map(|number| number * spacing(layout));
                let time = before * spacing(layout) + gap(layout);
                for (cost, entered) in
                    (1..=limit).flat_map(|cost| (0..=cost).map(move |entered| (cost, entered)))
                {
                    let (stopped, whole) = (Log::new(limit, times()), Log::new(limit, times()));
                    stopped.claim_and_stop(time, cost, entered);
                    whole.claim(time, cost);
                    check(&stopped, &whole, time);
                }
            }
        }
    }

    #[test]
    fn a_claim_stopped_anywhere_is_entered_as_its_claimant_would_have() {
        let spacings: [fn(Layout) -> u64; 2] = [|_| 1000, |layout| layout.span() / 2];
        let gaps: [fn(Layout) -> u64; 4] = [|_| 0, |_| 1, |layout| layout.span() / 8, Layout::gap_max];
        for (spacing, gap) in spacings.into_iter().flat_map(|spacing| gaps.map(|gap| (spacing, gap))) {
            for_each_stopped_claim(spacing, gap, |stopped, whole, time| {
                assert_eq!(stopped.settle(0), Ok(Some(time)));
                assert_eq!(stopped.slots(), whole.slots());
            });
        }
    }

    #[test]
    fn a_claim_after_a_whole_span_is_dated_from_born_though_another_thread_raised_it_further() {
        for_each_stopped_claim(
            |_| 1000,
            |layout| layout.span() + 77,
            |stopped, whole, time| {
                let raised = time + stopped.layout.span() / 4;
                assert_eq!(stopped.settle(raised), Ok(Some(time)));
                assert_eq!(stopped.slots(), whole.slots());
            },
        );
    }

    #[test]
    fn a_claim_that_heals_and_was_stopped_is_dated_exactly_whoever_comes() {
        let edge = (3 << 40) + SLACK_NANOS;
        for limit in 1..=5 {
            for ahead in [1, SLACK_NANOS, 3600 * 1_000_000_000] {
                let before = edge + ahead;
                let log = Log::new(limit, (0..limit).map(|_| before));
                log.claim_and_stop(edge, limit, 0);
                assert_eq!(log.settle(0), Ok(Some(edge)));
                assert!(log.slots().iter().all(|slot| slot.time() == Some(edge)));
            }
        }
    }

    #[test]
    fn whoever_comes_late_to_a_claim_enters_nothing() {
        let log = Log::new(3, [1000, 2000]);
        let late = log.state().load();
        log.claim_and_stop(3000, 2, 1);
        let before = log.slots();
        assert_eq!(log.ring().enter_all(log.state(), late, 0, 3, 9000), Err(Retry::Lost));
        assert_eq!(log.slots(), before);
    }
}
