//! The replay example, run as a user runs it.

#[path = "support/example.rs"]
mod example;

use std::fs;
use std::path::Path;
use std::process::Output;

const SAMPLE: &str = "examples/data/sample-access.log";

fn replay(arguments: &[&str]) -> Output {
    example::run("replay", arguments)
}

fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{output:?}");
    str::from_utf8(&output.stdout).expect("the report is text")
}

/// Replays a log made of these lines under a token bucket of one permit per 10 s.
fn replay_lines(name: &str, lines: &[&str]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, lines.join("\n")).expect("the log can be written");
    let path = path.to_str().expect("the path is text");
    stdout(&replay(&["--algorithm", "token-bucket", "--limit", "1/10s", path])).to_owned()
}

fn count(report: &str, name: &str) -> usize {
    let line = report.lines().find_map(|line| line.strip_prefix(name)).expect("the report names it");
    line.trim().parse().expect("the report counts it")
}

#[test]
fn sample_under_each_algorithm_is_reported_as_pinned() {
    for (algorithm, expected) in [
        ("token-bucket", include_str!("replay/token-bucket.txt")),
        ("fixed-window", include_str!("replay/fixed-window.txt")),
        ("sliding-counter", include_str!("replay/sliding-counter.txt")),
        ("sliding-log", include_str!("replay/sliding-log.txt")),
    ] {
        let output = replay(&["--algorithm", algorithm, "--limit", "3/10s", SAMPLE]);
        assert_eq!(stdout(&output), expected, "{algorithm}");
    }
}

#[test]
fn sample_is_what_its_generator_writes() {
    let written = example::run("sample_log", &[]);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
    let shipped = fs::read_to_string(shipped).expect("the sample is there");
    assert!(stdout(&written) == shipped, "run examples/sample_log.rs again");
}

#[test]
fn times_in_two_zones_are_compared_as_instants() {
    let report = replay_lines(
        "zones.log",
        &[
            r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326"#,
            r#"192.0.2.1 - - [10/Oct/2000:20:55:45 +0000] "GET / HTTP/1.0" 200 2326"#,
            r#"192.0.2.1 - - [11/Oct/2000:02:25:46 +0530] "GET / HTTP/1.0" 200 2326"#,
        ],
    );
    assert_eq!((count(&report, "allowed"), count(&report, "refused")), (2, 1), "{report}");
}

#[test]
fn lines_out_of_order_are_decided_in_the_order_of_their_times() {
    let report = replay_lines(
        "disorder.log",
        &[
            r#"192.0.2.1 - - [10/Oct/2000:13:55:50 +0000] "GET / HTTP/1.0" 200 2326"#,
            r#"192.0.2.1 - - [10/Oct/2000:13:55:40 +0000] "GET / HTTP/1.0" 200 2326"#,
            r#"192.0.2.1 - - [10/Oct/2000:13:55:30 +0000] "GET / HTTP/1.0" 200 2326"#,
        ],
    );
    assert_eq!((count(&report, "allowed"), count(&report, "refused")), (3, 0), "{report}");
}

#[test]
fn unreadable_lines_are_counted_and_skipped() {
    let report = replay_lines(
        "unreadable.log",
        &[
            "",
            "-",
            r#" - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326"#,
            r#"192.0.2.1 - - [31/Feb/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326"#,
            r#"192.0.2.1 - - [10/Oct/2000:13:55:36] "GET / HTTP/1.0" 200 2326"#,
            "192.0.2.1 - - [10/Oct/2000:13:55",
            r#"2001:db8::1 - a [user] [10/Oct/2000:13:55:36 -0700] "GET /[x] HTTP/1.0" 200 2326 "-" "agent""#,
        ],
    );
    assert_eq!(count(&report, "lines"), 7, "{report}");
    assert_eq!((count(&report, "unreadable"), count(&report, "allowed")), (6, 1), "{report}");
}

#[test]
fn bad_input_is_one_line_on_stderr_and_exit_status_2() {
    for (arguments, complaint) in [
        (&["--algorithm", "token-bucket", "--limit", "3/10s", "no-such.log"][..], "no-such.log"),
        (&["--algorithm", "token-bucket", "--limit", "3/10s", "src"], "src"),
        (&["--algorithm", "token-bucket", "--limit", "3/10s"], "FILE"),
        (&["--algorithm", "leaky-sieve", "--limit", "3/10s", SAMPLE], "leaky-sieve"),
        (&["--algorithm", "token-bucket", "--limit", "3", SAMPLE], "`/` or `per`"),
        (&["--algorithm", "token-bucket", "--limit", "3/0s", SAMPLE], "period"),
        (&["--algorithm", "token-bucket", "--limit", "256/ns", SAMPLE], "256 permits"),
        (&["--algorithm", "sliding-log", "--limit", "262144/s", "--verbose", SAMPLE], "--verbose"),
        (&["--limit", "3/10s", SAMPLE], "--algorithm"),
        (&["--algorithm", "token-bucket", SAMPLE], "--limit"),
        (&["--algorithm", "token-bucket", "--limit", "3/10s", SAMPLE, SAMPLE], SAMPLE),
    ] {
        let output = replay(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
        assert!(stderr.contains(complaint), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
