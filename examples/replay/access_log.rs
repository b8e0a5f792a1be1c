//! Access logs in the common and the combined format.
//!
//! ```text
//! 192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.1" 200 2326 ...
//! ```

use std::collections::HashSet;

use jiff::Timestamp;
use tollgate::Instant;

/// The requests of a log in the order of their times; those of one time in the order of their lines.
pub(crate) struct AccessLog<'l> {
    pub(crate) requests: Vec<Request<'l>>,
    /// Lines that are no requests.
    pub(crate) unreadable: usize,
}

pub(crate) struct Request<'l> {
    pub(crate) address: &'l str,
    /// Time since the earliest request.
    pub(crate) at: Instant,
}

impl<'l> AccessLog<'l> {
    pub(crate) fn parse(text: &'l str) -> Self {
        let mut unreadable = 0;
        let mut entries = Vec::new();
        for line in text.lines() {
            match entry(line) {
                Some(entry) => entries.push(entry),
                None => unreadable += 1,
            }
        }
        // Servers write a line when its request ends but date it when it starts. The sort is stable.
        entries.sort_by_key(|(_, time)| *time);
        let earliest = entries.first().map_or(Timestamp::UNIX_EPOCH, |(_, time)| *time);
        let request = |(address, time): (&'l str, Timestamp)| Request {
            address,
            at: Instant::ORIGIN + time.duration_since(earliest).unsigned_abs(),
        };
        Self { requests: entries.into_iter().map(request).collect(), unreadable }
    }

    /// The number of different addresses.
    pub(crate) fn keys(&self) -> usize {
        self.requests.iter().map(|request| request.address).collect::<HashSet<_>>().len()
    }
}

/// The address and the time of a line.
///
/// What a client can choose freely comes after the first quote, except the user's name: so the time is taken from
/// just before that quote, and the address from the line's start.
fn entry(line: &str) -> Option<(&str, Timestamp)> {
    let (before_request, _) = line.split_once('"')?;
    let (client, time) = before_request.trim_end().strip_suffix(']')?.rsplit_once(" [")?;
    let address = client.split(' ').next().filter(|address| !address.is_empty())?;
    Some((address, Timestamp::strptime("%d/%b/%Y:%H:%M:%S %z", time).ok()?))
}
