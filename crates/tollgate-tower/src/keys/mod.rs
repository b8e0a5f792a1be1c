//! Whose limit a request counts against.
//!
//! Where users share an address (behind a company's proxy, say), or one user has many, an address alone is the wrong
//! key: combine it with a user or an API key where there is one.
//!
//! Keys are made from what clients send. Whatever that is, nothing here panics, and a header that cannot be read never
//! makes a key of its own: it falls back to the address of the last proxy that is trusted, or is no key.

mod address;
mod client;
mod error;
mod forwarded;
mod key;
mod network;
mod source;

pub use client::{ClientAddress, PeerAddr};
pub use error::KeyError;
pub use key::Key;
pub(crate) use network::is_in_any;
pub use network::{Network, NetworkError};
pub use source::KeySource;
