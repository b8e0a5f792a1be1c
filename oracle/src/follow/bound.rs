//! What is granted, over any span of readings, whatever is given back in between.
//!
//! A reservation counts when it is due, and one that was cancelled does not. What was refunded between the first and the
//! last grant may be granted once more; a refund tells whole permits, and may have given the part of one more.

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, ManualClock, Outcome, RandomSipHash};

use crate::follow::held::Held;
use crate::follow::keyed::CAPACITY;
use crate::grants::{Grant, most};
use crate::limiters::Visit;
use crate::steps::{KEYS, Step, Walk};
use crate::vectors::{Answer, Rule};
use crate::verbs::{Ask, Told, Verbs};

/// What one key was granted and gave back, in order.
#[derive(Debug)]
enum Entry {
    /// Of a reservation with its name.
    Granted(Grant, u64),
    GivenBack(u64),
    /// Whoever it was that read it.
    Read(u64),
}

struct Bounded<'s> {
    rule: Rule,
    steps: &'s [Step],
    is_keyed: bool,
}

impl Visit<ManualClock> for Bounded<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, ManualClock>,
        keyed: Keyed<A, u64, ManualClock>,
    ) {
        let Self { rule, steps, is_keyed } = self;
        let clock = if is_keyed { keyed.clock() } else { direct.clock() };
        let mut held = Held::new(clock.clone());
        let limiter: &dyn Verbs = if is_keyed { &keyed } else { &direct };
        let mut ledgers: [Vec<Entry>; KEYS] = Default::default();
        let mut walk = Walk::new(rule, limiter.horizon());
        let mut passers_by = KEYS as u64..;
        for step in steps {
            let (now, cost) = walk.next(step);
            let at = Some(Instant::from_nanos(now));
            let key = if is_keyed { step.key } else { 0 };
            for ledger in &mut ledgers {
                ledger.push(Entry::Read(now));
            }
            for passer_by in passers_by.by_ref().take(step.passers_by) {
                limiter.ask(passer_by, at, Ask::Check(1));
            }
            if let Some(ended) = held.end(step.verb, now) {
                if let Some(given) = ended.given {
                    cancel(&mut ledgers[ended.key], ended.name, given);
                }
                continue;
            }
            let peeked = limiter.ask_or_check(key as u64, at, Ask::Peek(cost)).0.told;
            let retry = if let Told::Decided(answer) = peeked { answer.retry } else { None };
            let (reply, ask) = match walk.ask(step.verb, cost, held.name, retry) {
                // What a key is granted starts anew.
                Ask::Reset => limiter.ask_or_check(key as u64, at, Ask::Check(cost)),
                ask => limiter.ask_or_check(key as u64, at, ask),
            };
            let granted = |permits, from| Entry::Granted(Grant { from, to: from, permits }, held.name);
            let entry = match (reply.told, ask) {
                (Told::Decided(answer), _) if answer.outcome == Outcome::Allowed => Some(granted(cost, now)),
                (Told::Taken(permits, _), _) => Some(granted(permits, now)),
                // Within the ns before.
                (Told::Due(due), _) if due > now => {
                    Some(Entry::Granted(Grant { from: due - 1, to: due, permits: cost }, held.name))
                }
                (Told::Due(_), _) => Some(granted(cost, now)),
                (Told::Moved(permits), Ask::Refund(asked)) => {
                    let may_be_more = matches!(rule, Rule::TokenBucket { .. }) && permits < asked;
                    Some(Entry::GivenBack(permits + u64::from(may_be_more)))
                }
                _ => None,
            };
            ledgers[key].extend(entry);
            held.hold(key, reply.reservation);
            if let Told::Decided(answer) = limiter.ask_or_check(key as u64, at, Ask::Peek(cost)).0.told {
                let wait = match reply.told {
                    Told::Due(due) => Some(due.saturating_sub(now)),
                    Told::Refused { wait, .. } => wait,
                    _ => None,
                };
                walk.answered(Answer { retry: wait.or(answer.retry), ..answer });
            }
        }
        for ledger in &ledgers {
            is_bounded(rule, ledger);
        }
    }
}

/// Strikes a reservation out. One of which nothing came back stays, as far as the part of a permit may have.
fn cancel(ledger: &mut Vec<Entry>, name: u64, given: u64) {
    let is_named = |entry: &Entry| matches!(entry, Entry::Granted(_, granted) if *granted == name);
    let at = ledger.iter().position(is_named);
    match at {
        Some(at) if given > 0 => {
            ledger.remove(at);
        }
        _ => ledger.push(Entry::GivenBack(1)),
    }
}

/// From each grant to each later one, over the span of their readings and of all in between; of a bucket also over each
/// other span of readings. (Windows count an older reading as the newest one, of a table as that of whoever recycled.)
fn is_bounded(rule: Rule, ledger: &[Entry]) {
    for first in 0..ledger.len() {
        let (mut from, mut to) = (u64::MAX, 0);
        let mut tally = Tally::default();
        for entry in &ledger[first..] {
            match entry {
                Entry::Granted(grant, _) => (from, to) = (from.min(grant.from), to.max(grant.to)),
                Entry::Read(now) => (from, to) = (from.min(*now), to.max(*now)),
                Entry::GivenBack(_) => {}
            }
            tally.count(entry, || most(rule, from, to));
        }
    }
    if !matches!(rule, Rule::TokenBucket { .. }) {
        return;
    }
    let grants = || {
        ledger.iter().filter_map(|entry| match entry {
            Entry::Granted(grant, _) => Some(*grant),
            Entry::GivenBack(_) | Entry::Read(_) => None,
        })
    };
    for from in grants().map(|grant| grant.from) {
        for to in grants().map(|grant| grant.to).filter(|to| *to >= from) {
            let is_within = |entry: &&Entry| match entry {
                Entry::Granted(grant, _) => from <= grant.from && grant.to <= to,
                Entry::GivenBack(_) | Entry::Read(_) => true,
            };
            let mut tally = Tally::default();
            let most = most(rule, from, to);
            ledger.iter().filter(is_within).for_each(|entry| tally.count(entry, || most));
        }
    }
}

/// Permits that were granted, and those that were given back since the first of them and before the last.
#[derive(Debug, Default)]
struct Tally {
    granted: u128,
    back: u128,
    pending: u128,
}

impl Tally {
    fn count(&mut self, entry: &Entry, most: impl Fn() -> u128) {
        match entry {
            Entry::Granted(grant, _) => {
                self.granted += u128::from(grant.permits);
                self.back += std::mem::take(&mut self.pending);
                assert!(self.granted <= most() + self.back, "{self:?} and {}, with {grant:?}", most());
            }
            Entry::GivenBack(permits) if self.granted > 0 => self.pending += u128::from(*permits),
            Entry::GivenBack(_) | Entry::Read(_) => {}
        }
    }
}

/// Asserts that a limiter of any rule grants no more than its bound, and what was given back.
pub fn bounded(rule: Rule, is_keyed: bool, steps: &[Step], hasher: [u64; 2]) -> Result<(), BuildError> {
    let hasher = RandomSipHash::with_key(hasher);
    rule.build_on(ManualClock::new(), CAPACITY, hasher, Bounded { rule, steps, is_keyed })
}
