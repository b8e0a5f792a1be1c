//! What a builder refuses, and that it accepts everything up to the bound it names.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{
    Algorithm, BuildError, Builder, FixedWindow, KeyedBuilder, ManualClock, Outcome, Overflow, Quota,
    SlidingCounter, SlidingLog, TokenBucket,
};

const YEAR_NANOS: u64 = 365 * 24 * 3600 * 1_000_000_000;
const LOG_LIMIT_MAX: u64 = 262_144;

fn nanos(limit: u64, period: u64) -> Quota {
    Quota::new(limit, Duration::from_nanos(period))
}

/// The horizon in ns, or why there is none; the same for the direct and the keyed limiter.
fn horizon<A: Algorithm>(builder: Builder<A, ManualClock>) -> Result<u64, BuildError> {
    let direct = builder.clone().build().map(|limiter| limiter.horizon().as_nanos());
    let keyed = builder.keyed::<u64>(1).build().map(|limiter| limiter.horizon().as_nanos());
    assert_eq!(direct, keyed);
    direct
}

fn bucket(quota: Quota) -> Result<u64, BuildError> {
    horizon(TokenBucket::new(quota).clock(ManualClock::new()))
}

fn bucket_of(quota: Quota, burst: u64) -> Result<u64, BuildError> {
    horizon(TokenBucket::new(quota).burst(burst).clock(ManualClock::new()))
}

fn fixed(quota: Quota) -> Result<u64, BuildError> {
    horizon(FixedWindow::new(quota).clock(ManualClock::new()))
}

fn counter(quota: Quota) -> Result<u64, BuildError> {
    horizon(SlidingCounter::new(quota).clock(ManualClock::new()))
}

fn log(quota: Quota) -> Result<u64, BuildError> {
    horizon(SlidingLog::new(quota).clock(ManualClock::new()))
}

const ALGORITHMS: [fn(Quota) -> Result<u64, BuildError>; 4] = [bucket, fixed, counter, log];

#[test]
fn a_period_is_from_1_to_u64_max_ns() {
    for build in ALGORITHMS {
        assert_eq!(build(nanos(1, 0)), Err(BuildError::ZeroPeriod));
        assert!(build(nanos(1, 1)).is_ok());
        assert!(build(nanos(0, u64::MAX)).is_ok());
        let longer = Duration::from_nanos(u64::MAX) + Duration::from_nanos(1);
        assert_eq!(build(Quota::new(0, longer)), Err(BuildError::PeriodTooLong));
        assert_eq!(build(Quota::new(0, Duration::MAX)), Err(BuildError::PeriodTooLong));
    }
}

#[test]
fn a_rate_is_below_256_permits_per_ns() {
    for period_nanos in [1, 3, 1_000_000_000, u64::MAX >> 8] {
        let limit = 256 * period_nanos;
        let error = BuildError::RateTooHigh { limit, period_nanos };
        assert_eq!(bucket_of(nanos(limit, period_nanos), 1), Err(error));
        assert!(!matches!(bucket_of(nanos(limit - 1, period_nanos), 1), Err(BuildError::RateTooHigh { .. })));
    }
}

#[test]
fn a_bucket_tells_time_for_a_year() {
    // The faster the rate the shorter the horizon.
    let mut accepted = 0;
    for limit in 1..256 {
        match bucket_of(nanos(limit, 1), 1) {
            Ok(horizon) => {
                assert!(horizon >= YEAR_NANOS);
                assert_eq!(accepted, limit - 1, "a faster rate was refused");
                accepted = limit;
            }
            Err(BuildError::HorizonTooShort { horizon_nanos, min_nanos }) => {
                assert!(horizon_nanos < min_nanos);
                assert_eq!(min_nanos, YEAR_NANOS);
            }
            Err(error) => panic!("{limit} per ns: {error}"),
        }
    }
    assert!((17..255).contains(&accepted));
}

#[test]
fn a_burst_is_accepted_up_to_the_bound_that_is_named() {
    assert_eq!(bucket_of(Quota::per_second(1), 0), Err(BuildError::ZeroBurst));
    for quota in [Quota::per_day(1), Quota::per_second(999_983), nanos(1_250_000_000, 1_000_000_000)] {
        let refused = bucket_of(quota, u64::MAX);
        let Err(BuildError::BurstTooLarge { burst: u64::MAX, max }) = refused else {
            panic!("{quota}: {refused:?}")
        };
        assert!(bucket_of(quota, max).is_ok());
        assert_eq!(bucket_of(quota, max + 1), Err(BuildError::BurstTooLarge { burst: max + 1, max }));
    }
}

#[test]
fn windows_are_numbered_for_30_years() {
    for build in [fixed, counter] {
        for period in [1, 1_000, 1_000_000_000, YEAR_NANOS] {
            let Err(BuildError::LimitTooLarge { max, .. }) = build(nanos(u64::MAX, period)) else {
                panic!("accepted")
            };
            assert!(build(nanos(max, period)).is_ok_and(|horizon| horizon >= 30 * YEAR_NANOS));
            let error = BuildError::LimitTooLarge { limit: max + 1, max };
            assert_eq!(build(nanos(max + 1, period)), Err(error));
        }
    }
}

#[test]
fn a_log_holds_up_to_262_144_entries() {
    assert!(log(Quota::per_second(LOG_LIMIT_MAX)).is_ok());
    for limit in [LOG_LIMIT_MAX + 1, u64::MAX] {
        let error = BuildError::LimitTooLarge { limit, max: LOG_LIMIT_MAX };
        assert_eq!(log(Quota::per_second(limit)), Err(error));
    }
}

#[test]
fn a_log_of_100_000_entries_holds_exactly_those() -> Result<(), BuildError> {
    const LIMIT: u64 = 100_000;
    let clock = ManualClock::new();
    let limiter = SlidingLog::new(Quota::per_second(LIMIT)).clock(clock.clone()).build()?;
    // More than a lap, in batches that do not divide it.
    for second in 0..3 {
        let granted: u64 = (0..200).map(|_| if limiter.check_n(999).is_allowed() { 999 } else { 0 }).sum();
        assert_eq!(granted, LIMIT / 999 * 999, "second {second}");
        let refused = limiter.check_n(999);
        assert_eq!(refused.outcome(), Outcome::Denied);
        assert_eq!(refused.remaining(), Some(LIMIT % 999));
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
        clock.advance(Duration::from_secs(1));
    }
    Ok(())
}

#[test]
fn a_table_is_for_one_key_at_least_and_for_as_many_as_can_be_numbered() {
    fn refuses<A: Algorithm>(keyed: impl Fn(usize) -> KeyedBuilder<A, str>) {
        assert_eq!(keyed(0).build().err(), Some(BuildError::ZeroKeys));
        assert_eq!(keyed(0).memory_bytes(), Err(BuildError::ZeroKeys));
        let keys = usize::MAX;
        assert!(
            matches!(keyed(keys).build().err(), Some(BuildError::TooManyKeys { keys: k, max }) if k == keys && max < k)
        );
    }

    let quota = Quota::per_second(5);
    refuses(|keys| TokenBucket::new(quota).keyed(keys));
    refuses(|keys| FixedWindow::new(quota).keyed(keys));
    refuses(|keys| SlidingCounter::new(quota).keyed(keys));
    refuses(|keys| SlidingLog::new(quota).keyed(keys));
}

#[test]
fn a_table_beyond_all_memory_is_refused_with_its_size() {
    let builder = || SlidingLog::new(Quota::per_second(LOG_LIMIT_MAX)).keyed::<str>(1 << 38);
    let bytes = builder().memory_bytes();
    assert!(bytes.as_ref().is_ok_and(|bytes| *bytes > 1 << 58));
    assert_eq!(builder().build().err(), bytes.ok().map(|bytes| BuildError::OutOfMemory { bytes }));
}

#[test]
fn a_keyed_bucket_does_not_start_empty() {
    let bucket = TokenBucket::new(Quota::per_second(5)).start_empty();
    assert!(bucket.clone().build().is_ok());
    assert_eq!(bucket.keyed::<str>(1).build().err(), Some(BuildError::StartEmptyKeyed));
}

#[test]
fn an_overflow_with_a_quota_that_cannot_be_represented_is_refused() {
    let keyed = SlidingLog::new(Quota::per_second(5)).keyed::<str>(1);
    let shared = Overflow::Shared(Quota::per_second(LOG_LIMIT_MAX + 1));
    assert_eq!(
        keyed.overflow(shared).build().err(),
        Some(BuildError::LimitTooLarge { limit: LOG_LIMIT_MAX + 1, max: LOG_LIMIT_MAX })
    );
}

#[test]
fn of_several_mistakes_build_and_memory_bytes_tell_the_same() {
    let keyed = |keys| {
        let overflow = Overflow::Shared(nanos(1, 0));
        SlidingLog::new(nanos(LOG_LIMIT_MAX + 1, 1)).keyed::<u64>(keys).overflow(overflow)
    };
    for keys in [0, 1] {
        assert_eq!(keyed(keys).memory_bytes().err(), keyed(keys).build().err());
    }
}

/// A number of any magnitude.
fn magnitude() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
}

proptest! {
    #[test]
    fn any_configuration_is_built_or_refused(
        limit in magnitude(),
        period in prop_oneof![magnitude().prop_map(Duration::from_nanos), any::<Duration>()],
        burst in magnitude(),
    ) {
        let quota = Quota::new(limit, period);
        for (built, horizon_min) in [
            (bucket(quota), YEAR_NANOS),
            (bucket_of(quota, burst), YEAR_NANOS),
            (fixed(quota), 30 * YEAR_NANOS),
            (counter(quota), 30 * YEAR_NANOS),
            (log(quota), 30 * YEAR_NANOS),
        ] {
            match built {
                Ok(horizon) => prop_assert!(horizon >= horizon_min, "{}", horizon),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
