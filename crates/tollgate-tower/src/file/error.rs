//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;

use tollgate::ParseError;

use crate::error::BuildError;
use crate::keys::KeyError;

/// What is wrong with a policy file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    line: usize,
    column: usize,
    kind: FileErrorKind,
}

/// What is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// It is no TOML, or has something that belongs into no policy, or lacks something.
    Toml(Box<str>),
    /// The algorithm and the quota, together, are none.
    Limit {
        /// What was read.
        text: Box<str>,
        /// What is wrong with it.
        error: ParseError,
    },
    /// A key has no name that is known.
    UnknownKey {
        /// The name.
        name: Box<str>,
        /// Those that are known.
        known: Vec<Box<str>>,
    },
    /// The list of keys is empty.
    NoKey,
    /// A key cannot be made so.
    Key(KeyError),
    /// A method is none that HTTP can have.
    Method(Box<str>),
    /// What more keys share is neither a quota nor `deny` nor `allow`.
    Overflow(ParseError),
    /// What a missing key means is neither a status of an error nor `fail`, `share` or `skip`.
    MissingKey,
    /// A policy that can be read cannot be had.
    Build(BuildError),
}

impl FileError {
    pub(super) fn new(text: &str, span: Range<usize>, kind: FileErrorKind) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.matches('\n').count();
        Self { line, column: 1 + before[line_start..].chars().count(), kind }
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The character of the line, from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong.
    pub fn kind(&self) -> &FileErrorKind {
        &self.kind
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.kind)
    }
}

impl fmt::Display for FileErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml(message) => f.write_str(message.trim_end()),
            Self::Limit { text, error } => write!(f, "in the limit `{}`: {error}", text.escape_debug()),
            Self::UnknownKey { name, known } => {
                write!(f, "expected a key instead of `{}`: `header:NAME`", name.escape_debug())?;
                known.iter().try_for_each(|name| write!(f, ", `{name}`"))
            }
            Self::NoKey => f.write_str("expected at least one key; `fixed` is everybody's"),
            Self::Key(error) => error.fmt(f),
            Self::Method(name) => {
                write!(f, "expected a method such as `POST` instead of `{}`", name.escape_debug())
            }
            Self::Overflow(error) => write!(f, "expected `deny`, `allow` or a quota: {error}"),
            Self::MissingKey => {
                f.write_str("expected a status from 400 on such as 401, `fail`, `share` or `skip`")
            }
            Self::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FileError {}
