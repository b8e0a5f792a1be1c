//! All verbs, mixed.

use oracle::follow;
use proptest::prelude::*;

use crate::config;
use crate::rules::exact;
use crate::steps::{of_all_verbs, of_all_verbs_in_order};

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn whatever_verb_is_asked_a_limiter_tells_what_the_reference_tells(
        rule in exact(),
        steps in of_all_verbs(),
    ) {
        follow::direct(rule, &steps)?;
    }

    #[test]
    fn whatever_verb_is_asked_a_key_is_told_what_it_alone_would_be_told(
        rule in exact(),
        steps in of_all_verbs_in_order(),
        hasher in any::<[u64; 2]>(),
    ) {
        follow::keyed(rule, &steps, hasher)?;
    }

    #[test]
    fn whatever_verb_is_asked_an_older_reading_gets_no_more_than_the_newest_recycling_allows(
        rule in exact(),
        steps in of_all_verbs(),
        hasher in any::<[u64; 2]>(),
    ) {
        follow::keyed(rule, &steps, hasher)?;
    }
}
