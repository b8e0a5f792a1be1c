//! Threads that ask at the same time.

use crossbeam::sync::WaitGroup;
use crossbeam::thread;
use tollgate::{Clock, StdClock};

use crate::stream::Stream;
use oracle::grants::Grant;

/// Runs the same in several threads, numbered from 0, that start together; returns what each returned.
pub(crate) fn race<T: Send>(threads: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = WaitGroup::new();
    let run = &run;
    thread::scope(|scope| {
        let spawn = |thread| {
            let start = start.clone();
            scope.spawn(move |_| {
                start.wait();
                run(thread)
            })
        };
        let threads: Vec<_> = (0..threads).map(spawn).collect();
        drop(start);
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    })
    .expect("no thread panics")
}

/// Threads that each ask for `cost(thread)` permits at a time, over and over, for `span` ns of the real clock.
pub(crate) fn hammer(
    threads: usize,
    stream: &Stream<'_, StdClock>,
    span: u64,
    cost: impl Fn(usize) -> u64 + Sync,
) -> Vec<Grant> {
    hammer_by(|| stream.clock.now().as_nanos(), threads, stream, span, cost)
}

/// The same for `span` ns by `now`, which dates the grants whatever the stream's clock reads.
///
/// `cost` is called once by each thread, before it asks.
pub(crate) fn hammer_by<C: Clock>(
    now: impl Fn() -> u64 + Sync,
    threads: usize,
    stream: &Stream<'_, C>,
    span: u64,
    cost: impl Fn(usize) -> u64 + Sync,
) -> Vec<Grant> {
    let grants = race(threads, |thread| {
        let permits = cost(thread);
        let mut grants = Vec::new();
        let mut from = now();
        let end = from + span;
        loop {
            let is_allowed = stream.check(permits).is_allowed();
            let to = now();
            if is_allowed {
                grants.push(Grant { from, to, permits });
            }
            if to >= end {
                return grants;
            }
            from = to;
        }
    });
    grants.concat()
}
