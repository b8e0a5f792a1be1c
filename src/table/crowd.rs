//! Tests with more keys than slots that all have the same three lines and the same window.

use core::time::Duration;

use super::shape::{CHOICES, Fingerprint, Probes, Shape, WAYS};
use super::{Full, Table};
use crate::algorithm::{Algorithm, All, Policy};
use crate::decision::Outcome;
use crate::reading::Readings;
use crate::{FixedWindow, Instant, ManualClock, Quota, SlidingCounter, SlidingLog, TokenBucket};

/// 20 lines: enough that three near ones and a window can lie apart, and so few that a crowd is found at once.
const KEYS: usize = 55;
/// The slots of a crowd: those of three lines and of a window of eight.
const SLOTS: usize = (3 + 8) * 4;

const LIMIT: u64 = 3;
const PERIOD: u64 = 1_000_000_007;
const QUOTA: Quota = Quota::new(LIMIT, Duration::from_nanos(PERIOD));

fn lines(probes: &Probes) -> Vec<usize> {
    probes.all_near().chain(probes.window()).collect()
}

/// More than enough to find a crowd among.
fn fingerprints() -> impl Iterator<Item = Fingerprint> {
    (1..1 << 25).map(Fingerprint::new)
}

/// Fingerprints with the same lines, which are all different; then one with none of them near.
fn crowd(count: usize) -> (Vec<Fingerprint>, Fingerprint) {
    let shape = Shape::new(KEYS).expect("a number of keys that fits");
    let lines_of = |key: &Fingerprint| lines(&shape.probes(*key));
    let is_apart = |key: &Fingerprint| {
        let mut lines = lines_of(key);
        lines.sort_unstable();
        lines.dedup();
        lines.len() * WAYS == SLOTS
    };
    let first = fingerprints().find(is_apart).expect("there are such");
    let shared = lines_of(&first);
    let probes = shape.probes(first);
    let is_alike = |key: &Fingerprint| {
        let other = shape.probes(*key);
        (0..CHOICES).all(|choice| other.near(choice) == probes.near(choice)) && lines_of(key) == shared
    };
    let crowd: Vec<_> = fingerprints().filter(is_alike).take(count).collect();
    assert_eq!(crowd.len(), count);
    let is_elsewhere = |key: &Fingerprint| shape.probes(*key).all_near().all(|line| !shared.contains(&line));
    (crowd, fingerprints().find(is_elsewhere).expect("there are such"))
}

fn ask<P: Policy>(table: &Table<P>, key: Fingerprint, now: u64, cost: u64) -> Result<Outcome, Full> {
    let mut readings = Readings::<ManualClock>::given(Instant::from_nanos(now));
    table.charge(key, &mut readings, All(cost)).map(|answer| answer.outcome)
}

/// Takes all of the limit, once.
fn assert_spends<P: Policy>(table: &Table<P>, key: Fingerprint, now: u64) {
    assert_eq!(ask(table, key, now, LIMIT).ok(), Some(Outcome::Allowed), "{key:?} at {now}");
    assert_eq!(ask(table, key, now, 1).ok(), Some(Outcome::Denied), "{key:?} at {now}");
}

/// The first time at which a state whose limit is spent at `now` is stale.
fn stale_at(now: u64, lives: u64, is_windowed: bool) -> u64 {
    if is_windowed { (now / PERIOD + lives) * PERIOD } else { now + PERIOD + lives }
}

/// A state is stale after `lives` windows, or `lives` ns after a period.
fn test<A: Algorithm>(algorithm: &A, lives: u64, is_windowed: bool) {
    let policy = algorithm.policy(&ManualClock::new()).expect("a quota that fits");
    let table = Table::new(policy, KEYS).expect("a table that fits");
    let (crowd, elsewhere) = crowd(2 * SLOTS + 1);
    let (mut holders, never) = (crowd[..SLOTS].to_vec(), crowd[2 * SLOTS]);
    for key in &holders {
        assert_spends(&table, *key, 0);
    }
    let assert_full = |now, free_at| {
        let full = ask(&table, never, now, 1).expect_err("no slot");
        assert_eq!(full.free_at, Some(free_at), "at {now}");
    };
    let assert_spent = |holders: &[Fingerprint], now| {
        let is_spent = |key: &Fingerprint| ask(&table, *key, now, 1).ok() == Some(Outcome::Denied);
        assert!(holders.iter().all(is_spent), "at {now}");
    };
    let mut now = 0;
    assert_full(now, stale_at(now, lives, is_windowed));
    assert_spent(&holders, now);
    assert_spends(&table, elsewhere, now);

    // Each slot in turn is the only one that is stale.
    for turn in 0..3 * SLOTS {
        let at = stale_at(now, lives, is_windowed);
        assert_full(at - 1, at);
        now = at;
        let leaver = turn % SLOTS;
        for (_, key) in holders.iter().enumerate().filter(|(place, _)| *place != leaver) {
            assert_spends(&table, *key, now);
        }
        assert_eq!(table.live(now), SLOTS - 1, "turn {turn}");
        holders[leaver] = crowd[(turn + SLOTS) % (2 * SLOTS)];
        assert_spends(&table, holders[leaver], now);
        assert_full(now, stale_at(now, lives, is_windowed));
        assert_spent(&holders, now);
    }
    let stats = table.stats.snapshot();
    let newcomers = 3 * SLOTS as u64;
    assert_eq!((stats.inserted, stats.recycled), (SLOTS as u64 + 1 + newcomers, newcomers));
    assert_eq!(stats.contended, 0);
}

#[test]
fn crowd_of_keys_on_the_same_lines_fills_all_of_their_slots_and_takes_each_as_it_is_stale() {
    test(&TokenBucket::new(QUOTA), 1, false);
    test(&FixedWindow::new(QUOTA), 1, true);
    test(&SlidingCounter::new(QUOTA), 2, true);
    test(&SlidingLog::new(QUOTA), 0, false);
}
