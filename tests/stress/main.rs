//! Free-running threads against exact bounds. No expectation depends on how fast anything runs.
//!
//! Each test runs for a second, or for as many as `TOLLGATE_STRESS_SECONDS` says.

mod bounds;
mod churn;
mod debts;
mod erring_clock;
mod floods;
mod glitches;
mod late;
mod load;
mod long;
mod new_keys;
mod permits;
mod promises;
mod real_time;
mod revived;
mod skew;
mod slices;

#[path = "../support/race.rs"]
mod race;
#[path = "../support/random.rs"]
mod random;
#[expect(dead_code, reason = "nothing here moves a clock by hand")]
#[path = "../support/stream.rs"]
mod stream;

use std::env;
use std::time::{Duration, Instant};

const NANOS_PER_MS: u64 = 1_000_000;
const NANOS_PER_S: u64 = 1_000_000_000;
const THREADS: [usize; 4] = [2, 4, 8, 16];

/// Repeats the round until this test's time is over; at least once.
fn repeat(mut round: impl FnMut()) {
    let seconds = env::var("TOLLGATE_STRESS_SECONDS");
    let seconds = seconds.map_or(1.0, |text| text.parse().expect("a number of seconds"));
    let begin = Instant::now();
    loop {
        round();
        if begin.elapsed() >= Duration::from_secs_f64(seconds) {
            return;
        }
    }
}
