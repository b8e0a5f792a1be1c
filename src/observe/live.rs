//! Looking at all keys that have used something.

use core::hash::BuildHasher;
use core::time::Duration;

use crate::algorithm::{Algorithm, Intent, Policy};
use crate::clock::{Clock, Instant};
use crate::decision::Decision;
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::reading::nanos;
use crate::table::Slot;

/// A key that has used something, and what it has left. The key itself is not stored, but its fingerprint.
#[derive(Debug, Clone, Copy)]
pub struct LiveKey {
    fingerprint: u64,
    state: Decision,
}

impl LiveKey {
    /// The key's [fingerprint](Keyed::fingerprint_of).
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The permits it has left: see [`Decision::remaining`].
    pub fn remaining(&self) -> Option<u64> {
        self.state.remaining()
    }

    /// How long until it has all of its limit: see [`Decision::reset_after`].
    pub fn reset_after(&self) -> Option<Duration> {
        self.state.reset_after()
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher> Keyed<A, K, C, S> {
    /// The keys whose state is not as good as new at `now`, each with what it has left then, in no order.
    ///
    /// Each is one consistent state that the key had when the iterator came by; they are not of one moment. A key that
    /// comes while this runs may be left out, and one whose slot changes may be met twice. Charges nothing, stops nobody
    /// and allocates nothing; in all it reads every slot, O(capacity).
    ///
    /// ```
    /// use tollgate::{Quota, TokenBucket};
    ///
    /// let limiter = TokenBucket::new(Quota::per_hour(10)).keyed::<str>(1000).build()?;
    /// assert!(limiter.check_n("alice", 8).is_allowed());
    /// assert!(limiter.check_n("bob", 1).is_allowed());
    /// let hungry: Vec<u64> = limiter
    ///     .live_keys(limiter.now())
    ///     .filter(|key| key.remaining() < Some(5))
    ///     .map(|key| key.fingerprint())
    ///     .collect();
    /// assert_eq!(hungry, [limiter.fingerprint_of("alice")]);
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn live_keys(&self, now: Instant) -> impl Iterator<Item = LiveKey> {
        let (table, now) = (&self.table, nanos(now));
        table.slots().filter_map(move |slot| {
            let peek = |slot: Slot<'_>, word| table.policy().attempt(slot.state, word, now, 0, Intent::Peek);
            let (fingerprint, answer) = table.read_live(slot, now, peek)?;
            Some(LiveKey { fingerprint: fingerprint.get(), state: A::Policy::decision(answer) })
        })
    }

    /// The 64 bits by which this limiter knows the key: its hash, and 1 in place of 0. They tell nothing to those who do
    /// not know the hasher's key.
    pub fn fingerprint_of<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q) -> u64 {
        self.fingerprint(key).get()
    }
}
