//! A bucket, saved: when it will be full again, in units. As exact as its rate; where that is rounded, at most one unit
//! late.

use super::{FRACTION_BITS, TokenBucketPolicy};
use crate::algorithm::saved::{Damaged, Portable, Resumption};
use crate::algorithm::state::{Retry, State};
use crate::algorithm::word::{VALUE_MAX, Word};

/// Further than any bucket that is not full can be moved, and no product overflows.
const STEP_MAX: i128 = 1 << 62;

impl TokenBucketPolicy {
    /// The units of so many ns, rounded up.
    fn units_of(&self, nanos: i128) -> i128 {
        let product = nanos.clamp(-STEP_MAX, STEP_MAX) * i128::from(self.rate);
        -(-product >> FRACTION_BITS)
    }
}

impl Portable for TokenBucketPolicy {
    fn save(&self, _state: State<'_>, word: Word, saved: &mut Vec<u64>) -> Result<(), Retry> {
        saved.push(self.full_at(word));
        Ok(())
    }

    fn resume(
        &self,
        saved: &mut impl Iterator<Item = u64>,
        at: &Resumption,
        resumed: &mut Vec<u64>,
    ) -> Result<bool, Damaged> {
        let full_at = saved.next().filter(|full_at| *full_at <= VALUE_MAX).ok_or(Damaged)?;
        let full_at = i128::from(full_at) + self.units_of(at.step(0));
        if full_at < i128::from(self.units(at.now())) {
            return Ok(false);
        }
        // Past the end of time a bucket stays as it is.
        resumed.push(u64::try_from(full_at).unwrap_or(VALUE_MAX).min(VALUE_MAX));
        Ok(true)
    }

    fn put(&self, _state: State<'_>, resumed: &[u64]) -> u64 {
        resumed.first().copied().unwrap_or(0)
    }
}
