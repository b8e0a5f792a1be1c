//! A clock that is read for almost nothing and steps now and then.

use core::fmt;
use core::time::Duration;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

use quanta::{Error as UpkeepError, Handle, Upkeep};

use crate::clock::{Clock, Instant};

/// quanta's *recent* time: a thread (the upkeep) stores the time every so often, a reading is one load.
///
/// Between two steps the time stands still, so a decision sees a time that lies at most one step (and what the
/// scheduler adds) in the past. A wait told by [`retry_after`](crate::Decision::retry_after) is honest in this
/// clock's own time; in true time it may take up to one step longer.
///
/// There is one upkeep in a process. [`new`](Self::new) starts it, or adopts the one that runs, whatever its step.
/// One started here runs until the process ends. An adopted one runs for as long as its owner lets it; then the time
/// stands still and limiters refuse once they are drained, until a new `CoarseClock` is built.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{CoarseClock, Quota, TokenBucket};
///
/// let clock = CoarseClock::new(Duration::from_millis(1))?;
/// let limiter = TokenBucket::new(Quota::per_second(100)).clock(clock).build()?;
/// assert!(limiter.check().is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CoarseClock {
    source: quanta::Clock,
    origin: quanta::Instant,
}

/// What the coarse clocks of the process share. Locked when a clock is built, never when it is read.
struct Shared {
    /// Dropping the handle would stop the upkeep.
    started: Vec<Handle>,
    origin: Option<quanta::Instant>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { started: Vec::new(), origin: None });

/// How long to wait for the first value: starting a thread and calibrating take far less.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_micros(100);

impl CoarseClock {
    /// The shortest step: below it the upkeep would hardly sleep.
    pub const STEP_MIN: Duration = Duration::from_micros(10);
    /// The longest step: readings must stay well within the 5 s that limiters take for honest.
    pub const STEP_MAX: Duration = Duration::from_secs(1);

    /// The process's coarse clock; starts its upkeep with this `step` unless one is running already.
    ///
    /// # Errors
    ///
    /// [`CoarseClockError`] if the step is out of range, if no upkeep runs and none can be started, or if a running one
    /// gives no value.
    pub fn new(step: Duration) -> Result<Self, CoarseClockError> {
        if !(Self::STEP_MIN..=Self::STEP_MAX).contains(&step) {
            return Err(CoarseClockError::Step(step));
        }
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let source = quanta::Clock::new();
        match Upkeep::new_with_clock(step, source.clone()).start() {
            Ok(handle) => shared.started.push(handle),
            Err(UpkeepError::UpkeepRunning) => {}
            Err(UpkeepError::FailedToSpawnUpkeepThread(error)) => return Err(CoarseClockError::Spawn(error)),
        }
        let first = first_value(&source)?;
        Ok(Self { origin: *shared.origin.get_or_insert(first), source })
    }
}

/// quanta's recent time is 0 until an upkeep has stored a value.
fn first_value(source: &quanta::Clock) -> Result<quanta::Instant, CoarseClockError> {
    let is_zero = |instant: &quanta::Instant| instant.checked_sub(Duration::from_nanos(1)).is_none();
    let begin = std::time::Instant::now();
    loop {
        let recent = source.recent();
        if !is_zero(&recent) {
            return Ok(recent);
        }
        if begin.elapsed() > PATIENCE {
            return Err(CoarseClockError::NoValue);
        }
        thread::sleep(POLL);
    }
}

impl Clock for CoarseClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::ORIGIN + self.source.recent().saturating_duration_since(self.origin)
    }
}

/// Why there is no coarse clock.
#[derive(Debug)]
#[non_exhaustive]
pub enum CoarseClockError {
    /// The step is shorter than [`CoarseClock::STEP_MIN`] or longer than [`CoarseClock::STEP_MAX`].
    Step(Duration),
    /// The upkeep's thread could not be started.
    Spawn(io::Error),
    /// An upkeep runs but has not stored a value within seconds.
    NoValue,
}

impl fmt::Display for CoarseClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => write!(
                f,
                "a step of {step:?} is out of range; choose one from {:?} to {:?}",
                CoarseClock::STEP_MIN,
                CoarseClock::STEP_MAX
            ),
            Self::Spawn(_) => f.write_str("the upkeep thread of the coarse clock could not be started"),
            Self::NoValue => {
                f.write_str("a running quanta upkeep has not stored a time; start it before this clock")
            }
        }
    }
}

impl core::error::Error for CoarseClockError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Spawn(error) => Some(error),
            Self::Step(_) | Self::NoValue => None,
        }
    }
}
