//! A wait that is promised is enough, and none of it is too much.

use tollgate::{Decision, Outcome};

/// After a refusal at `now`: the same call alone, by peeks, `retry_after` later and 1 ns before.
pub fn is_honest(refusal: Decision, now: u64, peek_at: impl Fn(u64) -> Decision) {
    let Some(wait) = refusal.retry_after_nanos() else { return };
    assert!(wait > 0, "refused at {now}, with nothing to wait for");
    let at = now.checked_add(wait).expect("a wait until a reading that there is");
    assert_eq!(peek_at(at).outcome(), Outcome::Allowed, "refused at {now}, and after the wait of {wait}");
    assert_eq!(
        peek_at(at - 1).outcome(),
        Outcome::Denied,
        "at {now}, allowed 1 ns before the wait of {wait}"
    );
}
