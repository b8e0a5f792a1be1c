//! What a limit tells its clients apart by.

use std::fmt;
use std::net::IpAddr;

use smallvec::SmallVec;

/// Bytes that stay out of the heap: an address and a short name.
const INLINE: usize = 48;

/// What a limit tells its clients apart by: parts, each with its length, so that `("a", "bc")` is not `("ab", "c")`.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Key {
    bytes: SmallVec<[u8; INLINE]>,
}

impl Key {
    /// A key without parts: everybody's.
    pub fn new() -> Self {
        Self::default()
    }

    /// A key of one part.
    pub(crate) fn of_part(part: &[u8]) -> Self {
        let mut key = Self::new();
        key.push(part);
        key
    }

    /// Adds a part.
    pub fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(part);
    }

    /// Adds the first bits of an address.
    pub(super) fn push_address(&mut self, address: IpAddr, prefixes: Prefixes) {
        match address {
            IpAddr::V4(v4) => {
                let kept = u32::MAX << (32 - u32::from(prefixes.v4));
                self.push(&(v4.to_bits() & kept).to_be_bytes());
            }
            IpAddr::V6(v6) => {
                let kept = u128::MAX << (128 - u32::from(prefixes.v6));
                self.push(&(v6.to_bits() & kept).to_be_bytes());
            }
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// It may be a secret.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}

/// How many bits of an address count, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefixes {
    pub(super) v4: u8,
    pub(super) v6: u8,
}

impl Default for Prefixes {
    /// A subscriber has a /64 of IPv6 at least, and any address in it.
    fn default() -> Self {
        Self { v4: 32, v6: 64 }
    }
}
