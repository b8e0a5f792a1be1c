//! What a thread has read.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use loom::thread::{self, ThreadId};
use tollgate::{Algorithm, Clock, Decision, Instant, Limiter, ManualClock};

/// A [`ManualClock`] that remembers what each thread has read last: the reading its decision was made at.
///
/// It tells time by loom's atomics. What it remembers is kept outside of them and changes no schedule.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    clock: ManualClock,
    last: Arc<Mutex<HashMap<ThreadId, u64>>>,
}

impl Recorder {
    /// A clock that reads `nanos`.
    pub fn starting_at(nanos: u64) -> Self {
        let recorder = Self::default();
        recorder.set(nanos);
        recorder
    }

    /// Sets the time, backwards too.
    pub fn set(&self, nanos: u64) {
        self.clock.set(Instant::from_nanos(nanos));
    }

    /// What this thread has read last, in ns.
    pub fn last(&self) -> u64 {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.get(&thread::current().id()).copied().unwrap_or_default()
    }
}

impl Clock for Recorder {
    fn now(&self) -> Instant {
        let now = self.clock.now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.insert(thread::current().id(), now.as_nanos());
        now
    }

    fn origin_since_unix_epoch(&self) -> Duration {
        self.clock.origin_since_unix_epoch()
    }
}

/// An answer and the reading it was made at.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The reading, in ns.
    pub at: u64,
    /// The permits asked for.
    pub cost: u64,
    /// The decision.
    pub decision: Decision,
}

impl Answer {
    /// The permits granted: all that were asked for, or none.
    pub fn granted(&self) -> u64 {
        if self.decision.is_allowed() { self.cost } else { 0 }
    }

    /// When all of the limit remains again, as the decision tells it.
    ///
    /// # Panics
    ///
    /// If it tells none.
    pub fn reset_at(&self) -> u64 {
        self.at + self.decision.reset_after_nanos().expect("a time of reset")
    }

    /// What remains, as the decision tells it.
    ///
    /// # Panics
    ///
    /// If it tells nothing.
    pub fn remaining(&self) -> u64 {
        self.decision.remaining().expect("what remains")
    }
}

/// Asks for `cost` permits now: the clock is read, then the thread can be stopped.
pub fn ask<A: Algorithm>(limiter: &Limiter<A, Recorder>, cost: u64) -> Answer {
    let decision = limiter.check_n(cost);
    Answer { at: limiter.clock().last(), cost, decision }
}

/// As [`ask`], with a reading of the caller's: nothing is healed.
pub fn ask_at<A: Algorithm>(limiter: &Limiter<A, Recorder>, cost: u64) -> Answer {
    let now = limiter.clock().now();
    Answer { at: now.as_nanos(), cost, decision: limiter.check_at(now, cost) }
}

/// The permits granted by these answers.
pub fn granted<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> u64 {
    answers.into_iter().map(Answer::granted).sum()
}
