//! How to test code that limits, without waiting: the code is generic over the clock, and the test brings one that
//! moves when told.
#![expect(clippy::print_stdout, reason = "it shows that the test has passed")]

use std::time::Duration;

use tollgate::{BuildError, Clock, Keyed, ManualClock, QuantaClock, Quota, SlidingLog};

/// Locks an account after five failed logins in any ten minutes.
struct LoginGuard<C = QuantaClock> {
    failures: Keyed<SlidingLog, str, C>,
}

impl LoginGuard {
    fn new() -> Result<Self, BuildError> {
        Self::with_clock(QuantaClock::new())
    }
}

impl<C: Clock> LoginGuard<C> {
    fn with_clock(clock: C) -> Result<Self, BuildError> {
        let quota = Quota::new(5, Duration::from_secs(600));
        Ok(Self { failures: SlidingLog::new(quota).clock(clock).keyed(10_000).build()? })
    }

    fn is_locked(&self, account: &str) -> bool {
        !self.failures.peek(account, 1).is_allowed()
    }

    fn record_failure(&self, account: &str) {
        // Refused once the account is locked, so that further attempts do not keep it locked.
        let _ = self.failures.check(account);
    }
}

/// A `#[test]` in a real project.
fn account_is_locked_for_ten_minutes_after_five_failures() -> Result<(), BuildError> {
    let clock = ManualClock::new();
    let guard = LoginGuard::with_clock(clock.clone())?;
    for failure in 0..5 {
        assert!(!guard.is_locked("alice"), "after {failure} failures");
        guard.record_failure("alice");
    }
    assert!(guard.is_locked("alice"));
    assert!(!guard.is_locked("bob"));

    clock.advance(Duration::from_secs(600) - Duration::from_nanos(1));
    assert!(guard.is_locked("alice"));
    clock.advance(Duration::from_nanos(1));
    assert!(!guard.is_locked("alice"));
    Ok(())
}

fn main() -> Result<(), BuildError> {
    let guard = LoginGuard::new()?;
    assert!(!guard.is_locked("alice"));
    account_is_locked_for_ten_minutes_after_five_failures()?;
    println!("the account was locked and unlocked in no time");
    Ok(())
}
