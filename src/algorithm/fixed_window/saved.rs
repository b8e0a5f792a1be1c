//! A fixed window, saved: its index and its count.

use super::FixedWindowPolicy;
use crate::algorithm::saved::{Damaged, Portable, Resumption};
use crate::algorithm::state::{Retry, State};
use crate::algorithm::window::{Window, Windows};
use crate::algorithm::word::Word;

impl FixedWindowPolicy {
    /// The policy whose windows start where those of the saved one did.
    pub(super) fn continuing(self, at: &Resumption) -> Self {
        Self { shift: at.phase(self.windows.period), ..self }
    }
}

impl Windows {
    /// The index of a window that started at `start`, or at about that: 0 or less if that was before all windows.
    pub(in crate::algorithm) fn resumed(self, start: i128) -> i128 {
        let period = i128::from(self.period.max(1));
        (start + period / 2).div_euclid(period) + 1
    }

    /// A window read from numbers.
    pub(in crate::algorithm) fn read(self, saved: &mut impl Iterator<Item = u64>) -> Result<Window, Damaged> {
        let (Some(index), Some(count)) = (saved.next(), saved.next()) else { return Err(Damaged) };
        let is_legal = (1..=self.last()).contains(&index) && count <= self.limit;
        if is_legal { Ok(Window { index, count }) } else { Err(Damaged) }
    }

    /// The last index that a word tells.
    pub(in crate::algorithm) fn last(self) -> u64 {
        self.index(u64::MAX)
    }
}

impl Portable for FixedWindowPolicy {
    fn shift(&self) -> u64 {
        self.shift
    }

    fn save(&self, _state: State<'_>, word: Word, saved: &mut Vec<u64>) -> Result<(), Retry> {
        let Window { index, count } = self.window(word);
        saved.extend([index, count]);
        Ok(())
    }

    fn resume(
        &self,
        saved: &mut impl Iterator<Item = u64>,
        at: &Resumption,
        resumed: &mut Vec<u64>,
    ) -> Result<bool, Damaged> {
        let Window { index, count } = self.windows.read(saved)?;
        let (start, step) = (self.windows.start(index), at.step(self.shift));
        let index = if at.went_back() {
            // Windows aligned to UTC are not those that the saved one had. The count goes to the window of now.
            let as_of = start.max(at.saved_at());
            if self.windows.latest(index, as_of) != index {
                return Ok(false);
            }
            let as_of = i128::from(as_of) + step;
            u64::try_from(as_of).map_or(0, |as_of| self.windows.index(as_of))
        } else {
            // Those aligned to UTC are the wall clock's, though the saved one's clock may have run a little off it.
            let index = self.windows.resumed(i128::from(start) + step);
            u64::try_from(index.clamp(0, self.windows.last().into())).unwrap_or(0)
        };
        if index == 0 || index < self.windows.index(self.shifted(at.now())) {
            return Ok(false);
        }
        resumed.extend([index, count]);
        Ok(true)
    }

    fn put(&self, _state: State<'_>, resumed: &[u64]) -> u64 {
        match *resumed {
            [index, count] => self.windows.pack(Window { index, count }),
            _ => 0,
        }
    }
}
