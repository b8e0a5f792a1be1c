//! A reading.

use core::ops::Add;
use core::time::Duration;

/// A reading of a [`Clock`](crate::Clock): ns since that clock's origin.
///
/// Readings of different clocks cannot be compared in a meaningful way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ORIGIN: Self = Self(0);

    /// The reading `nanos` ns after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The reading `duration` after the clock's origin; at most the last one.
    pub const fn after_origin(duration: Duration) -> Self {
        let nanos = duration.as_nanos();
        #[expect(clippy::cast_possible_truncation, reason = "checked")]
        if nanos > u64::MAX as u128 { Self(u64::MAX) } else { Self(nanos as u64) }
    }

    /// ns since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is the later one.
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at the last instant, 584 years after the origin.
impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(Self::after_origin(duration).0))
    }
}
