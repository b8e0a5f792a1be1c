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
//! One word more, `born`, is a time that no later entry is dated before. In a keyed table it carries the stamp that the
//! other algorithms keep in the main word. And a claim that comes so late that its time bits would not tell when raises
//! it first, so that whoever finishes a claim knows its time exactly.

mod ring;

use crate::algorithm::state::{Retry, State};
use crate::algorithm::word::{TIME_MAX, Word};
use crate::algorithm::{Algorithm, Answer, Intent, Policy, SLACK_NANOS};
use crate::clock::Clock;
use crate::decision::{Decision, Outcome, View};
use crate::error::BuildError;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Ordering, zeroed_words};
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
#[derive(Debug, Clone)]
pub struct SlidingLog {
    quota: Quota,
    tell_remaining: bool,
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
        let (limit, period) = (self.quota.limit(), self.quota.period_nanos()?);
        let layout = Layout::new(limit)?;
        Ok(SlidingLogPolicy { limit, period, layout, tell_remaining: self.tell_remaining })
    }

    fn with_quota(&self, quota: Quota) -> Self {
        Self { quota, ..*self }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SlidingLogPolicy {
    limit: u64,
    period: u64,
    layout: Layout,
    tell_remaining: bool,
}

/// What an attempt reads of the log, valid while the head is unchanged.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// The time of the newest entry.
    newest: Option<u64>,
    /// The newest time that the state has recorded.
    recorded: u64,
}

impl SlidingLogPolicy {
    /// Whether an entry of this time is in the window that ends at `now`.
    #[inline]
    fn counts(&self, entry: Option<u64>, now: u64) -> bool {
        entry.is_some_and(|time| now.saturating_sub(time) < self.period)
    }

    #[inline]
    fn ring<'a>(&self, state: State<'a>) -> Ring<'a> {
        Ring::new(&state.extra[1..], self.layout)
    }

    #[inline]
    fn born(state: State<'_>) -> u64 {
        // ORDERING: Acquire pairs with the Release of `seal` and `prepare`, and keeps this load before the
        // confirming one of the head. A state that became a key's after being freed at `born` shows at least that.
        state.extra[0].load(Ordering::Acquire)
    }

    fn raise_born(state: State<'_>, at: u64) {
        // ORDERING: AcqRel: the exchange of the head that follows publishes it; pairs with the Acquire of `born`.
        state.extra[0].fetch_max(at, Ordering::AcqRel);
    }

    /// Reads the state, once the latest claim is entered in full.
    #[inline]
    fn read(&self, state: State<'_>, word: Word) -> Result<Reading, Retry> {
        let born = Self::born(state);
        let newest = self.ring(state).settled_newest(state, word, born)?;
        Ok(Reading { newest, recorded: born.max(newest.unwrap_or(0)) })
    }

    /// How many of the last `limit` admissions have left the window at `now`, given that the first `known` have.
    fn departed(&self, ring: Ring<'_>, head: Head, known: u64, now: u64) -> u64 {
        let gone = |place| !self.counts(ring.entry(head, place), now);
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
        Answer { outcome, view: SlidingLogView { limit: self.limit, remaining, now, free_at, empty_at } }
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
    fn decision(Answer { outcome, view }: Answer<SlidingLogView>) -> Decision {
        Decision::new(View::SlidingLog(outcome.into(), view))
    }

    #[inline]
    fn limit(&self) -> u64 {
        self.limit
    }

    fn horizon(&self) -> u64 {
        TIME_MAX
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
        let remaining = self.tell_remaining.then_some(self.limit);
        self.decide(outcome, remaining, Details { now, free_at: 0, empty_at: 0 })
    }

    #[inline]
    fn attempt(
        &self,
        state: State<'_>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<SlidingLogView>, Retry> {
        if self.limit == 0 {
            return Ok(self.unknown(now, cost));
        }
        let (ring, head) = (self.ring(state), self.layout.head(word.value()));
        let Reading { newest, recorded } = self.read(state, word)?;
        if intent.heals() && recorded.saturating_sub(now) > SLACK_NANOS {
            return Err(Retry::Ahead);
        }
        // A late thread counts as of the newest time that is recorded.
        let effective = now.max(recorded);
        if cost == 0 || cost > self.limit {
            let outcome = if cost == 0 { Outcome::Allowed } else { Outcome::TooLarge };
            let remaining = self.remaining(ring, head, 0, 0, effective);
            let empty_at = self.empty_at(newest, effective);
            state.confirm(word)?;
            return Ok(self.decide(outcome, remaining, Details { now, free_at: 0, empty_at }));
        }
        // The last of the entries that this request would replace.
        let replaced = ring.entry(head, cost - 1);
        if self.counts(replaced, effective) {
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
        if effective - recorded > self.layout.gap_max() {
            // The head's time bits alone would not tell how many spans have passed.
            Self::raise_born(state, effective);
        }
        ring.claim(state, word, head, effective, cost)?;
        let empty_at = effective.saturating_add(self.period);
        Ok(self.decide(Outcome::Allowed, remaining, Details { now, free_at: 0, empty_at }))
    }

    fn is_ahead(&self, state: State<'_>, word: Word, now: u64) -> bool {
        let is_ahead = |Reading { recorded, .. }| recorded.saturating_sub(now) > SLACK_NANOS;
        self.limit > 0 && self.read(state, word).is_ok_and(is_ahead)
    }

    fn heal(&self, state: State<'_>, word: Word, now: u64) {
        let (ring, head) = (self.ring(state), self.layout.head(word.value()));
        let edge = now.saturating_add(SLACK_NANOS).min(TIME_MAX);
        let born = Self::born(state);
        let _ = ring.settled_newest(state, word, born).and_then(|_| {
            if born > edge {
                // ORDERING: AcqRel keeps the history of `born` in one chain; losing leaves it to whoever changed it.
                let _ = state.extra[0].compare_exchange(born, edge, Ordering::AcqRel, Ordering::Relaxed);
            }
            ring.claim(state, word, head, edge, self.limit)
        });
    }

    fn stale(&self, state: State<'_>, word: Word, now: u64) -> Option<u64> {
        let Reading { newest, .. } = self.read(state, word).ok()?;
        let is_stale = !self.counts(newest, now) && Self::born(state) < now;
        is_stale.then(|| self.layout.dated(self.layout.head(word.value()), now))
    }

    fn stale_at(&self, state: State<'_>, word: Word) -> Option<u64> {
        let newest = self.ring(state).newest(self.layout.head(word.value()));
        let left = newest.map_or(0, |newest| newest.saturating_add(self.period));
        Some(left.max(Self::born(state).saturating_add(1))).filter(|at| *at <= TIME_MAX)
    }

    fn prepare(&self, state: State<'_>, value: u64, newest: u64) -> u64 {
        Self::raise_born(state, newest);
        value
    }

    fn seal(&self, state: State<'_>, now: u64) {
        Self::raise_born(state, now);
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

    const PERIOD: u64 = 1000;

    fn log(limit: u64) -> Lone<SlidingLogPolicy> {
        Lone::new(&SlidingLog::new(Quota::new(limit, Duration::from_nanos(PERIOD))))
    }

    fn born(log: &Lone<SlidingLogPolicy>) -> u64 {
        SlidingLogPolicy::born(log.state())
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
        SlidingLogPolicy::raise_born(raised.state(), now + SLACK_NANOS);
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
            SlidingLogPolicy::raise_born(log.state(), raised);
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
}
