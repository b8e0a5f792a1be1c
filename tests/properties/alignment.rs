//! Fixed windows that start when the user wants: those from the clock's origin, as seen by readings that are ahead.

use std::time::Duration;

use oracle::follow::is_honest;
use oracle::reference::Reference;
use oracle::steps::{Step, Walk};
use oracle::vectors::{Answer, Rule};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::{FixedWindow, Instant, ManualClock, Quota};

use crate::config;
use crate::rules::{exact, magnitude};
use crate::steps::any_order;

fn fixed_window() -> impl Strategy<Value = (u64, u64)> {
    exact().prop_filter_map("only fixed windows are aligned", |rule| match rule {
        Rule::FixedWindow { limit, period } => Some((limit, period)),
        _ => None,
    })
}

/// Windows that start `offset` after the epoch, by a clock whose origin lies `origin` after it.
fn is_shifted(limit: u64, period: u64, origin: u64, offset: u64, steps: &[Step]) -> TestCaseResult {
    let clock = ManualClock::starting_at(Duration::from_nanos(origin));
    let windows = FixedWindow::new(Quota::new(limit, Duration::from_nanos(period)));
    let aligned = windows.aligned_to_utc_plus(Duration::from_nanos(offset)).clock(clock).build();
    // The first window is shorter, so that a few limits are too large for the least time an index has to tell.
    let Ok(aligned) = aligned else { return Ok(()) };
    let shift = (i128::from(origin) - i128::from(offset)).rem_euclid(i128::from(period));
    let shift = u64::try_from(shift).map_err(|error| TestCaseError::fail(error.to_string()))?;

    let rule = Rule::FixedWindow { limit, period };
    let horizon = aligned.horizon().as_nanos();
    let (mut reference, mut walk) = (Reference::new(rule, horizon + shift), Walk::new(rule, horizon));
    for (number, step) in steps.iter().enumerate() {
        let (now, cost) = walk.next(step);
        let decision = aligned.check_at(Instant::from_nanos(now), cost);
        let (answer, expected) = (Answer::from(decision), reference.call(now.saturating_add(shift), cost));
        prop_assert_eq!(answer, expected, "step {}: a call at {} for {}, {} ahead", number, now, cost, shift);
        is_honest(decision, now, |at| aligned.peek_at(Instant::from_nanos(at), cost));
        walk.answered(answer);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn a_fixed_window_that_is_aligned_is_one_from_the_origin_shifted(
        (limit, period) in fixed_window(),
        origin in magnitude(),
        offset in magnitude(),
        steps in any_order(),
    ) {
        is_shifted(limit, period, origin, offset, &steps)?;
    }
}
