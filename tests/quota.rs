//! The text form of a quota.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{ParseQuotaError, Quota};

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
        assert_eq!(format!("1/{more}{unit}").parse::<Quota>(), Err(ParseQuotaError::Period));
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
    for text in ["10/60s", " 10/60s ", "10 / 60s", "10/60 s", "010/060s"] {
        assert_eq!(text.parse(), Ok(nanos(10, 60_000_000_000)), "{text:?}");
    }
}

#[test]
fn what_is_wrong_with_a_text_is_told() {
    use ParseQuotaError::{Limit, NoSlash, Period, Unit};

    for (text, error) in [
        ("", NoSlash),
        ("10", NoSlash),
        ("10 per s", NoSlash),
        ("/s", Limit),
        ("x/s", Limit),
        ("1.5/s", Limit),
        ("1_000/s", Limit),
        ("-1/s", Limit),
        ("+1/s", Limit),
        ("1 0/s", Limit),
        ("18446744073709551616/s", Limit),
        ("1/0s", Period),
        ("1/18446744073709551616ns", Period),
        ("1/213504d", Period),
        ("1/", Unit),
        ("1/60", Unit),
        ("1/S", Unit),
        ("1/m", Unit),
        ("1/sec", Unit),
        ("1/-1s", Unit),
        ("1/+1s", Unit),
        ("1/1.5s", Unit),
        ("1/s/s", Unit),
        ("1/s s", Unit),
        ("1/٣s", Unit),
    ] {
        assert_eq!(text.parse::<Quota>(), Err(error), "{text:?}");
        assert!(!error.to_string().is_empty());
    }
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
    fn any_text_is_read_or_refused(text in ".*", number in any::<u128>()) {
        let texts = [text.clone(), format!("1/{text}"), format!("{text}/s"), format!("1/{number}{text}")];
        for text in &texts {
            // What is read is written in some form of the same meaning.
            if let Ok(quota) = text.parse::<Quota>() {
                prop_assert_eq!(quota.to_string().parse(), Ok(quota));
            }
        }
    }
}
