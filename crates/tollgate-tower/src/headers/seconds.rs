//! Whole seconds: waits are rounded up, so that whoever waits that long has waited long enough.

use std::time::Duration;

/// A time in whole seconds, rounded up: 2 s are 2, and 1 ns more is 3.
pub(super) fn rounded_up(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0))
}

/// A refused client's wait in whole seconds: rounded up, and never 0, which would say "at once".
pub(super) fn wait(time: Duration) -> u64 {
    rounded_up(time).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_rounded_up_without_one_more_on_whole_seconds_and_never_to_zero() {
        let millis = [0, 1, 400, 1000, 1001, 2000, 2001].map(Duration::from_millis);
        assert_eq!(millis.map(rounded_up), [0, 1, 1, 1, 2, 2, 3]);
        assert_eq!(millis.map(wait), [1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(rounded_up(Duration::new(5, 1)), 6);
        assert_eq!(rounded_up(Duration::MAX), u64::MAX);
    }
}
