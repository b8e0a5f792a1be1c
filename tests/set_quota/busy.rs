//! Changes that come too soon after others.

use tollgate::{Adjustable, FixedWindow, ManualClock, SetQuotaError};

use crate::{SECOND, at, quota};

#[test]
fn change_within_ten_seconds_of_the_last_is_refused_and_changes_nothing() {
    let window = |limit| FixedWindow::new(quota(limit, 1000 * SECOND));
    let builder = Adjustable::new(window(1)).max_limit(100).clock(ManualClock::new());
    let limiter = builder.build().expect("a quota that fits");
    let mut in_force = 1;
    for (limit, now, changed) in [
        (2, 0, Ok(())),
        (3, 10 * SECOND - 1, Err(SetQuotaError::Busy)),
        (4, 10 * SECOND, Ok(())),
        (5, 20 * SECOND - 1, Err(SetQuotaError::Busy)),
        // A reading that went back is as close.
        (6, 5 * SECOND, Err(SetQuotaError::Busy)),
        (7, 100 * SECOND, Ok(())),
    ] {
        assert_eq!(limiter.set_quota_at(at(now), &window(limit)), changed, "at {now}");
        in_force = if changed.is_ok() { limit } else { in_force };
        assert_eq!(limiter.peek_at(at(now), 0).limit(), in_force);
    }
}
