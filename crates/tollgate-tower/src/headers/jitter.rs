//! Waits that differ from client to client, so that those refused together do not come back together.

use std::hash::BuildHasher;
use std::time::Duration;

use tollgate::RandomSipHash;

/// Adds up to so many whole seconds to a refused client's wait and to `t`.
///
/// Only ever adds: nobody is told to come back too early. Steady for one key in one window, so that a client that asks
/// again is not told another time. The key of the hash is random: clients cannot choose theirs.
#[derive(Debug, Clone)]
pub struct Jitter {
    seconds_max: u64,
    hasher: RandomSipHash,
}

impl Jitter {
    /// From 0 s to `max`, rounded down to whole seconds.
    pub fn up_to(max: Duration) -> Self {
        Self { seconds_max: max.as_secs(), hasher: RandomSipHash::new() }
    }

    /// Hashes with this, for several processes that should tell the same.
    pub fn hasher(mut self, hasher: RandomSipHash) -> Self {
        self.hasher = hasher;
        self
    }

    /// The seconds for a key in the window that ends at `reset_at`, the windows being one `period` long.
    pub fn seconds(&self, key: &[u8], reset_at: Duration, period: Duration) -> u64 {
        let window = reset_at.as_nanos() / period.as_nanos().max(1);
        let hash = self.hasher.hash_one((key, window));
        self.seconds_max.checked_add(1).map_or(hash, |values| hash % values)
    }
}
