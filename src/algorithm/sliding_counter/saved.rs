//! A counter, saved: the index and the count of its current window, and the count of the one before.

use super::{Pair, SlidingCounterPolicy};
use crate::algorithm::saved::{Damaged, Portable, Resumption};
use crate::algorithm::state::{Retry, State};
use crate::algorithm::window::Window;
use crate::algorithm::word::Word;
use crate::sync::Ordering;

impl SlidingCounterPolicy {
    /// The policy whose windows start where those of the saved one did.
    pub(super) fn continuing(self, at: &Resumption) -> Self {
        Self { shift: at.phase(self.windows.period), ..self }
    }
}

impl Portable for SlidingCounterPolicy {
    fn shift(&self) -> u64 {
        self.shift
    }

    /// As of the newest time that the words tell: so a rollover that was begun is saved as done, and what a healed
    /// glitch has left as what it counts for.
    fn save(&self, state: State<'_>, word: Word, saved: &mut Vec<u64>) -> Result<(), Retry> {
        let previous = self.windows.unpack(Self::recorded(state));
        let (Pair { current, previous }, _) = self.at(self.current(word), previous, 0);
        saved.extend([current.index, current.count, previous]);
        Ok(())
    }

    fn resume(
        &self,
        saved: &mut impl Iterator<Item = u64>,
        at: &Resumption,
        resumed: &mut Vec<u64>,
    ) -> Result<bool, Damaged> {
        let Window { index, count } = self.windows.read(saved)?;
        let previous = saved.next().filter(|count| *count <= self.windows.limit).ok_or(Damaged)?;
        let start = i128::from(self.windows.start(index)) + at.step(self.shift);
        let (last, now) = (self.windows.last(), self.windows.index(self.shifted(at.now())));
        let Ok(index) = u64::try_from(self.windows.resumed(start).min(last.into())) else { return Ok(false) };
        if index + 1 < now {
            return Ok(false);
        }
        // The window before all windows can only be a previous one.
        let pair = if index == 0 { [1, 0, count] } else { [index, count, previous] };
        resumed.extend(pair);
        Ok(true)
    }

    fn put(&self, state: State<'_>, resumed: &[u64]) -> u64 {
        let [index, count, previous] = *resumed else { return 0 };
        let before = Window { index: index.saturating_sub(1), count: previous };
        // ORDERING: Relaxed: nobody else sees the state, and the Release that makes it a key's publishes the store.
        state.extra[0].store(self.windows.pack(before), Ordering::Relaxed);
        self.windows.pack(Window { index, count })
    }
}
