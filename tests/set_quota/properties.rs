//! Every answer, before and after each change, is the reference's.

use oracle::SLACK;
use oracle::reference::Reference;
use oracle::vectors::{Answer, Rule};
use oracle::verbs::{Ask, Told};
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    Adjustable, Adjusts, AnyAlgorithm, FixedWindow, Keyed, Limiter, ManualClock, SetQuotaError,
    SlidingCounter, SlidingLog, TokenBucket,
};

use crate::cases::config;
use crate::{SECOND, at, quota};

const LIMIT_MAX: u64 = 12;
const KEYS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Ahead(u64),
    Back(u64),
    Check(usize, u64),
    Peek(usize, u64),
    Change(Parameters),
}

/// Of any algorithm: it takes what it needs.
#[derive(Debug, Clone, Copy)]
struct Parameters {
    limit: u64,
    period: u64,
    burst: u64,
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let period = prop_oneof![16..50_u64, 16..5000_u64, Just(3600 * SECOND)];
    (0..=LIMIT_MAX, period, 1..=LIMIT_MAX).prop_map(|(limit, period, burst)| Parameters {
        limit,
        period,
        burst,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let hop = || prop_oneof![0..10_u64, 0..200_u64, 0..6000_u64, Just(11 * SECOND), Just(2 * 3600 * SECOND)];
    prop_oneof![
        3 => hop().prop_map(Step::Ahead),
        1 => prop_oneof![0..10_u64, 0..500_u64].prop_map(Step::Back),
        6 => (0..KEYS, 0..=LIMIT_MAX + 1).prop_map(|(key, cost)| Step::Check(key, cost)),
        1 => (0..KEYS, 0..=LIMIT_MAX + 1).prop_map(|(key, cost)| Step::Peek(key, cost)),
        2 => parameters().prop_map(Step::Change),
    ]
}

struct Faces<A: Adjusts> {
    direct: Limiter<Adjustable<A>, ManualClock>,
    keyed: Keyed<Adjustable<A>, u64, ManualClock>,
}

fn follow<A: Adjusts>(
    first: Parameters,
    steps: &[Step],
    algorithm: impl Fn(Parameters) -> A,
    rule: impl Fn(Parameters) -> Rule,
) -> Result<(), TestCaseError> {
    let build = || Adjustable::new(algorithm(first)).max_limit(LIMIT_MAX).clock(ManualClock::new());
    let faces = Faces {
        direct: build().build().expect("a quota that fits"),
        // Room for all, so that no log is recycled whose entries a longer period counts again.
        keyed: build().keyed(100).build().expect("a table that fits"),
    };
    let reference = || Reference::new(rule(first), faces.direct.horizon().as_nanos()).adjustable(LIMIT_MAX);
    let mut of_direct = reference();
    // `None` for a key that was never charged: it has no state to carry over.
    let mut of_keys: [Option<Reference>; KEYS] = [const { None }; KEYS];
    let mut fresh = reference();
    let (mut now, mut changes, mut changed_at) = (0_u64, Vec::new(), 0_u64);
    for step in steps {
        match *step {
            Step::Ahead(hop) => now += hop,
            Step::Back(hop) => now = now.saturating_sub(hop),
            Step::Check(key, cost) => {
                let expected = of_direct.ask(now, Ask::Check(cost));
                let told = Told::Decided(Answer::from(faces.direct.check_at(at(now), cost)));
                prop_assert_eq!(told, expected, "direct, {} at {}", cost, now);
                let mut state = of_keys[key].clone().unwrap_or_else(|| fresh.clone());
                let expected = state.ask(now, Ask::Check(cost));
                let decision = faces.keyed.check_at(&(key as u64), at(now), cost);
                prop_assert_eq!(Told::Decided(decision.into()), expected, "key {}, {} at {}", key, cost, now);
                if of_keys[key].is_some() || decision.is_allowed() && cost > 0 {
                    of_keys[key] = Some(state);
                }
            }
            Step::Peek(key, cost) => {
                let expected = of_direct.peek(now, cost);
                prop_assert_eq!(
                    Answer::from(faces.direct.peek_at(at(now), cost)),
                    expected,
                    "direct at {}",
                    now
                );
                let expected = of_keys[key].as_ref().unwrap_or(&fresh).peek(now, cost);
                let told = Answer::from(faces.keyed.peek_at(&(key as u64), at(now), cost));
                prop_assert_eq!(told, expected, "key {} at {}", key, now);
            }
            Step::Change(next) => {
                let outcome = faces.direct.set_quota_at(at(now), &algorithm(next));
                prop_assert_eq!(outcome, faces.keyed.set_quota_at(at(now), &algorithm(next)));
                match outcome {
                    Ok(()) => {
                        changes.push(now);
                        let is_ahead = changed_at.saturating_sub(now) > SLACK;
                        changed_at = if is_ahead { now } else { now.max(changed_at) };
                        let horizon = faces.direct.horizon().as_nanos();
                        for state in of_keys.iter_mut().flatten().chain([&mut of_direct]) {
                            state.change(changed_at, rule(next), horizon);
                        }
                        fresh = Reference::new(rule(next), horizon).adjustable(LIMIT_MAX);
                    }
                    Err(SetQuotaError::Busy) => {
                        let last = changes.last();
                        prop_assert!(last.is_some_and(|at: &u64| at.abs_diff(now) < 10 * SECOND));
                    }
                    error => prop_assert!(false, "{:?}", error),
                }
            }
        }
    }
    Ok(())
}

fn bucket(Parameters { limit, period, burst }: Parameters) -> TokenBucket {
    TokenBucket::new(quota(limit, period)).burst(burst)
}

fn bucket_rule(Parameters { limit, period, burst }: Parameters) -> Rule {
    Rule::TokenBucket { capacity: burst, limit, period, max_wait: 0 }
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn of_a_bucket(first in parameters(), steps in vec(step(), 1..60)) {
        follow(first, &steps, bucket, bucket_rule)?;
    }

    #[test]
    fn of_a_bucket_chosen_at_run_time(first in parameters(), steps in vec(step(), 1..60)) {
        follow(first, &steps, |parameters| AnyAlgorithm::from(bucket(parameters)), bucket_rule)?;
    }

    #[test]
    fn of_a_fixed_window(first in parameters(), steps in vec(step(), 1..60)) {
        follow(
            first,
            &steps,
            |Parameters { limit, period, .. }| FixedWindow::new(quota(limit, period)),
            |Parameters { limit, period, .. }| Rule::FixedWindow { limit, period },
        )?;
    }

    #[test]
    fn of_a_counter(first in parameters(), steps in vec(step(), 1..60)) {
        let period = first.period;
        follow(
            first,
            &steps,
            |Parameters { limit, .. }| SlidingCounter::new(quota(limit, period)),
            |Parameters { limit, .. }| Rule::SlidingCounter { limit, period },
        )?;
    }

    #[test]
    fn of_a_log(first in parameters(), steps in vec(step(), 1..60)) {
        follow(
            first,
            &steps,
            |Parameters { limit, period, .. }| SlidingLog::new(quota(limit, period)),
            |Parameters { limit, period, .. }| Rule::SlidingLog { limit, period },
        )?;
    }
}
