//! Direct limiters.

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, ManualClock};

use crate::follow::held::Held;
use crate::follow::honesty::is_honest;
use crate::follow::visit_both;
use crate::limiters::Visit;
use crate::reference::Reference;
use crate::steps::{Step, Verb, Walk};
use crate::vectors::{Answer, Rule};
use crate::verbs::{Ask, Told, Verbs};

#[derive(Clone, Copy)]
struct Equals<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit<ManualClock> for Equals<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(self, direct: Limiter<A, ManualClock>, _: Keyed<A, u64, ManualClock>) {
        let horizon = direct.horizon().as_nanos();
        let mut walk = Walk::new(self.rule, horizon);
        let mut pair = Pair {
            direct: &direct,
            reference: Reference::new(self.rule, horizon),
            held: Held::new(direct.clock().clone()),
        };
        for (number, step) in self.steps.iter().enumerate() {
            let (now, cost) = walk.next(step);
            let peek_at = |at| direct.peek_at(Instant::from_nanos(at), cost);
            let (peeked, expected) = (Answer::from(peek_at(now)), pair.reference.peek(now, cost));
            assert_eq!(peeked, expected, "step {number}: a peek at {now} for {cost}");
            is_honest(peek_at(now), now, peek_at);
            let ask = walk.ask(step.verb, cost, pair.held.name, expected.retry);
            let (now, wait) = pair.step(number, now, ask, step.verb);
            walk.went_on(now);
            let answer = pair.reference.peek(now, cost);
            walk.answered(Answer { retry: wait.or(answer.retry), ..answer });
        }
    }
}

/// A limiter and the reference.
struct Pair<'l, A: Algorithm> {
    direct: &'l Limiter<A, ManualClock>,
    reference: Reference,
    held: Held<'l>,
}

impl<A: Algorithm + 'static> Pair<'_, A> {
    /// Does the same to both; when that is over, and a wait that the next step may take.
    fn step(&mut self, number: usize, now: u64, ask: Ask, verb: Verb) -> (u64, Option<u64>) {
        if let Some(ended) = self.held.end(verb, now) {
            let expected = ended.given.map(|_| self.reference.cancel(now, ended.name));
            self.reference.keep(ended.name);
            assert_eq!(ended.given, expected, "step {number}: {verb:?} at {now}");
            return (now, None);
        }
        match self.ask(number, now, ask) {
            Told::Due(due) => (now, Some(due.saturating_sub(now))),
            Told::Refused { wait: Some(wait), .. } => (self.is_honest(number, now, ask, wait), None),
            _ => (now, None),
        }
    }

    fn ask(&mut self, number: usize, now: u64, ask: Ask) -> Told {
        let at = Some(Instant::from_nanos(now));
        let (reply, ask) = self.direct.ask_or_check(0, at, ask);
        let expected = self.reference.ask(now, ask);
        assert_eq!(reply.told, expected, "step {number}: {ask:?} at {now}");
        self.held.hold(0, reply.reservation);
        expected
    }

    /// After a refusal at `now`: the same reservation alone, `wait` later and 1 ns before. When that is.
    fn is_honest(&mut self, number: usize, now: u64, ask: Ask, wait: u64) -> u64 {
        assert!(wait > 0, "step {number}: refused at {now}, with nothing to wait for");
        let at = now.checked_add(wait).expect("a wait until a reading that there is");
        let early = self.ask(number, at - 1, ask);
        assert!(matches!(early, Told::Refused { .. }), "step {number}: {ask:?} at {now}, 1 ns too early");
        let Ask::Reserve { permits, max_wait, .. } = ask else { return now };
        let again = Ask::Reserve { name: self.held.name, permits, max_wait };
        let granted = self.ask(number, at, again);
        assert!(matches!(granted, Told::Due(_)), "step {number}: {ask:?} at {now}, after the wait of {wait}");
        self.step(number, at, again, Verb::Cancel(0));
        at
    }
}

/// Asserts that a direct limiter of a rule it is exact for answers every step as the reference.
pub fn direct(rule: Rule, steps: &[Step]) -> Result<(), BuildError> {
    visit_both(rule, 1, [0, 0], Equals { rule, steps })
}
