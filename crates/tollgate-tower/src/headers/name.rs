//! The name of a policy, as clients see it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest name in bytes: it is sent twice with each response.
const BYTES_MAX: usize = 64;

/// The name of a policy: 1 to 64 characters of printable ASCII, which is what a header field can carry.
///
/// Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyName(Arc<str>);

impl PolicyName {
    /// The name.
    ///
    /// # Errors
    ///
    /// [`PolicyNameError`] if it is empty, too long, or has another character.
    ///
    /// ```
    /// use tollgate_tower::headers::{PolicyName, PolicyNameError};
    ///
    /// assert!(PolicyName::new("per user").is_ok());
    /// assert_eq!(PolicyName::new("naïve"), Err(PolicyNameError::NotPrintableAscii { byte: 2 }));
    /// ```
    pub fn new(name: &str) -> Result<Self, PolicyNameError> {
        if name.is_empty() {
            return Err(PolicyNameError::Empty);
        }
        if name.len() > BYTES_MAX {
            return Err(PolicyNameError::TooLong { bytes: name.len(), max: BYTES_MAX });
        }
        match name.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
            Some(byte) => Err(PolicyNameError::NotPrintableAscii { byte }),
            None => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PolicyName {
    type Err = PolicyNameError;

    fn from_str(name: &str) -> Result<Self, PolicyNameError> {
        Self::new(name)
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a text cannot be the name of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyNameError {
    /// It is empty.
    Empty,
    /// It is too long to be sent with each response.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The most that is accepted.
        max: usize,
    },
    /// It has a character that a header field cannot carry.
    NotPrintableAscii {
        /// Where, in bytes from its start.
        byte: usize,
    },
}

impl fmt::Display for PolicyNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a policy's name is empty; give it at least 1 character"),
            Self::TooLong { bytes, max } => {
                write!(f, "a policy's name has {bytes} bytes; at most {max} are accepted")
            }
            Self::NotPrintableAscii { byte } => write!(
                f,
                "a policy's name has a character at byte {byte} that a header field cannot carry; use printable ASCII"
            ),
        }
    }
}

impl std::error::Error for PolicyNameError {}
