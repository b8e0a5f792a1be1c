//! Token bucket as one instant: the generic cell rate algorithm (ITU-T I.371, 1996), in exact integers.
//!
//! # The word
//!
//! ```text
//!   63   61 60                                              0
//!  +-------+-------------------------------------------------+
//!  |  tag  |   when the bucket will be full again, in units  |
//!  +-------+-------------------------------------------------+
//! ```
//!
//! One instant packs both the number of tokens and the time of the last refill, since
//! `tokens(now) = capacity - (word - now) / C`: there is no second field that a stale reader could combine with the
//! wrong first one. A pair of a count and a wrapping time is a trap: a thread with an old reading sees the time
//! *wrapped* and grants a whole capacity again.
//!
//! # Units make the rate exact
//!
//! With the rate reduced to `N` permits per `P` ns, time passes at `U` units per ns and a permit costs `C` units:
//!
//! - `N <= 16`: `U = N`, `C = P`. Nothing is rounded.
//! - otherwise `C = ceil(8P / N)` and `U = C * N / P`, floored in binary fixed point with 56 fractional bits. A unit
//!   is at most 1/8 ns and the floor loses under 4 units over a whole horizon: a permit may come that much late, and
//!   at most one unit early. There is no drift.
//!
//! `units(t)` is one widening multiplication; nothing on the way of a decision divides.

mod adjust;
mod saved;

use core::time::Duration;

use crate::algorithm::ask::Reserve;
use crate::algorithm::state::{Lens, Retry, State};
use crate::algorithm::word::{TIME_MAX, VALUE_BITS, VALUE_MAX, Word};
use crate::algorithm::{Algorithm, Answer, Charged, Intent, Owe, Policy, Refund, Reset, SLACK_NANOS};
use crate::clock::Clock;
use crate::decision::{Decision, Outcome, View};
use crate::error::BuildError;
use crate::quota::Quota;
use crate::sync::AtomicU64;

/// Fractional bits of the number of units per ns.
const FRACTION_BITS: u32 = 56;
/// The largest reduced numerator for which a unit is exactly `1/N` ns.
const EXACT_NUMERATOR_MAX: u64 = 16;
/// Units per ns, at least, when the rate has to be rounded.
const ROUNDED_UNITS_PER_NANO: u128 = 8;
/// One more would not fit the fixed point.
const RATE_MAX_PER_NANO: u128 = 256;
/// A word must tell time for at least this long: a year of 365 days.
const HORIZON_MIN_NANOS: u64 = 365 * 24 * 3600 * 1_000_000_000;
/// A quarter of the word bounds capacity and slack, so that three quarters tell time.
const SPAN_MAX: u128 = 1 << (VALUE_BITS - 2);

/// The token bucket: bursts up to a capacity, an exact average rate. The default choice.
///
/// It starts full with `capacity` tokens and refills evenly at the quota's rate, up to the capacity. A request for
/// `n` permits takes `n` tokens or is refused. In any span of time `t` at most `capacity + rate * t` permits are
/// granted. Permits that are [reserved](crate::Limiter::reserve) count when they are due, which is told in whole ns,
/// rounded up: then it is at most `capacity + rate * (t + 1 ns)`.
///
/// ```
/// use tollgate::{Quota, TokenBucket};
///
/// let limiter = TokenBucket::new(Quota::per_second(100)).burst(20).build()?;
/// assert!(limiter.check_n(20).is_allowed());
/// let refused = limiter.check_n(20);
/// assert!(refused.retry_after().is_some());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// One word of state; every decision is O(1) and one compare-exchange. The algorithm is GCRA, see
/// ITU-T Recommendation I.371.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenBucket {
    pub(crate) quota: Quota,
    pub(crate) burst: Option<u64>,
    pub(crate) start_empty: bool,
    pub(crate) max_wait: Duration,
}

impl TokenBucket {
    /// A bucket that refills at the quota's rate. Its capacity is the quota's limit, unless [`burst`](Self::burst)
    /// says otherwise.
    pub const fn new(quota: Quota) -> Self {
        Self { quota, burst: None, start_empty: false, max_wait: Duration::ZERO }
    }

    /// The capacity in permits: the most that can be granted at one instant.
    ///
    /// With a quota of limit 0 it is a budget that is spent once: nothing comes back.
    pub const fn burst(mut self, capacity: u64) -> Self {
        self.burst = Some(capacity);
        self
    }

    /// The longest wait that a [`reserve`](crate::Limiter::reserve) may ask for, and the deepest debt that a
    /// [`penalize`](crate::Limiter::penalize) may cause; zero, unless this is called.
    ///
    /// A bucket can be in debt for as long as this: a key that a clock which erred has left ahead works again that much
    /// later.
    pub const fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Starts without a token, so that a restart gives no burst away. For direct limiters only: a key's state would
    /// be empty again whenever its slot has been another key's.
    pub const fn start_empty(mut self) -> Self {
        self.start_empty = true;
        self
    }
}

impl Algorithm for TokenBucket {
    type Policy = TokenBucketPolicy;

    fn policy<C: Clock>(&self, _clock: &C) -> Result<TokenBucketPolicy, BuildError> {
        TokenBucketPolicy::new(self)
    }

    fn keyed_policy<C: Clock>(&self, clock: &C) -> Result<TokenBucketPolicy, BuildError> {
        if self.start_empty { Err(BuildError::StartEmptyKeyed) } else { self.policy(clock) }
    }

    fn with_quota(&self, quota: Quota) -> Self {
        Self { quota, burst: None, ..*self }
    }
}

/// The bucket in units.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucketPolicy {
    /// Permits.
    capacity: u64,
    /// `C`: units a permit costs.
    unit_cost: u64,
    /// `U`: units per ns, with [`FRACTION_BITS`].
    rate: u64,
    /// `capacity * C`.
    full: u64,
    /// `capacity * C` and what comes back in `max_wait`: no charge leaves a word further than this ahead of its reading.
    debt_max: u64,
    /// The same and the slack: a word further than this ahead of a reading is ahead of it.
    edge: u64,
    /// ns.
    max_wait: u64,
    /// Last reading that the word can tell; time stands still there.
    horizon: u64,
    start_empty: bool,
}

/// What the pure step says of a word.
enum Step {
    Grant(u64),
    Refuse,
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl TokenBucketPolicy {
    fn new(&TokenBucket { quota, burst, start_empty, max_wait }: &TokenBucket) -> Result<Self, BuildError> {
        let (limit, period) = (quota.limit(), quota.period_nanos()?);
        if burst == Some(0) {
            return Err(BuildError::ZeroBurst);
        }
        if u128::from(limit) >= RATE_MAX_PER_NANO * u128::from(period) {
            return Err(BuildError::RateTooHigh { limit, period_nanos: period });
        }
        let capacity = burst.unwrap_or(limit);
        let (unit_cost, rate) = units(limit, period);
        let slack = (u128::from(SLACK_NANOS) * u128::from(rate)).div_ceil(1 << FRACTION_BITS);
        let full = u128::from(capacity) * u128::from(unit_cost);
        if full + slack >= SPAN_MAX {
            // Both are below 2^61: the slack lasts 5 s at under 256 permits per ns, each under 2^9 units.
            let max = (SPAN_MAX - 1).saturating_sub(slack) / u128::from(unit_cost);
            return Err(BuildError::BurstTooLarge { burst: capacity, max: saturate(max) });
        }
        let max_wait_nanos = saturate(max_wait.as_nanos());
        let debt = u128::from(max_wait_nanos) * u128::from(rate);
        let ahead = debt.div_ceil(1 << FRACTION_BITS);
        if full + ahead + slack >= SPAN_MAX {
            let room = SPAN_MAX - 1 - full - slack;
            let max_nanos = saturate((room << FRACTION_BITS) / u128::from(rate));
            return Err(BuildError::MaxWaitTooLong { max_wait_nanos, max_nanos });
        }
        let room = u128::from(VALUE_MAX) - full - ahead - slack;
        let horizon = match rate {
            0 => TIME_MAX,
            rate => saturate((((room + 1) << FRACTION_BITS) - 1) / u128::from(rate)).min(TIME_MAX),
        };
        if horizon < HORIZON_MIN_NANOS {
            return Err(BuildError::HorizonTooShort { horizon_nanos: horizon, min_nanos: HORIZON_MIN_NANOS });
        }
        let debt_max = saturate(full + (debt >> FRACTION_BITS));
        let (full, edge) = (saturate(full), saturate(full + ahead + slack));
        let max_wait = max_wait_nanos;
        Ok(Self { capacity, unit_cost, rate, full, debt_max, edge, max_wait, horizon, start_empty })
    }

    /// The time in units, floored; stands still at the horizon.
    #[inline]
    fn units(&self, now: u64) -> u64 {
        units_at(self.rate, now.min(self.horizon))
    }

    #[inline]
    fn full_at(&self, word: Word) -> u64 {
        if word.is_newborn() { self.units(word.value()) } else { word.value() }
    }

    /// The pure step. `full_at` and `now` are in units; `cost` is at most the capacity.
    #[inline]
    fn step(&self, full_at: u64, now: u64, cost: u64) -> Step {
        let charged = full_at.max(now) + cost * self.unit_cost;
        if charged - now <= self.full { Step::Grant(charged) } else { Step::Refuse }
    }

    /// Less debt, and the permits that this gives back, rounded down: what time gives back is not given twice.
    fn lowered(&self, full_at: u64, less: u64) -> (u64, Word) {
        ((full_at - less) / self.unit_cost.max(1), Word::live(less))
    }

    #[inline]
    fn charge(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        charged: u64,
        now: u64,
        permits: u64,
    ) -> Result<Answer<TokenBucketView>, Retry> {
        let end = Word::live(charged);
        state.exchange(word, end)?;
        Ok(self.decide(Outcome::Allowed, charged, now, permits).charging(permits, end))
    }

    #[inline]
    fn decide(&self, outcome: Outcome, full_at: u64, now: u64, cost: u64) -> Answer<TokenBucketView> {
        let Self { capacity, unit_cost, rate, horizon, .. } = *self;
        let view = TokenBucketView { full_at, now, cost, capacity, unit_cost, rate, horizon };
        Answer::new(outcome, view)
    }
}

/// `C` and `U` for `limit` permits per `period` ns, at under 256 permits per ns.
fn units(limit: u64, period: u64) -> (u64, u64) {
    let divisor = greatest_common_divisor(limit, period);
    let (n, p) = (limit / divisor, period / divisor);
    match n {
        0 => (1, 0),
        1..=EXACT_NUMERATOR_MAX => (p, n << FRACTION_BITS),
        _ => {
            let (n, p) = (u128::from(n), u128::from(p));
            let cost = (ROUNDED_UNITS_PER_NANO * p).div_ceil(n);
            // cost * n is below 8p + n, and so below 2^72.
            (saturate(cost), saturate(((cost * n) << FRACTION_BITS) / p))
        }
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "within the horizon the units fit 61 bits")]
fn units_at(rate: u64, now: u64) -> u64 {
    ((u128::from(now) * u128::from(rate)) >> FRACTION_BITS) as u64
}

/// The first ns at which at least `units` have passed, if within the horizon.
fn nanos_at(rate: u64, units: u64, horizon: u64) -> Option<u64> {
    if rate == 0 {
        return None;
    }
    let nanos = (u128::from(units) << FRACTION_BITS).div_ceil(u128::from(rate));
    u64::try_from(nanos).ok().filter(|nanos| *nanos <= horizon)
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

impl Policy for TokenBucketPolicy {
    type View = TokenBucketView;
    type Extra = [AtomicU64; 0];

    #[inline]
    fn decision(Answer { outcome, view, .. }: Answer<TokenBucketView>) -> Decision {
        Decision::new(View::TokenBucket(outcome.into(), view))
    }

    #[inline]
    fn limit(&self) -> u64 {
        self.capacity
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    fn extra_words(&self) -> usize {
        0
    }

    fn extra(&self) -> Result<Self::Extra, BuildError> {
        Ok([])
    }

    fn initial(&self, now: u64) -> u64 {
        if self.start_empty { self.units(now) + self.full } else { 0 }
    }

    fn unknown(&self, now: u64, cost: u64) -> Answer<TokenBucketView> {
        let outcome = if cost > self.capacity { Outcome::TooLarge } else { Outcome::Allowed };
        self.decide(outcome, 0, now, cost)
    }

    #[inline]
    fn attempt(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<TokenBucketView>, Retry> {
        let full_at = self.full_at(word);
        let units = self.units(now);
        if cost > self.capacity {
            return Ok(self.decide(Outcome::TooLarge, full_at, now, cost));
        }
        match self.step(full_at, units, cost) {
            Step::Grant(charged) if intent.charges() => self.charge(state, word, charged, now, cost),
            Step::Grant(_) => Ok(self.decide(Outcome::Allowed, full_at, now, cost)),
            Step::Refuse if cost == 0 => Ok(self.decide(Outcome::Allowed, full_at, now, cost)),
            Step::Refuse if intent.heals() && self.is_ahead(state, word, now) => Err(Retry::Ahead),
            Step::Refuse => Ok(self.decide(Outcome::Denied, full_at, now, cost)),
        }
    }

    /// Grants what comes back within the wait that is asked for, and moves the word by all of it.
    fn reserve(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        Reserve { permits, max_wait }: Reserve,
        intent: Intent,
    ) -> Result<Answer<TokenBucketView>, Retry> {
        if !intent.charges() || permits > self.capacity {
            return self.attempt(state, word, now, permits, intent);
        }
        if intent.heals() && self.is_ahead(state, word, now) {
            return Err(Retry::Ahead);
        }
        let full_at = self.full_at(word);
        let charged = full_at.max(self.units(now)) + permits * self.unit_cost;
        let due_at_the_latest = self.units(now.saturating_add(max_wait.min(self.max_wait)));
        if charged > due_at_the_latest + self.full {
            return Ok(self.decide(Outcome::Denied, full_at, now, permits));
        }
        self.charge(state, word, charged, now, permits)
    }

    /// The longest wait in ns that a reservation may ask for.
    fn max_wait(&self) -> u64 {
        self.max_wait
    }

    /// Never before `now`: the bucket is full then, and a full one tells no time before.
    fn undone(&self, Charged { permits, word }: Charged, now: u64) -> (u64, Word) {
        let full_at = word.value();
        let before = full_at.saturating_sub(permits.saturating_mul(self.unit_cost));
        self.lowered(full_at, before.max(self.units(now).min(full_at)))
    }

    fn reset(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<Reset, Retry> {
        state.exchange(word, Word::live(self.units(now).min(self.full_at(word))))?;
        Ok(Reset::Done)
    }

    fn available(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> Result<u64, Retry> {
        Ok(self.decide(Outcome::Allowed, self.full_at(word), now, 0).view.remaining())
    }

    #[inline]
    fn is_ahead(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> bool {
        self.full_at(word) > self.units(now) + self.edge
    }

    fn heal(&self, state: State<'_, impl Lens>, word: Word, now: u64) {
        if self.is_ahead(state, word, now) {
            let _ = state.exchange(word, Word::live(self.units(now) + self.edge));
        }
    }

    #[inline]
    fn stale(&self, _state: State<'_, impl Lens>, word: Word, now: u64) -> Option<u64> {
        (self.full_at(word) < self.units(now)).then_some(now)
    }

    fn stale_at(&self, _state: State<'_, impl Lens>, word: Word) -> Option<u64> {
        nanos_at(self.rate, self.full_at(word) + 1, self.horizon)
    }

    #[inline]
    fn prepare(&self, _state: State<'_, impl Lens>, value: u64, newest: u64) -> u64 {
        value.max(newest)
    }
}

impl Owe for TokenBucketPolicy {
    fn penalize(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        permits: u64,
        intent: Intent,
    ) -> Result<Answer<TokenBucketView>, Retry> {
        if intent.heals() && self.is_ahead(state, word, now) {
            return Err(Retry::Ahead);
        }
        let (full_at, units) = (self.full_at(word), self.units(now));
        let owed = full_at.max(units);
        // A permit costs at least one unit; `max` says so to the compiler, which else checks.
        let permits = permits.min((units + self.debt_max).saturating_sub(owed) / self.unit_cost.max(1));
        if permits == 0 {
            return Ok(self.decide(Outcome::Denied, full_at, now, 0));
        }
        self.charge(state, word, owed + permits * self.unit_cost, now, permits)
    }
}

impl Refund for TokenBucketPolicy {
    fn refunded(&self, word: Word, now: u64, permits: u64) -> Option<(u64, Word)> {
        if word.is_newborn() {
            return None;
        }
        let owed = word.value().saturating_sub(self.units(now));
        let given = permits.saturating_mul(self.unit_cost).min(owed);
        (given > 0).then(|| self.lowered(word.value(), word.value() - given))
    }
}

/// The word that decided and what the details are computed from, when asked.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucketView {
    full_at: u64,
    now: u64,
    cost: u64,
    capacity: u64,
    unit_cost: u64,
    rate: u64,
    horizon: u64,
}

impl TokenBucketView {
    fn units(&self) -> u64 {
        units_at(self.rate, self.now.min(self.horizon))
    }

    /// ns from the reading until `units` have passed.
    fn wait(&self, units: u64) -> Option<u64> {
        if units <= self.units() {
            return Some(0);
        }
        nanos_at(self.rate, units, self.horizon).map(|at| at.saturating_sub(self.now))
    }

    pub(crate) fn limit(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn remaining(&self) -> u64 {
        let missing = self.full_at.saturating_sub(self.units());
        // A permit costs at least one unit; `max` says so to the compiler, which else checks.
        (self.capacity * self.unit_cost).saturating_sub(missing) / self.unit_cost.max(1)
    }

    /// For a cost of at most the capacity: until `max(full_at, now) + cost * C - capacity * C` units have passed.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        let missing_room = (self.capacity - self.cost) * self.unit_cost;
        self.wait(self.full_at.max(self.units()) - missing_room)
    }

    pub(crate) fn reset_after(&self) -> Option<u64> {
        self.wait(self.full_at)
    }

    /// The first ns at which the permits that were charged have come back; 0 if they were there.
    pub(crate) fn due(&self) -> u64 {
        let missing = self.full_at.saturating_sub(self.capacity * self.unit_cost);
        if missing == 0 { 0 } else { nanos_at(self.rate, missing, self.horizon).unwrap_or(self.horizon) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualClock;

    #[test]
    fn small_numerators_are_exact() {
        assert_eq!(units(10, 1_000_000_000), (100_000_000, 1 << FRACTION_BITS));
        assert_eq!(units(600_000_000, 1_000_000_000), (5, 3 << FRACTION_BITS));
        assert_eq!(units(0, 5), (1, 0));
    }

    #[test]
    fn other_rates_lose_less_than_four_units_over_a_horizon() {
        for limit in [17, 999_983, 1_250_000_017, 19_999_999_999] {
            let bucket = TokenBucketPolicy::new(&TokenBucket::new(Quota::per_second(limit)).burst(1));
            let bucket = bucket.expect("a quota that fits");
            let exact =
                u128::from(bucket.horizon) * u128::from(bucket.unit_cost) * u128::from(limit) / 1_000_000_000;
            let late = exact - u128::from(bucket.units(bucket.horizon));
            assert!(late < 4, "{limit}: {late} units late");
            assert!(bucket.rate >> FRACTION_BITS >= 7, "{limit}: a unit is about 1/8 ns at most");
        }
    }

    #[test]
    fn the_first_nanosecond_of_a_unit_is_found_exactly() {
        for (limit, period) in [(3, 10), (999_983, 1_000_000_000), (1, 60)] {
            let (_, rate) = units(limit, period);
            for wanted in [1, 2, 1_000, 987_654_321_987] {
                let at = nanos_at(rate, wanted, u64::MAX).expect("within the horizon");
                assert!(units_at(rate, at) >= wanted && units_at(rate, at - 1) < wanted);
            }
        }
    }

    fn build(limit: u64, period: u64, burst: u64) -> Result<TokenBucketPolicy, BuildError> {
        let quota = Quota::new(limit, Duration::from_nanos(period));
        TokenBucketPolicy::new(&TokenBucket::new(quota).burst(burst))
    }

    #[test]
    fn a_rate_of_256_permits_a_nanosecond_is_refused() {
        for period in [1, 1000] {
            assert_eq!(
                build(256 * period, period, 1).err(),
                Some(BuildError::RateTooHigh { limit: 256 * period, period_nanos: period })
            );
            assert!(!matches!(build(256 * period - 1, period, 1), Err(BuildError::RateTooHigh { .. })));
        }
    }

    #[test]
    fn a_burst_that_does_not_fit_a_quarter_of_the_word_is_refused_with_the_bound() {
        for (limit, period) in
            [(0, 1), (1, 1), (1, 1_000_000_007), (16, 3), (17, 5), (999_983, 1_000_000_000)]
        {
            let Err(BuildError::BurstTooLarge { burst, max }) = build(limit, period, u64::MAX) else {
                panic!("refused")
            };
            assert_eq!(burst, u64::MAX);
            let largest = build(limit, period, max).expect("the bound fits");
            assert_eq!(
                build(limit, period, max + 1).err(),
                Some(BuildError::BurstTooLarge { burst: max + 1, max })
            );
            assert!(
                u128::from(largest.edge) < SPAN_MAX
                    && u128::from(largest.edge + largest.unit_cost) >= SPAN_MAX
            );
        }
    }

    #[test]
    fn a_horizon_of_less_than_a_year_is_refused() {
        // 64 units per ns, of which a permit costs one.
        let slack = 64 * SLACK_NANOS;
        let burst = VALUE_MAX - slack - 64 * HORIZON_MIN_NANOS;
        assert_eq!(build(64, 1, burst).map(|bucket| bucket.horizon), Ok(HORIZON_MIN_NANOS));
        assert_eq!(
            build(64, 1, burst + 1).err(),
            Some(BuildError::HorizonTooShort {
                horizon_nanos: HORIZON_MIN_NANOS - 1,
                min_nanos: HORIZON_MIN_NANOS
            })
        );
    }

    #[test]
    fn a_full_charge_and_the_slack_fit_the_word_up_to_the_horizon_and_no_further() {
        for (limit, period, burst) in
            [(16, 1, 1), (17, 1, 1000), (64, 1, 1 << 50), (999_983, 100_003, 12_345)]
        {
            let bucket = build(limit, period, burst).expect("a quota that fits");
            let last = |now| units_at(bucket.rate, now) + bucket.edge;
            assert!(last(bucket.horizon) <= VALUE_MAX && last(bucket.horizon + 1) > VALUE_MAX, "{bucket:?}");
            assert_eq!(bucket.units(bucket.horizon + 1), bucket.units(bucket.horizon));
        }
    }

    #[test]
    fn a_bucket_that_starts_empty_has_its_first_permit_when_that_came_back() {
        let bucket = TokenBucket::new(Quota::per_second(1)).burst(3).start_empty();
        let policy = TokenBucketPolicy::new(&bucket).expect("a quota that fits");
        assert_eq!(policy.initial(500), 3_000_000_500);
        assert_eq!(bucket.keyed_policy(&ManualClock::new()).err(), Some(BuildError::StartEmptyKeyed));
        let full = TokenBucket::new(Quota::per_second(1)).keyed_policy(&ManualClock::new());
        assert!(full.is_ok_and(|policy| policy.initial(500) == 0));
    }
}
