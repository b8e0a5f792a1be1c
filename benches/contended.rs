//! One, two and four threads on one key and on many, time handed in.
//!
//! What is reported is the time of a batch, from the first thread's start to the last one's end, per call of *one*
//! thread: where threads do not hinder each other it stays the same, as long as there are processors for them.

#[path = "../tests/support/each_algorithm.rs"]
mod each_algorithm;
#[path = "support/keys.rs"]
mod keys;
#[path = "support/rounds.rs"]
mod rounds;
mod support;

use std::time::{Duration, Instant as StdInstant};

use criterion::{Criterion, criterion_group, criterion_main};
use crossbeam::sync::WaitGroup;
use crossbeam::thread;
use tollgate::{Algorithm, Builder, Instant, QuantaClock, Quota};

use each_algorithm::for_each_algorithm;
use keys::{filled, shuffled};
use rounds::Rounds;
use support::{Granted, Group, Verdict, bench_timed, name, times_from};

const THREADS: [usize; 3] = [1, 2, 4];
/// Calls of one thread to the one key.
const CALLS: usize = 50_000;
const KEYS: usize = 1_000_000;
/// What all threads can ask of one key is within the limit.
const ONE_KEY: Quota = Quota::per_hour((CALLS * 4) as u64);

/// Runs `calls` calls in each of the threads, numbered from 0; the time from the first start to the last end.
fn race(threads: usize, calls: usize, verdict: Verdict, run: impl Fn(usize) -> Granted + Sync) -> Duration {
    let (ready, run) = (WaitGroup::new(), &run);
    let spans: Vec<_> = thread::scope(|scope| {
        let spawn = |thread| {
            let ready = ready.clone();
            scope.spawn(move |_| {
                ready.wait();
                let start = StdInstant::now();
                let granted = run(thread);
                let end = StdInstant::now();
                verdict.assert(calls, granted);
                (start, end)
            })
        };
        let spawned: Vec<_> = (0..threads).map(spawn).collect();
        drop(ready);
        spawned.into_iter().map(|thread| thread.join().expect("all verdicts are as expected")).collect()
    })
    .expect("every thread was joined");
    let start = spans.iter().map(|(start, _)| *start).min();
    let end = spans.iter().map(|(_, end)| *end).max();
    end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start)
}

fn one_key<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>, verdict: Verdict) {
    for threads in THREADS {
        let batch = || {
            let limiter = builder.clone().build().expect("the configuration is legal");
            if verdict == Verdict::Refused {
                assert!(limiter.check_at(Instant::ORIGIN, ONE_KEY.limit()).is_allowed());
            }
            race(threads, CALLS, verdict, |_| {
                times_from(Instant::ORIGIN).take(CALLS).map(|now| limiter.check_at(now, 1)).collect()
            })
        };
        bench_timed(group, &format!("{} {verdict}", name::<A>()), threads, CALLS, batch);
    }
}

/// Each thread asks once for each key, in the same order, but each starts elsewhere.
fn many_keys<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>, keys: &[u64], verdict: Verdict) {
    let spent = if verdict == Verdict::Refused { rounds::QUOTA.limit() } else { 1 };
    let (table, mut rounds) = (filled(builder, keys, spent), Rounds::default());
    for threads in THREADS {
        let batch = || {
            let now = if verdict == Verdict::Refused { Instant::ORIGIN } else { rounds.next() };
            race(threads, keys.len(), verdict, |thread| {
                let (before, after) = keys.split_at(keys.len() / threads * thread);
                let keys = after.iter().chain(before).zip(times_from(now));
                keys.map(|(key, now)| table.check_at(key, now, 1)).collect()
            })
        };
        bench_timed(group, &format!("{} {verdict}", name::<A>()), threads, keys.len(), batch);
    }
}

fn contended(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one key, threads");
    group.sample_size(20);
    for_each_algorithm!(ONE_KEY, QuantaClock::new(), one_key(&mut group, Verdict::Granted));
    for_each_algorithm!(ONE_KEY, QuantaClock::new(), one_key(&mut group, Verdict::Refused));
    group.finish();

    let keys = shuffled(KEYS);
    let mut group = criterion.benchmark_group("1 M keys, threads");
    group.sample_size(20);
    for_each_algorithm!(rounds::QUOTA, QuantaClock::new(), many_keys(&mut group, &keys, Verdict::Granted));
    for_each_algorithm!(rounds::QUOTA, QuantaClock::new(), many_keys(&mut group, &keys, Verdict::Refused));
    group.finish();
}

criterion_group!(benches, contended);
criterion_main!(benches);
