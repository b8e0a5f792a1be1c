//! What threads do: made up from a number, so that a number is enough to make it again.

use std::ops::RangeInclusive;

use fastrand::Rng;
use oracle::vectors::Rule;
use oracle::verbs::Ask;

/// Periods are a few of these, in ns: a call of a thread that runs freely takes about one.
const UNIT: u64 = 200;
/// More than the slack of the limiters: slots that were never charged may be taken, and who sleeps meanwhile has to
/// read the clock again.
const LONG: u64 = 6_000_000_000;

/// A small program of a few threads.
#[derive(Debug, Clone)]
pub struct Plan {
    pub rule: Rule,
    pub face: Face,
    /// What each thread asks, in order.
    pub threads: Vec<Vec<Request>>,
    /// How far the clock moves, and on, while they ask; in ns.
    pub ticks: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Direct,
    Keyed {
        /// Keys that the table is for.
        declared: usize,
        /// Keys that were charged at time 0, before the threads start, and that nobody asks for again.
        fillers: u64,
        hasher: [u64; 2],
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub key: u64,
    pub verb: Verb,
    pub cost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// On the limiter's own clock.
    Check,
    /// At a reading that the thread took before.
    CheckAt,
    /// On the limiter's own clock, charging nothing.
    Peek,
    TakeUpTo,
    /// What is reserved has a name. It is kept unless it is cancelled.
    Reserve {
        name: u64,
        max_wait: u64,
    },
    /// By the thread that reserved it; nothing if that was refused.
    Cancel {
        name: u64,
    },
    Refund,
    Penalize,
    Reset,
}

impl Request {
    /// What the limiter is asked for; `None`: a reservation is cancelled.
    pub fn ask(self) -> Option<Ask> {
        let permits = self.cost;
        Some(match self.verb {
            Verb::Check | Verb::CheckAt => Ask::Check(permits),
            Verb::Peek => Ask::Peek(permits),
            Verb::TakeUpTo => Ask::TakeUpTo(permits),
            Verb::Reserve { name, max_wait } => Ask::Reserve { name, permits, max_wait },
            Verb::Cancel { .. } => return None,
            Verb::Refund => Ask::Refund(permits),
            Verb::Penalize => Ask::Penalize(permits),
            Verb::Reset => Ask::Reset,
        })
    }
}

/// The algorithms, by number.
const ALGORITHMS: [fn(limit: u64, period: u64, rng: &mut Rng) -> Rule; 4] = [
    |capacity, period, rng| {
        let (limit, max_wait) = (rng.u64(1..=3), rng.u64(..=3) * period);
        Rule::TokenBucket { capacity, limit, period, max_wait }
    },
    |limit, period, _| Rule::FixedWindow { limit, period },
    |limit, period, _| Rule::SlidingCounter { limit, period },
    |limit, period, _| Rule::SlidingLog { limit, period },
];

/// Calls of all threads together.
const CALLS: RangeInclusive<usize> = 6..=20;
const THREADS: RangeInclusive<usize> = 2..=4;
const TICKS: RangeInclusive<usize> = 1..=6;

impl Plan {
    /// The plan of a number.
    pub fn new(seed: u64, algorithm: usize, is_keyed: bool) -> Self {
        let mut rng = Rng::with_seed(seed);
        let rng = &mut rng;
        let (limit, period) = (rng.u64(1..=4), rng.u64(1..=12) * UNIT);
        let rule = ALGORITHMS[algorithm](limit, period, rng);
        let (face, keys) = if is_keyed { keyed(rng) } else { (Face::Direct, 1) };
        let mut threads = vec![Vec::new(); rng.usize(THREADS)];
        for name in 0..rng.usize(CALLS) as u64 {
            let thread = rng.usize(..threads.len());
            let request = request(rng, rule, face, keys, name);
            let next = if rng.u8(..3) == 0 {
                // Mostly the newest first.
                cancel(&threads[thread], usize::from(rng.u8(..4) == 0)).unwrap_or(request)
            } else {
                request
            };
            threads[thread].push(next);
        }
        let ticks = (0..rng.usize(TICKS)).map(|_| tick(rng, period)).collect();
        Self { rule, face, threads, ticks }
    }
}

/// A table of one line or of a few, mostly filled, so that slots go from key to key; and how many keys are asked for.
fn keyed(rng: &mut Rng) -> (Face, u64) {
    let declared = rng.usize(1..=6);
    let slots = oracle::slots(declared) as u64;
    let fillers = if rng.u8(..3) == 0 { 0 } else { rng.u64(slots.saturating_sub(3)..=slots) };
    let face = Face::Keyed { declared, fillers, hasher: [rng.u64(..), rng.u64(..)] };
    (face, rng.u64(1..=4))
}

/// A request to cancel one of the last reservations that are not cancelled yet.
fn cancel(requests: &[Request], back: usize) -> Option<Request> {
    let name = |request: &Request| match request.verb {
        Verb::Reserve { name, .. } => Some(name),
        _ => None,
    };
    let is_cancelled = |name| requests.iter().any(|request| request.verb == Verb::Cancel { name });
    let held = requests.iter().rev().filter_map(|request| Some((request.key, name(request)?)));
    let (key, name) = held.filter(|(_, name)| !is_cancelled(*name)).nth(back)?;
    Some(Request { key, verb: Verb::Cancel { name }, cost: 0 })
}

fn request(rng: &mut Rng, rule: Rule, face: Face, keys: u64, name: u64) -> Request {
    let (limit, max_wait) = (rule.limit(), rule.max_wait());
    let is_bucket = matches!(rule, Rule::TokenBucket { .. });
    // A counter's reset is no single step.
    let can_reset =
        face != Face::Direct && matches!(rule, Rule::TokenBucket { .. } | Rule::FixedWindow { .. });
    let verb = match rng.u8(..20) {
        0 | 1 => Verb::Peek,
        2..=4 => Verb::CheckAt,
        5 | 6 => Verb::TakeUpTo,
        7..=9 if is_bucket => {
            Verb::Reserve { name, max_wait: if rng.bool() { max_wait } else { rng.u64(..=max_wait) } }
        }
        10 | 11 if !matches!(rule, Rule::SlidingLog { .. }) => Verb::Refund,
        12 if is_bucket => Verb::Penalize,
        13 if can_reset => Verb::Reset,
        _ => Verb::Check,
    };
    let cost = match rng.u8(..20) {
        0 => 0,
        1 => limit,
        2 => limit + 1,
        3..=7 => rng.u64(1..=limit),
        _ => 1,
    };
    Request { key: rng.u64(..keys), verb, cost }
}

fn tick(rng: &mut Rng, period: u64) -> u64 {
    match rng.u8(..16) {
        0 => LONG,
        1 | 2 => rng.u64(1..=3),
        3..=5 => rng.u64(1..=3) * UNIT,
        6..=8 => period,
        9 => period + 1,
        10 => period.saturating_sub(1),
        11 => 2 * period,
        12 => 2 * period + 1,
        _ => rng.u64(..=period),
    }
}
