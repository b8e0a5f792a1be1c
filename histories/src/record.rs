//! What happened: calls as the thread that made them saw them.

use std::fmt;

use oracle::vectors::Answer;
use tollgate::{Algorithm, Clock, Decision, Keyed, Limiter, Outcome};

use crate::plan::{Request, Verb};

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    pub thread: usize,
    pub request: Request,
    /// Instants of the witness before and after.
    pub invoked: u64,
    pub returned: u64,
    /// The readings that were taken of the limiter's clock in between, in order; in ns.
    pub readings: Vec<u64>,
    /// `None`: the key found no slot.
    pub answer: Option<Answer>,
}

/// How a thread knows when something happened, and which readings its calls took.
pub trait Witness {
    /// An instant later than all that this thread has seen.
    fn instant(&self) -> u64;

    /// The readings that this thread's calls took since the last time.
    fn readings(&self) -> Vec<u64>;
}

/// A limiter to ask, of whatever algorithm and face.
pub trait Subject: Sync {
    fn ask(&self, request: Request) -> Decision;

    fn horizon(&self) -> u64;
}

impl<A: Algorithm, C: Clock> Subject for Limiter<A, C> {
    fn ask(&self, Request { verb, cost, .. }: Request) -> Decision {
        match verb {
            Verb::Check => self.check_n(cost),
            Verb::CheckAt => self.check_at(self.now(), cost),
            Verb::Peek => self.peek(cost),
        }
    }

    fn horizon(&self) -> u64 {
        self.horizon().as_nanos()
    }
}

impl<A: Algorithm, C: Clock> Subject for Keyed<A, u64, C> {
    fn ask(&self, Request { key, verb, cost }: Request) -> Decision {
        match verb {
            Verb::Check => self.check_n(&key, cost),
            Verb::CheckAt => self.check_at(&key, self.now(), cost),
            Verb::Peek => self.peek(&key, cost),
        }
    }

    fn horizon(&self) -> u64 {
        self.horizon().as_nanos()
    }
}

/// Asks, in order, and records.
pub fn record(
    thread: usize,
    requests: &[Request],
    subject: &(impl Subject + ?Sized),
    witness: &impl Witness,
) -> Vec<Call> {
    let call = |request: &Request| {
        let invoked = witness.instant();
        let decision = subject.ask(*request);
        let returned = witness.instant();
        let answer = if decision.overflowed() {
            let told = (decision.outcome(), decision.remaining());
            assert_eq!(told, (Outcome::Denied, Some(0)), "a key without a slot: {decision:?}");
            None
        } else {
            Some(Answer::from(decision))
        };
        Call { thread, request: *request, invoked, returned, readings: witness.readings(), answer }
    };
    requests.iter().map(call).collect()
}

/// Whether any two calls of different threads may have been under way at once.
pub fn overlap(calls: &[Call]) -> bool {
    calls.iter().any(|call| {
        let is_concurrent = |other: &Call| {
            other.thread != call.thread && other.invoked <= call.returned && call.invoked <= other.returned
        };
        calls.iter().any(is_concurrent)
    })
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { key, verb, cost } = self.request;
        write!(f, "{:>4}..{:<4} thread {}, key {key}: ", self.invoked, self.returned, self.thread)?;
        write!(f, "{verb:?} {cost} at {:?}: ", self.readings)?;
        match &self.answer {
            Some(answer) => answer.fmt(f),
            None => f.write_str("no slot"),
        }
    }
}
