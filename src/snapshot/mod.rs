//! Saving what keys have used, and going on with it in another process.

mod error;
mod format;
mod hasher;

use core::hash::BuildHasher;
use std::io::{self, Read, Write};

pub use error::RestoreError;
pub use hasher::PortableHasher;

use crate::algorithm::{Algorithm, AnyAlgorithm, Damaged, Portable, Resumption, Savable, SlidingLog, Word};
use crate::clock::{Clock, Instant};
use crate::direct::Direct;
use crate::keyed::{Keyed, KeyedBuilder, Spillway};
use crate::reading::{Readings, nanos};
use crate::table::{Fingerprint, Full};
use format::{Decoder, Encoder};

/// What is hashed to see whether keys have the fingerprints that they had.
const SPECIMEN: &str = "a key to try the hasher on";

impl<A: Savable, K: ?Sized, C: Clock, S: PortableHasher> Keyed<A, K, C, S> {
    /// Writes what all keys have used, so that a limiter in another process can go on with it:
    /// [`KeyedBuilder::restore`]. Returns the number of keys written: those that are not as good as new.
    ///
    /// ```
    /// use tollgate::{Keyed, Quota, TokenBucket};
    ///
    /// let builder = || TokenBucket::new(Quota::per_hour(2)).keyed::<str>(1000);
    /// let limiter: Keyed<TokenBucket, str> = builder().build()?;
    /// assert!(limiter.check_n("alice", 2).is_allowed());
    /// let mut file = Vec::new();
    /// assert_eq!(limiter.snapshot(&mut file)?, 1);
    ///
    /// let restored = builder().restore(&mut file.as_slice())?;
    /// assert!(!restored.check("alice").is_allowed());
    /// assert!(restored.check("bob").is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # What is in it
    ///
    /// For each key one state that the key had at some moment of this call, whatever other threads did meanwhile. Keys
    /// that came during the call may be missing, and so is what was granted after it: to forgive nothing, stop serving
    /// first. 16 bytes per live key for a [`TokenBucket`](crate::TokenBucket), 24 for a
    /// [`FixedWindow`](crate::FixedWindow), 32 for a [`SlidingCounter`](crate::SlidingCounter), and for a
    /// [`SlidingLog`] 24 and 8 for each entry that still counts; no key's text, but its fingerprint
    /// and **the hasher's key**: keep the file from those who must not know which keys collide.
    ///
    /// Written in chunks of 64 KiB, and flushed at the end. To replace a file, write another one, sync it and rename it:
    /// one that is cut off cannot be restored.
    ///
    /// # Concurrency
    ///
    /// Stops nobody: it only reads (and may finish what another thread has begun). Reads every slot, O(capacity); a key
    /// that is being charged is read again.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn snapshot(&self, out: &mut impl Write) -> io::Result<usize> {
        let mut encoder = Encoder::new(out)?;
        let shared = match &self.overflow {
            Spillway::Shared(shared) => Some(shared),
            Spillway::Deny | Spillway::Allow => None,
        };
        encoder.text(&identity(self.recipe.algorithm.clone()))?;
        encoder.text(&self.recipe.shared().map(identity).unwrap_or_default())?;
        encoder.numbers(&self.hasher().key())?;
        encoder.number(self.hasher().hash_one(SPECIMEN))?;
        encoder.number(self.capacity() as u64)?;
        let shared_shift = shared.map_or(0, |shared| shared.policy().shift());
        encoder.numbers(&[self.table.policy().shift(), shared_shift])?;

        let now = nanos(self.now());
        let shared_state = shared.map(|shared| save_shared(shared, now)).unwrap_or_default();
        encoder.number(shared_state.len() as u64)?;
        encoder.numbers(&shared_state)?;
        let mut count = 0_usize;
        self.table.save(now, |fingerprint, state| {
            count += 1;
            encoder.number(fingerprint.get())?;
            encoder.numbers(state)
        })?;
        encoder.number(0)?;
        // No state is of a later time than this: what is missing is as good as new by now.
        let now = nanos(self.now());
        encoder.numbers(&[count as u64, now, wall_time(self.clock(), now)])?;
        encoder.seal()?;
        Ok(count)
    }
}

impl<A: Savable, K: ?Sized, C: Clock, S: PortableHasher> KeyedBuilder<A, K, C, S> {
    /// The limiter, in which all keys have used what they had in a [`snapshot`](Keyed::snapshot), less what time has
    /// given back since. `from` is read to its end.
    ///
    /// The algorithm and its quota must be those of the snapshot's limiter, and so must the quota of
    /// [`Overflow::Shared`](crate::Overflow::Shared), if both have one. The number of keys, the clock and the rest of the overflow policy may be
    /// others. The hasher takes over the snapshot's key.
    ///
    /// The same kinds of key must be asked for. A type whose `Hash` has changed since (by a field, or by a compiler that
    /// derives it otherwise) makes its keys strangers, who start anew.
    ///
    /// # Time
    ///
    /// The time since the snapshot counts, by the wall clock (see [`Clock::origin_since_unix_epoch`]): decisions are
    /// those of a limiter that was never stopped. (A bucket whose rate is rounded may be a unit late: an eighth of a ns.)
    /// Windows start where they did; those aligned to UTC are the wall clock's, which the limiter is compared with anew.
    /// If the wall clock went back meanwhile, no time has passed: nothing is forgiven, and what was used in a window
    /// aligned to UTC counts in the window of now. Keys without a state are new as of now; an older reading handed to
    /// `check_at` counts as of now for them.
    ///
    /// # Errors
    ///
    /// [`RestoreError`], and there is no limiter, if the snapshot cannot be read, is not whole or of another version or
    /// hasher; if the limiter is of another algorithm or quota, or cannot be built; and if a key finds no slot, which may
    /// happen where the snapshot has more keys than the limiter is for.
    pub fn restore(self, from: &mut impl Read) -> Result<Keyed<A, K, C, S>, RestoreError> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        let mut snapshot = Decoder::new(&bytes)?;

        let (saved, built) = (snapshot.text()?, identity(self.recipe.algorithm.clone()));
        if *saved != *built {
            return Err(RestoreError::Algorithm { saved: saved.into(), built: built.into() });
        }
        let (saved, built) = (snapshot.text()?, self.recipe.shared().map(identity).unwrap_or_default());
        // A limit that only one of them has is forgotten, or new.
        if *saved != *built && !saved.is_empty() && !built.is_empty() {
            return Err(RestoreError::SharedLimit { saved: saved.into(), built: built.into() });
        }
        let builder = self.with_hasher(S::with_key([snapshot.number()?, snapshot.number()?]));
        if snapshot.number()? != builder.hasher.hash_one(SPECIMEN) {
            return Err(RestoreError::Hasher);
        }

        let saved_for = snapshot.number()?;
        let (shift, shared_shift) = (snapshot.number()?, snapshot.number()?);
        let [count, then, wall_then] = snapshot.tail()?;
        let now = builder.clock.now();
        let wall_now = wall_time(&builder.clock, nanos(now));
        let since = |shift| Resumption::new(then.saturating_add(shift), wall_then, nanos(now), wall_now);
        let (at, shared_at) = (since(shift), since(shared_shift));

        // Of several mistakes the same is told as by `build`.
        builder.memory_bytes()?;
        let policy = builder.recipe.algorithm.resumed_policy(&builder.clock, &at)?;
        let shared = builder.recipe.shared();
        let shared = shared.map(|shared| shared.resumed_policy(&builder.clock, &shared_at)).transpose()?;
        let mut limiter = builder.build_with(policy, shared)?;

        let shared_state = snapshot.state()?;
        if let Spillway::Shared(shared) = &mut limiter.overflow
            && !shared_state.is_empty()
        {
            put_shared(shared, &shared_state, &shared_at)?;
        }
        let no_slot = RestoreError::NoSlot { keys: limiter.capacity(), saved_for, saved: count };
        if limiter.put_all(&mut snapshot, now, &at)?.map_err(|Full { .. }| no_slot)? != count
            || !snapshot.is_at_tail()
        {
            return Err(RestoreError::Damaged);
        }
        limiter.table.begin(nanos(now));
        Ok(limiter)
    }
}

impl<A: Algorithm<Policy: Portable>, K: ?Sized, C: Clock, S: BuildHasher> Keyed<A, K, C, S> {
    /// Gives the keys of the snapshot their states; how many keys those are, unless one finds no slot.
    fn put_all(
        &mut self,
        snapshot: &mut Decoder<'_>,
        now: Instant,
        at: &Resumption,
    ) -> Result<Result<u64, Full>, RestoreError> {
        let (policy, mut readings) = (*self.table.policy(), Readings::<C>::given(now));
        let (mut count, mut state) = (0, Vec::new());
        loop {
            let fingerprint = snapshot.number()?;
            if fingerprint == 0 {
                return Ok(Ok(count));
            }
            count += 1;
            state.clear();
            if policy.resume(snapshot, at, &mut state)?
                && let Err(full) = self.table.put(Fingerprint::new(fingerprint), &state, &mut readings)
            {
                return Ok(Err(full));
            }
        }
    }
}

impl From<Damaged> for RestoreError {
    fn from(_: Damaged) -> Self {
        Self::Damaged
    }
}

/// What states depend on, as text.
fn identity(algorithm: impl Into<AnyAlgorithm>) -> String {
    let algorithm = match algorithm.into() {
        // Its capacity is the limit unless it is told.
        AnyAlgorithm::TokenBucket(bucket) => {
            let capacity = bucket.burst.unwrap_or(bucket.quota.limit());
            bucket.burst(capacity).into()
        }
        // What a decision tells does not matter.
        AnyAlgorithm::SlidingLog(log) => SlidingLog::new(log.quota).into(),
        other => other,
    };
    algorithm.to_string()
}

/// The wall clock's time at the reading `now`, in ns since the Unix epoch.
fn wall_time(clock: &impl Clock, now: u64) -> u64 {
    let wall = clock.origin_since_unix_epoch().as_nanos() + u128::from(now);
    u64::try_from(wall).unwrap_or(u64::MAX)
}

/// The shared limit's state; nothing if it is as good as new.
fn save_shared<P: Portable>(shared: &Direct<P>, now: u64) -> Vec<u64> {
    let (policy, state) = (shared.policy(), shared.state());
    loop {
        let (word, mut saved) = (state.load(), Vec::new());
        let is_new = policy.stale(state, word, now).is_some();
        if (is_new || policy.save(state, word, &mut saved).is_ok()) && state.confirm(word).is_ok() {
            return saved;
        }
    }
}

fn put_shared<P: Portable>(shared: &mut Direct<P>, saved: &[u64], at: &Resumption) -> Result<(), Damaged> {
    let (policy, state, mut resumed) = (shared.policy(), shared.state(), Vec::new());
    if policy.resume(&mut saved.iter().copied(), at, &mut resumed)? {
        let put = state.exchange(state.load(), Word::live(policy.put(state, &resumed)));
        debug_assert!(put.is_ok(), "a limit that nobody else sees was changed");
    }
    Ok(())
}
