//! The calls, one by one, and what must hold after each.

use oracle::follow::is_honest;
use oracle::steps::Cost;
use oracle::vectors::Answer;
use tollgate::{Decision, Outcome};

use crate::face::Face;
use crate::input::{Action, Input, Motion, Verb};
use crate::ledger::Ledger;
use crate::place::{Place, Spent};
use crate::promise::{SLACK, limit, period};
use crate::recovery;

pub(crate) struct Run<'r, F> {
    pub(crate) face: &'r F,
    pub(crate) input: &'r Input,
    limit: u64,
    ledger: Ledger,
    last: Option<Answer>,
    /// Where the last glitch began.
    home: u64,
}

impl<'r, F: Face> Run<'r, F> {
    pub(crate) fn new(face: &'r F, input: &'r Input) -> Self {
        let (limit, home) = (limit(input.rule), input.start);
        Self { face, input, limit, ledger: Ledger::default(), last: None, home }
    }

    pub(crate) fn all(mut self) {
        for action in &self.input.actions {
            self.act(action);
        }
        recovery::assert_recovers(&self);
    }

    pub(crate) fn time(&self) -> u64 {
        self.face.clock().time()
    }

    fn key(&self, number: u8) -> u64 {
        self.input.keys.map_or(0, |keys| u64::from(number) % keys.names)
    }

    /// Whether a key may find no slot.
    fn is_crowded(&self) -> bool {
        self.input.keys.is_some_and(|keys| keys.names > keys.declared as u64)
    }

    fn moved(&self, motion: Motion) -> u64 {
        let retry = self.last.and_then(|last| last.retry).unwrap_or(0);
        let reset = self.last.and_then(|last| last.reset).unwrap_or(0);
        motion.from(self.time(), period(self.input.rule), (retry, reset), self.home)
    }

    fn cost(&self, cost: Cost) -> u64 {
        match cost {
            Cost::These(cost) => cost,
            Cost::Remaining(more) => {
                self.last.and_then(|last| last.remaining).unwrap_or(self.limit).saturating_add(more)
            }
            Cost::Half => self.limit / 2,
            Cost::Limit => self.limit,
            Cost::AboveLimit => self.limit.saturating_add(1),
        }
    }

    fn act(&mut self, action: &Action) {
        let (from, to) = (self.time(), self.moved(action.motion));
        if action.motion.is_glitch() {
            self.home = from;
        }
        self.face.clock().set(to);
        let (key, cost) = (self.key(action.key), self.cost(action.cost));
        match action.verb {
            Verb::Peek => {
                let decision = self.face.peek(key, cost);
                self.judge(key, cost, decision, Some(to));
            }
            Verb::Check(error) => {
                let in_hand = self.moved(error);
                if in_hand == to { self.check(key, cost) } else { self.check_late(key, cost, in_hand) }
            }
            Verb::CheckAt(error) => self.check_at(key, cost, self.moved(error)),
            Verb::CheckMany(count) => {
                let keys: Vec<_> =
                    (0..count).map(|number| self.key(action.key.wrapping_add(number))).collect();
                self.check_many(&keys);
            }
        }
    }

    /// `check_n` of a thread that decides at once.
    fn check(&mut self, key: u64, cost: u64) {
        let now = self.time();
        let (before, place) = (self.face.peek(key, cost), self.place(key));
        let decision = self.granted(key, cost, |face| face.check_n(key, cost));
        self.judge(key, cost, decision, Some(now));
        if let Place::Ahead(spent) = &place
            && (1..=self.limit).contains(&cost)
        {
            self.assert_healed(key, decision, spent);
        } else if self.input.keys.is_none() {
            // (A key without a state may find itself dated by the last recycling.)
            if decision.is_allowed() {
                assert!(before.is_allowed(), "{decision:?}, but {before:?}");
            } else if matches!(place, Place::Here) {
                assert_eq!(Answer::from(decision), before.into(), "a refusal changes nothing");
            }
        }
    }

    /// `check_n` of a thread that was stopped since it read the clock, or has read it wrongly.
    fn check_late(&mut self, key: u64, cost: u64, in_hand: u64) {
        let (before, place) = (self.face.peek(key, cost), self.place(key));
        let decision = self.granted(key, cost, |face| {
            face.clock().read_once(in_hand);
            face.check_n(key, cost)
        });
        self.judge(key, cost, decision, None);
        if self.input.keys.is_none() && !decision.is_allowed() && matches!(place, Place::Here) {
            let after = Answer::from(self.face.peek(key, cost));
            assert_eq!(after, before.into(), "refused by a reading of {in_hand}, while the clock was right");
        }
    }

    fn check_at(&mut self, key: u64, cost: u64, at: u64) {
        let before = self.face.recycled();
        let decision = self.face.check_at(key, at, cost);
        self.ledger.read(&[at], &[]);
        self.enter(key, cost, decision, &[at], self.face.recycled() > before);
        self.judge(key, cost, decision, Some(at));
    }

    fn check_many(&mut self, keys: &[u64]) {
        let now = self.time();
        self.face.clock().readings();
        let before = self.face.recycled();
        let decisions = self.face.check_many(keys);
        let readings = self.face.clock().readings();
        assert_eq!(decisions.len(), keys.len());
        self.ledger.read(&readings, readings.get(1..).unwrap_or(&[]));
        let has_recycled = self.face.recycled() > before;
        for (key, decision) in keys.iter().zip(&decisions) {
            self.enter(*key, 1, *decision, &readings, has_recycled);
        }
        for (key, decision) in keys.iter().zip(&decisions) {
            // Others of the batch may have charged the key since.
            let at = (!decision.is_allowed()).then_some(now);
            self.judge(*key, 1, *decision, at);
        }
    }

    /// A call that may charge, entered into the ledger.
    fn granted(&mut self, key: u64, cost: u64, call: impl Fn(&F) -> Decision) -> Decision {
        self.face.clock().readings();
        let before = self.face.recycled();
        let decision = call(self.face);
        let readings = self.face.clock().readings();
        let may_heal = readings.get(1..).unwrap_or(&[]);
        self.ledger.read(&readings, may_heal);
        self.enter(key, cost, decision, &readings, self.face.recycled() > before);
        decision
    }

    fn enter(&mut self, key: u64, cost: u64, decision: Decision, readings: &[u64], has_recycled: bool) {
        let permits = if decision.is_allowed() { cost } else { 0 };
        self.ledger.enter(self.input.rule, key, permits, readings, has_recycled);
    }

    /// What holds of any decision; `at` is what it was decided at, if that is certain and nothing has changed since.
    fn judge(&mut self, key: u64, cost: u64, decision: Decision, at: Option<u64>) {
        let answer = Answer::from(decision);
        self.last = Some(answer);
        assert!(decision.limit() == self.limit && answer.remaining <= Some(self.limit), "{decision:?}");
        assert_eq!(answer.outcome == Outcome::TooLarge, cost > self.limit, "{decision:?}");
        assert!(cost > 0 || decision.is_allowed(), "{decision:?}");
        if decision.overflowed() {
            assert!(self.is_crowded(), "there are slots for all: {decision:?}");
            return;
        }
        let Some(at) = at else { return };
        if !decision.is_allowed() {
            assert_eq!(answer, self.face.peek_at(key, at, cost).into(), "refused at {at}, and then?");
            let now = self.time();
            is_honest(decision, at, |then| {
                self.face.clock().set(then);
                self.face.peek(key, cost)
            });
            self.face.clock().set(now);
        }
    }

    fn place(&self, key: u64) -> Place {
        Place::of(self.input.rule, self.time(), self.face.peek(key, 0).reset_after_nanos())
    }

    fn assert_healed(&self, key: u64, decision: Decision, spent: &Spent) {
        assert_eq!(decision.outcome(), Outcome::Denied, "healed to spent");
        let now = self.time();
        for then in [now, now + SLACK, (now + SLACK).saturating_add(period(self.input.rule))] {
            for n in [1, self.limit] {
                let answer = Answer::from(self.face.peek_at(key, then, n));
                let expected = spent.peek_at(then, n);
                assert_eq!(answer, expected.into(), "healed at {now}, asked at {then} for {n}");
            }
        }
    }
}
