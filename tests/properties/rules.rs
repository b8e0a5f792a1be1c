//! Rules that limiters can be built from.

use proptest::prelude::*;
use tollgate::{Algorithm, Keyed, Limiter, RandomSipHash};

use oracle::limiters::Visit;
use oracle::rate::is_rounded;
use oracle::vectors::Rule;

/// A number of any magnitude: small ones are as likely as large ones.
pub(crate) fn magnitude() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
}

/// Any rule of which a limiter is exact.
pub(crate) fn exact() -> impl Strategy<Value = Rule> {
    prop_oneof![2 => exact_bucket(), 1 => fixed_window(), 2 => sliding_counter(), 2 => sliding_log()]
}

/// Token buckets whose rate has a numerator of at most 16 when reduced.
pub(crate) fn exact_bucket() -> impl Strategy<Value = Rule> {
    let named = prop_oneof![
        // One in 60 days; one in 584 years; nothing, ever.
        Just((1, 5_184_000_000_000_000, 1)),
        Just((1, u64::MAX, 1)),
        Just((0, 1_000_000_000, 1)),
        Just((16, 1, 1)),
    ];
    let any = (0..=16_u64, magnitude(), magnitude().prop_map(|scale| scale >> 24));
    let rate = prop_oneof![1 => named, 9 => any].prop_map(|(n, p, scale)| {
        let (p, scale) = (p.max(1), scale.max(1));
        // A scale only makes the same rate look different.
        match (n.checked_mul(scale), p.checked_mul(scale)) {
            (Some(limit), Some(period)) => (limit, period),
            _ => (n, p),
        }
    });
    let rules = (rate, capacity(), max_wait());
    buildable(rules.prop_map(|((limit, period), capacity, wait)| bucket(capacity, limit, period, wait)))
}

/// The longest wait of a reservation, in 2^-16 parts of the time that a permit takes to come back, or in ns.
fn max_wait() -> impl Strategy<Value = MaxWait> {
    prop_oneof![
        2 => Just(MaxWait::Nanos(0)),
        2 => (0..10_u64).prop_map(MaxWait::Nanos),
        2 => magnitude().prop_map(MaxWait::Nanos),
        6 => (0..=12_u64 << 16).prop_map(MaxWait::Permits),
        2 => (0..=12_u64).prop_map(|permits| MaxWait::Permits(permits << 16)),
    ]
}

#[derive(Debug, Clone, Copy)]
enum MaxWait {
    Nanos(u64),
    Permits(u64),
}

/// Token buckets whose rate the limiter rounds.
pub(crate) fn rounded_bucket() -> impl Strategy<Value = Rule> {
    let named = prop_oneof![
        Just((999_983, 1_000_000_000)),
        Just((1_250_000_000, 1_000_000_000)),
        Just((600_000_000, 1_000_000_000)),
        Just((17, 1)),
        Just((255, 1)),
        Just((u64::MAX, u64::MAX - 1)),
    ];
    let rate = prop_oneof![1 => named, 9 => (magnitude(), magnitude())];
    let rules = (rate, capacity(), max_wait());
    rounded(rules.prop_map(|((limit, period), capacity, wait)| bucket(capacity, limit, period, wait)))
}

/// Token buckets whose rate is rounded, to which a permit comes back in months.
pub(crate) fn slow_rounded_bucket() -> impl Strategy<Value = Rule> {
    let rules = (1..8_u64, 17..64_u64, 1_u64 << 57..1 << 59);
    let without_wait = MaxWait::Nanos(0);
    rounded(rules.prop_map(move |(capacity, limit, period)| bucket(capacity, limit, period, without_wait)))
}

fn rounded(rules: impl Strategy<Value = Rule>) -> impl Strategy<Value = Rule> {
    buildable(rules.prop_filter("rates are rounded above a numerator of 16", |rule| is_rounded(*rule)))
}

fn bucket(capacity: u64, limit: u64, period: u64, max_wait: MaxWait) -> Rule {
    let period = period.max(1);
    let max_wait = match max_wait {
        MaxWait::Nanos(nanos) => nanos,
        MaxWait::Permits(parts) => {
            let nanos = (u128::from(parts) * u128::from(period / limit.max(1))) >> 16;
            u64::try_from(nanos).unwrap_or(u64::MAX)
        }
    };
    Rule::TokenBucket { capacity, limit, period, max_wait }
}

fn capacity() -> impl Strategy<Value = u64> {
    prop_oneof![1..=20_u64, magnitude()].prop_map(|capacity| capacity.max(1))
}

fn fixed_window() -> impl Strategy<Value = Rule> {
    buildable(windowed(magnitude()).prop_map(|(limit, period)| Rule::FixedWindow { limit, period }))
}

fn sliding_counter() -> impl Strategy<Value = Rule> {
    buildable(windowed(magnitude()).prop_map(|(limit, period)| Rule::SlidingCounter { limit, period }))
}

fn sliding_log() -> impl Strategy<Value = Rule> {
    windowed(0..=300_u64).prop_map(|(limit, period)| Rule::SlidingLog { limit, period })
}

fn windowed(limit: impl Strategy<Value = u64>) -> impl Strategy<Value = (u64, u64)> {
    let limit = prop_oneof![0..=20_u64, limit];
    (limit, magnitude()).prop_map(|(limit, period)| (limit, period.max(1)))
}

fn buildable(rules: impl Strategy<Value = Rule>) -> impl Strategy<Value = Rule> {
    struct Nothing;

    impl Visit for Nothing {
        type Output = ();

        fn visit<A: Algorithm>(self, _: Limiter<A>, _: Keyed<A, u64>) {}
    }

    rules.prop_filter("not every rule can be built", |rule| {
        rule.build(1, RandomSipHash::with_key([0, 0]), Nothing).is_ok()
    })
}
