//! How often a policy has decided what.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// What a policy is counted by.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) allowed: Counter,
    pub(super) refused: Counter,
    pub(super) too_large: Counter,
    pub(super) shadow_refused: Counter,
    pub(super) missing_key: Counter,
    pub(super) overflowed: Counter,
    pub(super) refunded: Counter,
}

#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Counts one more, and says how many that makes.
    pub(super) fn count(&self) -> u64 {
        self.add(1)
    }

    pub(super) fn add(&self, n: u64) -> u64 {
        // ORDERING: Relaxed: a count publishes nothing.
        self.0.fetch_add(n, Ordering::Relaxed).wrapping_add(n)
    }

    pub(super) fn get(&self) -> u64 {
        // ORDERING: Relaxed: a count publishes nothing.
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(super) fn snapshot(&self, live: u64) -> PolicyStats {
        PolicyStats {
            allowed: self.allowed.get(),
            refused: self.refused.get(),
            too_large: self.too_large.get(),
            shadow_refused: self.shadow_refused.get(),
            missing_key: self.missing_key.get(),
            overflowed: self.overflowed.get(),
            refunded: self.refunded.get(),
            live,
        }
    }
}

/// How often a policy has decided what, since it was first built under its name.
///
/// A request that one of several limits refuses is counted by those that refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct PolicyStats {
    /// Requests that passed it, and the other limits too.
    pub allowed: u64,
    /// Requests that it refused, of any cost.
    pub refused: u64,
    /// Those of them that cost more than the limit itself.
    pub too_large: u64,
    /// Requests that it would have refused, had it not been in shadow mode.
    pub shadow_refused: u64,
    /// Requests without a key.
    pub missing_key: u64,
    /// Requests whose key found no slot, so that the overflow policy decided.
    pub overflowed: u64,
    /// Permits given back after the response.
    pub refunded: u64,
    /// Keys whose state is not as good as new.
    pub live: u64,
}
