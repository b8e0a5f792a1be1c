//! Any option with any numbers: a limiter is built, or a typed error says why not; and what is built answers.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use oracle::from_bytes::magnitude;
use tollgate::{
    Algorithm, BuildError, Builder, Clock, Decision, FixedWindow, Instant, ManualClock, Outcome, Overflow,
    Quota, RandomSipHash, SlidingCounter, SlidingLog, TokenBucket,
};

/// What is really allocated.
const BYTES_MAX: u128 = 4 << 20;

#[derive(Debug)]
struct Input {
    options: Options,
    /// Where the clock's origin lies.
    origin: Duration,
    keys: usize,
    overflow: Overflow,
    now: u64,
    cost: u64,
}

#[derive(Debug)]
enum Options {
    TokenBucket { quota: Quota, burst: Option<u64>, start_empty: bool },
    FixedWindow { quota: Quota, utc_offset: Option<Duration> },
    SlidingCounter { quota: Quota },
    SlidingLog { quota: Quota, tell_remaining: bool },
}

fn quota(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Quota> {
    Ok(Quota::new(magnitude(bytes)?, duration(bytes)?))
}

/// Of any magnitude, and often of one that a limiter can count.
fn duration(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Duration> {
    Ok(match bytes.int_in_range(0..=7_u8)? {
        0 => Duration::MAX,
        1 => Duration::new(magnitude(bytes)?, bytes.int_in_range(0..=999_999_999)?),
        2 => Duration::from_secs(magnitude(bytes)? >> 30),
        _ => Duration::from_nanos(magnitude(bytes)?),
    })
}

impl<'a> Arbitrary<'a> for Options {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (kind, quota) = (bytes.int_in_range(0..=15_u8)?, quota(bytes)?);
        Ok(match kind {
            0..=5 => Self::TokenBucket {
                quota,
                burst: if kind == 0 { None } else { Some(magnitude(bytes)?) },
                start_empty: kind == 5,
            },
            6..=9 => {
                let utc_offset = match kind {
                    6 => None,
                    7 => Some(Duration::ZERO),
                    _ => Some(duration(bytes)?),
                };
                Self::FixedWindow { quota, utc_offset }
            }
            10..=12 => Self::SlidingCounter { quota },
            _ => Self::SlidingLog {
                // Most limits are too large for a log.
                quota: if kind == 13 { quota } else { Quota::new(quota.limit() >> 45, quota.period()) },
                tell_remaining: kind != 15,
            },
        })
    }
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let options = bytes.arbitrary()?;
        let overflow = match bytes.int_in_range(0..=3_u8)? {
            0 => Overflow::Deny,
            1 => Overflow::Allow,
            _ => Overflow::Shared(quota(bytes)?),
        };
        let keys = if bytes.ratio(3, 4)? {
            bytes.int_in_range(1..=4)?
        } else {
            usize::try_from(magnitude(bytes)?).unwrap_or(usize::MAX)
        };
        Ok(Self {
            options,
            origin: duration(bytes)?,
            keys,
            overflow,
            now: magnitude(bytes)?,
            cost: if bytes.ratio(1, 2)? { 1 } else { magnitude(bytes)? },
        })
    }
}

impl Input {
    /// Asks in all ways at any time.
    fn ask(&self, limiter: &Ways<'_>) {
        let Self { now, cost, .. } = *self;
        let now = Instant::from_nanos(now);
        for decision in [
            (limiter.check_n)(1),
            (limiter.peek_at)(now, cost),
            (limiter.check_at)(now, cost),
            (limiter.check_at)(now, u64::MAX),
            (limiter.check_n)(cost),
            (limiter.peek_at)(Instant::from_nanos(u64::MAX), cost),
            (limiter.peek_at)(Instant::ORIGIN, cost),
        ] {
            is_sound(decision);
        }
    }

    fn build<A: Algorithm>(&self, builder: &Builder<A, ManualClock>) -> Result<(), BuildError> {
        let direct = builder.clone().build();
        match &direct {
            Ok(limiter) => self.ask(&Ways {
                check_n: &|n| limiter.check_n(n),
                check_at: &|now, n| limiter.check_at(now, n),
                peek_at: &|now, n| limiter.peek_at(now, n),
            }),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        let hasher = RandomSipHash::with_key([0, 0]);
        let keyed = builder.clone().keyed::<u64>(self.keys).with_hasher(hasher).overflow(self.overflow);
        let bytes = match keyed.memory_bytes() {
            Ok(bytes) => bytes,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!(keyed.build().err(), Some(error));
                return direct.map(|_| ());
            }
        };
        if bytes > BYTES_MAX {
            // More than can be addressed is refused without an attempt.
            if bytes > u128::from(u64::MAX) >> 1 {
                assert_eq!(keyed.build().err(), Some(BuildError::OutOfMemory { bytes }));
            }
            return direct.map(|_| ());
        }
        let keyed = keyed.build().expect("what its bytes are told of is built");
        assert_eq!((keyed.memory_bytes(), keyed.capacity()), (bytes, self.keys));
        // More keys than four slots have room for.
        for key in 0..6_u64 {
            self.ask(&Ways {
                check_n: &|n| keyed.check_n(&key, n),
                check_at: &|now, n| keyed.check_at(&key, now, n),
                peek_at: &|now, n| keyed.peek_at(&key, now, n),
            });
        }
        if bytes < 1 << 16 {
            let (live, stats) = (keyed.live(keyed.clock().now()) as u64, keyed.stats());
            assert!(live <= stats.occupied() && stats.inserted >= stats.recycled, "{live} live, {stats:?}");
        }
        direct.map(|_| ())
    }
}

/// A limiter, or one key of it.
struct Ways<'l> {
    check_n: &'l dyn Fn(u64) -> Decision,
    check_at: &'l dyn Fn(Instant, u64) -> Decision,
    peek_at: &'l dyn Fn(Instant, u64) -> Decision,
}

/// Everything that a decision tells can be asked for.
fn is_sound(decision: Decision) {
    let (limit, wait) = (decision.limit(), decision.retry_after_nanos());
    assert!(decision.remaining().is_none_or(|remaining| remaining <= limit), "{decision:?}");
    assert_eq!(decision.retry_after(), wait.map(Duration::from_nanos));
    assert_eq!(decision.retry_after_secs(), wait.map(|wait| wait.div_ceil(1_000_000_000)));
    assert_eq!(decision.reset_after(), decision.reset_after_nanos().map(Duration::from_nanos));
    assert!(wait.is_none() || decision.outcome() == Outcome::Denied, "{decision:?}");
    if let Err(denied) = decision.into_result() {
        assert!(!decision.is_allowed() && !denied.to_string().is_empty());
        assert_eq!(denied.retry_after(), decision.retry_after());
    }
}

/// A bound that an error names is one that can be kept.
fn is_named(options: &Options, clock: &ManualClock, error: BuildError) {
    let refused = match (options, error) {
        (Options::TokenBucket { quota, .. }, BuildError::BurstTooLarge { burst, max }) => {
            assert!(max < burst);
            let within = |burst| TokenBucket::new(*quota).burst(burst).clock(clock.clone()).build().err();
            // A burst of 0 is another mistake, and the horizon is a bound of its own.
            within(max).filter(|_| max > 0)
        }
        (Options::FixedWindow { quota, utc_offset: None }, BuildError::LimitTooLarge { limit, max }) => {
            assert!(max < limit);
            FixedWindow::new(Quota::new(max, quota.period())).clock(clock.clone()).build().err()
        }
        (Options::SlidingCounter { quota }, BuildError::LimitTooLarge { limit, max }) => {
            assert!(max < limit);
            SlidingCounter::new(Quota::new(max, quota.period())).clock(clock.clone()).build().err()
        }
        (Options::SlidingLog { quota, .. }, BuildError::LimitTooLarge { limit, max }) => {
            assert!(max < limit);
            SlidingLog::new(Quota::new(max, quota.period())).clock(clock.clone()).build().err()
        }
        _ => None,
    };
    assert!(
        matches!(refused, None | Some(BuildError::HorizonTooShort { .. })),
        "{error}, but then {refused:?}"
    );
}

fuzz_target!(|input: Input| {
    let clock = ManualClock::starting_at(input.origin);
    clock.set(Instant::from_nanos(input.now));
    let built = match &input.options {
        Options::TokenBucket { quota, burst, start_empty } => {
            let mut bucket = TokenBucket::new(*quota);
            if let Some(burst) = burst {
                bucket = bucket.burst(*burst);
            }
            if *start_empty {
                bucket = bucket.start_empty();
            }
            input.build(&bucket.clock(clock.clone()))
        }
        Options::FixedWindow { quota, utc_offset } => {
            let window = FixedWindow::new(*quota);
            let window = match utc_offset {
                None => window,
                Some(Duration::ZERO) => window.aligned_to_utc(),
                Some(offset) => window.aligned_to_utc_plus(*offset),
            };
            input.build(&window.clock(clock.clone()))
        }
        Options::SlidingCounter { quota } => input.build(&SlidingCounter::new(*quota).clock(clock.clone())),
        Options::SlidingLog { quota, tell_remaining } => {
            let log = SlidingLog::new(*quota);
            let log = if *tell_remaining { log } else { log.without_remaining() };
            input.build(&log.clock(clock.clone()))
        }
    };
    if let Err(error) = built {
        is_named(&input.options, &clock, error);
    }
});
