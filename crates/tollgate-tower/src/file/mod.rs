//! Policies from a TOML file.
//!
//! ```toml
//! [[policy]]
//! name = "api"                     # what clients see
//! algorithm = "token-bucket"       # or "fixed-window", "sliding-counter", "sliding-log"; a bucket if left out
//! quota = "100/min burst 20"       # as tollgate reads it
//! key = ["peer", "header:x-api-key"]  # one or several: "peer", "fixed", "header:NAME", and those the program names
//! route = "/api/*"                 # a path, or those below it; all if left out
//! method = ["POST", "PUT"]         # one or several; all if left out
//! mode = "shadow"                  # or "enforce", "off"; "enforce" if left out
//! keys = 10_000                    # live at a time; 100,000 if left out
//! overflow = "1000/min"            # what more keys share, or "deny", "allow"; "deny" if left out
//! missing-key = 401                # a status, or "fail", "share", "skip"; "fail" if left out
//! cost = 2                         # permits a request; 1 if left out
//! charge = "failures"              # or "always"; "always" if left out
//! ```
//!
//! Every mistake is told with its line.
//!
//! ```
//! use tollgate_tower::Limits;
//! use tollgate_tower::file::{KeyNames, PolicyFile};
//!
//! let text = r#"
//! [[policy]]
//! name = "api"
//! quota = "100/fortnight"
//! key = "peer"
//! "#;
//! let error = PolicyFile::parse(text, &KeyNames::default()).unwrap_err();
//! assert_eq!((error.line(), error.column()), (4, 14));
//!
//! let file = PolicyFile::parse(&text.replace("fortnight", "min"), &KeyNames::default())?;
//! let limits = file.build(Limits::builder())?;
//! # Ok::<(), tollgate_tower::file::FileError>(())
//! ```

mod error;
mod table;

use std::collections::BTreeMap;
use std::ops::Range;

pub use error::{FileError, FileErrorKind};
use table::Tables;
use tollgate::Clock;

use crate::error::BuildError;
use crate::keys::KeySource;
use crate::limits::{Limits, LimitsBuilder};
use crate::policy::Policy;

/// The names under which a file finds keys beside `header:NAME`: `peer` and `fixed`, and those that are added.
#[derive(Debug, Clone)]
pub struct KeyNames(BTreeMap<String, KeySource>);

impl KeyNames {
    /// Another name, or another meaning of one.
    ///
    /// ```
    /// use tollgate_tower::file::KeyNames;
    /// use tollgate_tower::keys::{ClientAddress, KeySource};
    ///
    /// let address = KeySource::address(ClientAddress::behind(["10.0.0.0/8"])?);
    /// let names = KeyNames::default().with("address", address);
    /// # Ok::<(), tollgate_tower::keys::KeyError>(())
    /// ```
    pub fn with(mut self, name: &str, key: KeySource) -> Self {
        self.0.insert(name.to_owned(), key);
        self
    }

    fn get(&self, name: &str) -> Option<KeySource> {
        self.0.get(name).cloned()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Default for KeyNames {
    fn default() -> Self {
        Self(BTreeMap::new()).with("peer", KeySource::peer()).with("fixed", KeySource::fixed())
    }
}

/// The policies of a file, and where they stand in it.
#[derive(Debug, Clone)]
pub struct PolicyFile {
    text: String,
    policies: Vec<(Policy, Range<usize>)>,
}

impl PolicyFile {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// [`FileError`] for the first mistake, with its line.
    pub fn parse(text: &str, names: &KeyNames) -> Result<Self, FileError> {
        let tables: Tables = toml::from_str(text).map_err(|error| {
            FileError::new(text, error.span().unwrap_or(0..0), FileErrorKind::Toml(error.message().into()))
        })?;
        let policies = tables.policy.iter().map(|table| {
            let policy = table.policy(text, names)?;
            Ok((policy, table.place()))
        });
        Ok(Self { text: text.to_owned(), policies: policies.collect::<Result<_, FileError>>()? })
    }

    /// The policies.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.policies.iter().map(|(policy, _)| policy)
    }

    /// Builds limits of the builder's policies and the file's.
    ///
    /// # Errors
    ///
    /// [`FileError`] for the first policy that cannot be had, with the line of its name.
    pub fn build<C: Clock>(&self, builder: LimitsBuilder<C>) -> Result<Limits<C>, FileError> {
        builder.policies(self.policies().cloned()).build().map_err(|error| self.located(error))
    }

    /// Builds limits that follow others, when the file has changed: see
    /// [`build_after`](LimitsBuilder::build_after) for what keeps its state. Parse the file with clones of the key
    /// sources that it was parsed with before: other closures are other keys.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build); the others are left as they are.
    pub fn build_after<C: Clock>(
        &self,
        builder: LimitsBuilder<C>,
        previous: &Limits<C>,
    ) -> Result<Limits<C>, FileError> {
        let builder = builder.policies(self.policies().cloned());
        builder.build_after(previous).map_err(|error| self.located(error))
    }

    /// Of two policies of one name the later one is to blame.
    fn located(&self, error: BuildError) -> FileError {
        let place = self.policies.iter().rfind(|(policy, _)| policy.name == error.policy());
        let span = place.map_or(0..0, |(_, span)| span.clone());
        FileError::new(&self.text, span, FileErrorKind::Build(error))
    }
}
