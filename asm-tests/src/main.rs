//! Reads the assembly of the probes and of all they call, and fails on a panic that is not listed.
//!
//! `asm-tests LIST FILE...` checks; `--print NAME` before it prints the assembly of the probes with that in their
//! names; `--count-overflows` counts what only a build with overflow checks has, and fails on nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

mod allowed;
mod listing;
mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::{env, fs};

use allowed::Allowed;
use listing::{Listing, name};
use reach::{Kind, Reach, Site};

/// The crate of the probes, as symbols name it.
const PROBES: &str = "asm_tests::";
/// Of each algorithm, direct and keyed; of decisions and clocks.
const PROBES_MIN: usize = 4 * 14 + 5 + 3;
const ALGORITHMS: [&str; 4] = ["token_bucket", "fixed_window", "sliding_counter", "sliding_log"];
const CANARY: &str = "canary::";
/// What has to be seen of each canary.
const CANARIES: [(&str, Option<Kind>); 10] = [
    ("index", Some(Kind::Index)),
    ("slice", Some(Kind::Index)),
    ("division", Some(Kind::Division)),
    ("unwrap", Some(Kind::Unwrap)),
    ("panic", Some(Kind::Panic)),
    ("allocation", Some(Kind::Allocation)),
    ("pointer", Some(Kind::Pointer)),
    ("behind_a_call", Some(Kind::Index)),
    ("behind_a_pointer", Some(Kind::Index)),
    ("nothing", None),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut args = env::args().skip(1).peekable();
    let counts_overflows = args.next_if(|arg| arg == "--count-overflows").is_some();
    let printed = if args.next_if(|arg| arg == "--print").is_some() { args.next() } else { None };
    let list = args.next().ok_or("no list")?;
    let mut listing = Listing::default();
    for path in args {
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        listing.add(&path, &text);
    }
    let probes = Probes::find(&listing)?;
    if counts_overflows {
        probes.count_overflows(&listing);
        return Ok(());
    }
    if let Some(part) = printed {
        probes.print(&listing, &part);
        return Ok(());
    }
    probes.summarize(&listing);
    let text = fs::read_to_string(&list).map_err(|error| format!("{list}: {error}"))?;
    Allowed::parse(&text)?.check(&probes.sites(&listing))
}

/// What each probe reaches.
struct Probes {
    /// Without the name of the crate.
    by_name: BTreeMap<String, Reach>,
}

impl Probes {
    /// Finds the probes and makes sure that everything is seen that has to be.
    fn find(listing: &Listing) -> Result<Self, String> {
        let mut by_name = BTreeMap::new();
        for symbol in listing.functions.keys() {
            let name = name(symbol);
            if let Some(probe) = name.strip_prefix(PROBES).filter(|probe| !probe.contains('{')) {
                by_name.insert(probe.to_owned(), Reach::from(listing, symbol));
            }
        }
        for (canary, expected) in CANARIES {
            let Some(reach) = by_name.remove(&format!("{CANARY}{canary}")) else {
                return Err(format!(
                    "the assembly has no {PROBES}{CANARY}{canary}: is it of an ELF target, in LLVM's syntax?"
                ));
            };
            let kinds = reach.sites(listing).into_iter().map(|site| site.kind);
            let seen: Vec<Kind> = kinds.filter(|kind| *kind != Kind::Outside).collect();
            if !expected.iter().eq(&seen) {
                return Err(format!("the canary {canary} has to show {expected:?}, and shows {seen:?}"));
            }
        }
        let found = by_name.len();
        if found < PROBES_MIN {
            return Err(format!("{found} probes of {PROBES_MIN} in the assembly: where are the others?"));
        }
        for algorithm in ALGORITHMS {
            for verb in ["check", "keyed_check"] {
                let reach = by_name.get(&format!("{algorithm}::{verb}"));
                if reach.is_none_or(|reach| reach.functions.len() < 2) {
                    return Err(format!(
                        "{algorithm}::{verb} is missing, or calls nothing: it reads a clock"
                    ));
                }
            }
        }
        Ok(Self { by_name })
    }

    fn summarize(&self, listing: &Listing) {
        println!("{:38} instructions  with calls  functions  places", "probe");
        for (name, reach) in &self.by_name {
            let own = listing.functions[&reach.root].steps.len();
            let (all, functions) = (reach.instructions(listing), reach.functions.len());
            let places = reach.sites(listing).iter().filter(|site| site.kind != Kind::Outside).count();
            println!("{name:38} {own:12}  {all:10}  {functions:9}  {places:6}");
        }
    }

    fn sites(&self, listing: &Listing) -> BTreeSet<Site> {
        self.by_name.values().flat_map(|reach| reach.sites(listing)).collect()
    }

    fn print(&self, listing: &Listing, part: &str) {
        for (name, reach) in self.by_name.iter().filter(|(name, _)| name.contains(part)) {
            println!("# {name}, and what it calls");
            let others = reach.functions.iter().filter(|symbol| **symbol != reach.root);
            for symbol in [&reach.root].into_iter().chain(others) {
                println!("\n# {}", listing::name(symbol));
                for line in &listing.functions[symbol].text {
                    println!("{line}");
                }
            }
        }
    }

    fn count_overflows(&self, listing: &Listing) {
        let sites = self.sites(listing);
        let mut by_file = BTreeMap::new();
        for site in sites.iter().filter(|site| site.kind == Kind::Overflow) {
            *by_file.entry(site.file()).or_insert(0) += 1;
        }
        let total: usize = by_file.values().sum();
        println!("with overflow checks, {total} operations that the compiler cannot rule out to overflow:");
        for (file, count) in by_file {
            println!("{count:6}  {file}");
        }
    }
}
