//! Batches of calls of one thread.

use std::time::Instant;

use crate::support::{Granted, Group, Verdict, bench_timed};

/// Measures batches of `calls` calls on whatever `prepare` makes for each, unmeasured. Reports the time per call.
pub(crate) fn bench<T>(
    group: &mut Group<'_>,
    name: &str,
    verdict: Verdict,
    calls: usize,
    mut prepare: impl FnMut() -> T,
    mut run: impl FnMut(&T) -> Granted,
) {
    bench_timed(group, name, verdict, calls, || {
        let prepared = prepare();
        let start = Instant::now();
        let granted = run(&prepared);
        let elapsed = start.elapsed();
        verdict.assert(calls, granted);
        elapsed
    });
}
