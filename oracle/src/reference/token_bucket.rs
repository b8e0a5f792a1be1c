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
    /// The longest wait of a reservation, in ns; what comes back within it is the deepest debt.
    pub(super) max_wait: u64,
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

    /// Parts that are missing at `now`, which may be before `since`.
    pub(super) fn missing_at(&self, now: u64) -> u128 {
        let rate = u128::from(self.limit);
        match now.checked_sub(self.since) {
            Some(passed) => self.missing.saturating_sub(rate * u128::from(passed)),
            None => self.missing + rate * u128::from(self.since - now),
        }
    }

    /// How many of `permits` tokens can be taken away.
    pub(super) fn can_owe(&self, now: u64, permits: u64) -> u64 {
        let deepest = self.parts(self.capacity) + u128::from(self.limit) * u128::from(self.max_wait);
        let missing = self.missing_at(now);
        let fits = |tokens| missing.checked_add(self.parts(tokens)).is_some_and(|missing| missing <= deepest);
        last_that(permits, |tokens| tokens == 0 || fits(tokens))
    }

    /// Puts at most `permits` tokens in, as far as there is room at `now`; how many whole ones those are.
    pub(super) fn give_back(&mut self, now: u64, permits: u64) -> u64 {
        let missing = self.missing_at(now);
        let given = self.parts(permits).min(missing);
        if given > 0 {
            (self.missing, self.since) = (missing - given, now);
        }
        u64::try_from(given / u128::from(self.period)).unwrap_or(permits)
    }

    /// Equal for states that no call can tell from each other: parts from time 0 until the bucket is full.
    pub(super) fn identity(&self) -> u128 {
        u128::from(self.limit) * u128::from(self.since) + self.missing
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
