//! What an algorithm has to tell so that its quota can be changed while its states are in use.

use crate::algorithm::{Algorithm, Policy};
use crate::clock::Clock;
use crate::error::{BuildError, SetQuotaError};

/// How many words the numbers of any policy fit.
pub(crate) const NUMBERS: usize = 10;

/// An algorithm whose quota can be changed while it is in use: all of them.
pub trait Adjusts: Algorithm<Policy: Adjust> {
    /// The limit in permits, of a token bucket the capacity.
    #[doc(hidden)]
    fn limit(&self) -> u64;

    /// How high the limit may be set if nothing else is told.
    #[doc(hidden)]
    fn default_limit_max(&self) -> u64 {
        self.limit()
    }

    /// The policy with room in its states for limits up to `limit_max`.
    #[doc(hidden)]
    fn policy_up_to<C: Clock>(&self, clock: &C, limit_max: u64) -> Result<Self::Policy, BuildError>;
}

/// A policy that can take the place of another one of its kind, with the other's states.
pub trait Adjust: Policy + Copy {
    /// All of the policy in words: the inverse of [`from_numbers`](Self::from_numbers).
    fn numbers(&self) -> [u64; NUMBERS];

    fn from_numbers(numbers: [u64; NUMBERS]) -> Self;

    /// Whether states of this policy can become those of `next`.
    fn can_become(&self, next: &Self) -> Result<(), SetQuotaError>;

    /// The value of the LIVE word that is as good as the NEWBORN one with this stamp.
    fn settled(&self, stamp: u64) -> u64;

    /// The value under `next` of a state that has used at `at` what `value` has used under this policy.
    fn carried(&self, next: &Self, value: u64, at: u64) -> u64;
}
