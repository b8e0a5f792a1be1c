//! What every model needs.

use core::any::type_name;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant as Stopwatch;

use loom::thread::{self, JoinHandle};
use tollgate::Instant;

/// loom gives up on an execution that takes more steps than this: a loop that does not end.
const STEPS_MAX: usize = 5_000;

/// Explores `run` through every schedule with at most `preemptions` preemptions, and prints what that took.
///
/// Call it from the test itself, with a closure written there: the model's name is that of the closure's function.
/// `LOOM_MORE_PREEMPTIONS` is added to the bound, to look deeper.
///
/// # Panics
///
/// If an execution does, if it does not end, or if a thread of it is left over.
#[expect(clippy::print_stdout, reason = "ci/loom.sh reads the line")]
pub fn model<F: Fn() + Send + Sync + 'static>(preemptions: usize, run: F) {
    let name = type_name::<F>().trim_end_matches("::{{closure}}");
    let more = env::var("LOOM_MORE_PREEMPTIONS");
    let preemptions = preemptions + more.map_or(0, |more| more.parse().expect("a number of preemptions"));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = STEPS_MAX;
    // Not one of loom's atomics: it counts across executions.
    let executions = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&executions);
    let watch = Stopwatch::now();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        run();
    });
    let (executions, seconds) = (executions.load(Ordering::Relaxed), watch.elapsed().as_secs_f64());
    println!("model {name}: {executions} executions, bound {preemptions}, {seconds:.1} s");
}

/// A thread of the model that uses `shared`.
pub fn spawn<S, T, F>(shared: &Arc<S>, run: F) -> JoinHandle<T>
where
    S: Send + Sync + 'static,
    T: 'static,
    F: FnOnce(&S) -> T + 'static,
{
    let shared = Arc::clone(shared);
    thread::spawn(move || run(&shared))
}

/// The instant `nanos` ns after the clock's origin.
pub const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}
