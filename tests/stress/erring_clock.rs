//! A clock that errs, in each thread as that thread chooses.

use std::cell::RefCell;

use tollgate::{Clock, Instant, StdClock};

use crate::NANOS_PER_S;

/// So that seconds pass in milliseconds: readings are all that matters.
const SPEED: u64 = 1000;
/// Room for readings from before the clock's first.
const START: u64 = 3600 * NANOS_PER_S;

type Reading = dyn FnMut(u64) -> u64;

thread_local! {
    static READING: RefCell<Box<Reading>> = RefCell::new(Box::new(|right| right));
}

/// A thousand times as fast as the real clock, and right in threads that do not say otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErringClock {
    real: StdClock,
}

impl ErringClock {
    /// The time whatever anybody reads, in ns.
    pub(crate) fn right(&self) -> u64 {
        START + SPEED * self.real.now().as_nanos()
    }
}

/// From now on this thread reads what `reading` makes of the right time.
pub(crate) fn err(reading: impl FnMut(u64) -> u64 + 'static) {
    READING.set(Box::new(reading));
}

impl Clock for ErringClock {
    fn now(&self) -> Instant {
        let right = self.right();
        Instant::from_nanos(READING.with_borrow_mut(|reading| reading(right)))
    }
}
