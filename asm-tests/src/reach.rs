//! What a function calls, and where any of it can panic.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use crate::listing::{Data, Flow, Listing, Step, is_local, name};

/// What can happen at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Index,
    Division,
    Overflow,
    Unwrap,
    Allocation,
    /// Any other panic.
    Panic,
    /// What a panic would report, but what panics is not seen: the compiler has merged two.
    Unclear,
    /// A call of a function that is not named in the code.
    Pointer,
    /// A call of a function that was not compiled here.
    Outside,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Index => "index",
            Self::Division => "division",
            Self::Overflow => "overflow",
            Self::Unwrap => "unwrap",
            Self::Allocation => "allocation",
            Self::Panic => "panic",
            Self::Unclear => "unclear",
            Self::Pointer => "pointer",
            Self::Outside => "outside",
        })
    }
}

impl Kind {
    /// How the function of this name panics, if it is there for that.
    fn of(name: &str) -> Option<Self> {
        let path = name.split("::<").next().unwrap_or_default();
        if !["core::", "alloc::", "std::"].iter().any(|library| path.starts_with(library)) {
            return None;
        }
        let contains = |parts: &[&str]| parts.iter().any(|part| path.contains(part));
        if contains(&["panic_bounds_check", "core::slice::", "core::str::"]) && contains(&["panic", "_fail"])
        {
            Some(Self::Index)
        } else if contains(&["div_by_zero", "rem_by_zero"]) {
            Some(Self::Division)
        } else if path.contains("panic_const") {
            Some(Self::Overflow)
        } else if contains(&["unwrap_failed", "expect_failed"]) {
            Some(Self::Unwrap)
        } else if contains(&["handle_error", "handle_alloc_error", "capacity_overflow"]) {
            Some(Self::Allocation)
        } else if contains(&["panic", "_fail"]) {
            Some(Self::Panic)
        } else {
            None
        }
    }
}

/// A place where something can happen that has to be listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    pub(crate) kind: Kind,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// What the panic would report.
    Source { file: String, line: u32, column: u32 },
    /// The function that contains it, or that is called outside.
    Function(String),
}

impl Site {
    pub(crate) fn file(&self) -> String {
        match &self.place {
            Place::Source { file, .. } => from_crate(file).to_owned(),
            Place::Function(function) => function.clone(),
        }
    }

    /// The file and the function whose source it is in, wherever that was inlined.
    pub(crate) fn function(&self) -> String {
        match &self.place {
            Place::Source { file, line, .. } => {
                let function = enclosing(file, *line).unwrap_or_else(|| format!("line {line}"));
                format!("{}, {function}", from_crate(file))
            }
            Place::Function(function) => function.clone(),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Source { file, line, column } => {
                write!(f, "{file}:{line}:{column}: {}", source(file, *line).unwrap_or_default().trim())
            }
            Place::Function(function) => f.write_str(function),
        }
    }
}

/// All functions that are called from one, directly or not.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) root: String,
    pub(crate) functions: BTreeSet<String>,
}

impl Reach {
    /// A function counts as called as soon as it is named, be it by a table that is named.
    pub(crate) fn from(listing: &Listing, root: &str) -> Self {
        let (mut functions, mut data) = (BTreeSet::new(), BTreeSet::new());
        let mut named = vec![root];
        while let Some(symbol) = named.pop() {
            if let Some(function) = listing.functions.get(symbol) {
                if Kind::of(&name(symbol)).is_none() && functions.insert(symbol.to_owned()) {
                    named.extend(function.steps.iter().flat_map(|step| &step.symbols).map(String::as_str));
                }
            } else if let Some(object) = listing.data.get(symbol)
                && data.insert(symbol)
            {
                named.extend(object.symbols.iter().map(String::as_str));
            }
        }
        Self { root: root.to_owned(), functions }
    }

    pub(crate) fn instructions(&self, listing: &Listing) -> usize {
        self.functions.iter().map(|symbol| listing.functions[symbol].steps.len()).sum()
    }

    pub(crate) fn sites(&self, listing: &Listing) -> BTreeSet<Site> {
        self.functions.iter().flat_map(|symbol| sites_of(listing, symbol)).collect()
    }
}

/// The places of one function, not of those it calls.
fn sites_of(listing: &Listing, symbol: &str) -> Vec<Site> {
    let here = || Place::Function(name(symbol));
    let steps = &listing.functions[symbol].steps;
    let mut sites = Vec::new();
    let mut place = None;
    for symbol in steps.iter().flat_map(|step| &step.symbols) {
        if let Some(data) = listing.data.get(symbol) {
            // A panic is handed what it will report right before it is called; by two instructions on AArch64.
            let Some(next) = location(listing, data) else { continue };
            if let Some(last) = place.replace(next)
                && Some(&last) != place.as_ref()
            {
                sites.push(Site { kind: Kind::Unclear, place: last });
            }
        } else if !is_local(symbol) {
            let called = name(symbol);
            if let Some(kind) = Kind::of(&called) {
                sites.push(Site { kind, place: place.take().unwrap_or_else(here) });
            } else if !listing.functions.contains_key(symbol) {
                sites.push(Site { kind: Kind::Outside, place: Place::Function(called) });
            }
        }
    }
    sites.extend(place.map(|place| Site { kind: Kind::Unclear, place }));
    if calls_a_pointer(listing, steps) {
        sites.push(Site { kind: Kind::Pointer, place: here() });
    }
    sites
}

/// Whether a function is called that is not named. One that is named is followed from there, however it is called.
fn calls_a_pointer(listing: &Listing, steps: &[Step]) -> bool {
    let names = |step: &Step, is_wanted: &dyn Fn(&String) -> bool| step.symbols.iter().any(is_wanted);
    let is_function = |symbol: &String| listing.functions.contains_key(symbol);
    let is_of_functions = |symbol: &String| {
        let data = listing.data.get(symbol);
        is_function(symbol) || data.is_some_and(|data| data.symbols.iter().any(is_function))
    };
    let has_address = steps.iter().any(|step| step.flow == Flow::On && names(step, &is_of_functions));
    // A `match` jumps by a table of its function's own labels.
    let has_table = steps.iter().any(|step| names(step, &|symbol| symbol.contains(":.LJTI")));
    steps.iter().any(|step| match step.flow {
        Flow::On | Flow::Direct => false,
        Flow::IndirectCall => !has_address,
        Flow::IndirectJump => !has_address && !has_table,
    })
}

/// The object as a `core::panic::Location`: a path, its length, the line and the column.
fn location(listing: &Listing, data: &Data) -> Option<Place> {
    let [path] = &data.symbols[..] else { return None };
    let path = str::from_utf8(&listing.data.get(path)?.bytes).ok()?;
    let number = |at: usize| {
        let bytes = [0, 1, 2, 3].map(|byte| data.bytes.get(at + byte).copied().unwrap_or(0));
        u32::from_le_bytes(bytes)
    };
    let is_location = Path::new(path).extension().is_some_and(|extension| extension == "rs")
        && usize::try_from(number(0)).is_ok_and(|len| len == path.len());
    is_location.then(|| Place::Source { file: path.to_owned(), line: number(8), column: number(12) })
}

/// The path without what depends on the machine, for a crate of the registry or of the standard library.
fn from_crate(path: &str) -> &str {
    let tail = |after: &str| path.split_once(after).and_then(|(_, tail)| tail.split_once('/'));
    tail("/registry/src/").or_else(|| tail("/rustc/")).map_or(path, |(_, tail)| tail)
}

/// A line, counted from 1, of a file of the workspace or of the registry.
fn source(path: &str, line: u32) -> Option<String> {
    let text = fs::read_to_string(absolute(path)).ok()?;
    text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?).map(str::to_owned)
}

/// The name of the function that the line is in: that of the last one to begin before it.
fn enclosing(path: &str, line: u32) -> Option<String> {
    let text = fs::read_to_string(absolute(path)).ok()?;
    let before = text.lines().take(usize::try_from(line).ok()?);
    before.filter_map(function_begun).last().map(str::to_owned)
}

fn function_begun(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let (before, after) = code.split_once("fn ")?;
    let begins = before.split_whitespace().all(|word| {
        ["pub", "const", "extern", "async", "unsafe", "\"C\""].contains(&word) || word.starts_with("pub(")
    });
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (begins && !name.is_empty()).then_some(name)
}

fn absolute(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_begins_where_its_name_stands() {
        assert_eq!(function_begun("    pub(super) const fn get(&self) -> u64 {"), Some("get"));
        assert_eq!(function_begun("fn count<T>(counter: &T) {"), Some("count"));
        assert_eq!(function_begun("    let sum = |of: fn(&Shard) -> &AtomicU64| {"), None);
        assert_eq!(function_begun("    call: &dyn Fn (u64)"), None);
    }

    #[test]
    fn a_panic_is_known_by_its_path() {
        let kinds = [
            ("core::panicking::panic_bounds_check", Some(Kind::Index)),
            ("core::slice::index::slice_index_fail", Some(Kind::Index)),
            ("core::slice::index::slice_end_index_len_fail", Some(Kind::Index)),
            ("core::str::slice_error_fail", Some(Kind::Index)),
            ("core::panicking::panic_const::panic_const_rem_by_zero", Some(Kind::Division)),
            ("core::panicking::panic_const::panic_const_mul_overflow", Some(Kind::Overflow)),
            ("core::option::expect_failed", Some(Kind::Unwrap)),
            ("core::result::unwrap_failed", Some(Kind::Unwrap)),
            ("alloc::alloc::handle_alloc_error", Some(Kind::Allocation)),
            ("alloc::raw_vec::capacity_overflow", Some(Kind::Allocation)),
            ("core::panicking::assert_failed::<u64, u64>", Some(Kind::Panic)),
            ("std::panicking::begin_panic::<&str>", Some(Kind::Panic)),
            ("tollgate::panic", None),
            ("core::iter::fold::<tollgate::panic>", None),
        ];
        for (name, kind) in kinds {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }

    #[test]
    fn a_path_loses_what_depends_on_the_machine() {
        assert_eq!(from_crate("src/table/words.rs"), "src/table/words.rs");
        assert_eq!(
            from_crate("/home/u/.cargo/registry/src/index-1/quanta-0.13.0/src/lib.rs"),
            "quanta-0.13.0/src/lib.rs"
        );
        assert_eq!(from_crate("/rustc/5980/library/core/src/time.rs"), "library/core/src/time.rs");
    }
}
