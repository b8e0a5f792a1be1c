//! What is wrong with a text, and where.

use core::fmt::{self, Write};
use core::ops::Range;

/// Why a text is no quota or algorithm, and which part of it is to blame.
///
/// ```
/// use tollgate::{ParseErrorKind, Quota, TokenBucket};
///
/// let error = "100/min burst many".parse::<TokenBucket>().unwrap_err();
/// assert_eq!(error.kind(), ParseErrorKind::Permits);
/// assert_eq!(error.span(), 14..18);
/// assert_eq!(error.to_string(), "expected a number of permits such as `100` or `1.5MB` at byte 14: `many`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    kind: ParseErrorKind,
    start: usize,
    part: Box<str>,
}

/// What is wrong with a text: the kinds of [`ParseError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// There is nothing but spaces.
    Empty,
    /// It begins with a word that is no algorithm's name.
    UnknownAlgorithm,
    /// Where a number of permits belongs is no number.
    Permits,
    /// A number has a minus.
    Negative,
    /// A number of permits is followed by letters that are no unit of size.
    SizeUnit,
    /// A number of permits is not whole, with its unit if it has one.
    PartOfPermit,
    /// A number of permits is 2^64 or more.
    TooManyPermits,
    /// The limit is not followed by `/` or `per`.
    Per,
    /// Where a period or another time belongs is neither a number nor a unit of time.
    Period,
    /// The number of a time is not followed by a unit of time.
    TimeUnit,
    /// A time is not a whole number of ns.
    PartOfNano,
    /// The period is 0.
    ZeroPeriod,
    /// The period is 2^64 ns or more.
    PeriodTooLong,
    /// A time other than the period is 2^64 s or more.
    DurationTooLong,
    /// An option of the token bucket, such as `burst`, is given to a quota or another algorithm.
    TokenBucketOnly,
    /// An option of the fixed window is given to a quota or another algorithm.
    FixedWindowOnly,
    /// An option of the sliding log is given to a quota or another algorithm.
    SlidingLogOnly,
    /// Where an option may be is a word that is none.
    UnknownOption,
    /// An option is given again.
    Repeated,
    /// The text goes on where it should end.
    Trailing,
}

/// The characters of the offending part that a message quotes.
const QUOTED: usize = 40;

impl ParseError {
    pub(super) fn new(kind: ParseErrorKind, start: usize, part: &str) -> Self {
        Self { kind, start, part: part.into() }
    }

    /// What is wrong.
    pub fn kind(&self) -> ParseErrorKind {
        self.kind
    }

    /// The bytes of the text that are to blame. Empty, and at the end, if something is missing there.
    pub fn span(&self) -> Range<usize> {
        self.start..self.start + self.part.len()
    }
}

impl ParseErrorKind {
    fn message(self) -> &'static str {
        match self {
            Self::Empty => "expected a quota such as `100/min`",
            Self::UnknownAlgorithm => {
                "expected `token-bucket`, `fixed-window`, `sliding-counter`, `sliding-log` or a quota"
            }
            Self::Permits => "expected a number of permits such as `100` or `1.5MB`",
            Self::Negative => "expected a number that is not negative",
            Self::SizeUnit => "expected `B`, `kB`, `MB`, `GB`, `TB`, `KiB`, `MiB`, `GiB` or `TiB`, or none",
            Self::PartOfPermit => "expected a whole number of permits",
            Self::TooManyPermits => "expected a number of permits below 2^64",
            Self::Per => "expected `/` or `per`, and a period,",
            Self::Period => "expected a period such as `60s` or `min`",
            Self::TimeUnit => "expected a unit of time, `ns`, `us`, `ms`, `s`, `min`, `h` or `d`,",
            Self::PartOfNano => "expected a whole number of ns",
            Self::ZeroPeriod => "expected a period of at least 1 ns",
            Self::PeriodTooLong => "expected a period below 2^64 ns",
            Self::DurationTooLong => "expected a time below 2^64 s",
            Self::TokenBucketOnly => "only a token bucket takes the option",
            Self::FixedWindowOnly => "only a fixed window takes the option",
            Self::SlidingLogOnly => "only a sliding log takes the option",
            Self::UnknownOption => "expected an option of the algorithm or the end of the text",
            Self::Repeated => "expected each option once",
            Self::Trailing => "expected the end of the text",
        }
    }
}

/// What was expected, and what stands there instead.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.kind.message(), self.start)?;
        if self.part.is_empty() {
            return f.write_str("the text ends there");
        }
        let mut rest = self.part.chars();
        write!(f, "`")?;
        for char in rest.by_ref().take(QUOTED) {
            write!(f, "{}", char.escape_debug())?;
        }
        if rest.next().is_some() {
            f.write_char('…')?;
        }
        f.write_char('`')
    }
}

impl core::error::Error for ParseError {}
