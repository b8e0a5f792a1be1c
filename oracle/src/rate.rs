//! Rates in lowest terms.

use crate::vectors::Rule;

/// A bucket's rate is exact up to this numerator, and rounded above.
const EXACT_MAX: u64 = 16;

/// The fraction in lowest terms; its denominator is not 0.
pub fn reduced(numerator: u64, denominator: u64) -> (u64, u64) {
    let (mut divisor, mut rest) = (denominator, numerator);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (numerator / divisor, denominator / divisor)
}

/// Whether a limiter of this rule rounds the rate. Only buckets do.
pub fn is_rounded(rule: Rule) -> bool {
    matches!(rule, Rule::TokenBucket { limit, period, .. } if reduced(limit, period).0 > EXACT_MAX)
}
