//! The forms that came before: they tell one limit, the one that matters most.

use std::fmt::Write;
use std::time::Duration;

use super::fields::XReset;
use super::report::Report;
use super::seconds::rounded_up;

/// Draft-07's `RateLimit`: `limit=100, remaining=50, reset=30`.
pub(super) fn draft07(report: &Report<'_>) -> Option<String> {
    let (limit, remaining, reset) = (report.limit(), report.remaining()?, report.reset_seconds()?);
    Some(format!("limit={limit}, remaining={remaining}, reset={reset}"))
}

/// Draft-07's `RateLimit-Policy`: `100;w=60, 1000;w=86400`.
pub(super) fn draft07_policy(reports: &[Report<'_>]) -> String {
    let mut text = String::new();
    for report in reports {
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{}", report.announcement.permits());
        if let Some(window) = report.announcement.window_seconds() {
            let _ = write!(text, ";w={window}");
        }
    }
    text
}

/// The time of a reset as an `X-RateLimit-Reset`.
pub(super) fn x_reset(report: &Report<'_>, form: XReset) -> Option<u64> {
    match form {
        XReset::DeltaSeconds => report.reset_seconds(),
        XReset::EpochSeconds => report.reset_at().map(|at: Duration| rounded_up(at)),
    }
}
