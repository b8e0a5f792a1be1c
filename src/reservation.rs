//! Permits granted before they are due.

use core::fmt;
use core::hash::BuildHasher;
use core::time::Duration;

use crate::acquire::Timer;
use crate::algorithm::{Algorithm, Answer, Ask, Intent, Policy, Reservable, Reserve};
use crate::clock::{Clock, Instant};
use crate::decision::Denied;
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::{Readings, nanos};
use crate::receipt::{Issuer, Receipt};
use crate::table::Fingerprint;

/// Permits that were charged now and may be used once they are due.
///
/// Dropping it cancels it; whoever uses the permits says so by [`keep`](Self::keep) or by [`sleep`](Self::sleep).
///
/// # What a cancel gives back
///
/// All of it, if nothing was charged to the bucket since, and if all that was has been cancelled before: in reverse
/// order everything comes back. Otherwise nothing: what was charged since was promised on the strength of this charge,
/// and giving back both would grant more than the bound in some span. (With a capacity of 5 and 1 per ns: 5 at 100, 3 at
/// 103, then the first cancelled at 104: in full, 5 more at 104 would make eight in 2 ns.) Never twice, and never to a
/// state that has moved on.
///
/// A charge is known by the word that it left. Once something was [refunded](crate::Limiter::refund) since, a later
/// charge may leave exactly the same one, and a cancel then takes that charge back: cancel what you hold before you
/// refund anything else.
///
/// # The bound
///
/// Permits are due at whole ns, rounded up. So in any span of time `t` at most `capacity + rate * (t + 1 ns)` permits are
/// due: those at its beginning may have been there up to 1 ns before.
#[must_use = "dropping a reservation cancels it"]
pub struct Reservation<'a> {
    issuer: &'a (dyn Issuer + Sync),
    receipt: Option<Receipt>,
    permits: u64,
    due: Instant,
    /// They were there when they were charged: whatever the clock tells later, there is nothing to wait for.
    was_due: bool,
}

impl<'a> Reservation<'a> {
    /// Of permits that are there at `due`, by a call that was decided at `now`.
    fn new(
        issuer: &'a (dyn Issuer + Sync),
        receipt: Option<Receipt>,
        permits: u64,
        due: u64,
        now: u64,
    ) -> Self {
        Self { issuer, receipt, permits, due: Instant::from_nanos(due.max(now)), was_due: due <= now }
    }

    /// When they may be used, if they could not be at once.
    pub(crate) fn due_later(&self) -> Option<Instant> {
        (!self.was_due).then_some(self.due)
    }

    /// The number of permits.
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// When they may be used, on the limiter's clock: the first ns at which they are there. If they were there when they
    /// were reserved, the reading on which that was decided.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// How long that is from now; zero once they are due, and if they were there when they were reserved.
    pub fn wait(&self) -> Duration {
        self.due_later().map_or(Duration::ZERO, |due| due.saturating_duration_since(self.issuer.now()))
    }

    /// The permits will be used: nothing is given back.
    pub fn keep(mut self) {
        self.receipt = None;
    }

    /// Blocks the thread until the permits are due, on the limiter's clock, and keeps them.
    pub fn sleep(self) {
        loop {
            let wait = self.wait();
            if wait.is_zero() {
                return self.keep();
            }
            std::thread::sleep(wait);
        }
    }

    /// Waits until the permits are due, on the limiter's clock, and keeps them. Dropping the future before cancels.
    pub async fn until_due(self, timer: &impl Timer) {
        loop {
            let wait = self.wait();
            if wait.is_zero() {
                return self.keep();
            }
            timer.sleep(wait).await;
        }
    }

    /// Gives the permits back, as far as the bound allows: see above. Returns how many came back, rounded down; those that
    /// time has given back already are not counted.
    pub fn cancel(mut self) -> u64 {
        self.give_back()
    }

    fn give_back(&mut self) -> u64 {
        let Some(receipt) = self.receipt.take() else { return 0 };
        self.issuer.cancel(nanos(self.issuer.now()), receipt)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl fmt::Debug for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("permits", &self.permits)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

impl<A: Reservable, C: Clock> Limiter<A, C> {
    /// Asks for `n` permits now or later, after a wait of at most `max_wait`, and no longer than the bucket's own
    /// [`max_wait`](crate::TokenBucket::max_wait). They are charged at once: first come, first served, without a queue, in
    /// O(1). Over a span `t` the [bound](Reservation#the-bound) is that of `t + 1 ns`.
    ///
    /// # Errors
    ///
    /// [`Denied`] at once, and nothing is charged, if the permits would be due later. Its wait is until the same
    /// reservation, alone, is granted; 1 ns less is not enough.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{ManualClock, Quota, TokenBucket};
    ///
    /// let second = Duration::from_secs(1);
    /// let bucket = TokenBucket::new(Quota::per_second(1)).max_wait(2 * second);
    /// let limiter = bucket.clock(ManualClock::new()).build()?;
    /// let waits = [(); 3].map(|()| {
    ///     let reservation = limiter.reserve(1, 2 * second).expect("2 s are enough");
    ///     let wait = reservation.wait();
    ///     reservation.keep();
    ///     wait
    /// });
    /// assert_eq!(waits, [0 * second, second, 2 * second]);
    /// let refused = limiter.reserve(1, 2 * second).expect_err("due in 3 s");
    /// assert_eq!(refused.retry_after(), Some(second));
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn reserve(&self, n: u64, max_wait: Duration) -> Result<Reservation<'_>, Denied> {
        self.reserve_with(Readings::of(&self.clock), n, max_wait)
    }

    /// [`reserve`](Self::reserve) at a time the caller has read; see [`check_at`](Self::check_at). A cancel reads the
    /// limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_at(&self, now: Instant, n: u64, max_wait: Duration) -> Result<Reservation<'_>, Denied> {
        self.reserve_with(Readings::given(now), n, max_wait)
    }
}

impl<A: Algorithm, C: Clock> Limiter<A, C> {
    /// A reservation, if only one that is due at once where the algorithm can make no other.
    pub(crate) fn reserve_with(
        &self,
        mut readings: Readings<'_, C>,
        n: u64,
        max_wait: Duration,
    ) -> Result<Reservation<'_>, Denied> {
        let ask = Reserve { permits: n, max_wait: whole_nanos(max_wait) };
        let intent = readings.charge_for(n);
        let answer = self.direct.ask(&mut readings, ask, intent);
        let due = due(self.direct.policy(), answer, ask)?;
        Ok(Reservation::new(self, answer.charged.map(Receipt::direct), n, due, readings.now()))
    }
}

impl<A: Reservable, K: ?Sized, C: Clock, S: BuildHasher + Sync> Keyed<A, K, C, S> {
    /// Asks for `n` permits for the key, now or later: see [`Limiter::reserve`]. Until they are due, no other key takes
    /// the key's slot.
    ///
    /// A key for which there is no slot is served by its [`Overflow`](crate::Overflow) policy: by the shared limit, at
    /// once, or not at all.
    ///
    /// # Errors
    ///
    /// As [`Limiter::reserve`]. For a key without a slot the wait is a lower bound.
    pub fn reserve<Q: KeyOf<K, R> + ?Sized, R>(
        &self,
        key: &Q,
        n: u64,
        max_wait: Duration,
    ) -> Result<Reservation<'_>, Denied> {
        self.reserve_with(self.fingerprint(key), Readings::of(&self.clock), n, max_wait)
    }

    /// [`reserve`](Self::reserve) at a time the caller has read; see [`Limiter::reserve_at`].
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_at<Q: KeyOf<K, R> + ?Sized, R>(
        &self,
        key: &Q,
        now: Instant,
        n: u64,
        max_wait: Duration,
    ) -> Result<Reservation<'_>, Denied> {
        self.reserve_with(self.fingerprint(key), Readings::given(now), n, max_wait)
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher + Sync> Keyed<A, K, C, S> {
    /// See [`Limiter::reserve_with`].
    pub(crate) fn reserve_with(
        &self,
        fingerprint: Fingerprint,
        mut readings: Readings<'_, C>,
        n: u64,
        max_wait: Duration,
    ) -> Result<Reservation<'_>, Denied> {
        let ask = Reserve { permits: n, max_wait: whole_nanos(max_wait) };
        let policy = self.table.policy();
        // Neither needs a slot.
        if n == 0 || n > policy.limit() {
            let answer = self.table.look(fingerprint, &mut readings, n, Intent::Peek);
            // Unless the limit has been raised since it was compared with.
            if n == 0 || !answer.is_allowed() {
                let due = due(policy, answer, ask)?;
                return Ok(Reservation::new(self, None, n, due, readings.now()));
            }
        }
        let (is_shared, charged, due) = match self.table.charge(fingerprint, &mut readings, ask) {
            Ok(answer) => (false, answer.charged, due(policy, answer, ask)?),
            Err(full) => {
                let (decision, charged) = self.overflow(fingerprint, full, &mut readings, ask);
                let decision = decision.into_result()?;
                (true, charged, charged.map_or(0, |_| decision.due_nanos()))
            }
        };
        let receipt = |charged| Receipt { fingerprint, is_shared, charged };
        Ok(Reservation::new(self, charged.map(receipt), n, due, readings.now()))
    }
}

/// The first ns at which what was asked for is there, 0 if it is, or why it was refused.
fn due<P: Policy>(policy: &P, answer: Answer<P::View>, ask: Reserve) -> Result<u64, Denied> {
    let has_charged = answer.charged.is_some();
    match P::decision(answer).into_result() {
        Ok(decision) => Ok(if has_charged { decision.due_nanos() } else { 0 }),
        // The reservation is granted when what it has to wait for is no further away than it may be.
        Err(denied) => Err(denied.sooner_by(ask.max_wait(policy))),
    }
}

/// At most the longest that can be told, 584 years.
fn whole_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
