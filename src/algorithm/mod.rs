//! The four algorithms: pure steps over state words. No clock, no key, no loop over attempts.
//!
//! An [`Algorithm`] is what the user configures. Its `policy` turns it into a [`Policy`], the checked numbers the
//! step function works with. A policy makes one *attempt* at a decision over a [`State`]; the loops around it are
//! those of [`Limiter`](crate::Limiter) and of the table.

mod adjustable;
mod any;
mod ask;
mod fixed_window;
mod policy;
mod saved;
mod sliding_counter;
mod sliding_log;
mod state;
mod token_bucket;
mod window;
mod word;

use core::fmt::Debug;

pub use adjustable::{Adjustable, Adjusts};
pub use any::AnyAlgorithm;
pub use fixed_window::FixedWindow;
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use token_bucket::TokenBucket;

pub(crate) use ask::{All, Ask, Penalty, Reserve, UpTo};
pub(crate) use fixed_window::FixedWindowView;
pub(crate) use policy::{Answer, Charged, Intent, Owe, Policy, Refund, Reset};
pub(crate) use saved::{Damaged, Portable, Resumption};
pub(crate) use sliding_counter::SlidingCounterView;
pub(crate) use sliding_log::SlidingLogView;
pub(crate) use state::{Retry, State};
pub(crate) use token_bucket::TokenBucketView;
pub(crate) use word::{Parameters, TIME_MAX, Tag, Word};

use crate::clock::Clock;
use crate::error::BuildError;
use crate::quota::Quota;

/// How far apart honest readings may lie: 5 s.
///
/// A state further than this in the future of a fresh reading was written by a clock that erred, and is healed.
pub(crate) const SLACK_NANOS: u64 = 5_000_000_000;

/// One of the four algorithms with its quota: what a limiter is built from.
///
/// Implemented by [`TokenBucket`], [`FixedWindow`], [`SlidingCounter`] and [`SlidingLog`], and by [`AnyAlgorithm`]; it
/// cannot be implemented elsewhere.
pub trait Algorithm: Clone + Debug + Send + Sync + 'static + sealed::Sealed {
    /// The checked form of the configuration.
    #[doc(hidden)]
    type Policy: Policy;

    /// Checks the configuration. The clock tells where its origin lies, for windows aligned to UTC.
    #[doc(hidden)]
    fn policy<C: Clock>(&self, clock: &C) -> Result<Self::Policy, BuildError>;

    /// [`policy`](Self::policy) for states that start anew whenever their slot has been another key's.
    #[doc(hidden)]
    fn keyed_policy<C: Clock>(&self, clock: &C) -> Result<Self::Policy, BuildError> {
        self.policy(clock)
    }

    /// [`keyed_policy`](Self::keyed_policy) for states that were saved: where their time does not show on the wall clock,
    /// it goes on.
    #[doc(hidden)]
    fn resumed_policy<C: Clock>(&self, clock: &C, _at: &Resumption) -> Result<Self::Policy, BuildError> {
        self.keyed_policy(clock)
    }

    /// The same algorithm with another quota, and with nothing that goes with the old one.
    #[doc(hidden)]
    fn with_quota(&self, quota: Quota) -> Self;
}

/// An algorithm whose charges can be taken back: [`TokenBucket`], [`FixedWindow`] and [`SlidingCounter`].
///
/// A [`SlidingLog`] cannot: its admissions replace older ones, which are gone.
pub trait Refundable: Algorithm<Policy: Refund> {}

impl<A: Algorithm<Policy: Refund>> Refundable for A {}

/// An algorithm whose permits can be reserved, and owed: the [`TokenBucket`], [`Adjustable`] or not.
pub trait Reservable: Algorithm<Policy: Owe> {}

impl<A: Algorithm<Policy: Owe>> Reservable for A {}

/// An algorithm whose states can be saved and restored: all but those that are [`Adjustable`].
pub trait Savable: Algorithm<Policy: Portable> + Into<AnyAlgorithm> {}

impl<A: Algorithm<Policy: Portable> + Into<AnyAlgorithm>> Savable for A {}

mod sealed {
    pub trait Sealed {}

    impl<A: super::Adjusts> Sealed for super::Adjustable<A> {}
    impl Sealed for super::AnyAlgorithm {}
    impl Sealed for super::TokenBucket {}
    impl Sealed for super::FixedWindow {}
    impl Sealed for super::SlidingCounter {}
    impl Sealed for super::SlidingLog {}
}
