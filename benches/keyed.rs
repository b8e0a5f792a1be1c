//! A limiter with a state per key, one thread, time handed in. A batch asks once for each key.

#[path = "../tests/support/each_algorithm.rs"]
mod each_algorithm;
#[path = "support/keys.rs"]
mod keys;
#[path = "support/rounds.rs"]
mod rounds;
#[path = "support/serial.rs"]
mod serial;
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate::{Algorithm, Builder, Instant, QuantaClock};

use each_algorithm::for_each_algorithm;
use keys::{filled, shuffled};
use rounds::{QUOTA, Rounds};
use serial::bench;
use support::{Granted, Group, Verdict, name, times_from};

/// After so many rounds no key has a state: a counter tells the windows of two periods.
const STALE_ROUNDS: u32 = 6;

fn granted<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>, keys: &[u64]) {
    let (table, mut rounds) = (filled(builder, keys, 1), Rounds::default());
    bench(
        group,
        name::<A>(),
        Verdict::Granted,
        keys.len(),
        || rounds.next(),
        |now| keys.iter().zip(times_from(*now)).map(|(key, now)| table.check_at(key, now, 1)).collect(),
    );
}

fn refused<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>, keys: &[u64]) {
    let table = filled(builder, keys, QUOTA.limit());
    bench(
        group,
        name::<A>(),
        Verdict::Refused,
        keys.len(),
        || Instant::ORIGIN,
        |now| keys.iter().zip(times_from(*now)).map(|(key, now)| table.check_at(key, now, 1)).collect(),
    );
}

/// `check_many` over all keys, where the misses of a few keys overlap.
fn batched<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>, keys: &[u64]) {
    let (table, mut rounds) = (filled(builder, keys, 1), Rounds::default());
    let name = format!("{} check_many", name::<A>());
    bench(
        group,
        &name,
        Verdict::Granted,
        keys.len(),
        || rounds.next(),
        |now| {
            let mut granted = Granted::default();
            table.check_many_at(keys, *now, &mut granted);
            granted
        },
    );
}

/// New keys, to a table that is full of stale ones.
fn inserted<A: Algorithm>(builder: &Builder<A>, group: &mut Group<'_>, keys: &[u64]) {
    let table = filled(builder, keys, 1);
    let (mut rounds, mut generation) = (Rounds::default(), 0);
    let next = || {
        generation += keys.len() as u64;
        (generation, rounds.advance(STALE_ROUNDS))
    };
    let name = format!("{} new", name::<A>());
    bench(group, &name, Verdict::Granted, keys.len(), next, |(generation, now)| {
        keys.iter()
            .zip(times_from(*now))
            .map(|(key, now)| table.check_at(&(key + generation), now, 1))
            .collect()
    });
}

fn keyed(criterion: &mut Criterion) {
    for (count, name) in [(1_000, "1 k keys, time handed in"), (1_000_000, "1 M keys, time handed in")] {
        let keys = shuffled(count);
        let mut group = criterion.benchmark_group(name);
        // A batch over a million keys takes long enough for few samples.
        group.sample_size(20);
        for_each_algorithm!(QUOTA, QuantaClock::new(), granted(&mut group, &keys));
        for_each_algorithm!(QUOTA, QuantaClock::new(), refused(&mut group, &keys));
        for_each_algorithm!(QUOTA, QuantaClock::new(), batched(&mut group, &keys));
        for_each_algorithm!(QUOTA, QuantaClock::new(), inserted(&mut group, &keys));
        group.finish();
    }
}

criterion_group!(benches, keyed);
criterion_main!(benches);
