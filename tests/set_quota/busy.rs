//! Changes that come too soon after others.

use tollgate::{Adjustable, FixedWindow, ManualClock, SetQuotaError};

use crate::{SECOND, at, quota};

#[test]
fn fifth_change_within_ten_seconds_is_refused() {
    let window = |limit| FixedWindow::new(quota(limit, 1000 * SECOND));
    let limiter = Adjustable::new(window(1))
        .max_limit(100)
        .clock(ManualClock::new())
        .build()
        .expect("a quota that fits");
    for (change, now) in [0, 1, 2, 3].into_iter().enumerate() {
        assert_eq!(limiter.set_quota_at(at(now * SECOND), &window(10 + change as u64)), Ok(()));
    }
    for (now, changed) in [
        (10 * SECOND - 1, Err(SetQuotaError::Busy)),
        (10 * SECOND, Ok(())),
        (11 * SECOND - 1, Err(SetQuotaError::Busy)),
        (11 * SECOND, Ok(())),
        (100 * SECOND, Ok(())),
    ] {
        let before = limiter.peek_at(at(now), 0).limit();
        let limit = 20 + now / SECOND;
        assert_eq!(limiter.set_quota_at(at(now), &window(limit % 90)), changed, "at {now}");
        let expected = if changed.is_ok() { limit % 90 } else { before };
        assert_eq!(limiter.peek_at(at(now), 0).limit(), expected);
    }
}
