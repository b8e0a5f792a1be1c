//! The verbs beside `check`: what each gives, takes and tells, one call after the other.

mod acquire;
mod partial;
mod penalty;
mod racing;
mod refund;
mod reserve;
mod reset;

#[path = "../support/scripted_clock.rs"]
mod scripted_clock;

use core::time::Duration;

use tollgate::{Instant, ManualClock, Quota, TokenBucket};

const SECOND: Duration = Duration::from_secs(1);

fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// A capacity of 5 and 1 permit per ns, which may be reserved so many ns ahead.
fn bucket_of_5(max_wait: u64) -> TokenBucket {
    TokenBucket::new(Quota::new(1, nanos(1))).burst(5).max_wait(nanos(max_wait))
}

/// A capacity of 1 and 1 permit per second, which may be reserved ten seconds ahead.
fn a_second_each() -> TokenBucket {
    TokenBucket::new(Quota::per_second(1)).max_wait(10 * SECOND)
}

fn clock_at(nanos: u64) -> ManualClock {
    let clock = ManualClock::new();
    clock.set(at(nanos));
    clock
}
