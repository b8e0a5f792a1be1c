//! The states of a policy's keys, and one of them as one of several limits.

use std::time::Duration;

use tollgate::{
    AnyAlgorithm, BuildError, Clock, Costing, FixedWindow, Instant, KeyLimit, Keyed, Limit, Overflow,
    RandomSipHash, Revocable, SlidingCounter, SlidingLog, TokenBucket,
};

/// A policy's limiter. Which algorithm it is has to be known: all but a log can take a charge back.
#[derive(Debug)]
pub(super) enum State<C: Clock> {
    TokenBucket(Keyed<TokenBucket, [u8], C>),
    FixedWindow(Keyed<FixedWindow, [u8], C>),
    SlidingCounter(Keyed<SlidingCounter, [u8], C>, Duration),
    SlidingLog(Keyed<SlidingLog, [u8], C>),
}

type Cost<'a, A, C> = Costing<KeyLimit<'a, A, [u8], C, RandomSipHash>>;

/// One key's limit, and what a request costs it.
pub(super) enum Asked<'a, C: Clock> {
    TokenBucket(Cost<'a, TokenBucket, C>),
    FixedWindow(Cost<'a, FixedWindow, C>),
    SlidingCounter(Cost<'a, SlidingCounter, C>),
    SlidingLog(Cost<'a, SlidingLog, C>),
}

/// The same on whichever of the four it is.
macro_rules! on_each {
    ($state:expr, $keyed:ident => $result:expr) => {
        match $state {
            State::TokenBucket($keyed) => $result,
            State::FixedWindow($keyed) => $result,
            State::SlidingCounter($keyed, _) => $result,
            State::SlidingLog($keyed) => $result,
        }
    };
}

impl<C: Clock> State<C> {
    pub(super) fn new(
        algorithm: &AnyAlgorithm,
        clock: &C,
        keys: usize,
        overflow: Overflow,
    ) -> Result<Self, BuildError> {
        let clock = clock.clone();
        Ok(match algorithm.clone() {
            AnyAlgorithm::TokenBucket(bucket) => {
                Self::TokenBucket(bucket.clock(clock).keyed(keys).overflow(overflow).build()?)
            }
            AnyAlgorithm::FixedWindow(windows) => {
                Self::FixedWindow(windows.clock(clock).keyed(keys).overflow(overflow).build()?)
            }
            AnyAlgorithm::SlidingCounter(counter) => Self::SlidingCounter(
                counter.clock(clock).keyed(keys).overflow(overflow).build()?,
                algorithm.quota().period(),
            ),
            AnyAlgorithm::SlidingLog(log) => {
                Self::SlidingLog(log.clock(clock).keyed(keys).overflow(overflow).build()?)
            }
        })
    }

    /// The most permits that one request can have.
    pub(super) fn capacity(&self) -> u64 {
        on_each!(self, keyed => keyed.peek([].as_slice(), 0).limit())
    }

    pub(super) fn live(&self) -> usize {
        on_each!(self, keyed => keyed.live(keyed.now()))
    }

    pub(super) fn asked(&self, key: &[u8], cost: u64) -> Asked<'_, C> {
        match self {
            Self::TokenBucket(keyed) => Asked::TokenBucket(keyed.for_key(key).costing(cost)),
            Self::FixedWindow(keyed) => Asked::FixedWindow(keyed.for_key(key).costing(cost)),
            Self::SlidingCounter(keyed, _) => Asked::SlidingCounter(keyed.for_key(key).costing(cost)),
            Self::SlidingLog(keyed) => Asked::SlidingLog(keyed.for_key(key).costing(cost)),
        }
    }

    /// Until when a charge made now is there to be given back: a bucket that is full again has forgotten it, and a
    /// window that has passed would give back what another was granted. `reset_after` is that of the charge's decision.
    pub(super) fn refundable_until(&self, now: Instant, reset_after: Option<Duration>) -> Instant {
        match self {
            Self::SlidingCounter(_, period) => {
                // Windows start at whole periods. A period that could be built is at least 1 ns and below 2^64.
                let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
                let started = now.as_nanos() / period * period;
                Instant::from_nanos(started.saturating_add(period))
            }
            _ => now + reset_after.unwrap_or(Duration::MAX),
        }
    }

    /// Gives permits back to a key, if the charge is still there; how many came back.
    pub(super) fn refund(&self, key: &[u8], permits: u64, until: Instant) -> u64 {
        let now = on_each!(self, keyed => keyed.now());
        if now >= until {
            return 0;
        }
        match self {
            Self::TokenBucket(keyed) => keyed.refund_at(key, now, permits),
            Self::FixedWindow(keyed) => keyed.refund_at(key, now, permits),
            Self::SlidingCounter(keyed, _) => keyed.refund_at(key, now, permits),
            Self::SlidingLog(_) => 0,
        }
    }
}

impl<C: Clock> Asked<'_, C> {
    /// As a limit whose charge can be undone: every one but a log's.
    pub(super) fn as_revocable(&self) -> Option<&dyn Revocable> {
        match self {
            Self::TokenBucket(limit) => Some(limit),
            Self::FixedWindow(limit) => Some(limit),
            Self::SlidingCounter(limit) => Some(limit),
            Self::SlidingLog(_) => None,
        }
    }

    pub(super) fn as_limit(&self) -> &dyn Limit {
        match self {
            Self::TokenBucket(limit) => limit,
            Self::FixedWindow(limit) => limit,
            Self::SlidingCounter(limit) => limit,
            Self::SlidingLog(limit) => limit,
        }
    }
}
