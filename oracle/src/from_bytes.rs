//! Rules and steps from a fuzzer's bytes.
//!
//! Numbers of any magnitude are equally likely, and steps go mostly where something happens: to the ends of waits and
//! periods. Each value takes few bytes, those that choose first, so that one byte changed is one thing changed.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::steps::{Cost, Hop, KEYS, Step, Verb, Wait};
use crate::vectors::Rule;

/// A number of any magnitude: of so many bits, or at the edge of so many.
pub fn magnitude(bytes: &mut Unstructured<'_>) -> Result<u64> {
    let kind = bytes.int_in_range(0..=4 * 64_u32 - 1)?;
    let bits = kind % 64 + 1;
    Ok(match kind / 64 {
        0 => 1 << (bits - 1),
        1 => u64::MAX >> (64 - bits),
        _ => {
            let mut number = [0; 8];
            bytes.fill_buffer(&mut number[..bits.div_ceil(8) as usize])?;
            u64::from_le_bytes(number) & u64::MAX >> (64 - bits)
        }
    })
}

/// Mostly a small number.
fn mostly(bytes: &mut Unstructured<'_>, most: u64) -> Result<u64> {
    if bytes.ratio(7, 8)? { bytes.int_in_range(0..=most) } else { magnitude(bytes) }
}

/// Every other time 0.
fn often_none(bytes: &mut Unstructured<'_>) -> Result<u64> {
    if bytes.ratio(1, 2)? { Ok(0) } else { magnitude(bytes) }
}

fn period(bytes: &mut Unstructured<'_>) -> Result<u64> {
    Ok(magnitude(bytes)?.max(1))
}

/// Mostly -1, 0 or 1.
fn offset(bytes: &mut Unstructured<'_>) -> Result<i64> {
    match bytes.int_in_range(0..=31_u8)? {
        31 => bytes.arbitrary(),
        choice => Ok(i64::from(choice % 3) - 1),
    }
}

/// Any rule, also one that no limiter can be built of.
impl<'a> Arbitrary<'a> for Rule {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match bytes.int_in_range(0..=7_u8)? {
            0 | 1 => {
                // Exact: a scale only makes the same rate look different.
                let (n, p) = (bytes.int_in_range(0..=16_u64)?, period(bytes)?);
                let (scale, max_wait) = ((magnitude(bytes)? >> 24).max(1), often_none(bytes)?);
                let (limit, period) = match (n.checked_mul(scale), p.checked_mul(scale)) {
                    (Some(limit), Some(period)) => (limit, period),
                    _ => (n, p),
                };
                Self::TokenBucket { capacity: mostly(bytes, 20)?, limit, period, max_wait }
            }
            2 => Self::TokenBucket {
                capacity: mostly(bytes, 20)?,
                limit: magnitude(bytes)?,
                period: period(bytes)?,
                max_wait: often_none(bytes)?,
            },
            3 => Self::FixedWindow { limit: mostly(bytes, 20)?, period: period(bytes)? },
            4 | 5 => Self::SlidingCounter { limit: mostly(bytes, 20)?, period: period(bytes)? },
            _ => {
                // A log takes memory for its limit, and time for each permit.
                let limit = match bytes.int_in_range(0..=15_u8)? {
                    0 => magnitude(bytes)? | 1 << 19,
                    1..=3 => bytes.int_in_range(0..=300)?,
                    _ => bytes.int_in_range(0..=20)?,
                };
                Self::SlidingLog { limit, period: period(bytes)? }
            }
        })
    }
}

impl<'a> Arbitrary<'a> for Hop {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match bytes.int_in_range(0..=31_u8)? {
            0..=6 => Self::Stay,
            7..=12 => Self::Retry(offset(bytes)?),
            13..=15 => Self::Reset(offset(bytes)?),
            16..=19 => Self::Period(mostly(bytes, 3 << 16)?),
            20 => Self::Period(1 << 16),
            21 => Self::Period(2 << 16),
            22 | 23 => Self::Forward(mostly(bytes, 3)?),
            24 => Self::Forward(magnitude(bytes)?),
            25 | 26 => Self::Back(mostly(bytes, 3)?),
            27 => Self::Back(magnitude(bytes)?),
            28 => Self::To(magnitude(bytes)?),
            29 | 30 => Self::BeforeHorizon(magnitude(bytes)?),
            _ => Self::PastHorizon(magnitude(bytes)?),
        })
    }
}

impl<'a> Arbitrary<'a> for Cost {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match bytes.int_in_range(0..=31_u8)? {
            0..=14 => Self::These(1),
            15..=20 => Self::These(mostly(bytes, 5)?),
            21..=24 => Self::Remaining(bytes.int_in_range(0..=1)?),
            25..=27 => Self::Half,
            28..=30 => Self::Limit,
            _ => Self::AboveLimit,
        })
    }
}

impl<'a> Arbitrary<'a> for Verb {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match bytes.int_in_range(0..=31_u8)? {
            0..=11 => Self::Check,
            12 | 13 => Self::TakeUpTo,
            14..=17 => Self::Reserve(Wait::Longest(0)),
            18 => Self::Reserve(Wait::Longest(offset(bytes)?)),
            19 | 20 => Self::Reserve(Wait::Needed(offset(bytes)?)),
            21 => Self::Reserve(Wait::These(magnitude(bytes)?)),
            22 | 23 => Self::Cancel(0),
            24 => Self::Cancel(bytes.int_in_range(0..=3)?),
            25 | 26 => Self::Keep(0),
            27 | 28 => Self::Refund,
            29 | 30 => Self::Penalize,
            _ => Self::Reset,
        })
    }
}

impl<'a> Arbitrary<'a> for Step {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let (hop, verb, cost) = (bytes.arbitrary()?, bytes.arbitrary()?, bytes.arbitrary()?);
        // One byte says both: mostly nobody passes by.
        let others = bytes.int_in_range(0..=KEYS * 24 - 1)?;
        Ok(Self { hop, verb, cost, key: others % KEYS, passers_by: (others / KEYS).saturating_sub(11) })
    }
}

/// Steps to the last byte.
pub fn steps(bytes: &mut Unstructured<'_>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        steps.push(bytes.arbitrary()?);
    }
    Ok(steps)
}
