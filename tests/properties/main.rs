//! Every algorithm, direct and keyed, against the sequential reference: over any rule that can be built, any sequence
//! of costs, and readings that repeat, go back, or lie past the end of a limiter's time.
//!
//! `PROPTEST_CASES` sets the number of cases of each property.

mod alignment;
mod direct;
mod healing;
mod keyed;
mod port;
mod rounding;
mod rules;
mod steps;
mod verbs;

#[path = "../support/cases.rs"]
mod cases;

use cases::config;
