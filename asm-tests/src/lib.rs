//! The probes: each verb of each algorithm, direct and keyed, as a function that is compiled by itself.
//!
//! `ci/panics.sh` reads their machine code and that of all they call. Nothing here is ever run.
#![expect(missing_docs, clippy::missing_errors_doc, reason = "the functions are what they call")]

pub mod canary;

use std::time::Duration;

use tollgate::{Decision, Denied, Instant, Keyed, KeyedStats, Limiter, PartialGrant};

/// Takes decisions and allocates nothing, unlike a `Vec`.
#[derive(Debug)]
pub struct Sink(Option<Decision>);

impl Extend<Decision> for Sink {
    fn extend<I: IntoIterator<Item = Decision>>(&mut self, decisions: I) {
        for decision in decisions {
            self.0 = Some(decision);
        }
    }
}

macro_rules! probes {
    ($module:ident, $algorithm:ident) => {
        pub mod $module {
            use super::{Decision, Instant, Keyed, KeyedStats, Limiter, PartialGrant, Sink};
            use tollgate::$algorithm;

            #[inline(never)]
            pub fn check(limiter: &Limiter<$algorithm>) -> Decision {
                limiter.check()
            }

            #[inline(never)]
            pub fn check_n(limiter: &Limiter<$algorithm>, n: u64) -> Decision {
                limiter.check_n(n)
            }

            #[inline(never)]
            pub fn check_at(limiter: &Limiter<$algorithm>, now: Instant, n: u64) -> Decision {
                limiter.check_at(now, n)
            }

            #[inline(never)]
            pub fn peek(limiter: &Limiter<$algorithm>, n: u64) -> Decision {
                limiter.peek(n)
            }

            #[inline(never)]
            pub fn peek_at(limiter: &Limiter<$algorithm>, now: Instant, n: u64) -> Decision {
                limiter.peek_at(now, n)
            }

            #[inline(never)]
            pub fn keyed_check(limiter: &Keyed<$algorithm, str>, key: &str) -> Decision {
                limiter.check(key)
            }

            #[inline(never)]
            pub fn keyed_check_n(limiter: &Keyed<$algorithm, str>, key: &str, n: u64) -> Decision {
                limiter.check_n(key, n)
            }

            #[inline(never)]
            pub fn keyed_check_at(
                limiter: &Keyed<$algorithm, str>,
                key: &str,
                now: Instant,
                n: u64,
            ) -> Decision {
                limiter.check_at(key, now, n)
            }

            #[inline(never)]
            pub fn keyed_check_many(limiter: &Keyed<$algorithm, u64>, keys: &[u64], sink: &mut Sink) {
                limiter.check_many(keys, sink);
            }

            #[inline(never)]
            pub fn keyed_check_many_at(
                limiter: &Keyed<$algorithm, u64>,
                keys: &[u64],
                now: Instant,
                sink: &mut Sink,
            ) {
                limiter.check_many_at(keys, now, sink);
            }

            #[inline(never)]
            pub fn keyed_peek(limiter: &Keyed<$algorithm, str>, key: &str, n: u64) -> Decision {
                limiter.peek(key, n)
            }

            #[inline(never)]
            pub fn keyed_peek_at(
                limiter: &Keyed<$algorithm, str>,
                key: &str,
                now: Instant,
                n: u64,
            ) -> Decision {
                limiter.peek_at(key, now, n)
            }

            #[inline(never)]
            pub fn keyed_live(limiter: &Keyed<$algorithm, str>, now: Instant) -> usize {
                limiter.live(now)
            }

            #[inline(never)]
            pub fn take_up_to(limiter: &Limiter<$algorithm>, n: u64) -> PartialGrant {
                limiter.take_up_to(n)
            }

            #[inline(never)]
            pub fn keyed_take_up_to(limiter: &Keyed<$algorithm, str>, key: &str, n: u64) -> PartialGrant {
                limiter.take_up_to(key, n)
            }

            #[inline(never)]
            pub fn keyed_reset(limiter: &Keyed<$algorithm, str>, key: &str) -> bool {
                limiter.reset(key)
            }

            #[inline(never)]
            pub fn keyed_stats(limiter: &Keyed<$algorithm, str>) -> KeyedStats {
                limiter.stats()
            }
        }
    };
}

probes!(token_bucket, TokenBucket);
probes!(fixed_window, FixedWindow);
probes!(sliding_counter, SlidingCounter);
probes!(sliding_log, SlidingLog);

/// What gives permits back.
macro_rules! refunds {
    ($module:ident, $algorithm:ident) => {
        pub mod $module {
            use super::{Keyed, Limiter};
            use tollgate::$algorithm;

            #[inline(never)]
            pub fn refund(limiter: &Limiter<$algorithm>, n: u64) -> u64 {
                limiter.refund(n)
            }

            #[inline(never)]
            pub fn keyed_refund(limiter: &Keyed<$algorithm, str>, key: &str, n: u64) -> u64 {
                limiter.refund(key, n)
            }
        }
    };
}

refunds!(token_bucket_refund, TokenBucket);
refunds!(fixed_window_refund, FixedWindow);
refunds!(sliding_counter_refund, SlidingCounter);

/// What only a bucket does. (A reservation's cancel is an undo behind a pointer: see `all_of`, which undoes too.)
pub mod debt {
    use super::{Denied, Duration, Keyed, Limiter};
    use tollgate::{Reservation, TokenBucket};

    #[inline(never)]
    pub fn reserve(
        limiter: &Limiter<TokenBucket>,
        n: u64,
        max_wait: Duration,
    ) -> Result<Reservation<'_>, Denied> {
        limiter.reserve(n, max_wait)
    }

    #[inline(never)]
    pub fn keyed_reserve<'a>(
        limiter: &'a Keyed<TokenBucket, str>,
        key: &str,
        n: u64,
        max_wait: Duration,
    ) -> Result<Reservation<'a>, Denied> {
        limiter.reserve(key, n, max_wait)
    }

    #[inline(never)]
    pub fn penalize(limiter: &Limiter<TokenBucket>, n: u64) -> u64 {
        limiter.penalize(n)
    }

    #[inline(never)]
    pub fn keyed_penalize(limiter: &Keyed<TokenBucket, str>, key: &str, n: u64) -> u64 {
        limiter.penalize(key, n)
    }
}

/// What is told of decisions, and looking at all keys.
pub mod observed {
    use super::{Decision, Instant, Keyed, Limiter};
    use tollgate::{Counters, Observed, SlidingLog, TokenBucket};

    #[inline(never)]
    pub fn check(limiter: &Observed<Limiter<TokenBucket>, Counters>) -> Decision {
        limiter.check()
    }

    #[inline(never)]
    pub fn check_by_nobody(limiter: &Observed<Limiter<TokenBucket>, ()>) -> Decision {
        limiter.check()
    }

    #[inline(never)]
    pub fn keyed_check(limiter: &Observed<Keyed<TokenBucket, str>, Counters>, key: &str) -> Decision {
        limiter.check(key)
    }

    #[inline(never)]
    pub fn live_keys_of_buckets(limiter: &Keyed<TokenBucket, str>, now: Instant) -> usize {
        limiter.live_keys(now).count()
    }

    #[inline(never)]
    pub fn live_keys_of_logs(limiter: &Keyed<SlidingLog, str>, now: Instant) -> usize {
        limiter.live_keys(now).count()
    }
}

/// What a decision tells: of each algorithm, since only the value says whose it is.
pub mod decision {
    use super::{Decision, Denied, Duration};

    #[inline(never)]
    pub fn limit(decision: &Decision) -> u64 {
        decision.limit()
    }

    #[inline(never)]
    pub fn remaining(decision: &Decision) -> Option<u64> {
        decision.remaining()
    }

    #[inline(never)]
    pub fn retry_after(decision: &Decision) -> (Option<Duration>, Option<u64>) {
        (decision.retry_after(), decision.retry_after_secs())
    }

    #[inline(never)]
    pub fn reset_after(decision: &Decision) -> Option<Duration> {
        decision.reset_after()
    }

    #[inline(never)]
    pub fn into_result(decision: Decision) -> Result<Decision, Denied> {
        decision.into_result()
    }
}

/// The clocks' readings: those of the default clock are in `check` already.
pub mod clock {
    use super::Instant;
    use tollgate::{Clock, CoarseClock, ManualClock, StdClock};

    #[inline(never)]
    pub fn standard(clock: &StdClock) -> Instant {
        clock.now()
    }

    #[inline(never)]
    pub fn coarse(clock: &CoarseClock) -> Instant {
        clock.now()
    }

    #[inline(never)]
    pub fn manual(clock: &ManualClock) -> Instant {
        clock.now()
    }
}
