//! What reading the clock adds to a decision: the token bucket with each clock, and with the time handed in.

#[path = "support/keys.rs"]
mod keys;
#[path = "support/serial.rs"]
mod serial;
mod support;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate::{Clock, CoarseClock, Instant, Limiter, QuantaClock, Quota, StdClock, TokenBucket};

use keys::{filled, shuffled};
use serial::bench;
use support::{Granted, Group, Verdict, name, times_from};

const CALLS: usize = 4096;
const KEYS: usize = 1_000_000;
/// As much as any benchmark asks of one state, and nothing worth mentioning comes back meanwhile.
const QUOTA: Quota = Quota::new(1_000_000, Duration::from_secs(365 * 24 * 3600));

fn readings(criterion: &mut Criterion, coarse: &CoarseClock) {
    fn reading<C: Clock>(group: &mut Group<'_>, clock: &C) {
        group.bench_function(name::<C>(), |bencher| bencher.iter(|| clock.now()));
    }
    let mut group = criterion.benchmark_group("clock reading");
    reading(&mut group, &QuantaClock::new());
    reading(&mut group, &StdClock::new());
    reading(&mut group, coarse);
    group.finish();
}

fn direct(criterion: &mut Criterion, coarse: &CoarseClock) {
    fn decisions<C: Clock>(group: &mut Group<'_>, clock: &C) {
        let fresh =
            || TokenBucket::new(QUOTA).clock(clock.clone()).build().expect("the configuration is legal");
        ask(group, name::<C>(), fresh, |limiter| (0..CALLS).map(|_| limiter.check()).collect());
    }
    let mut group = criterion.benchmark_group("direct token bucket");
    let fresh = || TokenBucket::new(QUOTA).build().expect("the configuration is legal");
    ask(&mut group, "time handed in", fresh, |limiter| {
        times_from(Instant::ORIGIN).take(CALLS).map(|now| limiter.check_at(now, 1)).collect()
    });
    decisions(&mut group, &QuantaClock::new());
    decisions(&mut group, &StdClock::new());
    decisions(&mut group, coarse);
    group.finish();
}

/// Measures a batch of calls to a full bucket, and one to an empty bucket.
fn ask<C: Clock>(
    group: &mut Group<'_>,
    name: &str,
    fresh: impl Fn() -> Limiter<TokenBucket, C>,
    run: impl Fn(&Limiter<TokenBucket, C>) -> Granted,
) {
    bench(group, name, Verdict::Granted, CALLS, &fresh, &run);
    let drained = || {
        let limiter = fresh();
        assert!(limiter.check_n(QUOTA.limit()).is_allowed());
        limiter
    };
    bench(group, name, Verdict::Refused, CALLS, drained, &run);
}

/// The reading of a processor's counter waits for the loads before it, so that cache misses of successive calls do
/// not overlap.
fn keyed(criterion: &mut Criterion) {
    let keys = shuffled(KEYS);
    let table = filled(&TokenBucket::new(QUOTA).clock(QuantaClock::new()), &keys, 1);
    let mut group = criterion.benchmark_group("token bucket, 1 M keys");
    group.sample_size(20);
    bench(
        &mut group,
        "time handed in",
        Verdict::Granted,
        KEYS,
        || (),
        |()| {
            keys.iter()
                .zip(times_from(Instant::ORIGIN))
                .map(|(key, now)| table.check_at(key, now, 1))
                .collect()
        },
    );
    bench(
        &mut group,
        "QuantaClock",
        Verdict::Granted,
        KEYS,
        || (),
        |()| keys.iter().map(|key| table.check(key)).collect(),
    );
    bench(
        &mut group,
        "QuantaClock, check_many",
        Verdict::Granted,
        KEYS,
        || (),
        |()| {
            let mut granted = Granted::default();
            keys.chunks(16).for_each(|keys| table.check_many(keys, &mut granted));
            granted
        },
    );
    group.finish();
}

fn clock(criterion: &mut Criterion) {
    let coarse = CoarseClock::new(Duration::from_millis(1)).expect("the clock can be started");
    readings(criterion, &coarse);
    direct(criterion, &coarse);
    keyed(criterion);
}

criterion_group!(benches, clock);
criterion_main!(benches);
