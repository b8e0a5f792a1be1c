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
//! An older reading sees `d(t) - d(s) > -1 - (s - t) * e`. What is given back brings both buckets' instants as far as
//! the reading at most, and so does not set them further apart; whole permits that come back, or that fit a debt, may
//! differ by one, and by those that under 8 units are.

use tollgate::{Algorithm, BuildError, Instant, Keyed, Limiter, ManualClock, Outcome, Reservation};

use crate::follow::held::Held;
use crate::follow::honesty::is_honest;
use crate::follow::keyed::CAPACITY;
use crate::follow::visit_both;
use crate::limiters::Visit;
use crate::rate::reduced;
use crate::steps::{Step, Walk};
use crate::vectors::{Answer, Rule};
use crate::verbs::{Ask, Told, Verbs};

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

    fn missing(&self, now: u64) -> i128 {
        (self.full_at - self.returned(now)).max(0)
    }

    /// By how many permits the numbers of whole ones may differ.
    fn about(&self) -> i128 {
        1 + ceil(8, self.units)
    }

    fn may_give_back(&mut self, now: u64, asked: u64, given: u64) {
        self.newest = self.newest.max(now.min(self.horizon));
        let missing = self.missing(now);
        let parts = i128::from(asked).checked_mul(self.p).map_or(missing, |parts| parts.min(missing));
        self.full_at -= parts;
        let whole = parts / self.p;
        assert!(
            (whole - i128::from(given)).abs() <= self.about(),
            "{given} of {asked} back at {now}, not {whole}"
        );
    }

    /// Takes away what another has.
    fn may_take_away(&mut self, now: u64, asked: u64, taken: u64, max_wait: u64) {
        let deepest = i128::from(self.capacity) * self.p + self.n * i128::from(max_wait);
        let most = ((deepest - self.missing(now)).max(0) / self.p).min(asked.into());
        assert!(
            (most - i128::from(taken)).abs() <= self.about(),
            "{taken} of {asked} away at {now}, not {most}"
        );
        if taken > 0 {
            self.charge(now, taken);
        }
    }

    fn charge(&mut self, now: u64, cost: u64) {
        self.newest = self.newest.max(now.min(self.horizon));
        self.full_at = self.full_at.max(self.returned(now)) + i128::from(cost) * self.p;
    }

    /// The parts that the bucket holds at `now` beyond `cost`.
    fn surplus(&self, now: u64, cost: u64) -> i128 {
        i128::from(self.capacity - cost) * self.p - self.missing(now)
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

#[derive(Clone, Copy)]
struct WithinBounds<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit<ManualClock> for WithinBounds<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(self, direct: Limiter<A, ManualClock>, _: Keyed<A, u64, ManualClock>) {
        let Rule::TokenBucket { capacity, limit, period, .. } = self.rule else { return };
        let horizon = direct.horizon().as_nanos();
        let mut walk = Walk::new(self.rule, horizon);
        let mut exact = Exact::new(capacity, limit, period, horizon);
        for step in self.steps {
            let (now, cost) = walk.next(step);
            let peek_at = |at| direct.peek_at(Instant::from_nanos(at), cost);
            let peeked = peek_at(now);
            exact.may_answer(now, cost, peeked.into());
            is_honest(peeked, now, peek_at);
            assert_eq!(peeked.outcome() == Outcome::TooLarge, cost > capacity);
            let mut wait = None;
            let ask = match walk.ask(step.verb, cost, 0, Answer::from(peeked).retry) {
                Ask::Reset => Ask::Check(cost),
                ask => ask,
            };
            let (told, ask) = self::ask(&direct, now, ask);
            match (told, ask) {
                (Told::Decided(answer), _) => {
                    if answer.outcome == Outcome::Allowed && cost > 0 {
                        exact.may_grant(now, cost);
                        exact.charge(now, cost);
                    }
                    exact.may_answer(now, cost, answer);
                }
                (Told::Taken(permits, answer), _) => {
                    if permits < cost && permits < capacity {
                        exact.may_refuse(now, permits + 1);
                    }
                    if permits > 0 {
                        exact.may_grant(now, permits);
                        exact.charge(now, permits);
                    }
                    exact.may_answer(now, permits.max(cost.min(1)), answer);
                }
                (Told::Due(due), _) => {
                    wait = Some(due.saturating_sub(now));
                    assert_eq!(wait, Answer::from(peeked).retry, "{ask:?} at {now}");
                    if cost > 0 {
                        exact.may_wait(now, cost, wait);
                        exact.charge(now, cost);
                    }
                }
                (Told::Refused { wait: Some(wait), .. }, _) => {
                    let at = now + wait;
                    let (early, _) = self::ask(&direct, at - 1, ask);
                    assert!(matches!(early, Told::Refused { .. }), "{ask:?} at {now}, 1 ns before {wait}");
                    let (Told::Due(due), _) = self::ask(&direct, at, ask) else {
                        panic!("{ask:?} at {now}, after {wait}")
                    };
                    exact.may_wait(at, cost, due.checked_sub(at));
                    exact.charge(at, cost);
                    walk.went_on(at);
                }
                (Told::Moved(given), Ask::Refund(asked)) => exact.may_give_back(now, asked, given),
                (Told::Moved(taken), Ask::Penalize(asked)) => {
                    exact.may_take_away(now, asked, taken, self.rule.max_wait());
                }
                _ => {}
            }
            let answer = Answer::from(peek_at(now));
            walk.answered(Answer { retry: wait.or(answer.retry), ..answer });
        }
    }
}

/// Asks, and keeps what is reserved.
fn ask(limiter: &dyn Verbs, now: u64, ask: Ask) -> (Told, Ask) {
    let (reply, ask) = limiter.ask_or_check(0, Some(Instant::from_nanos(now)), ask);
    reply.reservation.into_iter().for_each(Reservation::keep);
    (reply.told, ask)
}

#[derive(Clone, Copy)]
struct Equal<'s> {
    rule: Rule,
    steps: &'s [Step],
}

impl Visit<ManualClock> for Equal<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, ManualClock>,
        keyed: Keyed<A, u64, ManualClock>,
    ) {
        let mut walk = Walk::new(self.rule, direct.horizon().as_nanos());
        let mut helds = [direct.clock(), keyed.clock()].map(|clock| Held::new(clock.clone()));
        let mut passers_by = 1..;
        for step in self.steps {
            let (now, cost) = walk.next(step);
            let at = Instant::from_nanos(now);
            for passer_by in passers_by.by_ref().take(step.passers_by) {
                if keyed.live(at) + 1 < CAPACITY {
                    let _ = keyed.check_at(&passer_by, at, 1);
                }
            }
            let [expected, ended] = helds.each_mut().map(|held| held.end(step.verb, now));
            assert_eq!(ended.map(|ended| ended.given), expected.map(|ended| ended.given), "at {now}");
            let peeked = direct.peek_at(at, cost);
            if ended.is_none() {
                let ask = match walk.ask(step.verb, cost, 0, Answer::from(peeked).retry) {
                    // Only a key has it.
                    Ask::Reset => Ask::Check(cost),
                    ask => ask,
                };
                let limiters: [&dyn Verbs; 2] = [&direct, &keyed];
                let [expected, told] = std::array::from_fn(|number| {
                    let (reply, _) = limiters[number].ask_or_check(0, Some(at), ask);
                    helds[number].hold(0, reply.reservation);
                    reply.told
                });
                assert_eq!(told, expected, "{ask:?} at {now}");
            }
            let answer = keyed.peek_at(&0, at, cost);
            is_honest(answer, now, |at| keyed.peek_at(&0, Instant::from_nanos(at), cost));
            walk.answered(answer.into());
        }
    }
}

/// Asserts that a direct bucket whose rate is rounded stays within the bounds.
pub fn rounded(rule: Rule, steps: &[Step]) -> Result<(), BuildError> {
    visit_both(rule, CAPACITY, [0, 0], WithinBounds { rule, steps })
}

/// Asserts that a keyed limiter answers as a direct one, so that the bounds are its own too; readings do not go back.
pub fn alike(rule: Rule, steps: &[Step], hasher: [u64; 2]) -> Result<(), BuildError> {
    visit_both(rule, CAPACITY, hasher, Equal { rule, steps })
}
