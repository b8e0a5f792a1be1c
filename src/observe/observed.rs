//! A limiter together with what is told of its decisions.

use core::hash::BuildHasher;

use crate::algorithm::Algorithm;
use crate::clock::{Clock, Instant};
use crate::decision::Decision;
use crate::hash::KeyOf;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::observe::Hook;
use crate::partial::PartialGrant;

/// A limiter and a [`Hook`] that is told of each of its decisions.
///
/// A wrapper, so that a limiter that nobody observes is exactly what it was: no type parameter in its name, no branch in
/// its code. This one has the verbs that decide on the spot. What is asked of the [`limiter`](Self::limiter) itself is
/// not told: peeks, [`reserve`](Limiter::reserve) and [`acquire`](Limiter::acquire), what is given back, and charges by
/// an [`AllOf`](crate::AllOf).
///
/// ```
/// use tollgate::{Counters, Keyed, MostRefused, Observed, Quota, TokenBucket};
///
/// // All that is to be seen of a limit: how often it said what, and to whom it said no most often.
/// type Logins = Observed<Keyed<TokenBucket, str>, (Counters, MostRefused)>;
///
/// let limiter = TokenBucket::new(Quota::per_hour(1)).keyed(1000).build()?;
/// let logins: Logins = Observed::new(limiter, (Counters::new(), MostRefused::new(10)));
/// for user in ["alice", "mallory", "mallory", "mallory"] {
///     let _ = logins.check(user);
/// }
/// let (counters, most_refused) = logins.hook();
/// assert_eq!((counters.counts().allowed, counters.counts().refused), (2, 2));
/// assert_eq!(most_refused.top()[0].key, "mallory");
/// # Ok::<(), tollgate::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Observed<L, H> {
    limiter: L,
    hook: H,
}

impl<L, H> Observed<L, H> {
    /// `hook` is told of the decisions of `limiter`.
    pub const fn new(limiter: L, hook: H) -> Self {
        Self { limiter, hook }
    }

    /// The limiter. What it is asked directly is not told.
    pub const fn limiter(&self) -> &L {
        &self.limiter
    }

    /// What is told.
    pub const fn hook(&self) -> &H {
        &self.hook
    }
}

impl<A: Algorithm, C: Clock, H: Hook<()>> Observed<Limiter<A, C>, H> {
    #[inline]
    fn told(&self, decision: Decision) -> Decision {
        self.hook.decided(&(), &decision);
        decision
    }

    /// [`Limiter::check`], told.
    #[inline]
    pub fn check(&self) -> Decision {
        self.told(self.limiter.check())
    }

    /// [`Limiter::check_n`], told.
    #[inline]
    pub fn check_n(&self, n: u64) -> Decision {
        self.told(self.limiter.check_n(n))
    }

    /// [`Limiter::check_at`], told.
    #[inline]
    pub fn check_at(&self, now: Instant, n: u64) -> Decision {
        self.told(self.limiter.check_at(now, n))
    }

    /// [`Limiter::take_up_to`], told.
    pub fn take_up_to(&self, n: u64) -> PartialGrant {
        let grant = self.limiter.take_up_to(n);
        self.hook.decided(&(), &grant.decision());
        grant
    }

    /// [`Limiter::take_up_to_at`], told.
    pub fn take_up_to_at(&self, now: Instant, n: u64) -> PartialGrant {
        let grant = self.limiter.take_up_to_at(now, n);
        self.hook.decided(&(), &grant.decision());
        grant
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher, H> Observed<Keyed<A, K, C, S>, H> {
    #[inline]
    fn told<Q: ?Sized>(&self, key: &Q, decision: Decision) -> Decision
    where
        H: Hook<Q>,
    {
        self.hook.decided(key, &decision);
        decision
    }

    /// [`Keyed::check`], told.
    #[inline]
    pub fn check<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q) -> Decision
    where
        H: Hook<Q>,
    {
        self.told(key, self.limiter.check(key))
    }

    /// [`Keyed::check_n`], told.
    #[inline]
    pub fn check_n<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, n: u64) -> Decision
    where
        H: Hook<Q>,
    {
        self.told(key, self.limiter.check_n(key, n))
    }

    /// [`Keyed::check_at`], told.
    #[inline]
    pub fn check_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant, n: u64) -> Decision
    where
        H: Hook<Q>,
    {
        self.told(key, self.limiter.check_at(key, now, n))
    }

    /// [`Keyed::take_up_to`], told.
    pub fn take_up_to<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, n: u64) -> PartialGrant
    where
        H: Hook<Q>,
    {
        let grant = self.limiter.take_up_to(key, n);
        self.hook.decided(key, &grant.decision());
        grant
    }

    /// [`Keyed::take_up_to_at`], told.
    pub fn take_up_to_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant, n: u64) -> PartialGrant
    where
        H: Hook<Q>,
    {
        let grant = self.limiter.take_up_to_at(key, now, n);
        self.hook.decided(key, &grant.decision());
        grant
    }

    /// [`Keyed::check_many`], told: the keys are gone through a second time.
    pub fn check_many<'k, Q: KeyOf<K, R> + ?Sized + 'k, R>(
        &self,
        keys: impl IntoIterator<Item = &'k Q, IntoIter: Clone>,
        decisions: &mut impl Extend<Decision>,
    ) where
        H: Hook<Q>,
    {
        let keys = keys.into_iter();
        self.limiter.check_many(keys.clone(), &mut Told { hook: &self.hook, keys, decisions });
    }

    /// [`Keyed::check_many_at`], told: the keys are gone through a second time.
    pub fn check_many_at<'k, Q: KeyOf<K, R> + ?Sized + 'k, R>(
        &self,
        keys: impl IntoIterator<Item = &'k Q, IntoIter: Clone>,
        now: Instant,
        decisions: &mut impl Extend<Decision>,
    ) where
        H: Hook<Q>,
    {
        let keys = keys.into_iter();
        self.limiter.check_many_at(keys.clone(), now, &mut Told { hook: &self.hook, keys, decisions });
    }
}

/// Tells of the decisions on these keys, and hands them on.
struct Told<'a, H, I, D> {
    hook: &'a H,
    keys: I,
    decisions: &'a mut D,
}

impl<'k, Q: ?Sized + 'k, H: Hook<Q>, I: Iterator<Item = &'k Q>, D: Extend<Decision>> Extend<Decision>
    for Told<'_, H, I, D>
{
    fn extend<T: IntoIterator<Item = Decision>>(&mut self, decisions: T) {
        let Self { hook, keys, decisions: out } = self;
        out.extend(decisions.into_iter().inspect(|decision| {
            if let Some(key) = keys.next() {
                hook.decided(key, decision);
            }
        }));
    }
}
