//! Reservations that are cancelled in reverse order, as if they had never been made.

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, ManualClock, RandomSipHash, Reservation};

use crate::limiters::Visit;
use crate::reference::Reference;
use crate::steps::{Step, Verb, Wait, Walk};
use crate::vectors::Rule;
use crate::verbs::{Ask, Told, Verbs};

/// What happens before, while and after reservations are held.
#[derive(Debug, Clone, Copy)]
pub struct Phases<'s> {
    pub before: &'s [Step],
    /// Whatever they ask for, they reserve. Readings do not go back.
    pub held: &'s [Step],
    /// From the last reading on, which does not go back.
    pub after: &'s [Step],
}

struct Unwinds<'s> {
    rule: Rule,
    is_keyed: bool,
    phases: Phases<'s>,
}

impl Visit<ManualClock> for Unwinds<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, ManualClock>,
        keyed: Keyed<A, u64, ManualClock>,
    ) {
        let Self { rule, is_keyed, phases } = self;
        let clock = if is_keyed { keyed.clock() } else { direct.clock() };
        let limiter: &dyn Verbs = if is_keyed { &keyed } else { &direct };
        let horizon = limiter.horizon();
        let (mut walk, mut reference) = (Walk::new(rule, horizon), Reference::new(rule, horizon));
        is_followed(limiter, &mut reference, &mut walk, phases.before);

        let (mut readings, mut held) = (Vec::new(), Vec::new());
        for step in phases.held {
            let (now, cost) = walk.next(step);
            readings.push(now);
            let retry = reference.peek(now, cost).retry;
            let verb =
                if let Verb::Reserve(_) = step.verb { step.verb } else { Verb::Reserve(Wait::Longest(0)) };
            let reply = limiter.ask(0, Some(Instant::from_nanos(now)), walk.ask(verb, cost, 0, retry));
            held.extend(reply.expect("a bucket").reservation);
        }
        let (Some(first), Some(last)) = (readings.first(), readings.last()) else { return };
        clock.set(Instant::from_nanos(*last));
        while let Some(reservation) = held.pop() {
            let (permits, given) = (reservation.permits(), reservation.cancel());
            assert!(given == permits || given < permits && first < last, "{given} of {permits} at {last}");
        }
        is_followed(limiter, &mut reference, &mut walk, phases.after);
    }
}

/// Each step is told what the reference tells. Reservations are kept.
fn is_followed(limiter: &dyn Verbs, reference: &mut Reference, walk: &mut Walk, steps: &[Step]) {
    for (number, step) in steps.iter().enumerate() {
        let (now, cost) = walk.next(step);
        let retry = reference.peek(now, cost).retry;
        let ask = match walk.ask(step.verb, cost, 0, retry) {
            Ask::Reset => Ask::Check(cost),
            ask => ask,
        };
        let (reply, ask) = limiter.ask_or_check(0, Some(Instant::from_nanos(now)), ask);
        assert_eq!(reply.told, reference.ask(now, ask), "step {number}: {ask:?} at {now}");
        reply.reservation.into_iter().for_each(Reservation::keep);
        reference.keep(0);
        let peeked = limiter.ask_or_check(0, Some(Instant::from_nanos(now)), Ask::Peek(cost)).0.told;
        let expected = reference.peek(now, cost);
        assert_eq!(peeked, Told::Decided(expected), "step {number}: a peek at {now} for {cost}");
        walk.answered(expected);
    }
}

/// Asserts that after a bucket's reservations were cancelled in reverse order all is as if they had not been.
pub fn unwinds(rule: Rule, is_keyed: bool, phases: Phases<'_>) -> Result<(), BuildError> {
    let hasher = RandomSipHash::with_key([0, 0]);
    rule.build_on(ManualClock::new(), 1, hasher, Unwinds { rule, is_keyed, phases })
}
