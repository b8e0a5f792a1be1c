//! Why a snapshot is refused.

use core::fmt;
use std::io;

use crate::error::BuildError;
use crate::snapshot::format::VERSION;

/// Why a limiter cannot be restored. Nothing is left of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The snapshot could not be read.
    Read(io::Error),
    /// It does not begin as a snapshot does.
    NotASnapshot,
    /// It is of another version of the format.
    Version {
        /// The snapshot's.
        found: u64,
    },
    /// It is not as it was written: cut off, changed, or followed by something else.
    Damaged,
    /// It is of another algorithm or another quota.
    Algorithm {
        /// What the snapshot's limiter was built from, as text.
        saved: Box<str>,
        /// What this one is built from.
        built: Box<str>,
    },
    /// The limit that keys without a slot share is another one.
    SharedLimit {
        /// What the snapshot's limit was built from, as text.
        saved: Box<str>,
        /// What this one is built from.
        built: Box<str>,
    },
    /// Keys have other fingerprints: it was made with another hasher, or on another platform.
    Hasher,
    /// A key of the snapshot finds no slot.
    NoSlot {
        /// The number of keys that this limiter is for.
        keys: usize,
        /// The number of keys that the snapshot's limiter was for.
        saved_for: u64,
        /// The number of keys in the snapshot: a limiter for as many has room for them.
        saved: u64,
    },
    /// Such a limiter cannot be built.
    Build(BuildError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(_) => f.write_str("the snapshot could not be read"),
            Self::NotASnapshot => f.write_str("this is no snapshot of a limiter"),
            Self::Version { found } => {
                write!(f, "the snapshot is of version {found}; only {VERSION} can be restored")
            }
            Self::Damaged => f.write_str("the snapshot is damaged or cut off; restore another one"),
            Self::Algorithm { saved, built } => {
                write!(f, "the snapshot is of `{saved}` and cannot be restored as `{built}`")
            }
            Self::SharedLimit { saved, built } => write!(
                f,
                "keys without a slot shared `{saved}` in the snapshot, which cannot be restored as `{built}`"
            ),
            Self::Hasher => f.write_str(
                "the snapshot was made with another hasher or on another platform; its keys cannot be found",
            ),
            Self::NoSlot { keys, saved_for, saved } => write!(
                f,
                "a limiter for {keys} keys has no room for all of the {saved} keys of the snapshot, which is of a \
                 limiter for {saved_for}; build it for at least {saved}"
            ),
            Self::Build(_) => f.write_str("the limiter to be restored cannot be built"),
        }
    }
}

impl core::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Build(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for RestoreError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<BuildError> for RestoreError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}
