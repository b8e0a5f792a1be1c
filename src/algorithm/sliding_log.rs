//! Sliding-window log: the exact one, as a ring of the last `limit` admissions' times.
//!
//! # Why one slot decides
//!
//! A request of cost `n` is admissible if and only if the entry `n - 1` places after the oldest of the last `limit`
//! admissions has left the window: then at most `limit - n` are in it. One slot read decides, where the classic
//! queue under a lock drops entries one by one.
//!
//! # The words
//!
//! The main word is the head; its value is `[time bits | position]`: the position, modulo `2 * limit`, at which the
//! next admission is entered, and the low bits of the time of the latest claim. A *claim* is one exchange of the
//! head. It publishes the batch's time too, so that any thread can finish entering it: a claimant that is stopped
//! stops nobody. The ring's slots (see `ring.rs`) are entered in order, and nobody claims before the claim before is
//! entered in full; so the claimed slots that are still open are always a suffix of the latest claim.
//!
//! One word more, `born` (see `born.rs`), is a time that no later entry is dated before. In a keyed table it carries the
//! stamp that the other algorithms keep in the main word. And a claim that comes so late after the entry before it that
//! its time bits would not tell when sets it first, so that whoever finishes a claim knows its time.

mod adjust;
mod born;
mod ring;
mod saved;

use crate::algorithm::state::{Lens, Retry, State};
use crate::algorithm::word::{TIME_MAX, Word};
use crate::algorithm::{Algorithm, Answer, Intent, Policy, Reset, Resumption, SLACK_NANOS};
use crate::clock::Clock;
use crate::decision::{Decision, Outcome, View};
use crate::error::BuildError;
use crate::quota::Quota;
use crate::sync::{AtomicU64, zeroed_words};
use born::{Born, Stamp};
use ring::{Head, Layout, Ring};

/// The sliding-window log: never more than `limit` permits in any window `(t - period, t]`.
///
/// Exact, at the price of memory: `limit + 3` words of 8 bytes per key. For limits to about 1,000 and short windows;
/// possible up to a limit of 262,144.
///
/// ```
/// use tollgate::{Quota, SlidingLog};
///
/// let limiter = SlidingLog::new(Quota::per_minute(5)).build()?;
/// assert!(limiter.check_n(5).is_allowed());
/// assert!(limiter.check().retry_after().is_some());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// A decision reads one entry, O(1), and an admission of `n` permits enters `n`. Telling what remains takes
/// O(log limit) more, unless [`without_remaining`](Self::without_remaining) turns it off.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SlidingLog {
    pub(crate) quota: Quota,
    pub(crate) tell_remaining: bool,
}

impl SlidingLog {
    /// A log over the quota's period.
    pub const fn new(quota: Quota) -> Self {
        Self { quota, tell_remaining: true }
    }

    /// Saves the search for what remains: [`Decision::remaining`] is then `None`.
    pub const fn without_remaining(mut self) -> Self {
        self.tell_remaining = false;
        self
    }
}

impl Algorithm for SlidingLog {
    type Policy = SlidingLogPolicy;

    fn policy<C: Clock>(&self, _clock: &C) -> Result<SlidingLogPolicy, BuildError> {
        self.sized(self.quota.limit())
    }

    fn resumed_policy<C: Clock>(&self, clock: &C, at: &Resumption) -> Result<SlidingLogPolicy, BuildError> {
        Ok(self.policy(clock)?.continuing(at))
    }

    fn with_quota(&self, quota: Quota) -> Self {
        Self { quota, ..*self }
    }
}

impl SlidingLog {
    /// The policy with a ring of `slots`, at least the limit.
    fn sized(&self, slots: u64) -> Result<SlidingLogPolicy, BuildError> {
        let (limit, period) = (self.quota.limit(), self.quota.period_nanos()?);
        let layout = Layout::new(slots)?;
        Ok(SlidingLogPolicy { limit, period, layout, tell_remaining: self.tell_remaining, shift: 0 })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SlidingLogPolicy {
    /// At most the slots of the ring.
    limit: u64,
    period: u64,
    layout: Layout,
    tell_remaining: bool,
    /// Added to a reading, so that a restored log can hold entries from before its clock's origin; at most the period.
    shift: u64,
}

/// What an attempt reads of the log, valid while the head is unchanged.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// The time of the newest entry.
    newest: Option<u64>,
    born: Stamp,
}

impl Reading {
    /// The newest time that the state has recorded.
    #[inline]
    fn recorded(&self) -> u64 {
        self.born.time().max(self.newest.unwrap_or(0))
    }

    #[inline]
    fn is_ahead(&self, now: u64) -> bool {
        is_ahead(self.recorded(), now)
    }
}

/// Whether a time lies in the future of the reading `now` by more than the slack explains.
#[inline]
fn is_ahead(time: u64, now: u64) -> bool {
    time.saturating_sub(now) > SLACK_NANOS
}

impl SlidingLogPolicy {
    /// A reading in the time that entries are dated in; time stands still at the last one that words tell.
    #[inline]
    fn shifted(&self, now: u64) -> u64 {
        now.saturating_add(self.shift).min(TIME_MAX)
    }

    /// The entry `place` places after the oldest of the last `limit` admissions.
    #[inline]
    fn entry(&self, ring: Ring<'_>, head: Head, place: u64) -> Option<u64> {
        ring.entry(head, self.layout.ring() - self.limit + place)
    }

    /// Whether an entry of this time is in the window that ends at `now`.
    #[inline]
    fn counts(&self, entry: Option<u64>, now: u64) -> bool {
        entry.is_some_and(|time| now.saturating_sub(time) < self.period)
    }

    #[inline]
    fn ring<'a>(&self, state: State<'a, impl Lens>) -> Ring<'a> {
        Ring::new(&state.extra[1..], self.layout)
    }

    #[inline]
    fn born(state: State<'_, impl Lens>) -> Born<'_> {
        Born::new(&state.extra[0])
    }

    /// Reads the state, once the latest claim is entered in full.
    #[inline]
    fn read(&self, state: State<'_, impl Lens>, word: Word) -> Result<Reading, Retry> {
        let born = Self::born(state).load();
        let newest = self.ring(state).settled_newest(state, word, born.time())?;
        Ok(Reading { newest, born })
    }

    /// How many of the last `limit` admissions have left the window at `now`, given that the first `known` have.
    fn departed(&self, ring: Ring<'_>, head: Head, known: u64, now: u64) -> u64 {
        let gone = |place| !self.counts(self.entry(ring, head, place), now);
        if known == self.limit || !gone(known) {
            return known;
        }
        if gone(self.limit - 1) {
            return self.limit;
        }
        // Entries are dated in order: `low` has left, `high` has not.
        let (mut low, mut high) = (known, self.limit - 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if gone(middle) { low = middle } else { high = middle }
        }
        high
    }

    /// What remains once `cost` of the departed are taken.
    #[inline]
    fn remaining(&self, ring: Ring<'_>, head: Head, known: u64, cost: u64, now: u64) -> Option<u64> {
        self.tell_remaining.then(|| self.departed(ring, head, known, now) - cost)
    }

    #[inline]
    fn decide(&self, outcome: Outcome, remaining: Option<u64>, details: Details) -> Answer<SlidingLogView> {
        let Details { now, free_at, empty_at } = details;
        Answer::new(outcome, SlidingLogView { limit: self.limit, remaining, now, free_at, empty_at })
    }

    /// When the window is empty again if nothing more is charged: 0 if it is.
    #[inline]
    fn empty_at(&self, newest: Option<u64>, now: u64) -> u64 {
        match newest {
            Some(newest) if self.counts(Some(newest), now) => newest.saturating_add(self.period),
            _ => 0,
        }
    }
}

/// The times a decision tells; see [`SlidingLogView`].
#[derive(Clone, Copy)]
struct Details {
    now: u64,
    free_at: u64,
    empty_at: u64,
}

impl Policy for SlidingLogPolicy {
    type View = SlidingLogView;
    type Extra = Box<[AtomicU64]>;

    #[inline]
    fn decision(Answer { outcome, view, .. }: Answer<SlidingLogView>) -> Decision {
        Decision::new(View::SlidingLog(outcome.into(), view))
    }

    #[inline]
    fn limit(&self) -> u64 {
        self.limit
    }

    fn horizon(&self) -> u64 {
        TIME_MAX - self.shift
    }

    fn extra_words(&self) -> usize {
        1 + self.layout.slots()
    }

    fn extra(&self) -> Result<Self::Extra, BuildError> {
        let words = self.extra_words();
        zeroed_words(words).map_err(|_| BuildError::OutOfMemory { bytes: words as u128 * 8 })
    }

    fn initial(&self, _now: u64) -> u64 {
        0
    }

    fn unknown(&self, now: u64, cost: u64) -> Answer<SlidingLogView> {
        let outcome = if cost > self.limit { Outcome::TooLarge } else { Outcome::Allowed };
        let (remaining, now) = (self.tell_remaining.then_some(self.limit), self.shifted(now));
        self.decide(outcome, remaining, Details { now, free_at: 0, empty_at: 0 })
    }

    #[inline]
    fn attempt(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<SlidingLogView>, Retry> {
        if self.limit == 0 {
            return Ok(self.unknown(now, cost));
        }
        let (ring, head) = (self.ring(state), self.layout.head(word.value()));
        let (reading, now) = (self.read(state, word)?, self.shifted(now));
        if intent.heals() && reading.is_ahead(now) {
            return Err(Retry::Ahead);
        }
        let newest = reading.newest;
        // A late thread counts as of the newest time that is recorded.
        let effective = now.max(reading.recorded());
        if cost == 0 || cost > self.limit {
            let outcome = if cost == 0 { Outcome::Allowed } else { Outcome::TooLarge };
            let remaining = self.remaining(ring, head, 0, 0, effective);
            let empty_at = self.empty_at(newest, effective);
            state.confirm(word)?;
            return Ok(self.decide(outcome, remaining, Details { now, free_at: 0, empty_at }));
        }
        // The last of the entries that this request would replace.
        let replaced = self.entry(ring, head, cost - 1);
        if self.counts(replaced, effective) {
            if intent.heals() && replaced.is_some_and(|time| is_ahead(time, now)) {
                return Err(Retry::Ahead);
            }
            let remaining = if cost == 1 {
                self.tell_remaining.then_some(0)
            } else {
                self.remaining(ring, head, 0, 0, effective)
            };
            let free_at = replaced.unwrap_or(0).saturating_add(self.period);
            let empty_at = self.empty_at(newest, effective);
            state.confirm(word)?;
            return Ok(self.decide(Outcome::Denied, remaining, Details { now, free_at, empty_at }));
        }
        if !intent.charges() {
            let remaining = self.remaining(ring, head, cost, 0, effective);
            let empty_at = self.empty_at(newest, effective);
            state.confirm(word)?;
            return Ok(self.decide(Outcome::Allowed, remaining, Details { now, free_at: 0, empty_at }));
        }
        let remaining = self.remaining(ring, head, cost, cost, effective);
        if effective - newest.unwrap_or(0) > self.layout.gap_max() {
            // The head's time bits alone would not tell how many spans have passed. Replaced though it may be as late
            // already: a healer that was stopped before it lowers what it has read must fail from here on.
            Self::born(state).replace(reading.born, effective)?;
        }
        let claimed = ring.claim(state, word, head, effective, cost)?;
        let empty_at = effective.saturating_add(self.period);
        let answer = self.decide(Outcome::Allowed, remaining, Details { now, free_at: 0, empty_at });
        Ok(answer.charging(cost, claimed))
    }

    /// An entry cannot be taken back from the ring: it has replaced another. All of them can, by whoever holds the slot.
    fn reset(&self, state: State<'_, impl Lens>, word: Word, _now: u64) -> Result<Reset, Retry> {
        self.read(state, word).map(|_| Reset::Hold)
    }

    /// Later entries are dated after all that are wiped, by at least 1 ns, and so are later wipings: neither a head nor a
    /// slot recurs that a claimant may be stopped with. Entries of a glitch are not waited for.
    fn wipe(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> u64 {
        let (ring, head) = (self.ring(state), self.layout.head(word.value()));
        let now = self.shifted(now);
        let newest = ring.newest(head).filter(|newest| !is_ahead(*newest, now));
        let stamp = Self::born(state).pass(newest.map_or(now, |newest| now.max(newest + 1)));
        ring.wipe(stamp);
        self.layout.dated(head, stamp.time())
    }

    fn available(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<u64, Retry> {
        if self.limit == 0 {
            return Ok(0);
        }
        let reading = self.read(state, word)?;
        let head = self.layout.head(word.value());
        let available = self.departed(self.ring(state), head, 0, self.shifted(now).max(reading.recorded()));
        state.confirm(word)?;
        Ok(available)
    }

    fn is_ahead(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> bool {
        self.limit > 0 && self.read(state, word).is_ok_and(|reading| reading.is_ahead(self.shifted(now)))
    }

    fn heal(&self, state: State<'_, impl Lens>, word: Word, now: u64) {
        let (ring, head) = (self.ring(state), self.layout.head(word.value()));
        let now = self.shifted(now);
        let edge = now.saturating_add(SLACK_NANOS).min(TIME_MAX);
        let _ = self.read(state, word).and_then(|reading| {
            // An entry that came back (see `ring.rs`) may lie ahead of the newest.
            let is_needed = reading.is_ahead(now) || ring.entries(head).any(|time| is_ahead(time, now));
            if !is_needed {
                return Ok(());
            }
            let _ = ring.claim(state, word, head, edge, self.layout.ring())?;
            // Not before: a claim that was decided on `born` as it is may come first, and is dated by it.
            if reading.born.time() > edge { Self::born(state).replace(reading.born, edge) } else { Ok(()) }
        });
    }

    fn stale(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Option<u64> {
        let (Reading { newest, .. }, now) = (self.read(state, word).ok()?, self.shifted(now));
        let is_stale = !self.counts(newest, now) && Self::born(state).load().time() < now;
        is_stale.then(|| self.layout.dated(self.layout.head(word.value()), now))
    }

    fn stale_at(&self, state: State<'_, impl Lens>, word: Word) -> Option<u64> {
        let newest = self.ring(state).newest(self.layout.head(word.value()));
        let left = newest.map_or(0, |newest| newest.saturating_add(self.period));
        let at = left.max(Self::born(state).load().time() + 1);
        Some(at.saturating_sub(self.shift)).filter(|_| at <= TIME_MAX)
    }

    fn prepare(&self, state: State<'_, impl Lens>, value: u64, newest: u64) -> u64 {
        Self::born(state).raise(self.shifted(newest));
        value
    }

    fn seal(&self, state: State<'_, impl Lens>, now: u64) {
        Self::born(state).raise(self.shifted(now));
    }
}

/// What was found while deciding: the ring moves on.
#[derive(Debug, Clone, Copy)]
pub struct SlidingLogView {
    limit: u64,
    remaining: Option<u64>,
    now: u64,
    /// When the entry in the way leaves the window.
    free_at: u64,
    /// When the newest entry leaves the window; 0 if none is in it.
    empty_at: u64,
}

impl SlidingLogView {
    fn wait(&self, until: u64) -> Option<u64> {
        if until > TIME_MAX { None } else { Some(until.saturating_sub(self.now)) }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn remaining(&self) -> Option<u64> {
        self.remaining
    }

    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.wait(self.free_at)
    }

    pub(crate) fn reset_after(&self) -> Option<u64> {
        self.wait(self.empty_at)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::algorithm::policy::tests::Lone;
    use crate::sync::Ordering;

    const PERIOD: u64 = 1000;

    fn log(limit: u64) -> Lone<SlidingLogPolicy> {
        Lone::new(&SlidingLog::new(Quota::new(limit, Duration::from_nanos(PERIOD))))
    }

    fn born(log: &Lone<SlidingLogPolicy>) -> u64 {
        SlidingLogPolicy::born(log.state()).load().time()
    }

    #[test]
    fn a_claim_after_a_longer_time_than_its_bits_tell_raises_born_first() {
        let gap_max = log(3).policy.layout.gap_max();
        for (gap, expected) in [(gap_max, 0), (gap_max + 1, PERIOD + gap_max + 1)] {
            let log = log(3);
            log.charge(PERIOD, 1);
            log.charge(PERIOD + gap, 1);
            assert_eq!(born(&log), expected);
        }
    }

    #[test]
    fn a_log_is_ahead_when_what_it_recorded_is_further_ahead_than_the_slack() {
        let now = 1 << 40;
        let (entered, raised) = (log(3), log(3));
        entered.charge(now + SLACK_NANOS, 1);
        SlidingLogPolicy::born(raised.state()).raise(now + SLACK_NANOS);
        for log in [entered, raised] {
            assert!(!log.is_ahead(now) && log.is_ahead(now - 1));
            assert_eq!(log.ask(now - 1, 1, Intent::Charge), Err(Retry::Ahead));
            assert!(log.ask(now, 1, Intent::Charge).is_ok());
            assert!(log.ask(now - 1, 1, Intent::ChargeAt).is_ok(), "the caller's time is the caller's word");
        }
        assert!(!log(0).is_ahead(0), "nothing is recorded");
    }

    #[test]
    fn a_log_that_is_healed_is_spent_as_of_the_slack_from_now() {
        let now = 1 << 40;
        let edge = now + SLACK_NANOS;
        for (raised, expected) in [(edge + 5, edge), (edge, edge), (edge - 1, edge - 1)] {
            let log = log(3);
            log.charge(edge + 1, 2);
            SlidingLogPolicy::born(log.state()).raise(raised);
            log.heal(now);
            assert_eq!(born(&log), expected);
            assert!(!log.is_ahead(now));
            assert_eq!(log.ask(edge + PERIOD - 1, 1, Intent::Peek), Ok(Outcome::Denied));
            assert_eq!(log.ask(edge + PERIOD, 3, Intent::Peek), Ok(Outcome::Allowed));
        }
    }

    #[test]
    fn a_log_that_was_freed_or_recycled_later_than_its_entries_left_is_stale_after_that() {
        let log = log(3);
        log.charge(5, 2);
        let freed = 5 + PERIOD + 2;
        log.policy.seal(log.state(), freed);
        assert_eq!((log.stale(freed), log.stale_at()), (None, Some(freed + 1)));
        let layout = log.policy.layout;
        let freed_again = layout.dated(layout.head(log.word().value()), freed + 1);
        assert_eq!(log.stale(freed + 1), Some(freed_again));
        for (newest, stale_at) in [(TIME_MAX - 1, Some(TIME_MAX)), (TIME_MAX, None)] {
            assert_eq!(log.policy.prepare(log.state(), 77, newest), 77);
            assert_eq!(log.stale_at(), stale_at);
        }
    }

    #[test]
    fn a_log_that_is_being_healed_is_not_ahead_and_one_that_moved_on_is_not() {
        let now = 1 << 40;
        let (log, healed) = (log(1), log(1));
        for log in [&log, &healed] {
            log.charge(now + SLACK_NANOS + 5, 1);
        }
        healed.heal(now);
        // A claim that heals, whose healer was stopped before it entered anything.
        let before = log.word();
        log.state().exchange(before, healed.word()).expect("nobody else claims");
        let is_ahead = |word| log.policy.is_ahead(log.state(), word, now);
        assert!(!is_ahead(log.word()));
        // That entered it; whoever still has the word before finds a slot of the next lap.
        assert!(!is_ahead(before));
    }

    /// A log of 2 in 20 s that is spent at `SPENT`, and of which a glitch more than a span wide has raised `born`.
    fn glitched() -> (Lone<SlidingLogPolicy>, u64) {
        let log = Lone::new(&SlidingLog::new(Quota::new(2, Duration::from_secs(20))));
        log.charge(SPENT, 2);
        let glitch = SPENT + log.policy.layout.span();
        SlidingLogPolicy::born(log.state()).raise(glitch);
        (log, glitch)
    }

    const SPENT: u64 = 1 << 58;
    const NOW: u64 = SPENT + 15_000_000_000;

    /// The caller's time is in the glitch's window. The claimant is stopped before it enters anything.
    fn claim_at_and_stop(log: &Lone<SlidingLogPolicy>, glitch: u64) {
        let word = log.word();
        let reading = log.policy.read(log.state(), word).expect("settled");
        assert_eq!(reading.recorded(), glitch);
        SlidingLogPolicy::born(log.state()).replace(reading.born, glitch).expect("nobody else changes it");
        let layout = log.policy.layout;
        let claimed = layout.claimed(layout.head(word.value()), glitch, 2);
        log.state().exchange(word, claimed).expect("nobody else claims");
    }

    #[test]
    fn a_claim_that_comes_before_the_one_that_heals_is_dated_by_what_it_read() {
        let (log, glitch) = glitched();
        let word = log.word();
        claim_at_and_stop(&log, glitch);
        log.policy.heal(log.state(), word, NOW);
        assert_eq!(born(&log), glitch, "the healer came too late");
        costs_one_more_capacity(&log);
    }

    #[test]
    fn a_claim_that_is_dated_by_born_replaces_it_though_it_is_as_late_already() {
        let (log, glitch) = glitched();
        let before = SlidingLogPolicy::born(log.state()).load();
        log.charge(NOW, 2);
        let after = SlidingLogPolicy::born(log.state()).load();
        assert_eq!((before.time(), after.time()), (glitch, glitch));
        assert_ne!(before, after);
        costs_one_more_capacity(&log);
    }

    #[test]
    fn a_healer_that_was_stopped_lowers_nothing_under_a_claim() {
        let (log, glitch) = glitched();
        // The healer has claimed the ring, and is stopped before it lowers `born`.
        let (word, born) = (log.word(), SlidingLogPolicy::born(log.state()).load());
        let (ring, layout) = (log.policy.ring(log.state()), log.policy.layout);
        let edge = NOW + SLACK_NANOS;
        assert_eq!(ring.claim(log.state(), word, layout.head(word.value()), edge, 2).map(|_| ()), Ok(()));
        claim_at_and_stop(&log, glitch);
        assert_eq!(SlidingLogPolicy::born(log.state()).replace(born, edge), Err(Retry::Lost));
        costs_one_more_capacity(&log);
    }

    /// Whoever comes next enters the claim as of the glitch, and heals it.
    fn costs_one_more_capacity(log: &Lone<SlidingLogPolicy>) {
        assert_eq!(log.ask(NOW, 1, Intent::Charge), Err(Retry::Ahead));
        log.heal(NOW);
        let free_at = NOW + SLACK_NANOS + log.policy.period;
        for (now, outcome) in
            [(NOW, Outcome::Denied), (free_at - 1, Outcome::Denied), (free_at, Outcome::Allowed)]
        {
            assert_eq!(log.ask(now, 2, Intent::Charge), Ok(outcome));
        }
    }

    #[test]
    fn an_entry_that_came_back_from_a_glitch_is_healed_by_whoever_meets_it() {
        let log = log(2);
        let now = 1 << 40;
        let glitch = now + SLACK_NANOS + 3600 * 1_000_000_000;
        log.charge(now, 2);
        log.charge(glitch, 2);
        // ORDERING: one thread.
        let entry = log.state().extra[1].load(Ordering::Relaxed);
        log.heal(now);
        // A claimant that was stopped across this and a healing at the same reading: the slot held the same before.
        // ORDERING: one thread.
        log.state().extra[1].store(entry, Ordering::Relaxed);
        let later = now + SLACK_NANOS + PERIOD;
        assert!(!log.is_ahead(later), "the newest entry is as it should be");
        assert_eq!(log.ask(later, 1, Intent::ChargeAt), Ok(Outcome::Denied));
        assert_eq!(log.ask(later, 1, Intent::Charge), Err(Retry::Ahead));
        log.heal(later);
        let free_at = later + SLACK_NANOS + PERIOD;
        for (now, outcome) in [(free_at - 1, Outcome::Denied), (free_at, Outcome::Allowed)] {
            assert_eq!(log.ask(now, 2, Intent::Charge), Ok(outcome));
        }
    }

    fn view(log: &Lone<SlidingLogPolicy>, now: u64) -> SlidingLogView {
        let answer = log.policy.attempt(log.state(), log.word(), now, 1, Intent::Peek);
        answer.expect("nobody else charges").view
    }

    #[test]
    fn an_older_reading_does_not_wait_for_entries_that_have_left_for_good() {
        let log = log(1);
        log.charge(5, 1);
        assert_eq!(view(&log, 5).reset_after(), Some(PERIOD));
        log.policy.seal(log.state(), 5 + PERIOD);
        assert_eq!(view(&log, 5).reset_after(), Some(0));
    }

    #[test]
    fn a_wait_ends_at_the_last_time_at_most() {
        for (charged, wait) in [(TIME_MAX - PERIOD, Some(PERIOD)), (TIME_MAX - PERIOD + 1, None)] {
            let log = log(1);
            log.charge(charged, 1);
            let refused = view(&log, charged);
            assert_eq!((refused.retry_after(), refused.reset_after()), (wait, wait));
        }
    }

    /// Resets the log as the table does: what `Table::free`, and the insertion of the next key, leave.
    fn reset(log: &Lone<SlidingLogPolicy>, now: u64) {
        let wiped = log.policy.wipe(log.state(), log.word(), now);
        log.state().exchange(log.word(), Word::live(wiped)).expect("nobody else writes");
    }

    /// A claimant is stopped before it enters its claim, while the log is reset at one reading again and again (by a
    /// coarse clock, or by `reset_at`), and wakes when another has claimed.
    #[test]
    fn a_claimant_stopped_across_resets_at_one_reading_backdates_no_later_claim() {
        for resets in 0..20 {
            let log = log(1);
            let (policy, state) = (log.policy, log.state());
            let slot = &state.extra[1];
            let claim_and_stop = |now| {
                let (expected, head) = (slot.load(Ordering::Acquire), policy.layout.head(log.word().value()));
                let claimed = policy.layout.claimed(head, now, 1);
                state.exchange(log.word(), claimed).expect("nobody else claims");
                (expected, (now + 1) << 1 | 1)
            };
            let enter = |(expected, entered)| {
                let _ = slot.compare_exchange(expected, entered, Ordering::AcqRel, Ordering::Relaxed);
            };
            reset(&log, 1000);
            let stopped = claim_and_stop(1000);
            assert_eq!(log.ask(1000, 1, Intent::ChargeAt), Ok(Outcome::Denied));
            reset(&log, 1000);
            log.charge(1000, 1);
            (0..=resets).for_each(|_| reset(&log, 1000));
            // 900 ns later one permit is granted to another claimant, and before it is entered the first one wakes.
            let granted = claim_and_stop(1900);
            enter(stopped);
            enter(granted);
            assert_eq!(log.ask(2000, 1, Intent::ChargeAt), Ok(Outcome::Denied), "two of one in 100 ns");
        }
    }

    /// A claimant is stopped between its look at a log of two, one of them taken, and its claim; the log is reset and
    /// filled at the same reading, twice, which brings the head back to its position.
    #[test]
    fn a_head_does_not_recur_when_a_log_is_reset_and_filled_at_one_reading() {
        let log = log(2);
        log.charge(1000, 1);
        let stopped = log.word();
        for _ in 0..2 {
            reset(&log, 1000);
            log.charge(1000, 2);
        }
        assert_ne!(log.word(), stopped);
        assert_eq!(log.ask_on(stopped, 1000, 1, Intent::ChargeAt), Err(Retry::Lost));
    }

    #[test]
    fn a_log_that_is_reset_in_a_glitch_starts_at_the_reading_and_not_at_the_glitch() {
        let log = log(2);
        log.charge(3600 * 1_000_000_000, 2);
        reset(&log, 1000);
        assert_eq!(born(&log), 1000);
        assert_eq!(log.ask(1000, 2, Intent::Charge), Ok(Outcome::Allowed));
    }
}
