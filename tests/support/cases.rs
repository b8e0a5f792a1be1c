//! How many cases proptest makes up.

use std::env;

use proptest::prelude::*;

/// `cases` of them, unless `PROPTEST_CASES` asks for another number.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let chosen = ProptestConfig::default();
    let cases = if env::var_os("PROPTEST_CASES").is_some() { chosen.cases } else { cases };
    assert!(cases > 0, "nothing is tested");
    // A failure becomes a test with a name. What cannot be built is passed over.
    let (max_local_rejects, max_global_rejects) = (u32::MAX, u32::MAX);
    ProptestConfig { cases, failure_persistence: None, max_local_rejects, max_global_rejects, ..chosen }
}
