//! A limiter that was restored decides as one that was never stopped.

use core::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    AnyAlgorithm, AnyKeyed, Clock, Decision, FixedWindow, Instant, ManualClock, Outcome, Quota,
    SlidingCounter, SlidingLog, TokenBucket,
};

use crate::cases::config;
use crate::{SECOND, builder, clock, nanos, saved};

const KEYS: u64 = 3;

/// A call, so long after the one before.
#[derive(Debug, Clone, Copy)]
struct Step {
    after: u64,
    key: u64,
    cost: u64,
}

/// Of periods near 1000 ns, so that times of that size matter.
fn algorithm() -> impl Strategy<Value = AnyAlgorithm> {
    let quota = (0..12_u64, 1..2000_u64).prop_map(|(limit, period)| Quota::new(limit, nanos(period)));
    (quota, 0..4_u8, 1..20_u64, 0..3000_u64).prop_map(|(quota, kind, burst, other)| match kind {
        0 => TokenBucket::new(quota).burst(burst).max_wait(nanos(other)).into(),
        1 => FixedWindow::new(quota).into(),
        2 => SlidingCounter::new(quota).into(),
        _ => SlidingLog::new(quota).into(),
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let after = prop_oneof![3 => Just(0), 3 => 0..300_u64, 1 => 0..5000_u64];
    vec((after, 0..KEYS, 0..8_u64).prop_map(|(after, key, cost)| Step { after, key, cost }), 0..30)
}

/// What a decision tells, all of it.
fn told(decision: Decision) -> (Outcome, Option<u64>, Option<u64>, Option<u64>) {
    let waits = (decision.retry_after_nanos(), decision.reset_after_nanos());
    (decision.outcome(), decision.remaining(), waits.0, waits.1)
}

type Limiter = AnyKeyed<u64, ManualClock>;

fn ask(limiter: &Limiter, Step { after, key, cost }: Step) -> Decision {
    limiter.clock().advance(nanos(after));
    limiter.check_n(&key, cost)
}

/// Asks both for everything at once; `apart` is how far the readings of the second are from those of the first.
fn assert_alike(first: &Limiter, second: &Limiter, steps: &[Step]) -> Result<(), TestCaseError> {
    for step in steps {
        prop_assert_eq!(told(ask(first, *step)), told(ask(second, *step)), "{:?}", step);
        for key in 0..KEYS {
            prop_assert_eq!(told(first.peek(&key, 1)), told(second.peek(&key, 1)), "key {}", key);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn restored_limiter_decides_as_one_that_was_never_stopped(
        algorithm in algorithm(),
        (before, after) in (steps(), steps()),
        (first_origin, first_reading) in (10 * SECOND..20 * SECOND, 0..20_000_u64),
        (down, reading) in (prop_oneof![0..3000_u64, 0..2 * SECOND], prop_oneof![0..100_u64, 0..2 * SECOND]),
        again in any::<bool>(),
    ) {
        let limiter = builder(algorithm.clone(), &clock(first_origin, first_reading)).build();
        prop_assume!(limiter.is_ok());
        let never_stopped = limiter.expect("a limiter");
        for step in before {
            let _ = ask(&never_stopped, step);
        }
        let mut file = saved(&never_stopped);
        if again {
            // At once, by a process whose clock has another origin.
            let wall = first_origin + never_stopped.now().as_nanos();
            let between = builder(algorithm.clone(), &clock(wall - 77, 77)).restore(&mut file.as_slice());
            file = saved(&between.expect("a snapshot that fits"));
        }
        never_stopped.clock().advance(nanos(down));
        let wall = first_origin + never_stopped.now().as_nanos();
        let restored = builder(algorithm, &clock(wall - reading, reading)).restore(&mut file.as_slice());
        assert_alike(&never_stopped, &restored.expect("a snapshot that fits"), &after)?;
    }

    /// As if no time had passed.
    #[test]
    fn wall_clock_that_went_back_forgives_nothing(
        algorithm in algorithm(),
        (before, after) in (steps(), steps()),
        reading in prop_oneof![0..100_u64, 0..2 * SECOND],
        back in 1..SECOND,
    ) {
        let limiter = builder(algorithm.clone(), &clock(10 * SECOND, 0)).build();
        prop_assume!(limiter.is_ok());
        let never_stopped = limiter.expect("a limiter");
        for step in before {
            let _ = ask(&never_stopped, step);
        }
        let file = saved(&never_stopped);
        let wall = 10 * SECOND + never_stopped.now().as_nanos() - back;
        let restored = builder(algorithm, &clock(wall - reading, reading)).restore(&mut file.as_slice());
        assert_alike(&never_stopped, &restored.expect("a snapshot that fits"), &after)?;
    }

    /// An eighth of a ns late at most, which the wait shows in whole ns.
    #[test]
    fn rounded_bucket_is_at_most_a_unit_late(
        (limit, period) in (17..100_000_u64, 1..100_000_u64),
        (burst, spent) in (1..1000_u64).prop_flat_map(|burst| (Just(burst), 1..=burst)),
        (down, reading) in (0..3000_u64, 0..2 * SECOND),
    ) {
        let algorithm: AnyAlgorithm = TokenBucket::new(Quota::new(limit, nanos(period))).burst(burst).into();
        let limiter = builder(algorithm.clone(), &clock(10 * SECOND, 1234)).build();
        prop_assume!(limiter.is_ok());
        let never_stopped = limiter.expect("a limiter");
        prop_assert!(never_stopped.check_n(&0, spent).is_allowed());
        let file = saved(&never_stopped);
        never_stopped.clock().advance(nanos(down));
        let wall = 10 * SECOND + never_stopped.now().as_nanos();
        let restored = builder(algorithm, &clock(wall - reading, reading)).restore(&mut file.as_slice());
        let restored = restored.expect("a snapshot that fits");
        let whole = |limiter: &Limiter| limiter.peek(&0, 0).reset_after_nanos().expect("a rate");
        prop_assert!((0..=1).contains(&(whole(&restored) - whole(&never_stopped))));
        let remaining = |limiter: &Limiter| limiter.peek(&0, 0).remaining().expect("told");
        prop_assert!(remaining(&restored) <= remaining(&never_stopped));
    }
}

/// An hour's windows in UTC, of which `second` is in one; used up, saved, and restored when the wall clock has moved by
/// `moved` ns.
fn restored_in_utc(second: u64, moved: i64) -> AnyKeyed<u64, ManualClock> {
    let algorithm: AnyAlgorithm = FixedWindow::new(Quota::per_hour(2)).aligned_to_utc().into();
    let first = builder(algorithm.clone(), &clock(second * SECOND, 0)).build().expect("a limiter");
    assert!(first.check_n(&0, 2).is_allowed());
    let file = saved(&first);
    let origin = (second * SECOND).saturating_add_signed(moved);
    builder(algorithm, &clock(origin, 0)).restore(&mut file.as_slice()).expect("a snapshot that fits")
}

#[test]
fn windows_aligned_to_utc_stay_the_wall_clocks() {
    let hour = i64::try_from(3600 * SECOND).expect("an hour fits");
    for second in [3600, 3601, 5000, 7199] {
        let ends = (7200 - second) * SECOND;
        let left = i64::try_from(ends).expect("less than an hour");
        let restored = restored_in_utc(second, 0);
        assert_eq!(restored.check(&0).retry_after_nanos(), Some(ends), "{second}");
        let restored = restored_in_utc(second, left - 1);
        assert_eq!(restored.check(&0).retry_after_nanos(), Some(1), "{second}");
        for moved in [left, left + 1, left + hour - 1] {
            let restored = restored_in_utc(second, moved);
            assert!(restored.check_n(&0, 2).is_allowed(), "{second}");
            let wait = 3600 * SECOND - (moved - left).unsigned_abs();
            assert_eq!(restored.check(&0).retry_after_nanos(), Some(wait), "{second}");
        }
    }
}

/// A clock that runs a little off the wall clock: both are set by hand.
#[derive(Debug, Clone)]
struct Drifting {
    clock: ManualClock,
    wall: ManualClock,
}

impl Clock for Drifting {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn origin_since_unix_epoch(&self) -> Duration {
        nanos(self.wall.now().as_nanos() - self.clock.now().as_nanos())
    }
}

#[test]
fn what_was_used_in_a_window_aligned_to_utc_counts_in_that_window_though_clocks_drift() {
    for (passed, drift) in [(0, 0), (10, 1), (10, -1), (3000, 200), (3000, -200)] {
        let drifting = Drifting { clock: clock(0, 0), wall: clock(0, 3600 * SECOND) };
        let windows = FixedWindow::new(Quota::per_hour(2)).aligned_to_utc();
        let builder = |clock| windows.clone().clock(clock).keyed::<u64>(100);
        let first = builder(drifting.clone()).build().expect("a limiter");
        assert!(first.check_n(&0, 2).is_allowed());
        drifting.clock.advance(nanos(passed * SECOND));
        let wall = 3600 + passed.saturating_add_signed(drift);
        drifting.wall.set(Instant::from_nanos(wall * SECOND));
        let mut file = Vec::new();
        assert_eq!(first.snapshot(&mut file).expect("a vector takes everything"), 1);
        // The windows of the one that goes on are the wall clock's.
        let restored = builder(Drifting { clock: clock(0, 0), wall: clock(0, wall * SECOND) });
        let restored = restored.restore(&mut file.as_slice()).expect("a snapshot that fits");
        assert_eq!(restored.check(&0).retry_after_nanos(), Some((7200 - wall) * SECOND), "{passed}, {drift}");
    }
}

#[test]
fn what_was_used_in_a_window_aligned_to_utc_counts_in_the_window_of_now_if_the_wall_clock_went_back() {
    let hour = 3600 * i64::try_from(SECOND).expect("a second fits");
    for back in [1, 1000, hour / 2, hour, 5 * hour] {
        let second = 36_000;
        let restored = restored_in_utc(second, -back);
        let wall = (second * SECOND).saturating_add_signed(-back);
        let ends = wall.next_multiple_of(3600 * SECOND) - wall;
        let ends = if ends == 0 { 3600 * SECOND } else { ends };
        assert_eq!(restored.check(&0).retry_after_nanos(), Some(ends), "{back}");
    }
}

#[test]
fn keys_without_a_state_are_as_of_the_restoring() {
    let algorithm: AnyAlgorithm = SlidingLog::new(Quota::per_second(2)).into();
    let clock = clock(0, 5 * SECOND);
    let first = builder(algorithm.clone(), &clock).build().expect("a limiter");
    assert!(first.check_n(&0, 2).is_allowed());
    clock.advance(nanos(SECOND));
    // As good as new, and so not in it.
    let file = saved(&first);
    let restored = builder(algorithm, &clock).restore(&mut file.as_slice()).expect("a snapshot that fits");
    assert_eq!(restored.stats().inserted, 0);
    // Whoever read the clock before must not be granted again what was granted then.
    assert!(restored.check_at(&0, Instant::from_nanos(5 * SECOND), 2).is_allowed());
    assert_eq!(restored.check_at(&0, Instant::from_nanos(7 * SECOND - 1), 1).outcome(), Outcome::Denied);
}

#[test]
fn what_is_as_good_as_new_by_then_takes_no_slot() {
    let quota = Quota::per_second(2);
    for (algorithm, periods) in [
        (AnyAlgorithm::from(TokenBucket::new(quota)), 1),
        (FixedWindow::new(quota).into(), 1),
        (SlidingCounter::new(quota).into(), 2),
        (SlidingLog::new(quota).into(), 1),
    ] {
        let first = builder(algorithm.clone(), &clock(100 * SECOND, 0)).build().expect("a limiter");
        assert!(first.check_n(&0, 2).is_allowed());
        let file = saved(&first);
        for (down, inserted) in [(periods * SECOND - 1, 1), (periods * SECOND + 1, 0), (u64::MAX / 2, 0)] {
            let restored = builder(algorithm.clone(), &clock(100 * SECOND + down, 0));
            let restored = restored.restore(&mut file.as_slice()).expect("a snapshot that fits");
            assert_eq!(restored.stats().inserted, inserted, "{algorithm} after {down} ns");
        }
    }
}

#[test]
fn restoring_again_and_again_uses_no_time_up() {
    for algorithm in [
        AnyAlgorithm::from(TokenBucket::new(Quota::per_minute(2))),
        FixedWindow::new(Quota::per_minute(2)).into(),
        SlidingCounter::new(Quota::per_minute(2)).into(),
        SlidingLog::new(Quota::per_minute(2)).into(),
    ] {
        let mut wall = 40 * 365 * 86_400 * SECOND;
        let mut limiter = builder(algorithm.clone(), &clock(wall, 0)).build().expect("a limiter");
        let horizon = limiter.horizon();
        for _ in 0..100 {
            assert!(limiter.check(&0).is_allowed());
            limiter.clock().advance(nanos(3600 * SECOND));
            let file = saved(&limiter);
            wall += 365 * 86_400 * SECOND;
            limiter =
                builder(algorithm.clone(), &clock(wall, 0)).restore(&mut file.as_slice()).expect("fits");
        }
        let lost = horizon.as_nanos() - limiter.horizon().as_nanos();
        assert!(lost <= 60 * SECOND, "{algorithm}: {lost} ns");
    }
}
