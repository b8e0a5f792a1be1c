//! Direct limiters of any rule, at any readings, against the reference.

#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use oracle::follow;
use oracle::from_bytes;
use oracle::rate::is_rounded;
use oracle::steps::Step;
use oracle::vectors::Rule;

#[derive(Debug)]
struct Input {
    rule: Rule,
    steps: Vec<Step>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self { rule: bytes.arbitrary()?, steps: from_bytes::steps(bytes)? })
    }
}

fuzz_target!(|input: Input| {
    let Input { rule, steps } = input;
    let followed =
        if is_rounded(rule) { follow::rounded(rule, &steps) } else { follow::direct(rule, &steps) };
    if let Err(error) = followed {
        assert!(!error.to_string().is_empty());
    }
});
