//! What the benchmarks share.
//!
//! Calls are measured in batches of a fixed number, so that a slow case is not given fewer and colder calls than a
//! quick one. Every verdict of every batch is checked: a benchmark of grants in which one call is refused measures
//! something else, and panics.

#![expect(clippy::cast_precision_loss, reason = "numbers of calls are far below 2^53")]

use std::any::type_name;
use std::fmt;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId};
use tollgate::{Decision, Instant};

pub(crate) type Group<'c> = BenchmarkGroup<'c, WallTime>;

/// What all calls of a benchmark are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Granted,
    Refused,
}

impl Verdict {
    /// Panics unless `granted` of `calls` is all or none, as it should be.
    pub(crate) fn assert(self, calls: usize, granted: Granted) {
        let expected = if self == Self::Granted { calls } else { 0 };
        assert_eq!(granted.0, expected, "of {calls} calls that should be {self}");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Granted { "granted" } else { "refused" })
    }
}

/// Counts grants.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Granted(pub(crate) usize);

impl Extend<Decision> for Granted {
    #[inline]
    fn extend<T: IntoIterator<Item = Decision>>(&mut self, decisions: T) {
        self.0 += decisions.into_iter().map(|decision| usize::from(decision.is_allowed())).sum::<usize>();
    }
}

impl FromIterator<Decision> for Granted {
    #[inline]
    fn from_iter<T: IntoIterator<Item = Decision>>(decisions: T) -> Self {
        let mut granted = Self::default();
        granted.extend(decisions);
        granted
    }
}

/// Times 1 ns apart. With one time for all calls the compiler would convert it once, before the loop.
pub(crate) fn times_from(start: Instant) -> impl Iterator<Item = Instant> {
    (start.as_nanos()..).map(Instant::from_nanos)
}

/// The name of an algorithm or a clock in reports.
pub(crate) fn name<A>() -> &'static str {
    type_name::<A>().rsplit("::").next().unwrap_or("unnamed")
}

/// Measures batches that time themselves. Reports the time per call.
pub(crate) fn bench_timed(
    group: &mut Group<'_>,
    name: &str,
    parameter: impl fmt::Display,
    calls: usize,
    mut batch: impl FnMut() -> Duration,
) {
    group.bench_function(BenchmarkId::new(name, parameter), |bencher| {
        bencher.iter_custom(|iterations| {
            let batches = iterations.div_ceil(calls as u64);
            let elapsed: Duration = (0..batches).map(|_| batch()).sum();
            // Whole batches only: as many calls as asked for are a part of them.
            elapsed.mul_f64(iterations as f64 / (batches * calls as u64) as f64)
        });
    });
}
