//! Why limits cannot be built.

use std::fmt;

use crate::headers::PolicyNameError;

/// Why limits cannot be built, and which policy is to blame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    policy: Box<str>,
    kind: BuildErrorKind,
}

/// What is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// Its name is none that a header field can carry.
    Name(PolicyNameError),
    /// Another policy has the same name.
    SameName,
    /// Its quota, its keys or its overflow's quota cannot be had.
    Limit(tollgate::BuildError),
    /// Its route is no path.
    Route {
        /// The route.
        route: Box<str>,
    },
    /// It is a sliding log, and so is another that may apply to the same request. A log cannot undo a charge, so only
    /// the last of several limits may be one.
    SecondLog {
        /// The other policy.
        other: Box<str>,
    },
    /// It is a sliding log, and is to give back what it has charged, which a log cannot.
    LogGivesNothingBack,
}

impl BuildError {
    pub(crate) fn new(policy: &str, kind: BuildErrorKind) -> Self {
        Self { policy: policy.into(), kind }
    }

    /// The policy's name, or what was meant to be it.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// What is wrong.
    pub fn kind(&self) -> &BuildErrorKind {
        &self.kind
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy `{}`: {}", self.policy.escape_debug(), self.kind)
    }
}

impl fmt::Display for BuildErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::SameName => f.write_str("another policy has the same name; give each its own"),
            Self::Limit(error) => error.fmt(f),
            Self::Route { route } => write!(
                f,
                "expected a path such as `/login`, or `/api/*` for those below it, instead of `{}`",
                route.escape_debug()
            ),
            Self::SecondLog { other } => write!(
                f,
                "a request may be limited by one sliding log, and `{}` is one for the same requests; make one of them a \
                 sliding counter",
                other.escape_debug()
            ),
            Self::LogGivesNothingBack => {
                f.write_str("a sliding log cannot give back what it has charged; use a sliding counter")
            }
        }
    }
}

impl std::error::Error for BuildError {}
