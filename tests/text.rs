//! Quotas and algorithms as text.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{AnyAlgorithm, FixedWindow, ParseErrorKind, Quota, SlidingCounter, SlidingLog, TokenBucket};

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

fn nanos(limit: u64, period: u64) -> Quota {
    Quota::new(limit, Duration::from_nanos(period))
}

#[test]
fn every_unit_is_read_with_a_count_and_without() {
    for (unit, period) in UNITS {
        assert_eq!(format!("10/{unit}").parse(), Ok(nanos(10, period)));
        assert_eq!(format!("10/1{unit}").parse(), Ok(nanos(10, period)));
        assert_eq!(format!("10/7{unit}").parse(), Ok(nanos(10, 7 * period)));
    }
}

#[test]
fn every_unit_is_read_up_to_the_longest_period() {
    for (unit, period) in UNITS {
        let most = u64::MAX / period;
        assert_eq!(format!("1/{most}{unit}").parse(), Ok(nanos(1, most * period)));
        let more = u128::from(most) + 1;
        let error = format!("1/{more}{unit}").parse::<Quota>().expect_err("too long");
        assert_eq!((error.kind(), error.span().start), (ParseErrorKind::PeriodTooLong, 2));
    }
}

#[test]
fn a_period_is_written_in_the_largest_unit_that_divides_it() {
    for (quota, text) in [
        (Quota::per_second(100), "100/s"),
        (Quota::per_minute(100), "100/min"),
        (Quota::per_hour(1), "1/h"),
        (Quota::per_day(0), "0/d"),
        (nanos(10, 60_000_000_000), "10/min"),
        (nanos(10, 90_000_000_000), "10/90s"),
        (nanos(10, 7 * 86_400_000_000_000), "10/7d"),
        (nanos(5, 1_500_000_000), "5/1500ms"),
        (nanos(5, 1_500_000), "5/1500us"),
        (nanos(5, 1_000), "5/us"),
        (nanos(5, 1), "5/ns"),
        (nanos(u64::MAX, u64::MAX), "18446744073709551615/18446744073709551615ns"),
    ] {
        assert_eq!(quota.to_string(), text);
        assert_eq!(text.parse(), Ok(quota));
    }
}

#[test]
fn a_period_too_long_to_be_read_is_still_written() {
    assert_eq!(Quota::new(1, Duration::MAX).to_string(), format!("1/{}ns", Duration::MAX.as_nanos()));
}

#[test]
fn spaces_around_the_parts_do_not_matter() {
    for text in
        ["10/60s", " 10/60s ", "10 / 60s", "10/60 s", "010/060s", "10 per 60 s", "10per minute", "1_0/6_0s"]
    {
        assert_eq!(text.parse(), Ok(nanos(10, 60_000_000_000)), "{text:?}");
    }
}

#[test]
fn a_limit_may_be_a_size_and_numbers_may_have_a_fraction_that_comes_out_whole() {
    for (text, limit, period) in [
        ("1.5MB/s", 1_500_000, 1_000_000_000),
        ("4B/s", 4, 1_000_000_000),
        ("2 kB per 2s", 2_000, 2_000_000_000),
        ("1.5KiB/ms", 1_536, 1_000_000),
        ("3GB/h", 3_000_000_000, 3_600_000_000_000),
        ("1MiB/us", 1 << 20, 1_000),
        ("1GiB/day", 1 << 30, 86_400_000_000_000),
        ("16777215TiB/s", 16_777_215 << 40, 1_000_000_000),
        ("18446744.073709551615TB/s", u64::MAX, 1_000_000_000),
        ("5.000/0.5s", 5, 500_000_000),
        ("1_000_000 per 1.5 hours", 1_000_000, 5_400_000_000_000),
    ] {
        assert_eq!(text.parse(), Ok(nanos(limit, period)), "{text:?}");
    }
}

#[test]
fn every_long_form_of_a_unit_is_read() {
    for (names, period) in [
        (["s", "sec", "second", "seconds"].as_slice(), 1_000_000_000),
        (&["min", "minute", "minutes"], 60_000_000_000),
        (&["h", "hour", "hours"], 3_600_000_000_000),
        (&["d", "day", "days"], 86_400_000_000_000),
    ] {
        for name in names {
            assert_eq!(format!("10 per {name}").parse(), Ok(nanos(10, period)));
        }
    }
}

#[test]
fn what_is_wrong_with_a_quota_is_told_with_its_place() {
    use ParseErrorKind::{
        Empty, FixedWindowOnly, Negative, PartOfNano, PartOfPermit, Per, Period, PeriodTooLong, Permits,
        SizeUnit, SlidingLogOnly, TimeUnit, TokenBucketOnly, TooManyPermits, Trailing, ZeroPeriod,
    };

    for (text, kind, part, expected) in [
        ("", Empty, "", "`100/min`"),
        ("  ", Empty, "", "`100/min`"),
        ("10", Per, "", "`/` or `per`"),
        ("1 0/s", Per, "0", "`per`"),
        ("1./s", Per, ".", "`per`"),
        ("10 permits/s", Per, "permits", "`per`"),
        ("/s", Permits, "/", "a number of permits"),
        ("x/s", Permits, "x", "a number of permits"),
        ("+1/s", Permits, "+", "a number of permits"),
        ("-1/s", Negative, "-1", "not negative"),
        ("1/-1s", Negative, "-1", "not negative"),
        ("1.5/s", PartOfPermit, "1.5", "a whole number"),
        ("1.3KiB/s", PartOfPermit, "1.3KiB", "a whole number"),
        ("1.5kiB/s", SizeUnit, "kiB", "`KiB`"),
        ("1e3/s", SizeUnit, "e3", "or none"),
        ("18446744073709551616/s", TooManyPermits, "18446744073709551616", "2^64"),
        ("18446744.073709551616TB/s", TooManyPermits, "18446744.073709551616TB", "2^64"),
        (
            "9999999999999999999999999999999999999999999TB/s",
            TooManyPermits,
            "9999999999999999999999999999999999999999999TB",
            "2^64",
        ),
        ("10 per", Period, "", "`60s`"),
        ("1/", Period, "", "`60s`"),
        ("1/S", Period, "S", "`60s`"),
        ("1/m", Period, "m", "`min`"),
        ("1/\u{663}s", Period, "\u{663}", "`60s`"),
        ("10/fortnight", Period, "fortnight", "`60s`"),
        ("1/60", TimeUnit, "", "`ns`"),
        ("1/60 x", TimeUnit, "x", "`ns`"),
        ("5 per 1.5ns", PartOfNano, "1.5ns", "ns"),
        ("1/0s", ZeroPeriod, "0s", "1 ns"),
        ("1/0.0 h", ZeroPeriod, "0.0 h", "1 ns"),
        ("1/18446744073709551616ns", PeriodTooLong, "18446744073709551616ns", "2^64"),
        ("1/213504d", PeriodTooLong, "213504d", "2^64"),
        ("1/s/s", Trailing, "/", "end of the text"),
        ("1/s s", Trailing, "s", "end of the text"),
        ("10/60s burst 20", TokenBucketOnly, "burst", "token bucket"),
        ("10/60s max-wait 5s", TokenBucketOnly, "max-wait", "token bucket"),
        ("10/60s utc", FixedWindowOnly, "utc", "fixed window"),
        ("10/60s without-remaining", SlidingLogOnly, "without-remaining", "sliding log"),
    ] {
        let error = text.parse::<Quota>().expect_err(text);
        let told = error.to_string();
        assert_eq!((error.kind(), text.get(error.span())), (kind, Some(part)), "{text:?}: {told}");
        let at = format!("at byte {}: ", error.span().start);
        assert!(told.contains(expected) && told.contains(&at), "{text:?}: {told}");
        assert!(
            told.ends_with(&if part.is_empty() { "the text ends there".into() } else { format!("`{part}`") })
                || part.len() > 40
        );
    }
}

#[test]
fn what_is_quoted_of_a_text_is_short_and_printable() {
    let error = format!("10/{}", "x".repeat(1000)).parse::<Quota>().expect_err("no unit");
    assert!(error.to_string().ends_with(&format!("`{}…`", "x".repeat(40))), "{error}");
    let error = "10/\u{7}".parse::<Quota>().expect_err("no unit");
    assert!(error.to_string().ends_with("`\\u{7}`"), "{error}");
}

fn second(limit: u64) -> Quota {
    Quota::per_second(limit)
}

#[test]
fn every_option_of_every_algorithm_is_written_and_read() {
    let hours = Duration::from_secs(3 * 3600);
    let bucket = TokenBucket::new(second(5));
    let log = SlidingLog::new(second(5));
    for (algorithm, text) in [
        (AnyAlgorithm::from(bucket.clone()), "token-bucket 5/s"),
        (bucket.clone().burst(20).into(), "token-bucket 5/s burst 20"),
        (bucket.clone().burst(0).into(), "token-bucket 5/s burst 0"),
        (
            bucket.burst(7).start_empty().max_wait(Duration::from_millis(500)).into(),
            "token-bucket 5/s burst 7 start-empty max-wait 500ms",
        ),
        (FixedWindow::new(second(5)).into(), "fixed-window 5/s"),
        (FixedWindow::new(second(5)).aligned_to_utc().into(), "fixed-window 5/s utc"),
        (FixedWindow::new(second(5)).aligned_to_utc_plus(hours).into(), "fixed-window 5/s utc+3h"),
        (SlidingCounter::new(second(5)).into(), "sliding-counter 5/s"),
        (log.clone().into(), "sliding-log 5/s"),
        (log.without_remaining().into(), "sliding-log 5/s without-remaining"),
    ] {
        assert_eq!(algorithm.to_string(), text);
        assert_eq!(text.parse(), Ok(algorithm));
    }
    for (text, same) in [
        ("5/s", "token-bucket 5/s"),
        ("  5 per second  burst 1kB ", "token-bucket 5/s burst 1000"),
        ("5/s max-wait 5s burst 2 start-empty", "token-bucket 5/s burst 2 start-empty max-wait 5s"),
        ("fixed-window 5/s utc + 180 min", "fixed-window 5/s utc+3h"),
    ] {
        assert_eq!(text.parse::<AnyAlgorithm>().map(|algorithm| algorithm.to_string()), Ok(same.into()));
    }
}

#[test]
fn each_algorithm_is_read_with_its_own_name_or_without() {
    assert_eq!("token-bucket 5/s burst 2".parse(), Ok(TokenBucket::new(second(5)).burst(2)));
    assert_eq!("5/s burst 2".parse(), Ok(TokenBucket::new(second(5)).burst(2)));
    assert_eq!("fixed-window 5/s utc".parse(), Ok(FixedWindow::new(second(5)).aligned_to_utc()));
    assert_eq!("5/s".parse(), Ok(SlidingCounter::new(second(5))));
    assert_eq!("5/s without-remaining".parse(), Ok(SlidingLog::new(second(5)).without_remaining()));
    let other = "sliding-log 5/s".parse::<TokenBucket>().expect_err("another algorithm");
    assert_eq!((other.kind(), other.span()), (ParseErrorKind::Permits, 0..11));
}

#[test]
fn what_is_wrong_with_an_algorithm_is_told_with_its_place() {
    use ParseErrorKind::{
        DurationTooLong, Empty, FixedWindowOnly, Negative, Period, Permits, Repeated, SlidingLogOnly,
        TokenBucketOnly, UnknownAlgorithm, UnknownOption,
    };

    for (text, kind, part) in [
        ("", Empty, ""),
        ("leaky 5/s", UnknownAlgorithm, "leaky"),
        ("sliding-log", Permits, ""),
        ("100/min bursty 5", UnknownOption, "bursty"),
        ("sliding-log 10/60s sliding-log", UnknownOption, "sliding-log"),
        ("100/min burst", Permits, ""),
        ("100/min burst -2", Negative, "-2"),
        ("100/min burst 20 burst 3", Repeated, "burst"),
        ("100/min start-empty start-empty", Repeated, "start-empty"),
        ("100/min max-wait 1s max-wait 1s", Repeated, "max-wait"),
        ("100/min max-wait 0s max-wait 5s", Repeated, "max-wait"),
        ("100/min max-wait", Period, ""),
        ("100/min max-wait 99999999999999999999d", DurationTooLong, "99999999999999999999d"),
        ("100/min utc", FixedWindowOnly, "utc"),
        ("fixed-window 5/s utc utc", Repeated, "utc"),
        ("fixed-window 5/s utc+", Period, ""),
        ("fixed-window 5/s burst 2", TokenBucketOnly, "burst"),
        ("sliding-counter 5/s without-remaining", SlidingLogOnly, "without-remaining"),
        ("sliding-log 5/s without-remaining without-remaining", Repeated, "without-remaining"),
        ("sliding-log 5/s max-wait 1s", TokenBucketOnly, "max-wait"),
    ] {
        let error = text.parse::<AnyAlgorithm>().expect_err(text);
        assert_eq!((error.kind(), text.get(error.span())), (kind, Some(part)), "{text:?}: {error}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn serialized_they_are_their_text_and_what_is_wrong_is_told() {
    let algorithm = AnyAlgorithm::from(TokenBucket::new(second(5)).burst(20));
    assert_eq!(serde_json::to_string(&algorithm).expect("a text"), "\"token-bucket 5/s burst 20\"");
    assert_eq!(serde_json::from_str::<AnyAlgorithm>("\"5/s burst 20\"").ok(), Some(algorithm));
    assert_eq!(serde_json::from_str::<Quota>("\"5 per second\"").ok(), Some(second(5)));
    assert_eq!(serde_json::to_string(&second(5)).expect("a text"), "\"5/s\"");
    assert_eq!(serde_json::from_str::<TokenBucket>("\"5/s\"").ok(), Some(TokenBucket::new(second(5))));
    assert_eq!(serde_json::from_str::<FixedWindow>("\"5/s\"").ok(), Some(FixedWindow::new(second(5))));
    assert_eq!(serde_json::from_str::<SlidingCounter>("\"5/s\"").ok(), Some(SlidingCounter::new(second(5))));
    assert_eq!(serde_json::from_str::<SlidingLog>("\"5/s\"").ok(), Some(SlidingLog::new(second(5))));
    let error = serde_json::from_str::<AnyAlgorithm>("\"5/fortnight\"").expect_err("no unit").to_string();
    assert!(error.contains("expected a period such as `60s` or `min` at byte 2: `fortnight`"), "{error}");
    let error = serde_json::from_str::<Quota>("5").expect_err("a number").to_string();
    assert!(error.contains("expected a quota such as `100/min`"), "{error}");
}

fn any_algorithm() -> impl Strategy<Value = AnyAlgorithm> {
    let quota = (any::<u64>(), 1..=u64::MAX).prop_map(|(limit, period)| nanos(limit, period));
    let time = (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos));
    (quota, 0..5, any::<Option<u64>>(), any::<bool>(), proptest::option::of(time)).prop_map(
        |(quota, which, burst, flag, time)| match which {
            0 => {
                let bucket = TokenBucket::new(quota).max_wait(time.unwrap_or_default());
                let bucket = burst.map_or(bucket.clone(), |burst| bucket.burst(burst));
                if flag { bucket.start_empty().into() } else { bucket.into() }
            }
            1 => FixedWindow::new(quota).aligned_to_utc_plus(time.unwrap_or_default()).into(),
            2 => FixedWindow::new(quota).into(),
            3 => SlidingCounter::new(quota).into(),
            _ if flag => SlidingLog::new(quota).without_remaining().into(),
            _ => SlidingLog::new(quota).into(),
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(
        limit in any::<u64>(),
        count in any::<u64>(),
        shift in 0..64_u32,
        unit in proptest::sample::select(&UNITS[..]),
    ) {
        // Periods of any magnitude, of which many are whole in some unit.
        let period = (count >> shift).saturating_mul(unit.1).max(1);
        let quota = nanos(limit, period);
        prop_assert_eq!(quota.to_string().parse(), Ok(quota));
    }

    #[test]
    fn algorithms_written_read_the_same(algorithm in any_algorithm()) {
        prop_assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".*", number in any::<u128>()) {
        let texts = [text.clone(), format!("1/{text}"), format!("{text}/s"), format!("1/{number}{text}")];
        for text in &texts {
            // What is read is written in some form of the same meaning.
            match text.parse::<Quota>() {
                Ok(quota) => prop_assert_eq!(quota.to_string().parse(), Ok(quota)),
                Err(error) => prop_assert!(text.get(error.span()).is_some(), "{error}"),
            }
            match text.parse::<AnyAlgorithm>() {
                Ok(algorithm) => prop_assert_eq!(algorithm.to_string().parse(), Ok(algorithm)),
                Err(error) => prop_assert!(text.get(error.span()).is_some(), "{error}"),
            }
        }
    }
}
