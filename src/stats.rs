//! Counters of what a table does apart from decisions on keys it knows.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, MODELLED, Ordering};
use crate::table::Fingerprint;

/// So that threads that count rarely meet.
const SHARDS: usize = if MODELLED { 1 } else { 8 };

/// One shard: all on one line, since each event touches one.
#[derive(Default)]
struct Shard {
    inserted: AtomicU64,
    recycled: AtomicU64,
    overflowed: AtomicU64,
    contended: AtomicU64,
}

/// Counters sharded by key. They change when keys come and go, never on a decision for a key that has a slot.
pub(crate) struct Stats {
    shards: [CachePadded<Shard>; SHARDS],
}

impl Stats {
    pub(crate) fn new() -> Self {
        Self { shards: core::array::from_fn(|_| CachePadded::new(Shard::default())) }
    }

    fn shard(&self, fingerprint: Fingerprint) -> &Shard {
        &self.shards[fingerprint.shard(SHARDS)]
    }

    pub(crate) fn inserted(&self, fingerprint: Fingerprint) {
        count(&self.shard(fingerprint).inserted);
    }

    pub(crate) fn recycled(&self, fingerprint: Fingerprint) {
        count(&self.shard(fingerprint).recycled);
    }

    pub(crate) fn overflowed(&self, fingerprint: Fingerprint) {
        count(&self.shard(fingerprint).overflowed);
    }

    pub(crate) fn contended(&self, fingerprint: Fingerprint) {
        count(&self.shard(fingerprint).contended);
    }

    /// The counters now. Counts of calls that are under way may be in one and not in another.
    pub(crate) fn snapshot(&self) -> KeyedStats {
        let sum = |of: fn(&Shard) -> &AtomicU64| {
            // ORDERING: Relaxed: a count publishes nothing.
            self.shards.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum()
        };
        KeyedStats {
            inserted: sum(|shard| &shard.inserted),
            recycled: sum(|shard| &shard.recycled),
            overflowed: sum(|shard| &shard.overflowed),
            contended: sum(|shard| &shard.contended),
        }
    }
}

fn count(counter: &AtomicU64) {
    // ORDERING: Relaxed: a count publishes nothing.
    counter.fetch_add(1, Ordering::Relaxed);
}

impl fmt::Debug for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(f)
    }
}

/// What a [`Keyed`](crate::Keyed) limiter has done with its slots since it was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KeyedStats {
    /// Keys that were given a slot; a key that comes back after its slot was recycled counts again.
    pub inserted: u64,
    /// Slots that were taken from a key whose state was as good as new.
    pub recycled: u64,
    /// Calls that found no slot for their key and were left to the [`Overflow`](crate::Overflow) policy.
    pub overflowed: u64,
    /// Those of them that gave up looking because other threads held slots the whole time.
    pub contended: u64,
}

impl KeyedStats {
    /// Slots that belong to a key now, live or stale.
    pub fn occupied(&self) -> u64 {
        self.inserted.saturating_sub(self.recycled)
    }
}
