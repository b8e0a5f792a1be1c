//! The table as a map: one sequential state per key says what each key must be answered, how many slots are taken,
//! and when the next one is free.

mod collisions;
mod glitches;
mod hashers;
mod lifetimes;
mod millions;
mod newborn;
mod sequences;
mod stale;

#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/each_algorithm.rs"]
mod each_algorithm;
#[path = "../support/random.rs"]
mod random;
#[expect(dead_code, reason = "rounded rates are the other properties' affair")]
#[path = "../properties/rules.rs"]
mod rules;
#[expect(dead_code, reason = "readings go back in the other properties")]
#[path = "../properties/steps.rs"]
mod steps;
