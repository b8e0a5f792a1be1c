//! The four algorithms again: sequential, in plain integers, and without anything the limiters use to be fast.
//!
//! # Why nothing overflows
//!
//! Limits, costs and times are below 2^64. All intermediate values are `u128`, and are products of two such numbers,
//! or sums of a few such numbers with one quotient of a product: below 2^128, whatever the configuration. Where the
//! sum of two products could arise, one is subtracted from the other. (A mistake would panic: tests are built with
//! overflow checks.)
//!
//! # Readings that go back
//!
//! What an algorithm has recorded is never taken back. The bucket's record is the instant at which it is full, so an
//! older reading sees fewer tokens. The windows and the log count an older reading as the newest time they have
//! recorded; waits are told from the reading itself.
//!
//! # The end of time
//!
//! Past its horizon a limiter's time stands still, and nothing that comes back later than that comes back at all.

use std::collections::VecDeque;

use tollgate::Outcome;

use crate::vectors::{Answer, Rule};

/// One state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    limit: u64,
    horizon: u64,
    model: Model,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Model {
    TokenBucket(TokenBucket),
    FixedWindow(FixedWindow),
    SlidingCounter(SlidingCounter),
    SlidingLog(SlidingLog),
}

impl Reference {
    /// The state of a new limiter whose time ends at `horizon`.
    pub(crate) fn new(rule: Rule, horizon: u64) -> Self {
        Self::fresh(rule, horizon, 0)
    }

    /// A state that nothing was charged to, and that has recorded the time `since`.
    pub(crate) fn fresh(rule: Rule, horizon: u64, since: u64) -> Self {
        let since = since.min(horizon);
        let (limit, model) = match rule {
            Rule::TokenBucket { capacity, limit, period } => {
                (capacity, Model::TokenBucket(TokenBucket { capacity, limit, period, missing: 0, since }))
            }
            Rule::FixedWindow { limit, period } => {
                let window = since / period;
                (limit, Model::FixedWindow(FixedWindow { limit, period, window, used: 0 }))
            }
            Rule::SlidingCounter { limit, period } => {
                let counter =
                    SlidingCounter { limit, period, window: since / period, current: 0, previous: 0 };
                (limit, Model::SlidingCounter(counter))
            }
            Rule::SlidingLog { limit, period } => {
                (limit, Model::SlidingLog(SlidingLog { limit, period, since, entries: VecDeque::new() }))
            }
        };
        Self { limit, horizon, model }
    }

    /// Asks, and charges what is allowed.
    pub(crate) fn call(&mut self, now: u64, cost: u64) -> Answer {
        let Answer { outcome, retry, .. } = self.peek(now, cost);
        if outcome == Outcome::Allowed && cost > 0 {
            self.charge(now, cost);
        }
        Answer { outcome, retry, ..self.peek(now, 0) }
    }

    /// What a call would be answered, with the details before a charge.
    pub(crate) fn peek(&self, now: u64, cost: u64) -> Answer {
        let wait = self.wait(now, cost);
        let (outcome, retry) = match wait {
            _ if cost > self.limit => (Outcome::TooLarge, None),
            _ if cost == 0 => (Outcome::Allowed, Some(0)),
            Some(0) => (Outcome::Allowed, Some(0)),
            wait => (Outcome::Denied, wait),
        };
        Answer { outcome, remaining: Some(self.remaining(now)), retry, reset: self.wait(now, self.limit) }
    }

    fn charge(&mut self, now: u64, cost: u64) {
        let now = now.min(self.horizon);
        match &mut self.model {
            Model::TokenBucket(bucket) => bucket.charge(now, cost),
            Model::FixedWindow(window) => window.charge(now, cost),
            Model::SlidingCounter(counter) => counter.charge(now, cost),
            Model::SlidingLog(log) => log.charge(now, cost),
        }
    }

    /// Whether the state has become as good as new before `now`, so that nothing is lost with it.
    pub(crate) fn is_stale(&self, now: u64) -> bool {
        let now = now.min(self.horizon);
        match &self.model {
            Model::TokenBucket(bucket) => bucket.is_stale(now),
            Model::FixedWindow(window) => now / window.period > window.window,
            Model::SlidingCounter(counter) => now / counter.period > counter.window.saturating_add(1),
            Model::SlidingLog(log) => log.since < now && log.entries_at(now).next().is_none(),
        }
    }

    fn remaining(&self, now: u64) -> u64 {
        let now = now.min(self.horizon);
        match &self.model {
            Model::TokenBucket(bucket) => bucket.remaining(now),
            Model::FixedWindow(window) => window.limit - window.used_at(now).1,
            Model::SlidingCounter(counter) => counter.remaining(now),
            Model::SlidingLog(log) => log.limit - log.used(now),
        }
    }

    /// The least wait after which `cost`, at most the limit, is allowed.
    fn wait(&self, now: u64, cost: u64) -> Option<u64> {
        if cost > self.limit {
            return None;
        }
        let now = now.min(self.horizon);
        let at = match &self.model {
            Model::TokenBucket(bucket) => bucket.allowed_from(cost)?,
            Model::FixedWindow(window) => window.allowed_from(now, cost),
            Model::SlidingCounter(counter) => counter.allowed_from(now, cost),
            Model::SlidingLog(log) => log.allowed_from(now, cost),
        };
        let at = u64::try_from(at.max(now.into())).ok().filter(|at| *at <= self.horizon)?;
        Some(at - now)
    }
}

/// Tokens are counted in parts: a token has `period` of them, and `limit` come back per ns.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TokenBucket {
    capacity: u64,
    limit: u64,
    period: u64,
    /// Parts that were missing at `since`; less than none if the bucket was full before.
    missing: u128,
    since: u64,
}

impl TokenBucket {
    fn parts(&self, tokens: u64) -> u128 {
        u128::from(tokens) * u128::from(self.period)
    }

    /// The first ns at which the bucket holds `tokens`; `None` if never.
    fn allowed_from(&self, tokens: u64) -> Option<u128> {
        let (may_miss, rate) = (self.parts(self.capacity - tokens), u128::from(self.limit));
        match self.missing.checked_sub(may_miss) {
            Some(0) | None if rate == 0 => Some(0),
            _ if rate == 0 => None,
            Some(excess) => Some(u128::from(self.since) + excess.div_ceil(rate)),
            None => Some(u128::from(self.since).saturating_sub((may_miss - self.missing) / rate)),
        }
    }

    fn remaining(&self, now: u64) -> u64 {
        let holds = |tokens| self.allowed_from(tokens).is_some_and(|at| at <= now.into());
        last_that(self.capacity, holds)
    }

    fn charge(&mut self, now: u64, cost: u64) {
        if now > self.since {
            let refilled = u128::from(self.limit) * u128::from(now - self.since);
            self.missing = self.missing.saturating_sub(refilled);
            self.since = now;
        }
        self.missing += self.parts(cost);
    }

    fn is_stale(&self, now: u64) -> bool {
        now > self.since && u128::from(self.limit) * u128::from(now - self.since) > self.missing
    }
}

/// Windows `[k * period, (k + 1) * period)`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FixedWindow {
    limit: u64,
    period: u64,
    window: u64,
    used: u64,
}

impl FixedWindow {
    /// The window at `now` and what is used of it.
    fn used_at(&self, now: u64) -> (u64, u64) {
        let window = now / self.period;
        if window > self.window { (window, 0) } else { (self.window, self.used) }
    }

    fn allowed_from(&self, now: u64, cost: u64) -> u128 {
        let (window, used) = self.used_at(now);
        if cost <= self.limit - used {
            return 0;
        }
        (u128::from(window) + 1) * u128::from(self.period)
    }

    fn charge(&mut self, now: u64, cost: u64) {
        (self.window, self.used) = self.used_at(now);
        self.used += cost;
    }
}

/// `floor(previous * (period - elapsed) / period) + current` permits count as used.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SlidingCounter {
    limit: u64,
    period: u64,
    window: u64,
    current: u64,
    previous: u64,
}

impl SlidingCounter {
    /// The window at `now` with its count and that of the window before.
    fn windows_at(&self, now: u128) -> (u128, u64, u64) {
        let (window, recorded) = (now / u128::from(self.period), u128::from(self.window));
        match window.saturating_sub(recorded) {
            0 => (recorded, self.current, self.previous),
            1 => (window, 0, self.current),
            _ => (window, 0, 0),
        }
    }

    fn used(&self, now: u128) -> u128 {
        let (window, current, previous) = self.windows_at(now);
        let period = u128::from(self.period);
        let elapsed = now.saturating_sub(window * period);
        u128::from(previous) * (period - elapsed) / period + u128::from(current)
    }

    fn remaining(&self, now: u64) -> u64 {
        let used = self.used(now.into()).min(self.limit.into());
        self.limit - u64::try_from(used).unwrap_or(self.limit)
    }

    /// By bisection: while nothing is charged, what counts as used never grows.
    fn allowed_from(&self, now: u64, cost: u64) -> u128 {
        let is_allowed = |at| self.used(at) + u128::from(cost) <= self.limit.into();
        let now = u128::from(now);
        if is_allowed(now) {
            return 0;
        }
        let (window, ..) = self.windows_at(now);
        // At `allowed` everything has left both windows.
        let (mut refused, mut allowed) = (now, (window + 2) * u128::from(self.period));
        while allowed - refused > 1 {
            let middle = refused + (allowed - refused) / 2;
            if is_allowed(middle) { allowed = middle } else { refused = middle }
        }
        allowed
    }

    fn charge(&mut self, now: u64, cost: u64) {
        let (window, current, previous) = self.windows_at(now.into());
        self.window = u64::try_from(window).unwrap_or(u64::MAX);
        (self.current, self.previous) = (current + cost, previous);
    }
}

/// All that was granted in `(now - period, now]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SlidingLog {
    limit: u64,
    period: u64,
    /// The newest time recorded.
    since: u64,
    /// Time and cost of what was granted, oldest first.
    entries: VecDeque<(u64, u64)>,
}

impl SlidingLog {
    /// What is in the window at `now`.
    fn entries_at(&self, now: u64) -> impl Iterator<Item = (u64, u64)> {
        let now = now.max(self.since);
        self.entries.iter().copied().filter(move |(time, _)| now - time < self.period)
    }

    fn used(&self, now: u64) -> u64 {
        self.entries_at(now).map(|(_, cost)| cost).sum()
    }

    fn allowed_from(&self, now: u64, cost: u64) -> u128 {
        let mut used = self.used(now);
        let mut from = 0;
        for (time, leaving) in self.entries_at(now) {
            if cost <= self.limit - used {
                break;
            }
            used -= leaving;
            from = u128::from(time) + u128::from(self.period);
        }
        from
    }

    fn charge(&mut self, now: u64, cost: u64) {
        self.since = self.since.max(now);
        let (since, period) = (self.since, self.period);
        self.entries.retain(|(time, _)| since - time < period);
        self.entries.push_back((since, cost));
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
