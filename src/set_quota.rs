//! Changing the quota while the limiter is in use.

use core::hash::BuildHasher;

use crate::algorithm::{Adjustable, Adjusts};
use crate::clock::{Clock, Instant};
use crate::error::SetQuotaError;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::nanos;

impl<A: Adjusts, C: Clock> Limiter<Adjustable<A>, C> {
    /// Changes the quota, and whatever else the algorithm is told, from now on.
    ///
    /// The past is settled at the old quota, and what has been *used* carries over, in permits:
    ///
    /// - Of a token bucket as many permits are missing as were, at most all of the new capacity (so a capacity that is
    ///   lowered and raised again forgives the difference). What is reserved stays reserved, and comes back at the new
    ///   rate: a [`Reservation`](crate::Reservation) keeps the instant it was told, and can no longer be cancelled with
    ///   effect once the bucket has been charged, or its quota changed, again.
    /// - Of a fixed window the count carries over. With a new period it counts in the window of the new period that now
    ///   lies in, which may then admit, with what the old one has admitted, up to both limits.
    /// - A sliding counter keeps its counts, and its period.
    /// - A sliding log keeps its entries; with a longer period those of that period that it still has count again.
    ///
    /// Each decision is by the old quota or by the new one, all of it; those that begin after this returns are by the new
    /// one. Of several threads that set at once one is first, and the others are told [`Busy`](SetQuotaError::Busy).
    ///
    /// No decision waits for this, and nothing is allocated.
    ///
    /// # Errors
    ///
    /// [`SetQuotaError`] if the quota cannot be represented or what has been used cannot be carried over, and for a change
    /// within 10 s of the last. Then nothing has changed.
    ///
    /// ```
    /// use tollgate::{FixedWindow, Quota, SetQuotaError};
    ///
    /// let limiter = FixedWindow::new(Quota::per_day(5)).adjustable().max_limit(10).build()?;
    /// assert!(limiter.check_n(5).is_allowed());
    /// limiter.set_quota(&FixedWindow::new(Quota::per_day(10)))?;
    /// assert_eq!(limiter.peek(0).remaining(), Some(5));
    ///
    /// let refused = limiter.set_quota(&FixedWindow::new(Quota::per_day(11)));
    /// assert_eq!(refused, Err(SetQuotaError::LimitTooLarge { limit: 11, max: 10 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_quota(&self, algorithm: &A) -> Result<(), SetQuotaError> {
        self.set_quota_at(self.clock.now(), algorithm)
    }

    /// [`set_quota`](Self::set_quota) at a time the caller has read; see [`check_at`](Self::check_at).
    ///
    /// # Errors
    ///
    /// Those of [`set_quota`](Self::set_quota).
    pub fn set_quota_at(&self, now: Instant, algorithm: &A) -> Result<(), SetQuotaError> {
        let policy = self.direct.policy();
        policy.set(algorithm, &self.clock, nanos(now), || policy.carry_over(self.direct.state()))
    }
}

impl<A: Adjusts, K: ?Sized, C: Clock, S: BuildHasher> Keyed<Adjustable<A>, K, C, S> {
    /// Changes the quota of all keys at once: see [`Limiter::set_quota`]. A key's state is carried over by the next
    /// decision that charges it, or by the next change.
    ///
    /// The limit that keys without a slot share stays what it is. O(capacity): every slot is read and written once.
    ///
    /// # Errors
    ///
    /// Those of [`Limiter::set_quota`].
    pub fn set_quota(&self, algorithm: &A) -> Result<(), SetQuotaError> {
        self.set_quota_at(self.clock.now(), algorithm)
    }

    /// [`set_quota`](Self::set_quota) at a time the caller has read; see [`check_at`](Self::check_at).
    ///
    /// # Errors
    ///
    /// Those of [`Limiter::set_quota`].
    pub fn set_quota_at(&self, now: Instant, algorithm: &A) -> Result<(), SetQuotaError> {
        let policy = self.table.policy();
        let sweep = || self.table.states().for_each(|state| policy.carry_over(state));
        policy.set(algorithm, &self.clock, nanos(now), sweep)
    }
}
