//! Limiters against the reference, step by step. A difference panics, and tells the step.

mod bound;
mod direct;
mod held;
mod honesty;
mod keyed;
mod rounding;
mod unwinding;

pub use bound::bounded;
pub use direct::direct;
pub use honesty::is_honest;
pub use keyed::{CAPACITY, keyed};
pub use rounding::{alike, rounded};
pub use unwinding::{Phases, unwinds};
