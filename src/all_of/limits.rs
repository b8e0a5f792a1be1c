//! Tuples and lists of limits, and how they are charged.

use crate::all_of::combined::CombinedDecision;
use crate::all_of::limit::{self, Limit, Revocable, Times};
use crate::clock::Instant;
use crate::decision::Decision;

/// The limits of an [`AllOf`](crate::AllOf): a tuple of up to eight, or a [`LimitList`]. It cannot be implemented
/// elsewhere.
pub trait Limits: sealed::Limits {}

impl<L: sealed::Limits> Limits for L {}

mod sealed {
    use super::LimitList;

    pub trait Limits {
        fn with<R>(&self, run: impl FnOnce(LimitList<'_>) -> R) -> R;
    }
}

/// Limits chosen at run time.
///
/// ```
/// use tollgate::{AllOf, FixedWindow, LimitList, Limiter, Quota, Revocable, SlidingLog};
///
/// let limiters: Vec<Limiter<FixedWindow>> = [Quota::per_second(10), Quota::per_hour(1000)]
///     .into_iter()
///     .map(|quota| FixedWindow::new(quota).build())
///     .collect::<Result<_, _>>()?;
/// let limits: Vec<&dyn Revocable> = limiters.iter().map(|limiter| limiter as &dyn Revocable).collect();
/// let log = SlidingLog::new(Quota::per_minute(100)).build()?;
///
/// let all = AllOf::new(LimitList::new(&limits).and_last(&log));
/// assert!(all.check().is_allowed());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
#[derive(Clone, Copy)]
pub struct LimitList<'a> {
    revocable: &'a [&'a dyn Revocable],
    last: Option<&'a dyn Limit>,
}

impl<'a> LimitList<'a> {
    /// These limits, in their order. An empty list allows everything.
    pub const fn new(limits: &'a [&'a dyn Revocable]) -> Self {
        Self { revocable: limits, last: None }
    }

    /// And one more, which is charged last and may be a log. Replaces the last one named so.
    pub const fn and_last(self, limit: &'a dyn Limit) -> Self {
        Self { last: Some(limit), ..self }
    }
}

impl LimitList<'_> {
    fn len(&self) -> usize {
        self.revocable.len() + usize::from(self.last.is_some())
    }

    fn limits(&self) -> impl Iterator<Item = &dyn Limit> {
        self.revocable.iter().map(|limit| *limit as &dyn Limit).chain(self.last)
    }

    /// The reading of the first limit's clock.
    pub(super) fn now(&self) -> Instant {
        self.limits().next().map_or(Instant::ORIGIN, limit::sealed::Limit::now)
    }

    /// What all of them say, without a charge; each by itself to `told`, as far as there is room.
    pub(super) fn look(&self, times: Times, permits: u64, told: &mut [Option<Decision>]) -> CombinedDecision {
        let decisions = self.limits().map(|limit| limit.look(times, permits));
        let combined = decisions.enumerate().map(|(index, decision)| {
            tell(told, index, decision);
            CombinedDecision::of(index, decision)
        });
        combined.reduce(CombinedDecision::stricter).unwrap_or(CombinedDecision::unlimited())
    }

    /// Charges all of them or none. What each has decided is told as by [`look`](Self::look): of those that a refusal
    /// leaves uncharged, what they said before it.
    pub(super) fn charge(
        &self,
        times: Times,
        permits: u64,
        told: &mut [Option<Decision>],
    ) -> CombinedDecision {
        let seen = self.look(times, permits, told);
        if seen.is_allowed() && self.len() > 0 { self.charge_from(0, times, permits, told) } else { seen }
    }

    /// Charges the limits from this one on: all or none.
    fn charge_from(
        &self,
        index: usize,
        times: Times,
        permits: u64,
        told: &mut [Option<Decision>],
    ) -> CombinedDecision {
        let revocable = self.revocable.get(index);
        let (decision, receipt) = match (revocable, self.last) {
            (Some(limit), _) => limit.charge(times, permits),
            (None, Some(last)) => last.charge(times, permits),
            (None, None) => return CombinedDecision::unlimited(),
        };
        let this = CombinedDecision::of(index, decision);
        if !decision.is_allowed() || index + 1 == self.len() {
            tell(told, index, decision);
            return this;
        }
        let others = self.charge_from(index + 1, times, permits, told);
        if others.is_allowed() {
            tell(told, index, decision);
            return this.stricter(others);
        }
        if let (Some(limit), Some(receipt)) = (revocable, receipt) {
            limit.undo(times.now(), receipt);
        }
        others
    }
}

fn tell(told: &mut [Option<Decision>], index: usize, decision: Decision) {
    if let Some(place) = told.get_mut(index) {
        *place = Some(decision);
    }
}

impl sealed::Limits for LimitList<'_> {
    fn with<R>(&self, run: impl FnOnce(LimitList<'_>) -> R) -> R {
        run(*self)
    }
}

/// All but the last of a tuple have to be revocable.
macro_rules! tuple {
    ($($revocable:ident)*; $last:ident) => {
        #[expect(non_snake_case, reason = "a value is named like its type")]
        impl<$($revocable: Revocable,)* $last: Limit> sealed::Limits for ($($revocable,)* $last,) {
            fn with<R>(&self, run: impl FnOnce(LimitList<'_>) -> R) -> R {
                let ($($revocable,)* $last,) = self;
                run(LimitList::new(&[$($revocable),*]).and_last($last))
            }
        }
    };
}

tuple!(; A);
tuple!(A; B);
tuple!(A B; C);
tuple!(A B C; D);
tuple!(A B C D; E);
tuple!(A B C D E; F);
tuple!(A B C D E F; G);
tuple!(A B C D E F G; H);

impl core::fmt::Debug for LimitList<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LimitList").field("len", &self.len()).finish_non_exhaustive()
    }
}
