//! The readings one call decides on.

use crate::algorithm::{Intent, TIME_MAX};
use crate::clock::{Clock, Instant};

/// The reading in hand, and where a fresh one comes from. Without a clock the caller's time serves for both.
#[derive(Debug, Clone)]
pub(crate) struct Readings<'c, C> {
    clock: Option<&'c C>,
    now: u64,
    was_renewed: bool,
}

impl<'c, C: Clock> Readings<'c, C> {
    /// A reading of the limiter's own clock.
    #[inline]
    pub(crate) fn of(clock: &'c C) -> Self {
        Self::taken(clock, clock.now())
    }

    /// A reading that was taken of the limiter's own clock.
    #[inline]
    pub(crate) fn taken(clock: &'c C, now: Instant) -> Self {
        Self { clock: Some(clock), now: nanos(now), was_renewed: false }
    }

    /// The caller's time.
    #[inline]
    pub(crate) fn given(now: Instant) -> Self {
        Self { clock: None, now: nanos(now), was_renewed: false }
    }

    /// The reading in hand.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// A reading taken now; it does not replace the one in hand.
    pub(crate) fn fresh(&self) -> u64 {
        self.clock.map_or(self.now, |clock| nanos(clock.now()))
    }

    /// Decide again at this reading.
    pub(crate) fn replace(&mut self, now: u64) {
        self.now = now;
    }

    /// Takes a fresh reading the first time it is asked; tells whether to decide again.
    pub(crate) fn renew_once(&mut self) -> bool {
        if self.was_renewed {
            return false;
        }
        self.was_renewed = true;
        self.now = self.fresh();
        true
    }

    /// What a call that asks for so many permits asks of an attempt.
    #[inline]
    pub(crate) fn charge_for(&self, permits: u64) -> Intent {
        if permits == 0 { Intent::Peek } else { self.charge() }
    }

    /// What a call that charges asks of an attempt.
    #[inline]
    pub(crate) fn charge(&self) -> Intent {
        if self.clock.is_some() { Intent::Charge } else { Intent::ChargeAt }
    }
}

/// Time stands still at the last time that words tell.
#[inline]
pub(crate) fn nanos(now: Instant) -> u64 {
    now.as_nanos().min(TIME_MAX)
}
