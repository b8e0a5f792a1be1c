//! How much is explored.

use std::env;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use histories::record::{Call, overlap};

/// Histories of each test.
pub(crate) fn histories() -> usize {
    number("TOLLGATE_HISTORIES")
        .map_or(18_000, |number| usize::try_from(number).expect("a number of histories"))
}

pub(crate) fn seed() -> u64 {
    number("TOLLGATE_SEED").unwrap_or(1)
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Histories that were explained.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    histories: AtomicUsize,
    overlapping: AtomicUsize,
}

impl Tally {
    pub(crate) fn count(&self, calls: &[Call]) {
        self.histories.fetch_add(1, Relaxed);
        self.overlapping.fetch_add(usize::from(overlap(calls)), Relaxed);
    }

    /// One line, for whoever adds them up. Calls that never overlapped have shown nothing.
    pub(crate) fn report(&self) {
        let (histories, overlapping) = (self.histories.load(Relaxed), self.overlapping.load(Relaxed));
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("");
        let _ = writeln!(std::io::stderr(), "histories of {name}: {histories}, overlapping: {overlapping}");
        assert!(overlapping > 0, "the threads ran one after the other");
    }
}
