//! What has been decided about one request.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use smallvec::SmallVec;
use tollgate::{Clock, Decision, Instant, Outcome, QuantaClock};

use super::Limits;
use crate::headers::Report;
use crate::keys::Key;
use crate::policy::Charge;
use crate::refusal::{Reason, Refusal};

/// What has been decided about one request. It borrows nothing and can wait for the response.
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct Decided<C: Clock = QuantaClock> {
    pub(super) limits: Limits<C>,
    pub(super) verdict: Verdict,
    pub(super) told: SmallVec<[Told; 2]>,
    pub(super) pending: SmallVec<[Pending; 1]>,
    /// Since the Unix epoch.
    pub(super) taken_at: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict {
    /// No policy applies.
    Unlimited,
    Allowed,
    Refused,
    Blocked,
    /// The policy that has no key for the request, and the status that was chosen for it.
    MissingKey(usize, Option<StatusCode>),
}

/// A policy's decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub(super) policy: usize,
    pub(super) decision: Decision,
    /// In s.
    pub(super) jitter: u64,
}

/// A charge that the response may undo.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) policy: usize,
    pub(super) key: Key,
    pub(super) permits: u64,
    pub(super) until: Instant,
}

impl<C: Clock> Decided<C> {
    /// Why the request must not pass; `None` if it may.
    pub fn refusal(&self) -> Option<Refusal<'_>> {
        match self.verdict {
            Verdict::Unlimited | Verdict::Allowed => None,
            Verdict::Blocked => Some(Refusal::blocked()),
            Verdict::MissingKey(policy, status) => {
                let policy = &self.limits.0.policies[policy];
                Some(Refusal::missing_key(policy.announcement.name(), &policy.policy.key, status))
            }
            Verdict::Refused => Some(self.refused()),
        }
    }

    fn refused(&self) -> Refusal<'_> {
        let set = &self.limits.0;
        let refused = || self.told.iter().filter(|told| !told.decision.is_allowed());
        let is_capacity =
            |told: &Told| told.decision.overflowed() || set.policies[told.policy].policy.guards_capacity;
        let (reason, status) = if refused().any(|told| told.decision.outcome() == Outcome::TooLarge) {
            (Reason::TooLarge, set.settings.too_large)
        } else if refused().all(is_capacity) {
            (Reason::ReducedCapacity, StatusCode::SERVICE_UNAVAILABLE)
        } else {
            (Reason::Limited, StatusCode::TOO_MANY_REQUESTS)
        };
        Refusal::by_limits(reason, status, self.reports().collect())
    }

    /// What each policy that was asked has decided, in their order.
    pub fn reports(&self) -> impl Iterator<Item = Report<'_>> {
        self.told.iter().map(|told| {
            let announcement = &self.limits.0.policies[told.policy].announcement;
            Report::new(announcement, told.decision, self.taken_at).jittered(told.jitter)
        })
    }

    /// Writes the header fields of the response, whether the request passed or not: see
    /// [`Fields::write`](crate::headers::Fields::write).
    pub fn write_fields(&self, headers: &mut HeaderMap) {
        let reports: SmallVec<[Report<'_>; 4]> = self.reports().collect();
        self.limits.0.settings.fields.write(&reports, headers);
    }

    /// Gives back what is not charged for such a response: see [`Policy::charge_if`](crate::Policy::charge_if). Without
    /// this all stays charged. The second time nothing is left to give back.
    pub fn settle(&mut self, status: StatusCode, headers: &HeaderMap) {
        for pending in self.pending.drain(..) {
            let counts = match &self.limits.0.policies[pending.policy].policy.charge {
                Charge::Always => true,
                Charge::If(counts) => counts(status, headers),
            };
            if !counts {
                self.limits.give_back(&pending);
            }
        }
    }
}

impl<C: Clock> fmt::Debug for Decided<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decided")
            .field("verdict", &self.verdict)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}
