//! How a state is saved, and made to go on under another clock.
//!
//! A *saved state* is a few numbers, independent of how a word is packed. Its times are in the policy's *own time*:
//! that of its limiter's readings, or a `shift` ahead of it. Whoever goes on takes over that time: to it is added what
//! has passed by the wall clock, and from it is taken what the new clock reads, so that an instant keeps its meaning.

use crate::algorithm::policy::Policy;
use crate::algorithm::state::{Retry, State};
use crate::algorithm::word::Word;

/// From the own time of a saved policy to that of the one that goes on.
#[derive(Debug, Clone, Copy)]
pub struct Resumption {
    /// The saved policy's own time when its states were saved.
    saved_at: u64,
    /// ns that have passed since, by the wall clock: none if it went back.
    elapsed: u64,
    went_back: bool,
    /// What the clock reads.
    now: u64,
}

/// No saved state reads like that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

impl Resumption {
    /// States saved at `saved_at`, in their policy's own time, and the wall clock's time then, both in ns; and the same
    /// of the clock that goes on.
    pub(crate) fn new(saved_at: u64, wall_then: u64, now: u64, wall_now: u64) -> Self {
        let (elapsed, went_back) = (wall_now.saturating_sub(wall_then), wall_now < wall_then);
        Self { saved_at, elapsed, went_back, now }
    }

    /// Whether the wall clock went back, so that nobody knows what has passed.
    pub(super) fn went_back(&self) -> bool {
        self.went_back
    }

    /// The saved policy's own time when its states were saved.
    pub(super) fn saved_at(&self) -> u64 {
        self.saved_at
    }

    /// What the clock reads.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// What the saved policy's own time would be now.
    pub(super) fn own_time(&self) -> u64 {
        self.saved_at.saturating_add(self.elapsed)
    }

    /// What saved times are moved by, for a policy whose own time is `shift` ahead of readings.
    pub(super) fn step(&self, shift: u64) -> i128 {
        i128::from(self.now) + i128::from(shift) - i128::from(self.own_time())
    }

    /// The shift, less than a period, by which windows start where they did.
    pub(super) fn phase(&self, period: u64) -> u64 {
        let ahead = -self.step(0);
        u64::try_from(ahead.rem_euclid(i128::from(period.max(1)))).unwrap_or(0)
    }
}

/// A policy whose states can be taken from one table and put into another.
pub trait Portable: Policy + Copy {
    /// How far the policy's own time is ahead of readings.
    fn shift(&self) -> u64 {
        0
    }

    /// Appends the state: its numbers belong together if `word` is still the state's afterwards.
    fn save(&self, state: State<'_>, word: Word, saved: &mut Vec<u64>) -> Result<(), Retry>;

    /// Reads a saved state and appends it as it is now, in this policy's own time; nothing, and `false`, if it is as good
    /// as new.
    fn resume(
        &self,
        saved: &mut impl Iterator<Item = u64>,
        at: &Resumption,
        resumed: &mut Vec<u64>,
    ) -> Result<bool, Damaged>;

    /// Writes what was resumed into a state that nobody else sees: the value of its main word, which is not yet written.
    fn put(&self, state: State<'_>, resumed: &[u64]) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_goes_on_by_what_the_wall_clock_has_moved_and_never_back() {
        let resumed = |wall_now| Resumption::new(1_000, 50, 7, wall_now);
        assert_eq!((resumed(80).own_time(), resumed(80).went_back()), (1_030, false));
        assert_eq!((resumed(49).own_time(), resumed(49).went_back()), (1_000, true));
        assert_eq!(resumed(80).step(3), 7 + 3 - 1_030);
    }

    #[test]
    fn windows_start_where_they_did() {
        for (saved_at, now, period) in [(1_000, 7, 100), (7, 1_000, 100), (0, u64::MAX, 3), (u64::MAX, 0, 7)]
        {
            let at = Resumption::new(saved_at, 0, now, 0);
            let shift = at.phase(period);
            assert!(shift < period);
            assert_eq!(at.step(shift).rem_euclid(period.into()), 0);
        }
    }
}
