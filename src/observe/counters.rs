//! Counting decisions.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::decision::{Decision, Outcome};
use crate::observe::Hook;
use crate::sync::{AtomicU64, Ordering, thread_number};

/// Threads up to this number count each in a shard of its own; more share them.
const SHARDS: usize = 16;

/// What some of the threads have counted: all on one line, since most decisions touch one.
#[derive(Debug, Default)]
struct Shard {
    allowed: AtomicU64,
    refused: AtomicU64,
    too_large: AtomicU64,
    overflowed: AtomicU64,
}

/// Counts the decisions of an [`Observed`](crate::Observed) limiter.
///
/// Each of up to 16 threads counts on a cache line of its own, so that they do not slow each other: one relaxed addition
/// a decision. 2 KiB. One may count for several limiters: as an `Arc<Counters>`.
///
/// How often slots were given out and recycled is counted in any case, since that is no decision on a key that has a
/// slot: [`Keyed::stats`](crate::Keyed::stats). Its `overflowed` counts all calls that charge; this one those that were
/// told.
///
/// ```
/// use tollgate::{Counters, Observed, Quota, SlidingLog};
///
/// let limiter = SlidingLog::new(Quota::per_minute(2)).build()?;
/// let limiter = Observed::new(limiter, Counters::new());
/// for _ in 0..5 {
///     let _ = limiter.check();
/// }
/// let counts = limiter.hook().counts();
/// assert_eq!((counts.allowed, counts.refused), (2, 3));
/// # Ok::<(), tollgate::BuildError>(())
/// ```
#[derive(Default)]
pub struct Counters {
    shards: [CachePadded<Shard>; SHARDS],
}

impl Counters {
    /// Nothing has been counted.
    pub fn new() -> Self {
        Self::default()
    }

    /// What has been counted. A decision that is just being counted may be in one number and not in another.
    pub fn counts(&self) -> DecisionCounts {
        let sum = |of: fn(&Shard) -> &AtomicU64| {
            // ORDERING: Relaxed: a count publishes nothing.
            self.shards.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum()
        };
        DecisionCounts {
            allowed: sum(|shard| &shard.allowed),
            refused: sum(|shard| &shard.refused),
            too_large: sum(|shard| &shard.too_large),
            overflowed: sum(|shard| &shard.overflowed),
        }
    }
}

impl<Q: ?Sized> Hook<Q> for Counters {
    #[inline]
    fn decided(&self, _key: &Q, decision: &Decision) {
        let shard = &self.shards[thread_number() % SHARDS];
        let counter = match decision.outcome() {
            Outcome::Allowed => &shard.allowed,
            Outcome::Denied => &shard.refused,
            Outcome::TooLarge => &shard.too_large,
        };
        // ORDERING: Relaxed: a count publishes nothing.
        counter.fetch_add(1, Ordering::Relaxed);
        if decision.overflowed() {
            // ORDERING: Relaxed, as above.
            shard.overflowed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts().fmt(f)
    }
}

/// What [`Counters`] have counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DecisionCounts {
    /// Calls that were allowed.
    pub allowed: u64,
    /// Calls that were refused for now.
    pub refused: u64,
    /// Calls that asked for more than the limit itself.
    pub too_large: u64,
    /// Those of all of them whose key found no slot.
    pub overflowed: u64,
}
