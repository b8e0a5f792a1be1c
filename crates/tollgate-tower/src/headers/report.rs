//! What one limit has decided about one request.

use std::time::Duration;

use tollgate::{Decision, Outcome};

use super::INTEGER_MAX;
use super::announcement::Announcement;
use super::seconds::{rounded_up, wait};

/// What one limit has decided about one request, in whole seconds and permits.
///
/// Waits are rounded up and at least 1 s; what remains is rounded down and never above the limit.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub(super) announcement: &'a Announcement,
    decision: Decision,
    decided_at: Duration,
    jitter_seconds: u64,
}

impl<'a> Report<'a> {
    /// The limit's decision, taken at this time since the Unix epoch: the reading it was taken on and
    /// [`origin_since_unix_epoch`](tollgate::Clock::origin_since_unix_epoch), asked for once, so that the end of a
    /// window is the same for each of its requests.
    pub fn new(announcement: &'a Announcement, decision: Decision, decided_at: Duration) -> Self {
        Self { announcement, decision, decided_at, jitter_seconds: 0 }
    }

    /// Adds so much to a refused client's wait and to `t`: see [`Jitter`](super::Jitter).
    pub fn jittered(mut self, seconds: u64) -> Self {
        self.jitter_seconds = seconds;
        self
    }

    /// Whether this limit refused.
    pub fn is_refused(&self) -> bool {
        !self.decision.is_allowed()
    }

    /// The decision.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The limit.
    pub fn announcement(&self) -> &'a Announcement {
        self.announcement
    }

    /// The value of `Retry-After`: the wait of a request that was refused. `None` if it was not, and where no wait helps.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.plain_retry_after_seconds().map(|seconds| seconds.saturating_add(self.jitter_seconds))
    }

    fn plain_retry_after_seconds(&self) -> Option<u64> {
        self.decision.retry_after().map(wait)
    }

    /// The instant, since the Unix epoch, at which a refused client may try again or an allowed one has all of its limit.
    pub(crate) fn reset_at(&self) -> Option<Duration> {
        let decision = &self.decision;
        decision.retry_after().or(decision.reset_after()).map(|after| self.decided_at.saturating_add(after))
    }

    /// The limit of the older fields, in permits.
    pub(super) fn limit(&self) -> u64 {
        self.decision.limit().min(INTEGER_MAX)
    }

    /// What remains; unknown only to a log that was told not to look.
    pub(super) fn remaining(&self) -> Option<u64> {
        let refused_log = (self.decision.outcome() == Outcome::Denied).then_some(0);
        self.decision.remaining().or(refused_log).map(|permits| permits.min(self.limit()))
    }

    /// Seconds until a refused client may try again, or until an allowed one has all of its limit. At least 1 if nothing
    /// remains. `None` if that never comes, or later than can be told.
    pub(super) fn reset_seconds(&self) -> Option<u64> {
        let seconds = self.plain_retry_after_seconds().or_else(|| self.whole_again_seconds())?;
        Some(seconds).filter(|seconds| *seconds <= INTEGER_MAX)
    }

    fn whole_again_seconds(&self) -> Option<u64> {
        let remaining = self.remaining().unwrap_or_default();
        let least = if remaining == 0 { 1 } else { self.announcement.seconds_for(remaining) };
        self.decision.reset_after().map(|after| rounded_up(after).max(least))
    }

    /// [`reset_seconds`](Self::reset_seconds) with the jitter: `t`.
    pub(super) fn jittered_reset_seconds(&self) -> Option<u64> {
        let seconds = self.reset_seconds()?.saturating_add(self.jitter_seconds);
        Some(seconds).filter(|seconds| *seconds <= INTEGER_MAX)
    }

    /// The one of two that matters more to a client: the longer wait, then the less that is left.
    pub(super) fn stricter(self, later: Self) -> Self {
        let longest_wait = |report: &Self| report.decision.retry_after().unwrap_or(Duration::MAX);
        let least_left = |report: &Self| report.remaining().unwrap_or(u64::MAX);
        let is_stricter = match (self.is_refused(), later.is_refused()) {
            (true, true) => longest_wait(&later) > longest_wait(&self),
            (false, false) => least_left(&later) < least_left(&self),
            (_, refused) => refused,
        };
        if is_stricter { later } else { self }
    }
}
