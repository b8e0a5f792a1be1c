//! Changing the limit of a counter: the counts stay what they are.

use super::{SlidingCounter, SlidingCounterPolicy};
use crate::algorithm::adjustable::{Adjust, Adjusts, NUMBERS};
use crate::algorithm::window::Windows;
use crate::clock::Clock;
use crate::error::{BuildError, SetQuotaError};

impl Adjusts for SlidingCounter {
    fn limit(&self) -> u64 {
        self.quota.limit()
    }

    fn policy_up_to<C: Clock>(&self, _clock: &C, limit_max: u64) -> Result<SlidingCounterPolicy, BuildError> {
        self.sized(limit_max)
    }
}

impl Adjust for SlidingCounterPolicy {
    fn numbers(&self) -> [u64; NUMBERS] {
        let [limit, period, count_bits] = self.windows.numbers();
        [limit, period, count_bits, self.shift, 0, 0, 0, 0, 0, 0]
    }

    fn from_numbers([limit, period, count_bits, shift, ..]: [u64; NUMBERS]) -> Self {
        Self { windows: Windows::from_numbers([limit, period, count_bits]), shift }
    }

    /// Nobody knows how the permits of a window lie in it, and so how many lie in one of another period.
    fn can_become(&self, next: &Self) -> Result<(), SetQuotaError> {
        if next.windows.period == self.windows.period {
            Ok(())
        } else {
            Err(SetQuotaError::PeriodFixed { period_nanos: self.windows.period })
        }
    }

    fn settled(&self, stamp: u64) -> u64 {
        self.fresh(stamp)
    }

    fn carried(&self, _next: &Self, value: u64, _at: u64) -> u64 {
        value
    }
}
