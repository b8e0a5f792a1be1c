//! From a rule to limiters.

use std::time::Duration;

use tollgate::{
    Algorithm, BuildError, FixedWindow, Keyed, Limiter, Quota, RandomSipHash, SlidingCounter, SlidingLog,
    TokenBucket,
};

use crate::vectors::Rule;

/// What is done with the limiters of a rule, whatever its algorithm.
pub trait Visit {
    type Output;

    fn visit<A: Algorithm>(self, direct: Limiter<A>, keyed: Keyed<A, u64>) -> Self::Output;
}

impl Rule {
    /// Builds the rule's direct limiter, and its keyed one for `keys` keys under `hasher`.
    pub fn build<V: Visit>(
        self,
        keys: usize,
        hasher: RandomSipHash,
        visit: V,
    ) -> Result<V::Output, BuildError> {
        let quota = |limit, period| Quota::new(limit, Duration::from_nanos(period));
        // `build` and `keyed` are each algorithm's own.
        macro_rules! visit {
            ($algorithm:expr) => {{
                let algorithm = $algorithm;
                let direct = algorithm.clone().build()?;
                let keyed = algorithm.keyed(keys).with_hasher(hasher).build()?;
                Ok(visit.visit(direct, keyed))
            }};
        }
        match self {
            Self::TokenBucket { capacity, limit, period } => {
                visit!(TokenBucket::new(quota(limit, period)).burst(capacity))
            }
            Self::FixedWindow { limit, period } => visit!(FixedWindow::new(quota(limit, period))),
            Self::SlidingCounter { limit, period } => visit!(SlidingCounter::new(quota(limit, period))),
            Self::SlidingLog { limit, period } => visit!(SlidingLog::new(quota(limit, period))),
        }
    }
}
