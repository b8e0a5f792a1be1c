//! What cannot be built or read is told by an error that names the bound; and whatever can be built works.

use std::time::Duration;

use tollgate::{
    Algorithm, BuildError, Builder, Decision, FixedWindow, Instant, Limiter, ManualClock, Outcome, Quota,
    SlidingCounter, SlidingLog, TokenBucket,
};

const YEAR_NANOS: u64 = 365 * 24 * 3600 * 1_000_000_000;

fn nanos(period: u64) -> Duration {
    Duration::from_nanos(period)
}

/// Asserts that the message is a phrase that names the numbers.
fn assert_message(error: &BuildError, numbers: &[u128]) {
    let message = error.to_string();
    assert!(!message.starts_with(char::is_uppercase) && !message.ends_with('.'), "{message}");
    for number in numbers {
        let words = message.split(|c: char| !c.is_ascii_digit());
        assert!(words.into_iter().any(|word| word == number.to_string()), "{message}: no {number}");
    }
}

#[test]
fn period_of_zero_is_refused_by_each_algorithm() {
    let quota = Quota::new(5, Duration::ZERO);
    for error in [
        TokenBucket::new(quota).build().err(),
        FixedWindow::new(quota).build().err(),
        SlidingCounter::new(quota).build().err(),
        SlidingLog::new(quota).build().err(),
    ] {
        assert_eq!(error, Some(BuildError::ZeroPeriod));
    }
    assert_message(&BuildError::ZeroPeriod, &[1]);
}

#[test]
fn period_of_more_than_64_bits_is_refused_and_of_64_bits_is_not() {
    let longest = nanos(u64::MAX);
    assert!(FixedWindow::new(Quota::new(5, longest)).build().is_ok());
    let error = FixedWindow::new(Quota::new(5, longest + nanos(1))).build().err();
    assert_eq!(error, Some(BuildError::PeriodTooLong));
    assert_message(&BuildError::PeriodTooLong, &[u128::from(u64::MAX)]);
}

#[test]
fn burst_of_zero_is_refused_and_a_limit_of_zero_is_not() {
    let error = TokenBucket::new(Quota::per_second(5)).burst(0).build().err();
    assert_eq!(error, Some(BuildError::ZeroBurst));
    assert_message(&BuildError::ZeroBurst, &[0, 1]);
    assert!(TokenBucket::new(Quota::per_second(0)).build().is_ok());
}

#[test]
fn rate_of_256_permits_per_ns_is_refused() {
    for (limit, period) in [(256, 1), (256_000, 1000), (u64::MAX, 1), (1 << 63, 1 << 55)] {
        let error = TokenBucket::new(Quota::new(limit, nanos(period))).build().expect_err("too fast");
        assert_eq!(error, BuildError::RateTooHigh { limit, period_nanos: period });
        assert_message(&error, &[limit.into(), period.into(), 256]);
    }
}

#[test]
fn rate_too_high_to_tell_a_year_is_refused() {
    let error = TokenBucket::new(Quota::new(255, nanos(1))).build().expect_err("too fast");
    let BuildError::HorizonTooShort { horizon_nanos, min_nanos } = error else { panic!("{error:?}") };
    assert!(horizon_nanos < min_nanos, "{error:?}");
    assert_eq!(min_nanos, YEAR_NANOS);
    assert_message(&error, &[horizon_nanos.into(), min_nanos.into()]);
}

#[test]
fn burst_above_the_bound_it_is_told_is_refused_and_the_bound_is_not() {
    for quota in [Quota::per_second(1), Quota::per_day(1), Quota::per_hour(7), Quota::per_second(600_000_000)]
    {
        let bucket = TokenBucket::new(quota);
        let error = bucket.clone().burst(u64::MAX).build().expect_err("too large");
        let BuildError::BurstTooLarge { burst: u64::MAX, max } = error else { panic!("{error:?}") };
        assert_message(&error, &[u64::MAX.into(), max.into()]);
        assert!(bucket.clone().burst(max).build().is_ok(), "{quota}: {max}");
        assert_eq!(
            bucket.burst(max + 1).build().err(),
            Some(BuildError::BurstTooLarge { burst: max + 1, max })
        );
    }
}

#[test]
fn limit_above_the_bound_it_is_told_is_refused_and_the_bound_is_not() {
    assert_limit_bound(nanos(1), |quota| FixedWindow::new(quota).clock(ManualClock::new()));
    assert_limit_bound(nanos(1_000_000_000), |quota| FixedWindow::new(quota).clock(ManualClock::new()));
    assert_limit_bound(nanos(u64::MAX), |quota| SlidingCounter::new(quota).clock(ManualClock::new()));
    assert_limit_bound(nanos(1_000_000_000), |quota| SlidingLog::new(quota).clock(ManualClock::new()));
}

fn assert_limit_bound<A: Algorithm>(period: Duration, limiter: impl Fn(Quota) -> Builder<A, ManualClock>) {
    let build = |limit| limiter(Quota::new(limit, period)).build();
    let error = build(u64::MAX).expect_err("too large");
    let BuildError::LimitTooLarge { limit: u64::MAX, max } = error else { panic!("{error:?}") };
    assert_message(&error, &[u64::MAX.into(), max.into()]);
    assert!(build(max).is_ok(), "{max}");
    assert_eq!(build(max + 1).err(), Some(BuildError::LimitTooLarge { limit: max + 1, max }));
}

#[test]
fn keyed_bucket_that_starts_empty_is_refused() {
    let error = TokenBucket::new(Quota::per_second(5)).start_empty().keyed::<str>(10).build().err();
    assert_eq!(error, Some(BuildError::StartEmptyKeyed));
    assert_message(&BuildError::StartEmptyKeyed, &[]);
}

#[test]
fn number_of_keys_that_cannot_be_numbered_is_refused() {
    let build = |keys| FixedWindow::new(Quota::per_second(5)).keyed::<str>(keys).build();
    assert_eq!(build(0).err(), Some(BuildError::ZeroKeys));
    assert_message(&BuildError::ZeroKeys, &[1]);

    let error = build(usize::MAX).expect_err("too many");
    let BuildError::TooManyKeys { keys: usize::MAX, max } = error else { panic!("{error:?}") };
    assert_message(&error, &[usize::MAX as u128, max as u128]);
    let told = FixedWindow::new(Quota::per_second(5)).keyed::<str>(max).memory_bytes();
    assert!(told.is_ok(), "{told:?}");
}

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let table = SlidingLog::new(Quota::per_second(200_000)).keyed::<str>(1_000_000_000);
    let bytes = table.memory_bytes().expect("the configuration is legal");
    let error = table.build().expect_err("more than a PiB");
    assert_eq!(error, BuildError::OutOfMemory { bytes });
    assert_message(&error, &[bytes]);
}

#[test]
fn quota_written_as_text_is_read_back() {
    for (quota, text) in [
        (Quota::per_second(100), "100/s"),
        (Quota::per_minute(0), "0/min"),
        (Quota::per_hour(u64::MAX), "18446744073709551615/h"),
        (Quota::per_day(1), "1/d"),
        (Quota::new(10, Duration::from_secs(90)), "10/90s"),
        (Quota::new(10, nanos(u64::MAX)), "10/18446744073709551615ns"),
    ] {
        assert_eq!(quota.to_string(), text);
        assert_eq!(text.parse(), Ok(quota));
    }
    assert_eq!(" 10 / 60 s ".parse(), Ok(Quota::per_minute(10)));
}

/// 0, and the numbers around every fourth power of two.
fn edges() -> impl Iterator<Item = u64> + Clone {
    let around = |bit: u32| {
        let power = 1_u64 << bit;
        [power - 1, power, power.saturating_add(1)]
    };
    (0..64).step_by(4).chain([63]).flat_map(around).chain([u64::MAX - 1, u64::MAX])
}

/// Whatever a decision can be asked.
fn details(decision: Decision) -> (Outcome, Option<u64>, Option<u64>, Option<u64>) {
    let (wait, reset) = (decision.retry_after_nanos(), decision.reset_after_nanos());
    (decision.outcome(), decision.remaining(), wait, reset)
}

/// A limiter that was built grants its limit once and tells when it will again; nothing panics at the end of time.
fn assert_sane<A: Algorithm>(limiter: Builder<A, ManualClock>, capacity: u64) {
    let Ok(limiter) = limiter.build() else { return };
    let horizon = limiter.horizon().as_nanos();
    assert!(horizon >= YEAR_NANOS, "{limiter:?}");

    let begin = limiter.check_at(Instant::ORIGIN, capacity);
    assert!(begin.is_allowed(), "{limiter:?}");
    assert_eq!(begin.limit(), capacity);
    assert_eq!(begin.remaining(), Some(0));
    if capacity > 0 {
        assert_refusals(&limiter, horizon);
    }
    if let Some(above) = capacity.checked_add(1) {
        assert_eq!(details(limiter.check_at(Instant::ORIGIN, above)).0, Outcome::TooLarge);
    }
    for now in [1, horizon - 1, horizon, horizon.saturating_add(1), u64::MAX] {
        let _ = details(limiter.check_at(Instant::from_nanos(now), capacity));
        let (outcome, ..) = details(limiter.check_at(Instant::from_nanos(now), 1));
        assert!(capacity == 0 || outcome != Outcome::TooLarge, "{limiter:?}");
    }
}

/// The wait of a drained limiter is exact, or longer than it can tell.
fn assert_refusals<A: Algorithm>(limiter: &Limiter<A, ManualClock>, horizon: u64) {
    let (outcome, remaining, wait, reset) = details(limiter.check_at(Instant::ORIGIN, 1));
    assert_eq!((outcome, remaining), (Outcome::Denied, Some(0)), "{limiter:?}");
    match wait {
        None => assert_eq!(reset, None, "{limiter:?}"),
        Some(wait) => {
            assert!(wait > 0 && wait <= horizon, "{limiter:?}");
            assert!(reset.is_none_or(|reset| reset >= wait), "{limiter:?}");
            assert!(!limiter.peek_at(Instant::from_nanos(wait - 1), 1).is_allowed(), "{limiter:?}");
            assert!(limiter.peek_at(Instant::from_nanos(wait), 1).is_allowed(), "{limiter:?}");
        }
    }
}

fn quotas() -> impl Iterator<Item = Quota> {
    edges().flat_map(|limit| edges().map(move |period| Quota::new(limit, nanos(period))))
}

#[test]
fn bucket_of_any_size_is_refused_or_works() {
    let clock = ManualClock::new();
    for quota in quotas() {
        let bucket = TokenBucket::new(quota);
        assert_sane(bucket.clone().clock(clock.clone()), quota.limit());
        for burst in edges() {
            assert_sane(bucket.clone().burst(burst).clock(clock.clone()), burst);
        }
    }
}

#[test]
fn fixed_window_of_any_size_is_refused_or_works() {
    for quota in quotas() {
        assert_sane(FixedWindow::new(quota).clock(ManualClock::new()), quota.limit());
        let aligned = FixedWindow::new(quota).aligned_to_utc_plus(Duration::MAX);
        assert_sane(aligned.clock(ManualClock::starting_at(Duration::MAX)), quota.limit());
    }
}

#[test]
fn sliding_counter_of_any_size_is_refused_or_works() {
    for quota in quotas() {
        assert_sane(SlidingCounter::new(quota).clock(ManualClock::new()), quota.limit());
    }
}

#[test]
fn sliding_log_of_any_size_is_refused_or_works() {
    for quota in quotas() {
        assert_sane(SlidingLog::new(quota).clock(ManualClock::new()), quota.limit());
    }
}
