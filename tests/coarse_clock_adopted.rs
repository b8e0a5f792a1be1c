//! A coarse clock over somebody else's upkeep. A binary with one test: there is one upkeep in a process.

use std::thread;
use std::time::Duration;

use quanta::{Upkeep, set_recent};
use tollgate::{Clock, CoarseClock, Instant, Quota, TokenBucket};

const STEP: Duration = Duration::from_millis(20);

fn wait_for_next(clock: &CoarseClock) -> Instant {
    let now = clock.now();
    while clock.now() == now {
        thread::sleep(Duration::from_millis(1));
    }
    clock.now()
}

#[test]
fn coarse_clock_lives_on_a_running_upkeep_and_outlives_it() {
    let source = quanta::Clock::new();
    let unset = source.recent();
    let theirs = Upkeep::new(STEP).start().expect("none is running");
    // As if their thread had not come to store the time.
    set_recent(unset);
    let clock = CoarseClock::new(CoarseClock::STEP_MAX).expect("there is an upkeep");
    assert_ne!(source.recent(), unset, "it waits for the first value");

    // In their steps, not in those asked for.
    assert!(wait_for_next(&clock) > Instant::ORIGIN);
    let limiter = TokenBucket::new(Quota::per_second(1000)).burst(1).clock(clock.clone()).build();
    let limiter = limiter.expect("a limiter");

    drop(theirs);
    let stopped = clock.now();
    assert!(limiter.check().is_allowed());
    thread::sleep(2 * STEP);
    assert_eq!(clock.now(), stopped);
    assert!(!limiter.check().is_allowed(), "no time has passed");

    let new = CoarseClock::new(STEP).expect("an upkeep can be started");
    assert!(wait_for_next(&new) > stopped, "the origin is the same");
    assert!(limiter.check().is_allowed());
}
