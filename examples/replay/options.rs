//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use lexopt::prelude::*;
use tollgate::Quota;

pub(crate) struct Options {
    pub(crate) algorithm: AlgorithmName,
    pub(crate) quota: Quota,
    pub(crate) file: PathBuf,
}

#[derive(Clone, Copy)]
pub(crate) enum AlgorithmName {
    TokenBucket,
    FixedWindow,
    SlidingCounter,
    SlidingLog,
}

impl FromStr for AlgorithmName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "token-bucket" => Ok(Self::TokenBucket),
            "fixed-window" => Ok(Self::FixedWindow),
            "sliding-counter" => Ok(Self::SlidingCounter),
            "sliding-log" => Ok(Self::SlidingLog),
            _ => Err("the algorithm must be token-bucket, fixed-window, sliding-counter or sliding-log"),
        }
    }
}

impl Options {
    /// `None` if help was asked for.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Option<Self>, lexopt::Error> {
        let (mut algorithm, mut quota, mut file) = (None, None, None);
        let mut parser = lexopt::Parser::from_iter(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("algorithm") => algorithm = Some(parser.value()?.parse()?),
                Long("limit") => quota = Some(parser.value()?.parse()?),
                Short('h') | Long("help") => return Ok(None),
                Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
                _ => return Err(argument.unexpected()),
            }
        }
        Ok(Some(Self {
            algorithm: algorithm.ok_or("--algorithm NAME is missing, see --help")?,
            quota: quota.ok_or("--limit N/PERIOD is missing, see --help")?,
            file: file.ok_or("the log's FILE is missing, see --help")?,
        }))
    }
}
