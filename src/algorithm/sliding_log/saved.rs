//! A log, saved: `born`, the number of its entries that may still count, and those, from the oldest.

use super::SlidingLogPolicy;
use crate::algorithm::saved::{Damaged, Portable, Resumption};
use crate::algorithm::state::{Retry, State};
use crate::algorithm::word::{TIME_MAX, Word};

impl SlidingLogPolicy {
    /// The policy whose own time goes on, as far as entries that count may lie before the clock's origin.
    pub(super) fn continuing(self, at: &Resumption) -> Self {
        let ahead = at.own_time().saturating_sub(at.now());
        Self { shift: ahead.min(self.period).min(TIME_MAX), ..self }
    }

    /// A time moved by `step`; not beyond what words tell.
    fn moved(time: u64, step: i128) -> u64 {
        let time = (i128::from(time) + step).clamp(0, TIME_MAX.into());
        u64::try_from(time).unwrap_or(TIME_MAX)
    }
}

impl Portable for SlidingLogPolicy {
    fn shift(&self) -> u64 {
        self.shift
    }

    fn save(&self, state: State<'_>, word: Word, saved: &mut Vec<u64>) -> Result<(), Retry> {
        let reading = self.read(state, word)?;
        let head = self.layout.head(word.value());
        saved.extend([reading.born.time(), 0]);
        let first = saved.len();
        let mut newest = 0;
        for time in self.ring(state).entries(head) {
            if self.counts(Some(time), reading.recorded()) {
                // An entry that came back from a glitch (see `ring.rs`) may be dated after those that follow.
                newest = time.max(newest);
                saved.push(newest);
            }
        }
        saved[first - 1] = (saved.len() - first) as u64;
        Ok(())
    }

    fn resume(
        &self,
        saved: &mut impl Iterator<Item = u64>,
        at: &Resumption,
        resumed: &mut Vec<u64>,
    ) -> Result<bool, Damaged> {
        let (Some(born), Some(count)) = (saved.next(), saved.next()) else { return Err(Damaged) };
        if born > TIME_MAX || count > self.limit {
            return Err(Damaged);
        }
        let (step, own_time) = (at.step(self.shift), at.own_time());
        let born = Self::moved(born, step);
        resumed.push(born);
        let mut newest = 0;
        for _ in 0..count {
            let time = saved.next().filter(|time| (newest..=TIME_MAX).contains(time)).ok_or(Damaged)?;
            newest = time;
            if self.counts(Some(time), own_time) {
                resumed.push(Self::moved(time, step));
            }
        }
        let is_new = resumed.len() == 1 && born < self.shifted(at.now());
        if is_new {
            resumed.clear();
        }
        Ok(!is_new)
    }

    fn put(&self, state: State<'_>, resumed: &[u64]) -> u64 {
        let Some((born, entries)) = resumed.split_first() else { return 0 };
        let stamp = Self::born(state);
        // Lost to nobody: the state is seen by nobody else.
        let _ = stamp.replace(stamp.load(), *born);
        self.ring(state).fill(entries)
    }
}
