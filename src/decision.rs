//! The answer to a request.

use core::fmt;
use core::time::Duration;

use crate::algorithm::{FixedWindowView, SlidingCounterView, SlidingLogView, TokenBucketView};

/// Whether a request may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It may, and its cost has been charged.
    Allowed,
    /// Not now. Nothing was charged.
    Denied,
    /// It asks for more than the limit itself and can never pass; at a limit of 0 that is every request. Nothing was
    /// charged.
    TooLarge,
}

/// The answer to one request, and what the state that decided it tells.
///
/// A plain value that borrows nothing and can travel with the request. It keeps the words it was decided on; the
/// details are computed from them when they are asked for and cost nothing otherwise.
#[derive(Clone, Copy)]
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct Decision {
    view: View,
}

/// Who decided, and on what. The verdict stands in each variant, beside its tag, so that a decision fits 64 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum View {
    TokenBucket(Verdict, TokenBucketView),
    FixedWindow(Verdict, FixedWindowView),
    SlidingCounter(Verdict, SlidingCounterView),
    SlidingLog(Verdict, SlidingLogView),
    NoSlot(Verdict, NoSlotView),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdict {
    outcome: Outcome,
    overflowed: bool,
}

impl From<Outcome> for Verdict {
    #[inline]
    fn from(outcome: Outcome) -> Self {
        Self { outcome, overflowed: false }
    }
}

/// There is no state: the table is full, or there is no limit at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoSlotView {
    pub(crate) limit: u64,
    pub(crate) remaining: Option<u64>,
    /// ns until a slot may be free, or the shared limit may admit the request.
    pub(crate) retry_after: Option<u64>,
    pub(crate) reset_after: Option<u64>,
}

impl Decision {
    #[inline]
    pub(crate) fn new(view: View) -> Self {
        Self { view }
    }

    /// The decision for a key that has no slot.
    pub(crate) fn without_slot(outcome: Outcome, view: NoSlotView) -> Self {
        Self::new(View::NoSlot(outcome.into(), view)).marked_overflowed()
    }

    /// The decision where there is no limit.
    pub(crate) fn unlimited() -> Self {
        let (remaining, retry_after, reset_after) = (Some(u64::MAX), None, Some(0));
        let view = NoSlotView { limit: u64::MAX, remaining, retry_after, reset_after };
        Self::new(View::NoSlot(Outcome::Allowed.into(), view))
    }

    /// The same decision, made in place of a state that the key does not have.
    pub(crate) fn marked_overflowed(mut self) -> Self {
        let (View::TokenBucket(verdict, _)
        | View::FixedWindow(verdict, _)
        | View::SlidingCounter(verdict, _)
        | View::SlidingLog(verdict, _)
        | View::NoSlot(verdict, _)) = &mut self.view;
        verdict.overflowed = true;
        self
    }

    #[inline]
    fn verdict(&self) -> Verdict {
        let (View::TokenBucket(verdict, _)
        | View::FixedWindow(verdict, _)
        | View::SlidingCounter(verdict, _)
        | View::SlidingLog(verdict, _)
        | View::NoSlot(verdict, _)) = self.view;
        verdict
    }

    /// Whether the request may pass.
    #[inline]
    pub fn outcome(&self) -> Outcome {
        self.verdict().outcome
    }

    /// Whether the outcome is [`Outcome::Allowed`].
    #[inline]
    pub fn is_allowed(&self) -> bool {
        self.outcome() == Outcome::Allowed
    }

    /// The most permits one request can be granted: the quota's limit, for the token bucket its capacity.
    pub fn limit(&self) -> u64 {
        match &self.view {
            View::TokenBucket(_, view) => view.limit(),
            View::FixedWindow(_, view) => view.limit(),
            View::SlidingCounter(_, view) => view.limit(),
            View::SlidingLog(_, view) => view.limit(),
            View::NoSlot(_, view) => view.limit,
        }
    }

    /// Permits left right after this decision, rounded down: a request of that cost would pass now.
    ///
    /// `None` only if a [`SlidingLog`](crate::SlidingLog) was told not to look. 0 for a key without a slot.
    pub fn remaining(&self) -> Option<u64> {
        match &self.view {
            View::TokenBucket(_, view) => Some(view.remaining()),
            View::FixedWindow(_, view) => Some(view.remaining()),
            View::SlidingCounter(_, view) => Some(view.remaining()),
            View::SlidingLog(_, view) => view.remaining(),
            View::NoSlot(_, view) => view.remaining,
        }
    }

    /// How long to wait until the same request, alone, is allowed; rounded up to ns.
    ///
    /// Exact in the limiter's own clock: 1 ns less is not enough. (For a key without a slot it is a lower bound.)
    /// `None` if the request was allowed, and where no wait can help: too large, or a quota that never refills. To
    /// wait in a loop match on [`into_result`](Self::into_result), which keeps these apart.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_nanos().map(Duration::from_nanos)
    }

    /// [`retry_after`](Self::retry_after) in whole seconds, rounded up: the value of an HTTP `Retry-After`.
    pub fn retry_after_secs(&self) -> Option<u64> {
        self.retry_after_nanos().map(whole_seconds)
    }

    /// [`retry_after`](Self::retry_after) in ns.
    pub fn retry_after_nanos(&self) -> Option<u64> {
        if self.outcome() != Outcome::Denied {
            return None;
        }
        match &self.view {
            View::TokenBucket(_, view) => view.retry_after(),
            View::FixedWindow(_, view) => view.retry_after(),
            View::SlidingCounter(_, view) => view.retry_after(),
            View::SlidingLog(_, view) => view.retry_after(),
            View::NoSlot(_, view) => view.retry_after,
        }
    }

    /// How long until all of the limit remains, if nothing more is charged; rounded up to ns. `None` if never.
    pub fn reset_after(&self) -> Option<Duration> {
        self.reset_after_nanos().map(Duration::from_nanos)
    }

    /// [`reset_after`](Self::reset_after) in ns.
    pub fn reset_after_nanos(&self) -> Option<u64> {
        match &self.view {
            View::TokenBucket(_, view) => view.reset_after(),
            View::FixedWindow(_, view) => view.reset_after(),
            View::SlidingCounter(_, view) => view.reset_after(),
            View::SlidingLog(_, view) => view.reset_after(),
            View::NoSlot(_, view) => view.reset_after,
        }
    }

    /// For a decision that has charged: the first ns at which the permits are there; 0 if they were.
    pub(crate) fn due_nanos(&self) -> u64 {
        match &self.view {
            View::TokenBucket(_, view) => view.due(),
            _ => 0,
        }
    }

    /// Whether a keyed limiter had no slot for the key, so that its [`Overflow`](crate::Overflow) policy decided.
    pub fn overflowed(&self) -> bool {
        self.verdict().overflowed
    }

    /// The decision if the request may pass, the refusal as an error otherwise: for `?`.
    ///
    /// # Errors
    ///
    /// [`Denied`] unless the request was allowed.
    ///
    /// ```
    /// use tollgate::{Denied, Limiter, Quota, TokenBucket};
    ///
    /// fn wait_for(limiter: &Limiter<TokenBucket>) -> Result<(), Denied> {
    ///     while let Err(denied) = limiter.check().into_result() {
    ///         std::thread::sleep(denied.retry_after().ok_or(denied)?);
    ///     }
    ///     Ok(())
    /// }
    /// let limiter = TokenBucket::new(Quota::per_second(1000)).burst(1).build()?;
    /// wait_for(&limiter)?;
    /// wait_for(&limiter)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_result(self) -> Result<Self, Denied> {
        match self.outcome() {
            Outcome::Allowed => Ok(self),
            Outcome::Denied => Err(self.denied(DeniedKind::Limited)),
            Outcome::TooLarge => Err(self.denied(DeniedKind::TooLarge)),
        }
    }

    fn denied(&self, kind: DeniedKind) -> Denied {
        Denied { kind, overflowed: self.overflowed(), retry_after_nanos: self.retry_after_nanos() }
    }
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("outcome", &self.outcome())
            .field("limit", &self.limit())
            .field("remaining", &self.remaining())
            .field("retry_after", &self.retry_after())
            .field("reset_after", &self.reset_after())
            .field("overflowed", &self.overflowed())
            .finish()
    }
}

/// A refusal as an error: see [`Decision::into_result`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denied {
    kind: DeniedKind,
    overflowed: bool,
    retry_after_nanos: Option<u64>,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeniedKind {
    /// The limit is used up for now.
    Limited,
    /// The request asks for more than the limit itself.
    TooLarge,
}

impl Denied {
    /// The same refusal of something that may be had `nanos` ns before it is due.
    pub(crate) fn sooner_by(self, nanos: u64) -> Self {
        let retry_after_nanos = self.retry_after_nanos.map(|wait| wait.saturating_sub(nanos));
        Self { retry_after_nanos, ..self }
    }

    /// See [`Decision::overflowed`].
    pub(crate) fn overflowed(self) -> bool {
        self.overflowed
    }

    /// Why the request was refused.
    pub fn kind(&self) -> DeniedKind {
        self.kind
    }

    /// See [`Decision::retry_after`].
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_nanos.map(Duration::from_nanos)
    }

    /// See [`Decision::retry_after_secs`].
    pub fn retry_after_secs(&self) -> Option<u64> {
        self.retry_after_nanos.map(whole_seconds)
    }
}

fn whole_seconds(nanos: u64) -> u64 {
    nanos.div_ceil(1_000_000_000)
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.retry_after()) {
            (DeniedKind::TooLarge, _) => {
                f.write_str("the request costs more than the limit itself; split it")
            }
            (DeniedKind::Limited, Some(wait)) => write!(f, "rate limit reached; retry after {wait:?}"),
            (DeniedKind::Limited, None) => f.write_str("rate limit reached; no wait will help"),
        }
    }
}

impl core::error::Error for Denied {}
