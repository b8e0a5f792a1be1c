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

use proptest::prelude::*;

/// `cases` of them, unless the environment asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let chosen = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { chosen.cases } else { cases };
    assert!(cases > 0, "nothing is tested");
    // A failure becomes a test with a name. Rules that cannot be built are passed over.
    ProptestConfig { cases, failure_persistence: None, max_local_rejects: u32::MAX, ..chosen }
}
