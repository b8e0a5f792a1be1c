//! Changing the quota of a log: the entries stay what they are.

use super::{Layout, SlidingLog, SlidingLogPolicy};
use crate::algorithm::adjustable::{Adjust, Adjusts, NUMBERS};
use crate::clock::Clock;
use crate::error::{BuildError, SetQuotaError};

impl Adjusts for SlidingLog {
    fn limit(&self) -> u64 {
        self.quota.limit()
    }

    fn policy_up_to<C: Clock>(&self, _clock: &C, limit_max: u64) -> Result<SlidingLogPolicy, BuildError> {
        self.sized(limit_max)
    }
}

impl Adjust for SlidingLogPolicy {
    fn numbers(&self) -> [u64; NUMBERS] {
        let [ring, position_bits] = self.layout.numbers();
        let tell_remaining = self.tell_remaining.into();
        [self.limit, self.period, ring, position_bits, tell_remaining, self.shift, 0, 0, 0, 0]
    }

    fn from_numbers(numbers: [u64; NUMBERS]) -> Self {
        let [limit, period, ring, position_bits, tell_remaining, shift, ..] = numbers;
        let layout = Layout::from_numbers([ring, position_bits]);
        Self { limit, period, layout, tell_remaining: tell_remaining != 0, shift }
    }

    fn can_become(&self, _next: &Self) -> Result<(), SetQuotaError> {
        Ok(())
    }

    fn settled(&self, stamp: u64) -> u64 {
        stamp
    }

    fn carried(&self, _next: &Self, value: u64, _at: u64) -> u64 {
        value
    }
}
