//! Test vectors: what each of a sequence of calls must be answered.
//!
//! One vector a line; blank lines and lines that start with `#` are skipped.
//!
//! ```text
//! NAME ALGO PARAMS | T COST DECISION REMAINING RETRY RESET ; ...
//!
//! ALGO PARAMS  tb CAPACITY LIMIT/PERIOD   token bucket, starts full, refills LIMIT tokens evenly over PERIOD
//!              fw LIMIT PERIOD            fixed window
//!              sc LIMIT PERIOD            sliding-window counter
//!              sl LIMIT PERIOD            sliding-window log
//! T            time of the call since the clock's origin
//! COST         permits asked for
//! DECISION     A allowed, D denied for now, N never
//! REMAINING    whole permits left after the decision
//! RETRY        A: 0.  D: the least wait after which the same call, alone, is allowed.  - if no wait helps
//! RESET        the least wait after which all of the limit remains, if nothing more is charged; - if never
//! ```
//!
//! All times are whole ns.

use std::fmt;
use std::str::FromStr;

use tollgate::{Decision, Outcome};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector<'t> {
    pub name: &'t str,
    pub rule: Rule,
    pub calls: Vec<Call>,
}

/// An algorithm and its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// `max_wait` is the longest that a reservation may wait, in ns; in a text it is 0.
    TokenBucket {
        capacity: u64,
        limit: u64,
        period: u64,
        max_wait: u64,
    },
    FixedWindow {
        limit: u64,
        period: u64,
    },
    SlidingCounter {
        limit: u64,
        period: u64,
    },
    SlidingLog {
        limit: u64,
        period: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub at: u64,
    pub cost: u64,
    pub answer: Answer,
}

/// Everything a decision tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub outcome: Outcome,
    pub remaining: Option<u64>,
    /// 0 if allowed.
    pub retry: Option<u64>,
    pub reset: Option<u64>,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self {
            outcome: decision.outcome(),
            remaining: decision.remaining(),
            retry: if decision.is_allowed() { Some(0) } else { decision.retry_after_nanos() },
            reset: decision.reset_after_nanos(),
        }
    }
}

/// Why a line is not a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from 1.
    line: usize,
    reason: String,
}

/// All vectors of a text.
pub fn parse(text: &str) -> Result<Vec<Vector<'_>>, ParseError> {
    let is_vector = |line: &str| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| is_vector(line));
    lines
        .map(|(at, line)| Vector::parse(line).map_err(|reason| ParseError { line: at + 1, reason }))
        .collect()
}

impl<'t> Vector<'t> {
    fn parse(line: &'t str) -> Result<Self, String> {
        let (head, calls) = line.split_once('|').ok_or("there is no '|' between parameters and calls")?;
        let mut words = head.split_whitespace();
        let name = words.next().ok_or("the name is missing")?;
        let rule = Rule::parse(&mut words)?;
        end(words)?;
        let calls = calls.split(';').map(Call::parse).collect::<Result<_, _>>()?;
        Ok(Self { name, rule, calls })
    }
}

impl Rule {
    /// The most permits one call can be granted.
    pub fn limit(self) -> u64 {
        match self {
            Self::TokenBucket { capacity: limit, .. }
            | Self::FixedWindow { limit, .. }
            | Self::SlidingCounter { limit, .. }
            | Self::SlidingLog { limit, .. } => limit,
        }
    }

    pub fn period(self) -> u64 {
        match self {
            Self::TokenBucket { period, .. }
            | Self::FixedWindow { period, .. }
            | Self::SlidingCounter { period, .. }
            | Self::SlidingLog { period, .. } => period,
        }
    }

    /// The longest wait of a reservation, in ns.
    pub fn max_wait(self) -> u64 {
        match self {
            Self::TokenBucket { max_wait, .. } => max_wait,
            Self::FixedWindow { .. } | Self::SlidingCounter { .. } | Self::SlidingLog { .. } => 0,
        }
    }

    fn parse<'t>(words: &mut impl Iterator<Item = &'t str>) -> Result<Self, String> {
        let algorithm = next(words, "the algorithm")?;
        if algorithm == "tb" {
            let capacity = number(words, "the capacity")?;
            let rate = next(words, "the rate")?;
            let (limit, period) = rate.split_once('/').ok_or_else(|| wrong("the rate", rate))?;
            let (limit, period) = (parsed(limit, "the limit")?, parsed(period, "the period")?);
            return Ok(Self::TokenBucket { capacity, limit, period, max_wait: 0 });
        }
        let mut windowed = || Ok::<_, String>((number(words, "the limit")?, number(words, "the period")?));
        match algorithm {
            "fw" => windowed().map(|(limit, period)| Self::FixedWindow { limit, period }),
            "sc" => windowed().map(|(limit, period)| Self::SlidingCounter { limit, period }),
            "sl" => windowed().map(|(limit, period)| Self::SlidingLog { limit, period }),
            _ => Err(wrong("the algorithm", algorithm)),
        }
    }
}

impl Call {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let call = Self {
            at: number(&mut words, "the time")?,
            cost: number(&mut words, "the cost")?,
            answer: Answer {
                outcome: outcome(next(&mut words, "the decision")?)?,
                remaining: Some(number(&mut words, "what remains")?),
                retry: wait(&mut words, "the wait to retry")?,
                reset: wait(&mut words, "the wait to reset")?,
            },
        };
        end(words)?;
        Ok(call)
    }
}

fn outcome(word: &str) -> Result<Outcome, String> {
    match word {
        "A" => Ok(Outcome::Allowed),
        "D" => Ok(Outcome::Denied),
        "N" => Ok(Outcome::TooLarge),
        _ => Err(wrong("the decision", word)),
    }
}

fn wait<'t>(words: &mut impl Iterator<Item = &'t str>, what: &str) -> Result<Option<u64>, String> {
    match next(words, what)? {
        "-" => Ok(None),
        word => parsed(word, what).map(Some),
    }
}

fn number<'t>(words: &mut impl Iterator<Item = &'t str>, what: &str) -> Result<u64, String> {
    parsed(next(words, what)?, what)
}

fn parsed<T: FromStr>(word: &str, what: &str) -> Result<T, String> {
    word.parse().map_err(|_| wrong(what, word))
}

fn next<'t>(words: &mut impl Iterator<Item = &'t str>, what: &str) -> Result<&'t str, String> {
    words.next().ok_or_else(|| format!("{what} is missing"))
}

fn end<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<(), String> {
    words.next().map_or(Ok(()), |word| Err(format!("there is a word too many: {word:?}")))
}

fn wrong(what: &str, word: &str) -> String {
    format!("{what} cannot be {word:?}")
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

/// The four words of a vector.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.outcome {
            Outcome::Allowed => "A",
            Outcome::Denied => "D",
            Outcome::TooLarge => "N",
        })?;
        for value in [self.remaining, self.retry, self.reset] {
            match value {
                Some(value) => write!(f, " {value}")?,
                None => f.write_str(" -")?,
            }
        }
        Ok(())
    }
}
