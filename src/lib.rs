#![doc = include_str!("../docs/crate.md")]

mod acquire;
mod algorithm;
mod all_of;
mod clock;
mod decision;
mod direct;
mod error;
mod hash;
mod keyed;
mod limiter;
mod observe;
mod partial;
mod penalty;
mod quota;
mod reading;
mod receipt;
mod refund;
mod reservation;
mod set_quota;
mod snapshot;
mod stats;
mod sync;
mod table;
mod text;

pub use acquire::{Patience, Timer};
pub use algorithm::{
    Adjustable, Adjusts, Algorithm, AnyAlgorithm, FixedWindow, Refundable, Reservable, Savable,
    SlidingCounter, SlidingLog, TokenBucket,
};
pub use all_of::{AllOf, CombinedDecision, Costing, KeyLimit, Limit, LimitList, Limits, Revocable};
pub use clock::{Clock, CoarseClock, CoarseClockError, Instant, ManualClock, QuantaClock, StdClock};
pub use decision::{Decision, Denied, DeniedKind, Outcome};
pub use error::{BuildError, SetQuotaError};
pub use hash::{AnyKey, ByBorrow, ByHash, KeyOf, RandomSipHash};
pub use keyed::{AnyKeyed, Keyed, KeyedBuilder, Overflow};
pub use limiter::{AnyLimiter, Builder, Limiter};
pub use observe::{Counters, DecisionCounts, Hook, LiveKey, MostRefused, Observed, RefusedKey};
pub use partial::PartialGrant;
pub use quota::Quota;
pub use reservation::Reservation;
pub use snapshot::{PortableHasher, RestoreError};
pub use stats::KeyedStats;
pub use text::{ParseError, ParseErrorKind};

/// The README's example is tested too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
