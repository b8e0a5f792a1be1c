//! Taking as many permits as there are.

use core::hash::BuildHasher;

use crate::algorithm::{Algorithm, Answer, Intent, Policy, UpTo};
use crate::clock::{Clock, Instant};
use crate::decision::Decision;
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::Readings;
use crate::table::Fingerprint;

/// The answer to a request for as many permits as there are.
#[derive(Debug, Clone, Copy)]
#[must_use = "a grant that nobody looks at limits nothing"]
pub struct PartialGrant {
    permits: u64,
    decision: Decision,
}

impl PartialGrant {
    fn of<P: Policy>(answer: Answer<P::View>) -> Self {
        let permits = answer.charged.map_or(0, |charged| charged.permits);
        Self { permits, decision: P::decision(answer) }
    }

    /// The number of permits that were granted: from 0 to as many as were asked for.
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// What was decided: allowed if any permit was granted (or none was asked for); otherwise what one permit would
    /// have been answered.
    pub fn decision(&self) -> Decision {
        self.decision
    }
}

impl<A: Algorithm, C: Clock> Limiter<A, C> {
    /// Asks for as many permits as there are now, up to `n`.
    ///
    /// ```
    /// use tollgate::{Quota, TokenBucket};
    ///
    /// let limiter = TokenBucket::new(Quota::per_hour(5)).build()?;
    /// assert_eq!(limiter.take_up_to(3).permits(), 3);
    /// assert_eq!(limiter.take_up_to(3).permits(), 2);
    /// let none = limiter.take_up_to(3);
    /// assert_eq!(none.permits(), 0);
    /// assert!(none.decision().retry_after().is_some());
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn take_up_to(&self, n: u64) -> PartialGrant {
        PartialGrant::of::<A::Policy>(self.direct.take_up_to(Readings::of(&self.clock), n))
    }

    /// [`take_up_to`](Self::take_up_to) at a time the caller has read; see [`check_at`](Self::check_at).
    pub fn take_up_to_at(&self, now: Instant, n: u64) -> PartialGrant {
        PartialGrant::of::<A::Policy>(self.direct.take_up_to(Readings::<C>::given(now), n))
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher> Keyed<A, K, C, S> {
    /// Asks for as many permits as there are now, up to `n`: see [`Limiter::take_up_to`].
    ///
    /// For a key without a slot the [`Overflow`](crate::Overflow) policy grants none, all, or what the shared limit has.
    pub fn take_up_to<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, n: u64) -> PartialGrant {
        self.take_up_to_with(self.fingerprint(key), Readings::of(&self.clock), n)
    }

    /// [`take_up_to`](Self::take_up_to) at a time the caller has read; see [`check_at`](Self::check_at).
    pub fn take_up_to_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant, n: u64) -> PartialGrant {
        self.take_up_to_with(self.fingerprint(key), Readings::given(now), n)
    }

    fn take_up_to_with(
        &self,
        fingerprint: Fingerprint,
        mut readings: Readings<'_, C>,
        n: u64,
    ) -> PartialGrant {
        // At a limit of 0 nothing is ever granted, and nothing needs a slot.
        if n == 0 || self.table.policy().limit() == 0 {
            let decision = self.look(fingerprint, readings, n.min(1), Intent::Peek);
            return PartialGrant { permits: 0, decision };
        }
        match self.table.charge(fingerprint, &mut readings, UpTo(n)) {
            Ok(answer) => PartialGrant::of::<A::Policy>(answer),
            Err(full) => {
                let (decision, charged) = self.overflow(fingerprint, full, &mut readings, UpTo(n));
                let all = if decision.is_allowed() { n } else { 0 };
                PartialGrant { permits: charged.map_or(all, |charged| charged.permits), decision }
            }
        }
    }
}
