//! What the limiters and the table ask of an algorithm.

use core::fmt::Debug;

use crate::algorithm::ask::Reserve;
use crate::algorithm::state::{Lens, Retry, State};
use crate::algorithm::word::Word;
use crate::decision::{Decision, Outcome};
use crate::error::BuildError;
use crate::sync::AtomicU64;

/// What a call wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Charge on the limiter's own clock: a state ahead of the reading is reported, to be healed.
    Charge,
    /// Charge at a time the caller gave: the caller's time is the caller's word, and nothing is healed.
    ChargeAt,
    /// Charge nothing, on the limiter's own clock: what is ahead of it is reported, to be healed, as before a charge.
    Probe,
    /// Charge nothing, at a time that may be of any age.
    Peek,
}

impl Intent {
    #[inline]
    pub(crate) fn heals(self) -> bool {
        matches!(self, Self::Charge | Self::Probe)
    }

    #[inline]
    pub(crate) fn charges(self) -> bool {
        matches!(self, Self::Charge | Self::ChargeAt)
    }
}

/// What an attempt decides: the outcome, what the details of a [`Decision`] are computed from, and what it charged.
#[derive(Debug, Clone, Copy)]
pub struct Answer<V> {
    pub(crate) outcome: Outcome,
    pub(crate) view: V,
    pub(crate) charged: Option<Charged>,
}

/// How a state is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// It has been.
    Done,
    /// Its slot has to be held for it.
    Hold,
}

/// A charge that has been made: what it takes to undo it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    pub(crate) permits: u64,
    /// The word that the charge has left.
    pub(crate) word: Word,
}

impl<V> Answer<V> {
    #[inline]
    pub(crate) fn new(outcome: Outcome, view: V) -> Self {
        Self { outcome, view, charged: None }
    }

    /// The same answer, given by a charge that left `word`.
    #[inline]
    pub(crate) fn charging(self, permits: u64, word: Word) -> Self {
        Self { charged: Some(Charged { permits, word }), ..self }
    }

    #[inline]
    pub(crate) fn is_allowed(&self) -> bool {
        self.outcome == Outcome::Allowed
    }
}

/// The checked numbers of an algorithm and its step.
///
/// Times are ns since the clock's origin, at most [`TIME_MAX`](crate::algorithm::TIME_MAX). A word handed in is LIVE
/// or NEWBORN and was just loaded from the state.
pub trait Policy: Debug + Send + Sync + 'static {
    /// The words that decided, and the constants their details need.
    type View: Copy + Debug;

    /// The other words of a direct limiter's state.
    type Extra: AsRef<[AtomicU64]> + Debug + Send + Sync;

    /// The most permits one call can be granted.
    fn limit(&self) -> u64;

    /// The last time this policy's words can tell; time stands still there.
    fn horizon(&self) -> u64;

    /// How many words a state has beside its main word.
    fn extra_words(&self) -> usize;

    /// The other words of a direct limiter's state, fresh.
    fn extra(&self) -> Result<Self::Extra, BuildError>;

    /// The value of the main word of a new direct limiter.
    fn initial(&self, now: u64) -> u64;

    /// The decision on a state that nobody has charged yet.
    fn unknown(&self, now: u64, cost: u64) -> Answer<Self::View>;

    /// The answer as the user gets it.
    fn decision(answer: Answer<Self::View>) -> Decision;

    /// One attempt: decides on `word` and charges by one exchange, or tells why not.
    ///
    /// A refusal is a decision on the words read, confirmed to belong together. What is read is `word` alone for the
    /// one-word algorithms, so that a keyed caller still has to confirm that the word was its key's.
    fn attempt(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<Self::View>, Retry>;

    /// [`attempt`](Self::attempt), with a charge that may be due later where the algorithm can tell when.
    #[inline]
    fn reserve(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        ask: Reserve,
        intent: Intent,
    ) -> Result<Answer<Self::View>, Retry> {
        self.attempt(state, word, now, ask.permits, intent)
    }

    /// The longest wait in ns that a reservation may ask for.
    #[inline]
    fn max_wait(&self) -> u64 {
        0
    }

    /// What to write at `now` in place of the word that a charge has left, so that every later decision is what it would
    /// have been without the charge; and how many permits that gives back. Where that cannot be: the same word, and none.
    fn undone(&self, charged: Charged, _now: u64) -> (u64, Word) {
        (0, charged.word)
    }

    /// Forgets at `now` all that has been charged, by exchanging the word. If that cannot be: what has to be done is
    /// [`wipe`](Self::wipe).
    fn reset(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<Reset, Retry>;

    /// Forgets at `now` all that has been charged to a state that is held, and so nobody else's: the value of its word
    /// when FREE as of `now`.
    fn wipe(&self, _state: State<'_, impl Lens>, _word: Word, now: u64) -> u64 {
        now
    }

    /// How many permits a call may be granted at `now`, on `word`.
    fn available(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Result<u64, Retry>;

    /// One attempt at as many permits as there are, up to `cost`, which is not 0. Refused as one permit is if there are
    /// none.
    fn attempt_up_to(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        cost: u64,
        intent: Intent,
    ) -> Result<Answer<Self::View>, Retry> {
        let available = self.available(state, word, now)?;
        let answer = self.attempt(state, word, now, cost.min(available.max(1)), intent)?;
        // What was available on this word still is, unless another thread has changed the state's other words.
        if available > 0 && answer.outcome == Outcome::Denied { Err(Retry::Lost) } else { Ok(answer) }
    }

    /// Whether the state lies in the future of the reading `now` by more than the slack explains.
    fn is_ahead(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> bool;

    /// Takes a state that is ahead of the fresh reading `now`, and no other, back to the edge of being ahead: spent as
    /// of the slack from now. An exchange that is lost leaves the state to whoever won.
    fn heal(&self, state: State<'_, impl Lens>, word: Word, now: u64);

    /// If the state equals a fresh one strictly before `now`: the value of its word when FREE as of `now`.
    fn stale(&self, state: State<'_, impl Lens>, word: Word, now: u64) -> Option<u64>;

    /// The first time at which the state, left alone, is stale; `None` if never.
    fn stale_at(&self, state: State<'_, impl Lens>, word: Word) -> Option<u64>;

    /// The value of a word that is nobody's, raised to be fresh as of `newest`; with whatever else the state needs
    /// before it may become a key's that was last recycled at `newest`.
    fn prepare(&self, state: State<'_, impl Lens>, value: u64, newest: u64) -> u64;

    /// Records, before a stale state is freed as of `now`, what its word cannot.
    #[inline]
    fn seal(&self, _state: State<'_, impl Lens>, _now: u64) {}
}

/// A policy that can owe permits, and so grant some that are yet to come back.
pub trait Owe: Policy {
    /// Charges as many whole permits as the debt may be, whether they are there or not.
    fn penalize(
        &self,
        state: State<'_, impl Lens>,
        word: Word,
        now: u64,
        permits: u64,
        intent: Intent,
    ) -> Result<Answer<Self::View>, Retry>;
}

/// A policy whose charges can be taken back (and `undone`): its words tell how much is charged, so that less can be
/// written.
pub trait Refund: Policy {
    /// At most `permits` given back at `now`: how many those are, and the word with them; `None` if there is nothing
    /// to give back.
    fn refunded(&self, word: Word, now: u64, permits: u64) -> Option<(u64, Word)>;
}

#[cfg(test)]
pub(super) mod tests {
    use core::time::Duration;

    use super::*;
    use crate::algorithm::{Algorithm, SLACK_NANOS, TIME_MAX, Tag};
    use crate::{FixedWindow, ManualClock, Quota, SlidingCounter, SlidingLog, TokenBucket};

    /// One state under its policy, and what is done to it step by step.
    pub(in crate::algorithm) struct Lone<P: Policy> {
        pub(in crate::algorithm) policy: P,
        word: AtomicU64,
        extra: P::Extra,
    }

    impl<P: Policy> Lone<P> {
        pub(in crate::algorithm) fn new<A: Algorithm<Policy = P>>(algorithm: &A) -> Self {
            let policy = algorithm.policy(&ManualClock::new()).expect("a quota that fits");
            let extra = policy.extra().expect("memory");
            let word = AtomicU64::new(Word::live(policy.initial(0)).raw());
            Self { policy, word, extra }
        }

        pub(in crate::algorithm) fn state(&self) -> State<'_> {
            State::new(&self.word, self.extra.as_ref())
        }

        pub(in crate::algorithm) fn word(&self) -> Word {
            self.state().load()
        }

        pub(in crate::algorithm) fn ask(
            &self,
            now: u64,
            cost: u64,
            intent: Intent,
        ) -> Result<Outcome, Retry> {
            self.ask_on(self.word(), now, cost, intent)
        }

        pub(in crate::algorithm) fn ask_on(
            &self,
            word: Word,
            now: u64,
            cost: u64,
            intent: Intent,
        ) -> Result<Outcome, Retry> {
            self.policy.attempt(self.state(), word, now, cost, intent).map(|answer| answer.outcome)
        }

        pub(in crate::algorithm) fn charge(&self, now: u64, cost: u64) {
            assert_eq!(self.ask(now, cost, Intent::ChargeAt), Ok(Outcome::Allowed));
        }

        pub(in crate::algorithm) fn is_ahead(&self, now: u64) -> bool {
            self.policy.is_ahead(self.state(), self.word(), now)
        }

        pub(in crate::algorithm) fn heal(&self, now: u64) {
            self.policy.heal(self.state(), self.word(), now);
        }

        pub(in crate::algorithm) fn stale(&self, now: u64) -> Option<u64> {
            self.policy.stale(self.state(), self.word(), now)
        }

        pub(in crate::algorithm) fn stale_at(&self) -> Option<u64> {
            self.policy.stale_at(self.state(), self.word())
        }
    }

    fn quota(limit: u64, period: u64) -> Quota {
        Quota::new(limit, Duration::from_nanos(period))
    }

    fn is_stale_from_when_it_is_told<A: Algorithm>(algorithm: &A) {
        let policy = Lone::new(algorithm).policy;
        let times =
            [0, 1, 99, 100, 12_345, policy.horizon() / 2, policy.horizon() - 500, policy.horizon() - 1];
        for (time, cost) in times.into_iter().flat_map(|time| [(time, 1), (time, policy.limit())]) {
            let lone = Lone::new(algorithm);
            lone.charge(time, cost);
            match lone.stale_at() {
                Some(at) => {
                    assert_eq!(lone.stale(at - 1), None, "{cost} at {time}, stale before {at}");
                    assert!(lone.stale(at).is_some(), "{cost} at {time}, not stale at {at}");
                }
                None => assert_eq!(lone.stale(TIME_MAX), None, "{cost} at {time}"),
            }
        }
    }

    #[test]
    fn a_state_is_stale_from_the_time_that_is_told_and_not_before() {
        for (limit, period) in [(1, 1), (2, 100), (7, 300), (17, 1000)] {
            is_stale_from_when_it_is_told(&TokenBucket::new(quota(limit, period)));
            is_stale_from_when_it_is_told(&FixedWindow::new(quota(limit, period)));
            is_stale_from_when_it_is_told(&SlidingCounter::new(quota(limit, period)));
            is_stale_from_when_it_is_told(&SlidingLog::new(quota(limit, period)));
        }
        is_stale_from_when_it_is_told(&TokenBucket::new(quota(0, 1)).burst(3));
    }

    fn is_lost_on_a_word_that_was_replaced<A: Algorithm>(algorithm: &A, cases: &[(u64, u64, Intent)]) {
        for (now, cost, intent) in cases {
            let lone = Lone::new(algorithm);
            let first = lone.word();
            lone.charge(1000, 1);
            let second = lone.word();
            lone.charge(1000, 1);
            for replaced in [first, second] {
                let answer = lone.ask_on(replaced, *now, *cost, *intent);
                assert_eq!(answer, Err(Retry::Lost), "{cost} at {now}, {intent:?}");
            }
        }
    }

    #[test]
    fn a_decision_on_a_word_that_was_replaced_is_lost() {
        let charge = [(1000, 1, Intent::Charge)];
        is_lost_on_a_word_that_was_replaced(&TokenBucket::new(quota(5, 100)), &charge);
        is_lost_on_a_word_that_was_replaced(&FixedWindow::new(quota(5, 100)), &charge);
        // On several words that is so if nothing is charged too: they were not read at one instant.
        let all = [
            (1000, 1, Intent::Charge),
            (1100, 5, Intent::Charge),
            (1000, 1, Intent::Peek),
            (1000, 0, Intent::Peek),
            (1000, 5, Intent::Charge),
            (1000, 5, Intent::Peek),
            (1000, 6, Intent::Charge),
        ];
        is_lost_on_a_word_that_was_replaced(&SlidingCounter::new(quota(5, 100)), &all);
        is_lost_on_a_word_that_was_replaced(&SlidingLog::new(quota(5, 100)), &all);
    }

    fn has_the_other_quota_alone<A: Algorithm>(algorithm: &A, limit: u64) {
        let other = Lone::new(&algorithm.with_quota(quota(3, 100)));
        assert_eq!((other.policy.limit(), Lone::new(algorithm).policy.limit()), (3, limit));
    }

    #[test]
    fn an_algorithm_with_another_quota_has_its_limit() {
        has_the_other_quota_alone(&TokenBucket::new(quota(7, 100)).burst(5), 5);
        has_the_other_quota_alone(&FixedWindow::new(quota(7, 100)), 7);
        has_the_other_quota_alone(&SlidingCounter::new(quota(7, 100)), 7);
        has_the_other_quota_alone(&SlidingLog::new(quota(7, 100)), 7);
    }

    fn has_the_words_it_asks_for<A: Algorithm>(algorithm: &A, words: usize) {
        let lone = Lone::new(algorithm);
        assert_eq!((lone.policy.extra_words(), lone.state().extra.len()), (words, words));
    }

    #[test]
    fn a_state_has_as_many_other_words_as_its_policy_asks_for() {
        has_the_words_it_asks_for(&TokenBucket::new(quota(5, 100)), 0);
        has_the_words_it_asks_for(&FixedWindow::new(quota(5, 100)), 0);
        has_the_words_it_asks_for(&SlidingCounter::new(quota(5, 100)), 1);
        has_the_words_it_asks_for(&SlidingLog::new(quota(5, 100)), 6);
    }

    fn is_charged_as_of_its_stamp<A: Algorithm>(algorithm: &A) {
        const STAMP: u64 = 12_345;
        let (stamped, late) = (Lone::new(algorithm), Lone::new(algorithm));
        let limit = late.policy.limit();
        let stamp = |value, newest| stamped.policy.prepare(stamped.state(), value, newest);
        let value = stamp(stamp(stamp(0, STAMP - 500), STAMP), STAMP - 300);
        stamped.state().exchange(stamped.word(), Word::new(Tag::Newborn, value)).expect("nobody else writes");
        assert_eq!(
            (stamped.stale(STAMP), stamped.ask(STAMP, limit, Intent::Peek)),
            (None, Ok(Outcome::Allowed))
        );
        late.charge(STAMP, 1);
        stamped.charge(STAMP - 250, 1);
        assert_eq!(stamped.stale_at(), late.stale_at());
        for now in (STAMP..STAMP + 300).step_by(10) {
            let (answer, expected) =
                (stamped.ask(now, limit, Intent::Peek), late.ask(now, limit, Intent::Peek));
            assert_eq!(answer, expected, "at {now}, {algorithm:?}");
        }
    }

    #[test]
    fn a_state_fresh_as_of_a_later_time_than_the_reading_is_charged_as_of_that_time() {
        is_charged_as_of_its_stamp(&TokenBucket::new(quota(1, 10)).burst(30));
        is_charged_as_of_its_stamp(&FixedWindow::new(quota(5, 100)));
        is_charged_as_of_its_stamp(&SlidingCounter::new(quota(5, 100)));
        is_charged_as_of_its_stamp(&SlidingLog::new(quota(5, 100)));
    }

    /// `now` is a multiple of the period, and so is the slack.
    fn is_healed_to_the_edge<A: Algorithm>(algorithm: &A, now: u64) {
        let lone = Lone::new(algorithm);
        let spent = now + SLACK_NANOS;
        lone.charge(spent, lone.policy.limit());
        assert!(!lone.is_ahead(now) && lone.is_ahead(now - 1));
        assert_eq!(lone.ask(now, 1, Intent::Charge), Ok(Outcome::Denied));
        assert_eq!(lone.ask(now - 1, 1, Intent::Charge), Err(Retry::Ahead));
        for intent in [Intent::ChargeAt, Intent::Peek] {
            assert_eq!(lone.ask(now - 1, 1, intent), Ok(Outcome::Denied), "{intent:?}");
        }
        let earlier = now - 1000;
        lone.heal(earlier);
        assert!(!lone.is_ahead(earlier) && lone.is_ahead(earlier - 1));
        assert_eq!(lone.ask(earlier + SLACK_NANOS, 1, Intent::Charge), Ok(Outcome::Denied));
    }

    #[test]
    fn a_state_further_ahead_than_the_slack_is_healed_to_spent_as_of_the_slack_from_now() {
        for now in [2000, 10_000_000_000] {
            is_healed_to_the_edge(&TokenBucket::new(quota(5, 100)), now);
            is_healed_to_the_edge(&FixedWindow::new(quota(5, 100)), now);
            is_healed_to_the_edge(&SlidingCounter::new(quota(5, 100)), now);
            is_healed_to_the_edge(&SlidingLog::new(quota(5, 100)), now);
        }
    }
}
