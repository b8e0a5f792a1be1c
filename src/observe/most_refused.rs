//! Who is refused most often.
//!
//! Metwally, Agrawal and El Abbadi's Space-Saving ("Efficient computation of frequent and top-k elements in data
//! streams", 2005): a fixed number of counters. A key that has one counts in it; one that has none takes over the
//! counter that has counted least, with its count, which it remembers as the error. So a counter never counts too few,
//! the sum of all is the number of refusals, and a key that was refused more often than the n-th part of all refusals
//! has one of the n.

use core::fmt::{self, Display, Write};
use core::hash::Hasher;
use std::sync::{Mutex, PoisonError, TryLockError};

use siphasher::sip::SipHasher13;

use crate::decision::Decision;
use crate::hash::RandomSipHash;
use crate::observe::Hook;
use crate::sync::{AtomicU64, Ordering};

/// Bytes that are kept of a key's text.
const TEXT_BYTES: usize = 64;

/// A hook that finds the keys that are refused most often, in bounded memory: about 100 bytes for each of the
/// `capacity` keys that are watched, allocated when it is made.
///
/// Keys are told apart by their [`Display`] text, of which the first 64 bytes are kept. A call that is allowed costs
/// nothing here; one that is refused writes the key's text on the stack and looks for it among those watched,
/// O(`capacity`), under a lock that is never waited for: if another thread has it, the refusal is counted as
/// [`missed`](Self::missed), and nowhere else. Nothing is allocated but what the `Display` of the key allocates.
///
/// ```
/// use tollgate::{MostRefused, Observed, Quota, TokenBucket};
///
/// let limiter = TokenBucket::new(Quota::per_hour(1)).keyed::<str>(1000).build()?;
/// let limiter = Observed::new(limiter, MostRefused::new(8));
/// for _ in 0..5 {
///     let _ = limiter.check("mallory");
/// }
/// let top = limiter.hook().top();
/// assert_eq!((top[0].key.as_str(), top[0].refusals, top[0].error), ("mallory", 4, 0));
/// # Ok::<(), tollgate::BuildError>(())
/// ```
pub struct MostRefused {
    /// Locked by a refusal that finds it free, and by whoever looks.
    watched: Mutex<Vec<Watched>>,
    capacity: usize,
    hasher: RandomSipHash,
    missed: AtomicU64,
}

struct Watched {
    hash: u64,
    text: Kept,
    count: u64,
    error: u64,
}

/// The beginning of a text, cut where a character ends.
#[derive(Clone, Copy)]
struct Kept {
    bytes: [u8; TEXT_BYTES],
    len: usize,
}

/// A key that was refused often.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedKey {
    /// Its text, or the first 64 bytes of it.
    pub key: String,
    /// How often it was refused: at most so often, and less often by at most `error`.
    pub refusals: u64,
    /// What it may have been given of others' refusals.
    pub error: u64,
}

impl MostRefused {
    /// Watches `capacity` keys, 1 at least: more than are to be told, for what those at the end are told is the least
    /// reliable.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        let watched = Mutex::new(Vec::with_capacity(capacity));
        Self { watched, capacity, hasher: RandomSipHash::new(), missed: AtomicU64::new(0) }
    }

    /// The keys watched, the one that was refused most often first. Refusals meanwhile are missed.
    pub fn top(&self) -> Vec<RefusedKey> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |Watched { text, count, error, .. }: &Watched| RefusedKey {
            key: text.get().to_owned(),
            refusals: *count,
            error: *error,
        };
        let mut top: Vec<_> = watched.iter().map(told).collect();
        drop(watched);
        top.sort_by_key(|key| core::cmp::Reverse(key.refusals));
        top
    }

    /// Refusals that were not looked at, because another thread was at it.
    pub fn missed(&self) -> u64 {
        // ORDERING: Relaxed: a count publishes nothing.
        self.missed.load(Ordering::Relaxed)
    }

    /// Forgets all keys, for a new span of time.
    pub fn clear(&self) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // ORDERING: Relaxed: a count publishes nothing.
        self.missed.store(0, Ordering::Relaxed);
    }

    #[cold]
    fn refused(&self, key: &(impl Display + ?Sized)) {
        let mut text = Text::new(&self.hasher);
        // What `Display` fails to say is left out.
        let _ = write!(text, "{key}");
        let mut watched = match self.watched.try_lock() {
            Ok(watched) => watched,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                // ORDERING: Relaxed: a count publishes nothing.
                self.missed.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let hash = text.hasher.finish();
        if let Some(known) = watched.iter_mut().find(|known| known.hash == hash) {
            known.count += 1;
        } else if watched.len() < self.capacity {
            watched.push(Watched { hash, text: text.kept, count: 1, error: 0 });
        } else if let Some(least) = watched.iter_mut().min_by_key(|known| known.count) {
            let Watched { count, .. } = *least;
            *least = Watched { hash, text: text.kept, count: count + 1, error: count };
        }
    }
}

impl<Q: Display + ?Sized> Hook<Q> for MostRefused {
    #[inline]
    fn decided(&self, key: &Q, decision: &Decision) {
        if !decision.is_allowed() {
            self.refused(key);
        }
    }
}

impl fmt::Debug for MostRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MostRefused")
            .field("capacity", &self.capacity)
            .field("missed", &self.missed())
            .finish_non_exhaustive()
    }
}

/// The hash of a text and what is kept of it.
struct Text {
    hasher: SipHasher13,
    kept: Kept,
    is_cut: bool,
}

impl Text {
    fn new(hasher: &RandomSipHash) -> Self {
        let [a, b] = hasher.key();
        let kept = Kept { bytes: [0; TEXT_BYTES], len: 0 };
        Self { hasher: SipHasher13::new_with_keys(a, b), kept, is_cut: false }
    }
}

impl Kept {
    fn get(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    /// Appends as much of the text as fits; whether that is all.
    fn append(&mut self, text: &str) -> bool {
        let mut len = text.len().min(TEXT_BYTES - self.len);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        self.bytes[self.len..][..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        len == text.len()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.hasher.write(text.as_bytes());
        self.is_cut = self.is_cut || !self.kept.append(text);
        Ok(())
    }
}
