//! A state that lies by itself, and the loop around its steps.

use crossbeam_utils::CachePadded;

use crate::algorithm::{All, Answer, Ask, Charged, Intent, Policy, Refund, Retry, State, UpTo, Word};
use crate::clock::{Clock, Instant};
use crate::decision::Decision;
use crate::error::BuildError;
use crate::reading::{Readings, nanos};
use crate::sync::AtomicU64;

/// A state that lies by itself, and the loop around its steps.
#[derive(Debug)]
pub(crate) struct Direct<P: Policy> {
    policy: P,
    /// On lines of its own: whoever writes beside it would slow every decision.
    state: CachePadded<DirectState<P>>,
}

#[derive(Debug)]
struct DirectState<P: Policy> {
    word: AtomicU64,
    extra: P::Extra,
}

impl<P: Policy> Direct<P> {
    pub(crate) fn new(policy: P, now: Instant) -> Result<Self, BuildError> {
        let word = AtomicU64::new(Word::live(policy.initial(nanos(now))).raw());
        let state = CachePadded::new(DirectState { word, extra: policy.extra()? });
        Ok(Self { policy, state })
    }

    pub(crate) fn policy(&self) -> &P {
        &self.policy
    }

    #[inline]
    pub(crate) fn state(&self) -> State<'_> {
        State::new(&self.state.word, self.state.extra.as_ref())
    }

    #[inline]
    pub(crate) fn check<C: Clock>(&self, mut readings: Readings<'_, C>, cost: u64) -> Decision {
        let intent = readings.charge_for(cost);
        P::decision(self.ask(&mut readings, All(cost), intent))
    }

    pub(crate) fn take_up_to<C: Clock>(&self, mut readings: Readings<'_, C>, cost: u64) -> Answer<P::View> {
        let intent = readings.charge();
        match cost {
            0 => self.ask(&mut readings, All(0), Intent::Peek),
            _ => self.ask(&mut readings, UpTo(cost), intent),
        }
    }

    /// Whoever is told that it lost was overtaken by a decision that succeeded. The reading in hand afterwards is the one
    /// that was decided on.
    #[inline]
    pub(crate) fn ask<C: Clock>(
        &self,
        readings: &mut Readings<'_, C>,
        ask: impl Ask<P>,
        intent: Intent,
    ) -> Answer<P::View> {
        let state = self.state();
        loop {
            let word = state.load();
            match ask.attempt(&self.policy, state, word, readings.now(), intent) {
                Ok(answer) => return answer,
                Err(Retry::Lost) => {}
                Err(Retry::Ahead) => heal(&self.policy, state, word, readings),
            }
        }
    }

    /// Undoes a charge, if nothing was charged since: how many permits come back.
    pub(crate) fn undo(&self, now: u64, charged: Charged) -> u64 {
        let (given, before) = self.policy.undone(charged, now);
        if self.state().exchange(charged.word, before).is_ok() { given } else { 0 }
    }
}

impl<P: Refund> Direct<P> {
    /// How many permits come back.
    pub(crate) fn refund(&self, now: u64, permits: u64) -> u64 {
        let state = self.state();
        loop {
            let word = state.load();
            let Some((given, less)) = self.policy.refunded(word, now, permits) else { return 0 };
            if state.exchange(word, less).is_ok() {
                return given;
            }
        }
    }
}

/// Takes a fresh reading, after the word was loaded, and heals the state if it is ahead of that too.
#[cold]
#[inline(never)]
pub(crate) fn heal<P: Policy, C: Clock>(
    policy: &P,
    state: State<'_>,
    word: Word,
    readings: &mut Readings<'_, C>,
) {
    let fresh = readings.fresh();
    policy.heal(state, word, fresh);
    readings.replace(fresh);
}
