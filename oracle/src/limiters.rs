//! From a rule to limiters.

use std::time::Duration;

use tollgate::{
    Algorithm, AnyAlgorithm, BuildError, Builder, Clock, FixedWindow, Keyed, Limiter, QuantaClock, Quota,
    RandomSipHash, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::vectors::Rule;

/// What is done with the limiters of a rule, whatever its algorithm.
pub trait Visit<C = QuantaClock> {
    type Output;

    fn visit<A: Algorithm + 'static>(self, direct: Limiter<A, C>, keyed: Keyed<A, u64, C>) -> Self::Output;
}

impl Rule {
    /// Builds the rule's direct limiter, and its keyed one for `keys` keys under `hasher`.
    pub fn build<V: Visit>(
        self,
        keys: usize,
        hasher: RandomSipHash,
        visit: V,
    ) -> Result<V::Output, BuildError> {
        self.build_on(QuantaClock::new(), keys, hasher, visit)
    }

    /// The same on another clock.
    pub fn build_on<C: Clock, V: Visit<C>>(
        self,
        clock: C,
        keys: usize,
        hasher: RandomSipHash,
        visit: V,
    ) -> Result<V::Output, BuildError> {
        match self.algorithm() {
            AnyAlgorithm::TokenBucket(bucket) => run(bucket.clock(clock), keys, hasher, visit),
            AnyAlgorithm::FixedWindow(window) => run(window.clock(clock), keys, hasher, visit),
            AnyAlgorithm::SlidingCounter(counter) => run(counter.clock(clock), keys, hasher, visit),
            AnyAlgorithm::SlidingLog(log) => run(log.clock(clock), keys, hasher, visit),
        }
    }

    /// The same with limiters whose algorithm is chosen at run time.
    pub fn build_any_on<C: Clock, V: Visit<C>>(
        self,
        clock: C,
        keys: usize,
        hasher: RandomSipHash,
        visit: V,
    ) -> Result<V::Output, BuildError> {
        run(self.algorithm().clock(clock), keys, hasher, visit)
    }

    fn algorithm(self) -> AnyAlgorithm {
        let quota = |limit, period| Quota::new(limit, Duration::from_nanos(period));
        match self {
            Self::TokenBucket { capacity, limit, period, max_wait } => {
                let bucket = TokenBucket::new(quota(limit, period)).burst(capacity);
                bucket.max_wait(Duration::from_nanos(max_wait)).into()
            }
            Self::FixedWindow { limit, period } => FixedWindow::new(quota(limit, period)).into(),
            Self::SlidingCounter { limit, period } => SlidingCounter::new(quota(limit, period)).into(),
            Self::SlidingLog { limit, period } => SlidingLog::new(quota(limit, period)).into(),
        }
    }
}

fn run<A: Algorithm + 'static, C: Clock, V: Visit<C>>(
    builder: Builder<A, C>,
    keys: usize,
    hasher: RandomSipHash,
    visit: V,
) -> Result<V::Output, BuildError> {
    let direct = builder.clone().build()?;
    let keyed = builder.keyed(keys).with_hasher(hasher).build()?;
    Ok(visit.visit(direct, keyed))
}
