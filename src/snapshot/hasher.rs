//! Hashers that make the same fingerprints again.

use core::hash::BuildHasher;

use crate::hash::RandomSipHash;

/// A hasher whose key can be saved, so that keys have the same fingerprints in another process: what a limiter needs
/// to be saved and restored. [`RandomSipHash`] is one.
///
/// Two with the same key must hash alike. A key of 128 bits that is not known to those whose keys are limited keeps them
/// from aiming at each other's limits; a hasher without a key may return anything and ignore what it is given.
///
/// ```
/// use std::hash::{BuildHasherDefault, DefaultHasher};
/// use tollgate::PortableHasher;
///
/// #[derive(Default)]
/// struct Unkeyed(BuildHasherDefault<DefaultHasher>);
///
/// impl std::hash::BuildHasher for Unkeyed {
///     type Hasher = DefaultHasher;
///
///     fn build_hasher(&self) -> DefaultHasher {
///         self.0.build_hasher()
///     }
/// }
///
/// impl PortableHasher for Unkeyed {
///     fn key(&self) -> [u64; 2] {
///         [0; 2]
///     }
///
///     fn with_key(_: [u64; 2]) -> Self {
///         Self::default()
///     }
/// }
/// ```
pub trait PortableHasher: BuildHasher + Sized {
    /// The key.
    fn key(&self) -> [u64; 2];

    /// The hasher with this key.
    fn with_key(key: [u64; 2]) -> Self;
}

impl PortableHasher for RandomSipHash {
    fn key(&self) -> [u64; 2] {
        self.key()
    }

    fn with_key(key: [u64; 2]) -> Self {
        Self::with_key(key)
    }
}
