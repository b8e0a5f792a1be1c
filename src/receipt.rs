//! What was charged and where, so that it can be given back.

use core::hash::BuildHasher;

use crate::algorithm::{Algorithm, Charged};
use crate::clock::{Clock, Instant};
use crate::keyed::{Keyed, Spillway};
use crate::limiter::Limiter;
use crate::table::Fingerprint;

/// A charge, and the state that was charged.
#[derive(Debug, Clone, Copy)]
pub struct Receipt {
    pub(crate) fingerprint: Fingerprint,
    /// In the state that keys without a slot share.
    pub(crate) is_shared: bool,
    pub(crate) charged: Charged,
}

impl Receipt {
    /// Of a limiter's only state.
    pub(crate) fn direct(charged: Charged) -> Self {
        Self { fingerprint: Fingerprint::new(0), is_shared: false, charged }
    }
}

/// Whose receipts they are.
pub(crate) trait Issuer {
    fn now(&self) -> Instant;

    /// Undoes the charge if nothing was charged to the state since: how many permits come back.
    fn cancel(&self, now: u64, receipt: Receipt) -> u64;
}

impl<A: Algorithm, C: Clock> Issuer for Limiter<A, C> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn cancel(&self, now: u64, receipt: Receipt) -> u64 {
        self.direct.undo(now, receipt.charged)
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher> Issuer for Keyed<A, K, C, S> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn cancel(&self, now: u64, Receipt { fingerprint, is_shared, charged }: Receipt) -> u64 {
        match &self.overflow {
            Spillway::Shared(shared) if is_shared => shared.undo(now, charged),
            _ => self.table.undo(fingerprint, now, charged),
        }
    }
}
