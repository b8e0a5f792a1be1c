//! One limit among several.

use core::fmt;
use core::hash::BuildHasher;

use crate::algorithm::{Algorithm, All, Intent, Policy, Refundable};
use crate::clock::{Clock, Instant};
use crate::decision::Decision;
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::{Readings, nanos};
use crate::receipt::{Issuer, Receipt};
use crate::table::Fingerprint;

/// The reading that all of the limits decide on.
#[derive(Debug, Clone, Copy)]
pub enum Times {
    /// Read from the limits' own clock.
    Read(Instant),
    /// The caller's.
    Given(Instant),
    /// That of a call which charges nothing.
    Peeked(Instant),
}

impl Times {
    pub(super) fn now(self) -> Instant {
        let (Self::Read(now) | Self::Given(now) | Self::Peeked(now)) = self;
        now
    }

    fn readings<C: Clock>(self, clock: &C) -> Readings<'_, C> {
        match self {
            Self::Read(now) => Readings::taken(clock, now),
            Self::Given(now) | Self::Peeked(now) => Readings::given(now),
        }
    }

    fn look(self) -> Intent {
        match self {
            Self::Read(_) => Intent::Probe,
            Self::Given(_) | Self::Peeked(_) => Intent::Peek,
        }
    }

    fn charges(self) -> bool {
        !matches!(self, Self::Peeked(_))
    }
}

/// One of the limits of an [`AllOf`](crate::AllOf): a limiter, or a key of a keyed one. It cannot be implemented
/// elsewhere.
pub trait Limit: sealed::Limit {
    /// Each permit of the request costs this limit `permits`: requests and bytes can be limited together.
    ///
    /// ```
    /// use tollgate::{AllOf, Limit, Quota, TokenBucket};
    ///
    /// let requests = TokenBucket::new(Quota::per_second(10)).build()?;
    /// let bytes = TokenBucket::new(Quota::per_day(1_000_000)).build()?;
    /// assert!(AllOf::new((&requests, (&bytes).costing(250_000))).check().is_allowed());
    /// assert_eq!(bytes.peek(0).remaining(), Some(750_000));
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    fn costing(self, permits: u64) -> Costing<Self>
    where
        Self: Sized,
    {
        Costing { limit: self, permits }
    }
}

/// A [`Limit`] whose charge can be undone: every one but a [`SlidingLog`](crate::SlidingLog)'s.
pub trait Revocable: Limit + sealed::Revocable {}

impl<L: sealed::Limit + ?Sized> Limit for L {}
impl<L: sealed::Limit + sealed::Revocable + ?Sized> Revocable for L {}

pub(super) mod sealed {
    use super::{Decision, Instant, Receipt, Times};

    pub trait Limit: Sync {
        fn now(&self) -> Instant;
        fn look(&self, times: Times, permits: u64) -> Decision;
        fn charge(&self, times: Times, permits: u64) -> (Decision, Option<Receipt>);
    }

    pub trait Revocable {
        fn undo(&self, now: Instant, receipt: Receipt);
    }
}

impl<L: sealed::Limit + ?Sized> sealed::Limit for &L {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn look(&self, times: Times, permits: u64) -> Decision {
        (**self).look(times, permits)
    }

    fn charge(&self, times: Times, permits: u64) -> (Decision, Option<Receipt>) {
        (**self).charge(times, permits)
    }
}

impl<L: sealed::Revocable + ?Sized> sealed::Revocable for &L {
    fn undo(&self, now: Instant, receipt: Receipt) {
        (**self).undo(now, receipt);
    }
}

impl<A: Algorithm, C: Clock> sealed::Limit for Limiter<A, C> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn look(&self, times: Times, permits: u64) -> Decision {
        A::Policy::decision(self.direct.ask(&mut times.readings(&self.clock), All(permits), times.look()))
    }

    fn charge(&self, times: Times, permits: u64) -> (Decision, Option<Receipt>) {
        let mut readings = times.readings(&self.clock);
        let intent = readings.charge_for(permits);
        let answer = self.direct.ask(&mut readings, All(permits), intent);
        (A::Policy::decision(answer), answer.charged.map(Receipt::direct))
    }
}

impl<A: Refundable, C: Clock> sealed::Revocable for Limiter<A, C> {
    fn undo(&self, now: Instant, receipt: Receipt) {
        self.cancel(nanos(now), receipt);
    }
}

/// The limit of one key: see [`Keyed::for_key`]. The key is hashed once, and not kept.
pub struct KeyLimit<'a, A: Algorithm, K: ?Sized, C, S> {
    keyed: &'a Keyed<A, K, C, S>,
    fingerprint: Fingerprint,
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher + Sync> Keyed<A, K, C, S> {
    /// The key's limit, as one of several: see [`AllOf`](crate::AllOf).
    pub fn for_key<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q) -> KeyLimit<'_, A, K, C, S> {
        KeyLimit { keyed: self, fingerprint: self.fingerprint(key) }
    }
}

impl<A: Algorithm, K: ?Sized, C, S> Clone for KeyLimit<'_, A, K, C, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Algorithm, K: ?Sized, C, S> Copy for KeyLimit<'_, A, K, C, S> {}

impl<A: Algorithm, K: ?Sized, C: Clock, S> fmt::Debug for KeyLimit<'_, A, K, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLimit").field("keyed", self.keyed).finish_non_exhaustive()
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher + Sync> sealed::Limit for KeyLimit<'_, A, K, C, S> {
    fn now(&self) -> Instant {
        self.keyed.clock.now()
    }

    fn look(&self, times: Times, permits: u64) -> Decision {
        let readings = times.readings(&self.keyed.clock);
        let decision = self.keyed.foresee(self.fingerprint, readings, permits, times.look());
        // What is allowed will be charged, and counted then.
        if times.charges() && decision.overflowed() && !decision.is_allowed() {
            self.keyed.table.stats.overflowed(self.fingerprint);
        }
        decision
    }

    fn charge(&self, times: Times, permits: u64) -> (Decision, Option<Receipt>) {
        self.keyed.charge(self.fingerprint, times.readings(&self.keyed.clock), permits)
    }
}

impl<A: Refundable, K: ?Sized, C: Clock, S: BuildHasher + Sync> sealed::Revocable
    for KeyLimit<'_, A, K, C, S>
{
    fn undo(&self, now: Instant, receipt: Receipt) {
        self.keyed.cancel(nanos(now), receipt);
    }
}

/// A limit that is charged more than one permit for each of the request's: see [`Limit::costing`].
#[derive(Debug, Clone, Copy)]
pub struct Costing<L> {
    limit: L,
    permits: u64,
}

impl<L: sealed::Limit> sealed::Limit for Costing<L> {
    fn now(&self) -> Instant {
        self.limit.now()
    }

    fn look(&self, times: Times, permits: u64) -> Decision {
        self.limit.look(times, permits.saturating_mul(self.permits))
    }

    fn charge(&self, times: Times, permits: u64) -> (Decision, Option<Receipt>) {
        self.limit.charge(times, permits.saturating_mul(self.permits))
    }
}

impl<L: sealed::Revocable> sealed::Revocable for Costing<L> {
    fn undo(&self, now: Instant, receipt: Receipt) {
        self.limit.undo(now, receipt);
    }
}
