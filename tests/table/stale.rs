//! When a state is as good as new.

use oracle::reference::Reference;
use oracle::vectors::Rule;

/// The first time at which a state, left alone, is stale; `None` if never.
pub(crate) fn stale_at(state: &Reference, horizon: u64) -> Option<u64> {
    if !state.is_stale(horizon) {
        return None;
    }
    // A state is never stale at 0.
    let (mut before, mut at) = (0, horizon);
    while at - before > 1 {
        let middle = before + (at - before) / 2;
        if state.is_stale(middle) { at = middle } else { before = middle }
    }
    Some(at)
}

/// A rule of each algorithm.
pub(crate) fn rules(limit: u64, period: u64) -> [Rule; 4] {
    [
        Rule::TokenBucket { capacity: limit, limit, period, max_wait: 0 },
        Rule::FixedWindow { limit, period },
        Rule::SlidingCounter { limit, period },
        Rule::SlidingLog { limit, period },
    ]
}
