//! Limiters against the reference, step by step. A difference panics, and tells the step.

mod direct;
mod held;
mod honesty;
mod keyed;
mod rounding;

pub use direct::direct;
pub use honesty::is_honest;
pub use keyed::{CAPACITY, keyed};
pub use rounding::{alike, rounded};
