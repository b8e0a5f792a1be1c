//! A wait that is promised is enough, and none of it is too much.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::{Decision, Outcome};

/// After a refusal at `now`: the same call alone, by peeks, `retry_after` later and 1 ns before.
pub(crate) fn is_honest(refusal: Decision, now: u64, peek_at: impl Fn(u64) -> Decision) -> TestCaseResult {
    let Some(wait) = refusal.retry_after_nanos() else { return Ok(()) };
    prop_assert!(wait > 0, "refused, with nothing to wait for");
    let Some(at) = now.checked_add(wait) else {
        return Err(TestCaseError::fail("a wait past the last reading"));
    };
    prop_assert_eq!(peek_at(at).outcome(), Outcome::Allowed, "refused after the wait of {}", wait);
    prop_assert_eq!(peek_at(at - 1).outcome(), Outcome::Denied, "allowed 1 ns before the wait of {}", wait);
    Ok(())
}
