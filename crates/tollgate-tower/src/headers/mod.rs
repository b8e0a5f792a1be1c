//! Header fields that tell a client its limits, from the decision that was taken. Usable without tower.
//!
//! The field names and their forms are still moving (see [`Draft`]); everything that is written is written here.
//!
//! ```
//! use std::time::Duration;
//! use http::HeaderMap;
//! use tollgate::{AnyAlgorithm, ManualClock};
//! use tollgate_tower::headers::{Announcement, Fields, PolicyName, Report};
//!
//! let algorithm: AnyAlgorithm = "fixed-window 100/min".parse()?;
//! let limiter = algorithm.clone().clock(ManualClock::new()).build()?;
//! let announcement = Announcement::new(PolicyName::new("burst")?, &algorithm);
//!
//! let report = Report::new(&announcement, limiter.check_n(50), Duration::ZERO);
//! let mut headers = HeaderMap::new();
//! Fields::default().write(&[report], &mut headers);
//! assert_eq!(headers["ratelimit-policy"], "\"burst\";q=100;w=60");
//! assert_eq!(headers["ratelimit"], "\"burst\";r=50;t=60");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod announcement;
mod draft11;
mod fields;
mod jitter;
mod name;
mod older;
mod report;
mod seconds;

pub use announcement::{Announcement, Unit};
pub(crate) use fields::retry_after;
pub use fields::{Draft, Fields, XReset};
pub use jitter::Jitter;
pub use name::{PolicyName, PolicyNameError};
pub use report::Report;

/// The largest integer of a structured field (RFC 9651, 3.3.1).
const INTEGER_MAX: u64 = 999_999_999_999_999;
