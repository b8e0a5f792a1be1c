//! Where readings come from. The algorithms take time as a parameter and know no clock.

mod coarse;
mod instant;
mod manual;
mod monotonic;

use core::fmt::Debug;
use core::time::Duration;
use std::time::SystemTime;

pub use coarse::{CoarseClock, CoarseClockError};
pub use instant::Instant;
pub use manual::ManualClock;
pub use monotonic::{QuantaClock, StdClock};

/// A source of readings, in ns since an origin of its own.
///
/// Clones of one clock share its origin and therefore their readings: one reading can be handed to the `check_at` of
/// several limiters. Limiters with the default clock share one origin in the whole process.
///
/// # What limiters ask of a clock
///
/// Readings should not go backwards, but nothing breaks when they do. Time-stamp counters may differ between cores,
/// and a thread may be stopped between its reading and its decision. A reading older than what a state has recorded
/// never creates permits: the token bucket sees fewer tokens, the window algorithms count it at the newest time they
/// have seen. A reading far in the future is healed: see [`Limiter`](crate::Limiter#clocks-that-err).
pub trait Clock: Clone + Debug + Send + Sync + 'static {
    /// The time now. Called once for each decision on a key that has a state; a few times more to give a key one, and
    /// where a state lies in the reading's future.
    fn now(&self) -> Instant;

    /// The time of this clock's origin since the Unix epoch; it aligns windows to UTC.
    ///
    /// The default compares the clock with the system's wall clock, once per call.
    fn origin_since_unix_epoch(&self) -> Duration {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        wall.saturating_sub(Duration::from_nanos(self.now().as_nanos()))
    }
}
