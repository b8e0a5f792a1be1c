//! Limiters that are saved, stopped and restored.

mod continued;
mod damage;
mod files;
mod loaded;

use core::time::Duration;

use tollgate::{AnyAlgorithm, Instant, Keyed, KeyedBuilder, ManualClock, RandomSipHash, Savable};

#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/pace.rs"]
mod pace;
#[path = "../support/race.rs"]
#[expect(dead_code, reason = "nothing is hammered here")]
mod race;
#[path = "../support/stream.rs"]
#[expect(dead_code, reason = "`race` names it")]
mod stream;

const SECOND: u64 = 1_000_000_000;

fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// A clock whose origin is `origin` ns after the Unix epoch, and that reads `now`.
fn clock(origin: u64, now: u64) -> ManualClock {
    let clock = ManualClock::starting_at(nanos(origin));
    clock.set(Instant::from_nanos(now));
    clock
}

/// Whose keys lie in the same places each time.
fn builder(algorithm: AnyAlgorithm, clock: &ManualClock) -> KeyedBuilder<AnyAlgorithm, u64, ManualClock> {
    algorithm.clock(clock.clone()).keyed(100).with_hasher(RandomSipHash::with_key([3, 7]))
}

fn saved<A: Savable>(limiter: &Keyed<A, u64, ManualClock>) -> Vec<u8> {
    let mut file = Vec::new();
    let _ = limiter.snapshot(&mut file).expect("a vector takes everything");
    file
}
