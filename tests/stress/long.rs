//! A run of a thousand million operations, over algorithms, faces, loads and numbers of threads.

use std::env;
use std::time::{Duration, Instant};

use oracle::grants;
use tollgate::{
    Algorithm, Builder, Clock, FixedWindow, Quota, SlidingCounter, SlidingLog, StdClock, TokenBucket,
};

use crate::race::race;
use crate::slices::Slices;
use crate::{NANOS_PER_MS, THREADS, repeat};

const PERIOD: u64 = 400_000;
/// Divides the period, so that windows start with slices.
const SLICE: u64 = PERIOD / 8;
/// How long each limiter is asked.
const SPAN: u64 = 25 * NANOS_PER_MS;
/// From almost all refused to almost all granted.
const LIMITS: [u64; 3] = [2, 60, 3000];
/// Keys that the threads ask for, and keys that the table is declared for: 44 and 8 slots.
const KEYED: [(usize, usize); 3] = [(1, 1), (32, 30), (24, 5)];

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    operations: u64,
    granted: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.granted += other.granted;
    }
}

/// Asks for one permit of each state in turn, in an order of each thread's own, and checks what was granted.
fn ask(
    threads: usize,
    states: usize,
    check: impl Fn(usize) -> bool + Sync,
    bound: impl Fn(u64, u64) -> u64,
) -> Tally {
    let clock = StdClock::new();
    let now = || clock.now().as_nanos();
    let begin = now() / SLICE * SLICE;
    let end = begin + SPAN;
    let asked = race(threads, |thread| {
        let mut slices = vec![Slices::new(begin, SLICE, SPAN); states];
        let mut operations = 0;
        let mut from = now();
        for state in (0..).map(|call| call * (2 * thread + 1) % states) {
            let is_allowed = check(state);
            let to = now();
            operations += 1;
            if is_allowed {
                slices[state].count(from, to, 1);
            }
            if to >= end {
                break;
            }
            from = to;
        }
        (operations, slices)
    });
    let mut tally = Tally { operations: asked.iter().map(|(operations, _)| operations).sum(), granted: 0 };
    for state in 0..states {
        let mut all = Slices::new(begin, SLICE, SPAN);
        for (_, slices) in &asked {
            all.merge(&slices[state]);
        }
        all.assert_bounded(&bound);
        tally.granted += all.permits();
    }
    tally
}

/// All faces of an algorithm.
fn ask_each_face<A: Algorithm>(
    threads: usize,
    builder: &Builder<A, StdClock>,
    bound: impl Fn(u64, u64) -> u64,
) -> Tally {
    let direct = builder.clone().build().expect("a limiter");
    let mut tally = ask(threads, 1, |_| direct.check().is_allowed(), &bound);
    for (keys, declared) in KEYED {
        let keyed = builder.clone().keyed::<usize>(declared).build().expect("a limiter");
        tally.add(ask(threads, keys, |key| keyed.check(&key).is_allowed(), &bound));
    }
    tally
}

fn lap(threads: usize, limit: u64) -> Tally {
    let quota = Quota::new(limit, Duration::from_nanos(PERIOD));
    let clock = StdClock::new;
    let bucket = move |from, to| limit + (to - from) * limit / PERIOD;
    let (windows, log) = (grants::windows(limit, PERIOD), grants::log(limit, PERIOD));
    let mut tally = ask_each_face(threads, &TokenBucket::new(quota).clock(clock()), bucket);
    tally.add(ask_each_face(threads, &FixedWindow::new(quota).clock(clock()), &windows));
    tally.add(ask_each_face(threads, &SlidingCounter::new(quota).clock(clock()), &windows));
    tally.add(ask_each_face(threads, &SlidingLog::new(quota).clock(clock()), log));
    tally
}

/// One of the laps, another each time.
#[test]
fn operations_counted_by_slices_keep_the_bound() {
    let mut laps = LIMITS.into_iter().flat_map(|limit| THREADS.map(|threads| (threads, limit))).cycle();
    repeat(|| {
        let (threads, limit) = laps.next().expect("a cycle");
        let Tally { operations, granted } = lap(threads, limit);
        assert!(granted > 0 && operations >= granted);
    });
}

/// `TOLLGATE_STRESS_OPERATIONS` sets another number.
#[test]
#[ignore = "takes minutes: ci/deep.sh runs it"]
#[expect(clippy::print_stdout, reason = "a record of the run")]
fn thousand_million_operations_keep_the_bound() {
    let wanted = env::var("TOLLGATE_STRESS_OPERATIONS");
    let wanted = wanted.map_or(1_000_000_000, |text| text.parse().expect("a number of operations"));
    let (begin, mut tally) = (Instant::now(), Tally::default());
    while tally.operations < wanted {
        for (threads, limit) in THREADS.into_iter().flat_map(|threads| LIMITS.map(|limit| (threads, limit))) {
            tally.add(lap(threads, limit));
        }
    }
    let Tally { operations, granted } = tally;
    println!("{operations} operations, {granted} granted, {:.0} s", begin.elapsed().as_secs_f64());
}
