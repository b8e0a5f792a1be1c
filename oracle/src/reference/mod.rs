//! The four algorithms again: sequential, in plain integers, and without anything the limiters use to be fast.
//!
//! # Why nothing overflows
//!
//! Limits, costs and times are below 2^64. All intermediate values are `u128`, and are products of two such numbers,
//! or sums of a few such numbers with one quotient of a product: below 2^128, whatever the configuration. Where the
//! sum of two products could arise, one is subtracted from the other. (A mistake would panic: tests are built with
//! overflow checks.)
//!
//! # Readings that go back
//!
//! What an algorithm has recorded is never taken back. The bucket's record is the instant at which it is full, so an
//! older reading sees fewer tokens. The windows and the log count an older reading as the newest time they have
//! recorded; waits are told from the reading itself.
//!
//! # The end of time
//!
//! Past its horizon a limiter's time stands still, and nothing that comes back later than that comes back at all.

mod change;
mod fixed_window;
mod sliding_counter;
mod sliding_log;
mod token_bucket;

use std::collections::{BTreeMap, VecDeque};

use tollgate::Outcome;

use crate::TIME_MAX;
use crate::vectors::{Answer, Rule};
use crate::verbs::{Ask, Told};
use fixed_window::FixedWindow;
use sliding_counter::SlidingCounter;
use sliding_log::SlidingLog;
use token_bucket::TokenBucket;

/// One state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    limit: u64,
    horizon: u64,
    max_wait: u64,
    model: Model,
    /// What was reserved and neither cancelled nor kept, by name.
    reserved: BTreeMap<u64, Reserved>,
}

/// A charge that may be cancelled, as long as the bucket is just as the charge has left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Reserved {
    permits: u64,
    left: u128,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Model {
    TokenBucket(TokenBucket),
    FixedWindow(FixedWindow),
    SlidingCounter(SlidingCounter),
    SlidingLog(SlidingLog),
}

impl Reference {
    /// The state of a new limiter whose time ends at `horizon`.
    pub fn new(rule: Rule, horizon: u64) -> Self {
        Self::fresh(rule, horizon, 0)
    }

    /// A state that nothing was charged to, and that has recorded the time `since`.
    pub fn fresh(rule: Rule, horizon: u64, since: u64) -> Self {
        let since = since.min(horizon);
        let (limit, model) = match rule {
            Rule::TokenBucket { capacity, limit, period, max_wait } => {
                let bucket = TokenBucket { capacity, limit, period, missing: 0, since, max_wait };
                (capacity, Model::TokenBucket(bucket))
            }
            Rule::FixedWindow { limit, period } => {
                let window = since / period;
                (limit, Model::FixedWindow(FixedWindow { limit, period, window, used: 0 }))
            }
            Rule::SlidingCounter { limit, period } => {
                let window = since / period;
                let counter = SlidingCounter { limit, period, window, current: 0, previous: 0, closing: 0 };
                (limit, Model::SlidingCounter(counter))
            }
            Rule::SlidingLog { limit, period } => {
                let entries = VecDeque::new();
                (limit, Model::SlidingLog(SlidingLog { limit, period, since, entries, kept: None }))
            }
        };
        Self { limit, horizon, max_wait: rule.max_wait(), model, reserved: BTreeMap::new() }
    }

    /// Asks, and charges what is allowed.
    pub fn call(&mut self, now: u64, cost: u64) -> Answer {
        let Answer { outcome, retry, .. } = self.peek(now, cost);
        if outcome == Outcome::Allowed && cost > 0 {
            self.charge(now, cost);
        }
        Answer { outcome, retry, ..self.peek(now, 0) }
    }

    /// What a call would be answered, with the details before a charge.
    pub fn peek(&self, now: u64, cost: u64) -> Answer {
        let wait = self.wait(now, cost);
        let (outcome, retry) = match wait {
            _ if cost > self.limit => (Outcome::TooLarge, None),
            _ if cost == 0 => (Outcome::Allowed, Some(0)),
            Some(0) => (Outcome::Allowed, Some(0)),
            wait => (Outcome::Denied, wait),
        };
        Answer { outcome, remaining: Some(self.remaining(now)), retry, reset: self.wait(now, self.limit) }
    }

    /// Does what is asked, and tells what a limiter has to tell.
    pub fn ask(&mut self, now: u64, ask: Ask) -> Told {
        match ask {
            Ask::Check(cost) => Told::Decided(self.call(now, cost)),
            Ask::Peek(cost) => Told::Decided(self.peek(now, cost)),
            Ask::TakeUpTo(permits) => {
                // As many as there are; if there are none, what one is told.
                let permits = permits.min(self.remaining(now).max(1));
                let answer = self.call(now, permits);
                Told::Taken(if answer.outcome == Outcome::Allowed { permits } else { 0 }, answer)
            }
            Ask::Reserve { name, permits, max_wait } => self.reserve(now, name, permits, max_wait),
            Ask::Refund(permits) => Told::Moved(self.give_back(now, permits)),
            Ask::Penalize(permits) => {
                let now = now.min(self.horizon);
                let Model::TokenBucket(bucket) = &mut self.model else { panic!("only a bucket owes") };
                let taken = bucket.can_owe(now, permits);
                if taken > 0 {
                    bucket.charge(now, taken);
                }
                Told::Moved(taken)
            }
            Ask::Reset => {
                self.reset(now);
                Told::Forgot(true)
            }
        }
    }

    /// The permits are due when they would be there, and are charged at once if that is soon enough.
    fn reserve(&mut self, now: u64, name: u64, permits: u64, max_wait: u64) -> Told {
        let max_wait = max_wait.min(self.max_wait);
        let Answer { outcome, retry, .. } = self.peek(now, permits);
        let is_too_large = outcome == Outcome::TooLarge;
        match retry {
            Some(wait) if wait <= max_wait => {
                if permits > 0 {
                    self.charge(now, permits);
                    let Model::TokenBucket(bucket) = &self.model else { panic!("only a bucket reserves") };
                    self.reserved.insert(name, Reserved { permits, left: bucket.identity() });
                }
                Told::Due(now.min(TIME_MAX) + wait)
            }
            wait => Told::Refused { is_too_large, wait: wait.map(|wait| wait - max_wait) },
        }
    }

    /// Gives a reservation's permits back, if the bucket is as the reservation has left it: how many whole ones have not
    /// come back by themselves.
    pub fn cancel(&mut self, now: u64, name: u64) -> u64 {
        match (self.reserved.remove(&name), &self.model) {
            (Some(Reserved { permits, left }), Model::TokenBucket(bucket)) if bucket.identity() == left => {
                self.give_back(now, permits)
            }
            _ => 0,
        }
    }

    /// A reservation is for good.
    pub fn keep(&mut self, name: u64) {
        self.reserved.remove(&name);
    }

    fn give_back(&mut self, now: u64, permits: u64) -> u64 {
        let now = now.min(self.horizon);
        match &mut self.model {
            Model::TokenBucket(bucket) => bucket.give_back(now, permits),
            Model::FixedWindow(window) => window.give_back(now, permits),
            Model::SlidingCounter(counter) => counter.give_back(now, permits),
            Model::SlidingLog(_) => panic!("a log takes nothing back"),
        }
    }

    /// As if nothing had been charged; the time that was recorded stays.
    fn reset(&mut self, now: u64) {
        let now = now.min(self.horizon);
        match &mut self.model {
            Model::TokenBucket(bucket) => {
                bucket.give_back(now, u64::MAX);
            }
            Model::FixedWindow(window) => {
                window.charge(now, 0);
                window.used = 0;
            }
            Model::SlidingCounter(counter) => {
                counter.charge(now, 0);
                (counter.current, counter.previous) = (0, 0);
            }
            Model::SlidingLog(_) => panic!("a log takes nothing back"),
        }
    }

    fn charge(&mut self, now: u64, cost: u64) {
        let now = now.min(self.horizon);
        match &mut self.model {
            Model::TokenBucket(bucket) => bucket.charge(now, cost),
            Model::FixedWindow(window) => window.charge(now, cost),
            Model::SlidingCounter(counter) => counter.charge(now, cost),
            Model::SlidingLog(log) => log.charge(now, cost),
        }
    }

    /// Whether the state has become as good as new before `now`, so that nothing is lost with it.
    pub fn is_stale(&self, now: u64) -> bool {
        let now = now.min(self.horizon);
        match &self.model {
            Model::TokenBucket(bucket) => bucket.is_stale(now),
            Model::FixedWindow(window) => now / window.period > window.window,
            Model::SlidingCounter(counter) => now / counter.period > counter.window.saturating_add(1),
            Model::SlidingLog(log) => log.since < now && log.entries_at(now).next().is_none(),
        }
    }

    /// Whether nothing that counts was charged in the newest window; of a bucket that is no state of its own.
    pub fn is_unused(&self) -> bool {
        match &self.model {
            Model::TokenBucket(_) | Model::SlidingLog(_) => false,
            Model::FixedWindow(window) => window.used == 0,
            Model::SlidingCounter(counter) => counter.current == 0 && counter.previous == 0,
        }
    }

    /// This state with a time recorded at which nothing was charged, where that is a state of its own: a log's, and a
    /// counter's whose window has just closed.
    pub fn recorded(&self, time: u64) -> Option<Self> {
        let mut recorded = self.clone();
        let time = time.min(self.horizon);
        match &mut recorded.model {
            Model::TokenBucket(_) | Model::FixedWindow(_) => return None,
            Model::SlidingCounter(counter) if time / counter.period != counter.window + 1 => return None,
            Model::SlidingCounter(counter) => counter.charge(time, 0),
            Model::SlidingLog(log) => log.since = log.since.max(time),
        }
        Some(recorded)
    }

    /// This state if a count between its own and that of `earlier`, to whose window permits have come back since, was
    /// recorded before by a thread with the reading `time` that is about to open the next one: it weighs there all the
    /// same.
    pub fn closing(&self, earlier: &Self, time: u64) -> Vec<Self> {
        let (Model::SlidingCounter(earlier), Model::SlidingCounter(own), Some(_)) =
            (&earlier.model, &self.model, earlier.recorded(time))
        else {
            return Vec::new();
        };
        let counts = own.current + 1..=earlier.current.max(earlier.closing);
        let recorded = |closing| Self {
            model: Model::SlidingCounter(SlidingCounter { closing, ..own.clone() }),
            ..self.clone()
        };
        counts.map(recorded).collect()
    }

    /// This state before what [`closing`](Self::closing) tells of was recorded; `None` if it tells of nothing.
    pub fn not_yet_closing(&self) -> Option<Self> {
        let mut earlier = self.clone();
        match &mut earlier.model {
            Model::SlidingCounter(counter) if counter.closing > counter.current => counter.closing = 0,
            _ => return None,
        }
        Some(earlier)
    }

    fn remaining(&self, now: u64) -> u64 {
        let now = now.min(self.horizon);
        match &self.model {
            Model::TokenBucket(bucket) => bucket.remaining(now),
            Model::FixedWindow(window) => window.left(now),
            Model::SlidingCounter(counter) => counter.remaining(now),
            Model::SlidingLog(log) => log.limit.saturating_sub(log.used(now)),
        }
    }

    /// The least wait after which `cost`, at most the limit, is allowed.
    fn wait(&self, now: u64, cost: u64) -> Option<u64> {
        if cost > self.limit {
            return None;
        }
        let now = now.min(self.horizon);
        let at = match &self.model {
            Model::TokenBucket(bucket) => bucket.allowed_from(cost)?,
            Model::FixedWindow(window) => window.allowed_from(now, cost),
            Model::SlidingCounter(counter) => counter.allowed_from(now, cost),
            Model::SlidingLog(log) => log.allowed_from(now, cost),
        };
        let at = u64::try_from(at.max(now.into())).ok().filter(|at| *at <= self.horizon)?;
        Some(at - now)
    }
}
