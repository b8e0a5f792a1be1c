//! What is asked when, as far as it can be said before the answers are known.

use crate::vectors::{Answer, Rule};
use crate::verbs::Ask;

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// When.
    pub hop: Hop,
    /// What.
    pub verb: Verb,
    /// How many permits.
    pub cost: Cost,
    /// In tests of keyed limiters: whose call it is; below [`KEYS`].
    pub key: usize,
    /// Keys that are asked for before, and never again.
    pub passers_by: usize,
}

/// From the time of the call before to the time of this one.
#[derive(Debug, Clone, Copy)]
pub enum Hop {
    Stay,
    Forward(u64),
    Back(u64),
    /// By 2^-16 parts of the period.
    Period(u64),
    /// By the wait for a retry, or for all of the limit, and by so much less or more.
    Retry(i64),
    Reset(i64),
    /// To some time, or so much before the end of the limiter's, or past it.
    To(u64),
    BeforeHorizon(u64),
    PastHorizon(u64),
}

/// Where a limiter has no such verb, it is a check.
#[derive(Debug, Clone, Copy)]
pub enum Verb {
    Check,
    TakeUpTo,
    Reserve(Wait),
    /// A reservation that is held, counted from the newest.
    Cancel(usize),
    Keep(usize),
    Refund,
    Penalize,
    Reset,
}

/// The longest wait for a reservation.
#[derive(Debug, Clone, Copy)]
pub enum Wait {
    These(u64),
    /// What the permits take to come back, and so much less or more.
    Needed(i64),
    /// The rule's, and so much less or more.
    Longest(i64),
}

#[derive(Debug, Clone, Copy)]
pub enum Cost {
    These(u64),
    /// What remained after the call before, and so much more.
    Remaining(u64),
    Half,
    Limit,
    AboveLimit,
}

/// The keys that steps are for.
pub const KEYS: usize = 3;

impl Step {
    /// Whether its reading may be older than the one before.
    pub fn may_go_back(&self) -> bool {
        match self.hop {
            Hop::Back(_) | Hop::To(_) => true,
            // Waits are 1 ns at least.
            Hop::Retry(offset) | Hop::Reset(offset) => offset < -1,
            _ => false,
        }
    }
}

/// Makes times and costs of steps.
#[derive(Debug)]
pub struct Walk {
    limit: u64,
    period: u64,
    max_wait: u64,
    /// Not a log: a key of it that is reset loses its slot, and is another one afterwards.
    can_reset: bool,
    horizon: u64,
    now: u64,
    last: Option<Answer>,
}

impl Walk {
    pub fn new(rule: Rule, horizon: u64) -> Self {
        let (limit, period, max_wait) = (rule.limit(), rule.period(), rule.max_wait());
        let can_reset = !matches!(rule, Rule::SlidingLog { .. });
        Self { limit, period, max_wait, can_reset, horizon, now: 0, last: None }
    }

    /// The time and the cost of a step.
    pub fn next(&mut self, step: &Step) -> (u64, u64) {
        let after = |wait: Option<u64>, offset: i64| {
            // A wait that is none leads nowhere.
            wait.filter(|wait| *wait > 0)
                .map_or(self.now, |wait| self.now.saturating_add(wait).saturating_add_signed(offset))
        };
        self.now = match step.hop {
            Hop::Stay => self.now,
            Hop::Forward(nanos) => self.now.saturating_add(nanos),
            Hop::Back(nanos) => self.now.saturating_sub(nanos),
            Hop::Period(parts) => {
                let nanos = (u128::from(self.period) * u128::from(parts)) >> 16;
                self.now.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
            Hop::Retry(offset) => after(self.last.and_then(|last| last.retry), offset),
            Hop::Reset(offset) => after(self.last.and_then(|last| last.reset), offset),
            Hop::To(now) => now,
            Hop::BeforeHorizon(nanos) => self.now.max(self.horizon.saturating_sub(nanos)),
            Hop::PastHorizon(nanos) => self.now.max(self.horizon.saturating_add(nanos)),
        };
        let cost = match step.cost {
            Cost::These(cost) => cost,
            Cost::Remaining(more) => {
                let remaining = self.last.and_then(|last| last.remaining).unwrap_or(self.limit);
                remaining.saturating_add(more)
            }
            Cost::Half => self.limit / 2,
            Cost::Limit => self.limit,
            Cost::AboveLimit => self.limit.saturating_add(1),
        };
        (self.now, cost)
    }

    /// Waits were tried out until `now`: it is that late.
    pub fn went_on(&mut self, now: u64) {
        self.now = now;
    }

    /// What a step asks for, unless it is about a reservation that was made: that will be called `name`. `retry` is what
    /// a peek tells.
    pub fn ask(&self, verb: Verb, cost: u64, name: u64, retry: Option<u64>) -> Ask {
        match verb {
            Verb::TakeUpTo => Ask::TakeUpTo(cost),
            Verb::Reserve(wait) => {
                let max_wait = match wait {
                    Wait::These(nanos) => nanos,
                    Wait::Needed(offset) => retry.unwrap_or(0).saturating_add_signed(offset),
                    Wait::Longest(offset) => self.max_wait.saturating_add_signed(offset),
                };
                Ask::Reserve { name, permits: cost, max_wait }
            }
            Verb::Refund => Ask::Refund(cost),
            Verb::Penalize => Ask::Penalize(cost),
            Verb::Reset if self.can_reset => Ask::Reset,
            Verb::Check | Verb::Cancel(_) | Verb::Keep(_) | Verb::Reset => Ask::Check(cost),
        }
    }

    /// Waits of the next step refer to this answer.
    pub fn answered(&mut self, answer: Answer) {
        self.last = Some(answer);
    }
}
