//! Reservations that were made and neither kept nor cancelled.

use tollgate::{Instant, ManualClock, Reservation};

use crate::steps::Verb;

#[derive(Debug)]
pub(super) struct Held<'l> {
    clock: ManualClock,
    reservations: Vec<(u64, usize, Reservation<'l>)>,
    /// What the next one is called.
    pub(super) name: u64,
}

/// What became of a reservation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) name: u64,
    pub(super) key: usize,
    /// How many permits came back, if it was cancelled.
    pub(super) given: Option<u64>,
}

impl<'l> Held<'l> {
    /// Cancelled ones read the clock, which is set before.
    pub(super) fn new(clock: ManualClock) -> Self {
        Self { clock, reservations: Vec::new(), name: 0 }
    }

    pub(super) fn hold(&mut self, key: usize, reservation: Option<Reservation<'l>>) {
        let name = self.name;
        self.reservations.extend(reservation.map(|reservation| (name, key, reservation)));
        self.name += 1;
    }

    /// Cancels or keeps the one that the verb is about, if there is any.
    pub(super) fn end(&mut self, verb: Verb, now: u64) -> Option<Ended> {
        let (Verb::Cancel(back) | Verb::Keep(back)) = verb else { return None };
        let last = self.reservations.len().checked_sub(1)?;
        let (name, key, reservation) = self.reservations.remove(last - back % (last + 1));
        self.clock.set(Instant::from_nanos(now));
        let given = if let Verb::Cancel(_) = verb {
            Some(reservation.cancel())
        } else {
            reservation.keep();
            None
        };
        Some(Ended { name, key, given })
    }
}
