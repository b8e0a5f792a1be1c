//! Waiting for permits: attempts, and what to do between them. The same steps whether a thread sleeps or a task.

use core::hash::BuildHasher;
use core::time::Duration;
use std::hash::RandomState;
use std::thread;

use crate::algorithm::{Algorithm, Policy};
use crate::clock::{Clock, Instant};
use crate::decision::Denied;
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::Readings;
use crate::reservation::Reservation;
use crate::table::Fingerprint;

/// How long a call is ready to wait for its permits, and how it spreads.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Patience;
///
/// let patience = Patience::up_to(Duration::from_secs(2)).with_jitter(Duration::from_millis(50));
/// # let _ = patience;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    until: Until,
    jitter: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Forever,
    After(Duration),
    Deadline(Instant),
}

impl Patience {
    /// As long as it takes.
    pub const fn unlimited() -> Self {
        Self { until: Until::Forever, jitter: Duration::ZERO }
    }

    /// So long from the call on.
    pub const fn up_to(timeout: Duration) -> Self {
        Self { until: Until::After(timeout), jitter: Duration::ZERO }
    }

    /// Until an instant of the limiter's clock.
    pub const fn until(deadline: Instant) -> Self {
        Self { until: Until::Deadline(deadline), jitter: Duration::ZERO }
    }

    /// Each sleep is longer by a random time of up to `max`, though not beyond the deadline: callers that were refused
    /// at one instant do not all come back at one. Never shorter, so no attempt is made in vain.
    pub const fn with_jitter(mut self, max: Duration) -> Self {
        self.jitter = max;
        self
    }

    fn deadline(self, now: Instant) -> Option<Instant> {
        match self.until {
            Until::Forever => None,
            Until::After(timeout) => Some(now + timeout),
            Until::Deadline(deadline) => Some(deadline),
        }
    }
}

/// What an asynchronous runtime brings: sleeping.
///
/// The crate `tollgate-tokio` has tokio's. Any other is as short:
///
/// ```
/// use std::future::Future;
/// use std::time::Duration;
/// use tollgate::Timer;
///
/// struct Blocking;
///
/// impl Timer for Blocking {
///     async fn sleep(&self, duration: Duration) {
///         std::thread::sleep(duration);
///     }
/// }
/// ```
pub trait Timer {
    /// Completes after `duration` at the earliest, as the limiter's clock tells it. (One that completes early is called
    /// again.)
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}

/// A call that waits, between its attempts.
struct Acquisition<'a, F> {
    /// One attempt, which may wait no longer than so long.
    reserve: F,
    /// The limiter can make reservations: what it refuses is refused at once, and what it grants comes in order.
    is_queued: bool,
    deadline: Option<Instant>,
    jitter: Duration,
    reservation: Option<Reservation<'a>>,
}

/// What to do next.
enum Step {
    Done(Result<(), Denied>),
    Sleep(Duration),
}

impl<'a, F: Fn(Duration) -> Result<Reservation<'a>, Denied>> Acquisition<'a, F> {
    fn new(reserve: F, max_wait: u64, patience: Patience, now: Instant) -> Self {
        let (deadline, jitter) = (patience.deadline(now), patience.jitter);
        Self { reserve, is_queued: max_wait > 0, deadline, jitter, reservation: None }
    }

    /// The time that is left at `now`.
    fn left(&self, now: Instant) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now))
    }

    fn step(&mut self, now: impl Fn() -> Instant) -> Step {
        let is_new = self.reservation.is_none();
        if is_new {
            match (self.reserve)(self.left(now())) {
                Ok(reservation) => self.reservation = Some(reservation),
                Err(denied) if self.is_queued => return Step::Done(Err(denied)),
                Err(denied) => {
                    let left = self.left(now());
                    return match denied.retry_after() {
                        // The contended refusal of a full table may tell no wait at all.
                        Some(wait) if wait <= left => {
                            Step::Sleep(self.spread(wait, left).max(Duration::from_nanos(1)))
                        }
                        _ => Step::Done(Err(denied)),
                    };
                }
            }
        }
        let now = now();
        let due = self.reservation.as_ref().map_or(now, Reservation::due);
        let wait = due.saturating_duration_since(now);
        if wait.is_zero() {
            if let Some(reservation) = self.reservation.take() {
                reservation.keep();
            }
            return Step::Done(Ok(()));
        }
        Step::Sleep(if is_new { self.spread(wait, self.left(now)) } else { wait })
    }

    /// The wait with its jitter.
    fn spread(&self, wait: Duration, left: Duration) -> Duration {
        let max = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
        if max == 0 {
            return wait;
        }
        // Uniform in [0, max]: the hasher's key is another for each.
        let random = u128::from(RandomState::new().hash_one(()));
        let jitter = (random * (u128::from(max) + 1)) >> u64::BITS;
        let jitter = Duration::from_nanos(u64::try_from(jitter).unwrap_or(max));
        wait.saturating_add(jitter).min(left.max(wait))
    }

    fn block(mut self, now: impl Fn() -> Instant, sleep: impl Fn(Duration)) -> Result<(), Denied> {
        loop {
            match self.step(&now) {
                Step::Done(result) => return result,
                Step::Sleep(duration) => sleep(duration),
            }
        }
    }

    async fn wait(mut self, now: impl Fn() -> Instant, timer: &impl Timer) -> Result<(), Denied> {
        loop {
            match self.step(&now) {
                Step::Done(result) => return result,
                Step::Sleep(duration) => timer.sleep(duration).await,
            }
        }
    }
}

impl<A: Algorithm, C: Clock> Limiter<A, C> {
    /// Waits for `n` permits, blocking the thread.
    ///
    /// A token bucket with a [`max_wait`](crate::TokenBucket::max_wait) makes a reservation: callers are served in the
    /// order in which they came, each sleeps once, and who asks for much is not starved by who asks for little.
    /// Everything else is asked again after exactly the wait that a refusal tells: whoever comes first then is served,
    /// and the others wait again.
    ///
    /// # Errors
    ///
    /// [`Denied`] at once, and nothing is charged, if the wait would be longer than `patience` (or the bucket's
    /// `max_wait`), and if no wait can help: `n` is above the limit, or nothing comes back.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Patience, Quota, TokenBucket};
    ///
    /// let second = Duration::from_secs(1);
    /// let limiter = TokenBucket::new(Quota::per_second(1000)).burst(1).max_wait(second).build()?;
    /// for _ in 0..5 {
    ///     limiter.acquire_blocking(1, Patience::unlimited())?;
    /// }
    /// assert!(limiter.acquire_blocking(2, Patience::unlimited()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_blocking(&self, n: u64, patience: Patience) -> Result<(), Denied> {
        self.acquisition(n, patience).block(|| self.clock.now(), thread::sleep)
    }

    /// Waits for `n` permits without blocking: see [`acquire_blocking`](Self::acquire_blocking). Dropping the future
    /// while it waits cancels its reservation.
    ///
    /// # Errors
    ///
    /// As [`acquire_blocking`](Self::acquire_blocking).
    pub async fn acquire(&self, n: u64, patience: Patience, timer: &impl Timer) -> Result<(), Denied> {
        self.acquisition(n, patience).wait(|| self.clock.now(), timer).await
    }

    fn acquisition<'a>(
        &'a self,
        n: u64,
        patience: Patience,
    ) -> Acquisition<'a, impl Fn(Duration) -> Result<Reservation<'a>, Denied>> {
        let reserve = move |max_wait| self.reserve_with(Readings::of(&self.clock), n, max_wait);
        Acquisition::new(reserve, self.direct.policy().max_wait(), patience, self.clock.now())
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher + Sync> Keyed<A, K, C, S> {
    /// Waits for `n` permits for the key, blocking the thread: see [`Limiter::acquire_blocking`].
    ///
    /// # Errors
    ///
    /// As [`Limiter::acquire_blocking`].
    pub fn acquire_blocking<Q: KeyOf<K, R> + ?Sized, R>(
        &self,
        key: &Q,
        n: u64,
        patience: Patience,
    ) -> Result<(), Denied> {
        self.acquisition(self.fingerprint(key), n, patience).block(|| self.clock.now(), thread::sleep)
    }

    /// Waits for `n` permits for the key without blocking: see [`Limiter::acquire`]. The key is not borrowed while the
    /// future waits.
    ///
    /// # Errors
    ///
    /// As [`Limiter::acquire_blocking`].
    pub fn acquire<'a, Q: KeyOf<K, R> + ?Sized, R, T: Timer>(
        &'a self,
        key: &Q,
        n: u64,
        patience: Patience,
        timer: &'a T,
    ) -> impl Future<Output = Result<(), Denied>> + use<'a, A, K, C, S, Q, R, T> {
        let fingerprint = self.fingerprint(key);
        async move { self.acquisition(fingerprint, n, patience).wait(|| self.clock.now(), timer).await }
    }

    fn acquisition<'a>(
        &'a self,
        fingerprint: Fingerprint,
        n: u64,
        patience: Patience,
    ) -> Acquisition<'a, impl Fn(Duration) -> Result<Reservation<'a>, Denied>> {
        let reserve = move |max_wait| self.reserve_with(fingerprint, Readings::of(&self.clock), n, max_wait);
        Acquisition::new(reserve, self.table.policy().max_wait(), patience, self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FixedWindow, ManualClock, Quota, TokenBucket};

    const SECOND: Duration = Duration::from_secs(1);

    /// When it is granted or refused, and how often it slept, on a clock that moves only while it sleeps.
    fn waits<A: Algorithm>(
        limiter: &Limiter<A, ManualClock>,
        n: u64,
        patience: Patience,
    ) -> (Result<(), Denied>, u64, u64) {
        let sleeps = core::cell::Cell::new(0);
        let sleep = |duration| {
            sleeps.set(sleeps.get() + 1);
            limiter.clock.advance(duration);
        };
        let result = limiter.acquisition(n, patience).block(|| limiter.clock.now(), sleep);
        (result, limiter.clock.now().as_nanos(), sleeps.get())
    }

    fn bucket() -> Limiter<TokenBucket, ManualClock> {
        let bucket = TokenBucket::new(Quota::per_second(1)).max_wait(3 * SECOND);
        bucket.clock(ManualClock::new()).build().expect("a quota that fits")
    }

    #[test]
    fn a_caller_sleeps_once_until_its_reservation_is_due() {
        let limiter = bucket();
        for (at, slept) in [(0, 0), (1, 1), (2, 1)] {
            assert_eq!(waits(&limiter, 1, Patience::unlimited()), (Ok(()), at * 1_000_000_000, slept));
        }
    }

    #[test]
    fn a_sleep_that_ends_early_is_gone_on_with() {
        let limiter = bucket();
        assert!(limiter.check().is_allowed());
        let sleep = |duration: Duration| limiter.clock.advance((duration / 2).max(Duration::from_nanos(1)));
        let result = limiter.acquisition(1, Patience::unlimited()).block(|| limiter.clock.now(), sleep);
        assert_eq!((result, limiter.clock.now().as_nanos()), (Ok(()), 1_000_000_000));
    }

    #[test]
    fn a_reservation_beyond_the_longest_wait_is_refused_at_once() {
        let limiter = bucket();
        for _ in 0..4 {
            limiter.reserve(1, 3 * SECOND).expect("within 3 s").keep();
        }
        let (result, at, slept) = waits(&limiter, 1, Patience::unlimited());
        assert_eq!((result.map_err(|denied| denied.retry_after()), at, slept), (Err(Some(SECOND)), 0, 0));
    }

    #[test]
    fn whoever_waits_by_retry_sleeps_for_just_what_the_refusal_tells() {
        let window = FixedWindow::new(Quota::per_second(2)).clock(ManualClock::new());
        let limiter = window.build().expect("a quota that fits");
        for (n, at, slept) in [(2, 0, 0), (1, 1, 1), (2, 2, 1)] {
            assert_eq!(waits(&limiter, n, Patience::up_to(SECOND)), (Ok(()), at * 1_000_000_000, slept));
        }
        let short = Patience::up_to(Duration::from_nanos(999_999_999));
        let (result, at, slept) = waits(&limiter, 1, short);
        assert_eq!(
            (result.map_err(|denied| denied.retry_after()), at, slept),
            (Err(Some(SECOND)), 2_000_000_000, 0)
        );
        let deadline = Patience::until(Instant::from_nanos(3_000_000_000));
        assert_eq!(waits(&limiter, 1, deadline), (Ok(()), 3_000_000_000, 1));
    }

    #[test]
    fn where_no_wait_can_help_nobody_waits() {
        let budget = TokenBucket::new(Quota::per_second(0)).burst(1).clock(ManualClock::new());
        let limiter = budget.build().expect("a quota that fits");
        assert!(limiter.check().is_allowed());
        for n in [1, 2] {
            let (result, _, slept) = waits(&limiter, n, Patience::unlimited());
            assert_eq!((result.map_err(|denied| denied.retry_after()), slept), (Err(None), 0));
        }
    }

    #[test]
    fn jitter_lengthens_a_sleep_up_to_its_bound_and_not_beyond_the_deadline() {
        let mut longest = 0;
        for _ in 0..200 {
            let limiter = bucket();
            assert!(limiter.check().is_allowed());
            let patience = Patience::unlimited().with_jitter(SECOND / 2);
            let (result, at, slept) = waits(&limiter, 1, patience);
            assert_eq!((result, slept), (Ok(()), 1));
            assert!((1_000_000_000..=1_500_000_000).contains(&at), "{at}");
            longest = longest.max(at);
            let limiter = bucket();
            assert!(limiter.check().is_allowed());
            let patience = Patience::up_to(SECOND * 11 / 10).with_jitter(SECOND);
            let (result, at, _) = waits(&limiter, 1, patience);
            assert_eq!(result, Ok(()));
            assert!((1_000_000_000..=1_100_000_000).contains(&at), "{at}");
        }
        assert!(longest > 1_250_000_000, "{longest}");
    }

    #[test]
    fn a_thread_blocks_until_its_permits_are_due() {
        let bucket = TokenBucket::new(Quota::new(1, Duration::from_millis(5))).max_wait(SECOND);
        let limiter = bucket.build().expect("a quota that fits");
        let start = limiter.now();
        for _ in 0..5 {
            limiter.acquire_blocking(1, Patience::up_to(SECOND)).expect("in time");
        }
        let took = limiter.now().saturating_duration_since(start);
        assert!((Duration::from_millis(20)..SECOND).contains(&took), "{took:?}");
    }
}
