//! The window algorithms over time.

use tollgate::{FixedWindow, ManualClock, Outcome, Quota, SlidingCounter, SlidingLog};

use crate::NANOS_PER_S;
use crate::stream::{Stream, on_each_face};

/// 5 per 10 s.
const QUOTA: Quota = Quota::new(5, std::time::Duration::from_secs(10));

fn on_each_window(scenario: impl Fn(&Stream<'_>)) {
    on_each_face(|| FixedWindow::new(QUOTA).clock(ManualClock::new()), &scenario);
    on_each_face(|| SlidingCounter::new(QUOTA).clock(ManualClock::new()), &scenario);
    on_each_face(|| SlidingLog::new(QUOTA).clock(ManualClock::new()), &scenario);
}

#[test]
fn request_each_half_period_passes_for_ever() {
    on_each_window(|stream| {
        for request in 0..10_000 {
            assert!(stream.ask(request * 5 * NANOS_PER_S, 1).is_allowed(), "request {request}");
        }
    });
}

#[test]
fn request_each_half_period_passes_for_ever_once_a_spent_window_has_left() {
    on_each_window(|stream| {
        assert!(stream.ask(0, 5).is_allowed());
        assert_eq!(stream.ask(5 * NANOS_PER_S, 1).outcome(), Outcome::Denied);
        for request in 3..10_000 {
            assert!(stream.ask(request * 5 * NANOS_PER_S, 1).is_allowed(), "request {request}");
        }
    });
}

/// A limiter that counts refused requests would never open again.
#[test]
fn flood_of_refused_requests_does_not_put_off_the_next_grant() {
    on_each_window(|stream| {
        assert!(stream.ask(0, 5).is_allowed());
        for hundredth in 0..1000 {
            let now = hundredth * NANOS_PER_S / 100;
            assert_eq!(stream.ask(now, 1).outcome(), Outcome::Denied, "at {now} ns");
        }
        let wait = stream.ask(10 * NANOS_PER_S - 1, 1).retry_after_nanos().expect("a refusal");
        assert!(wait <= 1 + 2 * NANOS_PER_S, "{wait} ns");
        assert!(stream.ask(10 * NANOS_PER_S - 1 + wait, 1).is_allowed());
    });
}

#[test]
fn wait_for_every_cost_is_enough_and_one_ns_less_is_not() {
    on_each_window(|stream| {
        let mut now = 0;
        for (request, cost) in [1, 2, 3, 4, 5, 3, 1, 5, 2, 4].into_iter().cycle().take(1000).enumerate() {
            let decision = stream.ask(now, cost);
            if decision.is_allowed() {
                now += NANOS_PER_S / 7;
                continue;
            }
            let wait = decision.retry_after_nanos().expect("a refusal");
            assert!(!stream.ask(now + wait - 1, cost).is_allowed(), "request {request}");
            now += wait;
            assert!(stream.ask(now, cost).is_allowed(), "request {request}");
        }
    });
}
