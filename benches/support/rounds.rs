//! A quota and times at which calls for one permit are granted, by each algorithm.

use std::time::Duration;

use tollgate::{Instant, Quota};

/// So much that the rounds of two periods, by each of four threads, stay below it.
pub(crate) const QUOTA: Quota = Quota::new(20, PERIOD);
const PERIOD: Duration = Duration::from_secs(1);
const ROUNDS_PER_PERIOD: u32 = 2;

/// Times of rounds over all keys.
#[derive(Debug, Default)]
pub(crate) struct Rounds(u32);

impl Rounds {
    pub(crate) fn next(&mut self) -> Instant {
        self.advance(1)
    }

    /// The time of so many rounds later.
    pub(crate) fn advance(&mut self, rounds: u32) -> Instant {
        self.0 += rounds;
        Instant::ORIGIN + PERIOD / ROUNDS_PER_PERIOD * self.0
    }
}
