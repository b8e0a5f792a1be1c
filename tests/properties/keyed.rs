//! Keyed limiters, whose slots change hands.

use oracle::follow;
use proptest::prelude::*;

use crate::config;
use crate::rules::exact;
use crate::steps::{any_order, in_order};

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn every_answer_follows_whoever_passes_by(
        rule in exact(),
        steps in in_order(),
        hasher in any::<[u64; 2]>(),
    ) {
        follow::keyed(rule, &steps, hasher)?;
    }

    #[test]
    fn an_older_reading_gets_no_more_than_the_newest_recycling_allows(
        rule in exact(),
        steps in any_order(),
        hasher in any::<[u64; 2]>(),
    ) {
        follow::keyed(rule, &steps, hasher)?;
    }
}
