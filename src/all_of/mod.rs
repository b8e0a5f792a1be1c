//! Several limits at once: all of them are charged, or none.
//!
//! First every limit is looked at, so that a steady refusal charges nothing, not even for a moment: neither one by a
//! limit nor one for lack of a slot. (A key without a slot is looked for room as it will be when it is inserted, which
//! costs a second search; a key that has one costs nothing more. Slots that other threads hold for the moment count as
//! room. A state that a glitch has left ahead is healed, and a call without a slot is counted.) Then they are charged in order; should one
//! refuse after all, because another thread was faster, the ones before it are undone in reverse order, by the rule of
//! [`Reservation`](crate::Reservation#what-a-cancel-gives-back). No lock, and no allocation: what has been charged is
//! kept on the stack, one frame a limit.

mod combined;
mod limit;
mod limits;

pub use combined::CombinedDecision;
pub use limit::{Costing, KeyLimit, Limit, Revocable};
pub use limits::{LimitList, Limits};

use crate::clock::Instant;
use crate::decision::Decision;
use limit::Times;

/// Several limits that a request has to pass together: so many a second *and* so many an hour, the user's *and*
/// everybody's.
///
/// A tuple of limiters and of keys of keyed ones ([`Keyed::for_key`](crate::Keyed::for_key)), or a [`LimitList`] made at
/// run time. All decide on one reading of the clock of the first: build them on clones of one clock (which is what the
/// default is).
///
/// ```
/// use tollgate::{AllOf, FixedWindow, Keyed, Limiter, Quota, SlidingLog, TokenBucket};
///
/// let everybody: Limiter<TokenBucket> = TokenBucket::new(Quota::per_second(1000)).build()?;
/// let per_user: Keyed<FixedWindow, str> = FixedWindow::new(Quota::per_hour(100)).keyed(10_000).build()?;
/// let logins: Keyed<SlidingLog, str> = SlidingLog::new(Quota::per_minute(1)).keyed(10_000).build()?;
///
/// let login = AllOf::new((&everybody, per_user.for_key("alice"), logins.for_key("alice")));
/// assert!(login.check().is_allowed());
/// let refused = login.check();
/// assert_eq!(refused.limiting(), 2);
/// assert!(refused.retry_after().is_some());
/// // The refusal charged nobody.
/// assert_eq!(per_user.peek("alice", 0).remaining(), Some(99));
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// # What other threads see
///
/// No limit is ever exceeded. Between the first charge and the last, or the last undo, others find the limits in
/// between charged: a request of theirs may be refused that would have passed had this one not been tried. An undo
/// gives a limit its permits back unless something was charged to it since; then they are lost, as if this request had
/// passed that limit. Both happen only when threads compete for the last permits of a later limit, or for the last slot
/// of its table: put the limit that refuses most first.
///
/// # The same limit twice
///
/// A limit that is named twice is charged twice, but asked each time as if it were asked once: the wait that a refusal
/// tells is that for one of the charges, and if its capacity is below what both cost, no wait is ever enough. Name it
/// once, with what it costs in all:
///
/// ```
/// use tollgate::{AllOf, Limit, Outcome, Quota, TokenBucket};
///
/// let limiter = TokenBucket::new(Quota::per_hour(1)).build()?;
/// let twice = AllOf::new((&limiter, &limiter)).check();
/// assert!(twice.retry_after().is_some(), "an hour, after which the same is told again");
/// let costing = AllOf::new(((&limiter).costing(2),)).check();
/// assert_eq!(costing.outcome(), Outcome::TooLarge);
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// # Logs
///
/// A [`SlidingLog`](crate::SlidingLog) cannot be undone, so there may be one, and it is the last. The types see to it:
///
/// ```compile_fail,E0277
/// use tollgate::{AllOf, Quota, SlidingLog};
///
/// let log = SlidingLog::new(Quota::per_minute(1)).build().unwrap();
/// let _ = AllOf::new((&log, &log)).check();
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AllOf<L>(L);

impl<L: Limits> AllOf<L> {
    /// All of these limits.
    pub const fn new(limits: L) -> Self {
        Self(limits)
    }

    /// Asks every limit for one permit now.
    pub fn check(&self) -> CombinedDecision {
        self.check_n(1)
    }

    /// Asks every limit for `n` permits now. O(number of limits).
    pub fn check_n(&self, n: u64) -> CombinedDecision {
        self.0.with(|limits| limits.charge(Times::Read(limits.now()), n, &mut []))
    }

    /// [`check_n`](Self::check_n), which tells each limit's own decision too, in their order, as far as there is room in
    /// `decisions`, and the reading that all of them are about. If the request is refused those that would have allowed
    /// it tell what they have left: none of them was charged.
    ///
    /// ```
    /// use tollgate::{AllOf, Quota, TokenBucket};
    ///
    /// let (second, hour) = (TokenBucket::new(Quota::per_second(1)), TokenBucket::new(Quota::per_hour(100)));
    /// let (second, hour) = (second.build()?, hour.build()?);
    /// let mut decisions = [None; 2];
    /// let (combined, _now) = AllOf::new((&second, &hour)).check_each(1, &mut decisions);
    /// assert!(combined.is_allowed());
    /// let remaining = decisions.map(|decision| decision.and_then(|decision| decision.remaining()));
    /// assert_eq!(remaining, [Some(0), Some(99)]);
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn check_each(&self, n: u64, decisions: &mut [Option<Decision>]) -> (CombinedDecision, Instant) {
        self.0.with(|limits| {
            let now = limits.now();
            (limits.charge(Times::Read(now), n, decisions), now)
        })
    }

    /// [`peek`](Self::peek), which tells each limit's own decision too: see [`check_each`](Self::check_each).
    pub fn peek_each(&self, n: u64, decisions: &mut [Option<Decision>]) -> (CombinedDecision, Instant) {
        self.0.with(|limits| {
            let now = limits.now();
            (limits.look(Times::Peeked(now), n, decisions), now)
        })
    }

    /// [`check_n`](Self::check_n) at a time the caller has read: see [`Limiter::check_at`](crate::Limiter::check_at).
    pub fn check_at(&self, now: Instant, n: u64) -> CombinedDecision {
        self.0.with(|limits| limits.charge(Times::Given(now), n, &mut []))
    }

    /// What [`check_n`](Self::check_n) would answer now; charges nothing.
    pub fn peek(&self, n: u64) -> CombinedDecision {
        self.0.with(|limits| limits.look(Times::Peeked(limits.now()), n, &mut []))
    }
}
