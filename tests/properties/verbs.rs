//! All verbs, mixed.

use oracle::follow::{self, Phases};
use proptest::prelude::*;

use crate::config;
use crate::rules::{exact, exact_bucket, rounded_bucket};
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

    #[test]
    fn whatever_verb_is_asked_a_rounded_bucket_tells_what_the_exact_one_would_within_the_bounds(
        rule in rounded_bucket(),
        steps in of_all_verbs(),
    ) {
        follow::rounded(rule, &steps)?;
    }

    #[test]
    fn whatever_verb_is_asked_a_keyed_bucket_tells_what_a_direct_one_tells(
        rule in rounded_bucket(),
        steps in of_all_verbs_in_order(),
        hasher in any::<[u64; 2]>(),
    ) {
        follow::alike(rule, &steps, hasher)?;
    }

    #[test]
    fn no_more_is_granted_than_the_bound_and_what_was_given_back(
        rule in prop_oneof![4 => exact(), 1 => rounded_bucket()],
        is_keyed in any::<bool>(),
        steps in of_all_verbs(),
        hasher in any::<[u64; 2]>(),
    ) {
        follow::bounded(rule, is_keyed, &steps, hasher)?;
    }

    #[test]
    fn reservations_cancelled_in_reverse_order_leave_no_trace(
        rule in exact_bucket(),
        is_keyed in any::<bool>(),
        before in of_all_verbs(),
        held in of_all_verbs_in_order(),
        after in of_all_verbs_in_order(),
    ) {
        let phases = Phases { before: &before, held: &held, after: &after };
        follow::unwinds(rule, is_keyed, phases)?;
    }
}
