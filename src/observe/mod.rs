//! Seeing inside: what is decided, for whom, and who has used what.

mod counters;
mod hook;
mod live;
mod most_refused;
mod observed;

pub use counters::{Counters, DecisionCounts};
pub use hook::Hook;
pub use live::LiveKey;
pub use most_refused::{MostRefused, RefusedKey};
pub use observed::Observed;
