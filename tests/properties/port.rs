//! The reference itself, against the vectors.

use oracle::reference::Reference;
use oracle::vectors;

#[test]
fn the_reference_passes_every_vector() -> Result<(), vectors::ParseError> {
    for vector in vectors::parse(include_str!("../vectors/reference.txt"))? {
        let mut reference = Reference::new(vector.rule, u64::MAX);
        for (number, call) in vector.calls.iter().enumerate() {
            let answer = reference.call(call.at, call.cost);
            assert_eq!(answer, call.answer, "{}, call {number}", vector.name);
        }
    }
    Ok(())
}
