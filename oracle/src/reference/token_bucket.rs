//! The token bucket.

/// Tokens are counted in parts: a token has `period` of them, and `limit` come back per ns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TokenBucket {
    pub(super) capacity: u64,
    pub(super) limit: u64,
    pub(super) period: u64,
    /// Parts that were missing at `since`; less than none if the bucket was full before.
    pub(super) missing: u128,
    pub(super) since: u64,
}

impl TokenBucket {
    pub(super) fn parts(&self, tokens: u64) -> u128 {
        u128::from(tokens) * u128::from(self.period)
    }

    /// The first ns at which the bucket holds `tokens`; `None` if never.
    pub(super) fn allowed_from(&self, tokens: u64) -> Option<u128> {
        let (may_miss, rate) = (self.parts(self.capacity - tokens), u128::from(self.limit));
        match self.missing.checked_sub(may_miss) {
            Some(0) | None if rate == 0 => Some(0),
            _ if rate == 0 => None,
            Some(excess) => Some(u128::from(self.since) + excess.div_ceil(rate)),
            None => Some(u128::from(self.since).saturating_sub((may_miss - self.missing) / rate)),
        }
    }

    pub(super) fn remaining(&self, now: u64) -> u64 {
        let holds = |tokens| self.allowed_from(tokens).is_some_and(|at| at <= now.into());
        last_that(self.capacity, holds)
    }

    pub(super) fn charge(&mut self, now: u64, cost: u64) {
        if now > self.since {
            let refilled = u128::from(self.limit) * u128::from(now - self.since);
            self.missing = self.missing.saturating_sub(refilled);
            self.since = now;
        }
        self.missing += self.parts(cost);
    }

    pub(super) fn is_stale(&self, now: u64) -> bool {
        now > self.since && u128::from(self.limit) * u128::from(now - self.since) > self.missing
    }
}

/// The last of `0..=end` for which `holds`, which holds from 0 to there.
fn last_that(end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut first, mut last) = (0, end);
    while first < last {
        let middle = last - (last - first) / 2;
        if holds(middle) { first = middle } else { last = middle - 1 }
    }
    first
}
