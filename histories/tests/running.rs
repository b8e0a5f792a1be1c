//! Histories of the system's threads, which run freely on its clock.
//!
//! They meet before each history, so that their calls overlap, and some wait a little between reading the clock and
//! going on. What they find depends on the machine; `TOLLGATE_HISTORIES` sets the number of histories of each test.

#![cfg(not(shuttle))]

mod settings;

use std::cell::{Cell, RefCell};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use histories::checker::{assert_windows, explain};
use histories::plan::{Face, Plan};
use histories::record::{Call, Subject, Witness, record};
use oracle::limiters::Visit;
use settings::{Tally, histories, seed};
use tollgate::{Algorithm, Clock, Instant, Keyed, Limiter, RandomSipHash, StdClock};

/// Plans that are prepared together, and gone through by threads that are started once.
const AT_ONCE: usize = 500;
const THREADS: usize = 4;

thread_local! {
    static READINGS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's clock, from which now and then a thread comes back late.
#[derive(Debug, Clone)]
struct LateClock(StdClock);

impl Clock for LateClock {
    fn now(&self) -> Instant {
        let reading = self.0.now();
        READINGS.with_borrow_mut(|readings| readings.push(reading.as_nanos()));
        let calls = CALLS.get();
        CALLS.set(calls.wrapping_add(1));
        match calls % 32 {
            5 | 18 => (0..200).for_each(|_| spin_loop()),
            11 => thread::yield_now(),
            _ => {}
        }
        reading
    }
}

impl Witness for LateClock {
    fn instant(&self) -> u64 {
        self.0.now().as_nanos()
    }

    fn readings(&self) -> Vec<u64> {
        READINGS.take()
    }
}

/// A limiter, and what becomes of it.
struct Trial {
    plan: Plan,
    clock: LateClock,
    subject: Box<dyn Subject + Send>,
    arrived: AtomicUsize,
}

struct Prepare<'p>(&'p Plan);

impl Visit<LateClock> for Prepare<'_> {
    type Output = Box<dyn Subject + Send>;

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, LateClock>,
        keyed: Keyed<A, u64, LateClock>,
    ) -> Self::Output {
        match self.0.face {
            Face::Direct => Box::new(direct),
            Face::Keyed { fillers, .. } => {
                for filler in 0..fillers {
                    let _ = keyed.check_at(&!filler, Instant::ORIGIN, 1);
                }
                Box::new(keyed)
            }
        }
    }
}

impl Trial {
    fn new(plan: Plan) -> Self {
        let clock = LateClock(StdClock::new());
        let (keys, hasher) = match plan.face {
            Face::Direct => (1, [0, 0]),
            Face::Keyed { declared, hasher, .. } => (declared, hasher),
        };
        let hasher = RandomSipHash::with_key(hasher);
        let subject = plan.rule.build_on(clock.clone(), keys, hasher, Prepare(&plan));
        READINGS.take();
        Self {
            clock,
            subject: subject.expect("a rule that can be built"),
            plan,
            arrived: AtomicUsize::new(0),
        }
    }

    /// One thread's part, begun when all are there.
    fn run(&self, thread: usize) -> Vec<Call> {
        let Some(requests) = self.plan.threads.get(thread) else { return Vec::new() };
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0;
        while self.arrived.load(Ordering::Acquire) < self.plan.threads.len() {
            spins += 1;
            if spins % 64 == 0 { thread::yield_now() } else { spin_loop() }
        }
        record(thread, requests, &*self.subject, &self.clock)
    }
}

fn run(algorithm: usize, is_keyed: bool) {
    let (count, tally) = (histories(), Tally::default());
    for first in (0..count).step_by(AT_ONCE) {
        let trial = |number| Trial::new(Plan::new(seed() << 32 | number as u64, algorithm, is_keyed));
        let trials: Vec<_> = (first..count.min(first + AT_ONCE)).map(trial).collect();
        let trials = &trials;
        let calls: Vec<Vec<Vec<Call>>> = thread::scope(|scope| {
            let part = |thread| scope.spawn(move || trials.iter().map(|trial| trial.run(thread)).collect());
            let threads: Vec<_> = (0..THREADS).map(part).collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        for (number, trial) in trials.iter().enumerate() {
            let calls: Vec<_> = calls.iter().flat_map(|thread| thread[number].iter().cloned()).collect();
            if let Err(unexplained) = explain(&trial.plan, trial.subject.horizon(), &calls) {
                panic!("{unexplained}");
            }
            assert_windows(&trial.plan, &calls);
            tally.count(&calls);
        }
    }
    tally.report();
}

#[test]
fn direct_token_bucket_is_linearizable() {
    run(0, false);
}

#[test]
fn direct_fixed_window_is_linearizable() {
    run(1, false);
}

#[test]
fn direct_sliding_counter_is_linearizable() {
    run(2, false);
}

#[test]
fn direct_sliding_log_is_linearizable() {
    run(3, false);
}

#[test]
fn keyed_token_bucket_is_linearizable() {
    run(0, true);
}

#[test]
fn keyed_fixed_window_is_linearizable() {
    run(1, true);
}

#[test]
fn keyed_sliding_counter_is_linearizable() {
    run(2, true);
}

#[test]
fn keyed_sliding_log_is_linearizable() {
    run(3, true);
}
