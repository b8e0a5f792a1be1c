//! What is wrong with how keys are to be made.

use std::fmt;

use http::HeaderName;

use super::network::NetworkError;

/// Why keys cannot be made so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A text that is no header's name.
    HeaderName {
        /// The text.
        text: Box<str>,
    },
    /// A text that is no network.
    Network(NetworkError),
    /// Behind 0 proxies.
    NoHops,
    /// A prefix of no bits, or of more than an address has.
    PrefixLength {
        /// The bits asked for.
        bits: u8,
        /// The most that are possible.
        max: u8,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeaderName { text } => {
                write!(f, "expected a header's name such as `x-api-key` instead of `{}`", text.escape_debug())
            }
            Self::Network(error) => error.fmt(f),
            Self::NoHops => f.write_str("behind 0 proxies the client is the peer; say so by `peer`"),
            Self::PrefixLength { bits, max } => {
                write!(f, "a prefix of {bits} bits is not one of an address; use 1 to {max}")
            }
        }
    }
}

impl std::error::Error for KeyError {}

impl From<NetworkError> for KeyError {
    fn from(error: NetworkError) -> Self {
        Self::Network(error)
    }
}

pub(super) fn header_name(text: &str) -> Result<HeaderName, KeyError> {
    text.parse().map_err(|_| KeyError::HeaderName { text: text.into() })
}
