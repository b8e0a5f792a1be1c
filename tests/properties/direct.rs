//! Direct limiters.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::{Algorithm, Instant, Keyed, Limiter, RandomSipHash};

use crate::config;
use crate::honesty::is_honest;
use crate::limiters::Visit;
use crate::reference::Reference;
use crate::rules::exact;
use crate::steps::{Step, Walk, any_order};
use crate::vectors::{Answer, Rule};

struct Equals<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit for Equals<'_> {
    type Output = TestCaseResult;

    fn visit<A: Algorithm>(self, direct: Limiter<A>, _: Keyed<A, u64>) -> TestCaseResult {
        let horizon = direct.horizon().as_nanos();
        let (mut reference, mut walk) = (Reference::new(self.rule, horizon), Walk::new(self.rule, horizon));
        for (number, step) in self.steps.iter().enumerate() {
            let (now, cost) = walk.next(step);
            let peek_at = |at| direct.peek_at(Instant::from_nanos(at), cost);
            let (peeked, expected) = (Answer::from(peek_at(now)), reference.peek(now, cost));
            prop_assert_eq!(peeked, expected, "step {}: a peek at {} for {}", number, now, cost);
            let decision = direct.check_at(Instant::from_nanos(now), cost);
            let (answer, expected) = (Answer::from(decision), reference.call(now, cost));
            prop_assert_eq!(answer, expected, "step {}: a call at {} for {}", number, now, cost);
            is_honest(decision, now, peek_at)?;
            walk.answered(answer);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn every_answer_is_the_references(rule in exact(), steps in any_order()) {
        rule.build(1, RandomSipHash::with_key([0, 0]), Equals { rule, steps: &steps })
            .map_err(|error| TestCaseError::fail(error.to_string()))??;
    }
}
