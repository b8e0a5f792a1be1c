use std::collections::HashMap;
use std::time::Duration;

use tollgate::{
    Algorithm, Builder, FixedWindow, Keyed, LiveKey, ManualClock, Quota, SlidingCounter, SlidingLog,
    TokenBucket,
};

use crate::pace::Pace;
use crate::race::race;

const LIMIT: u64 = 64;

fn limiter<A: Algorithm>(algorithm: &A) -> Keyed<A, u64, ManualClock> {
    Builder::new(algorithm.clone(), ManualClock::new()).keyed(100).build().expect("a limiter")
}

const QUOTA: Quota = Quota::new(LIMIT, Duration::from_micros(50));

/// A limiter of any algorithm.
struct Live {
    clock: ManualClock,
    charge: Box<dyn Fn(u64, u64) -> bool + Sync>,
    remaining: Box<dyn Fn(u64) -> Option<u64> + Sync>,
    fingerprint: Box<dyn Fn(u64) -> u64 + Sync>,
    all: Box<dyn Fn() -> (Vec<LiveKey>, usize) + Sync>,
}

impl Live {
    fn new<A: Algorithm>(limiter: Keyed<A, u64, ManualClock>) -> Self {
        let limiter = std::sync::Arc::new(limiter);
        let [a, b, c, d] = [(); 4].map(|()| limiter.clone());
        Self {
            clock: limiter.clock().clone(),
            charge: Box::new(move |key, n| a.check_n(&key, n).is_allowed()),
            remaining: Box::new(move |key| b.peek(&key, 0).remaining()),
            fingerprint: Box::new(move |key| c.fingerprint_of(&key)),
            all: Box::new(move || (d.live_keys(d.now()).collect(), d.live(d.now()))),
        }
    }
}

#[test]
fn each_key_that_has_used_something_is_told_with_what_it_has_left() {
    for limiter in [
        Live::new(limiter(&TokenBucket::new(QUOTA))),
        Live::new(limiter(&FixedWindow::new(QUOTA))),
        Live::new(limiter(&SlidingCounter::new(QUOTA))),
        Live::new(limiter(&SlidingLog::new(QUOTA))),
    ] {
        assert_eq!((limiter.all)().0.len(), 0);
        for key in 0..50 {
            assert!((limiter.charge)(key, key % 7 + 1));
        }
        let (keys, count) = (limiter.all)();
        assert_eq!((keys.len(), count), (50, 50));
        let told: HashMap<_, _> = keys.iter().map(|key| (key.fingerprint(), key.remaining())).collect();
        for key in 0..50 {
            assert_eq!(told.get(&(limiter.fingerprint)(key)), Some(&(limiter.remaining)(key)));
            assert_eq!((limiter.remaining)(key), Some(LIMIT - key % 7 - 1));
        }
        assert!(keys.iter().all(|key| key.reset_after().is_some_and(|wait| !wait.is_zero())), "{keys:?}");
        limiter.clock.advance(Duration::from_micros(101));
        assert_eq!((limiter.all)().0.len(), 0);
    }
}

#[test]
fn keys_whose_slots_change_hands_are_not_mixed_up() {
    // A window grants a key one such call, whose cost tells whose it is, or nearly.
    for limiter in [Live::new(limiter(&FixedWindow::new(QUOTA))), Live::new(limiter(&SlidingLog::new(QUOTA)))]
    {
        let pace = Pace::default();
        let cost = |key: u64| key % 31 + 33;
        let names: HashMap<_, _> = (0..400).map(|key| ((limiter.fingerprint)(key), key)).collect();
        let seen = race(3, |thread| {
            if thread == 0 {
                return pace.collect(|| (limiter.all)().0);
            }
            for round in 0..20_000_u64 {
                pace.call();
                let key = (round * 7 + thread as u64) % 400;
                (limiter.charge)(key, cost(key));
                if round % 64 == 0 {
                    limiter.clock.advance(Duration::from_micros(10));
                }
            }
            pace.end();
            Vec::new()
        });
        let seen: Vec<_> = seen.into_iter().flatten().flatten().collect();
        for live in &seen {
            let key = names[&live.fingerprint()];
            let used = LIMIT - live.remaining().expect("told");
            // Or its window has passed since it was found.
            assert!(used == 0 || used == cost(key), "key {key} has used {used}");
        }
        assert!(!seen.is_empty(), "nothing was seen");
    }
}
