//! How many permits per how much time.

use core::time::Duration;

use crate::error::BuildError;

/// `limit` permits per `period`, and nothing else.
///
/// A limit of 0 is legal and refuses everything. Whether a quota can be represented depends on the algorithm and is
/// decided by its `build`, so that every constructor here is infallible and `const`.
///
/// # As text
///
/// A quota is read from `LIMIT/PERIOD` or `LIMIT per PERIOD`, and written as the first.
///
/// - The limit is a number of permits, in which `_` may separate digits. Where a permit is a byte it may be a size:
///   `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000), `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024).
/// - The period is a number (1 if left out) of `ns`, `us`, `ms`, `s`, `min`, `h` or `d`; the long forms `sec`,
///   `second`, `minute`, `hour`, `day`, and the plurals of the last four, are read too.
///
/// Both may have a fraction, if what they amount to is a whole number of permits or ns. A limit from 2^64 permits and a
/// period of 0 or from 2^64 ns are refused; such a period can be made by [`new`](Self::new), and is written as it is.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{ParseErrorKind, Quota};
///
/// let quota: Quota = "10/60s".parse()?;
/// assert_eq!(quota, Quota::per_minute(10));
/// assert_eq!("100 per minute".parse(), Ok(Quota::per_minute(100)));
/// assert_eq!("1.5MB/s".parse(), Ok(Quota::per_second(1_500_000)));
/// assert_eq!(Quota::new(5, Duration::from_millis(1500)).to_string(), "5/1500ms");
///
/// let error = "10/fortnight".parse::<Quota>().unwrap_err();
/// assert_eq!((error.kind(), error.span()), (ParseErrorKind::Period, 3..12));
/// assert_eq!(error.to_string(), "expected a period such as `60s` or `min` at byte 3: `fortnight`");
/// # Ok::<(), tollgate::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: u64,
    period: Duration,
}

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
