//! Hashers that are chosen to be bad.

use std::hash::{BuildHasher, Hasher};

/// Hashes a `u64` by a function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct By(pub(crate) fn(u64) -> u64);

#[derive(Debug)]
pub(crate) struct Hashing {
    by: fn(u64) -> u64,
    hash: u64,
}

impl BuildHasher for By {
    type Hasher = Hashing;

    fn build_hasher(&self) -> Hashing {
        Hashing { by: self.0, hash: 0 }
    }
}

impl Hasher for Hashing {
    fn write(&mut self, bytes: &[u8]) {
        panic!("keys are of type u64, and not {bytes:?}");
    }

    fn write_u64(&mut self, key: u64) {
        self.hash = (self.by)(key);
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}
