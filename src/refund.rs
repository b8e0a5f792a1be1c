//! Giving permits back, and forgetting what a key has used.

use core::hash::BuildHasher;

use crate::algorithm::{Algorithm, Refundable};
use crate::clock::{Clock, Instant};
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::{Readings, nanos};

impl<A: Refundable, C: Clock> Limiter<A, C> {
    /// Gives back up to `n` permits that were granted and not used. Returns how many came back, rounded down.
    ///
    /// Never more than there is room for: a bucket is full at its capacity, and a window takes back what it has granted
    /// itself, while it lasts. What is given back may be granted again, so the bound on what is granted is the
    /// algorithm's plus what was refunded: that it was not used is the caller's word. What keeps to the bound by itself
    /// is a [`Reservation`](crate::Reservation) that is cancelled. Cancel before you refund: see
    /// [there](crate::Reservation#what-a-cancel-gives-back).
    ///
    /// O(1), lock-free; takes effect at one instant. What comes back to a [`SlidingCounter`](crate::SlidingCounter) in
    /// the moment in which its window passes may still weigh in the next.
    ///
    /// ```
    /// use tollgate::{FixedWindow, Quota};
    ///
    /// let limiter = FixedWindow::new(Quota::per_day(10)).build()?;
    /// assert!(limiter.check_n(8).is_allowed());
    /// assert_eq!(limiter.refund(5), 5);
    /// assert_eq!(limiter.peek(0).remaining(), Some(7));
    /// assert_eq!(limiter.refund(100), 3);
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn refund(&self, n: u64) -> u64 {
        self.refund_at(self.clock.now(), n)
    }

    /// [`refund`](Self::refund) at a time the caller has read; see [`check_at`](Self::check_at).
    pub fn refund_at(&self, now: Instant, n: u64) -> u64 {
        self.direct.refund(nanos(now), n)
    }
}

impl<A: Refundable, K: ?Sized, C: Clock, S: BuildHasher> Keyed<A, K, C, S> {
    /// Gives back up to `n` permits that the key was granted and has not used: see [`Limiter::refund`]. A key without a
    /// state has nothing to get back.
    pub fn refund<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, n: u64) -> u64 {
        self.table.refund(self.fingerprint(key), &mut Readings::of(&self.clock), n)
    }

    /// [`refund`](Self::refund) at a time the caller has read; see [`check_at`](Self::check_at).
    pub fn refund_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant, n: u64) -> u64 {
        self.table.refund(self.fingerprint(key), &mut Readings::<C>::given(now), n)
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher> Keyed<A, K, C, S> {
    /// Forgets what the key has used: all of its limit remains. Returns whether it had a state.
    ///
    /// O(1); for a log O(limit), and its slot is free for any key afterwards. What a log is charged at the reading of the
    /// reset counts from 1 ns later on, or a ns more for each further reset at that reading.
    ///
    /// For a login that succeeded, or by an operator's hand. The bound on what the key is granted starts anew. A
    /// [`Reservation`](crate::Reservation) that it holds is forgotten too; do not cancel it after this, for if as much
    /// was charged since in the same moment, it would be taken for that.
    ///
    /// In the first 5 s after a clock that erred far ahead is right again, a key that is reset may be as of up to 5 s
    /// later: some of its limit comes back only then.
    ///
    /// ```
    /// use tollgate::{FixedWindow, Quota};
    ///
    /// let failed = FixedWindow::new(Quota::per_hour(3)).keyed::<str>(1000).build()?;
    /// assert!(failed.check_n("alice", 3).is_allowed());
    /// assert!(failed.reset("alice"));
    /// assert!(failed.check("alice").is_allowed());
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn reset<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q) -> bool {
        self.table.reset(self.fingerprint(key), &mut Readings::of(&self.clock))
    }

    /// [`reset`](Self::reset) at a time the caller has read; see [`check_at`](Self::check_at).
    pub fn reset_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant) -> bool {
        self.table.reset(self.fingerprint(key), &mut Readings::<C>::given(now))
    }
}
