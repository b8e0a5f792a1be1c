//! Token buckets whose rate is rounded: how far they may be from the exact ones.
//!
//! With the rate reduced to `N` permits per `P` ns, such a bucket counts time in units of which a permit costs
//! `C = max(1, ceil(8P / N))`, at `C * N / P` units per ns, floored to 56 binary digits. At `t` ns it has counted
//! `d(t) = t * e + f` units too few, with `e < 2^-56` from that floor and `0 <= f < 1` from flooring units.
//!
//! Let both buckets be charged what the rounded one grants. The instants at which they are full differ only by what
//! the rounded bucket's time was behind at some earlier charge: by a mean of some `d(s)`, and of 0. So, at readings
//! `t >= s`,
//!
//! - what it grants the exact bucket grants within one unit: `d(t) - d(s) > -1`;
//! - what it refuses the exact bucket refuses `t * e` units earlier, since whole units are compared: under 4 units
//!   before its horizon, which ends below 2^58 ns.
//!
//! An older reading sees `d(t) - d(s) > -1 - (s - t) * e`.

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, Outcome, RandomSipHash};

use crate::follow::honesty::is_honest;
use crate::follow::keyed::CAPACITY;
use crate::limiters::Visit;
use crate::rate::reduced;
use crate::steps::{Step, Walk};
use crate::vectors::{Answer, Rule};

/// The exact bucket, charged with what another has granted.
///
/// A permit is `p` parts, and `n` parts come back each ns. No number here reaches 2^127: `n` and `p` are below 2^64 and
/// the horizon is below 2^58 ns; a capacity is below 2^59 units, at least 8 units come back per ns, and so the parts of
/// a capacity are fewer than those that come back in 2^56 ns.
#[derive(Debug)]
struct Exact {
    n: i128,
    p: i128,
    /// `C`.
    units: i128,
    capacity: u64,
    horizon: u64,
    /// When the bucket is full, in parts that have come back since 0.
    full_at: i128,
    newest: u64,
}

impl Exact {
    fn new(capacity: u64, limit: u64, period: u64, horizon: u64) -> Self {
        let (n, p) = reduced(limit, period);
        let (n, p) = (i128::from(n), i128::from(p));
        let units = ceil(8 * p, n).max(1);
        Self { n, p, units, capacity, horizon, full_at: 0, newest: 0 }
    }

    fn returned(&self, now: u64) -> i128 {
        self.n * i128::from(now.min(self.horizon))
    }

    fn charge(&mut self, now: u64, cost: u64) {
        self.newest = self.newest.max(now.min(self.horizon));
        self.full_at = self.full_at.max(self.returned(now)) + i128::from(cost) * self.p;
    }

    /// The parts that the bucket holds at `now` beyond `cost`.
    fn surplus(&self, now: u64, cost: u64) -> i128 {
        let missing = (self.full_at - self.returned(now)).max(0);
        i128::from(self.capacity - cost) * self.p - missing
    }

    fn may_grant(&self, now: u64, cost: u64) {
        if cost == 0 {
            return;
        }
        let stale_by = i128::from(self.newest.saturating_sub(now));
        let unit = ceil(self.p + ceil(self.p * stale_by, 1 << 56), self.units);
        assert!(-self.surplus(now, cost) < unit, "{cost} at {now} too early: {self:?}");
    }

    fn may_refuse(&self, now: u64, cost: u64) {
        let units = ceil(4 * self.p, self.units);
        assert!(self.surplus(now, cost) < units, "{cost} at {now} too late: {self:?}");
    }

    /// `cost` is refused from `now` on until `wait` has passed, or for ever.
    fn may_wait(&self, now: u64, cost: u64, wait: Option<u64>) {
        match wait.map(|wait| now + wait) {
            Some(at) => {
                self.may_grant(at, cost);
                if at > now {
                    self.may_refuse(at - 1, cost);
                }
            }
            None => self.may_refuse(self.horizon, cost),
        }
    }

    /// The state after a decision.
    fn may_answer(&self, now: u64, cost: u64, answer: Answer) {
        if answer.outcome == Outcome::Denied {
            self.may_refuse(now, cost);
            self.may_wait(now, cost, answer.retry);
        }
        let remaining = answer.remaining.unwrap_or(0);
        self.may_grant(now, remaining);
        if remaining < self.capacity {
            self.may_refuse(now, remaining + 1);
        }
        self.may_wait(now, self.capacity, answer.reset);
    }
}

fn ceil(a: i128, b: i128) -> i128 {
    (a + b - 1) / b
}

struct WithinBounds<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit for WithinBounds<'_> {
    type Output = ();

    fn visit<A: Algorithm>(self, direct: Limiter<A>, _: Keyed<A, u64>) {
        let Rule::TokenBucket { capacity, limit, period, .. } = self.rule else { return };
        let horizon = direct.horizon().as_nanos();
        let mut walk = Walk::new(self.rule, horizon);
        let mut exact = Exact::new(capacity, limit, period, horizon);
        for step in self.steps {
            let (now, cost) = walk.next(step);
            let peek_at = |at| direct.peek_at(Instant::from_nanos(at), cost);
            exact.may_answer(now, cost, peek_at(now).into());
            let decision = direct.check_at(Instant::from_nanos(now), cost);
            assert_eq!(decision.outcome() == Outcome::TooLarge, cost > capacity);
            if decision.is_allowed() && cost > 0 {
                exact.may_grant(now, cost);
                exact.charge(now, cost);
            }
            exact.may_answer(now, cost, decision.into());
            is_honest(decision, now, peek_at);
            walk.answered(decision.into());
        }
    }
}

struct Equal<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit for Equal<'_> {
    type Output = ();

    fn visit<A: Algorithm>(self, direct: Limiter<A>, keyed: Keyed<A, u64>) {
        let mut walk = Walk::new(self.rule, direct.horizon().as_nanos());
        let mut passers_by = 1..;
        for step in self.steps {
            let (now, cost) = walk.next(step);
            let at = Instant::from_nanos(now);
            for passer_by in passers_by.by_ref().take(step.passers_by) {
                if keyed.live(at) + 1 < CAPACITY {
                    let _ = keyed.check_at(&passer_by, at, 1);
                }
            }
            let (answer, expected) = (keyed.check_at(&0, at, cost), direct.check_at(at, cost));
            assert_eq!(Answer::from(answer), Answer::from(expected), "{cost} at {now}");
            is_honest(answer, now, |at| keyed.peek_at(&0, Instant::from_nanos(at), cost));
            walk.answered(answer.into());
        }
    }
}

fn run(rule: Rule, hasher: [u64; 2], visit: impl Visit<Output = ()>) -> Result<(), BuildError> {
    rule.build(CAPACITY, RandomSipHash::with_key(hasher), visit)
}

/// Asserts that a direct bucket whose rate is rounded stays within the bounds.
pub fn rounded(rule: Rule, steps: &[Step]) -> Result<(), BuildError> {
    run(rule, [0, 0], WithinBounds { rule, steps })
}

/// Asserts that a keyed limiter answers as a direct one, so that the bounds are its own too; readings do not go back.
pub fn alike(rule: Rule, steps: &[Step], hasher: [u64; 2]) -> Result<(), BuildError> {
    run(rule, hasher, Equal { rule, steps })
}
