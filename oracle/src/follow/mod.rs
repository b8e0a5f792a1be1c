//! Limiters against the reference, step by step. A difference panics, and tells the step.

mod bound;
mod direct;
mod held;
mod honesty;
mod keyed;
mod rounding;
mod unwinding;

use tollgate::{BuildError, ManualClock, RandomSipHash};

use crate::limiters::Visit;
use crate::vectors::Rule;

pub use bound::bounded;
pub use direct::direct;
pub use honesty::is_honest;
pub use keyed::{CAPACITY, keyed};
pub use rounding::{alike, rounded};
pub use unwinding::{Phases, unwinds};

/// Visits the limiters of a rule, and then those of the same rule whose algorithm is chosen at run time.
fn visit_both<V: Visit<ManualClock, Output = ()> + Copy>(
    rule: Rule,
    keys: usize,
    hasher: [u64; 2],
    visit: V,
) -> Result<(), BuildError> {
    let hasher = RandomSipHash::with_key(hasher);
    rule.build_on(ManualClock::new(), keys, hasher.clone(), visit)?;
    rule.build_any_on(ManualClock::new(), keys, hasher, visit)
}
