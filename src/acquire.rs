//! Waiting for permits: attempts, and what to do between them. The same steps whether a thread sleeps or a task.

use core::hash::BuildHasher;
use core::time::Duration;
use std::hash::RandomState;
use std::thread;

use crate::algorithm::{Algorithm, Policy, SLACK_NANOS};
use crate::clock::{Clock, Instant};
use crate::decision::Denied;
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::reading::Readings;
use crate::reservation::Reservation;
use crate::table::Fingerprint;

/// The first sleep after a refusal that tells to wait for 0 ns, and the longest that they double to.
const BACK_OFF: Duration = Duration::from_nanos(1);
const BACK_OFF_MAX: Duration = Duration::from_millis(1);

/// How long a call is ready to wait for its permits, and how it spreads.
///
/// Permits that will be there too late are refused; those that are there when it asks are granted, however late it is.
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

    /// Longer than this no wait may be, wherever the deadline lies.
    fn longest(self) -> Duration {
        match self.until {
            Until::After(timeout) => timeout,
            Until::Forever | Until::Deadline(_) => Duration::MAX,
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
    /// One attempt at a reading, for permits that are due no later than so long after it.
    reserve: F,
    /// The longest wait of a reservation. Zero if the limiter makes none that have to wait.
    max_wait: Duration,
    patience: Patience,
    deadline: Option<Instant>,
    reservation: Option<Reservation<'a>>,
    back_off: Duration,
}

/// What to do next.
enum Step {
    Done(Result<(), Denied>),
    Sleep(Duration),
}

impl<'a, F: Fn(Instant, Duration) -> Result<Reservation<'a>, Denied>> Acquisition<'a, F> {
    fn new(reserve: F, max_wait: u64, patience: Patience, now: Instant) -> Self {
        let (max_wait, deadline) = (Duration::from_nanos(max_wait), patience.deadline(now));
        Self { reserve, max_wait, patience, deadline, reservation: None, back_off: BACK_OFF }
    }

    /// The time that is left at `now`.
    fn left(&self, now: Instant) -> Duration {
        let left = self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now));
        left.min(self.patience.longest())
    }

    fn step(&mut self, now: impl Fn() -> Instant) -> Step {
        loop {
            let is_new = self.reservation.is_none();
            let reservation = match self.reservation.take() {
                Some(reservation) => reservation,
                None => match self.attempt(&now) {
                    Ok(reservation) => reservation,
                    Err(step) => return step,
                },
            };
            let Some(due) = reservation.due_later() else {
                reservation.keep();
                return Step::Done(Ok(()));
            };
            let mut reading = now();
            if self.is_too_late(due, reading) {
                // No place is given up for one reading that errs.
                reading = now();
            }
            if self.is_too_late(due, reading) {
                // Given back, and decided again.
                drop(reservation);
                continue;
            }
            let wait = due.saturating_duration_since(reading);
            if wait.is_zero() {
                reservation.keep();
                return Step::Done(Ok(()));
            }
            self.reservation = Some(reservation);
            return Step::Sleep(if is_new { self.spread(wait, self.left(reading)) } else { wait });
        }
    }

    /// A reservation, or what to do without.
    fn attempt(&mut self, now: &impl Fn() -> Instant) -> Result<Reservation<'a>, Step> {
        // On one reading, so that what is granted is due before the deadline.
        let reading = now();
        let left = self.left(reading);
        let denied = match (self.reserve)(reading, left) {
            Ok(reservation) => return Ok(reservation),
            Err(denied) => denied,
        };
        // A second reading: time has passed, and one of them may err.
        let left = left.min(self.left(now()));
        let wait = match denied.retry_after() {
            // Another thread is about to put a key into the last slot, or is stopped there.
            Some(Duration::ZERO) => Some(self.back_off().min(left)),
            told => told,
        };
        // What a state with an order of reservations refuses has no place in it. Slots are given in no order.
        let is_final = !self.max_wait.is_zero() && !denied.overflowed();
        match wait {
            Some(wait) if !is_final && !wait.is_zero() && wait <= left => {
                Err(Step::Sleep(self.spread(wait, left)))
            }
            _ => Err(Step::Done(Err(denied))),
        }
    }

    /// Whether a reservation was decided on a reading that erred, or on a later one than the time left was told on: no
    /// other is due beyond the deadline, or further ahead of `now` than anybody waits.
    fn is_too_late(&self, due: Instant, now: Instant) -> bool {
        let longest = self.max_wait.min(self.patience.longest());
        let longest = longest.saturating_add(Duration::from_nanos(SLACK_NANOS));
        due.saturating_duration_since(now) > longest || self.deadline.is_some_and(|deadline| due > deadline)
    }

    /// How long to sleep where nobody knows how long: twice as long each time.
    fn back_off(&mut self) -> Duration {
        let wait = self.back_off;
        self.back_off = (wait * 2).min(BACK_OFF_MAX);
        wait
    }

    /// The wait with its jitter.
    fn spread(&self, wait: Duration, left: Duration) -> Duration {
        let max = u64::try_from(self.patience.jitter.as_nanos()).unwrap_or(u64::MAX);
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
    /// and the others wait again. So is a key that finds no slot in a full table: where another thread is just about to
    /// fill the last one, and so no wait can be told, after 1 ns and then twice as long each time, up to 1 ms.
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
    /// while it waits cancels its reservation. A timeout counts from this call on; nothing is asked for before the future
    /// is polled.
    ///
    /// # Errors
    ///
    /// As [`acquire_blocking`](Self::acquire_blocking).
    pub fn acquire(
        &self,
        n: u64,
        patience: Patience,
        timer: &impl Timer,
    ) -> impl Future<Output = Result<(), Denied>> {
        self.acquisition(n, patience).wait(|| self.clock.now(), timer)
    }

    fn acquisition<'a>(
        &'a self,
        n: u64,
        patience: Patience,
    ) -> Acquisition<'a, impl Fn(Instant, Duration) -> Result<Reservation<'a>, Denied>> {
        let reserve = move |now, max_wait| self.reserve_with(Readings::taken(&self.clock, now), n, max_wait);
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
        self.acquisition(self.fingerprint(key), n, patience).wait(|| self.clock.now(), timer)
    }

    fn acquisition<'a>(
        &'a self,
        fingerprint: Fingerprint,
        n: u64,
        patience: Patience,
    ) -> Acquisition<'a, impl Fn(Instant, Duration) -> Result<Reservation<'a>, Denied>> {
        let reserve = move |now, max_wait| {
            self.reserve_with(fingerprint, Readings::taken(&self.clock, now), n, max_wait)
        };
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
    fn a_sleep_that_is_gone_on_with_has_no_jitter_of_its_own() {
        let limiter = bucket();
        assert!(limiter.check().is_allowed());
        let sleeps = core::cell::RefCell::new(Vec::new());
        let sleep = |duration: Duration| {
            sleeps.borrow_mut().push(duration);
            limiter.clock.advance(SECOND / 2);
        };
        let patience = Patience::unlimited().with_jitter(SECOND);
        let result = limiter.acquisition(1, patience).block(|| limiter.clock.now(), sleep);
        assert_eq!((result, limiter.clock.now().as_nanos()), (Ok(()), 1_000_000_000));
        assert_eq!(sleeps.into_inner()[1..], [SECOND / 2]);
    }

    #[test]
    fn no_place_is_given_up_for_one_reading_far_behind() {
        let limiter = bucket();
        limiter.clock.set(Instant::from_nanos(100_000_000_000));
        let reserve = || limiter.reserve(1, 3 * SECOND).expect("within 3 s").keep();
        reserve();
        let errs = core::cell::Cell::new(false);
        let now = || if errs.take() { Instant::ORIGIN } else { limiter.clock.now() };
        let sleep = |duration| {
            // Somebody comes next.
            reserve();
            limiter.clock.advance(duration);
            errs.set(true);
        };
        assert_eq!(limiter.acquisition(1, Patience::unlimited()).block(now, sleep), Ok(()));
        assert_eq!(limiter.clock.now().as_nanos(), 101_000_000_000);
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
