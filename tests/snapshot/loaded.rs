//! Snapshots that are taken while other threads charge.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::{
    AnyAlgorithm, AnyKeyed, FixedWindow, ManualClock, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::pace::Pace;
use crate::race::race;
use crate::{SECOND, builder, clock, saved};

const KEYS: u64 = 40;
const LIMIT: u64 = 1000;
/// Counts that the chargers keep of each key: begun before a charge, and done after it.
struct Counts {
    begun: Vec<AtomicU64>,
    done: Vec<AtomicU64>,
}

impl Counts {
    fn new() -> Self {
        let zeros = || (0..KEYS).map(|_| AtomicU64::new(0)).collect();
        Self { begun: zeros(), done: zeros() }
    }

    fn of(counts: &[AtomicU64]) -> Vec<u64> {
        counts.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }
}

fn charge_until_spent(limiter: &AnyKeyed<u64, ManualClock>, counts: &Counts, pace: &Pace, thread: usize) {
    for round in 0..LIMIT * KEYS {
        let key = (round + thread as u64 * 13) % KEYS;
        pace.call();
        let at = usize::try_from(key).expect("a small number");
        counts.begun[at].fetch_add(1, Ordering::SeqCst);
        if !limiter.check(&key).is_allowed() {
            counts.begun[at].fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        counts.done[at].fetch_add(1, Ordering::SeqCst);
    }
}

/// At one time, at which nothing comes back: what a key has left says how much it had used.
#[test]
fn each_key_is_saved_as_it_was_at_some_moment_of_the_snapshot() {
    for algorithm in [
        AnyAlgorithm::from(TokenBucket::new(Quota::per_hour(LIMIT))),
        FixedWindow::new(Quota::per_hour(LIMIT)).into(),
        SlidingCounter::new(Quota::per_hour(LIMIT)).into(),
        SlidingLog::new(Quota::per_hour(LIMIT)).into(),
    ] {
        let time = clock(0, SECOND);
        let limiter = builder(algorithm.clone(), &time).build().expect("a limiter");
        let (counts, pace) = (Counts::new(), Pace::default());
        let taken = race(3, |thread| {
            if thread == 0 {
                return pace
                    .collect(|| (Counts::of(&counts.done), saved(&limiter), Counts::of(&counts.begun)));
            }
            charge_until_spent(&limiter, &counts, &pace, thread);
            pace.end();
            Vec::new()
        });
        let mut during = 0;
        for (least, file, most) in &taken[0] {
            let restored = builder(algorithm.clone(), &time).restore(&mut file.as_slice());
            let restored = restored.expect("a snapshot that fits");
            for (key, (least, most)) in (0..KEYS).zip(least.iter().zip(most)) {
                let used = LIMIT - restored.peek(&key, 0).remaining().expect("told");
                assert!((*least..=*most.min(&LIMIT)).contains(&used), "{least} <= {used} <= {most}");
                during += usize::from((1..LIMIT).contains(&used));
            }
            // And no more than the rest is granted by what was restored.
            assert!(restored.check_n(&0, restored.peek(&0, 0).remaining().expect("told")).is_allowed());
            assert!(!restored.check(&0).is_allowed());
        }
        assert!(during > 0, "no snapshot was taken while keys were being charged");
    }
}

/// Keys that come and go: what is in a snapshot under a fingerprint was that key's, and never another's.
#[test]
fn keys_whose_slots_change_hands_are_not_mixed_up() {
    // A key takes more than half of 64 each time, so what it has left tells whose it is, or nearly.
    let algorithm: AnyAlgorithm =
        FixedWindow::new(Quota::new(64, core::time::Duration::from_micros(50))).into();
    let time = clock(0, 0);
    let limiter = builder(algorithm.clone(), &time).build().expect("a limiter");
    let pace = Pace::default();
    let taken = race(3, |thread| {
        if thread == 0 {
            return pace.collect(|| saved(&limiter));
        }
        for round in 0..50_000_u64 {
            pace.call();
            let key = (round * 7 + thread as u64) % 400;
            let _ = limiter.check_n(&key, key % 32 + 33);
            if round % 64 == 0 {
                time.advance(core::time::Duration::from_micros(10));
            }
        }
        pace.end();
        Vec::new()
    });
    let mut owned = 0;
    for file in &taken[0] {
        // No time passes for what is restored, wherever the clock has gone.
        let larger = algorithm.clone().clock(clock(0, 0)).keyed::<u64>(1000);
        let restored = larger.restore(&mut file.as_slice()).expect("a snapshot that fits");
        for key in 0..400 {
            let used = 64 - restored.peek(&key, 0).remaining().expect("told");
            assert!(used == 0 || used == key % 32 + 33, "key {key} has used {used}");
            owned += u64::from(used > 0);
        }
    }
    assert!(owned > 0, "no snapshot had a key in it");
    assert!(limiter.stats().recycled > 0);
}
