//! Limiters on a clock that was ahead and is right again.
//!
//! What was charged meanwhile lies in the future. By no more than the slack it counts as it is, as if by an older
//! reading. Further ahead it is healed: the state is spent as of the slack from the first charge after.

use oracle::SLACK;
use oracle::limiters::Visit;
use oracle::reference::Reference;
use oracle::steps::{Step, Walk};
use oracle::vectors::{Answer, Rule};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::{Algorithm, Decision, Instant, Keyed, Limiter, ManualClock, RandomSipHash};

use crate::config;
use crate::rules::{exact, magnitude};
use crate::steps::in_order;

/// Asks for so much when the clock reads so many ns.
type Ask = Box<dyn Fn(u64, u64) -> Decision>;

/// How to ask a limiter on a clock of its own, and its horizon.
struct OnAClock {
    is_keyed: bool,
}

impl Visit<ManualClock> for OnAClock {
    type Output = (Ask, u64);

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, ManualClock>,
        keyed: Keyed<A, u64, ManualClock>,
    ) -> Self::Output {
        let clock = direct.clock().clone();
        let horizon = direct.horizon().as_nanos();
        let ask: Ask = Box::new(move |now, cost| {
            clock.set(Instant::from_nanos(now));
            if self.is_keyed { keyed.check_n(&0, cost) } else { direct.check_n(cost) }
        });
        (ask, horizon)
    }
}

/// The most that one call is granted, and how far ahead of `now` a state is that was spent at `ahead`.
fn spent(rule: Rule, ahead: u64, now: u64) -> (u64, u64) {
    match rule {
        // Nothing comes back: no time is recorded.
        Rule::TokenBucket { capacity, limit: 0, .. } => (capacity, 0),
        Rule::TokenBucket { capacity, .. } => (capacity, ahead - now),
        Rule::FixedWindow { limit, period } | Rule::SlidingCounter { limit, period } => {
            (limit, (ahead / period * period).saturating_sub(now))
        }
        Rule::SlidingLog { limit, .. } => (limit, ahead - now),
    }
}

/// By how much the clock was ahead.
fn glitch() -> impl Strategy<Value = u64> {
    prop_oneof![3 => SLACK - 1..=SLACK + 1, 2 => magnitude(), 1 => 0..3 * SLACK]
}

fn heals(rule: Rule, is_keyed: bool, now: u64, glitch: u64, steps: &[Step]) -> TestCaseResult {
    let hasher = RandomSipHash::with_key([0, 0]);
    let (ask, horizon) = rule.build_on(ManualClock::new(), 1, hasher, OnAClock { is_keyed })?;
    let mut ahead = now.saturating_add(glitch).min(horizon);
    let mut now = now.min(ahead);
    if let Rule::FixedWindow { period, .. } | Rule::SlidingCounter { period, .. } = rule {
        // From the start of a window, so that the slack is met to the ns.
        ahead = ahead / period * period;
        now = ahead.saturating_sub(glitch);
    }
    let (limit, by) = spent(rule, ahead, now);
    prop_assume!(limit > 0);
    let mut reference = Reference::new(rule, horizon);
    let (answer, expected) = (Answer::from(ask(ahead, limit)), reference.call(ahead, limit));
    prop_assert_eq!(answer, expected, "while the clock is ahead, at {}", ahead);
    if by > SLACK {
        reference = Reference::fresh(rule, horizon, now + SLACK);
        let _ = reference.call(now + SLACK, limit);
    }
    // It is the first charge that heals.
    let (answer, expected) = (Answer::from(ask(now, 1)), reference.call(now, 1));
    prop_assert_eq!(answer, expected, "at {} after {}", now, ahead);
    let mut walk = Walk::new(rule, horizon - now);
    walk.answered(answer);
    for (number, step) in steps.iter().enumerate() {
        let (later, cost) = walk.next(step);
        let later = now.saturating_add(later);
        let (answer, expected) = (Answer::from(ask(later, cost)), reference.call(later, cost));
        prop_assert_eq!(
            answer,
            expected,
            "step {}: at {} for {}, {} after {}",
            number,
            later,
            cost,
            now,
            ahead
        );
        walk.answered(answer);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn a_state_ahead_of_the_clock_by_more_than_the_slack_is_spent_as_of_the_slack_from_now(
        rule in exact(),
        is_keyed in any::<bool>(),
        now in magnitude(),
        glitch in glitch(),
        steps in in_order(),
    ) {
        heals(rule, is_keyed, now, glitch, &steps)?;
    }
}
