//! Being told of decisions.

use std::sync::Arc;

use crate::decision::Decision;

/// What is told of each decision of an [`Observed`](crate::Observed) limiter.
///
/// `Q` is the type of key that the limiter is asked with; a limiter without keys tells of `()`. Called by the thread
/// that asked, after the decision has taken effect and before it is returned: whatever this costs, each call pays, so
/// it should neither block nor allocate. A closure of `(&Q, &Decision)` is a hook; so is a pair of hooks, which is told
/// in order, an [`Arc`] of one, and `()`, which does nothing and costs nothing.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use tollgate::{Decision, Hook, Observed, Quota, TokenBucket};
///
/// #[derive(Default)]
/// struct Refusals(AtomicU64);
///
/// impl<Q: ?Sized> Hook<Q> for Refusals {
///     fn decided(&self, _key: &Q, decision: &Decision) {
///         if !decision.is_allowed() {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let limiter = TokenBucket::new(Quota::per_hour(1)).build()?;
/// let limiter = Observed::new(limiter, Refusals::default());
/// assert!(limiter.check().is_allowed());
/// assert!(!limiter.check().is_allowed());
/// assert_eq!(limiter.hook().0.load(Ordering::Relaxed), 1);
/// # Ok::<(), tollgate::BuildError>(())
/// ```
pub trait Hook<Q: ?Sized> {
    /// The decision on a call for the key.
    fn decided(&self, key: &Q, decision: &Decision);
}

impl<Q: ?Sized> Hook<Q> for () {
    #[inline]
    fn decided(&self, _key: &Q, _decision: &Decision) {}
}

impl<Q: ?Sized, F: Fn(&Q, &Decision)> Hook<Q> for F {
    #[inline]
    fn decided(&self, key: &Q, decision: &Decision) {
        self(key, decision);
    }
}

impl<Q: ?Sized, H: Hook<Q> + ?Sized> Hook<Q> for Arc<H> {
    #[inline]
    fn decided(&self, key: &Q, decision: &Decision) {
        (**self).decided(key, decision);
    }
}

impl<Q: ?Sized, H: Hook<Q>, I: Hook<Q>> Hook<Q> for (H, I) {
    #[inline]
    fn decided(&self, key: &Q, decision: &Decision) {
        self.0.decided(key, decision);
        self.1.decided(key, decision);
    }
}
