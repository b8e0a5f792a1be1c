#![doc = include_str!("../README.md")]

mod error;
#[cfg(feature = "file")]
pub mod file;
mod future;
pub mod headers;
pub mod keys;
mod layer;
mod limits;
mod policy;
mod refusal;
mod requests;

pub use error::{BuildError, BuildErrorKind};
pub use future::ResponseFuture;
pub use layer::{Handle, RateLimit, RateLimitLayer};
pub use limits::{Decided, Limits, LimitsBuilder, PolicyStats};
pub use policy::{CredentialLimits, MissingKey, Mode, Policy};
pub use refusal::{Empty, Grpc, PlainText, ProblemJson, Reason, Refusal, Respond};
pub use requests::Requests;
