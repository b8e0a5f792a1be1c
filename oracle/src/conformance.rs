//! Asks the limiters what a vector asks, and compares.

use std::fmt;

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, QuantaClock, RandomSipHash};

use crate::limiters::Visit;
use crate::vectors::{Answer, Call, Vector};

/// The key that a vector's calls are made for.
const KEY: u64 = 0;
/// As few keys as leave room for neighbours: slots change hands all the time.
const KEYS: usize = 5;
/// Neighbours that take turns, more than there are slots for.
const NEIGHBOURS: u64 = 16;
/// Neighbours asked beside each call.
const NEIGHBOURS_PER_CALL: usize = 3;

/// An answer that is not the vector's.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Counted from 1.
    number: usize,
    call: Call,
    limiter: &'static str,
    answer: Answer,
}

/// Runs a vector through a direct and a keyed limiter, and through those whose algorithm is chosen at run time.
pub fn run(vector: &Vector<'_>) -> Result<Vec<Difference>, BuildError> {
    // Not a random key, so that a difference shows again.
    let hasher = RandomSipHash::with_key([1, 2]);
    let comparison = |limiters| Comparison { calls: &vector.calls, limiters };
    let rule = vector.rule;
    let mut differences = rule.build(KEYS, hasher.clone(), comparison(["direct", "keyed"]))?;
    let any = comparison(["AnyLimiter", "AnyKeyed"]);
    differences.extend(rule.build_any_on(QuantaClock::new(), KEYS, hasher, any)?);
    Ok(differences)
}

struct Comparison<'v> {
    calls: &'v [Call],
    /// What the direct and the keyed one are called.
    limiters: [&'static str; 2],
}

impl Visit for Comparison<'_> {
    type Output = Vec<Difference>;

    fn visit<A: Algorithm>(self, direct: Limiter<A>, keyed: Keyed<A, u64>) -> Vec<Difference> {
        let mut neighbours = (KEY + 1..=KEY + NEIGHBOURS).cycle();
        let mut differences = Vec::new();
        for (number, &call) in (1..).zip(self.calls) {
            let now = Instant::from_nanos(call.at);
            for neighbour in neighbours.by_ref().take(NEIGHBOURS_PER_CALL) {
                ask(&keyed, neighbour, now);
            }
            let decisions = [direct.check_at(now, call.cost), keyed.check_at(&KEY, now, call.cost)];
            for (limiter, decision) in self.limiters.into_iter().zip(decisions) {
                let answer = Answer::from(decision);
                if answer != call.answer {
                    differences.push(Difference { number, call, limiter, answer });
                }
            }
        }
        differences
    }
}

/// Asks for a neighbour, as long as that leaves a slot for the key.
fn ask<A: Algorithm>(keyed: &Keyed<A, u64>, neighbour: u64, now: Instant) {
    if keyed.live(now) + 1 < keyed.capacity() {
        // What neighbours are answered is no part of the vector.
        let _ = keyed.check_at(&neighbour, now, 1);
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, call, limiter, answer } = self;
        let Call { at, cost, answer: expected } = call;
        write!(f, "call {number} ({at} {cost}), {limiter}: {answer} instead of {expected}")
    }
}
