//! The tables of a file, and the policies that they are.

use std::ops::Range;

use http::{Method, StatusCode};
use serde::Deserialize;
use tollgate::{AnyAlgorithm, Overflow, ParseError};
use toml::Spanned;

use super::KeyNames;
use super::error::{FileError, FileErrorKind};
use crate::keys::KeySource;
use crate::policy::{MissingKey, Mode, Policy};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tables {
    #[serde(default)]
    pub(super) policy: Vec<Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Table {
    name: Spanned<String>,
    algorithm: Option<Spanned<String>>,
    quota: Spanned<String>,
    key: Spanned<OneOrMore>,
    route: Option<String>,
    method: Option<Spanned<OneOrMore>>,
    mode: Option<TableMode>,
    keys: Option<usize>,
    overflow: Option<Spanned<String>>,
    missing_key: Option<Spanned<TextOrStatus>>,
    cost: Option<u64>,
    charge: Option<TableCharge>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a string or an array of strings")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a status such as 401, `fail`, `share` or `skip`")]
enum TextOrStatus {
    Status(u16),
    Text(String),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TableMode {
    Enforce,
    Shadow,
    Off,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TableCharge {
    Always,
    Failures,
}

impl OneOrMore {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

impl Table {
    /// Where its name is.
    pub(super) fn place(&self) -> Range<usize> {
        self.name.span()
    }

    pub(super) fn policy(&self, text: &str, names: &KeyNames) -> Result<Policy, FileError> {
        let at = |span, kind| FileError::new(text, span, kind);
        let algorithm = self.algorithm(text)?;
        let key = self.key(names).map_err(|kind| at(self.key.span(), kind))?;
        let mut policy = Policy::new(self.name.get_ref(), algorithm, key).mode(match self.mode {
            None | Some(TableMode::Enforce) => Mode::Enforce,
            Some(TableMode::Shadow) => Mode::Shadow,
            Some(TableMode::Off) => Mode::Off,
        });
        if let Some(route) = &self.route {
            policy = policy.route(route);
        }
        if let Some(methods) = &self.method {
            for name in methods.get_ref().as_slice() {
                let method = Method::from_bytes(name.as_bytes());
                let unknown = |_| at(methods.span(), FileErrorKind::Method(name.as_str().into()));
                policy = policy.method(method.map_err(unknown)?);
            }
        }
        if let Some(keys) = self.keys {
            policy = policy.keys(keys);
        }
        if let Some(overflow) = &self.overflow {
            let read = read_overflow(overflow.get_ref());
            policy =
                policy.overflow(read.map_err(|error| at(overflow.span(), FileErrorKind::Overflow(error)))?);
        }
        if let Some(missing) = &self.missing_key {
            let read = missing.get_ref().missing_key();
            policy = policy.missing_key(read.ok_or_else(|| at(missing.span(), FileErrorKind::MissingKey))?);
        }
        if let Some(cost) = self.cost {
            policy = policy.cost(cost);
        }
        if let Some(TableCharge::Failures) = self.charge {
            policy = policy.charge_if(|status, _| status.is_client_error() || status.is_server_error());
        }
        Ok(policy)
    }

    fn algorithm(&self, text: &str) -> Result<AnyAlgorithm, FileError> {
        let quota = self.quota.get_ref();
        let (whole, named) = match &self.algorithm {
            Some(name) => (format!("{} {quota}", name.get_ref()), Some((name, name.get_ref().len() + 1))),
            None => (quota.clone(), None),
        };
        whole.parse().map_err(|error: ParseError| {
            let (value, start) = match named {
                Some((name, quota_at)) if error.span().start < quota_at => (name, 0),
                Some((_, quota_at)) => (&self.quota, quota_at),
                None => (&self.quota, 0),
            };
            let span = inside(text, value, error.span().start - start, error.span().end - start);
            FileError::new(text, span, FileErrorKind::Limit { text: whole.as_str().into(), error })
        })
    }

    fn key(&self, names: &KeyNames) -> Result<KeySource, FileErrorKind> {
        let sources = self.key.get_ref().as_slice().iter().map(|name| match name.strip_prefix("header:") {
            Some(header) => KeySource::header(header).map_err(FileErrorKind::Key),
            None => names.get(name).ok_or_else(|| FileErrorKind::UnknownKey {
                name: name.as_str().into(),
                known: names.names().map(Into::into).collect(),
            }),
        });
        let sources = sources.collect::<Result<Vec<KeySource>, _>>()?;
        sources.into_iter().reduce(KeySource::and).ok_or(FileErrorKind::NoKey)
    }
}

impl TextOrStatus {
    fn missing_key(&self) -> Option<MissingKey> {
        match self {
            Self::Status(code) => {
                let status = StatusCode::from_u16(*code).ok();
                status.filter(|status| status.as_u16() >= 400).map(MissingKey::Refuse)
            }
            Self::Text(text) => match text.as_str() {
                "fail" => Some(MissingKey::Fail),
                "share" => Some(MissingKey::Share),
                "skip" => Some(MissingKey::Skip),
                _ => None,
            },
        }
    }
}

fn read_overflow(text: &str) -> Result<Overflow, ParseError> {
    match text {
        "deny" => Ok(Overflow::Deny),
        "allow" => Ok(Overflow::Allow),
        quota => quota.parse().map(Overflow::Shared),
    }
}

/// The part of a value in the file's text, if the value stands there as it is, in quotes and without escapes; else all
/// of it.
fn inside(text: &str, value: &Spanned<String>, start: usize, end: usize) -> Range<usize> {
    let span = value.span();
    let first = span.start + 1;
    let stands_there = text.get(first..).is_some_and(|rest| rest.starts_with(value.get_ref().as_str()));
    if stands_there { first + start..first + end } else { span }
}
