//! Fills keyed limiters with a million keys and tells what they cost in memory.
//!
//! ```text
//! cargo run --release --example memory
//! ```
//!
//! Resident memory is what the operating system has given the process, and virtual memory what the process has asked
//! for. Both are measured before a limiter is built and after it is full, and include the unused slots.
//!
//! Where the system does not tell what a process uses, this says so and fails.

use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use memory_stats::{MemoryStats, memory_stats};
use tollgate::{
    Algorithm, Builder, Clock, FixedWindow, Keyed, ManualClock, Quota, SlidingCounter, SlidingLog,
    TokenBucket,
};

const KEYS: usize = 1_000_000;
const PERIOD: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let clock = ManualClock::new();
    let quota = Quota::new(10, PERIOD);
    writeln!(io::stdout(), "{KEYS} live keys, bytes per key:          resident   virtual   declared")?;
    // All are kept: memory that one gives back the next would be given again, unseen.
    let _bucket = measure("token bucket", TokenBucket::new(quota).clock(clock.clone()))?;
    let _window = measure("fixed window", FixedWindow::new(quota).clock(clock.clone()))?;
    let _counter = measure("sliding counter", SlidingCounter::new(quota).clock(clock.clone()))?;
    let _log = measure("sliding log, limit 10", SlidingLog::new(quota).clock(clock.clone()))?;
    let quota = Quota::new(100, PERIOD);
    let _log = measure("sliding log, limit 100", SlidingLog::new(quota).clock(clock))?;
    Ok(())
}

/// Builds a keyed limiter, fills it, and prints what that took.
fn measure<A: Algorithm>(
    name: &str,
    builder: Builder<A, ManualClock>,
) -> Result<Keyed<A, u64, ManualClock>, Box<dyn Error>> {
    let before = memory()?;
    let limiter = builder.keyed(KEYS).build()?;
    check_all(name, &limiter);
    // In the next window too: only then the counter uses its word for the previous one.
    limiter.clock().advance(PERIOD);
    check_all(name, &limiter);
    let after = memory()?;

    assert_eq!(limiter.stats().overflowed, 0, "{name}: a key found no slot");
    assert_eq!(limiter.live(limiter.clock().now()), KEYS, "{name}: a key has no state of its own");
    let resident = per_key(after.physical_mem.saturating_sub(before.physical_mem) as u128);
    let virtual_size = per_key(after.virtual_mem.saturating_sub(before.virtual_mem) as u128);
    let declared = per_key(limiter.memory_bytes());
    writeln!(io::stdout(), "{name:<37} {resident:>11} {virtual_size:>9} {declared:>10}")?;
    Ok(limiter)
}

fn check_all<A: Algorithm>(name: &str, limiter: &Keyed<A, u64, ManualClock>) {
    for key in 0..KEYS as u64 {
        assert!(limiter.check(&key).is_allowed(), "{name}: a request of key {key} was refused");
    }
}

fn memory() -> Result<MemoryStats, &'static str> {
    memory_stats().ok_or("this system does not tell how much memory a process uses")
}

/// With one decimal.
fn per_key(bytes: u128) -> String {
    let tenths = bytes * 10 / KEYS as u128;
    format!("{}.{}", tenths / 10, tenths % 10)
}
