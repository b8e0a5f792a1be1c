//! What is done, from a fuzzer's bytes.

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use oracle::from_bytes::magnitude;
use oracle::steps::Cost;
use oracle::vectors::Rule;

use crate::promise::SLACK;

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) rule: Rule,
    /// `None` for a direct limiter.
    pub(crate) keys: Option<Keys>,
    pub(crate) hasher: u8,
    pub(crate) start: u64,
    pub(crate) actions: Vec<Action>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    /// What the table is built for.
    pub(crate) declared: usize,
    /// Those that are asked for are below this.
    pub(crate) names: u64,
}

/// The clock is moved, and then a call is made.
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) motion: Motion,
    pub(crate) verb: Verb,
    pub(crate) key: u8,
    pub(crate) cost: Cost,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Verb {
    /// `check_n`, by a thread whose reading in hand is that far off.
    Check(Motion),
    /// `peek`.
    Peek,
    /// `check_at`, by a caller whose time is that far off.
    CheckAt(Motion),
    /// `check_many` for so many keys.
    CheckMany(u8),
}

/// From one time to another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Motion {
    Stay,
    Forward(u64),
    Back(u64),
    /// By the slack, and so much more.
    SlackForward(i64),
    SlackBack(i64),
    /// By 2^-8 parts of the period.
    Period(u64),
    PeriodBack(u64),
    /// By the last refusal's wait, or the last decision's until all remains, and by so much less or more.
    Retry(i64),
    Reset(i64),
    To(u64),
    /// Back to where the last glitch began, or into it again.
    Home,
}

/// -1, 0 or 1, or any magnitude up to a second.
fn offset(bytes: &mut Unstructured<'_>) -> arbitrary::Result<i64> {
    match bytes.int_in_range(0..=7_i8)? {
        6 => Ok((magnitude(bytes)? >> 34).cast_signed()),
        7 => Ok(-(magnitude(bytes)? >> 34).cast_signed()),
        choice => Ok(i64::from(choice % 3) - 1),
    }
}

impl<'a> Arbitrary<'a> for Motion {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match bytes.int_in_range(0..=31_u8)? {
            0..=8 => Self::Stay,
            9..=11 => Self::Retry(offset(bytes)?),
            12 => Self::Reset(offset(bytes)?),
            13 | 14 => Self::Period(bytes.arbitrary::<u16>()?.into()),
            15 => Self::Period(bytes.int_in_range(0..=3)? << 8),
            16 => Self::PeriodBack(bytes.arbitrary::<u16>()?.into()),
            17..=20 => Self::SlackForward(offset(bytes)?),
            21..=23 => Self::SlackBack(offset(bytes)?),
            24 | 25 => Self::Forward(magnitude(bytes)?),
            26 | 27 => Self::Back(magnitude(bytes)?),
            28 => Self::To(magnitude(bytes)?),
            _ => Self::Home,
        })
    }
}

impl Motion {
    /// From `now`, for a period, a wait until a retry and one until all remains, and the place where a glitch began.
    pub(crate) fn from(self, now: u64, period: u64, (retry, reset): (u64, u64), home: u64) -> u64 {
        let parts =
            |parts: u64| u64::try_from((u128::from(period) * u128::from(parts)) >> 8).unwrap_or(u64::MAX);
        match self {
            Self::Stay => now,
            Self::Forward(nanos) => now.saturating_add(nanos),
            Self::Back(nanos) => now.saturating_sub(nanos),
            Self::SlackForward(more) => now.saturating_add(SLACK).saturating_add_signed(more),
            Self::SlackBack(more) => now.saturating_sub(SLACK).saturating_add_signed(-more),
            Self::Period(count) => now.saturating_add(parts(count)),
            Self::PeriodBack(count) => now.saturating_sub(parts(count)),
            Self::Retry(more) => now.saturating_add(retry).saturating_add_signed(more),
            Self::Reset(more) => now.saturating_add(reset).saturating_add_signed(more),
            Self::To(nanos) => nanos,
            Self::Home => home,
        }
    }

    /// Whether it may leave a place that one may want to come back to.
    pub(crate) fn is_glitch(self) -> bool {
        !matches!(self, Self::Stay | Self::Period(_) | Self::Retry(_) | Self::Reset(_))
    }
}

impl<'a> Arbitrary<'a> for Verb {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match bytes.int_in_range(0..=15_u8)? {
            0..=8 => Self::Check(Motion::Stay),
            9 | 10 => Self::Check(bytes.arbitrary()?),
            11 => Self::Peek,
            12 | 13 => Self::CheckAt(bytes.arbitrary()?),
            14 => Self::CheckMany(bytes.int_in_range(0..=4)?),
            // More than are decided in one batch.
            _ => Self::CheckMany(bytes.int_in_range(15..=18)?),
        })
    }
}

impl<'a> Arbitrary<'a> for Action {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (motion, verb) = (bytes.arbitrary()?, bytes.arbitrary()?);
        Ok(Self { motion, verb, key: bytes.arbitrary()?, cost: bytes.arbitrary()? })
    }
}

/// Limits of a few permits per some multiple of a ms or a s, where the slack is neither nothing nor all.
fn common_rule(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Rule> {
    let unit = *bytes.choose(&[1_000_000, 50_000_000, 1_000_000_000, 60_000_000_000])?;
    let period = unit * bytes.int_in_range(1..=100_u64)?;
    let limit = bytes.int_in_range(1..=12)?;
    Ok(match bytes.int_in_range(0..=3_u8)? {
        0 => Rule::TokenBucket { capacity: bytes.int_in_range(1..=12)?, limit, period, max_wait: 0 },
        1 => Rule::FixedWindow { limit, period },
        2 => Rule::SlidingCounter { limit, period },
        _ => Rule::SlidingLog { limit, period },
    })
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let mut rule = if bytes.ratio(5, 8)? { common_rule(bytes)? } else { bytes.arbitrary()? };
        if let Rule::TokenBucket { max_wait, .. } = &mut rule {
            // Nothing is reserved here.
            *max_wait = 0;
        }
        let keys = if bytes.ratio(3, 8)? {
            None
        } else {
            Some(Keys { declared: bytes.int_in_range(1..=8)?, names: bytes.int_in_range(1..=16)? })
        };
        let (hasher, start) = (bytes.arbitrary()?, magnitude(bytes)? >> 3);
        let mut actions = Vec::new();
        while !bytes.is_empty() {
            actions.push(bytes.arbitrary()?);
        }
        Ok(Self { rule, keys, hasher, start, actions })
    }
}
