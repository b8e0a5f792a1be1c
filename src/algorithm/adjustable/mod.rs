//! An algorithm whose quota can be changed while it is in use, and its policy: one of several, by the word's tag.

mod adjusts;
mod numbers;

use crate::algorithm::ask::Reserve;
use crate::algorithm::policy::{Charged, Owe, Refund, Reset};
use crate::algorithm::state::{Lens, Retry, State, Tagged};
use crate::algorithm::word::{Parameters, Word};
use crate::algorithm::{Algorithm, Answer, Intent, Policy};
use crate::clock::Clock;
use crate::decision::Decision;
use crate::error::{BuildError, SetQuotaError};
use crate::quota::Quota;

pub use adjusts::Adjusts;
pub(crate) use adjusts::{Adjust, NUMBERS};
use numbers::{Numbers, Under};

/// An algorithm whose quota can be changed while its limiter is in use, by
/// [`set_quota`](crate::Limiter::set_quota).
///
/// What has been used carries over, in permits. A decision costs some ns more than without.
///
/// ```
/// use tollgate::{Adjustable, Limiter, Quota, TokenBucket};
///
/// let limiter: Limiter<Adjustable<TokenBucket>> = TokenBucket::new(Quota::per_hour(10)).adjustable().build()?;
/// assert!(limiter.check_n(3).is_allowed());
/// limiter.set_quota(&TokenBucket::new(Quota::per_hour(5)))?;
/// assert_eq!(limiter.peek(0).remaining(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Adjustable<A> {
    pub(crate) algorithm: A,
    limit_max: Option<u64>,
}

impl<A: Adjusts> Adjustable<A> {
    /// The algorithm, with the quota that it begins with.
    pub const fn new(algorithm: A) -> Self {
        Self { algorithm, limit_max: None }
    }

    /// The highest limit in permits that may be set; of a token bucket the highest capacity. States have room for it: a
    /// log's ring has as many entries.
    ///
    /// Without this it is the limit that the algorithm begins with, and of a token bucket as much as its word holds.
    pub const fn max_limit(mut self, limit: u64) -> Self {
        self.limit_max = Some(limit);
        self
    }

    fn limit_max(&self) -> u64 {
        self.limit_max.unwrap_or_else(|| self.algorithm.default_limit_max())
    }
}

impl<A: Adjusts> Algorithm for Adjustable<A> {
    type Policy = AdjustablePolicy<A::Policy>;

    fn policy<C: Clock>(&self, clock: &C) -> Result<Self::Policy, BuildError> {
        let (limit, limit_max) = (self.algorithm.limit(), self.limit_max());
        if limit > limit_max {
            return Err(BuildError::LimitTooLarge { limit, max: limit_max });
        }
        Ok(AdjustablePolicy::new(&self.algorithm.policy_up_to(clock, limit_max)?, limit_max))
    }

    fn keyed_policy<C: Clock>(&self, clock: &C) -> Result<Self::Policy, BuildError> {
        self.algorithm.keyed_policy(clock)?;
        self.policy(clock)
    }

    fn with_quota(&self, quota: Quota) -> Self {
        Self { algorithm: self.algorithm.with_quota(quota), limit_max: None }
    }
}

/// The policy in force, and the one before it for states that nobody has charged since.
#[derive(Debug)]
pub struct AdjustablePolicy<P> {
    numbers: Numbers<P>,
    limit_max: u64,
    extra_words: usize,
}

/// A state as the policy in force sees it.
struct Seen<'s, P> {
    policy: P,
    parameters: Parameters,
    state: State<'s, Tagged>,
    word: Word,
}

impl<P: Adjust> AdjustablePolicy<P> {
    fn new(policy: &P, limit_max: u64) -> Self {
        Self { numbers: Numbers::new(policy), limit_max, extra_words: policy.extra_words() }
    }

    /// The policy in force, and the word as that sees it; if the state still has that word after this.
    #[inline]
    fn show(&self, word: Word) -> (P, Parameters, Word) {
        match self.numbers.under(word) {
            Under::Current(policy, parameters) => (policy, parameters, word.under(Parameters::FIRST)),
            Under::Previous { policy, current, parameters, at } => {
                (current, parameters, Word::live(policy.carried(&current, word.value(), at)))
            }
        }
    }

    /// The state, if it still has that word after this; if not, anything.
    #[inline]
    fn see<'s>(&self, state: State<'s, impl Lens>, word: Word) -> Seen<'s, P> {
        let (policy, parameters, shown) = self.show(word);
        let state = state.through(Tagged { stored: word, shown, parameters });
        Seen { policy, parameters, state, word: shown }
    }

    /// What a policy makes of the state, with the word as it is stored.
    #[inline]
    fn attempt_by(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        attempt: impl FnOnce(&P, State<'_, Tagged>, Word) -> Result<Answer<P::View>, Retry>,
    ) -> Result<Answer<P::View>, Retry> {
        let Seen { policy, parameters, state, word } = self.see(state, word);
        let answer = attempt(&policy, state, word)?;
        if answer.charged.is_none() {
            // Or the word may be so old that its set has been used again since.
            state.confirm(word)?;
        }
        let stored = |charged: Charged| Charged { word: charged.word.under(parameters), ..charged };
        Ok(Answer { charged: answer.charged.map(stored), ..answer })
    }

    /// Puts a policy in force as of `now`; `sweep` hands every state to [`carry_over`](Self::carry_over).
    pub(crate) fn set<A: Adjusts<Policy = P>>(
        &self,
        algorithm: &A,
        clock: &impl Clock,
        now: u64,
        sweep: impl FnOnce(),
    ) -> Result<(), SetQuotaError> {
        let (limit, max) = (algorithm.limit(), self.limit_max);
        if limit > max {
            return Err(SetQuotaError::LimitTooLarge { limit, max });
        }
        let next = algorithm.policy_up_to(clock, max).map_err(SetQuotaError::Build)?;
        self.numbers.set(&next, now, sweep)
    }

    /// Leaves no state under the policy before the one in force, nor any that a thread which knows only that may
    /// charge.
    pub(crate) fn carry_over(&self, state: State<'_>) {
        loop {
            let word = state.touch();
            if !word.is_owned() {
                return;
            }
            let (to, parameters) = match self.numbers.under(word) {
                Under::Current(policy, parameters) if word.is_newborn() => {
                    (policy.settled(word.value()), parameters)
                }
                Under::Current(..) => return,
                Under::Previous { policy, current, parameters, at } => {
                    (policy.carried(&current, word.value(), at), parameters)
                }
            };
            if state.exchange(word, Word::live(to).under(parameters)).is_ok() {
                return;
            }
        }
    }
}

impl<P: Adjust> Policy for AdjustablePolicy<P> {
    type View = P::View;
    type Extra = P::Extra;

    fn decision(answer: Answer<P::View>) -> Decision {
        P::decision(answer)
    }

    /// Of the policy in force; a call that compares with it may be decided by the next one.
    fn limit(&self) -> u64 {
        self.numbers.current().limit()
    }

    fn horizon(&self) -> u64 {
        self.numbers.current().horizon()
    }

    fn extra_words(&self) -> usize {
        self.extra_words
    }

    fn extra(&self) -> Result<Self::Extra, BuildError> {
        self.numbers.current().extra()
    }

    fn initial(&self, now: u64) -> u64 {
        self.numbers.current().initial(now)
    }

    fn unknown(&self, now: u64, cost: u64) -> Answer<P::View> {
        self.numbers.current().unknown(now, cost)
    }

    #[inline]
    fn attempt(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        self.attempt_by(state, word, |policy, state, word| policy.attempt(state, word, now, cost, intent))
    }

    fn reserve(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        ask: Reserve,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        self.attempt_by(state, word, |policy, state, word| policy.reserve(state, word, now, ask, intent))
    }

    fn attempt_up_to(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        self.attempt_by(state, word, |policy, state, word| {
            policy.attempt_up_to(state, word, now, cost, intent)
        })
    }

    /// The same of all.
    fn max_wait(&self) -> u64 {
        self.numbers.current().max_wait()
    }

    fn undone(&self, charged: Charged, now: u64) -> (u64, Word) {
        let Some(made_under) = charged.word.parameters() else { return (0, charged.word) };
        let (Under::Current(policy, _) | Under::Previous { policy, .. }) = self.numbers.under(charged.word);
        let word = charged.word.under(Parameters::FIRST);
        let (given, before) = policy.undone(Charged { word, ..charged }, now);
        (given, before.under(made_under))
    }

    fn reset(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<Reset, Retry> {
        let seen = self.see(state, word);
        seen.policy.reset(seen.state, seen.word, now)
    }

    fn wipe(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> u64 {
        self.numbers.current().wipe(state, word, now)
    }

    fn available(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<u64, Retry> {
        let seen = self.see(state, word);
        seen.policy.available(seen.state, seen.word, now)
    }

    fn is_ahead(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> bool {
        let seen = self.see(state, word);
        seen.policy.is_ahead(seen.state, seen.word, now)
    }

    fn heal(&self, state: State<'_, impl Lens>, word: Word, now: u64) {
        let seen = self.see(state, word);
        seen.policy.heal(seen.state, seen.word, now);
    }

    fn stale(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Option<u64> {
        let seen = self.see(state, word);
        seen.policy.stale(seen.state, seen.word, now)
    }

    fn stale_at(&self, state: State<'_, impl Lens>, word: Word) -> Option<u64> {
        let seen = self.see(state, word);
        seen.policy.stale_at(seen.state, seen.word)
    }

    fn prepare(&self, state: State<'_, impl Lens>, value: u64, newest: u64) -> u64 {
        self.numbers.current().prepare(state, value, newest)
    }

    fn seal(&self, state: State<'_, impl Lens>, now: u64) {
        self.numbers.current().seal(state, now);
    }
}

impl<P: Adjust + Refund> Refund for AdjustablePolicy<P> {
    fn refunded(&self, word: Word, now: u64, permits: u64) -> Option<(u64, Word)> {
        let (policy, parameters, shown) = self.show(word);
        let (given, less) = policy.refunded(shown, now, permits)?;
        Some((given, less.under(parameters)))
    }
}

impl<P: Adjust + Owe> Owe for AdjustablePolicy<P> {
    fn penalize(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        permits: u64,
        intent: Intent,
    ) -> Result<Answer<P::View>, Retry> {
        self.attempt_by(state, word, |policy, state, word| policy.penalize(state, word, now, permits, intent))
    }
}
