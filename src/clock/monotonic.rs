//! The process-wide clocks: quanta's and the standard library's.

use std::sync::LazyLock;
use std::time::Instant as StdInstant;

use crate::clock::{Clock, Instant};

/// The default clock: the processor's time-stamp counter, calibrated by [`quanta`].
///
/// Where the counter cannot be used quanta falls back to the system's monotonic clock. The counters of some machines
/// differ between cores; a reading that is older for that reason only ever refuses (see [`Clock`]). The origin is the
/// first use in the process.
#[derive(Debug, Clone)]
pub struct QuantaClock {
    source: quanta::Clock,
    origin: u64,
}

static QUANTA: LazyLock<QuantaClock> = LazyLock::new(|| {
    let source = quanta::Clock::new();
    let origin = source.raw();
    QuantaClock { source, origin }
});

impl QuantaClock {
    /// The process-wide clock.
    pub fn new() -> Self {
        QUANTA.clone()
    }
}

impl Default for QuantaClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for QuantaClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_nanos(self.source.delta_as_nanos(self.origin, self.source.raw()))
    }
}

/// The standard library's monotonic clock; about twice the time per reading of [`QuantaClock`].
///
/// The origin is the first use in the process.
#[derive(Debug, Clone)]
pub struct StdClock {
    origin: StdInstant,
}

static STD: LazyLock<StdClock> = LazyLock::new(|| StdClock { origin: StdInstant::now() });

impl StdClock {
    /// The process-wide clock.
    pub fn new() -> Self {
        STD.clone()
    }
}

impl Default for StdClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for StdClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::ORIGIN + self.origin.elapsed()
    }
}
