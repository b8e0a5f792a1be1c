//! What is promised of a rule: see `Limiter`, "Clocks that err".

pub(crate) use oracle::SLACK;
pub(crate) use oracle::grants::most as bound;
use oracle::rate::is_rounded;
use oracle::vectors::Rule;

/// What a state that is spent takes, in ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recovery {
    /// Until one permit is back.
    pub(crate) refill: u64,
    /// Until it is as good as new.
    pub(crate) idle: u64,
}

/// `None` if it never recovers within `u64::MAX` ns.
pub(crate) fn recovery(rule: Rule) -> Option<Recovery> {
    let (refill, idle) = match rule {
        Rule::TokenBucket { limit: 0, .. } => return None,
        Rule::TokenBucket { capacity, limit, period, .. } => {
            // A rounded permit may come four units of 1/7 ns late.
            let late = u128::from(is_rounded(rule));
            let after =
                |permits: u64| (u128::from(permits) * u128::from(period)).div_ceil(u128::from(limit)) + late;
            (after(1), after(capacity))
        }
        Rule::FixedWindow { period, .. } | Rule::SlidingLog { period, .. } => (period.into(), period.into()),
        Rule::SlidingCounter { period, .. } => (2 * u128::from(period), 2 * u128::from(period)),
    };
    Some(Recovery { refill: u64::try_from(refill).ok()?, idle: u64::try_from(idle).ok()? })
}

pub(crate) fn limit(rule: Rule) -> u64 {
    match rule {
        Rule::TokenBucket { capacity, .. } => capacity,
        Rule::FixedWindow { limit, .. }
        | Rule::SlidingCounter { limit, .. }
        | Rule::SlidingLog { limit, .. } => limit,
    }
}

pub(crate) fn period(rule: Rule) -> u64 {
    match rule {
        Rule::TokenBucket { period, .. }
        | Rule::FixedWindow { period, .. }
        | Rule::SlidingCounter { period, .. }
        | Rule::SlidingLog { period, .. } => period,
    }
}
