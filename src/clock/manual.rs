//! A clock that moves when told.

use core::time::Duration;
use std::sync::Arc;

use crate::clock::{Clock, Instant};
use crate::sync::{AtomicU64, Ordering};

/// A clock that stands still until it is told to move: for tests, simulations and models.
///
/// A handle: clones share one time. Its origin is the Unix epoch unless [`starting_at`](Self::starting_at) says
/// otherwise, so windows aligned to UTC are aligned to zero.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{ManualClock, Quota, TokenBucket};
///
/// let clock = ManualClock::new();
/// let limiter = TokenBucket::new(Quota::per_second(1)).clock(clock.clone()).build()?;
/// assert!(limiter.check().is_allowed());
/// assert_eq!(limiter.check().retry_after(), Some(Duration::from_secs(1)));
/// clock.advance(Duration::from_secs(1));
/// assert!(limiter.check().is_allowed());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    nanos: Arc<AtomicU64>,
    origin: Duration,
}

impl ManualClock {
    /// A clock that reads its origin.
    pub fn new() -> Self {
        Self::starting_at(Duration::ZERO)
    }

    /// A clock that reads its origin, which lies `origin` after the Unix epoch.
    pub fn starting_at(origin: Duration) -> Self {
        Self { nanos: Arc::new(AtomicU64::new(0)), origin }
    }

    /// Moves the time on by `duration`, at most to the last instant.
    pub fn advance(&self, duration: Duration) {
        let mut nanos = self.now().as_nanos();
        loop {
            let later = (Instant::from_nanos(nanos) + duration).as_nanos();
            // ORDERING: Release pairs with the Acquire of `now`: who sees the time moved sees what was done before.
            match self.nanos.compare_exchange(nanos, later, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(other) => nanos = other,
            }
        }
    }

    /// Sets the time, backwards too.
    pub fn set(&self, now: Instant) {
        // ORDERING: Release pairs with the Acquire of `now`: who sees the time set sees what was done before.
        self.nanos.store(now.as_nanos(), Ordering::Release);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        // ORDERING: Acquire pairs with the Release of `set` and `advance`.
        Instant::from_nanos(self.nanos.load(Ordering::Acquire))
    }

    fn origin_since_unix_epoch(&self) -> Duration {
        self.origin
    }
}
