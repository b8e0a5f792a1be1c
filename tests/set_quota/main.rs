//! Quotas that change while limiters are in use: what carries over, what is refused, and every answer against the
//! reference.

mod busy;
mod carried;
mod keyed;
mod properties;
mod racing;
mod refused;

#[path = "../support/cases.rs"]
mod cases;

use core::time::Duration;

use tollgate::{Instant, Quota};

const SECOND: u64 = 1_000_000_000;

/// `limit` per `period` ns.
fn quota(limit: u64, period: u64) -> Quota {
    Quota::new(limit, Duration::from_nanos(period))
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}
