//! A limiter with one state per key.

use core::fmt;
use core::hash::BuildHasher;
use core::marker::PhantomData;

use crate::algorithm::{Algorithm, All, AnyAlgorithm, Ask, Charged, Intent, Policy};
use crate::clock::{Clock, Instant, QuantaClock};
use crate::decision::{Decision, NoSlotView, Outcome};
use crate::direct::Direct;
use crate::error::BuildError;
use crate::hash::{KeyOf, RandomSipHash};
use crate::quota::Quota;
use crate::reading::{Readings, nanos};
use crate::receipt::Receipt;
use crate::stats::KeyedStats;
use crate::table::{Fingerprint, Full, Table};

/// Keys of a batch whose cache misses overlap.
const BATCH: usize = 16;

/// A limiter with one state per key, for up to a declared number of live keys, in fixed memory.
///
/// Keys are hashed, never stored or cloned. A state that is as good as new (a bucket that is full again, a window
/// that has passed) is no different from none, so its slot may go to another key: there is no sweeper and nothing to
/// clean up, and no debt is ever forgiven.
///
/// ```
/// use tollgate::{Keyed, Outcome, Quota, SlidingLog};
///
/// let per_user: Keyed<SlidingLog, String> =
///     SlidingLog::new(Quota::per_minute(2)).keyed(1_000).build()?;
/// assert!(per_user.check("alice").is_allowed());
/// assert!(per_user.check("alice").is_allowed());
/// assert_eq!(per_user.check("alice").outcome(), Outcome::Denied);
/// assert!(per_user.check("bob").is_allowed());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// # Concurrency
///
/// Lock-free, and exactly one state per key however many threads create it at once. Each decision takes effect at one
/// instant within the call. A thread stopped at any instruction stops no other; inside an insertion it withholds one
/// slot. Nothing is allocated after `build`, and refusals write nothing (those of a full table are counted). A clock
/// that errs is dealt with as in [`Limiter`](crate::Limiter#clocks-that-err), for each key, whether it is asked for
/// or not.
///
/// # Memory
///
/// Up to 24 bytes per declared key for [`TokenBucket`](crate::TokenBucket) and [`FixedWindow`](crate::FixedWindow),
/// 36 for [`SlidingCounter`](crate::SlidingCounter), `12 * (limit + 3)` for [`SlidingLog`](crate::SlidingLog),
/// whatever the type of key, and under 4 KiB beside. It is allocated when the limiter is built and comes from the
/// operating system as it is first touched.
///
/// # When the table is full
///
/// More keys than declared may be live at a time; then a new key may find no slot. The [`Overflow`] policy decides
/// its requests, [`Decision::overflowed`] tells, and [`stats`](Self::stats) counts. Up to the declared number fewer
/// than one new key in a million is turned away. A bucket with a burst whose quota's limit is 0 never refills, and its
/// keys keep their slots for good.
pub struct Keyed<A: Algorithm, K: ?Sized, C = QuantaClock, S = RandomSipHash> {
    pub(crate) table: Table<A::Policy>,
    pub(crate) overflow: Spillway<A::Policy>,
    pub(crate) clock: C,
    hasher: S,
    /// What it was built from.
    pub(crate) recipe: Recipe<A>,
    keys: usize,
    bytes: u128,
    key: PhantomData<fn(&K)>,
}

/// A keyed limiter whose algorithm is chosen at run time.
pub type AnyKeyed<K, C = QuantaClock, S = RandomSipHash> = Keyed<AnyAlgorithm, K, C, S>;

/// What becomes of requests whose key finds no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// They are refused: the limit holds, at the price of new keys.
    #[default]
    Deny,
    /// They pass: the limit does not hold for them.
    Allow,
    /// Together they share one limit, of the limiter's own algorithm. A refusal's wait is until that may admit them or
    /// a slot may be free, whichever comes first.
    Shared(Quota),
}

/// What a limiter's states depend on.
#[derive(Debug)]
pub(crate) struct Recipe<A> {
    pub(crate) algorithm: A,
    pub(crate) overflow: Overflow,
}

impl<A: Algorithm> Recipe<A> {
    /// The limit that keys without a slot share.
    pub(crate) fn shared(&self) -> Option<A> {
        match self.overflow {
            Overflow::Shared(quota) => Some(self.algorithm.with_quota(quota)),
            Overflow::Deny | Overflow::Allow => None,
        }
    }
}

/// The [`Overflow`] policy, ready.
pub(crate) enum Spillway<P: Policy> {
    Deny,
    Allow,
    Shared(Direct<P>),
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher> Keyed<A, K, C, S> {
    /// Asks for one permit now.
    #[inline]
    pub fn check<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q) -> Decision {
        self.check_n(key, 1)
    }

    /// Asks for `n` permits now: all or none. 0 permits are always allowed and charge nothing.
    #[inline]
    pub fn check_n<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, n: u64) -> Decision {
        self.decide(self.fingerprint(key), Readings::of(&self.clock), n)
    }

    /// Asks for `n` permits at a time the caller has read, on this limiter's clock.
    ///
    /// The caller's time is the caller's word: nothing is healed. Callers whose times are `d` apart may make each
    /// other's new keys wait for up to `d`; permits beyond the limit are never granted.
    #[inline]
    pub fn check_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant, n: u64) -> Decision {
        self.decide(self.fingerprint(key), Readings::given(now), n)
    }

    /// What [`check_n`](Self::check_n) would answer now, the table's room aside. Charges, inserts and heals nothing: see
    /// [`Limiter::peek`](crate::Limiter::peek).
    #[inline]
    pub fn peek<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, n: u64) -> Decision {
        self.peek_at(key, self.clock.now(), n)
    }

    /// What [`check_at`](Self::check_at) would answer, the table's room aside. Charges and inserts nothing.
    ///
    /// A key without a state reads as fresh at any time, also at one older than the recycling of its last slot.
    #[inline]
    pub fn peek_at<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q, now: Instant, n: u64) -> Decision {
        self.look(self.fingerprint(key), Readings::given(now), n, Intent::Peek)
    }

    /// Asks for one permit for each key, in order, on one reading of the clock; one decision per key is added to
    /// `decisions`. Keys come from anything that yields references: `&[7, 8]`, `names.iter().copied()` for `&str`.
    ///
    /// Faster than single calls when the states are not in the processor's cache: the misses overlap. Each decision
    /// is one by itself: other threads' may come in between. Nothing is allocated here; a `Vec` with enough capacity
    /// does not allocate either.
    ///
    /// ```
    /// use tollgate::{Quota, TokenBucket};
    ///
    /// let limiter = TokenBucket::new(Quota::per_second(1)).keyed::<u64>(1000).build()?;
    /// let mut decisions = Vec::with_capacity(3);
    /// limiter.check_many(&[7, 8, 7], &mut decisions);
    /// let allowed: Vec<bool> = decisions.iter().map(|decision| decision.is_allowed()).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn check_many<'k, Q: KeyOf<K, R> + ?Sized + 'k, R>(
        &self,
        keys: impl IntoIterator<Item = &'k Q>,
        decisions: &mut impl Extend<Decision>,
    ) {
        self.decide_many(keys, &Readings::of(&self.clock), decisions);
    }

    /// [`check_many`](Self::check_many) at a time the caller has read.
    pub fn check_many_at<'k, Q: KeyOf<K, R> + ?Sized + 'k, R>(
        &self,
        keys: impl IntoIterator<Item = &'k Q>,
        now: Instant,
        decisions: &mut impl Extend<Decision>,
    ) {
        self.decide_many(keys, &Readings::given(now), decisions);
    }

    /// The number of keys that this limiter was built for.
    pub fn capacity(&self) -> usize {
        self.keys
    }

    /// The number of keys whose state is not as good as new at `now`. Reads every slot: O(capacity).
    pub fn live(&self, now: Instant) -> usize {
        self.table.live(nanos(now))
    }

    /// What has been done with the slots since this limiter was built. O(1).
    pub fn stats(&self) -> KeyedStats {
        self.table.stats.snapshot()
    }

    /// The bytes allocated for the states.
    pub fn memory_bytes(&self) -> u128 {
        self.bytes
    }

    /// The last reading that the states can tell: after it time stands still, and permits do not come back.
    pub fn horizon(&self) -> Instant {
        Instant::from_nanos(self.table.policy().horizon())
    }

    /// A reading of this limiter's clock, to be handed to several calls.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The clock this limiter reads.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The hasher that makes keys into fingerprints.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    #[inline]
    pub(crate) fn fingerprint<Q: KeyOf<K, R> + ?Sized, R>(&self, key: &Q) -> Fingerprint {
        Fingerprint::new(self.hasher.hash_one(key))
    }

    #[inline]
    fn decide(&self, fingerprint: Fingerprint, readings: Readings<'_, C>, cost: u64) -> Decision {
        self.charge(fingerprint, readings, cost).0
    }

    /// The decision, and what was charged for it.
    #[inline]
    pub(crate) fn charge(
        &self,
        fingerprint: Fingerprint,
        mut readings: Readings<'_, C>,
        cost: u64,
    ) -> (Decision, Option<Receipt>) {
        if (cost == 0 || cost > self.table.policy().limit())
            && let Some(decision) = self.without_charge(fingerprint, &readings, cost)
        {
            return (decision, None);
        }
        let (decision, is_shared, charged) = match self.table.charge(fingerprint, &mut readings, All(cost)) {
            Ok(answer) => (A::Policy::decision(answer), false, answer.charged),
            Err(full) => {
                let (decision, charged) = self.overflow(fingerprint, full, &mut readings, All(cost));
                (decision, true, charged)
            }
        };
        (decision, charged.map(|charged| Receipt { fingerprint, is_shared, charged }))
    }

    /// The decision on a cost that is 0 or above the limit; `None` if the limit has been raised since.
    #[cold]
    #[inline(never)]
    fn without_charge(
        &self,
        fingerprint: Fingerprint,
        readings: &Readings<'_, C>,
        cost: u64,
    ) -> Option<Decision> {
        let decision = self.look(fingerprint, readings.clone(), cost, Intent::Peek);
        (cost == 0 || !decision.is_allowed()).then_some(decision)
    }

    /// The decision without a charge.
    #[inline]
    pub(crate) fn look(
        &self,
        fingerprint: Fingerprint,
        mut readings: Readings<'_, C>,
        cost: u64,
        intent: Intent,
    ) -> Decision {
        A::Policy::decision(self.table.look(fingerprint, &mut readings, cost, intent))
    }

    /// The decision without a charge, and without a slot if there is none for the key.
    pub(crate) fn foresee(
        &self,
        fingerprint: Fingerprint,
        mut readings: Readings<'_, C>,
        cost: u64,
        intent: Intent,
    ) -> Decision {
        // Neither needs a slot.
        if cost == 0 || cost > self.table.policy().limit() {
            return self.look(fingerprint, readings, cost, intent);
        }
        match self.table.foresee(fingerprint, &mut readings, cost, intent) {
            Ok(answer) => A::Policy::decision(answer),
            Err(full) => self.spill(full, &mut readings, All(cost), intent).0,
        }
    }

    fn decide_many<'k, Q: KeyOf<K, R> + ?Sized + 'k, R>(
        &self,
        keys: impl IntoIterator<Item = &'k Q>,
        readings: &Readings<'_, C>,
        decisions: &mut impl Extend<Decision>,
    ) {
        let mut keys = keys.into_iter();
        loop {
            let mut batch = [Fingerprint::new(0); BATCH];
            let mut len = 0;
            for (fingerprint, key) in batch.iter_mut().zip(&mut keys) {
                *fingerprint = self.fingerprint(key);
                len += 1;
            }
            // `min` says to the compiler that the batch is no longer than its array.
            let batch = &batch[..len.min(BATCH)];
            self.table.touch(batch);
            decisions.extend(batch.iter().map(|key| self.decide(*key, readings.clone(), 1)));
            if len < BATCH {
                return;
            }
        }
    }

    /// What becomes of a call whose key has no slot, and what the shared limit was charged for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn overflow(
        &self,
        fingerprint: Fingerprint,
        full: Full,
        readings: &mut Readings<'_, C>,
        ask: impl Ask<A::Policy>,
    ) -> (Decision, Option<Charged>) {
        self.table.stats.overflowed(fingerprint);
        let intent = readings.charge();
        self.spill(full, readings, ask, intent)
    }

    /// The same of a call that may be a look.
    fn spill(
        &self,
        full: Full,
        readings: &mut Readings<'_, C>,
        ask: impl Ask<A::Policy>,
        intent: Intent,
    ) -> (Decision, Option<Charged>) {
        let limit = self.table.policy().limit();
        let free_after = full.free_at.map(|at| at.saturating_sub(readings.now()));
        let without_state = |outcome| {
            let (remaining, retry_after, reset_after) = (Some(0), free_after, free_after);
            let view = NoSlotView { limit, remaining, retry_after, reset_after };
            (Decision::without_slot(outcome, view), None)
        };
        match &self.overflow {
            Spillway::Deny => without_state(Outcome::Denied),
            Spillway::Allow => without_state(Outcome::Allowed),
            Spillway::Shared(shared) => {
                let answer = shared.ask(readings, ask, intent);
                let (decision, charged) = (A::Policy::decision(answer), answer.charged);
                if decision.is_allowed() {
                    return (decision.marked_overflowed(), charged);
                }
                // What the shared limit may grant before it is due; a slot is there when it is free.
                let sooner = ask.max_wait(shared.policy());
                let admits_after = decision.retry_after_nanos().map(|wait| wait.saturating_sub(sooner));
                // Whichever comes first. What is too large for the shared limit is not for a slot's.
                let waits = [admits_after, free_after];
                let view = NoSlotView {
                    limit: decision.limit(),
                    remaining: decision.remaining(),
                    retry_after: waits.into_iter().flatten().min(),
                    reset_after: decision.reset_after_nanos(),
                };
                (Decision::without_slot(Outcome::Denied, view), None)
            }
        }
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S> fmt::Debug for Keyed<A, K, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("policy", self.table.policy())
            .field("keys", &self.keys)
            .field("stats", &self.table.stats)
            .finish_non_exhaustive()
    }
}

/// Builds a [`Keyed`] limiter.
#[derive(Debug)]
pub struct KeyedBuilder<A, K: ?Sized, C = QuantaClock, S = RandomSipHash> {
    pub(crate) recipe: Recipe<A>,
    pub(crate) clock: C,
    pub(crate) keys: usize,
    pub(crate) hasher: S,
    key: PhantomData<fn(&K)>,
}

impl<A: Algorithm, K: ?Sized, C: Clock> KeyedBuilder<A, K, C> {
    pub(crate) fn new(algorithm: A, clock: C, keys: usize) -> Self {
        let recipe = Recipe { algorithm, overflow: Overflow::default() };
        Self { recipe, clock, keys, hasher: RandomSipHash::new(), key: PhantomData }
    }
}

impl<A: Algorithm, K: ?Sized, C: Clock, S: BuildHasher> KeyedBuilder<A, K, C, S> {
    /// Reads this clock instead.
    pub fn clock<D: Clock>(self, clock: D) -> KeyedBuilder<A, K, D, S> {
        let Self { recipe, keys, hasher, key, .. } = self;
        KeyedBuilder { recipe, clock, keys, hasher, key }
    }

    /// Hashes keys with this instead of [`RandomSipHash`].
    ///
    /// Keys with equal hashes share a limit: whoever can predict the hasher can aim at another's limit.
    pub fn with_hasher<T: BuildHasher>(self, hasher: T) -> KeyedBuilder<A, K, C, T> {
        let Self { recipe, clock, keys, key, .. } = self;
        KeyedBuilder { recipe, clock, keys, hasher, key }
    }

    /// What becomes of requests whose key finds no slot; without this they are refused.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.recipe.overflow = overflow;
        self
    }

    /// The bytes that [`build`](Self::build) will allocate for the states.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), except that memory is not asked for.
    pub fn memory_bytes(&self) -> Result<u128, BuildError> {
        let table = Table::bytes_for(&self.recipe.algorithm.keyed_policy(&self.clock)?, self.keys)?;
        Ok(table + self.shared_policy()?.map_or(0, |policy| shared_bytes(&policy)))
    }

    /// The limiter.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the quota or the overflow's quota cannot be represented, for zero keys, for more than can be
    /// numbered, and if the memory cannot be had.
    pub fn build(self) -> Result<Keyed<A, K, C, S>, BuildError> {
        // First: of several mistakes both tell the same.
        self.memory_bytes()?;
        let (policy, shared) = (self.recipe.algorithm.keyed_policy(&self.clock)?, self.shared_policy()?);
        self.build_with(policy, shared)
    }

    /// The limiter, with these policies.
    pub(crate) fn build_with(
        self,
        policy: A::Policy,
        shared: Option<A::Policy>,
    ) -> Result<Keyed<A, K, C, S>, BuildError> {
        let bytes = self.memory_bytes()?;
        let Self { recipe, clock, keys, hasher, key } = self;
        let table = Table::new(policy, keys)?;
        let overflow = match shared {
            Some(policy) => Spillway::Shared(Direct::new(policy, clock.now())?),
            None if recipe.overflow == Overflow::Allow => Spillway::Allow,
            None => Spillway::Deny,
        };
        Ok(Keyed { table, overflow, clock, hasher, recipe, keys, bytes, key })
    }

    /// The policy of the limit that keys without a slot share.
    fn shared_policy(&self) -> Result<Option<A::Policy>, BuildError> {
        self.recipe.shared().map(|shared| shared.policy(&self.clock)).transpose()
    }
}

/// The bytes of a shared limit's state beside those of the limiter itself.
fn shared_bytes<P: Policy>(policy: &P) -> u128 {
    if size_of::<P::Extra>() < policy.extra_words() * size_of::<u64>() {
        policy.extra_words() as u128 * size_of::<u64>() as u128
    } else {
        0
    }
}
