//! The replay itself and what it found.

use core::cmp::Reverse;
use core::fmt;
use std::collections::HashMap;

use tollgate::{Algorithm, BuildError, KeyedBuilder};

use crate::access_log::AccessLog;

/// Keys listed by name.
const LISTED: usize = 10;

pub(crate) struct Report<'l> {
    lines: usize,
    unreadable: usize,
    keys: usize,
    allowed: usize,
    refused: usize,
    /// Each key that was refused and how often: the most refused first, and then by key.
    refused_keys: Vec<(&'l str, usize)>,
}

impl<'l> Report<'l> {
    pub(crate) fn new<A: Algorithm>(
        log: &AccessLog<'l>,
        limiter: KeyedBuilder<A, str>,
    ) -> Result<Self, BuildError> {
        let limiter = limiter.build()?;
        let mut refusals = HashMap::new();
        for request in &log.requests {
            let decision = limiter.check_at(request.address, request.at, 1);
            assert!(!decision.overflowed(), "a limiter for twice the keys had no room for one");
            if !decision.is_allowed() {
                *refusals.entry(request.address).or_default() += 1;
            }
        }
        let refused = refusals.values().sum();
        let mut refused_keys: Vec<_> = refusals.into_iter().collect();
        refused_keys.sort_unstable_by_key(|(key, count)| (Reverse(*count), *key));
        Ok(Self {
            lines: log.requests.len() + log.unreadable,
            unreadable: log.unreadable,
            keys: log.keys(),
            allowed: log.requests.len() - refused,
            refused,
            refused_keys,
        })
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name, count| writeln!(f, "{name:<12} {count:>9}");
        line("lines", self.lines)?;
        line("unreadable", self.unreadable)?;
        line("keys", self.keys)?;
        line("allowed", self.allowed)?;
        line("refused", self.refused)?;
        line("refused keys", self.refused_keys.len())?;
        if !self.refused_keys.is_empty() {
            writeln!(f, "\nmost refused")?;
        }
        for (key, count) in self.refused_keys.iter().take(LISTED) {
            writeln!(f, "{count:>9}  {key}")?;
        }
        Ok(())
    }
}
