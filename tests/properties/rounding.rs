//! Token buckets whose rate is rounded, against the exact ones.

use oracle::follow;
use proptest::prelude::*;

use crate::config;
use crate::rules::{rounded_bucket, slow_rounded_bucket};
use crate::steps::{any_order, in_order, one_by_one};

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn every_answer_is_the_exact_one_within_the_bounds(rule in rounded_bucket(), steps in any_order()) {
        follow::rounded(rule, &steps)?;
    }

    #[test]
    fn a_bucket_that_is_never_full_again_does_not_drift(rule in slow_rounded_bucket()) {
        follow::rounded(rule, &one_by_one(200))?;
    }

    #[test]
    fn a_keyed_bucket_answers_as_a_direct_one(
        rule in rounded_bucket(),
        steps in in_order(),
        hasher in any::<[u64; 2]>(),
    ) {
        follow::alike(rule, &steps, hasher)?;
    }
}
