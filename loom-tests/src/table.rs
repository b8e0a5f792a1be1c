//! What the models of the keyed table need: small tables, keys whose places are known, and answers.

use core::hash::{BuildHasher, Hasher};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate::{
    Algorithm, Builder, Decision, Keyed, ManualClock, Outcome, PortableHasher, Quota, TokenBucket,
};

use crate::at;

/// A table whose places depend on the keys alone.
pub type Table<A> = Keyed<A, u64, ManualClock, Plain>;

/// In ns, the time in which a permit of [`QUOTA`] comes back.
pub const MS: u64 = 1_000_000;

/// One permit a millisecond.
pub const QUOTA: Quota = Quota::new(1, Duration::from_millis(1));

/// The hasher that leaves a key as it is, so that each execution finds it in the same place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain(u64);

impl BuildHasher for Plain {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self::default()
    }
}

impl PortableHasher for Plain {
    fn key(&self) -> [u64; 2] {
        [0; 2]
    }

    fn with_key(_: [u64; 2]) -> Self {
        Self::default()
    }
}

impl Hasher for Plain {
    /// Keys are `u64`; a text is only what a snapshot tries the hasher on.
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.len() as u64;
    }

    fn write_u8(&mut self, _: u8) {}

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A table with `slots` slots. Modelled, a line is one slot; a key has one near line and a window of two.
///
/// # Panics
///
/// If it cannot be built.
pub fn table<A: Algorithm>(algorithm: Builder<A, ManualClock>, slots: usize) -> Arc<Table<A>> {
    Arc::new(algorithm.keyed(slots).with_hasher(Plain::default()).build().expect("a table"))
}

/// A table of buckets for `burst` permits that refill by one a millisecond.
pub fn buckets(burst: u64, slots: usize) -> Arc<Table<TokenBucket>> {
    table(TokenBucket::new(QUOTA).burst(burst).clock(ManualClock::new()), slots)
}

/// What a call was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The permit was granted.
    Granted,
    /// Refused, by the key's own state.
    Refused,
    /// Refused: the key has no state and there is no slot for one.
    NoRoom,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        match decision.outcome() {
            Outcome::Allowed => Self::Granted,
            _ if decision.overflowed() => Self::NoRoom,
            _ => Self::Refused,
        }
    }
}

/// Asks for a permit with a reading of `nanos`, taken before the thread can be stopped.
pub fn ask_at<A: Algorithm>(table: &Table<A>, key: u64, nanos: u64) -> Answer {
    ask_for(table, key, 1, nanos)
}

/// [`ask_at`] for `n` permits.
pub fn ask_for<A: Algorithm>(table: &Table<A>, key: u64, n: u64, nanos: u64) -> Answer {
    table.check_at(&key, at(nanos), n).into()
}

/// Asks for a permit with readings of the table's own clock, taken as the table needs them.
pub fn ask<A: Algorithm>(table: &Table<A>, key: u64) -> Answer {
    table.check(&key).into()
}

/// Runs at once, wherever other threads are stopped: a third thread that loom could not afford to stop as well. Its
/// loads return the oldest values that the memory model allows.
pub fn uninterrupted<T>(run: impl FnOnce() -> T) -> T {
    loom::stop_exploring();
    let result = run();
    loom::explore();
    result
}

/// Whoever found no room had met slots held by others in every round; nobody was told "full" after a look.
///
/// loom lets a thread see a held slot as held for as long as it likes, so a model in which slots are held has to allow
/// for that.
///
/// # Panics
///
/// If somebody was.
pub fn assert_nobody_found_it_full<A: Algorithm>(table: &Table<A>) {
    let stats = table.stats();
    assert_eq!(stats.overflowed, stats.contended, "calls without room, and those that waited for it");
}

/// The number of calls that were granted.
pub fn grants(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| **answer == Answer::Granted).count()
}

/// Keys whose places in a small table are known.
///
/// They are found by what the table does, so they stay right when fingerprints are mixed in another way.
#[derive(Debug, Clone)]
pub struct Places {
    /// Keys that share their near line, and whose windows reach every other line.
    pub neighbours: [u64; 3],
    /// One key for each of the other lines.
    pub elsewhere: Vec<u64>,
}

impl Places {
    /// For tables with `slots` slots.
    ///
    /// # Panics
    ///
    /// If small numbers do not do.
    pub fn new(slots: usize) -> Self {
        let found = Arc::new(Mutex::new(None));
        let places = Arc::clone(&found);
        let mut builder = loom::model::Builder::new();
        builder.max_branches = 200_000;
        // One thread: one execution.
        builder.check(move || {
            *places.lock().unwrap_or_else(PoisonError::into_inner) = Some(Self::search(slots));
        });
        found.lock().unwrap_or_else(PoisonError::into_inner).take().expect("places")
    }

    fn search(slots: usize) -> Self {
        const KEYS_TRIED: u64 = 60;
        let mut tenants: Vec<u64> = Vec::new();
        for key in 1..KEYS_TRIED {
            if tenants.iter().all(|tenant| !share_near_line(*tenant, key, slots)) {
                tenants.push(key);
            }
        }
        assert_eq!(tenants.len(), slots, "a key for every line");
        let (first, elsewhere) = (tenants[0], tenants.split_off(1));
        let has_room_at = |key: u64, vacant: u64| {
            let table = buckets(1, slots);
            for tenant in elsewhere.iter().chain([&first]).filter(|tenant| **tenant != vacant) {
                ask_at(&table, *tenant, 0);
            }
            ask_at(&table, key, 0) == Answer::Granted
        };
        let neighbours: Vec<u64> = (first + 1..KEYS_TRIED)
            .filter(|key| share_near_line(first, *key, slots))
            .filter(|key| elsewhere.iter().all(|vacant| has_room_at(*key, *vacant)))
            .take(3)
            .collect();
        Self { neighbours: neighbours.try_into().expect("three neighbours"), elsewhere }
    }
}

/// Whether `other` takes the slot of `key` once that is stale, while there are others that nobody has.
fn share_near_line(key: u64, other: u64, slots: usize) -> bool {
    let table = buckets(1, slots);
    ask_at(&table, key, 0);
    ask_at(&table, other, 2 * MS);
    table.stats().recycled == 1
}
