//! What the limiters must answer, and checks that they do: shared by tests, models and fuzz targets.
//!
//! - [`verbs`]: all that limiters can be asked, and what they tell, by one name each;
//! - [`reference`]: the four algorithms again, sequential and exact;
//! - [`vectors`]: sequences of calls with their answers, as text; [`conformance`] runs them;
//! - [`steps`]: sequences of calls that are made up, by whatever makes things up; [`follow`] asks the limiters and
//!   compares. With the feature `arbitrary` a fuzzer makes them up.

#![expect(missing_docs, reason = "not published: where a name says it all, it stands alone")]
#![expect(clippy::missing_errors_doc, reason = "a rule of which there is no limiter, everywhere")]
#![expect(clippy::missing_panics_doc, reason = "a difference panics, everywhere")]

pub mod conformance;
pub mod follow;
#[cfg(feature = "arbitrary")]
pub mod from_bytes;
pub mod grants;
pub mod limiters;
pub mod rate;
pub mod reference;
pub mod steps;
pub mod vectors;
pub mod verbs;

/// The slots of a table for so many keys: 16 for each 11, in lines of four.
pub const fn slots(declared: usize) -> usize {
    (declared * 16).div_ceil(11).next_multiple_of(4)
}

/// How far apart honest readings may lie, as the limiters have it; in ns.
pub const SLACK: u64 = 5_000_000_000;

/// Later readings count as this, as the limiters have it; in ns.
pub const TIME_MAX: u64 = (1 << 61) - 1;
