//! The sliding-window counter.

/// `floor(previous * (period - elapsed) / period) + current` permits count as used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SlidingCounter {
    pub(super) limit: u64,
    pub(super) period: u64,
    pub(super) window: u64,
    pub(super) current: u64,
    pub(super) previous: u64,
    /// What the next window takes over of this one at least: see [`Reference::closing`](super::Reference::closing).
    pub(super) closing: u64,
}

impl SlidingCounter {
    /// The window at `now` with its count and that of the window before.
    pub(super) fn windows_at(&self, now: u128) -> (u128, u64, u64) {
        let (window, recorded) = (now / u128::from(self.period), u128::from(self.window));
        match window.saturating_sub(recorded) {
            0 => (recorded, self.current, self.previous),
            1 => (window, 0, self.current.max(self.closing)),
            _ => (window, 0, 0),
        }
    }

    pub(super) fn used(&self, now: u128) -> u128 {
        let (window, current, previous) = self.windows_at(now);
        let period = u128::from(self.period);
        let elapsed = now.saturating_sub(window * period);
        u128::from(previous) * (period - elapsed) / period + u128::from(current)
    }

    pub(super) fn remaining(&self, now: u64) -> u64 {
        let used = self.used(now.into()).min(self.limit.into());
        self.limit - u64::try_from(used).unwrap_or(self.limit)
    }

    /// By bisection: while nothing is charged, what counts as used never grows.
    pub(super) fn allowed_from(&self, now: u64, cost: u64) -> u128 {
        let now = u128::from(now);
        // Whoever decides in the window that closes does not know yet that it does.
        let closing = if self.windows_at(now).0 == self.window.into() { 0 } else { self.closing };
        let seen = Self { closing, ..self.clone() };
        let is_allowed = |at| seen.used(at) + u128::from(cost) <= seen.limit.into();
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

    /// Takes back at most `permits` that the window of `now` has granted; how many those are.
    pub(super) fn give_back(&mut self, now: u64, permits: u64) -> u64 {
        if now / self.period > self.window {
            return 0;
        }
        let given = permits.min(self.current);
        self.current -= given;
        given
    }

    pub(super) fn charge(&mut self, now: u64, cost: u64) {
        let (window, current, previous) = self.windows_at(now.into());
        let window = u64::try_from(window).unwrap_or(u64::MAX);
        if window != self.window {
            (self.window, self.closing) = (window, 0);
        }
        (self.current, self.previous) = (current + cost, previous);
    }
}
