//! Replays a web server's access log through a keyed limiter: who would have been refused, and how often?
//!
//! ```text
//! cargo run --release --example replay -- --algorithm token-bucket --limit 3/10s examples/data/sample-access.log
//! ```
//!
//! Each line of the log asks for one permit in the name of its address, at the log's own time.

mod access_log;
mod options;
mod report;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::{env, fs};

use tollgate::{FixedWindow, SlidingCounter, SlidingLog, TokenBucket};

use access_log::AccessLog;
use options::{AlgorithmName, Options};
use report::Report;

const USAGE: &str = "\
Usage: replay --algorithm NAME --limit N/PERIOD FILE

Reads an access log in the common or the combined format and tells which requests a limit would have refused.
The key is the client's address. Time is the log's own and starts at its earliest line.

  --algorithm NAME    token-bucket, fixed-window, sliding-counter or sliding-log
  --limit N/PERIOD    N requests per PERIOD, for instance 3/10s or 100/min; a token bucket holds N
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not `eprintln!`, which panics where nobody listens.
            let _ = writeln!(io::stderr(), "replay: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(env::args_os())? else {
        return Ok(io::stdout().write_all(USAGE.as_bytes())?);
    };
    let file = options.file.display();
    let bytes = fs::read(&options.file).map_err(|error| format!("cannot read {file}: {error}"))?;
    // Requests may hold any bytes; addresses and times are ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let log = AccessLog::parse(&text);
    let report = replay(&options, &log)?;
    write!(io::stdout(), "{report}").map_err(|error| format!("cannot write the report: {error}"))?;
    Ok(())
}

fn replay<'l>(options: &Options, log: &AccessLog<'l>) -> Result<Report<'l>, tollgate::BuildError> {
    // Twice what can be live: room for every key, whatever their hashes.
    let (quota, keys) = (options.quota, 2 * log.keys().max(1));
    match options.algorithm {
        AlgorithmName::TokenBucket => Report::new(log, TokenBucket::new(quota).keyed(keys)),
        AlgorithmName::FixedWindow => Report::new(log, FixedWindow::new(quota).keyed(keys)),
        AlgorithmName::SlidingCounter => Report::new(log, SlidingCounter::new(quota).keyed(keys)),
        AlgorithmName::SlidingLog => Report::new(log, SlidingLog::new(quota).keyed(keys)),
    }
}
