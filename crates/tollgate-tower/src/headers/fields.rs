//! Which fields are written.

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use super::report::Report;
use super::{draft11, older};

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATELIMIT_TRIPLE: [HeaderName; 3] = [
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];
const X_RATELIMIT_TRIPLE: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// A version of the IETF's draft "`RateLimit` header fields for HTTP".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Draft {
    /// `RateLimit-Limit: 100`, `RateLimit-Remaining: 50`, `RateLimit-Reset: 30`: versions 03 to 06.
    Draft03,
    /// `RateLimit: limit=100, remaining=50, reset=30` and `RateLimit-Policy: 100;w=60`.
    Draft07,
    /// `RateLimit: "burst";r=50;t=30` and `RateLimit-Policy: "burst";q=100;w=60`: versions 08 to 11.
    #[default]
    Draft11,
}

/// What `X-RateLimit-Reset` tells. Both are in use, and a client cannot tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum XReset {
    /// Whole seconds from now.
    DeltaSeconds,
    /// Whole seconds since the Unix epoch, by the wall clock as it was when the limits were built: the same for each
    /// request of one window, whatever becomes of the wall clock.
    #[default]
    EpochSeconds,
}

/// Which header fields are written: those of the newest draft unless told otherwise.
///
/// A draft's fields tell every limit, the older ones the one that matters most: of those that refused the one with the
/// longest wait, else the one that has the least left.
///
/// ```
/// use tollgate_tower::headers::{Draft, Fields, XReset};
///
/// let both = Fields::default().x_rate_limit(XReset::EpochSeconds);
/// let github_like = Fields::none().x_rate_limit(XReset::EpochSeconds);
/// let old = Fields::of(Draft::Draft03);
/// assert_eq!(old.names().count(), 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    draft: Option<Draft>,
    x: Option<XReset>,
}

impl Default for Fields {
    fn default() -> Self {
        Self::of(Draft::default())
    }
}

impl Fields {
    /// None but `Retry-After`.
    pub const fn none() -> Self {
        Self { draft: None, x: None }
    }

    /// Those of this version of the draft.
    pub const fn of(draft: Draft) -> Self {
        Self { draft: Some(draft), x: None }
    }

    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset` too.
    pub const fn x_rate_limit(mut self, reset: XReset) -> Self {
        self.x = Some(reset);
        self
    }

    /// The names that may be written, `Retry-After` among them: for `Access-Control-Expose-Headers`, without which
    /// scripts from other origins do not see them.
    pub fn names(&self) -> impl Iterator<Item = HeaderName> + use<> {
        let draft = match self.draft {
            None => Vec::new(),
            Some(Draft::Draft03) => RATELIMIT_TRIPLE.to_vec(),
            Some(Draft::Draft07 | Draft::Draft11) => vec![RATELIMIT, RATELIMIT_POLICY],
        };
        let x = self.x.map(|_| X_RATELIMIT_TRIPLE);
        std::iter::once(RETRY_AFTER).chain(draft).chain(x.into_iter().flatten())
    }

    /// Writes the fields. One that is there already is kept: it was written closer to what it is about. Only the lists
    /// of a draft's newer versions are added to.
    ///
    /// `Retry-After` is written if the request was refused and a wait helps: the longest of those that refused.
    pub fn write(&self, reports: &[Report<'_>], headers: &mut HeaderMap) {
        let Some(strictest) = reports.iter().copied().reduce(Report::stricter) else { return };
        match self.draft {
            None => {}
            Some(Draft::Draft03) => {
                let reset = strictest.reset_seconds();
                triple(headers, RATELIMIT_TRIPLE, &strictest, reset);
            }
            Some(Draft::Draft07) => {
                keep_or_insert(headers, RATELIMIT, older::draft07(&strictest));
                keep_or_insert(headers, RATELIMIT_POLICY, Some(older::draft07_policy(reports)));
            }
            Some(Draft::Draft11) => {
                append(headers, RATELIMIT_POLICY, draft11::policy(reports));
                append(headers, RATELIMIT, draft11::limit(reports));
            }
        }
        if let Some(form) = self.x {
            triple(headers, X_RATELIMIT_TRIPLE, &strictest, older::x_reset(&strictest, form));
        }
        keep_or_insert(headers, RETRY_AFTER, retry_after(reports).map(|seconds| seconds.to_string()));
    }
}

/// The longest wait among the limits that refused; `None` if one of them will never allow it.
pub(crate) fn retry_after(reports: &[Report<'_>]) -> Option<u64> {
    let waits = reports.iter().filter(|report| report.is_refused()).map(Report::retry_after_seconds);
    waits.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn triple(headers: &mut HeaderMap, names: [HeaderName; 3], report: &Report<'_>, reset: Option<u64>) {
    // Together or not at all: three that tell of two limits mislead.
    if names.iter().any(|name| headers.contains_key(name)) {
        return;
    }
    let values = [Some(report.limit()), report.remaining(), reset];
    for (name, value) in names.into_iter().zip(values) {
        if let Some(value) = value {
            headers.insert(name, HeaderValue::from(value));
        }
    }
}

fn keep_or_insert(headers: &mut HeaderMap, name: HeaderName, value: Option<String>) {
    if !headers.contains_key(&name) {
        // Printable ASCII is a value.
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert(name, value);
        }
    }
}

fn append(headers: &mut HeaderMap, name: HeaderName, list: String) {
    if let Ok(value) = HeaderValue::try_from(list)
        && !value.is_empty()
    {
        headers.append(name, value);
    }
}
