//! How keys become fingerprints.

use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;

use siphasher::sip::SipHasher13;

/// SipHash-1-3 under a random 128-bit key: the default hasher of keyed limiters.
///
/// Two keys share a limit if their 64-bit hashes are equal. Without the key nobody can search for such a pair, so an
/// attacker cannot aim at another's limit. For a new key among `n` live ones the probability is `n / 2^64`.
///
/// ```
/// use tollgate::{RandomSipHash, Quota, TokenBucket};
///
/// let hasher = RandomSipHash::new();
/// let again = RandomSipHash::with_key(hasher.key());
/// let limiter = TokenBucket::new(Quota::per_second(5)).keyed::<str>(1000).with_hasher(again).build()?;
/// assert!(limiter.check("alice").is_allowed());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// Source: Aumasson and Bernstein, "`SipHash`: a fast short-input PRF" (2012), with 1 and 3 rounds as in the standard
/// library's maps.
#[derive(Clone)]
pub struct RandomSipHash {
    key: [u64; 2],
}

impl RandomSipHash {
    /// A hasher with a new random key.
    pub fn new() -> Self {
        // The standard library's own source of random keys: hashes under a 128-bit key that nobody knows.
        let random = RandomState::new();
        Self { key: [random.hash_one(0_u64), random.hash_one(1_u64)] }
    }

    /// A hasher with this key: for one that must find the states of another.
    pub const fn with_key(key: [u64; 2]) -> Self {
        Self { key }
    }

    /// The key. Whoever knows it can make keys collide.
    pub const fn key(&self) -> [u64; 2] {
        self.key
    }
}

impl Default for RandomSipHash {
    fn default() -> Self {
        Self::new()
    }
}

/// Does not print the key.
impl fmt::Debug for RandomSipHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomSipHash").finish_non_exhaustive()
    }
}

impl BuildHasher for RandomSipHash {
    type Hasher = SipHasher13;

    #[inline]
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.key[0], self.key[1])
    }
}

/// The key type of [`keyed_any`](crate::Builder::keyed_any): whatever can be hashed.
///
/// **The trap**: keys are told apart by their hash alone, and values of different types that hash differently are
/// different keys. `&42_u32` and `&42_u64` are two users, and so are `&("a", "b")` and `&"ab"`. Ask with one type of
/// key, always; for keys of one type [`keyed`](crate::Builder::keyed) lets the compiler see to it.
///
/// What it is for are composite keys that are borrowed from several places:
///
/// ```
/// use tollgate::{Quota, TokenBucket};
///
/// let limiter = TokenBucket::new(Quota::per_second(5)).keyed_any(1000).build()?;
/// let (tenant, user) = (String::from("acme"), "alice");
/// assert!(limiter.check(&(tenant.as_str(), user)).is_allowed());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
#[derive(Debug)]
pub enum AnyKey {}

/// What can be asked for in a limiter whose keys are `K`.
///
/// For `Keyed<_, K>` that is every `Q` with `K: Borrow<Q>`, as in a `HashMap`; for [`AnyKey`] everything that can be
/// hashed. `Rule` tells the two apart and is always inferred.
pub trait KeyOf<K: ?Sized, Rule>: Hash + sealed::Sealed<K, Rule> {}

impl<K: Borrow<Q> + ?Sized, Q: Hash + ?Sized> KeyOf<K, ByBorrow> for Q {}
impl<Q: Hash + ?Sized> KeyOf<AnyKey, ByHash> for Q {}

/// A key that the limiter's own type of key can be borrowed as: see [`KeyOf`].
#[derive(Debug)]
pub enum ByBorrow {}

/// A key of any type: see [`KeyOf`].
#[derive(Debug)]
pub enum ByHash {}

mod sealed {
    use super::{AnyKey, Borrow, ByBorrow, ByHash, Hash};

    pub trait Sealed<K: ?Sized, Rule> {}
    impl<K: Borrow<Q> + ?Sized, Q: Hash + ?Sized> Sealed<K, ByBorrow> for Q {}
    impl<Q: Hash + ?Sized> Sealed<AnyKey, ByHash> for Q {}
}
