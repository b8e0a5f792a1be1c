//! What is promised of each algorithm when clocks err.

use std::time::Duration;

use oracle::grants;
use tollgate::{FixedWindow, Quota, SlidingCounter, SlidingLog, TokenBucket};

use crate::erring_clock::ErringClock;
use crate::stream::{Stream, on_each_face};

pub(crate) struct Promise<'p> {
    /// The longest wait for one permit of a state that is spent.
    pub(crate) refill: u64,
    /// The most permits for readings from one to another.
    pub(crate) bound: &'p dyn Fn(u64, u64) -> u64,
}

/// Runs the scenario on both faces of all four algorithms, for `limit` permits in `period` ns of the erring clock.
pub(crate) fn on_each_promise(
    limit: u64,
    period: u64,
    scenario: impl Fn(&Stream<'_, ErringClock>, &Promise<'_>),
) {
    let quota = Quota::new(limit, Duration::from_nanos(period));
    let clock = ErringClock::default;
    let [bucket, windows, log]: [&dyn Fn(u64, u64) -> u64; 3] = [
        &grants::bucket(limit, period / limit),
        &grants::windows(limit, period),
        &grants::log(limit, period),
    ];
    let promised = |refill, bound| Promise { refill, bound };
    on_each_face(
        || TokenBucket::new(quota).clock(clock()),
        |stream| scenario(stream, &promised(period / limit, bucket)),
    );
    on_each_face(
        || FixedWindow::new(quota).clock(clock()),
        |stream| scenario(stream, &promised(period, windows)),
    );
    on_each_face(
        || SlidingCounter::new(quota).clock(clock()),
        |stream| scenario(stream, &promised(2 * period, windows)),
    );
    on_each_face(|| SlidingLog::new(quota).clock(clock()), |stream| scenario(stream, &promised(period, log)));
}
