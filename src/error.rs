//! What a builder refuses, and the bound it names.

use core::fmt;

/// Why a limiter cannot be built. Nothing was allocated and nothing was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The quota's period is zero.
    ZeroPeriod,
    /// The quota's period has more than `u64::MAX` nanoseconds (584 years).
    PeriodTooLong,
    /// `burst(0)`: a bucket that holds nothing refuses everything; a quota with limit 0 says that openly.
    ZeroBurst,
    /// The rate is 256 permits per nanosecond or more.
    RateTooHigh {
        /// The quota's limit in permits.
        limit: u64,
        /// The quota's period in ns.
        period_nanos: u64,
    },
    /// The limit needs more bits than the state word has beside the time it must tell.
    LimitTooLarge {
        /// The limit asked for, in permits.
        limit: u64,
        /// The largest limit that the algorithm allows with this period, in permits.
        max: u64,
    },
    /// The bucket's capacity takes too long to refill for the state word.
    BurstTooLarge {
        /// The capacity asked for, in permits.
        burst: u64,
        /// The largest capacity that this rate allows, in permits.
        max: u64,
    },
    /// A token bucket's `max_wait` takes it too far into debt for the state word.
    MaxWaitTooLong {
        /// The longest wait asked for, in ns.
        max_wait_nanos: u64,
        /// The longest that this rate and capacity allow, in ns.
        max_nanos: u64,
    },
    /// The state word would run out of time too soon.
    HorizonTooShort {
        /// How far this configuration could tell time, in ns since the clock's origin.
        horizon_nanos: u64,
        /// The least that is accepted, in ns.
        min_nanos: u64,
    },
    /// A keyed token bucket cannot start empty.
    StartEmptyKeyed,
    /// A keyed limiter for zero keys.
    ZeroKeys,
    /// More keys than slots can be numbered.
    TooManyKeys {
        /// The number of keys asked for.
        keys: usize,
        /// The most that is accepted.
        max: usize,
    },
    /// The memory for the states could not be had.
    OutOfMemory {
        /// What was asked for, in bytes.
        bytes: u128,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroPeriod => f.write_str("the quota's period is zero; give it at least 1 ns"),
            Self::PeriodTooLong => {
                write!(f, "the quota's period exceeds {} ns; shorten it", u64::MAX)
            }
            Self::ZeroBurst => {
                f.write_str("a burst of 0 refuses everything; use at least 1, or a quota with limit 0")
            }
            Self::RateTooHigh { limit, period_nanos } => write!(
                f,
                "{limit} permits per {period_nanos} ns is 256 permits per ns or more; count in larger units"
            ),
            Self::LimitTooLarge { limit, max } => {
                write!(f, "the limit {limit} does not fit the state word; at most {max} is possible")
            }
            Self::BurstTooLarge { burst, max: 0 } => {
                write!(
                    f,
                    "a capacity of {burst} does not fit the state word at this rate; shorten the period"
                )
            }
            Self::BurstTooLarge { burst, max } => write!(
                f,
                "a capacity of {burst} does not fit the state word; at most {max} is possible at this rate"
            ),
            Self::MaxWaitTooLong { max_wait_nanos, max_nanos } => write!(
                f,
                "a longest wait of {max_wait_nanos} ns does not fit the state word; at most {max_nanos} ns are possible \
                 at this rate and capacity"
            ),
            Self::HorizonTooShort { horizon_nanos, min_nanos } => write!(
                f,
                "the state word would run out of time after {horizon_nanos} ns; at least {min_nanos} ns are required: \
                 lower the rate or the capacity"
            ),
            Self::StartEmptyKeyed => f.write_str(
                "a keyed token bucket cannot start empty: a state that is full again is the same as none",
            ),
            Self::ZeroKeys => f.write_str("a keyed limiter needs room for at least 1 key"),
            Self::TooManyKeys { keys, max } => {
                write!(f, "{keys} keys are too many for one table; at most {max} are possible")
            }
            Self::OutOfMemory { bytes } => {
                write!(
                    f,
                    "{bytes} bytes for the states could not be allocated; lower the number of keys or the limit"
                )
            }
        }
    }
}

impl core::error::Error for BuildError {}

/// Why a quota cannot be changed. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetQuotaError {
    /// Another thread is changing the quota, or it was changed within the last 10 s: try again later.
    Busy,
    /// The new quota cannot be represented.
    Build(BuildError),
    /// The new limit is higher than what the limiter was built for.
    LimitTooLarge {
        /// The limit asked for, in permits.
        limit: u64,
        /// The highest that the limiter was built for, in permits.
        max: u64,
    },
    /// A sliding counter keeps its period.
    PeriodFixed {
        /// The period in ns.
        period_nanos: u64,
    },
    /// A token bucket keeps its `max_wait`.
    MaxWaitFixed {
        /// The longest wait that a reservation may ask for, in ns.
        max_wait_nanos: u64,
    },
    /// A limiter whose algorithm was chosen at run time keeps it.
    AlgorithmFixed,
}

impl fmt::Display for SetQuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Busy => f.write_str("the quota is being changed, or was in the last 10 s; try again later"),
            Self::Build(error) => error.fmt(f),
            Self::LimitTooLarge { limit, max } => {
                write!(
                    f,
                    "the limit {limit} is higher than the {max} that the limiter was built for; raise `max_limit`"
                )
            }
            Self::PeriodFixed { period_nanos } => {
                write!(f, "a sliding counter keeps its period of {period_nanos} ns; build another limiter")
            }
            Self::MaxWaitFixed { max_wait_nanos } => {
                write!(
                    f,
                    "a token bucket keeps its longest wait of {max_wait_nanos} ns; build another limiter"
                )
            }
            Self::AlgorithmFixed => f.write_str("a limiter keeps its algorithm; build another limiter"),
        }
    }
}

impl core::error::Error for SetQuotaError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Build(error) => Some(error),
            _ => None,
        }
    }
}
