//! The algorithms' text: the quota and, behind it, what else the algorithm is told.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use core::time::Duration;

use super::error::{ParseError, ParseErrorKind};
use super::in_largest_unit;
use super::parser::Parser;
use crate::algorithm::{AnyAlgorithm, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};

/// An algorithm that can be read once its name has been.
trait Read: Sized {
    const NAME: &'static str;

    fn read(parser: Parser<'_>) -> Result<Self, ParseError>;
}

impl Read for TokenBucket {
    const NAME: &'static str = "token-bucket";

    fn read(mut parser: Parser<'_>) -> Result<Self, ParseError> {
        let mut bucket = Self::new(parser.quota()?);
        // A bucket does not tell whether it was given its longest wait: that may be zero, as without.
        let mut has_max_wait = false;
        while let Some(option) = parser.word() {
            bucket = match option.text {
                "burst" if bucket.burst.is_none() => bucket.burst(parser.permits()?),
                "max-wait" if !has_max_wait => {
                    has_max_wait = true;
                    bucket.max_wait(parser.duration()?)
                }
                "start-empty" if !bucket.start_empty => bucket.start_empty(),
                _ => return Err(Parser::refuse_option(option, ParseErrorKind::TokenBucketOnly)),
            };
        }
        parser.end()?;
        Ok(bucket)
    }
}

impl Display for TokenBucket {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quota)?;
        if let Some(burst) = self.burst {
            write!(f, " burst {burst}")?;
        }
        if self.start_empty {
            write!(f, " start-empty")?;
        }
        if self.max_wait.is_zero() {
            return Ok(());
        }
        let (count, unit) = in_largest_unit(self.max_wait);
        write!(f, " max-wait {count}{unit}")
    }
}

impl Read for FixedWindow {
    const NAME: &'static str = "fixed-window";

    fn read(mut parser: Parser<'_>) -> Result<Self, ParseError> {
        let mut windows = Self::new(parser.quota()?);
        while let Some(option) = parser.word() {
            windows = match option.text {
                "utc" if windows.utc_offset.is_none() => {
                    let offset = if parser.skip("+") { parser.duration()? } else { Duration::ZERO };
                    windows.aligned_to_utc_plus(offset)
                }
                _ => return Err(Parser::refuse_option(option, ParseErrorKind::FixedWindowOnly)),
            };
        }
        parser.end()?;
        Ok(windows)
    }
}

impl Display for FixedWindow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quota)?;
        match self.utc_offset {
            None => Ok(()),
            Some(Duration::ZERO) => write!(f, " utc"),
            Some(offset) => {
                let (count, unit) = in_largest_unit(offset);
                write!(f, " utc+{count}{unit}")
            }
        }
    }
}

impl Read for SlidingCounter {
    const NAME: &'static str = "sliding-counter";

    fn read(mut parser: Parser<'_>) -> Result<Self, ParseError> {
        let counter = Self::new(parser.quota()?);
        parser.end()?;
        Ok(counter)
    }
}

impl Display for SlidingCounter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quota)
    }
}

impl Read for SlidingLog {
    const NAME: &'static str = "sliding-log";

    fn read(mut parser: Parser<'_>) -> Result<Self, ParseError> {
        let mut log = Self::new(parser.quota()?);
        while let Some(option) = parser.word() {
            log = match option.text {
                "without-remaining" if log.tell_remaining => log.without_remaining(),
                _ => return Err(Parser::refuse_option(option, ParseErrorKind::SlidingLogOnly)),
            };
        }
        parser.end()?;
        Ok(log)
    }
}

impl Display for SlidingLog {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quota)?;
        if self.tell_remaining { Ok(()) } else { write!(f, " without-remaining") }
    }
}

impl FromStr for AnyAlgorithm {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text)?;
        let unknown = parser.refuse(ParseErrorKind::UnknownAlgorithm);
        match parser.word().map(|name| name.text) {
            None | Some(TokenBucket::NAME) => TokenBucket::read(parser).map(Self::from),
            Some(FixedWindow::NAME) => FixedWindow::read(parser).map(Self::from),
            Some(SlidingCounter::NAME) => SlidingCounter::read(parser).map(Self::from),
            Some(SlidingLog::NAME) => SlidingLog::read(parser).map(Self::from),
            Some(_) => Err(unknown),
        }
    }
}

impl Display for AnyAlgorithm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TokenBucket(bucket) => write!(f, "{} {bucket}", TokenBucket::NAME),
            Self::FixedWindow(windows) => write!(f, "{} {windows}", FixedWindow::NAME),
            Self::SlidingCounter(counter) => write!(f, "{} {counter}", SlidingCounter::NAME),
            Self::SlidingLog(log) => write!(f, "{} {log}", SlidingLog::NAME),
        }
    }
}

/// An algorithm's own name in front is read, as [`AnyAlgorithm`] writes it.
macro_rules! from_str {
    ($($algorithm:ident),*) => {$(
        impl FromStr for $algorithm {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                let mut parser = Parser::new(text)?;
                parser.skip(Self::NAME);
                Self::read(parser)
            }
        }
    )*};
}

from_str!(TokenBucket, FixedWindow, SlidingCounter, SlidingLog);
