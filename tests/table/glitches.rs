//! Slots of states that a clock that erred has left in the future.

use std::time::Duration;

use oracle::SLACK;
use oracle::reference::Reference;
use oracle::vectors::{Answer, Rule};
use tollgate::{
    Algorithm, Builder, Clock, FixedWindow, Instant, ManualClock, Outcome, Quota, SlidingCounter, SlidingLog,
    TokenBucket,
};

use crate::stale::{rules, stale_at};

const NANOS_PER_S: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * NANOS_PER_S;
const LIMIT: u64 = 10;
const PERIOD: u64 = 7 * NANOS_PER_S;
const NOW: u64 = 1_000_123_456_789;

/// Four slots are charged an hour ahead, and a period later, so that a counter has recorded a window there. Healed
/// they count as spent as of the slack from now, and as nothing else.
fn glitch<A: Algorithm>(builder: &Builder<A, ManualClock>, rule: Rule, is_silent: bool) {
    let clock = ManualClock::new();
    let table = builder.clone().clock(clock.clone()).keyed::<u64>(1).build().expect("a limiter");
    for ahead in [NOW + HOUR, NOW + HOUR + PERIOD] {
        clock.set(Instant::from_nanos(ahead));
        assert!((0..4).all(|key| table.check(&key).is_allowed()));
    }

    clock.set(Instant::from_nanos(NOW));
    let mut healed = Reference::new(rule, table.horizon().as_nanos());
    assert_eq!(healed.call(NOW + SLACK, LIMIT).outcome, Outcome::Allowed);
    let at = stale_at(&healed, table.horizon().as_nanos()).expect("it refills");
    if !is_silent {
        for key in 0..4 {
            assert_eq!(Answer::from(table.check(&key)), healed.call(NOW, 1), "key {key}");
        }
    }
    // Heals what is silent.
    assert!(table.check(&100).overflowed());
    for (newcomer, now) in [(101, NOW), (102, NOW + SLACK), (103, at - 1)] {
        clock.set(Instant::from_nanos(now));
        let decision = table.check(&newcomer);
        assert!(decision.overflowed(), "at {now}: {decision:?}");
        assert_eq!(decision.retry_after_nanos(), Some(at - now), "at {now}");
    }
    clock.set(Instant::from_nanos(at));
    assert_eq!(table.live(clock.now()), 0);
    assert!((200..204).all(|newcomer| table.check_n(&newcomer, LIMIT).is_allowed()));
    assert!(table.check(&300).overflowed());
    assert_eq!(table.stats().recycled, 4);
}

#[test]
fn healed_state_gives_its_slot_up_at_the_ns_at_which_it_is_stale() {
    let quota = Quota::new(LIMIT, Duration::from_nanos(PERIOD));
    let [bucket, window, counter, log] = rules(LIMIT, PERIOD);
    for is_silent in [false, true] {
        glitch(&TokenBucket::new(quota).clock(ManualClock::new()), bucket, is_silent);
        glitch(&FixedWindow::new(quota).clock(ManualClock::new()), window, is_silent);
        glitch(&SlidingCounter::new(quota).clock(ManualClock::new()), counter, is_silent);
        glitch(&SlidingLog::new(quota).clock(ManualClock::new()), log, is_silent);
    }
}
