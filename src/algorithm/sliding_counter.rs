//! Sliding-window counter: the previous window, weighted by its overlap, and the current one.
//!
//! # The words
//!
//! `cur` is the main word; its value is `[index | count]` (see `window.rs`). `prev` is such a value without a tag.
//! Only `cur` is a linearization point: every grant is one exchange of it.
//!
//! The pair holds what the estimate needs and cannot be torn. `prev` gets its value from `cur` before `cur` moves on,
//! so a thread that comes late to a rollover finds `prev` changed and starts again. And `cur` moves on only from a
//! value that was recorded, so `prev` then equals the final count of the window just closed. A late thread that finds
//! `prev` already at its own window takes the start of the next window as its time, which is not later than the true
//! time.
//!
//! Permits that are given back while their window closes lower `cur` below what is recorded of it, and a late charge
//! may take it up again. So the record is never lowered: what is recorded is the most that `cur` was since it began to
//! close, and whoever moves `cur` on from an earlier value of it moves it on from one that is recorded.
//!
//! The estimate is the one published by Cloudflare ("How we built rate limiting capable of scaling to millions of
//! domains", 2017), in integers: `floor(previous * (period - elapsed) / period) + current`.

mod adjust;
mod saved;

use crate::algorithm::state::{Lens, Retry, State};
use crate::algorithm::window::{Window, Windows};
use crate::algorithm::word::{TIME_MAX, Word};
use crate::algorithm::{Algorithm, Answer, Charged, Intent, Policy, Refund, Reset, Resumption};
use crate::clock::Clock;
use crate::decision::{Decision, Outcome, View};
use crate::error::BuildError;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Ordering};

/// The sliding-window counter: `limit` permits per period, estimated from two windows.
///
/// A request passes if `floor(previous * (period - elapsed) / period) + current + n <= limit`. The estimate assumes
/// that the previous window's requests came evenly; an adversary who knows that can get up to `2 * limit` permits
/// into one period, ordinary traffic hardly ever more than the limit.
///
/// ```
/// use tollgate::{Quota, SlidingCounter};
///
/// let limiter = SlidingCounter::new(Quota::per_minute(100)).build()?;
/// assert_eq!(limiter.check_n(40).remaining(), Some(60));
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// Two words of state; every decision is O(1) and one compare-exchange, one more when a window passes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SlidingCounter {
    pub(crate) quota: Quota,
}

impl SlidingCounter {
    /// A counter over windows of the quota's period, counted from the clock's origin.
    pub const fn new(quota: Quota) -> Self {
        Self { quota }
    }
}

impl Algorithm for SlidingCounter {
    type Policy = SlidingCounterPolicy;

    fn policy<C: Clock>(&self, _clock: &C) -> Result<SlidingCounterPolicy, BuildError> {
        self.sized(self.quota.limit())
    }

    fn resumed_policy<C: Clock>(
        &self,
        clock: &C,
        at: &Resumption,
    ) -> Result<SlidingCounterPolicy, BuildError> {
        Ok(self.policy(clock)?.continuing(at))
    }

    fn with_quota(&self, quota: Quota) -> Self {
        Self { quota }
    }
}

impl SlidingCounter {
    /// The policy with room for counts up to `limit_max`.
    fn sized(&self, limit_max: u64) -> Result<SlidingCounterPolicy, BuildError> {
        Ok(SlidingCounterPolicy { windows: Windows::new(self.quota, limit_max, 0)?, shift: 0 })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SlidingCounterPolicy {
    windows: Windows,
    /// Added to a reading, so that the windows of a restored limiter start where they did; below the period.
    shift: u64,
}

/// The two windows as seen at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    /// The current window and its count.
    current: Window,
    /// The count of the window before it.
    previous: u64,
}

/// How the current window of a pair follows from the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// It is the word's.
    Within,
    /// It is the one after the word's, whose count has to be recorded first.
    Rolling,
    /// It is a later one; nothing of the word counts any more.
    Idle,
}

impl SlidingCounterPolicy {
    /// A reading in the time that windows are counted in: what the pure functions here call `now`.
    #[inline]
    fn shifted(&self, now: u64) -> u64 {
        now.saturating_add(self.shift)
    }

    /// The value of a state that is fresh as of `stamp`.
    fn fresh(&self, stamp: u64) -> u64 {
        self.windows.pack(Window { index: self.windows.index(self.shifted(stamp)), count: 0 })
    }

    #[inline]
    fn current(&self, word: Word) -> Window {
        self.windows.unpack(if word.is_newborn() { self.fresh(word.value()) } else { word.value() })
    }

    /// The pair at `now`, or as of the newest time the words tell, if that is later. Pure.
    ///
    /// A previous window that is later than the current one is what a healed glitch has left: nobody knows how many
    /// permits the window before the current one granted, so it counts as spent.
    #[inline]
    fn at(&self, current: Window, previous: Window, now: u64) -> (Pair, Course) {
        let mut index = self.windows.latest(current.index, now);
        if previous.index == current.index {
            // Another thread is rolling over: time has reached the next window.
            index = index.max(current.index + 1);
        }
        let fresh = Window { index, count: 0 };
        if index == current.index {
            let previous = match previous.index {
                earlier if earlier + 1 == index => previous.count,
                later if later > index => self.windows.limit,
                _ => 0,
            };
            (Pair { current, previous }, Course::Within)
        } else if index == current.index + 1 {
            // More was recorded if a refund has lowered the count since.
            let recorded = if previous.index == current.index { previous.count } else { 0 };
            (Pair { current: fresh, previous: current.count.max(recorded) }, Course::Rolling)
        } else {
            (Pair { current: fresh, previous: 0 }, Course::Idle)
        }
    }

    /// The pure step: whether the pair admits `cost`, at most the limit. Without division:
    /// `floor(previous * left / period) <= room` means `previous * left < (room + 1) * period`.
    #[inline]
    fn admits(&self, pair: Pair, now: u64, cost: u64) -> bool {
        let period = self.windows.period;
        let Some(room) = self.windows.left(pair.current).checked_sub(cost) else { return false };
        if pair.previous <= room {
            return true;
        }
        let left = period - self.windows.elapsed(pair.current.index, now);
        u128::from(pair.previous) * u128::from(left) < (u128::from(room) + 1) * u128::from(period)
    }

    #[inline]
    fn decide(&self, outcome: Outcome, pair: Pair, now: u64, cost: u64) -> Answer<SlidingCounterView> {
        let Pair { current, previous } = pair;
        let (value, windows) = (self.windows.pack(current), self.windows);
        Answer::new(outcome, SlidingCounterView { value, previous, now, cost, windows })
    }

    /// The value that tells the previous window.
    #[inline]
    fn recorded(state: State<'_, impl Lens>) -> u64 {
        // ORDERING: Acquire pairs with the Release in `roll`, and keeps this load before the confirming one of `cur`.
        state.extra[0].load(Ordering::Acquire)
    }

    /// An attempt on both words, as they were read.
    #[inline]
    fn attempt_on(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        previous: u64,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<SlidingCounterView>, Retry> {
        let recorded = self.current(word);
        if intent.heals() && self.windows.is_ahead(recorded.index, now) {
            return Err(Retry::Ahead);
        }
        let (pair, course) = self.at(recorded, self.windows.unpack(previous), now);
        let outcome = match cost {
            _ if cost > self.windows.limit => Outcome::TooLarge,
            0 => Outcome::Allowed,
            _ if self.admits(pair, now, cost) => Outcome::Allowed,
            _ => Outcome::Denied,
        };
        if outcome != Outcome::Allowed || !intent.charges() {
            // The two words were not read at one instant.
            state.confirm(word)?;
            return Ok(self.decide(outcome, pair, now, cost));
        }
        if course == Course::Rolling {
            self.roll(state, word, previous, recorded)?;
        }
        let current = Window { count: pair.current.count + cost, ..pair.current };
        let end = Word::live(self.windows.pack(current));
        state.exchange(word, end)?;
        Ok(self.decide(outcome, Pair { current, ..pair }, now, cost).charging(cost, end))
    }

    /// Records the count of `closed` as the previous window's, if nobody has recorded that or more.
    #[inline]
    fn roll(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        previous: u64,
        closed: Window,
    ) -> Result<(), Retry> {
        let recorded = self.windows.unpack(previous);
        if recorded.index == closed.index && recorded.count >= closed.count {
            return Ok(());
        }
        let closed = self.windows.pack(closed);
        state.confirm(word)?;
        // ORDERING: Release pairs with the Acquire load of `prev`. The exchange of `cur` that follows is a Release
        // too, so whoever sees `cur` moved on sees this value or a newer one. Failure uses nothing that was read.
        match state.extra[0].compare_exchange(previous, closed, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(Retry::Lost),
        }
    }
}

impl Policy for SlidingCounterPolicy {
    type View = SlidingCounterView;
    type Extra = [AtomicU64; 1];

    #[inline]
    fn decision(Answer { outcome, view, .. }: Answer<SlidingCounterView>) -> Decision {
        Decision::new(View::SlidingCounter(outcome.into(), view))
    }

    #[inline]
    fn limit(&self) -> u64 {
        self.windows.limit
    }

    fn horizon(&self) -> u64 {
        self.windows.end_of_time().saturating_sub(self.shift).min(TIME_MAX)
    }

    fn extra_words(&self) -> usize {
        1
    }

    fn extra(&self) -> Result<Self::Extra, BuildError> {
        Ok([AtomicU64::new(0)])
    }

    fn initial(&self, _now: u64) -> u64 {
        self.fresh(0)
    }

    fn unknown(&self, now: u64, cost: u64) -> Answer<SlidingCounterView> {
        let outcome = if cost > self.windows.limit { Outcome::TooLarge } else { Outcome::Allowed };
        let pair = Pair { current: self.windows.unpack(self.fresh(now)), previous: 0 };
        self.decide(outcome, pair, self.shifted(now), cost)
    }

    #[inline]
    fn attempt(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<SlidingCounterView>, Retry> {
        self.attempt_on(state, word, Self::recorded(state), self.shifted(now), cost, intent)
    }

    fn undone(&self, Charged { permits, word }: Charged, now: u64) -> (u64, Word) {
        self.windows.undone(word.value(), self.shifted(now), permits)
    }

    fn reset(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<Reset, Retry> {
        let prev = &state.extra[0];
        // ORDERING: Acquire pairs with the Release in `roll`.
        let previous = prev.load(Ordering::Acquire);
        let (pair, _) = self.at(self.current(word), self.windows.unpack(previous), self.shifted(now));
        state.exchange(word, Word::live(self.windows.pack(Window { count: 0, ..pair.current })))?;
        // The window before goes last: what is charged in between is charged after the reset, and is not forgotten. It
        // stays if another thread is first: a roller, whose record is newer, or one that was stopped and writes the old
        // count, which only refuses.
        // ORDERING: AcqRel as in `roll`. Failure uses nothing that was read.
        let _ = prev.compare_exchange(previous, 0, Ordering::AcqRel, Ordering::Relaxed);
        Ok(Reset::Done)
    }

    fn available(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<u64, Retry> {
        self.attempt(state, word, now, 0, Intent::Peek).map(|answer| answer.view.remaining())
    }

    /// On one pair: another thread that rolls over must not make more of what is left between two looks.
    fn attempt_up_to(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<SlidingCounterView>, Retry> {
        let (previous, now) = (Self::recorded(state), self.shifted(now));
        let (pair, _) = self.at(self.current(word), self.windows.unpack(previous), now);
        let available = self.decide(Outcome::Allowed, pair, now, 0).view.remaining();
        self.attempt_on(state, word, previous, now, cost.min(available.max(1)), intent)
    }

    fn is_ahead(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> bool {
        self.windows.is_ahead(self.current(word).index, self.shifted(now))
    }

    fn heal(&self, state: State<'_, impl Lens>, word: Word, now: u64) {
        if self.is_ahead(state, word, now) {
            let _ = state.exchange(word, Word::live(self.windows.edge(self.shifted(now))));
        }
    }

    #[inline]
    fn stale(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> Option<u64> {
        let index = self.current(word).index;
        (self.windows.latest(index, self.shifted(now)) > index + 1).then_some(now)
    }

    fn stale_at(&self, _state: State<'_, impl Lens>, word: Word) -> Option<u64> {
        self.windows.reading(self.windows.after(self.current(word).index, 2), self.shift)
    }

    fn prepare(&self, state: State<'_, impl Lens>, value: u64, newest: u64) -> u64 {
        let prev = &state.extra[0];
        // ORDERING: Relaxed: the slot is held, and the Release that makes it a key's publishes the store. A roller of
        // the slot's last key may still come late; it leaves a window two before the stamp's or earlier, which counts
        // for nothing, or one that reads as a healed glitch and only refuses.
        if prev.load(Ordering::Relaxed) != 0 {
            prev.store(0, Ordering::Relaxed);
        }
        value.max(newest)
    }
}

impl Refund for SlidingCounterPolicy {
    /// To the current window: what the one before it granted counts on. What is given back while its window closes may
    /// count on as well.
    fn refunded(&self, word: Word, now: u64, permits: u64) -> Option<(u64, Word)> {
        self.windows.refunded(self.current(word), self.shifted(now), permits)
    }
}

/// The pair that decided and what the details are computed from, when asked.
#[derive(Debug, Clone, Copy)]
pub struct SlidingCounterView {
    value: u64,
    previous: u64,
    /// In the time that windows are counted in.
    now: u64,
    cost: u64,
    windows: Windows,
}

impl SlidingCounterView {
    fn estimate(&self) -> u64 {
        let current = self.windows.unpack(self.value);
        let period = self.windows.period;
        let left = period - self.windows.elapsed(current.index, self.now);
        // `max`: see `Windows::index`.
        let carried = u128::from(self.previous) * u128::from(left) / u128::from(period.max(1));
        // The weighted count is at most the previous window's.
        u64::try_from(carried).unwrap_or(self.previous) + current.count
    }

    /// The first wait after which `cost`, at most the limit, is admitted.
    fn wait(&self, cost: u64) -> Option<u64> {
        let Windows { limit, period, .. } = self.windows;
        let current = self.windows.unpack(self.value);
        let start = self.windows.start(current.index);
        let at = if let Some(room) = (limit - cost).checked_sub(current.count) {
            let elapsed = elapsed_until(self.previous, room, period);
            // At once even if the window starts after this reading: it was decided on as of the start.
            if elapsed <= self.windows.elapsed(current.index, self.now).into() {
                return Some(0);
            }
            u128::from(start) + elapsed
        } else {
            // Not before the next window, where the current count is the previous one.
            u128::from(start) + u128::from(period) + elapsed_until(current.count, limit - cost, period)
        };
        self.windows.reading(at, 0).map(|at| at - self.now)
    }

    pub(crate) fn limit(&self) -> u64 {
        self.windows.limit
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.windows.limit.saturating_sub(self.estimate())
    }

    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.wait(self.cost)
    }

    pub(crate) fn reset_after(&self) -> Option<u64> {
        self.wait(self.windows.limit)
    }
}

/// The least `elapsed` with `floor(previous * (period - elapsed) / period) <= room`.
fn elapsed_until(previous: u64, room: u64, period: u64) -> u128 {
    if previous <= room {
        return 0;
    }
    let longest_left = ((u128::from(room) + 1) * u128::from(period)).div_ceil(u128::from(previous)) - 1;
    u128::from(period).saturating_sub(longest_left)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::algorithm::policy::tests::Lone;

    const LIMIT: u64 = 10;
    const PERIOD: u64 = 100;

    fn counter() -> Lone<SlidingCounterPolicy> {
        Lone::new(&SlidingCounter::new(Quota::new(LIMIT, Duration::from_nanos(PERIOD))))
    }

    fn window(index: u64, count: u64) -> Window {
        Window { index, count }
    }

    #[test]
    fn the_pair_at_a_time_is_of_two_adjacent_windows_and_not_of_an_earlier_time_than_recorded() {
        let policy = counter().policy;
        let spent = LIMIT;
        // The index of the previous window as recorded, that of the reading; the pair.
        for (recorded, now, current, previous, course) in [
            (4, 5, window(5, 3), 2, Course::Within),
            (4, 1, window(5, 3), 2, Course::Within),
            (3, 5, window(5, 3), 0, Course::Within),
            (0, 5, window(5, 3), 0, Course::Within),
            // Left by a healed glitch.
            (6, 5, window(5, 3), spent, Course::Within),
            (9, 5, window(5, 3), spent, Course::Within),
            // Another thread is rolling over.
            (5, 5, window(6, 0), 3, Course::Rolling),
            (5, 1, window(6, 0), 3, Course::Rolling),
            (4, 6, window(6, 0), 3, Course::Rolling),
            (5, 6, window(6, 0), 3, Course::Rolling),
            (9, 6, window(6, 0), 3, Course::Rolling),
            (4, 7, window(7, 0), 0, Course::Idle),
            (5, 7, window(7, 0), 0, Course::Idle),
            (5, 9, window(9, 0), 0, Course::Idle),
        ] {
            for now in [(now - 1) * PERIOD, now * PERIOD - 1] {
                let pair = policy.at(window(5, 3), window(recorded, 2), now);
                assert_eq!(pair, (Pair { current, previous }, course), "{recorded} before 5, at {now}");
            }
        }
    }

    #[test]
    fn a_rollover_that_stopped_after_its_record_is_taken_on_by_a_late_thread() {
        let counter = counter();
        counter.charge(PERIOD - 1, 4);
        let closed = counter.policy.current(counter.word());
        counter.policy.roll(counter.state(), counter.word(), 0, closed).expect("nobody else rolls");
        // Still within the window that is closing.
        counter.charge(PERIOD - 1, 5);
        assert_eq!(counter.policy.current(counter.word()), window(2, 5));
        assert_eq!(counter.ask(PERIOD, 2, Intent::Charge), Ok(Outcome::Denied));
        assert_eq!(counter.ask(PERIOD, 1, Intent::Charge), Ok(Outcome::Allowed));
    }

    /// What a thread with a reading of the closing window finds, when another one has recorded that window's count.
    #[test]
    fn as_many_are_taken_from_the_window_that_another_thread_opens_as_are_there() {
        let counter = counter();
        counter.charge(0, LIMIT / 2);
        let state = counter.state();
        counter.policy.roll(state, counter.word(), 0, window(1, LIMIT / 2)).expect("nobody else rolls");
        let answer = counter.policy.attempt_up_to(state, counter.word(), PERIOD - 1, LIMIT, Intent::Charge);
        let granted = answer.ok().and_then(|answer| answer.charged).map(|charged| charged.permits);
        assert_eq!(
            (granted, counter.policy.current(counter.word())),
            (Some(LIMIT / 2), window(2, LIMIT / 2))
        );
    }

    #[test]
    fn a_record_of_a_window_is_made_once_and_on_the_word_that_closed_it() {
        let counter = counter();
        let (late, open) = (counter.word(), counter.policy.current(counter.word()));
        counter.charge(0, 4);
        let roll = |word, previous, closed| counter.policy.roll(counter.state(), word, previous, closed);
        let recorded = || counter.state().extra[0].load(Ordering::Relaxed);
        let (word, closed) = (counter.word(), counter.policy.current(counter.word()));
        assert_eq!((roll(late, 0, open), recorded()), (Err(Retry::Lost), 0));
        assert_eq!((roll(word, 77, closed), recorded()), (Err(Retry::Lost), 0));
        assert_eq!((roll(word, 0, closed), recorded()), (Ok(()), counter.policy.windows.pack(closed)));
        assert_eq!(roll(word, recorded(), closed), Ok(()));
    }

    /// The word comes back to what one thread has recorded of it, after another has recorded less.
    #[test]
    fn late_charge_after_a_refund_to_a_closing_window_is_recorded_too() {
        let counter = counter();
        let (policy, state) = (counter.policy, counter.state());
        let roll = || {
            let recorded = state.extra[0].load(Ordering::Relaxed);
            policy.roll(state, counter.word(), recorded, policy.current(counter.word()))
        };
        counter.charge(0, 4);
        let closed = counter.word();
        assert_eq!(roll(), Ok(()));
        let recorded = state.extra[0].load(Ordering::Relaxed);
        let (given, less) = policy.refunded(closed, 0, 3).expect("four to give back");
        assert_eq!((given, state.exchange(closed, less)), (3, Ok(())));
        assert_eq!(roll(), Ok(()));
        // A charge that was decided on when the window had granted as little and was open.
        assert_eq!(state.exchange(less, closed), Ok(()));
        // The first of those that roll moves on, by what it has recorded.
        let answer = policy.attempt_on(state, closed, recorded, PERIOD, 1, Intent::Charge);
        assert_eq!(answer.map(|answer| answer.outcome), Ok(Outcome::Allowed));
        assert_eq!(counter.ask(PERIOD, 6, Intent::Charge), Ok(Outcome::Denied));
        assert_eq!(counter.ask(PERIOD, 5, Intent::Charge), Ok(Outcome::Allowed));
    }

    #[test]
    fn reset_that_is_overtaken_by_a_charge_has_not_forgotten_the_window_before() {
        let counter = counter();
        counter.charge(0, 4);
        counter.charge(PERIOD, 1);
        let overtaken = counter.word();
        counter.charge(PERIOD, 1);
        assert_eq!(counter.policy.reset(counter.state(), overtaken, PERIOD), Err(Retry::Lost));
        assert_eq!(counter.ask(PERIOD, LIMIT - 5, Intent::Charge), Ok(Outcome::Denied));
    }

    #[test]
    fn reset_while_a_window_closes_opens_the_next_and_forgets_the_one_before() {
        let counter = counter();
        counter.charge(0, 4);
        let (closing, word) = (counter.policy.current(counter.word()), counter.word());
        assert_eq!(counter.policy.roll(counter.state(), word, 0, closing), Ok(()));
        assert_eq!(counter.policy.reset(counter.state(), word, PERIOD - 1), Ok(Reset::Done));
        assert_eq!(counter.policy.current(counter.word()), window(2, 0));
        assert_eq!(counter.state().extra[0].load(Ordering::Relaxed), 0);
        // Whoever was about to move on from it does not.
        assert_eq!(counter.ask_on(word, PERIOD, 1, Intent::Charge), Err(Retry::Lost));
        counter.charge(PERIOD - 1, LIMIT);
    }

    #[test]
    fn a_slot_that_is_to_be_another_keys_forgets_the_previous_window() {
        let counter = counter();
        counter.charge(0, 4);
        counter.charge(PERIOD, 1);
        assert_eq!(counter.policy.prepare(counter.state(), 5, 3), 5);
        assert_eq!(counter.policy.prepare(counter.state(), 3, 5), 5);
        assert_eq!(counter.state().extra[0].load(Ordering::Relaxed), 0);
    }

    /// A thread that is moving on to the next window has recorded the count of the last one, which is none.
    #[test]
    fn late_reading_while_an_unused_window_closes_has_nothing_to_wait_for() {
        let policy = counter().policy;
        let (closing, late) = (window(1, 0), PERIOD - 1);
        let (pair, course) = policy.at(closing, closing, late);
        assert_eq!((pair.current, course), (window(2, 0), Course::Rolling));
        let view = policy.decide(Outcome::Allowed, pair, late, 0).view;
        assert_eq!((view.remaining(), view.reset_after()), (LIMIT, Some(0)));
    }
}
