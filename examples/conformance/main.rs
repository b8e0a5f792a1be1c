//! Checks the limiters against test vectors; their format is described in `oracle/src/vectors.rs`.
//!
//! ```text
//! cargo run --release --example conformance -- tests/vectors/reference.txt
//! ```
//!
//! Each line runs through a direct limiter and through a keyed one whose other keys are busy at the same instants, and
//! through both with an algorithm that is chosen at run time.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::prelude::*;
use oracle::{conformance, vectors};

const USAGE: &str = "\
Usage: conformance [FILE...]

Runs the test vectors of the files, or of standard input, through direct and keyed limiters. Prints each answer that
differs and how many lines passed. Exit status: 0 if all passed, 1 if any failed, 2 if not all could be run.
";

fn main() -> ExitCode {
    match run() {
        Ok(status) => status,
        Err(error) => {
            // Not `eprintln!`, which panics where nobody listens.
            let _ = writeln!(io::stderr(), "conformance: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let Some(files) = files(std::env::args_os())? else {
        out.write_all(USAGE.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    let texts = read(&files)?;
    // All lines are read before the first is run: a report is about all of them or there is none.
    let mut vectors = Vec::new();
    for (source, text) in &texts {
        vectors.extend(vectors::parse(text).map_err(|error| format!("{source}, {error}"))?);
    }
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for vector in &vectors {
        let differences = match conformance::run(vector) {
            Ok(differences) => differences.iter().map(ToString::to_string).collect(),
            Err(error) => vec![format!("cannot be built: {error}")],
        };
        for difference in &differences {
            writeln!(out, "{}: {difference}", vector.name)?;
        }
        *if differences.is_empty() { &mut passed } else { &mut failed } += 1;
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The files to read; `None` if help was asked for.
fn files(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Vec<PathBuf>>, lexopt::Error> {
    let mut files = Vec::new();
    let mut parser = lexopt::Parser::from_iter(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Value(path) => files.push(PathBuf::from(path)),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Some(files))
}

/// The texts to check, each with the name of its source.
fn read(files: &[PathBuf]) -> Result<Vec<(String, String)>, String> {
    if files.is_empty() {
        let source = "standard input";
        let text =
            io::read_to_string(io::stdin()).map_err(|error| format!("cannot read {source}: {error}"))?;
        return Ok(vec![(source.to_owned(), text)]);
    }
    let read = |file: &Path| match fs::read_to_string(file) {
        Ok(text) => Ok((file.display().to_string(), text)),
        Err(error) => Err(format!("cannot read {}: {error}", file.display())),
    };
    files.iter().map(|file| read(file)).collect()
}
