//! The sliding-window log.

use std::collections::VecDeque;

/// All that was granted in `(now - period, now]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SlidingLog {
    pub(super) limit: u64,
    pub(super) period: u64,
    /// The newest time recorded.
    pub(super) since: u64,
    /// Time and cost of what was granted, oldest first.
    pub(super) entries: VecDeque<(u64, u64)>,
    /// How many permits' entries are kept; as many as count if nobody changes the period.
    pub(super) kept: Option<u64>,
}

impl SlidingLog {
    /// What is in the window at `now`.
    pub(super) fn entries_at(&self, now: u64) -> impl Iterator<Item = (u64, u64)> {
        let now = now.max(self.since);
        self.entries.iter().copied().filter(move |(time, _)| now - time < self.period)
    }

    pub(super) fn used(&self, now: u64) -> u64 {
        self.entries_at(now).map(|(_, cost)| cost).sum()
    }

    pub(super) fn allowed_from(&self, now: u64, cost: u64) -> u128 {
        let mut used = self.used(now);
        let mut from = 0;
        for (time, leaving) in self.entries_at(now) {
            if cost <= self.limit.saturating_sub(used) {
                break;
            }
            used -= leaving;
            from = u128::from(time) + u128::from(self.period);
        }
        from
    }

    pub(super) fn charge(&mut self, now: u64, cost: u64) {
        self.since = self.since.max(now);
        self.entries.push_back((self.since, cost));
        self.drop_old();
    }
}
