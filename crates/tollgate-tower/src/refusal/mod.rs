//! Why a request is refused, and what its client is told.

mod respond;

use std::fmt::Write;

use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderMap, HeaderValue};
use serde::Serialize;

pub use respond::{Empty, Grpc, PlainText, ProblemJson, Respond};

use crate::headers::{PolicyName, Report};
use crate::keys::KeySource;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A limit is used up: 429.
    Limited,
    /// It costs more than a limit itself, and no wait helps: 429 without `Retry-After`, or the status that was chosen.
    TooLarge,
    /// What is used up is not the client's: the limit of a policy that guards the server's capacity, or the room for
    /// keys. 503.
    ReducedCapacity,
    /// It is on a list of those to refuse: 403.
    Blocked,
    /// A policy has no key for it: 500, or the status that was chosen.
    MissingKey,
}

/// Why a request is refused, for whoever makes the response.
#[derive(Debug, Clone)]
pub struct Refusal<'a> {
    reason: Reason,
    status: StatusCode,
    reports: Vec<Report<'a>>,
    text: String,
}

/// RFC 9457, with the member of draft-ietf-httpapi-ratelimit-headers.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Problem<'a> {
    r#type: &'a str,
    title: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violated_policies: Vec<&'a str>,
}

impl<'a> Refusal<'a> {
    pub(crate) fn by_limits(reason: Reason, status: StatusCode, reports: Vec<Report<'a>>) -> Self {
        let mut refusal = Self { reason, status, reports, text: String::new() };
        let names: Vec<&str> = refusal.violated_policies().map(PolicyName::as_str).collect();
        let mut text = match reason {
            Reason::TooLarge => format!("the request costs more than the limit itself: {}", names.join(", ")),
            Reason::ReducedCapacity => format!("the server is at its capacity: {}", names.join(", ")),
            _ => format!("too many requests: {}", names.join(", ")),
        };
        if let Some(seconds) = refusal.retry_after_seconds() {
            // Writing to a string does not fail.
            let _ = write!(text, "; retry after {seconds} s");
        }
        refusal.text = text;
        refusal
    }

    pub(crate) fn blocked() -> Self {
        let text = "requests from here are not served".to_owned();
        Self { reason: Reason::Blocked, status: StatusCode::FORBIDDEN, reports: Vec::new(), text }
    }

    pub(crate) fn missing_key(policy: &PolicyName, key: &KeySource, status: Option<StatusCode>) -> Self {
        let needs = key.needs();
        let text = match status {
            Some(_) => format!("the limit {policy} needs {needs}"),
            None => format!(
                "the rate limit {policy} has no key for this request: it needs {needs}; or choose what that means by \
                 `Policy::missing_key`"
            ),
        };
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { reason: Reason::MissingKey, status, reports: Vec::new(), text }
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The value of `Retry-After`: the longest wait among the limits that refuse, rounded up to whole seconds. `None` if
    /// no wait helps.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        crate::headers::retry_after(&self.reports)
    }

    /// What each limit that was asked has decided, those that did not refuse too.
    pub fn reports(&self) -> &[Report<'a>] {
        &self.reports
    }

    /// The names of the policies that refuse.
    pub fn violated_policies(&self) -> impl Iterator<Item = &'a PolicyName> {
        self.reports.iter().filter(|report| report.is_refused()).map(|report| report.announcement().name())
    }

    /// Why, in a sentence for people.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why, as the body of an `application/problem+json`.
    pub fn problem_json(&self) -> String {
        let known = |name| format!("https://iana.org/assignments/http-problem-types#{name}");
        let (r#type, detail) = match self.reason {
            Reason::Limited => (known("quota-exceeded"), None),
            Reason::TooLarge => (known("quota-exceeded"), Some(self.text.as_str())),
            Reason::ReducedCapacity => (known("temporary-reduced-capacity"), None),
            Reason::Blocked | Reason::MissingKey => ("about:blank".to_owned(), Some(self.text.as_str())),
        };
        let problem = Problem {
            r#type: &r#type,
            title: self.status.canonical_reason().unwrap_or("Refused"),
            status: self.status.as_u16(),
            detail,
            violated_policies: self.violated_policies().map(PolicyName::as_str).collect(),
        };
        // Strings and numbers can be written.
        serde_json::to_string(&problem).unwrap_or_default()
    }

    /// Writes what every refusal needs: nobody may keep it for another request.
    pub(crate) fn write_headers(headers: &mut HeaderMap) {
        if !headers.contains_key(CACHE_CONTROL) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
}
