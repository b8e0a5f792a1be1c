//! What the two algorithms on fixed windows share: where windows lie, and `[index | count]` in one value.
//!
//! ```text
//!   60              w  w-1                                0
//!  +-----------------+-------------------------------------+
//!  |  window index   |  permits granted in that window     |
//!  +-----------------+-------------------------------------+
//! ```
//!
//! The width `w` of the count is chosen at build: just enough bits for the limit; the rest is the index. Window `k`
//! is `[k * period, (k + 1) * period)` and has index `k + 1`, so that 0 is a window that never was. With the index in
//! the high bits values compare by (index, count).

use crate::algorithm::SLACK_NANOS;
use crate::algorithm::word::{TIME_MAX, VALUE_BITS, Word};
use crate::error::BuildError;
use crate::quota::Quota;

/// An index may not wrap within 30 years of 365 days.
const HORIZON_MIN_NANOS: u64 = 30 * 365 * 24 * 3600 * 1_000_000_000;

/// A value, unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) index: u64,
    pub(crate) count: u64,
}

/// Where windows lie and how a value is packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    pub(crate) limit: u64,
    pub(crate) period: u64,
    count_bits: u32,
}

impl Windows {
    /// Windows of the quota's period in a time that is `shift` ns, less than a period, ahead of the clock's. Values have
    /// room for `limit_max` permits, at least the limit.
    pub(crate) fn new(quota: Quota, limit_max: u64, shift: u64) -> Result<Self, BuildError> {
        let (limit, period) = (quota.limit(), quota.period_nanos()?);
        let windows = (u128::from(HORIZON_MIN_NANOS) + u128::from(shift)).div_ceil(u128::from(period)) + 1;
        let index_bits = u128::BITS - windows.leading_zeros();
        let count_bits = (u64::BITS - limit_max.leading_zeros()).max(1);
        let room = VALUE_BITS.saturating_sub(index_bits);
        if count_bits > room {
            return Err(BuildError::LimitTooLarge { limit: limit_max, max: (1 << room) - 1 });
        }
        Ok(Self { limit, period, count_bits })
    }

    /// All of it: the inverse of [`from_numbers`](Self::from_numbers).
    pub(crate) fn numbers(self) -> [u64; 3] {
        [self.limit, self.period, self.count_bits.into()]
    }

    #[expect(clippy::cast_possible_truncation, reason = "it was 32 bits wide")]
    pub(crate) fn from_numbers([limit, period, count_bits]: [u64; 3]) -> Self {
        Self { limit, period, count_bits: count_bits as u32 }
    }

    #[inline]
    pub(crate) fn pack(self, window: Window) -> u64 {
        window.index << self.count_bits | window.count
    }

    #[inline]
    pub(crate) fn unpack(self, value: u64) -> Window {
        Window { index: value >> self.count_bits, count: value & ((1 << self.count_bits) - 1) }
    }

    /// How many permits are left of the limit, which may have been higher when some were granted.
    #[inline]
    pub(crate) fn left(self, window: Window) -> u64 {
        self.limit.saturating_sub(window.count)
    }

    /// The last time that an index can tell; time stands still there.
    pub(crate) fn end_of_time(self) -> u64 {
        let index_max = (1_u128 << (VALUE_BITS - self.count_bits)) - 1;
        u64::try_from(index_max * u128::from(self.period) - 1).unwrap_or(u64::MAX)
    }

    /// The index of the window that `now` lies in.
    pub(crate) fn index(self, now: u64) -> u64 {
        // A period is at least 1 ns; `max` says so to the compiler, which else checks.
        now.min(self.end_of_time()) / self.period.max(1) + 1
    }

    /// The later of `index` and the index at `now`. Divides only when the window has passed.
    #[inline]
    pub(crate) fn latest(self, index: u64, now: u64) -> u64 {
        if now.saturating_sub(self.start(index)) < self.period { index } else { self.index(now) }
    }

    /// The time at which the window starts, for the index of a time.
    #[inline]
    pub(crate) fn start(self, index: u64) -> u64 {
        index.saturating_sub(1) * self.period
    }

    /// How much of the window has passed at `now`; 0 before it starts. Time stands still at the end of the last one.
    #[inline]
    pub(crate) fn elapsed(self, index: u64, now: u64) -> u64 {
        now.saturating_sub(self.start(index)).min(self.period - 1)
    }

    /// Whether the window starts after `now` by more than the slack.
    #[inline]
    pub(crate) fn is_ahead(self, index: u64, now: u64) -> bool {
        self.start(index).saturating_sub(now) > SLACK_NANOS
    }

    /// The value at the edge of being ahead, spent.
    pub(crate) fn edge(self, now: u64) -> u64 {
        let index = self.index(now.saturating_add(SLACK_NANOS));
        self.pack(Window { index, count: self.limit })
    }

    /// A window without so many permits, which come back while it has not passed at `now`: see `Refund::undone`.
    pub(crate) fn undone(self, value: u64, now: u64, permits: u64) -> (u64, Word) {
        let Window { index, count } = self.unpack(value);
        let less = self.pack(Window { index, count: count.saturating_sub(permits) });
        (if self.latest(index, now) == index { permits } else { 0 }, Word::live(less))
    }

    /// The value of an unused window: that of `now`, or the one recorded if that is later.
    pub(crate) fn fresh(self, recorded: Window, now: u64) -> u64 {
        self.pack(Window { index: self.latest(recorded.index, now), count: 0 })
    }

    /// At most `permits` given back while the window has not passed at `now`: see `Refund::refunded`.
    pub(crate) fn refunded(self, window: Window, now: u64, permits: u64) -> Option<(u64, Word)> {
        let given = permits.min(window.count);
        if given == 0 || self.latest(window.index, now) != window.index {
            return None;
        }
        Some((given, Word::live(self.pack(Window { count: window.count - given, ..window }))))
    }

    /// The time at which `periods` have passed since the window started.
    pub(crate) fn after(self, index: u64, periods: u64) -> u128 {
        u128::from(self.start(index)) + u128::from(periods) * u128::from(self.period)
    }

    /// The reading at `time`, if a word can tell it; `shift` is how far this time is ahead of readings.
    pub(crate) fn reading(self, time: u128, shift: u64) -> Option<u64> {
        let time = u64::try_from(time).ok().filter(|time| *time <= self.end_of_time())?;
        Some(time.saturating_sub(shift)).filter(|reading| *reading <= TIME_MAX)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn windows(limit: u64, period: u64) -> Windows {
        Windows::new(Quota::new(limit, Duration::from_nanos(period)), limit, 0).expect("a quota that fits")
    }

    #[test]
    fn a_value_packed_is_unpacked_as_it_was() {
        for (limit, period) in [(0, 1), (1, 1), (1_000, 1_000), (1 << 30, 1_000_000_000)] {
            let windows = windows(limit, period);
            for index in [0, 1, 77, windows.index(u64::MAX)] {
                for count in [0, limit / 2, limit] {
                    let window = Window { index, count };
                    assert_eq!(windows.unpack(windows.pack(window)), window);
                    assert!(windows.pack(window) <= crate::algorithm::word::VALUE_MAX);
                }
            }
        }
    }

    #[test]
    fn values_compare_by_index_before_count() {
        let windows = windows(1_000, 1_000);
        let (earlier, later) = (Window { index: 7, count: 1_000 }, Window { index: 8, count: 0 });
        assert!(windows.pack(earlier) < windows.pack(later));
    }

    #[test]
    fn a_window_begins_at_its_start_and_ends_before_the_next() {
        let windows = windows(5, 100);
        assert_eq!((windows.index(0), windows.index(99), windows.index(100)), (1, 1, 2));
        assert_eq!((windows.start(1), windows.start(2)), (0, 100));
        assert_eq!((windows.latest(1, 99), windows.latest(1, 100), windows.latest(3, 100)), (1, 2, 3));
    }

    #[test]
    fn time_stands_still_at_the_end_of_the_last_window() {
        let windows = windows(1, u64::MAX / 3);
        let last = windows.index(u64::MAX);
        assert_eq!(windows.latest(last, u64::MAX), last);
        assert!(windows.elapsed(last, u64::MAX) < windows.period);
        let windows = self::windows(1 << 30, 1_000_000_000);
        assert_eq!(windows.elapsed(windows.index(TIME_MAX), TIME_MAX), windows.period - 1);
    }

    #[test]
    fn a_limit_that_leaves_the_index_less_than_30_years_is_refused_with_the_bound() {
        let build = |limit| Windows::new(Quota::per_second(limit), limit, 0);
        let Err(BuildError::LimitTooLarge { max, .. }) = build(u64::MAX) else { panic!("refused") };
        // 30 years of seconds, and one, take 30 bits of 61.
        assert_eq!(max, (1 << 31) - 1);
        assert!(build(max).is_ok());
        assert_eq!(build(max + 1).err(), Some(BuildError::LimitTooLarge { limit: max + 1, max }));
        assert!(build(max).is_ok_and(|windows| windows.end_of_time() >= HORIZON_MIN_NANOS));
    }
}
