//! Faults that other limiters have had, each with the answers that are right. The names say what must hold.

mod bucket;
mod extremes;
mod healing;
mod keyed;
mod late_readings;
mod races;
mod requests;
mod windows;

#[path = "../support/race.rs"]
mod race;
#[path = "../support/scripted_clock.rs"]
mod scripted_clock;
#[path = "../support/stream.rs"]
mod stream;

const NANOS_PER_MS: u64 = 1_000_000;
const NANOS_PER_S: u64 = 1_000_000_000;
