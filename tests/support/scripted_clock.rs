//! A clock for threads that are stopped between their reading and their decision, and for readings that are wrong.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate::{Clock, Instant};

/// A handle to a clock that stands at one time, except for single readings.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptedClock {
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    now: Instant,
    /// What the next calls read instead.
    next: VecDeque<Instant>,
}

impl ScriptedClock {
    pub(crate) fn set(&self, nanos: u64) {
        self.with(|script| script.now = Instant::from_nanos(nanos));
    }

    /// The next reading is of `nanos`: taken by a thread that was then stopped, or wrong. Later ones are of the time
    /// now.
    pub(crate) fn read_once(&self, nanos: u64) {
        self.with(|script| script.next.push_back(Instant::from_nanos(nanos)));
    }

    fn with<T>(&self, run: impl FnOnce(&mut Script) -> T) -> T {
        run(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Clock for ScriptedClock {
    fn now(&self) -> Instant {
        self.with(|script| script.next.pop_front().unwrap_or(script.now))
    }
}
