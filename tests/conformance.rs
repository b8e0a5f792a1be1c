//! The vectors of `vectors/reference.txt`, run as the example `conformance` runs them; and that example itself.

#[path = "support/example.rs"]
mod example;

use std::fs;
use std::path::Path;
use std::process::Output;

use oracle::{conformance, vectors};

const REFERENCE: &str = include_str!("vectors/reference.txt");

#[test]
fn every_vector_passes_direct_and_keyed_with_the_algorithm_chosen_at_compile_time_and_at_run_time()
-> Result<(), Box<dyn std::error::Error>> {
    let vectors = vectors::parse(REFERENCE)?;
    assert_eq!(vectors.len(), 1532);
    for vector in &vectors {
        assert_eq!(conformance::run(vector)?, [], "{}", vector.name);
    }
    Ok(())
}

/// Runs the example on a file with this text.
fn run_on(name: &str, text: &str) -> Output {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("the file can be written");
    example::run("conformance", &[path.to_str().expect("the path is text")])
}

#[test]
fn vectors_that_pass_are_counted_with_status_0() {
    let output = run_on("pass.txt", "# a comment\n\nwindow fw 1 5 | 0 1 A 0 0 5 ; 4 1 D 0 1 1\r\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(str::from_utf8(&output.stdout), Ok("1 passed, 0 failed\n"));
}

#[test]
fn each_difference_is_told_with_status_1() {
    let wrong_reset = "wrong fw 1 5 | 0 1 A 0 0 5 ; 4 1 D 0 1 2\n";
    let unbuildable = "large sl 262145 5 | 0 1 A 262144 0 5\n";
    let output = run_on("fail.txt", &format!("{wrong_reset}{unbuildable}right fw 1 5 | 0 1 A 0 0 5\n"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.len(), 6, "{report}");
    for (line, limiter) in lines.iter().zip(["direct", "keyed", "AnyLimiter", "AnyKeyed"]) {
        assert_eq!(*line, format!("wrong: call 2 (4 1), {limiter}: D 0 1 1 instead of D 0 1 2"));
    }
    assert!(lines[4].starts_with("large: cannot be built: "), "{report}");
    assert_eq!(lines[5], "1 passed, 2 failed");
}

#[test]
fn what_cannot_be_read_is_one_line_on_stderr_with_status_2() {
    let no_reset = "fine fw 1 5 | 0 1 A 0 0 5\n\nshort fw 1 5 | 0 1 A 0 0\n";
    for (output, complaint) in [
        (run_on("no-reset.txt", no_reset), "line 3: the wait to reset is missing"),
        (run_on("no-calls.txt", "name fw 1 5"), "line 1: there is no '|'"),
        (run_on("algorithm.txt", "name xy 1 5 | 0 1 A 0 0 5"), "line 1: the algorithm cannot be \"xy\""),
        (run_on("number.txt", "name fw 1 5 | -1 1 A 0 0 5"), "line 1: the time cannot be \"-1\""),
        (run_on("long.txt", "name fw 1 5 | 0 1 A 0 0 5 6"), "line 1: there is a word too many: \"6\""),
        (example::run("conformance", &["no-such.txt"]), "cannot read no-such.txt"),
        (example::run("conformance", &["--fast"]), "--fast"),
    ] {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}: {output:?}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains(complaint), "{stderr}");
        assert!(output.stdout.is_empty(), "{complaint}");
    }
}
