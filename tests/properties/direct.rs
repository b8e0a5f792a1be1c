//! Direct limiters.

use oracle::follow;
use proptest::prelude::*;

use crate::config;
use crate::rules::exact;
use crate::steps::any_order;

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn every_answer_is_the_references(rule in exact(), steps in any_order()) {
        follow::direct(rule, &steps)?;
    }
}
