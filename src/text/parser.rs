//! From tokens to numbers, times and quotas. What comes first in the text is complained of first.

use core::time::Duration;

use super::error::{ParseError, ParseErrorKind};
use super::token::{Kind, Token};
use super::{SIZES, TIMES, Unit};
use crate::quota::Quota;

/// The options, and what is said where they do not belong.
const OPTIONS: [(&str, ParseErrorKind); 5] = [
    ("burst", ParseErrorKind::TokenBucketOnly),
    ("max-wait", ParseErrorKind::TokenBucketOnly),
    ("start-empty", ParseErrorKind::TokenBucketOnly),
    ("utc", ParseErrorKind::FixedWindowOnly),
    ("without-remaining", ParseErrorKind::SlidingLogOnly),
];

/// Reads a text from left to right, one token ahead.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    text: &'t str,
    next: Token<'t>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, ParseError> {
        let parser = Self { text, next: Token::after(text, 0) };
        if parser.next.kind == Kind::End { Err(parser.refuse(ParseErrorKind::Empty)) } else { Ok(parser) }
    }

    /// The error at the next token.
    pub(super) fn refuse(&self, kind: ParseErrorKind) -> ParseError {
        refuse(kind, self.next)
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.next;
        self.next = Token::after(self.text, token.end());
        token
    }

    /// The next token, if it is a word.
    pub(super) fn word(&mut self) -> Option<Token<'t>> {
        (self.next.kind == Kind::Word).then(|| self.take())
    }

    /// Passes over exactly this token; tells whether it was there.
    pub(super) fn skip(&mut self, text: &str) -> bool {
        let is_next = self.next.text == text;
        if is_next {
            self.take();
        }
        is_next
    }

    fn number(&mut self) -> Result<Option<Token<'t>>, ParseError> {
        match self.next.kind {
            Kind::Number => Ok(Some(self.take())),
            Kind::Negative => Err(self.refuse(ParseErrorKind::Negative)),
            _ => Ok(None),
        }
    }

    /// The part of the text from `start` up to the byte `end`, for an error.
    fn part(&self, start: usize, end: usize) -> Token<'t> {
        Token { kind: Kind::Word, start, text: &self.text[start..end] }
    }

    pub(super) fn quota(&mut self) -> Result<Quota, ParseError> {
        let limit = self.permits()?;
        if !self.skip("/") && !self.skip("per") {
            return Err(self.refuse(ParseErrorKind::Per));
        }
        let (nanos, part) = self.time()?;
        match u64::try_from(nanos) {
            Ok(0) => Err(refuse(ParseErrorKind::ZeroPeriod, part)),
            Ok(nanos) => Ok(Quota::new(limit, Duration::from_nanos(nanos))),
            Err(_) => Err(refuse(ParseErrorKind::PeriodTooLong, part)),
        }
    }

    /// A number of permits, plain or as a size.
    pub(super) fn permits(&mut self) -> Result<u64, ParseError> {
        let Some(number) = self.number()? else { return Err(self.refuse(ParseErrorKind::Permits)) };
        let mut part = number;
        let unit = match unit_in(&SIZES, self.next) {
            Some(unit) => {
                part = self.part(number.start, self.next.end());
                self.take();
                unit
            }
            // A word that stands by itself is not meant as a unit.
            None if self.next.kind == Kind::Word
                && self.next.start == number.end()
                && self.next.text != "per" =>
            {
                return Err(self.refuse(ParseErrorKind::SizeUnit));
            }
            None => 1,
        };
        let permits = scaled(number.text, unit).ok_or_else(|| refuse(ParseErrorKind::PartOfPermit, part))?;
        u64::try_from(permits).map_err(|_| refuse(ParseErrorKind::TooManyPermits, part))
    }

    /// A time of any length.
    pub(super) fn duration(&mut self) -> Result<Duration, ParseError> {
        const NANOS_PER_SEC: u128 = 1_000_000_000;
        let (nanos, part) = self.time()?;
        let secs = u64::try_from(nanos / NANOS_PER_SEC)
            .map_err(|_| refuse(ParseErrorKind::DurationTooLong, part))?;
        let left = u32::try_from(nanos % NANOS_PER_SEC).unwrap_or(0);
        Ok(Duration::new(secs, left))
    }

    /// A time in ns, saturating; and where it stands.
    fn time(&mut self) -> Result<(u128, Token<'t>), ParseError> {
        let number = self.number()?;
        let (kind, first) = match number {
            Some(number) => (ParseErrorKind::TimeUnit, number),
            None => (ParseErrorKind::Period, self.next),
        };
        let unit = unit_in(&TIMES, self.next).ok_or_else(|| self.refuse(kind))?;
        let part = self.part(first.start, self.next.end());
        self.take();
        let nanos = scaled(number.map_or("1", |number| number.text), unit);
        Ok((nanos.ok_or_else(|| refuse(ParseErrorKind::PartOfNano, part))?, part))
    }

    /// Why an algorithm refuses an option, whose own options are refused as `own` elsewhere.
    pub(super) fn refuse_option(option: Token<'t>, own: ParseErrorKind) -> ParseError {
        let kind = match misplaced(option) {
            Some(kind) if kind == own => ParseErrorKind::Repeated,
            Some(kind) => kind,
            None => ParseErrorKind::UnknownOption,
        };
        refuse(kind, option)
    }

    /// The end of a text that takes no options, or no more.
    pub(super) fn end(self) -> Result<(), ParseError> {
        match self.next.kind {
            Kind::End => Ok(()),
            _ => Err(self.refuse(misplaced(self.next).unwrap_or(ParseErrorKind::Trailing))),
        }
    }
}

/// What is said of an option where it does not belong, if it is one.
fn misplaced(option: Token<'_>) -> Option<ParseErrorKind> {
    OPTIONS.iter().find(|(name, _)| *name == option.text).map(|(_, kind)| *kind)
}

fn refuse(kind: ParseErrorKind, part: Token<'_>) -> ParseError {
    ParseError::new(kind, part.start, part.text)
}

fn unit_in(units: &[Unit], name: Token<'_>) -> Option<u64> {
    units.iter().find(|(names, _)| names.contains(&name.text)).map(|(_, unit)| *unit)
}

/// A number times its unit; `None` if that is not whole, and `u128::MAX` if it is too large.
fn scaled(number: &str, unit: u64) -> Option<u128> {
    let unit = u128::from(unit);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = digits(whole).fold(0_u128, |n, digit| n.saturating_mul(10).saturating_add(digit));
    // From the last digit on: whatever follows a digit must add up to whole tenths, or the sum is not whole.
    let fraction = digits(fraction).try_rfold(0, |tenths, digit| {
        let sum = digit * unit + tenths;
        sum.is_multiple_of(10).then_some(sum / 10)
    })?;
    Some(whole.saturating_mul(unit).saturating_add(fraction))
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u128> {
    text.bytes().filter(u8::is_ascii_digit).map(|digit| u128::from(digit - b'0'))
}
