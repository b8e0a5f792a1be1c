//! The layer in the servers it is for: axum, hyper and tonic, and inside of a CORS layer.

#![cfg(feature = "axum")]

mod axum_app;
mod connections;
mod cors;
mod grpc;

use std::time::Duration;

use tollgate::{AnyAlgorithm, ManualClock};
use tollgate_tower::keys::KeySource;
use tollgate_tower::{Limits, PlainText, Policy, RateLimitLayer};

/// A limit as text, on a clock that stands still.
fn layer(text: &str, key: KeySource) -> (RateLimitLayer<PlainText, ManualClock>, ManualClock) {
    let clock = ManualClock::starting_at(Duration::from_secs(1000));
    let policy = Policy::new("default", text.parse::<AnyAlgorithm>().expect(text), key);
    let limits = Limits::builder().clock(clock.clone()).policy(policy).build().expect("limits");
    (RateLimitLayer::of(limits), clock)
}
