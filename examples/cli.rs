//! Copies lines from standard input to standard output, no faster than a rate allows:
//!
//! ```text
//! seq 100 | cargo run --example cli -- 20/s
//! ```
#![expect(clippy::print_stdout, reason = "that is what the program is for")]

use std::error::Error;
use std::{env, io, thread};

use tollgate::{Quota, TokenBucket};

fn main() -> Result<(), Box<dyn Error>> {
    let rate = env::args().nth(1).unwrap_or_else(|| "100/s".to_owned());
    let quota: Quota = rate.parse().map_err(|error| format!("{rate:?}: {error}"))?;
    // A burst of one: lines come at an even pace.
    let pace = TokenBucket::new(quota).burst(1).build()?;

    for line in io::stdin().lines() {
        let line = line?;
        while let Err(denied) = pace.check().into_result() {
            // A quota of 0 never lets the next line pass: no wait is told, and the refusal ends the program.
            thread::sleep(denied.retry_after().ok_or(denied)?);
        }
        println!("{line}");
    }
    Ok(())
}
