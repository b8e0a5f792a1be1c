//! `born`: a time that no later entry is dated before.
//!
//! ```text
//!   63                                              3 2       0
//!  +-------------------------------------------------+---------+
//!  |                      time                       | changes |
//!  +-------------------------------------------------+---------+
//! ```
//!
//! Healing lowers it, so a time alone could come back. `changes` counts, modulo 8, how often the word has changed: an
//! exchange prepared against an older word fails, though the time is the same again. Wiping the log always raises it,
//! so that between two healings no stamp comes back, however many wipings there are at one reading. (At the end of time
//! `changes` is all that differs: a stamp comes back at the eighth wiping.)

use crate::algorithm::state::Retry;
use crate::algorithm::word::{TIME_MAX, VALUE_BITS};
use crate::sync::{AtomicU64, Ordering};

const CHANGE_BITS: u32 = u64::BITS - VALUE_BITS;
const CHANGES: u64 = (1 << CHANGE_BITS) - 1;

/// What the word held at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    #[inline]
    pub(super) fn time(self) -> u64 {
        self.0 >> CHANGE_BITS
    }

    /// What no other stamp of the word has had for a long time.
    pub(super) fn salt(self) -> u64 {
        self.0
    }

    fn changed_to(self, time: u64) -> Self {
        debug_assert!(time <= TIME_MAX, "a time that fits");
        Self(time << CHANGE_BITS | self.0.wrapping_add(1) & CHANGES)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Born<'a>(&'a AtomicU64);

impl<'a> Born<'a> {
    #[inline]
    pub(super) fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    #[inline]
    pub(super) fn load(self) -> Stamp {
        // ORDERING: Acquire pairs with the Release of `replace`, and keeps this load before the confirming one of the
        // head. A state that became a key's after being freed at `born` shows at least that.
        Stamp(self.0.load(Ordering::Acquire))
    }

    /// Replaces exactly `from`.
    pub(super) fn replace(self, from: Stamp, time: u64) -> Result<(), Retry> {
        // ORDERING: AcqRel keeps the history of the word in one chain; the exchange of the head that follows publishes
        // it. On failure nothing read is used, so Relaxed is enough.
        match self.0.compare_exchange(from.0, from.changed_to(time).0, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(Retry::Lost),
        }
    }

    /// Raises it to `time`, if it is less.
    pub(super) fn raise(self, time: u64) {
        let mut stamp = self.load();
        while stamp.time() < time && self.replace(stamp, time).is_err() {
            stamp = self.load();
        }
    }

    /// Raises it to `time`, or by 1 ns if that is not later: what it holds then.
    pub(super) fn pass(self, time: u64) -> Stamp {
        loop {
            let stamp = self.load();
            let time = time.max(stamp.time() + 1).min(TIME_MAX);
            if self.replace(stamp, time).is_ok() {
                return stamp.changed_to(time);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_came_back_is_another_word_up_to_the_eighth_change() {
        let word = AtomicU64::new(0);
        let born = Born::new(&word);
        born.raise(TIME_MAX);
        let first = born.load();
        for change in 1..=8 {
            assert_eq!(born.replace(born.load(), TIME_MAX), Ok(()));
            assert_eq!(born.load().time(), TIME_MAX);
            assert_eq!(born.replace(first, 5).is_err(), change < 8);
        }
    }

    #[test]
    fn a_stamp_that_was_passed_does_not_come_back_at_one_reading() {
        let word = AtomicU64::new(0);
        let born = Born::new(&word);
        let stamps: std::collections::HashSet<_> = (0..1000).map(|_| born.pass(7).salt()).collect();
        assert_eq!((stamps.len(), born.load().time()), (1000, 1006));
        assert_eq!(born.pass(TIME_MAX).time(), TIME_MAX);
        let last: std::collections::HashSet<_> = (0..10).map(|_| born.pass(7).salt()).collect();
        assert_eq!((last.len(), born.load().time()), (8, TIME_MAX));
    }

    #[test]
    fn it_is_raised_and_never_lowered_by_raising() {
        let word = AtomicU64::new(0);
        let born = Born::new(&word);
        for (time, expected) in [(0, 0), (7, 7), (6, 7), (7, 7), (8, 8)] {
            born.raise(time);
            assert_eq!(born.load().time(), expected);
        }
    }
}
