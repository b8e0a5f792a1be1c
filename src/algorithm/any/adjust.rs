//! Changing the quota of an algorithm that was chosen at run time: to another one of the same algorithm.

use super::{AnyAlgorithm, AnyPolicy};
use crate::algorithm::adjustable::{Adjust, Adjusts, NUMBERS};
use crate::clock::Clock;
use crate::error::{BuildError, SetQuotaError};

impl Adjusts for AnyAlgorithm {
    fn limit(&self) -> u64 {
        on_each!(Self, self, one => one.limit())
    }

    fn default_limit_max(&self) -> u64 {
        on_each!(Self, self, one => one.default_limit_max())
    }

    fn policy_up_to<C: Clock>(&self, clock: &C, limit_max: u64) -> Result<AnyPolicy, BuildError> {
        on_each!(Self, self, one => one.policy_up_to(clock, limit_max).map(AnyPolicy::from))
    }
}

/// Where the number of the algorithm is; the last of the four policies' numbers is free.
const KIND: usize = NUMBERS - 1;

impl Adjust for AnyPolicy {
    fn numbers(&self) -> [u64; NUMBERS] {
        let mut numbers = on_each!(Self, self, one => one.numbers());
        numbers[KIND] = match self {
            Self::TokenBucket(_) => 0,
            Self::FixedWindow(_) => 1,
            Self::SlidingCounter(_) => 2,
            Self::SlidingLog(_) => 3,
        };
        numbers
    }

    fn from_numbers(numbers: [u64; NUMBERS]) -> Self {
        match numbers[KIND] {
            0 => Self::TokenBucket(Adjust::from_numbers(numbers)),
            1 => Self::FixedWindow(Adjust::from_numbers(numbers)),
            2 => Self::SlidingCounter(Adjust::from_numbers(numbers)),
            _ => Self::SlidingLog(Adjust::from_numbers(numbers)),
        }
    }

    fn can_become(&self, next: &Self) -> Result<(), SetQuotaError> {
        match (self, next) {
            (Self::TokenBucket(one), Self::TokenBucket(next)) => one.can_become(next),
            (Self::FixedWindow(one), Self::FixedWindow(next)) => one.can_become(next),
            (Self::SlidingCounter(one), Self::SlidingCounter(next)) => one.can_become(next),
            (Self::SlidingLog(one), Self::SlidingLog(next)) => one.can_become(next),
            _ => Err(SetQuotaError::AlgorithmFixed),
        }
    }

    fn settled(&self, stamp: u64) -> u64 {
        on_each!(Self, self, one => one.settled(stamp))
    }

    /// Of two algorithms the value means nothing to the next one; that has been refused.
    fn carried(&self, next: &Self, value: u64, at: u64) -> u64 {
        match (self, next) {
            (Self::TokenBucket(one), Self::TokenBucket(next)) => one.carried(next, value, at),
            (Self::FixedWindow(one), Self::FixedWindow(next)) => one.carried(next, value, at),
            (Self::SlidingCounter(one), Self::SlidingCounter(next)) => one.carried(next, value, at),
            (Self::SlidingLog(one), Self::SlidingLog(next)) => one.carried(next, value, at),
            _ => value,
        }
    }
}
