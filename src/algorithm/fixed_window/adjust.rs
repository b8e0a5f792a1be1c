//! Changing the quota of a fixed window: the count carries over.

use super::{FixedWindow, FixedWindowPolicy};
use crate::algorithm::adjustable::{Adjust, Adjusts, NUMBERS};
use crate::algorithm::window::{Window, Windows};
use crate::clock::Clock;
use crate::error::{BuildError, SetQuotaError};

impl Adjusts for FixedWindow {
    fn limit(&self) -> u64 {
        self.quota.limit()
    }

    fn policy_up_to<C: Clock>(&self, clock: &C, limit_max: u64) -> Result<FixedWindowPolicy, BuildError> {
        self.sized(clock, limit_max)
    }
}

impl Adjust for FixedWindowPolicy {
    fn numbers(&self) -> [u64; NUMBERS] {
        let [limit, period, count_bits] = self.windows.numbers();
        [limit, period, count_bits, self.shift, 0, 0, 0, 0, 0, 0]
    }

    fn from_numbers([limit, period, count_bits, shift, ..]: [u64; NUMBERS]) -> Self {
        Self { windows: Windows::from_numbers([limit, period, count_bits]), shift }
    }

    fn can_become(&self, _next: &Self) -> Result<(), SetQuotaError> {
        Ok(())
    }

    fn settled(&self, stamp: u64) -> u64 {
        self.fresh(stamp)
    }

    /// The count goes to the window that `at` lies in under the next quota, if its own has not passed by then.
    fn carried(&self, next: &Self, value: u64, at: u64) -> u64 {
        let Window { index, count } = self.windows.unpack(value);
        let at = self.shifted(at).max(self.windows.start(index));
        let count = if self.windows.index(at) == index { count } else { 0 };
        let index = next.windows.index(next.shifted(at.saturating_sub(self.shift)));
        next.windows.pack(Window { index, count })
    }
}
