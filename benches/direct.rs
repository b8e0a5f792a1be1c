//! A limiter for one stream, one thread, time handed in.

#[path = "../tests/support/each_algorithm.rs"]
mod each_algorithm;
#[path = "support/serial.rs"]
mod serial;
mod support;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate::{Algorithm, Builder, Instant, QuantaClock, Quota};

use each_algorithm::for_each_algorithm;
use serial::bench;
use support::{Group, Verdict, name, times_from};

const CALLS: usize = 4096;
const GRANTING: Quota = Quota::new(100, Duration::from_micros(100));
/// Between two calls, for half as many as the quota grants.
const STEP_NANOS: u64 = 2000;
/// Nothing comes back within a batch.
const REFUSING: Quota = Quota::per_hour(100);

fn granted<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>) {
    let limiter = builder.clone().build().expect("the configuration is legal");
    let mut batches = 0..;
    let first = || batches.next().expect("batches do not end") * CALLS as u64;
    bench(group, name::<A>(), Verdict::Granted, CALLS, first, |first| {
        let times = (*first..).take(CALLS).map(|call| Instant::from_nanos(call * STEP_NANOS));
        times.map(|now| limiter.check_at(now, 1)).collect()
    });
}

fn refused<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>) {
    let limiter = builder.clone().build().expect("the configuration is legal");
    assert!(limiter.check_at(Instant::ORIGIN, REFUSING.limit()).is_allowed());
    let start = || Instant::ORIGIN;
    bench(group, name::<A>(), Verdict::Refused, CALLS, start, |start| {
        times_from(*start).take(CALLS).map(|now| limiter.check_at(now, 1)).collect()
    });
}

fn direct(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("direct, time handed in");
    for_each_algorithm!(GRANTING, QuantaClock::new(), granted(&mut group));
    for_each_algorithm!(REFUSING, QuantaClock::new(), refused(&mut group));
    group.finish();
}

criterion_group!(benches, direct);
criterion_main!(benches);
