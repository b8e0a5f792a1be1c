//! Threads that ask at the same time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{
    Clock, FixedWindow, Instant, Keyed, Limiter, ManualClock, Quota, SlidingCounter, SlidingLog, StdClock,
    TokenBucket,
};

use crate::NANOS_PER_MS;
use crate::race::{hammer, race};
use crate::stream::{Stream, on_each_algorithm, on_each_face};
use oracle::grants::{self, Grant, assert_bounded};

#[test]
fn permits_granted_to_threads_on_the_real_clock_are_those_that_came_back() {
    const CAPACITY: u64 = 1000;
    let bucket = || TokenBucket::new(Quota::per_second(CAPACITY)).clock(StdClock::new());
    on_each_face(bucket, |stream| {
        let drained = stream.clock.now().as_nanos();
        assert!(stream.check_at(drained, CAPACITY).is_allowed());
        let mut grants = hammer(4, stream, 900 * NANOS_PER_MS, |_| 1);
        let end = stream.clock.now().as_nanos();
        while stream.check_at(end, 1).is_allowed() {
            grants.push(Grant { from: end, to: end, permits: 1 });
        }

        let refilled = (end - drained) / NANOS_PER_MS;
        let granted = grants.len() as u64;
        assert!(granted <= refilled, "{granted} of {refilled}");
        // Fewer only if the machine stood still for so long that the bucket was full again.
        assert!(granted >= refilled.min(CAPACITY), "{granted} of {refilled}");
        grants.push(Grant { from: drained, to: drained, permits: CAPACITY });
        assert_bounded(&mut grants, grants::bucket(CAPACITY, NANOS_PER_MS));
    });
}

/// The word after the grant can be the word before it, when as much has come back as is taken.
#[test]
fn permit_that_has_just_come_back_is_granted_to_one_of_eight_threads() {
    on_each_algorithm(Quota::per_second(1), ManualClock::new, |stream| {
        let mut now = 0;
        assert!(stream.check_at(now, 1).is_allowed());
        for round in 0..100 {
            now += stream.check_at(now, 1).retry_after_nanos().expect("it is spent");
            let granted = race(8, |_| stream.check_at(now, 1).is_allowed());
            assert_eq!(granted.into_iter().filter(|granted| *granted).count(), 1, "round {round}");
        }
    });
}

#[test]
fn window_asked_for_more_than_it_has_by_threads_grants_exactly_its_limit() {
    const BATCH: usize = 100;
    let window = FixedWindow::new(Quota::new(100, Duration::from_secs(600)));
    let build = || window.clone().clock(ManualClock::new()).build().expect("a limiter");
    let keyed: Keyed<_, usize, _> =
        window.clone().clock(ManualClock::new()).keyed(BATCH * BATCH).build().expect("a limiter");
    for batch in 0..BATCH {
        let limiters: [Limiter<_, _>; BATCH] = std::array::from_fn(|_| build());
        assert_eq!(granted_to_four(&limiters, |limiter| limiter.check().is_allowed()), [100; BATCH]);
        let keys: [usize; BATCH] = std::array::from_fn(|place| batch * BATCH + place);
        assert_eq!(granted_to_four(&keys, |key| keyed.check(key).is_allowed()), [100; BATCH]);
    }
}

/// Four threads each ask 26 times for each of the items, all in the same order.
fn granted_to_four<T: Sync, const N: usize>(items: &[T; N], ask: impl Fn(&T) -> bool + Sync) -> [usize; N] {
    let granted = race(4, |_| items.each_ref().map(|item| (0..26).filter(|_| ask(item)).count()));
    std::array::from_fn(|item| granted.iter().map(|thread| thread[item]).sum())
}

#[test]
fn windows_of_a_ms_and_less_keep_their_bounds_from_construction_on() {
    for period in [NANOS_PER_MS, NANOS_PER_MS / 2] {
        let quota = Quota::new(5, Duration::from_nanos(period));
        let run = |stream: &Stream<'_, StdClock>| {
            let grants = hammer(4, stream, 40 * NANOS_PER_MS, |_| 1);
            assert!(!grants.is_empty());
            grants
        };
        let bucket = || TokenBucket::new(quota).clock(StdClock::new());
        on_each_face(bucket, |stream| {
            assert_bounded(&mut run(stream), grants::bucket(5, period / 5));
        });
        let window = || FixedWindow::new(quota).clock(StdClock::new());
        on_each_face(window, |stream| assert_bounded(&mut run(stream), grants::windows(5, period)));
        let counter = || SlidingCounter::new(quota).clock(StdClock::new());
        on_each_face(counter, |stream| assert_bounded(&mut run(stream), grants::windows(5, period)));
        let log = || SlidingLog::new(quota).clock(StdClock::new());
        on_each_face(log, |stream| assert_bounded(&mut run(stream), grants::log(5, period)));
    }
}

#[test]
fn key_that_four_threads_insert_into_an_empty_table_always_finds_a_slot() {
    // Tables of four slots; the threads go through them together.
    const BATCH: usize = 100;
    for _ in 0..100 {
        let tables: Vec<Keyed<_, str, _>> = (0..BATCH)
            .map(|_| TokenBucket::new(Quota::per_hour(3)).clock(ManualClock::new()).keyed(1).build())
            .collect::<Result<_, _>>()
            .expect("limiters");
        let (granted, overflowed) = (AtomicU64::new(0), AtomicU64::new(0));
        race(4, |_| {
            for table in &tables {
                let decision = table.check_at("key", Instant::ORIGIN, 1);
                granted.fetch_add(u64::from(decision.is_allowed()), Ordering::Relaxed);
                overflowed.fetch_add(u64::from(decision.overflowed()), Ordering::Relaxed);
            }
        });
        assert_eq!(overflowed.into_inner(), 0);
        assert_eq!(granted.into_inner(), 3 * BATCH as u64);
        assert!(tables.iter().all(|table| table.stats().inserted == 1));
    }
}
