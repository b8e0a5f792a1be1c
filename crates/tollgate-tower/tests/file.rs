//! Policy files: what is read, and that every mistake is told with its place.

#![cfg(feature = "file")]

use std::time::Duration;

use http::Request;
use http::request::Parts;
use tollgate::{Instant, ManualClock};
use tollgate_tower::file::{FileErrorKind, KeyNames, PolicyFile};
use tollgate_tower::keys::KeySource;
use tollgate_tower::{Limits, LimitsBuilder};

fn names() -> KeyNames {
    KeyNames::default().with("everybody", KeySource::fixed())
}

fn builder(clock: &ManualClock) -> LimitsBuilder<ManualClock> {
    Limits::builder().clock(clock.clone())
}

fn request(method: &str, path: &str) -> Parts {
    Request::builder().method(method).uri(path).body(()).expect("a request").into_parts().0
}

fn passes(limits: &Limits<ManualClock>, method: &str, path: &str) -> bool {
    limits.decide(&request(method, path)).refusal().is_none()
}

const WHOLE: &str = r#"
[[policy]]
name = "writes"
algorithm = "fixed-window"
quota = "1/min"
key = "everybody"
route = "/api/*"
method = ["POST", "PUT"]
mode = "enforce"
keys = 10
overflow = "5/s"
missing-key = 401
cost = 1
charge = "always"

[[policy]]
name = "tried out"
quota = "1/h burst 2"
key = ["fixed", "everybody"]
mode = "shadow"
"#;

#[test]
fn everything_that_a_policy_has_is_read() {
    let clock = ManualClock::new();
    let file = PolicyFile::parse(WHOLE, &names()).expect("a file");
    assert_eq!(file.policies().count(), 2);
    let limits = file.build(builder(&clock)).expect("limits");
    assert!(passes(&limits, "POST", "/api/x"));
    assert!(!passes(&limits, "PUT", "/api/y"));
    assert!(passes(&limits, "GET", "/api/x"));
    assert!(passes(&limits, "POST", "/other"));
    let stats: Vec<_> = limits.stats().map(|(name, stats)| (name.to_string(), stats)).collect();
    assert_eq!((stats[0].1.allowed, stats[0].1.refused), (1, 1));
    assert_eq!((stats[1].1.allowed, stats[1].1.shadow_refused), (2, 1));
}

/// The policy with these lines behind its name.
fn policy(lines: &str) -> String {
    format!("# limits\n[[policy]]\nname = \"one\"\n{lines}\n")
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let whole = "quota = \"1/s\"\nkey = \"peer\"\n";
    for (text, line, column, message) in [
        ("[[policy]\n".to_owned(), 1, 10, ""),
        (policy("quota = \"1/s\"\n"), 2, 1, "missing field `key`"),
        (policy(&format!("{whole}colour = 1")), 6, 1, "unknown field `colour`"),
        (policy(&format!("{whole}mode = \"maybe\"")), 6, 8, "unknown variant `maybe`"),
        (policy(&format!("{whole}keys = -1")), 6, 8, ""),
        (
            policy("quota = \"1/fortnight\"\nkey = \"peer\""),
            4,
            12,
            "in the limit `1/fortnight`: expected a period",
        ),
        (
            policy("algorithm = \"sliding-log\"\nquota = \"5/s burst 9\"\nkey = \"peer\""),
            5,
            14,
            "in the limit `sliding-log 5/s burst 9`: only a token bucket takes the option",
        ),
        (
            policy("algorithm = \"leaky\"\nquota = \"5/s\"\nkey = \"peer\""),
            4,
            14,
            "in the limit `leaky 5/s`: expected `token-bucket`",
        ),
        (
            policy("quota = \"1/s\"\nkey = \"user\""),
            5,
            7,
            "expected a key instead of `user`: `header:NAME`, `everybody`, `fixed`, `peer`",
        ),
        (policy("quota = \"1/s\"\nkey = [\"peer\", \"header:\"]"), 5, 7, "expected a header's name"),
        (policy("quota = \"1/s\"\nkey = []"), 5, 7, "expected at least one key"),
        (policy("quota = \"1/s\"\nkey = 7"), 5, 7, "expected a string or an array of strings"),
        (
            policy(&format!("{whole}method = \"NO SUCH\"")),
            6,
            10,
            "expected a method such as `POST` instead of `NO SUCH`",
        ),
        (policy(&format!("{whole}overflow = \"none\"")), 6, 12, "expected `deny`, `allow` or a quota"),
        (policy(&format!("{whole}missing-key = \"none\"")), 6, 15, "expected a status from 400 on"),
        (policy(&format!("{whole}missing-key = 200")), 6, 15, "expected a status from 400 on"),
    ] {
        let error = PolicyFile::parse(&text, &names()).expect_err(&text);
        assert_eq!((error.line(), error.column()), (line, column), "{text}\n{error}");
        let start = format!("line {line}, column {column}: {message}");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

#[test]
fn what_can_be_read_and_not_built_is_told_with_the_line_of_its_name() {
    for (text, message) in [
        (policy("quota = \"1/s\"\nkey = \"peer\"\nroute = \"api\""), "expected a path such as `/login`"),
        (
            policy("quota = \"1/s\"\nkey = \"peer\"\nkeys = 0"),
            "a keyed limiter needs room for at least 1 key",
        ),
        (policy("quota = \"1/s burst 0\"\nkey = \"peer\""), "a burst of 0 refuses everything"),
        (
            policy("quota = \"1/s\"\nkey = \"peer\"").replace("one", "eins\\u00e4"),
            "a policy's name has a character at byte 4",
        ),
    ] {
        let file = PolicyFile::parse(&text, &names()).expect("can be read");
        let error = file.build(Limits::builder()).expect_err(&text);
        assert_eq!((error.line(), error.column()), (3, 8), "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(matches!(error.kind(), FileErrorKind::Build(_)));
    }
    let twice = WHOLE.replace("tried out", "writes");
    let file = PolicyFile::parse(&twice, &names()).expect("can be read");
    assert_eq!(file.build(Limits::builder()).expect_err("the same name").line(), 17);
}

#[test]
fn a_file_that_is_read_again_keeps_the_states_of_policies_that_are_as_before() {
    let (clock, names) = (ManualClock::new(), names());
    let read = |text: &str| PolicyFile::parse(text, &names).expect("a file");
    let text = "[[policy]]\nname = \"kept\"\nquota = \"3/h\"\nkey = \"fixed\"\nroute = \"/a\"\n\
                [[policy]]\nname = \"changed\"\nquota = \"1/h\"\nkey = \"fixed\"\nroute = \"/b\"\n";
    let limits = read(text).build(builder(&clock)).expect("limits");
    assert!(passes(&limits, "GET", "/a") && passes(&limits, "GET", "/b") && !passes(&limits, "GET", "/b"));
    clock.set(Instant::after_origin(Duration::from_secs(1)));

    let text = text.replace("/a", "/c").replace("\"1/h\"", "\"2/h\"");
    let again = read(&text).build_after(builder(&clock), &limits).expect("limits");
    assert_eq!((0..4).filter(|_| passes(&again, "GET", "/c")).count(), 2, "one of three is used up");
    assert_eq!((0..4).filter(|_| passes(&again, "GET", "/b")).count(), 2, "another quota starts anew");
    let stats: Vec<_> = again.stats().map(|(_, stats)| stats.allowed).collect();
    assert_eq!(stats, [3, 3], "counters go on");

    let broken = read(&text.replace("\"2/h\"", "\"2/h burst 0\""));
    assert!(broken.build_after(builder(&clock), &again).is_err());
    assert!(!passes(&again, "GET", "/c"), "the limits in use are as they were");
}
