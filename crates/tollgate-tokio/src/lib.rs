#![doc = include_str!("../README.md")]

use std::future::Future;
use std::time::Duration;

use tollgate::{Clock, Instant, Timer};

/// tokio's timer.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioTimer;

impl Timer for TokioTimer {
    /// Sleeps at least `duration`; tokio rounds up to whole milliseconds.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime whose timer is on, as [`tokio::time::sleep`] does.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }
}

/// tokio's clock: that of the system, or the paused one of a test. Clones share its origin.
#[derive(Debug, Clone)]
pub struct TokioClock {
    origin: tokio::time::Instant,
}

impl TokioClock {
    /// A clock whose origin is now.
    pub fn new() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        Instant::ORIGIN + self.origin.elapsed()
    }
}
