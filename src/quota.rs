//! How many permits per how much time.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::error::BuildError;

/// `limit` permits per `period`, and nothing else.
///
/// A limit of 0 is legal and refuses everything. Whether a quota can be represented depends on the algorithm and is
/// decided by its `build`, so that every constructor here is infallible and `const`.
///
/// As text a quota is `LIMIT/PERIOD`, the period a whole number (1 if left out) and one of `ns us ms s min h d`:
///
/// ```
/// use std::time::Duration;
/// use tollgate::Quota;
///
/// let quota: Quota = "10/60s".parse()?;
/// assert_eq!(quota, Quota::per_minute(10));
/// assert_eq!("100/min".parse(), Ok(Quota::per_minute(100)));
/// assert_eq!(Quota::new(5, Duration::from_millis(1500)).to_string(), "5/1500ms");
/// # Ok::<(), tollgate::ParseQuotaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: u64,
    period: Duration,
}

/// The units of the text form, largest first, in ns.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl Quota {
    /// `limit` permits per `period`.
    pub const fn new(limit: u64, period: Duration) -> Self {
        Self { limit, period }
    }

    /// `limit` permits per second.
    pub const fn per_second(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(1))
    }

    /// `limit` permits per minute.
    pub const fn per_minute(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(60))
    }

    /// `limit` permits per hour.
    pub const fn per_hour(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(60 * 60))
    }

    /// `limit` permits per day of 24 hours.
    pub const fn per_day(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(24 * 60 * 60))
    }

    /// The number of permits per period.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The period.
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// The period in ns, if it is one a limiter can count.
    pub(crate) fn period_nanos(&self) -> Result<u64, BuildError> {
        match u64::try_from(self.period.as_nanos()) {
            Ok(0) => Err(BuildError::ZeroPeriod),
            Ok(nanos) => Ok(nanos),
            Err(_) => Err(BuildError::PeriodTooLong),
        }
    }
}

/// Writes the text form, in the largest unit that divides the period.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.period.as_nanos();
        let divides = |(_, unit): &&(&str, u64)| nanos.is_multiple_of(u128::from(*unit));
        let (name, unit) = UNITS.iter().find(divides).unwrap_or(&("ns", 1));
        match nanos / u128::from(*unit) {
            1 => write!(f, "{}/{name}", self.limit),
            count => write!(f, "{}/{count}{name}", self.limit),
        }
    }
}

impl FromStr for Quota {
    type Err = ParseQuotaError;

    fn from_str(text: &str) -> Result<Self, ParseQuotaError> {
        let (limit, period) = text.split_once('/').ok_or(ParseQuotaError::NoSlash)?;
        let limit = number(limit.trim()).ok_or(ParseQuotaError::Limit)?;
        let period = period.trim();
        let digits = period.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = period.split_at(digits);
        let count = if count.is_empty() { 1 } else { number(count).ok_or(ParseQuotaError::Period)? };
        let (_, unit) =
            UNITS.iter().find(|(name, _)| *name == unit.trim_start()).ok_or(ParseQuotaError::Unit)?;
        match count.checked_mul(*unit) {
            None | Some(0) => Err(ParseQuotaError::Period),
            Some(nanos) => Ok(Self::new(limit, Duration::from_nanos(nanos))),
        }
    }
}

/// Digits only: `u64::from_str` would take a sign.
fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Why a text is not a [`Quota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseQuotaError {
    /// There is no `/` between limit and period.
    NoSlash,
    /// The limit is not a whole number below 2^64.
    Limit,
    /// The period is not a whole number of its unit, is zero, or exceeds 2^64 ns.
    Period,
    /// The period's unit is none of `ns us ms s min h d`.
    Unit,
}

impl fmt::Display for ParseQuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlash => "a quota is LIMIT/PERIOD, for instance 10/60s: the '/' is missing",
            Self::Limit => "the limit before the '/' must be a whole number below 2^64",
            Self::Period => "the period after the '/' must be at least 1 ns and below 2^64 ns",
            Self::Unit => "the period's unit must be one of ns, us, ms, s, min, h, d",
        })
    }
}

impl core::error::Error for ParseQuotaError {}
