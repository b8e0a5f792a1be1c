//! The text form of quotas: any text is read as the grammar says, or refused for the right reason.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use oracle::from_bytes::magnitude;
use tollgate::{ParseQuotaError, Quota};

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

/// `LIMIT/[COUNT]UNIT`, with spaces around the limit, the count and the unit; judged from left to right.
fn reading(text: &str) -> std::result::Result<Quota, ParseQuotaError> {
    let slash = text.find('/').ok_or(ParseQuotaError::NoSlash)?;
    let limit = number(text[..slash].trim()).ok_or(ParseQuotaError::Limit)?;
    let period = text[slash + 1..].trim();
    let unit = period.trim_start_matches(|c| "0123456789".contains(c));
    let count = match &period[..period.len() - unit.len()] {
        "" => 1,
        digits => number(digits).ok_or(ParseQuotaError::Period)?,
    };
    let (_, nanos) = UNITS.into_iter().find(|(name, _)| *name == unit.trim()).ok_or(ParseQuotaError::Unit)?;
    let nanos = u64::try_from(u128::from(count) * nanos).map_err(|_| ParseQuotaError::Period)?;
    if nanos == 0 {
        return Err(ParseQuotaError::Period);
    }
    Ok(Quota::new(limit, Duration::from_nanos(nanos)))
}

fn any_text(text: &str) {
    let parsed = text.parse::<Quota>();
    assert_eq!(parsed, reading(text), "{text:?}");
    match parsed {
        Ok(quota) => is_written_as_it_reads(quota),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// In the largest unit that divides the period, and read again as the same.
fn is_written_as_it_reads(quota: Quota) {
    let (text, nanos) = (quota.to_string(), quota.period().as_nanos());
    let expected = if nanos == 0 || nanos > u64::MAX.into() {
        Err(ParseQuotaError::Period)
    } else {
        let (unit, in_unit) =
            UNITS.iter().rfind(|(_, unit)| nanos.is_multiple_of(*unit)).unwrap_or(&UNITS[0]);
        let count = if nanos == *in_unit { String::new() } else { (nanos / in_unit).to_string() };
        assert_eq!(text, format!("{}/{count}{unit}", quota.limit()));
        Ok(quota)
    };
    assert_eq!(text.parse(), expected, "{text}");
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
        Ok(nanos) if nanos > 0 => Ok(Quota::new(limit, Duration::from_nanos(nanos))),
        _ => Err(ParseQuotaError::Period),
    };
    assert_eq!(text.parse(), expected, "{text:?}");
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
