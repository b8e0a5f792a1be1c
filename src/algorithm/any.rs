//! An algorithm chosen at run time: one of the four, and its policy, by a match.

use crate::algorithm::ask::Reserve;
use crate::algorithm::policy::{Charged, Reset};
use crate::algorithm::saved::{Damaged, Portable, Resumption};
use crate::algorithm::state::{Lens, Retry, State};
use crate::algorithm::word::Word;
use crate::algorithm::{
    Algorithm, Answer, FixedWindow, Intent, Policy, SlidingCounter, SlidingLog, TokenBucket,
};
use crate::clock::Clock;
use crate::decision::Decision;
use crate::error::BuildError;
use crate::quota::Quota;
use crate::sync::{AtomicU64, zeroed_words};

/// One of the four algorithms, chosen at run time: by a configuration, say.
///
/// A limiter of it has all verbs that every algorithm has, and the same answers. A decision costs a branch more.
///
/// ```
/// use tollgate::{AnyAlgorithm, AnyKeyed, Quota, SlidingLog, TokenBucket};
///
/// fn limit_for(is_strict: bool) -> AnyAlgorithm {
///     let quota = Quota::per_minute(10);
///     if is_strict { SlidingLog::new(quota).into() } else { TokenBucket::new(quota).burst(20).into() }
/// }
/// let logins: AnyKeyed<str> = limit_for(true).keyed(1000).build()?;
/// assert!(logins.check_n("alice", 10).is_allowed());
/// assert!(!logins.check("alice").is_allowed());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// # As text
///
/// The algorithm's name and what it is told, in this order; without a name it is a token bucket:
///
/// - `token-bucket QUOTA [burst PERMITS] [start-empty] [max-wait TIME]`
/// - `fixed-window QUOTA [utc[+TIME]]`
/// - `sliding-counter QUOTA`
/// - `sliding-log QUOTA [without-remaining]`
///
/// Each algorithm by itself is read from the same, with its name or without, and written without. For numbers and times
/// see [`Quota`](Quota#as-text).
///
/// ```
/// use tollgate::{AnyAlgorithm, AnyLimiter, TokenBucket};
///
/// let limiter: AnyLimiter = "sliding-log 10/60s".parse::<AnyAlgorithm>()?.build()?;
/// assert!(limiter.check_n(10).is_allowed());
///
/// let upload: TokenBucket = "1.5MB/s burst 4MB".parse()?;
/// assert_eq!(AnyAlgorithm::from(upload).to_string(), "token-bucket 1500000/s burst 4000000");
///
/// let error = "sliding-log 10/60s burst 20".parse::<AnyAlgorithm>().unwrap_err();
/// assert_eq!(error.to_string(), "only a token bucket takes the option at byte 19: `burst`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AnyAlgorithm {
    /// See [`TokenBucket`].
    TokenBucket(TokenBucket),
    /// See [`FixedWindow`].
    FixedWindow(FixedWindow),
    /// See [`SlidingCounter`].
    SlidingCounter(SlidingCounter),
    /// See [`SlidingLog`].
    SlidingLog(SlidingLog),
}

/// The same on whichever of the four it is.
macro_rules! on_each {
    ($type:ident, $any:expr, $one:ident => $result:expr) => {
        match $any {
            $type::TokenBucket($one) => $result,
            $type::FixedWindow($one) => $result,
            $type::SlidingCounter($one) => $result,
            $type::SlidingLog($one) => $result,
        }
    };
}

impl AnyAlgorithm {
    /// The quota it was made with. A token bucket's capacity is not part of it.
    pub fn quota(&self) -> Quota {
        on_each!(Self, self, one => one.quota)
    }
}

// After the macro that it uses.
mod adjust;

macro_rules! variant {
    ($algorithm:ident) => {
        impl From<$algorithm> for AnyAlgorithm {
            fn from(algorithm: $algorithm) -> Self {
                Self::$algorithm(algorithm)
            }
        }

        impl From<<$algorithm as Algorithm>::Policy> for AnyPolicy {
            fn from(policy: <$algorithm as Algorithm>::Policy) -> Self {
                Self::$algorithm(policy)
            }
        }
    };
}

variant!(TokenBucket);
variant!(FixedWindow);
variant!(SlidingCounter);
variant!(SlidingLog);

impl Algorithm for AnyAlgorithm {
    type Policy = AnyPolicy;

    fn policy<C: Clock>(&self, clock: &C) -> Result<AnyPolicy, BuildError> {
        on_each!(Self, self, one => one.policy(clock).map(AnyPolicy::from))
    }

    fn keyed_policy<C: Clock>(&self, clock: &C) -> Result<AnyPolicy, BuildError> {
        on_each!(Self, self, one => one.keyed_policy(clock).map(AnyPolicy::from))
    }

    fn resumed_policy<C: Clock>(&self, clock: &C, at: &Resumption) -> Result<AnyPolicy, BuildError> {
        on_each!(Self, self, one => one.resumed_policy(clock, at).map(AnyPolicy::from))
    }

    fn with_quota(&self, quota: Quota) -> Self {
        on_each!(Self, self, one => one.with_quota(quota).into())
    }
}

#[derive(Debug, Clone, Copy)]
pub enum AnyPolicy {
    TokenBucket(<TokenBucket as Algorithm>::Policy),
    FixedWindow(<FixedWindow as Algorithm>::Policy),
    SlidingCounter(<SlidingCounter as Algorithm>::Policy),
    SlidingLog(<SlidingLog as Algorithm>::Policy),
}

/// The answer of one of the four, with its view as the decision that it is for.
#[inline]
fn decided<P: Policy>(_policy: &P, answer: Answer<P::View>) -> Answer<Decision> {
    let (outcome, charged) = (answer.outcome, answer.charged);
    Answer { outcome, view: P::decision(answer), charged }
}

impl Policy for AnyPolicy {
    type View = Decision;
    type Extra = Box<[AtomicU64]>;

    fn decision(answer: Answer<Decision>) -> Decision {
        answer.view
    }

    fn limit(&self) -> u64 {
        on_each!(Self, self, one => one.limit())
    }

    fn horizon(&self) -> u64 {
        on_each!(Self, self, one => one.horizon())
    }

    fn extra_words(&self) -> usize {
        on_each!(Self, self, one => one.extra_words())
    }

    fn extra(&self) -> Result<Self::Extra, BuildError> {
        let words = self.extra_words();
        zeroed_words(words).map_err(|_| BuildError::OutOfMemory { bytes: words as u128 * 8 })
    }

    fn initial(&self, now: u64) -> u64 {
        on_each!(Self, self, one => one.initial(now))
    }

    fn unknown(&self, now: u64, cost: u64) -> Answer<Decision> {
        on_each!(Self, self, one => decided(one, one.unknown(now, cost)))
    }

    #[inline]
    fn attempt(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<Decision>, Retry> {
        on_each!(Self, self, one => Ok(decided(one, one.attempt(state, word, now, cost, intent)?)))
    }

    fn reserve(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        ask: Reserve,
        intent: Intent,
    ) -> Result<Answer<Decision>, Retry> {
        on_each!(Self, self, one => Ok(decided(one, one.reserve(state, word, now, ask, intent)?)))
    }

    fn max_wait(&self) -> u64 {
        on_each!(Self, self, one => one.max_wait())
    }

    fn undone(&self, charged: Charged, now: u64) -> (u64, Word) {
        on_each!(Self, self, one => one.undone(charged, now))
    }

    fn reset(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<Reset, Retry> {
        on_each!(Self, self, one => one.reset(state, word, now))
    }

    fn wipe(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> u64 {
        on_each!(Self, self, one => one.wipe(state, word, now))
    }

    fn available(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<u64, Retry> {
        on_each!(Self, self, one => one.available(state, word, now))
    }

    /// As each of them does it: a counter's own way is the only right one for it.
    fn attempt_up_to(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<Decision>, Retry> {
        on_each!(Self, self, one => Ok(decided(one, one.attempt_up_to(state, word, now, cost, intent)?)))
    }

    fn is_ahead(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> bool {
        on_each!(Self, self, one => one.is_ahead(state, word, now))
    }

    fn heal(&self, state: State<'_, impl Lens>, word: Word, now: u64) {
        on_each!(Self, self, one => one.heal(state, word, now));
    }

    fn stale(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Option<u64> {
        on_each!(Self, self, one => one.stale(state, word, now))
    }

    fn stale_at(&self, state: State<'_, impl Lens>, word: Word) -> Option<u64> {
        on_each!(Self, self, one => one.stale_at(state, word))
    }

    fn prepare(&self, state: State<'_, impl Lens>, value: u64, newest: u64) -> u64 {
        on_each!(Self, self, one => one.prepare(state, value, newest))
    }

    fn seal(&self, state: State<'_, impl Lens>, now: u64) {
        on_each!(Self, self, one => one.seal(state, now));
    }
}

impl Portable for AnyPolicy {
    fn shift(&self) -> u64 {
        on_each!(Self, self, one => one.shift())
    }

    fn save(&self, state: State<'_>, word: Word, saved: &mut Vec<u64>) -> Result<(), Retry> {
        on_each!(Self, self, one => one.save(state, word, saved))
    }

    fn resume(
        &self,
        saved: &mut impl Iterator<Item = u64>,
        at: &Resumption,
        resumed: &mut Vec<u64>,
    ) -> Result<bool, Damaged> {
        on_each!(Self, self, one => one.resume(saved, at, resumed))
    }

    fn put(&self, state: State<'_>, resumed: &[u64]) -> u64 {
        on_each!(Self, self, one => one.put(state, resumed))
    }
}
