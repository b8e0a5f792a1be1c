//! What happened: calls as the thread that made them saw them.

use std::collections::HashMap;
use std::fmt;

use oracle::vectors::Answer;
use oracle::verbs::{Reply, Told, Verbs};
use tollgate::{Algorithm, Clock, Instant, Keyed, Limiter, Outcome, Reservation};

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
    pub told: Told,
}

/// How a thread knows when something happened, and which readings its calls took.
pub trait Witness {
    /// An instant later than all that this thread has seen.
    fn instant(&self) -> u64;

    /// The readings that this thread's calls took since the last time.
    fn readings(&self) -> Vec<u64>;
}

/// A limiter to ask, of whatever algorithm and face.
pub trait Subject: Verbs + Sync {
    fn now(&self) -> Instant;
}

impl<A: Algorithm + 'static, C: Clock + 'static> Subject for Limiter<A, C> {
    fn now(&self) -> Instant {
        self.now()
    }
}

impl<A: Algorithm + 'static, C: Clock + 'static> Subject for Keyed<A, u64, C> {
    fn now(&self) -> Instant {
        self.now()
    }
}

/// Asks, in order, and records.
pub fn record(
    thread: usize,
    requests: &[Request],
    subject: &(impl Subject + ?Sized),
    witness: &impl Witness,
) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut held: HashMap<u64, Reservation<'_>> = HashMap::new();
    for request in requests {
        let cancelled = match request.verb {
            Verb::Cancel { name } => match held.remove(&name) {
                Some(reservation) => Some(reservation),
                None => continue,
            },
            _ => None,
        };
        let invoked = witness.instant();
        let (told, reservation) = match (request.ask(), cancelled) {
            (Some(ask), _) => {
                let at = (request.verb == Verb::CheckAt).then(|| subject.now());
                let reply = subject.ask(request.key, at, ask).expect("only what the limiter can do");
                let Reply { told, reservation } = reply;
                (told, reservation)
            }
            (None, Some(reservation)) => (Told::Moved(reservation.cancel()), None),
            (None, None) => continue,
        };
        let returned = witness.instant();
        if let (Verb::Reserve { name, .. }, Some(reservation)) = (request.verb, reservation) {
            held.insert(name, reservation);
        }
        calls.push(Call { thread, request: *request, invoked, returned, readings: witness.readings(), told });
    }
    held.into_values().for_each(Reservation::keep);
    calls
}

impl Call {
    /// How many permits it was granted.
    pub fn granted(&self) -> u64 {
        match self.told {
            Told::Decided(Answer { outcome: Outcome::Allowed, .. }) if self.request.verb != Verb::Peek => {
                self.request.cost
            }
            Told::Taken(permits, _) => permits,
            Told::Due(_) => self.request.cost,
            _ => 0,
        }
    }
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
        match &self.told {
            Told::Decided(answer) => answer.fmt(f),
            told => write!(f, "{told:?}"),
        }
    }
}
