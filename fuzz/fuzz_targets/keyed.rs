//! Keyed limiters of any rule, whose slots change hands, against the reference.

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
    /// The key of the hasher: where keys lie.
    hasher: [u64; 2],
    steps: Vec<Step>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let rule = bytes.arbitrary()?;
        // One byte chooses as good a hasher as sixteen would.
        let hasher = [bytes.arbitrary::<u8>()?.into(), 0];
        let mut steps = from_bytes::steps(bytes)?;
        if is_rounded(rule) {
            // Only as long as readings do not go back are a direct limiter and a key the same.
            steps.retain(|step| !step.may_go_back());
        }
        Ok(Self { rule, hasher, steps })
    }
}

fuzz_target!(|input: Input| {
    let Input { rule, hasher, steps } = input;
    let followed = if is_rounded(rule) {
        follow::alike(rule, &steps, hasher)
    } else {
        follow::keyed(rule, &steps, hasher)
    };
    if let Err(error) = followed {
        assert!(!error.to_string().is_empty());
    }
});
