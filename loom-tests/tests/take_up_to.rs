//! Models of taking as many permits as there are.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::{Recorder, at, model, spawn};
use tollgate::{Algorithm, AnyAlgorithm, Clock, Limiter, Quota, SlidingCounter, TokenBucket};

const MS: u64 = 1_000_000;
const LATER: u64 = MS + MS / 2;

/// A clock that reads 0.
fn limiter<A: Algorithm>(algorithm: A) -> Arc<Limiter<A, Recorder>> {
    Arc::new(tollgate::Builder::new(algorithm, Recorder::default()).build().expect("a limiter"))
}

/// The reading and how many of two were there.
fn take_two<A: Algorithm>(limiter: &Limiter<A, Recorder>) -> (u64, u64) {
    let now = limiter.clock().now();
    (now.as_nanos(), limiter.take_up_to_at(now, 2).permits())
}

/// Three that take two each together take what was there, and nobody gets less while there is more.
///
/// Catches a charge of what was available on an older word: one gets nothing while one is left.
#[test]
fn permits_taken_by_three_at_once_are_all_that_there_were() {
    model(3, || {
        let bucket = limiter(TokenBucket::new(Quota::new(1, Duration::from_millis(1))).burst(3));
        assert!(bucket.check().is_allowed());
        let others = [(); 2].map(|()| spawn(&bucket, take_two));
        bucket.clock().set(MS);
        let own = take_two(&bucket);
        let [second, third] = others.map(|thread| thread.join().expect("what it took"));
        let all = [own, second, third];
        let taken: u64 = all.iter().map(|(_, taken)| taken).sum();
        assert_eq!(bucket.peek_at(at(MS), 0).remaining(), Some(3 - taken), "{all:?}");
        // At 0 there are two, at 1 ms three.
        let short = all.iter().filter(|(_, taken)| *taken < 2);
        let there = short.map(|(at, _)| if *at == 0 { 2 } else { 3 }).max();
        assert!(there <= Some(taken), "{all:?}");
    });
}

/// The same of a counter, across a rollover.
///
/// Catches the same.
#[test]
fn permits_taken_while_a_counter_rolls_over_are_all_that_there_were() {
    model(3, || {
        let counter = limiter(SlidingCounter::new(Quota::new(4, Duration::from_millis(1))));
        assert!(counter.check_n(3).is_allowed());
        let other = spawn(&counter, take_two);
        counter.clock().set(LATER);
        let own = take_two(&counter);
        let other = other.join().expect("what it took");
        // Half of the first window's three weigh, rounded down; or half of four, with the one that was left at 0.
        let rest = counter.take_up_to_at(at(LATER), 4).permits();
        assert_eq!(own.1 + other.1 + rest, 3, "{own:?}, {other:?}, {rest}");
        assert!(own.1 == 2 || rest == 0, "{own:?}, {other:?}, {rest}");
        assert!(other.1 == 2 || rest == 0 || other.0 == 0, "{own:?}, {other:?}, {rest}");
    });
}

/// With a reading of a window that another thread is closing, one is left of it; or two are taken from the next.
fn take_two_while_a_window_closes<A: Algorithm + 'static>(algorithm: A) {
    let counter = limiter(algorithm);
    assert!(counter.check_at(at(0), 2).is_allowed());
    assert!(counter.check_at(at(MS), 1).is_allowed());
    let roller = spawn(&counter, |counter| counter.check_at(at(2 * MS), 1).is_allowed());
    let own = counter.take_up_to_at(at(MS), 2).permits();
    assert!(roller.join().expect("an answer"));
    // At the end of the next window nothing weighs but its own.
    let left = counter.peek_at(at(3 * MS - 1), 0).remaining();
    assert!([(1, Some(3)), (2, Some(1))].contains(&(own, left)), "{own}, {left:?}");
}

/// What is taken with a reading of a window that another thread is closing is all that is left of it, or all that was
/// asked for of the next.
///
/// Catches a second look at the window before, to charge what the first has counted: one is taken from the next window,
/// where there are three.
#[test]
fn permits_taken_while_another_thread_opens_a_window_are_all_that_there_are() {
    model(3, || take_two_while_a_window_closes(SlidingCounter::new(Quota::new(4, Duration::from_millis(1)))));
}

/// The same of a counter that is chosen at run time.
///
/// Catches a choice that takes as the other algorithms do, with two looks.
#[test]
fn permits_taken_from_any_algorithm_while_another_thread_opens_a_window_are_all_that_there_are() {
    model(3, || {
        let counter = SlidingCounter::new(Quota::new(4, Duration::from_millis(1)));
        take_two_while_a_window_closes(AnyAlgorithm::from(counter));
    });
}
