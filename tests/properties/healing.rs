//! Limiters on a clock that was ahead and is right again.
//!
//! What was charged meanwhile lies in the future. By no more than the slack it counts as it is, as if by an older
//! reading. Further ahead it is healed: the state is spent as of the slack from the first charge after. A bucket may be
//! ahead, and is spent, by so much more as its reservations may wait.

use oracle::SLACK;
use oracle::limiters::Visit;
use oracle::reference::Reference;
use oracle::steps::{Step, Verb, Walk};
use oracle::vectors::Rule;
use oracle::verbs::{Ask, Reply, Told, Verbs};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, ManualClock, RandomSipHash, Reservation};

use crate::config;
use crate::rules::{exact, magnitude};
use crate::steps::of_all_verbs_in_order;

/// Asks when the clock reads so many ns, and keeps what is reserved; a check if there is no such verb.
type Asker = Box<dyn Fn(u64, Ask) -> (Told, Ask)>;

/// How to ask a limiter on a clock of its own, and its horizon.
#[derive(Debug, Clone, Copy)]
struct OnAClock {
    is_keyed: bool,
    /// Whether its algorithm is chosen at run time.
    is_any: bool,
}

impl OnAClock {
    fn build(self, rule: Rule) -> Result<(Asker, u64), BuildError> {
        let (clock, hasher) = (ManualClock::new(), RandomSipHash::with_key([0, 0]));
        if self.is_any {
            rule.build_any_on(clock, 1, hasher, self)
        } else {
            rule.build_on(clock, 1, hasher, self)
        }
    }
}

fn limiters() -> impl Strategy<Value = OnAClock> {
    any::<[bool; 2]>().prop_map(|[is_keyed, is_any]| OnAClock { is_keyed, is_any })
}

impl Visit<ManualClock> for OnAClock {
    type Output = (Asker, u64);

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, ManualClock>,
        keyed: Keyed<A, u64, ManualClock>,
    ) -> Self::Output {
        let clock = direct.clock().clone();
        let horizon = direct.horizon().as_nanos();
        let ask: Asker = Box::new(move |now, ask| {
            clock.set(Instant::from_nanos(now));
            let limiter: &dyn Verbs = if self.is_keyed { &keyed } else { &direct };
            let (Reply { told, reservation }, ask) = limiter.ask_or_check(0, None, ask);
            reservation.into_iter().for_each(Reservation::keep);
            (told, ask)
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

/// How far ahead of a reading of 0 a bucket is beyond being spent, in parts of which `period` are a permit, if it owes
/// `debt` permits at `ahead`; how far it may be.
fn owes(rule: Rule, ahead: u64, debt: u64) -> (u128, u128) {
    let Rule::TokenBucket { limit, period, max_wait, .. } = rule else { return (0, u128::MAX) };
    let limit = u128::from(limit);
    let owes = limit * u128::from(ahead) + u128::from(debt) * u128::from(period);
    (owes, limit * (u128::from(SLACK) + u128::from(max_wait)))
}

/// By how much the clock was ahead, of the longest wait of a reservation too.
fn glitch() -> impl Strategy<Value = u64> {
    prop_oneof![3 => SLACK - 1..=SLACK + 1, 2 => magnitude(), 1 => 0..3 * SLACK]
}

/// What happened while the clock was ahead.
#[derive(Debug, Clone, Copy)]
struct Glitch {
    by: u64,
    /// Whether all that may be owed was.
    in_debt: bool,
}

fn glitches() -> impl Strategy<Value = Glitch> {
    (glitch(), any::<bool>()).prop_map(|(by, in_debt)| Glitch { by, in_debt })
}

fn heals(rule: Rule, limiter: OnAClock, now: u64, glitch: Glitch, steps: &[Step]) -> TestCaseResult {
    let (ask, horizon) = limiter.build(rule)?;
    // It takes a bucket's own verb to be in debt.
    let (by, in_debt, max_wait) = (glitch.by, glitch.in_debt && !limiter.is_any, rule.max_wait());
    let glitch = by.saturating_add(if in_debt { 0 } else { max_wait });
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
    let (told, _) = ask(ahead, Ask::Check(limit));
    prop_assert_eq!(told, reference.ask(ahead, Ask::Check(limit)), "while the clock is ahead, at {}", ahead);
    let mut debt = 0;
    if in_debt && let Rule::TokenBucket { .. } = rule {
        let (told, _) = ask(ahead, Ask::Penalize(u64::MAX));
        prop_assert_eq!(told, reference.ask(ahead, Ask::Penalize(u64::MAX)), "owed at {}", ahead);
        let Told::Moved(permits) = told else { unreachable!("a penalty is counted") };
        debt = permits;
    }
    let is_ahead = match rule {
        Rule::TokenBucket { .. } => {
            let (owed, most) = owes(rule, by, debt);
            owed > most
        }
        _ => by > SLACK,
    };
    if is_ahead {
        let edge = now.saturating_add(SLACK).saturating_add(max_wait);
        prop_assume!(edge <= horizon);
        reference = Reference::fresh(rule, horizon, edge);
        let _ = reference.call(edge, limit);
    }
    // It is the first charge that heals.
    let (told, _) = ask(now, Ask::Check(1));
    prop_assert_eq!(told, reference.ask(now, Ask::Check(1)), "at {} after {}", now, ahead);
    let mut walk = Walk::new(rule, horizon - now);
    walk.answered(reference.peek(now, 1));
    for (number, step) in (1..).zip(steps) {
        let (later, cost) = walk.next(step);
        let later = now.saturating_add(later);
        let verb = match (rule, step.verb) {
            // What a healed counter gets back is outweighed by its previous window, which nobody knows any more.
            (Rule::SlidingCounter { .. }, Verb::Refund) => Verb::Check,
            (_, verb) => verb,
        };
        let asked = walk.ask(verb, cost, number, reference.peek(later, cost).retry);
        let (told, asked) = ask(later, asked);
        let expected = reference.ask(later, asked);
        reference.keep(number);
        prop_assert_eq!(told, expected, "step {}: {:?} at {}, {} after {}", number, asked, later, now, ahead);
        walk.answered(reference.peek(later, cost));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn a_state_ahead_of_the_clock_by_more_than_the_slack_is_spent_as_of_the_slack_from_now(
        rule in exact(),
        limiter in limiters(),
        now in magnitude(),
        glitch in glitches(),
        steps in of_all_verbs_in_order(),
    ) {
        heals(rule, limiter, now, glitch, &steps)?;
    }
}
