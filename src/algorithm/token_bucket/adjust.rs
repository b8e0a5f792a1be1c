//! Changing the quota of a bucket: debts are counted in permits, and so scaled.

use super::{TokenBucket, TokenBucketPolicy, saturate};
use crate::algorithm::adjustable::{Adjust, Adjusts, NUMBERS};
use crate::clock::Clock;
use crate::error::{BuildError, SetQuotaError};

impl Adjusts for TokenBucket {
    fn limit(&self) -> u64 {
        self.burst.unwrap_or(self.quota.limit())
    }

    /// The word has the same form whatever the capacity.
    fn default_limit_max(&self) -> u64 {
        u64::MAX
    }

    fn policy_up_to<C: Clock>(&self, _clock: &C, _limit_max: u64) -> Result<TokenBucketPolicy, BuildError> {
        TokenBucketPolicy::new(self)
    }
}

impl Adjust for TokenBucketPolicy {
    fn numbers(&self) -> [u64; NUMBERS] {
        let Self { capacity, unit_cost, rate, full, debt_max, edge, max_wait, horizon, start_empty } = *self;
        [capacity, unit_cost, rate, full, debt_max, edge, max_wait, horizon, start_empty.into(), 0]
    }

    fn from_numbers(numbers: [u64; NUMBERS]) -> Self {
        let [capacity, unit_cost, rate, full, debt_max, edge, max_wait, horizon, start_empty, _] = numbers;
        let start_empty = start_empty != 0;
        Self { capacity, unit_cost, rate, full, debt_max, edge, max_wait, horizon, start_empty }
    }

    fn can_become(&self, next: &Self) -> Result<(), SetQuotaError> {
        if next.max_wait == self.max_wait {
            Ok(())
        } else {
            Err(SetQuotaError::MaxWaitFixed { max_wait_nanos: self.max_wait })
        }
    }

    fn settled(&self, stamp: u64) -> u64 {
        self.units(stamp)
    }

    /// What is missing from the bucket is as many permits as before, rounded up, and at most all of it. What is reserved
    /// beyond that stays reserved.
    fn carried(&self, next: &Self, value: u64, at: u64) -> u64 {
        let owed = value.saturating_sub(self.units(at));
        let scaled = |units: u64| {
            // Both are below 2^61.
            let units = u128::from(units) * u128::from(next.unit_cost);
            saturate(units.div_ceil(u128::from(self.unit_cost.max(1))))
        };
        let missing = scaled(owed.min(self.full)).min(next.full);
        let reserved = scaled(owed.saturating_sub(self.full)).min(next.debt_max - next.full);
        next.units(at) + missing + reserved
    }
}
