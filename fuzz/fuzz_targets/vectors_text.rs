//! The two other parsers of the repository: of vectors, which are then run, and of access logs.

#![no_main]

#[path = "../../examples/replay/access_log.rs"]
mod access_log;

use access_log::AccessLog;
use libfuzzer_sys::fuzz_target;
use oracle::vectors::{Rule, Vector};
use oracle::{conformance, vectors};

/// Whether a limiter is built quickly.
fn is_small(vector: &Vector<'_>) -> bool {
    !matches!(vector.rule, Rule::SlidingLog { limit, .. } if limit > 1000)
}

/// What is read is run: answers may differ from those in the text, but then a difference is told.
fn any_vectors(text: &str) {
    match vectors::parse(text) {
        Ok(vectors) => {
            for vector in vectors.iter().filter(|vector| is_small(vector)) {
                assert!(text.contains(vector.name));
                match conformance::run(vector) {
                    Ok(differences) => {
                        assert!(differences.len() <= 4 * vector.calls.len());
                        assert!(differences.iter().all(|difference| !difference.to_string().is_empty()));
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
        Err(error) => assert!(error.to_string().starts_with("line ")),
    }
}

/// Each line is a request or is counted, and requests come in the order of their times.
fn any_log(text: &str) {
    let log = AccessLog::parse(text);
    assert_eq!(log.requests.len() + log.unreadable, text.lines().count());
    assert!(log.requests.is_sorted_by_key(|request| request.at));
    assert!(log.requests.first().is_none_or(|first| first.at.as_nanos() == 0));
    assert!(log.keys() <= log.requests.len());
    for request in &log.requests {
        assert!(!request.address.is_empty() && !request.address.contains(' '));
        assert!(text.contains(request.address));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    any_vectors(&text);
    any_log(&text);
});
