//! The list of what may be found, with reasons.

use std::collections::{BTreeMap, BTreeSet};

use crate::reach::{Kind, Site};

/// `what | where | places | why`, one a line.
#[derive(Debug)]
pub(crate) struct Allowed {
    entries: BTreeMap<(String, String), usize>,
}

impl Allowed {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut entries = BTreeMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let wrong = || format!("not 'what | where | places | why': {line}");
            let [what, place, places, why] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
                return Err(wrong());
            };
            let places = places.parse().map_err(|_| wrong())?;
            if why.is_empty() || entries.insert((what.to_owned(), place.to_owned()), places).is_some() {
                return Err(format!("no reason, or listed twice: {line}"));
            }
        }
        Ok(Self { entries })
    }

    /// Fails if there is a place more than listed. Fewer are fine: another compiler may see what this one cannot.
    pub(crate) fn check(mut self, sites: &BTreeSet<Site>) -> Result<(), String> {
        let mut found: BTreeMap<(Kind, String), Vec<&Site>> = BTreeMap::new();
        for site in sites {
            found.entry((site.kind, site.function())).or_default().push(site);
        }
        let mut unlisted = Vec::new();
        for ((kind, function), sites) in found {
            let max = self.entries.remove(&(kind.to_string(), function.clone())).unwrap_or(0);
            if sites.len() > max {
                unlisted.push(format!("{kind} | {function} | places: {}, listed: {max}", sites.len()));
                unlisted.extend(sites.iter().map(|site| format!("    {site}")));
            }
        }
        for (what, place) in self.entries.keys() {
            println!("listed, but not found in this build: {what} | {place}");
        }
        if unlisted.is_empty() {
            println!("panics: {} places, all of them listed in asm-tests/ALLOWED", sites.len());
            return Ok(());
        }
        Err(format!("not listed in asm-tests/ALLOWED:\n{}", unlisted.join("\n")))
    }
}
