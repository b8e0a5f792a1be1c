//! What was granted, as long as no reader far behind has followed one ahead.

use oracle::vectors::Rule;

use crate::promise::{SLACK, bound};

/// A grant, or a call by which keys lost their slots.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u64,
    permits: u64,
    low: u64,
    high: u64,
    /// Other keys' states may have been changed.
    is_of_all: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    /// The newest reading.
    newest: u64,
}

impl Ledger {
    /// Takes note of a call's readings, before what it granted. `may_heal` are those that a state may have been healed
    /// by: one taken while the state was found ahead, never the first of a call.
    pub(crate) fn read(&mut self, readings: &[u64], may_heal: &[u64]) {
        if may_heal.iter().any(|reading| *reading < self.newest.saturating_sub(SLACK)) {
            // A reader far behind: at most one more capacity, which is that of the bound from here on.
            *self = Self::default();
        }
        self.newest = readings.iter().copied().fold(self.newest, u64::max);
    }

    /// Takes note of what a call granted, and asserts that this is within the bound over any span up to here.
    pub(crate) fn enter(&mut self, rule: Rule, key: u64, permits: u64, readings: &[u64], has_recycled: bool) {
        if permits == 0 && !has_recycled {
            return;
        }
        let low = readings.iter().copied().min().unwrap_or(0);
        let high = readings.iter().copied().max().unwrap_or(0);
        self.entries.push(Entry { key, permits, low, high, is_of_all: has_recycled });
        let mut span = (u64::MAX, 0);
        let mut granted = 0;
        for entry in self.entries.iter().rev().filter(|entry| entry.key == key || entry.is_of_all) {
            span = (span.0.min(entry.low), span.1.max(entry.high));
            if entry.key == key {
                granted += u128::from(entry.permits);
                let most = bound(rule, span.0, span.1);
                assert!(granted <= most, "{granted} of {most} permits of key {key} over {span:?}");
            }
        }
    }
}
