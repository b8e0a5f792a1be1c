//! Quotas and algorithms as text, for configuration: one grammar, one parser.
//!
//! ```text
//! any        = [name] quota option*       the name may be left out for a token bucket
//! name       = "token-bucket" | "fixed-window" | "sliding-counter" | "sliding-log"
//! quota      = permits ("/" | "per") time
//! permits    = number ["B" | "kB" | "MB" | "GB" | "TB" | "KiB" | "MiB" | "GiB" | "TiB"]
//! time       = [number] unit              1 if left out
//! unit       = "ns" | "us" | "ms" | "s" | "min" | "h" | "d", or a long form of the last four
//! option     = "burst" permits | "start-empty" | "max-wait" time | "utc" ["+" time] | "without-remaining"
//! number     = digit (digit | "_")* ["." digit (digit | "_")*]
//! ```
//!
//! A number may have a fraction if its unit makes it whole: permits (a byte is one) and ns are counted in integers.
//! Spaces may stand between any two of these. An option is given at most once, to an algorithm that has it.

mod algorithms;
mod error;
mod parser;
#[cfg(feature = "serde")]
mod serde;
mod token;

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::quota::Quota;
pub use error::{ParseError, ParseErrorKind};
use parser::Parser;

/// A unit of the text form: its names, of which the first is written, and how many of the smallest unit it has.
type Unit = (&'static [&'static str], u64);

/// In permits: a byte is one.
const SIZES: [Unit; 9] = [
    (&["B"], 1),
    (&["kB"], 1_000),
    (&["MB"], 1_000_000),
    (&["GB"], 1_000_000_000),
    (&["TB"], 1_000_000_000_000),
    (&["KiB"], 1 << 10),
    (&["MiB"], 1 << 20),
    (&["GiB"], 1 << 30),
    (&["TiB"], 1 << 40),
];

/// In ns, largest first.
const TIMES: [Unit; 7] = [
    (&["d", "day", "days"], 86_400_000_000_000),
    (&["h", "hour", "hours"], 3_600_000_000_000),
    (&["min", "minute", "minutes"], 60_000_000_000),
    (&["s", "sec", "second", "seconds"], 1_000_000_000),
    (&["ms"], 1_000_000),
    (&["us"], 1_000),
    (&["ns"], 1),
];

/// How many of the largest unit that divides it a time is, and that unit's name.
fn in_largest_unit(time: Duration) -> (u128, &'static str) {
    let nanos = time.as_nanos();
    let divides = |(_, unit): &&Unit| nanos.is_multiple_of(u128::from(*unit));
    let (names, unit) = TIMES.iter().find(divides).unwrap_or(&TIMES[TIMES.len() - 1]);
    (nanos / u128::from(*unit), names[0])
}

/// Writes the text form, in the largest unit that divides the period.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match in_largest_unit(self.period()) {
            (1, unit) => write!(f, "{}/{unit}", self.limit()),
            (count, unit) => write!(f, "{}/{count}{unit}", self.limit()),
        }
    }
}

impl FromStr for Quota {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text)?;
        let quota = parser.quota()?;
        parser.end()?;
        Ok(quota)
    }
}
