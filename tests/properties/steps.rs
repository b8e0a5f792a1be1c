//! Steps that proptest makes up.

use oracle::steps::{Cost, Hop, KEYS, Step, Verb, Wait};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::rules::magnitude;

/// Checks at readings in any order.
pub(crate) fn any_order() -> impl Strategy<Value = Vec<Step>> {
    steps(any_way(), Just(Verb::Check))
}

/// Calls of all verbs at readings in any order.
pub(crate) fn of_all_verbs() -> impl Strategy<Value = Vec<Step>> {
    steps(any_way(), verb())
}

/// Calls of all verbs at readings that never go back.
pub(crate) fn of_all_verbs_in_order() -> impl Strategy<Value = Vec<Step>> {
    steps(forward(), verb())
}

fn any_way() -> impl Strategy<Value = Hop> {
    let back = prop_oneof![
        magnitude().prop_map(Hop::Back),
        magnitude().prop_map(Hop::To),
        (0..4_u64).prop_map(Hop::Back),
    ];
    prop_oneof![6 => forward(), 1 => back]
}

/// Checks at readings that never go back.
pub(crate) fn in_order() -> impl Strategy<Value = Vec<Step>> {
    steps(forward(), Just(Verb::Check))
}

/// Calls that take the limit, and then each permit as soon as it comes back.
pub(crate) fn one_by_one(permits: usize) -> Vec<Step> {
    let step = |hop, cost| Step { hop, verb: Verb::Check, cost, key: 0, passers_by: 0 };
    let refused_and_granted = || [step(Hop::Stay, Cost::These(1)), step(Hop::Retry(0), Cost::These(1))];
    std::iter::once(step(Hop::Stay, Cost::Limit))
        .chain((0..permits).flat_map(|_| refused_and_granted()))
        .collect()
}

fn steps(
    hop: impl Strategy<Value = Hop>,
    verb: impl Strategy<Value = Verb>,
) -> impl Strategy<Value = Vec<Step>> {
    let passers_by = prop_oneof![2 => Just(0), 1 => 1..12_usize];
    let step = (hop, verb, cost(), 0..KEYS, passers_by);
    vec(step.prop_map(|(hop, verb, cost, key, passers_by)| Step { hop, verb, cost, key, passers_by }), 1..40)
}

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

fn verb() -> impl Strategy<Value = Verb> {
    let wait = prop_oneof![
        3 => Just(Wait::Longest(0)),
        1 => (-1..=1_i64).prop_map(Wait::Longest),
        2 => (-1..=1_i64).prop_map(Wait::Needed),
        1 => (0..4_u64).prop_map(Wait::These),
        1 => magnitude().prop_map(Wait::These),
    ];
    prop_oneof![
        6 => Just(Verb::Check),
        2 => Just(Verb::TakeUpTo),
        6 => wait.prop_map(Verb::Reserve),
        4 => (0..3_usize).prop_map(Verb::Cancel),
        2 => (0..3_usize).prop_map(Verb::Keep),
        2 => Just(Verb::Refund),
        2 => Just(Verb::Penalize),
        1 => Just(Verb::Reset),
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
