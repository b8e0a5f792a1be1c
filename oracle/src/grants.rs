//! Whether grants kept an algorithm's bound, judged by readings alone.

use crate::rate::is_rounded;
use crate::vectors::Rule;

/// One grant.
#[derive(Debug, Clone, Copy)]
pub struct Grant {
    /// A reading from before the call, in ns.
    pub from: u64,
    /// A reading from after it. The call took effect at some time in between.
    pub to: u64,
    pub permits: u64,
}

/// Asserts that whatever two readings one picks, the grants in between number at most `bound(from, to)`.
pub fn assert_bounded(grants: &mut [Grant], bound: impl Fn(u64, u64) -> u64) {
    grants.sort_by_key(|grant| grant.to);
    for first in grants.iter() {
        let mut permits = 0;
        for last in grants.iter().filter(|grant| grant.from >= first.from) {
            permits += last.permits;
            let most = bound(first.from, last.to);
            assert!(permits <= most, "{permits} of {most} permits from {} to {}", first.from, last.to);
        }
    }
}

/// The bound of a token bucket of `capacity` permits, refilled by one in every `interval` ns.
pub fn bucket(capacity: u64, interval: u64) -> impl Fn(u64, u64) -> u64 {
    move |from, to| capacity + (to - from) / interval
}

/// The bound of windows that start at multiples of `period`.
pub fn windows(limit: u64, period: u64) -> impl Fn(u64, u64) -> u64 {
    move |from, to| limit * (to / period - from / period + 1)
}

/// The bound of a window of `period` that slides exactly.
pub fn log(limit: u64, period: u64) -> impl Fn(u64, u64) -> u64 {
    move |from, to| limit * ((to - from) / period + 1)
}

/// The most permits of any rule for readings from one to another.
pub fn most(rule: Rule, from: u64, to: u64) -> u128 {
    let span = u128::from(to - from);
    match rule {
        Rule::TokenBucket { capacity, limit, period, .. } => {
            // A rounded permit may come one unit early.
            let early = u128::from(is_rounded(rule));
            u128::from(capacity) + span * u128::from(limit) / u128::from(period) + early
        }
        Rule::FixedWindow { limit, period } | Rule::SlidingCounter { limit, period } => {
            u128::from(limit) * (u128::from(to / period - from / period) + 1)
        }
        Rule::SlidingLog { limit, period } => u128::from(limit) * (span / u128::from(period) + 1),
    }
}
