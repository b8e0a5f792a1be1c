//! Fixed window: a count that starts again with each window.
//!
//! The word's value is `[index | count]` (see `window.rs`). It holds all there is: the window the count belongs to
//! and the count, so a change of windows is one exchange and no thread can add to a window that another one closed.
//! A reading before the word's window counts as the start of that window: a late thread never reopens an old one.

mod adjust;
mod saved;

use core::time::Duration;

use crate::algorithm::state::{Lens, Retry, State};
use crate::algorithm::window::{Window, Windows};
use crate::algorithm::word::{TIME_MAX, Word};
use crate::algorithm::{Algorithm, Answer, Charged, Intent, Policy, Refund, Reset, Resumption};
use crate::clock::Clock;
use crate::decision::{Decision, Outcome, View};
use crate::error::BuildError;
use crate::quota::Quota;
use crate::sync::AtomicU64;

/// The fixed window: at most `limit` permits in each window `[k * period, (k + 1) * period)`.
///
/// Simple and easily explained ("100 a day, from midnight"), but up to twice the limit can pass within one period
/// around the edge of two windows. For coarse quotas.
///
/// ```
/// use tollgate::{FixedWindow, Quota};
///
/// let limiter = FixedWindow::new(Quota::per_day(1000)).aligned_to_utc().build()?;
/// assert_eq!(limiter.check().remaining(), Some(999));
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// One word of state; every decision is O(1) and one compare-exchange.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    pub(crate) quota: Quota,
    /// Windows start this long after midnight 1970-01-01 UTC, if not at the clock's origin.
    pub(crate) utc_offset: Option<Duration>,
}

impl FixedWindow {
    /// Windows of the quota's period, counted from the clock's origin.
    pub const fn new(quota: Quota) -> Self {
        Self { quota, utc_offset: None }
    }

    /// Windows counted from the Unix epoch: a window of a day starts at midnight UTC, one of an hour on the hour.
    ///
    /// The clock is compared with the system's wall clock once, at build; later steps of the wall clock move nothing.
    pub const fn aligned_to_utc(self) -> Self {
        self.aligned_to_utc_plus(Duration::ZERO)
    }

    /// Windows counted from `offset` after the Unix epoch: with 5 h a window of a day starts at 05:00 UTC.
    pub const fn aligned_to_utc_plus(mut self, offset: Duration) -> Self {
        self.utc_offset = Some(offset);
        self
    }
}

impl Algorithm for FixedWindow {
    type Policy = FixedWindowPolicy;

    fn policy<C: Clock>(&self, clock: &C) -> Result<FixedWindowPolicy, BuildError> {
        self.sized(clock, self.quota.limit())
    }

    fn resumed_policy<C: Clock>(&self, clock: &C, at: &Resumption) -> Result<FixedWindowPolicy, BuildError> {
        let policy = self.policy(clock)?;
        Ok(if self.utc_offset.is_some() { policy } else { policy.continuing(at) })
    }

    fn with_quota(&self, quota: Quota) -> Self {
        Self { quota, ..*self }
    }
}

impl FixedWindow {
    /// The policy with room for counts up to `limit_max`.
    fn sized<C: Clock>(&self, clock: &C, limit_max: u64) -> Result<FixedWindowPolicy, BuildError> {
        let period = self.quota.period_nanos()?;
        let shift = self.utc_offset.map_or(0, |offset| {
            // Whole periods do not matter, and adding one keeps the difference positive.
            let period = u128::from(period);
            let origin = clock.origin_since_unix_epoch().as_nanos() % period;
            (origin + period - offset.as_nanos() % period) % period
        });
        let shift = u64::try_from(shift).unwrap_or(0);
        Ok(FixedWindowPolicy { windows: Windows::new(self.quota, limit_max, shift)?, shift })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct FixedWindowPolicy {
    windows: Windows,
    /// Added to a reading, so that windows start where the user wants; below the period.
    shift: u64,
}

impl FixedWindowPolicy {
    /// A reading in the time that windows are counted in.
    #[inline]
    fn shifted(&self, now: u64) -> u64 {
        now.saturating_add(self.shift)
    }

    /// The value of a state that is fresh as of `stamp`.
    fn fresh(&self, stamp: u64) -> u64 {
        self.windows.pack(Window { index: self.windows.index(self.shifted(stamp)), count: 0 })
    }

    #[inline]
    fn window(&self, word: Word) -> Window {
        self.windows.unpack(if word.is_newborn() { self.fresh(word.value()) } else { word.value() })
    }

    /// The state as it is at `now`, or as of its own window if that is later.
    #[inline]
    fn at(&self, window: Window, now: u64) -> Window {
        let index = self.windows.latest(window.index, now);
        Window { index, count: if index == window.index { window.count } else { 0 } }
    }

    #[inline]
    fn decide(&self, outcome: Outcome, window: Window, now: u64) -> Answer<FixedWindowView> {
        Answer::new(outcome, FixedWindowView { window, now, shift: self.shift, windows: self.windows })
    }
}

impl Policy for FixedWindowPolicy {
    type View = FixedWindowView;
    type Extra = [AtomicU64; 0];

    #[inline]
    fn decision(Answer { outcome, view, .. }: Answer<FixedWindowView>) -> Decision {
        Decision::new(View::FixedWindow(outcome.into(), view))
    }

    #[inline]
    fn limit(&self) -> u64 {
        self.windows.limit
    }

    fn horizon(&self) -> u64 {
        self.windows.end_of_time().saturating_sub(self.shift).min(TIME_MAX)
    }

    fn extra_words(&self) -> usize {
        0
    }

    fn extra(&self) -> Result<Self::Extra, BuildError> {
        Ok([])
    }

    fn initial(&self, _now: u64) -> u64 {
        self.fresh(0)
    }

    fn unknown(&self, now: u64, cost: u64) -> Answer<FixedWindowView> {
        let outcome = if cost > self.windows.limit { Outcome::TooLarge } else { Outcome::Allowed };
        self.decide(outcome, self.windows.unpack(self.fresh(now)), self.shifted(now))
    }

    #[inline]
    fn attempt(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<FixedWindowView>, Retry> {
        let (recorded, now) = (self.window(word), self.shifted(now));
        if intent.heals() && self.windows.is_ahead(recorded.index, now) {
            return Err(Retry::Ahead);
        }
        let window = self.at(recorded, now);
        if cost > self.windows.limit {
            return Ok(self.decide(Outcome::TooLarge, window, now));
        }
        if cost > self.windows.left(window) {
            return Ok(self.decide(Outcome::Denied, window, now));
        }
        if !intent.charges() {
            return Ok(self.decide(Outcome::Allowed, window, now));
        }
        let charged = Window { count: window.count + cost, ..window };
        let end = Word::live(self.windows.pack(charged));
        state.exchange(word, end)?;
        Ok(self.decide(Outcome::Allowed, charged, now).charging(cost, end))
    }

    fn undone(&self, Charged { permits, word }: Charged, now: u64) -> (u64, Word) {
        self.windows.undone(word.value(), self.shifted(now), permits)
    }

    fn reset(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<Reset, Retry> {
        state.exchange(word, Word::live(self.windows.fresh(self.window(word), self.shifted(now))))?;
        Ok(Reset::Done)
    }

    fn available(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> Result<u64, Retry> {
        Ok(self.windows.left(self.at(self.window(word), self.shifted(now))))
    }

    fn is_ahead(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> bool {
        self.windows.is_ahead(self.window(word).index, self.shifted(now))
    }

    fn heal(&self, state: State<'_, impl Lens>, word: Word, now: u64) {
        if self.is_ahead(state, word, now) {
            let _ = state.exchange(word, Word::live(self.windows.edge(self.shifted(now))));
        }
    }

    #[inline]
    fn stale(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> Option<u64> {
        let index = self.window(word).index;
        (self.windows.latest(index, self.shifted(now)) > index).then_some(now)
    }

    fn stale_at(&self, _state: State<'_, impl Lens>, word: Word) -> Option<u64> {
        self.windows.reading(self.windows.after(self.window(word).index, 1), self.shift)
    }

    #[inline]
    fn prepare(&self, _state: State<'_, impl Lens>, value: u64, newest: u64) -> u64 {
        value.max(newest)
    }
}

impl Refund for FixedWindowPolicy {
    fn refunded(&self, word: Word, now: u64, permits: u64) -> Option<(u64, Word)> {
        self.windows.refunded(self.window(word), self.shifted(now), permits)
    }
}

/// The window that decided and what the details are computed from, when asked.
#[derive(Debug, Clone, Copy)]
pub struct FixedWindowView {
    window: Window,
    /// In the time that windows are counted in, which is `shift` ahead of readings.
    now: u64,
    shift: u64,
    windows: Windows,
}

impl FixedWindowView {
    pub(crate) fn limit(&self) -> u64 {
        self.windows.limit
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.windows.left(self.window)
    }

    /// Until the window ends: whatever was refused fits into the next one.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        let end = self.windows.reading(self.windows.after(self.window.index, 1), self.shift)?;
        Some(end.saturating_sub(self.now.saturating_sub(self.shift)))
    }

    pub(crate) fn reset_after(&self) -> Option<u64> {
        if self.remaining() == self.limit() { Some(0) } else { self.retry_after() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualClock;

    #[test]
    fn windows_start_at_the_offset_after_the_epoch_or_else_at_the_origin() {
        let shift = |origin, offset: Option<u64>| {
            let windows = FixedWindow::new(Quota::new(1, Duration::from_nanos(100)));
            let windows = match offset {
                None => windows,
                Some(0) => windows.aligned_to_utc(),
                Some(offset) => windows.aligned_to_utc_plus(Duration::from_nanos(offset)),
            };
            let clock = ManualClock::starting_at(Duration::from_nanos(origin));
            windows.policy(&clock).expect("a quota that fits").shift
        };
        assert_eq!([shift(30, None), shift(30, Some(0)), shift(730, Some(0))], [0, 30, 30]);
        assert_eq!([shift(0, Some(30)), shift(30, Some(30)), shift(20, Some(930))], [70, 0, 90]);
        assert_eq!([shift(0, Some(100)), shift(99, Some(0)), shift(0, Some(1))], [0, 99, 99]);
    }
}
