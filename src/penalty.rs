//! Charging more than there is.

use core::hash::BuildHasher;

use crate::algorithm::{Penalty, Policy, Reservable};
use crate::clock::{Clock, Instant};
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::Readings;
use crate::table::Fingerprint;

impl<A: Reservable, C: Clock> Limiter<A, C> {
    /// Takes `n` permits away, whether they are there or not: the bucket goes into debt, as deep as its
    /// [`max_wait`](crate::TokenBucket::max_wait) at most (zero, unless that was called: then no more is taken than
    /// there is). Returns how many were taken, in whole permits.
    ///
    /// For what turns out later to have cost more than was asked for, and for misbehaviour. O(1), lock-free.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{ManualClock, Quota, TokenBucket};
    ///
    /// let bucket = TokenBucket::new(Quota::per_second(1)).burst(5).max_wait(Duration::from_secs(10));
    /// let limiter = bucket.clock(ManualClock::new()).build()?;
    /// assert_eq!(limiter.penalize(8), 8);
    /// assert_eq!(limiter.check().retry_after(), Some(Duration::from_secs(4)));
    /// assert_eq!(limiter.penalize(100), 7);
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn penalize(&self, n: u64) -> u64 {
        self.penalize_with(Readings::of(&self.clock), n)
    }

    /// [`penalize`](Self::penalize) at a time the caller has read; see [`check_at`](Self::check_at).
    pub fn penalize_at(&self, now: Instant, n: u64) -> u64 {
        self.penalize_with(Readings::given(now), n)
    }

    fn penalize_with(&self, mut readings: Readings<'_, C>, n: u64) -> u64 {
        let intent = readings.charge();
        self.direct.ask(&mut readings, Penalty(n), intent).charged.map_or(0, |charged| charged.permits)
    }
}

impl<A: Reservable, K: ?Sized, C: Clock, S: BuildHasher> Keyed<A, K, C, S> {
    /// Takes `n` permits away from the key: see [`Limiter::penalize`]. A key for which there is no slot pays from the
    /// shared limit, if its [`Overflow`](crate::Overflow) policy has one.
    pub fn penalize<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, n: u64) -> u64 {
        self.penalize_with(self.fingerprint(key), Readings::of(&self.clock), n)
    }

    /// [`penalize`](Self::penalize) at a time the caller has read; see [`check_at`](Self::check_at).
    pub fn penalize_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant, n: u64) -> u64 {
        self.penalize_with(self.fingerprint(key), Readings::given(now), n)
    }

    fn penalize_with(&self, fingerprint: Fingerprint, mut readings: Readings<'_, C>, n: u64) -> u64 {
        if n == 0 || self.table.policy().limit() == 0 {
            return 0;
        }
        let charged = match self.table.charge(fingerprint, &mut readings, Penalty(n)) {
            Ok(answer) => answer.charged,
            Err(full) => self.overflow(fingerprint, full, &mut readings, Penalty(n)).1,
        };
        charged.map_or(0, |charged| charged.permits)
    }
}
