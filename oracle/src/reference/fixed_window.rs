//! The fixed window.

/// Windows `[k * period, (k + 1) * period)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FixedWindow {
    pub(super) limit: u64,
    pub(super) period: u64,
    pub(super) window: u64,
    pub(super) used: u64,
}

impl FixedWindow {
    /// The window at `now` and what is used of it.
    pub(super) fn used_at(&self, now: u64) -> (u64, u64) {
        let window = now / self.period;
        if window > self.window { (window, 0) } else { (self.window, self.used) }
    }

    pub(super) fn allowed_from(&self, now: u64, cost: u64) -> u128 {
        if cost <= self.left(now) {
            return 0;
        }
        (u128::from(self.used_at(now).0) + 1) * u128::from(self.period)
    }

    /// What is left of the limit, which may have been higher before.
    pub(super) fn left(&self, now: u64) -> u64 {
        self.limit.saturating_sub(self.used_at(now).1)
    }

    /// Takes back at most `permits` that the window of `now` has granted; how many those are.
    pub(super) fn give_back(&mut self, now: u64, permits: u64) -> u64 {
        if now / self.period > self.window {
            return 0;
        }
        let given = permits.min(self.used);
        self.used -= given;
        given
    }

    pub(super) fn charge(&mut self, now: u64, cost: u64) {
        (self.window, self.used) = self.used_at(now);
        self.used += cost;
    }
}
