//! A change of the rule, with what has been used.

use super::{Model, Reference, SlidingLog};
use crate::vectors::Rule;

impl Reference {
    /// The state of a limiter whose log's ring has room for `limit_max` permits.
    #[must_use]
    pub fn adjustable(mut self, limit_max: u64) -> Self {
        if let Model::SlidingLog(log) = &mut self.model {
            log.kept = Some(limit_max);
        }
        self
    }

    /// From `at` on it is another rule of the same algorithm, whose time ends at `horizon`.
    pub fn change(&mut self, at: u64, rule: Rule, horizon: u64) {
        (self.limit, self.horizon) = (rule.limit(), horizon);
        match (&mut self.model, rule) {
            (Model::TokenBucket(bucket), Rule::TokenBucket { capacity, limit, period, max_wait }) => {
                let was_full = bucket.parts(bucket.capacity);
                let owed = bucket.missing_at(at);
                let old = u128::from(bucket.period);
                (bucket.capacity, bucket.limit, bucket.period) = (capacity, limit, period);
                // As many permits as before, rounded up to parts of the reduced rate.
                let scale = common_divisor(limit, period);
                let scaled =
                    |parts: u128| (parts * u128::from(period / scale)).div_ceil(old) * u128::from(scale);
                let missing = scaled(owed.min(was_full)).min(bucket.parts(capacity));
                let reserved = scaled(owed.saturating_sub(was_full));
                bucket.missing = missing + reserved.min(u128::from(limit) * u128::from(max_wait));
                bucket.since = at;
            }
            (Model::FixedWindow(window), Rule::FixedWindow { limit, period }) => {
                let at = at.max(window.window * window.period);
                let used = if at / window.period == window.window { window.used } else { 0 };
                (window.limit, window.period, window.window, window.used) =
                    (limit, period, at / period, used);
            }
            (Model::SlidingCounter(counter), Rule::SlidingCounter { limit, .. }) => counter.limit = limit,
            (Model::SlidingLog(log), Rule::SlidingLog { limit, period }) => {
                (log.limit, log.period) = (limit, period);
            }
            (model, rule) => panic!("{model:?} is not of the algorithm of {rule:?}"),
        }
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

impl SlidingLog {
    /// Drops what nobody will count again.
    pub(super) fn drop_old(&mut self) {
        let (since, period) = (self.since, self.period);
        let Some(kept) = self.kept else { return self.entries.retain(|(time, _)| since - time < period) };
        let mut spare = self.entries.iter().map(|(_, cost)| cost).sum::<u64>().saturating_sub(kept);
        while let Some((_, cost)) = self.entries.front_mut()
            && spare > 0
        {
            let dropped = spare.min(*cost);
            (*cost, spare) = (*cost - dropped, spare - dropped);
            if *cost == 0 {
                self.entries.pop_front();
            }
        }
    }
}
