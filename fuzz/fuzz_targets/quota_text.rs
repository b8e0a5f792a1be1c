//! Quotas and algorithms as text: any text is read as the grammar says, or refused at a place of its own; and what is
//! written is read again as the same.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use oracle::from_bytes::magnitude;
use tollgate::{AnyAlgorithm, ParseError, ParseErrorKind, Quota};

const UNITS: [(&str, u128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

/// The number that these digits are, if they are some and it is below 2^64.
fn number(digits: &str) -> Option<u64> {
    let value = digits.chars().try_fold(0_u128, |value, digit| {
        let digit = "0123456789".find(digit)? as u128;
        Some((value * 10 + digit).min(1 << 64))
    });
    value.filter(|_| !digits.is_empty()).and_then(|value| u64::try_from(value).ok())
}

/// `LIMIT/[COUNT]UNIT`, with spaces around the limit, the count and the unit: what the plainest texts say, if this is
/// one.
fn reading(text: &str) -> Option<Quota> {
    let (limit, period) = text.split_once('/')?;
    let limit = number(limit.trim())?;
    let period = period.trim();
    let unit = period.trim_start_matches(|c| "0123456789".contains(c));
    let count = match &period[..period.len() - unit.len()] {
        "" => 1,
        digits => number(digits)?,
    };
    let (_, nanos) = UNITS.into_iter().find(|(name, _)| *name == unit.trim())?;
    let nanos = u64::try_from(u128::from(count) * nanos).ok().filter(|nanos| *nanos > 0)?;
    Some(Quota::new(limit, Duration::from_nanos(nanos)))
}

fn any_text(text: &str) {
    let is_told = |error: &ParseError| {
        assert!(text.get(error.span()).is_some(), "{text:?}: {error:?}");
        assert!(!error.to_string().is_empty());
    };
    let parsed = text.parse::<Quota>();
    if let Some(quota) = reading(text) {
        assert_eq!(parsed, Ok(quota), "{text:?}");
    }
    match parsed {
        Ok(quota) => is_written_as_it_reads(quota),
        Err(error) => is_told(&error),
    }
    // With options behind it, and a name before.
    for text in [
        text.to_owned(),
        format!("5/s {text}"),
        format!("fixed-window 5/s {text}"),
        format!("sliding-log {text}"),
    ] {
        match text.parse::<AnyAlgorithm>() {
            Ok(algorithm) => assert_eq!(algorithm.to_string().parse(), Ok(algorithm), "{text:?}"),
            Err(error) => assert!(text.get(error.span()).is_some(), "{text:?}: {error:?}"),
        }
    }
}

/// In the largest unit that divides the period, and read again as the same.
fn is_written_as_it_reads(quota: Quota) {
    let (text, nanos) = (quota.to_string(), quota.period().as_nanos());
    let expected = if nanos == 0 {
        Err(ParseErrorKind::ZeroPeriod)
    } else if nanos > u64::MAX.into() {
        Err(ParseErrorKind::PeriodTooLong)
    } else {
        let (unit, in_unit) =
            UNITS.iter().rfind(|(_, unit)| nanos.is_multiple_of(*unit)).unwrap_or(&UNITS[0]);
        let count = if nanos == *in_unit { String::new() } else { (nanos / in_unit).to_string() };
        assert_eq!(text, format!("{}/{count}{unit}", quota.limit()));
        Ok(quota)
    };
    assert_eq!(text.parse::<Quota>().map_err(|error| error.kind()), expected, "{text}");
}

/// A text that is a quota, or whose period is only too long, with its parts as they are.
fn written(bytes: &mut Unstructured<'_>) -> Result<()> {
    let (limit, count) = (magnitude(bytes)?, magnitude(bytes)?);
    let (unit, nanos) = *bytes.choose(&UNITS)?;
    let spaces = ["", " ", "\t", "\u{3000} "];
    let mut space = || bytes.choose(&spaces).copied();
    let zeros = if count % 3 == 0 { "00" } else { "" };
    let text = format!(
        "{}{zeros}{limit}{}/{}{zeros}{count}{}{unit}{}",
        space()?,
        space()?,
        space()?,
        space()?,
        space()?
    );
    let expected = match u64::try_from(u128::from(count) * nanos) {
        Ok(0) => Err(ParseErrorKind::ZeroPeriod),
        Ok(nanos) => Ok(Quota::new(limit, Duration::from_nanos(nanos))),
        Err(_) => Err(ParseErrorKind::PeriodTooLong),
    };
    assert_eq!(text.parse::<Quota>().map_err(|error| error.kind()), expected, "{text:?}");
    Ok(())
}

/// Any quota at all.
fn any_quota(bytes: &mut Unstructured<'_>) -> Result<()> {
    let (limit, seconds, nanos) = (magnitude(bytes)?, magnitude(bytes)?, bytes.arbitrary::<u32>()?);
    is_written_as_it_reads(Quota::new(limit, Duration::new(seconds, nanos % 1_000_000_000)));
    let (count, unit) = (magnitude(bytes)?, bytes.choose(&UNITS)?.1);
    let nanos = u64::try_from(u128::from(count) * unit).unwrap_or(u64::MAX);
    is_written_as_it_reads(Quota::new(limit, Duration::from_nanos(nanos)));
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    any_text(&String::from_utf8_lossy(bytes));
    // The same bytes, for numbers.
    let mut numbers = Unstructured::new(bytes);
    let _ = written(&mut numbers).and_then(|()| any_quota(&mut numbers));
});
