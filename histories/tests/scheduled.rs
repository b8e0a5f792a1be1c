//! Histories of shuttle's threads, which take turns at each atomic operation as a scheduler chooses: at random, or by
//! priorities that change a few times ("PCT": Burckhardt et al., *A randomized scheduler with probabilistic guarantees
//! of finding bugs*, 2010).
//!
//! `TOLLGATE_HISTORIES` sets the number of histories of each test, `TOLLGATE_SEED` the seed of all. Build with
//! `--cfg shuttle`: `ci/histories.sh` does.

#![cfg(shuttle)]

mod settings;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64 as Counter, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use histories::checker::{assert_windows, explain};
use histories::plan::{Face, Plan};
use histories::record::{Subject, Witness, record};
use oracle::limiters::Visit;
use settings::{Tally, histories, seed};
use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::{Config, MaxSteps, Runner, thread};
use tollgate::{Algorithm, Clock, Instant, Keyed, Limiter, RandomSipHash};

/// Changes of priorities in a history. A thread whose priority drops is stopped, in the middle of anything, until all
/// others are done: if these waited for it they would never be.
const CHANGES: usize = 12;
/// Far more than any history takes whose threads all get on.
const STEPS_MAX: usize = 100_000;

shuttle::thread_local! {
    static READINGS: RefCell<Vec<u64>> = RefCell::new(Vec::new());
}

/// Moved by a thread of its own, so that it may move between any two steps of the others.
#[derive(Debug, Clone, Default)]
struct MovedClock(Arc<AtomicU64>);

impl Clock for MovedClock {
    fn now(&self) -> Instant {
        let reading = self.0.load(Ordering::SeqCst);
        READINGS.with(|readings| readings.borrow_mut().push(reading));
        Instant::from_nanos(reading)
    }
}

/// Counts what happens. Not shuttle's: nobody takes a turn here.
struct Events(Counter);

impl Witness for Events {
    fn instant(&self) -> u64 {
        self.0.fetch_add(1, Relaxed)
    }

    fn readings(&self) -> Vec<u64> {
        READINGS.with(RefCell::take)
    }
}

struct CarryOut<'p> {
    plan: &'p Plan,
    tally: &'p Tally,
}

impl Visit<MovedClock> for CarryOut<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(self, direct: Limiter<A, MovedClock>, keyed: Keyed<A, u64, MovedClock>) {
        let Self { plan, tally } = self;
        let time = keyed.clock().0.clone();
        let subject: &dyn Subject = match plan.face {
            Face::Direct => &direct,
            Face::Keyed { fillers, .. } => {
                for filler in 0..fillers {
                    let _ = keyed.check_at(&!filler, Instant::ORIGIN, 1);
                }
                &keyed
            }
        };
        let calls = Mutex::new(Vec::new());
        let events = Events(Counter::new(0));
        let (recorded, witness) = (&calls, &events);
        thread::scope(|scope| {
            for (number, requests) in plan.threads.iter().enumerate() {
                scope.spawn(move || {
                    let calls = record(number, requests, subject, witness);
                    recorded.lock().expect("no thread panics").extend(calls);
                });
            }
            scope.spawn(|| {
                for tick in &plan.ticks {
                    time.fetch_add(*tick, Ordering::SeqCst);
                }
            });
        });
        let calls = calls.into_inner().expect("no thread panics");
        if let Err(unexplained) = explain(plan, subject.horizon(), &calls) {
            panic!("{unexplained}");
        }
        assert_windows(plan, &calls);
        tally.count(&calls);
    }
}

fn explore(scheduler: impl Scheduler + 'static, algorithm: usize, is_keyed: bool, tally: Arc<Tally>) {
    let mut config = Config::new();
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    Runner::new(scheduler, config).run(move || {
        let plan = Plan::new(shuttle::rand::thread_rng().r#gen(), algorithm, is_keyed);
        let (keys, hasher) = match plan.face {
            Face::Direct => (1, [0, 0]),
            Face::Keyed { declared, hasher, .. } => (declared, hasher),
        };
        let hasher = RandomSipHash::with_key(hasher);
        let built =
            plan.rule.build_on(MovedClock::default(), keys, hasher, CarryOut { plan: &plan, tally: &tally });
        built.expect("a rule that can be built");
    });
}

/// By each scheduler one half.
fn explore_both(algorithm: usize, is_keyed: bool) {
    let (half, tally) = (histories() / 2, Arc::<Tally>::default());
    explore(RandomScheduler::new_from_seed(seed(), half), algorithm, is_keyed, Arc::clone(&tally));
    explore(PctScheduler::new_from_seed(seed(), CHANGES, half), algorithm, is_keyed, Arc::clone(&tally));
    tally.report();
}

#[test]
fn direct_token_bucket_is_linearizable() {
    explore_both(0, false);
}

#[test]
fn direct_fixed_window_is_linearizable() {
    explore_both(1, false);
}

#[test]
fn direct_sliding_counter_is_linearizable() {
    explore_both(2, false);
}

#[test]
fn direct_sliding_log_is_linearizable() {
    explore_both(3, false);
}

#[test]
fn keyed_token_bucket_is_linearizable() {
    explore_both(0, true);
}

#[test]
fn keyed_fixed_window_is_linearizable() {
    explore_both(1, true);
}

#[test]
fn keyed_sliding_counter_is_linearizable() {
    explore_both(2, true);
}

#[test]
fn keyed_sliding_log_is_linearizable() {
    explore_both(3, true);
}
