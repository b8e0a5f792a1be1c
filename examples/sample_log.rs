//! Makes the access log that the replay example is shown with, the same each time:
//!
//! ```text
//! cargo run --example sample_log > examples/data/sample-access.log
//! ```
//!
//! Nobody real is in it: the addresses are those reserved for documentation. The rest is shaped like a real log. It
//! covers four hours of the night in which central European clocks are set back, so the local hour from 2 to 3 comes
//! twice and only the offset tells which. Lines are written when requests end but dated when they start. A few are
//! cut off, as by a full disk.

use std::io::{self, BufWriter, Write};

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// 23:00 UTC on 24 October 2026, in seconds since the Unix epoch: 01:00 in summer time.
const START: i64 = 1_792_882_800;
/// Until the clocks are set back from 03:00 to 02:00, in seconds.
const SUMMER_SECONDS: u64 = 2 * 3600;
const SPAN_SECONDS: u64 = 4 * 3600;

const PAGES: [&str; 6] = ["/", "/articles/", "/articles/queues", "/articles/clocks", "/about", "/search"];
const ASSETS: [&str; 7] = [
    "/style.css",
    "/site.js",
    "/fonts/text.woff2",
    "/images/logo.svg",
    "/images/header.webp",
    "/images/portrait.webp",
    "/favicon.ico",
];
const PROBES: [&str; 5] = ["/wp-login.php", "/.env", "/admin/", "/xmlrpc.php", "/.git/config"];

struct Request {
    /// Seconds after [`START`].
    at: u64,
    /// Seconds it takes.
    takes: u64,
    address: String,
    path: &'static str,
    status: u16,
    agent: &'static str,
}

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// `low..=high`.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    #[expect(clippy::cast_possible_truncation, reason = "below the length")]
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize]
    }
}

struct Traffic {
    random: Random,
    requests: Vec<Request>,
}

impl Traffic {
    fn add(&mut self, at: u64, address: &str, (path, status): (&'static str, u16), agent: &'static str) {
        let takes = self.random.pick(&[0, 0, 0, 0, 1, 1, 3]);
        if at < SPAN_SECONDS {
            self.requests.push(Request { at, takes, address: address.to_owned(), path, status, agent });
        }
    }

    /// Someone with a browser: a few pages, each with what belongs to it.
    fn reader(&mut self, address: &str) {
        let agent = self.random.pick(&["Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (iPhone)"]);
        let mut at = self.random.between(0, SPAN_SECONDS);
        for _ in 0..self.random.between(1, 4) {
            let page = self.random.pick(&PAGES);
            self.add(at, address, (page, 200), agent);
            for _ in 0..self.random.between(0, 5) {
                let asset = self.random.pick(&ASSETS);
                let after = self.random.between(0, 2);
                self.add(at + after, address, (asset, 200), agent);
            }
            at += self.random.between(5, 240);
        }
    }

    /// A machine that takes `count` paths, `pause.0` to `pause.1` seconds apart.
    fn machine(
        &mut self,
        address: &str,
        agent: &'static str,
        from: u64,
        count: usize,
        pause: (u64, u64),
        answers: &[(&'static str, u16)],
    ) {
        let mut at = from;
        for _ in 0..count {
            let answer = self.random.pick(answers);
            self.add(at, address, answer, agent);
            at += self.random.between(pause.0, pause.1);
        }
    }
}

fn traffic() -> Vec<Request> {
    let mut traffic = Traffic { random: Random(2026), requests: Vec::new() };
    for reader in 0..140 {
        let host = reader / 4 + 10;
        let address = match reader % 4 {
            0 => format!("192.0.2.{host}"),
            1 => format!("198.51.100.{host}"),
            2 => format!("203.0.113.{host}"),
            _ => format!("2001:db8:{host:x}::{reader:x}"),
        };
        traffic.reader(&address);
    }
    let pages = PAGES.map(|path| (path, 200));
    let probes = PROBES.map(|path| (path, 404));
    traffic.machine("192.0.2.200", "ExampleBot/2.1", 0, 280, (20, 80), &pages);
    traffic.machine("2001:db8:b07::1", "FeedFetcher/1.0", 40, 48, (299, 301), &[("/feed.xml", 304)]);
    // Three times in ten seconds, at most: never refused at that limit, whatever the algorithm.
    traffic.machine("198.51.100.80", "status-page/3", 3000, 150, (4, 4), &[("/health", 200)]);
    traffic.machine("203.0.113.66", "curl/8.5.0", 5000, 160, (0, 1), &probes);
    traffic.machine("2001:db8:bad::66", "python-requests/2.32", 8700, 220, (0, 5), &probes);
    traffic.machine("198.51.100.23", "wget/1.24", 11_000, 120, (1, 4), &pages);
    let mut requests = traffic.requests;
    requests.sort_by_key(|request| request.at + request.takes);
    requests
}

fn write_line(out: &mut impl Write, index: usize, request: &Request) -> io::Result<()> {
    let Request { at, address, path, status, agent, .. } = request;
    let offset = Offset::constant(if *at < SUMMER_SECONDS { 2 } else { 1 });
    let time = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(START + at.cast_signed());
    let time = time.to_zoned_datetime(TimeZone::fixed(offset));
    let time = time.strftime("%d/%b/%Y:%H:%M:%S %z");
    let size = path.len() * 977;
    let line = format!("{address} - - [{time}] \"GET {path} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"");
    // One in 400 is cut off within its time.
    let end = if index % 400 == 399 { address.len() + 20 } else { line.len() };
    writeln!(out, "{}", &line[..end])
}

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, request) in traffic().iter().enumerate() {
        write_line(&mut out, index, request)?;
    }
    out.flush()
}
