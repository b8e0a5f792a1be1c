//! A clock that stands where it is set, except for single readings, and that tells what was read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tollgate::{Clock, Instant, ManualClock};

/// A handle to the clock.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErringClock {
    time: ManualClock,
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    /// What the next call reads instead: by a thread that was stopped since, or wrongly.
    next: Option<u64>,
    readings: Vec<u64>,
}

impl ErringClock {
    pub(crate) fn time(&self) -> u64 {
        self.time.now().as_nanos()
    }

    /// Moves the time to `nanos`; on, by the verb for that.
    pub(crate) fn set(&self, nanos: u64) {
        match nanos.checked_sub(self.time()) {
            Some(on) => self.time.advance(Duration::from_nanos(on)),
            None => self.time.set(Instant::from_nanos(nanos)),
        }
    }

    pub(crate) fn read_once(&self, nanos: u64) {
        self.with(|script| script.next = Some(nanos));
    }

    /// What was read since this was last asked, and nothing wrong from here on.
    pub(crate) fn readings(&self) -> Vec<u64> {
        self.with(|script| {
            script.next = None;
            std::mem::take(&mut script.readings)
        })
    }

    fn with<T>(&self, run: impl FnOnce(&mut Script) -> T) -> T {
        run(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Clock for ErringClock {
    fn now(&self) -> Instant {
        self.with(|script| {
            let nanos = script.next.take().unwrap_or_else(|| self.time());
            script.readings.push(nanos);
            Instant::from_nanos(nanos)
        })
    }

    fn origin_since_unix_epoch(&self) -> Duration {
        self.time.origin_since_unix_epoch()
    }
}
