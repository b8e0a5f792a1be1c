//! `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-08 to -11: Lists of Strings with
//! parameters, in the canonical form of RFC 9651.

use std::fmt::Write;

use super::name::PolicyName;
use super::report::Report;

/// `"burst";q=100;w=60, "daily";q=1000;w=86400`
pub(super) fn policy(reports: &[Report<'_>]) -> String {
    let mut text = String::new();
    for report in reports {
        let announcement = report.announcement;
        item(&mut text, announcement.name());
        parameter(&mut text, "q", Some(announcement.permits()));
        if let Some(unit) = announcement.told_unit() {
            text.push_str(";qu=\"");
            text.push_str(unit);
            text.push('"');
        }
        parameter(&mut text, "w", announcement.window_seconds());
        // Ours: the draft has no word for what a bucket holds.
        parameter(&mut text, "tg-burst", announcement.told_capacity());
    }
    text
}

/// `"burst";r=50;t=30`. Without the limits that do not tell what remains, which is the one thing required here.
pub(super) fn limit(reports: &[Report<'_>]) -> String {
    let mut text = String::new();
    for report in reports {
        if let Some(remaining) = report.remaining() {
            item(&mut text, report.announcement.name());
            parameter(&mut text, "r", Some(remaining));
            parameter(&mut text, "t", report.jittered_reset_seconds());
        }
    }
    text
}

/// A String, behind a comma if it is not the first.
fn item(text: &mut String, name: &PolicyName) {
    if !text.is_empty() {
        text.push_str(", ");
    }
    text.push('"');
    for character in name.as_str().chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
}

fn parameter(text: &mut String, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        // Writing to a string does not fail.
        let _ = write!(text, ";{name}={value}");
    }
}
