//! Up to its declared number of live keys a table turns nobody away: filled at once, and churned for long.
//!
//! Each table has a hasher's key of its own, the same in every run.

use std::time::Duration;

use tollgate::{Instant, Keyed, QuantaClock, Quota, RandomSipHash, TokenBucket};

type Table = Keyed<TokenBucket, u64, QuantaClock, RandomSipHash>;

/// From one new key to the next, in ns.
const STEP_NANOS: u64 = 1000;

/// A table whose keys, each charged once and one a step, live so long that with each new one `keys` are live.
fn table(keys: usize, seed: u64) -> Table {
    // Stale is what was full before; a step after `keys` more steps, less 1 ns.
    let life = Duration::from_nanos(keys as u64 * STEP_NANOS - 1);
    let hasher = RandomSipHash::with_key([keys as u64, seed]);
    TokenBucket::new(Quota::new(1, life))
        .keyed(keys)
        .with_hasher(hasher)
        .build()
        .expect("the configuration is legal")
}

/// When key `key` comes.
fn coming(key: usize) -> Instant {
    Instant::from_nanos(key as u64 * STEP_NANOS)
}

/// As many keys as declared at one instant.
fn fill(keys: usize, seed: u64) {
    let table = table(keys, seed);
    for key in 0..keys as u64 {
        assert!(table.check_at(&key, Instant::ORIGIN, 1).is_allowed(), "key {key} of {keys}, seed {seed}");
    }
    let stats = table.stats();
    assert_eq!((stats.inserted, stats.occupied()), (keys as u64, keys as u64), "seed {seed}");
    assert_eq!((stats.recycled, stats.overflowed, stats.contended), (0, 0, 0), "{keys} keys, seed {seed}");
    assert_eq!(table.live(Instant::ORIGIN), keys, "seed {seed}");
}

/// New keys all the time, of which as many as declared are live.
fn churn(keys: usize, seed: u64, lives: usize) {
    let table = table(keys, seed);
    let total = keys * lives;
    for key in 0..total {
        let decision = table.check_at(&(key as u64), coming(key), 1);
        assert!(decision.is_allowed(), "key {key} at {keys} live ones, seed {seed}: {decision:?}");
    }
    let stats = table.stats();
    assert_eq!((stats.inserted, stats.overflowed), (total as u64, 0), "{keys} keys, seed {seed}");
    assert_eq!(stats.recycled, stats.inserted - stats.occupied());
    assert!(stats.occupied() >= keys as u64, "{stats:?}");
    let last = coming(total - 1);
    assert_eq!(table.live(last), keys, "seed {seed}");
    assert_eq!(table.live(last + Duration::from_nanos(keys as u64 * STEP_NANOS)), 0, "seed {seed}");
}

#[test]
fn a_million_keys_fill_a_table_for_a_million() {
    fill(1_000_000, 0);
}

#[test]
fn a_table_for_a_hundred_thousand_holds_them_through_ten_generations() {
    churn(100_000, 0, 10);
}

#[test]
fn small_tables_hold_what_they_declare() {
    for keys in 1..=2000 {
        // The smaller the more often.
        for seed in 0..(400 / keys as u64).max(1) {
            fill(keys, seed);
        }
    }
}

#[test]
fn small_tables_hold_what_they_declare_through_ten_generations() {
    for keys in (1..100).chain((100..=2000).step_by(20)) {
        churn(keys, 0, 10);
    }
}
