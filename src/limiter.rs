//! A limiter for one stream.

use core::fmt;

use crate::algorithm::{
    Adjustable, Adjusts, Algorithm, All, AnyAlgorithm, FixedWindow, Intent, Policy, SlidingCounter,
    SlidingLog, TokenBucket,
};
use crate::clock::{Clock, Instant, QuantaClock};
use crate::decision::Decision;
use crate::direct::Direct;
use crate::error::BuildError;
use crate::keyed::KeyedBuilder;
use crate::reading::Readings;

/// A limiter for one stream of requests, shared by reference between any number of threads.
///
/// Built by [`TokenBucket`], [`FixedWindow`], [`SlidingCounter`] or [`SlidingLog`].
///
/// ```
/// use std::thread;
/// use tollgate::{Limiter, Quota, TokenBucket};
///
/// let limiter: Limiter<TokenBucket> = TokenBucket::new(Quota::per_hour(10)).build()?;
/// let granted = thread::scope(|scope| {
///     let ask = || (0..10).filter(|_| limiter.check().is_allowed()).count();
///     let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
/// });
/// assert_eq!(granted, 10);
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// # Concurrency
///
/// Lock-free; a thread stopped at any instruction stops no other. Each decision takes effect at one instant within
/// the call: a grant is one successful compare-exchange, a refusal writes nothing (it may finish what another thread
/// has begun), so a flood of refused requests scales like reads. Nothing is allocated after `build`.
///
/// # Clocks that err
///
/// A reading that is older than what the state has recorded creates no permits: a bucket holds fewer at it, windows and
/// logs count it as the time they have recorded. A state that lies more than 5 s in the future of a *fresh* reading was
/// written by a clock that erred: it is set to "spent as of 5 s from now", so that requests pass again at most 5 s and
/// one refill (windows and log: one period, counter: two) after the first one that
/// is asked for once the clock is right. As long as all readings are within 5 s of each other no permit is granted
/// beyond the bound, taken over the span of the readings; each time a reader more than 5 s behind follows one ahead,
/// at most one more capacity.
pub struct Limiter<A: Algorithm, C = QuantaClock> {
    pub(crate) direct: Direct<A::Policy>,
    pub(crate) clock: C,
}

impl<A: Algorithm, C: Clock> Limiter<A, C> {
    fn new(algorithm: &A, clock: C) -> Result<Self, BuildError> {
        let direct = Direct::new(algorithm.policy(&clock)?, clock.now())?;
        Ok(Self { direct, clock })
    }

    /// Asks for one permit now.
    #[inline]
    pub fn check(&self) -> Decision {
        self.check_n(1)
    }

    /// Asks for `n` permits now: all or none. 0 permits are always allowed and charge nothing.
    #[inline]
    pub fn check_n(&self, n: u64) -> Decision {
        self.direct.check(Readings::of(&self.clock), n)
    }

    /// Asks for `n` permits at a time the caller has read.
    ///
    /// `now` is in the time of this limiter's clock (or of the caller's own choosing, if nobody uses another verb).
    /// The caller's time is the caller's word: a state that lies far in its future is not healed.
    #[inline]
    pub fn check_at(&self, now: Instant, n: u64) -> Decision {
        self.direct.check(Readings::<C>::given(now), n)
    }

    /// What [`check_n`](Self::check_n) would answer now. Charges and heals nothing; the details are those before a
    /// charge. A state that a clock which erred has left more than 5 s ahead is told as it is: `check_n` heals it first.
    #[inline]
    pub fn peek(&self, n: u64) -> Decision {
        self.peek_at(self.clock.now(), n)
    }

    /// What [`check_at`](Self::check_at) would answer. Charges nothing.
    #[inline]
    pub fn peek_at(&self, now: Instant, n: u64) -> Decision {
        A::Policy::decision(self.direct.ask(&mut Readings::<C>::given(now), All(n), Intent::Peek))
    }

    /// The last reading that the state can tell: after it time stands still, and permits do not come back.
    pub fn horizon(&self) -> Instant {
        Instant::from_nanos(self.direct.policy().horizon())
    }

    /// A reading of this limiter's clock, to be handed to several calls.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The clock this limiter reads.
    pub fn clock(&self) -> &C {
        &self.clock
    }
}

impl<A: Algorithm, C: Clock> fmt::Debug for Limiter<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("policy", self.direct.policy())
            .field("now", &self.peek(0))
            .finish_non_exhaustive()
    }
}

/// Builds a [`Limiter`], or goes on to a [`KeyedBuilder`].
#[derive(Debug, Clone)]
pub struct Builder<A, C = QuantaClock> {
    algorithm: A,
    clock: C,
}

impl<A: Algorithm, C: Clock> Builder<A, C> {
    /// Starts from any algorithm: for code that is generic over it.
    pub fn new(algorithm: A, clock: C) -> Self {
        Self { algorithm, clock }
    }

    /// Reads this clock instead.
    pub fn clock<D: Clock>(self, clock: D) -> Builder<A, D> {
        Builder { algorithm: self.algorithm, clock }
    }

    /// A limiter for one stream.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the quota cannot be represented exactly enough, naming the bound.
    pub fn build(self) -> Result<Limiter<A, C>, BuildError> {
        Limiter::new(&self.algorithm, self.clock)
    }

    /// A limiter with one state for each of up to `keys` keys that are live at a time.
    pub fn keyed<K: ?Sized>(self, keys: usize) -> KeyedBuilder<A, K, C> {
        KeyedBuilder::new(self.algorithm, self.clock, keys)
    }

    /// A keyed limiter that takes any key that can be hashed, a `Keyed<_, AnyKey>`: see [`AnyKey`](crate::AnyKey) for
    /// the trap in it.
    pub fn keyed_any(self, keys: usize) -> KeyedBuilder<A, crate::AnyKey, C> {
        self.keyed(keys)
    }
}

/// The first steps from an algorithm to its limiters, the same for all four.
macro_rules! entrance {
    ($algorithm:ty $(, for $inner:ident)?) => {
        impl $(<$inner: Adjusts>)? $algorithm {
            /// Reads this clock instead of [`QuantaClock`].
            pub fn clock<C: Clock>(self, clock: C) -> Builder<Self, C> {
                Builder::new(self, clock)
            }

            /// A limiter for one stream. See [`Builder::build`].
            ///
            /// # Errors
            ///
            /// [`BuildError`] if the quota cannot be represented, naming the bound.
            pub fn build(self) -> Result<Limiter<Self>, BuildError> {
                self.clock(QuantaClock::new()).build()
            }

            /// A limiter with one state for each of up to `keys` keys that are live at a time.
            /// See [`Builder::keyed`].
            pub fn keyed<K: ?Sized>(self, keys: usize) -> KeyedBuilder<Self, K> {
                self.clock(QuantaClock::new()).keyed(keys)
            }

            /// A keyed limiter that takes any key that can be hashed. See [`Builder::keyed_any`].
            pub fn keyed_any(self, keys: usize) -> KeyedBuilder<Self, crate::AnyKey> {
                self.clock(QuantaClock::new()).keyed_any(keys)
            }
        }
    };
}

/// A limiter whose algorithm is chosen at run time.
pub type AnyLimiter<C = QuantaClock> = Limiter<AnyAlgorithm, C>;

/// The step from an algorithm to one whose quota can be changed.
macro_rules! adjustable {
    ($algorithm:ty) => {
        impl $algorithm {
            /// Lets the quota be changed while the limiter is in use: see [`Limiter::set_quota`].
            pub const fn adjustable(self) -> Adjustable<Self> {
                Adjustable::new(self)
            }
        }
    };
}

entrance!(AnyAlgorithm);
entrance!(TokenBucket);
entrance!(FixedWindow);
entrance!(SlidingCounter);
entrance!(SlidingLog);
entrance!(Adjustable<A>, for A);

adjustable!(AnyAlgorithm);
adjustable!(TokenBucket);
adjustable!(FixedWindow);
adjustable!(SlidingCounter);
adjustable!(SlidingLog);
