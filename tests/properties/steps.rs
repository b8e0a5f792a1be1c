//! What is asked when, as far as it can be said before the answers are known.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::rules::magnitude;
use crate::vectors::{Answer, Rule};

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    hop: Hop,
    cost: Cost,
    /// In tests of keyed limiters: whose call it is, and how many passers-by are asked for before.
    pub(crate) key: usize,
    pub(crate) passers_by: usize,
}

/// From the time of the call before to the time of this one.
#[derive(Debug, Clone)]
enum Hop {
    Stay,
    Forward(u64),
    Back(u64),
    /// By 2^-16 parts of the period.
    Period(u64),
    /// By the wait for a retry, or for all of the limit, and by so much less or more.
    Retry(i64),
    Reset(i64),
    /// To some time, or so much before the end of the limiter's, or past it.
    To(u64),
    BeforeHorizon(u64),
    PastHorizon(u64),
}

#[derive(Debug, Clone)]
enum Cost {
    These(u64),
    /// What remained after the call before, and so much more.
    Remaining(u64),
    Half,
    Limit,
    AboveLimit,
}

/// Calls at readings in any order.
pub(crate) fn any_order() -> impl Strategy<Value = Vec<Step>> {
    let back = prop_oneof![
        magnitude().prop_map(Hop::Back),
        magnitude().prop_map(Hop::To),
        (0..4_u64).prop_map(Hop::Back),
    ];
    steps(prop_oneof![6 => forward(), 1 => back])
}

/// Calls at readings that never go back.
pub(crate) fn in_order() -> impl Strategy<Value = Vec<Step>> {
    steps(forward())
}

/// Calls that take the limit, and then each permit as soon as it comes back.
pub(crate) fn one_by_one(permits: usize) -> Vec<Step> {
    let step = |hop, cost| Step { hop, cost, key: 0, passers_by: 0 };
    let refused_and_granted = || [step(Hop::Stay, Cost::These(1)), step(Hop::Retry(0), Cost::These(1))];
    std::iter::once(step(Hop::Stay, Cost::Limit))
        .chain((0..permits).flat_map(|_| refused_and_granted()))
        .collect()
}

fn steps(hop: impl Strategy<Value = Hop>) -> impl Strategy<Value = Vec<Step>> {
    let passers_by = prop_oneof![2 => Just(0), 1 => 1..12_usize];
    let step = (hop, cost(), 0..KEYS, passers_by);
    vec(step.prop_map(|(hop, cost, key, passers_by)| Step { hop, cost, key, passers_by }), 1..40)
}

/// The keys that steps are for.
pub(crate) const KEYS: usize = 3;

fn forward() -> impl Strategy<Value = Hop> {
    prop_oneof![
        6 => Just(Hop::Stay),
        2 => (1..4_u64).prop_map(Hop::Forward),
        2 => magnitude().prop_map(Hop::Forward),
        4 => (0..=3_u64 << 16).prop_map(Hop::Period),
        2 => prop_oneof![Just(1_u64 << 16), Just(2_u64 << 16)].prop_map(Hop::Period),
        6 => (-1..=1_i64).prop_map(Hop::Retry),
        3 => (-1..=1_i64).prop_map(Hop::Reset),
        1 => magnitude().prop_map(Hop::BeforeHorizon),
        1 => magnitude().prop_map(Hop::PastHorizon),
    ]
}

fn cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        8 => Just(Cost::These(1)),
        3 => (0..6_u64).prop_map(Cost::These),
        1 => magnitude().prop_map(Cost::These),
        1 => Just(Cost::These(u64::MAX)),
        4 => (0..2_u64).prop_map(Cost::Remaining),
        2 => Just(Cost::Half),
        2 => Just(Cost::Limit),
        1 => Just(Cost::AboveLimit),
    ]
}

/// Makes times and costs of steps.
#[derive(Debug)]
pub(crate) struct Walk {
    limit: u64,
    period: u64,
    horizon: u64,
    now: u64,
    last: Option<Answer>,
}

impl Walk {
    pub(crate) fn new(rule: Rule, horizon: u64) -> Self {
        let (limit, period) = match rule {
            Rule::TokenBucket { capacity, period, .. } => (capacity, period),
            Rule::FixedWindow { limit, period }
            | Rule::SlidingCounter { limit, period }
            | Rule::SlidingLog { limit, period } => (limit, period),
        };
        Self { limit, period, horizon, now: 0, last: None }
    }

    /// The time and the cost of a step.
    pub(crate) fn next(&mut self, step: &Step) -> (u64, u64) {
        let after = |wait: Option<u64>, offset: i64| {
            // A wait that is none leads nowhere.
            wait.filter(|wait| *wait > 0)
                .map_or(self.now, |wait| self.now.saturating_add(wait).saturating_add_signed(offset))
        };
        self.now = match step.hop {
            Hop::Stay => self.now,
            Hop::Forward(nanos) => self.now.saturating_add(nanos),
            Hop::Back(nanos) => self.now.saturating_sub(nanos),
            Hop::Period(parts) => {
                let nanos = (u128::from(self.period) * u128::from(parts)) >> 16;
                self.now.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
            Hop::Retry(offset) => after(self.last.and_then(|last| last.retry), offset),
            Hop::Reset(offset) => after(self.last.and_then(|last| last.reset), offset),
            Hop::To(now) => now,
            Hop::BeforeHorizon(nanos) => self.now.max(self.horizon.saturating_sub(nanos)),
            Hop::PastHorizon(nanos) => self.now.max(self.horizon.saturating_add(nanos)),
        };
        let cost = match step.cost {
            Cost::These(cost) => cost,
            Cost::Remaining(more) => {
                let remaining = self.last.and_then(|last| last.remaining).unwrap_or(self.limit);
                remaining.saturating_add(more)
            }
            Cost::Half => self.limit / 2,
            Cost::Limit => self.limit,
            Cost::AboveLimit => self.limit.saturating_add(1),
        };
        (self.now, cost)
    }

    /// Waits of the next step refer to this answer.
    pub(crate) fn answered(&mut self, answer: Answer) {
        self.last = Some(answer);
    }
}
