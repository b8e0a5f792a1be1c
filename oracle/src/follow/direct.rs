//! Direct limiters.

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, RandomSipHash};

use crate::follow::honesty::is_honest;
use crate::limiters::Visit;
use crate::reference::Reference;
use crate::steps::{Step, Walk};
use crate::vectors::{Answer, Rule};

struct Equals<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit for Equals<'_> {
    type Output = ();

    fn visit<A: Algorithm>(self, direct: Limiter<A>, _: Keyed<A, u64>) {
        let horizon = direct.horizon().as_nanos();
        let (mut reference, mut walk) = (Reference::new(self.rule, horizon), Walk::new(self.rule, horizon));
        for (number, step) in self.steps.iter().enumerate() {
            let (now, cost) = walk.next(step);
            let peek_at = |at| direct.peek_at(Instant::from_nanos(at), cost);
            let (peeked, expected) = (Answer::from(peek_at(now)), reference.peek(now, cost));
            assert_eq!(peeked, expected, "step {number}: a peek at {now} for {cost}");
            let decision = direct.check_at(Instant::from_nanos(now), cost);
            let (answer, expected) = (Answer::from(decision), reference.call(now, cost));
            assert_eq!(answer, expected, "step {number}: a call at {now} for {cost}");
            is_honest(decision, now, peek_at);
            walk.answered(answer);
        }
    }
}

/// Asserts that a direct limiter of a rule it is exact for answers every step as the reference.
pub fn direct(rule: Rule, steps: &[Step]) -> Result<(), BuildError> {
    rule.build(1, RandomSipHash::with_key([0, 0]), Equals { rule, steps })
}
