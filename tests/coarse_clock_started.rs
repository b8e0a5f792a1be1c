//! A coarse clock that starts the upkeep itself. A binary with one test: there is one upkeep in a process.

use std::thread;
use std::time::Duration;

use quanta::Upkeep;
use tollgate::{Clock, CoarseClock, Instant, Quota, TokenBucket};

const STEP: Duration = Duration::from_millis(1);

#[test]
fn coarse_clock_built_by_several_threads_starts_one_upkeep_and_moves() {
    let clocks: Vec<CoarseClock> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| CoarseClock::new(STEP))).collect();
        let clocks = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
        clocks.collect::<Result<_, _>>().expect("an upkeep can be started")
    });
    assert!(Upkeep::new(STEP).start().is_err(), "it runs already");

    let (clock, last) = (&clocks[0], &clocks[3]);
    let mut now = Instant::ORIGIN;
    for _ in 0..10 {
        let before = now;
        while now == before {
            // Of one origin, so the other's reading is never the older one.
            now = clock.now();
            assert!(last.now() >= now);
        }
        assert!(now > before);
    }

    let limiter = TokenBucket::new(Quota::per_second(1000)).burst(1).clock(clock.clone()).build();
    let limiter = limiter.expect("a limiter");
    assert!(limiter.check().is_allowed());
    while !limiter.check().is_allowed() {
        thread::sleep(STEP);
    }
}
