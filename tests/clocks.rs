//! The clocks, and windows aligned to the wall clock. (The coarse clock is in test binaries of its own: what it reads
//! belongs to the process.)

#[path = "support/stream.rs"]
#[expect(dead_code, reason = "clocks are the same for all algorithms")]
mod stream;

use std::error::Error;
use std::io;
use std::thread;
use std::time::{Duration, SystemTime};

use tollgate::{
    Clock, CoarseClockError, FixedWindow, Instant, ManualClock, QuantaClock, Quota, StdClock, TokenBucket,
};

use stream::on_each_face;

const LAST: Instant = Instant::from_nanos(u64::MAX);

/// What holds of any clock of the machine.
fn assert_real<C: Clock>(new: impl Fn() -> C) {
    let clock = new();
    let mut last = clock.now();
    for reading in 0..10_000 {
        let now = if reading % 2 == 0 { clock.now() } else { new().now() };
        // The thread may change cores, and the counters of two cores may differ a little.
        assert!(now + Duration::from_millis(1) >= last, "{now:?} after {last:?}");
        last = now;
    }
    thread::sleep(Duration::from_millis(20));
    let slept = clock.now().saturating_duration_since(last);
    // Less than was slept, by what two clocks of a machine may drift apart.
    assert!(slept >= Duration::from_millis(19), "{slept:?}");

    let wall = SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970");
    let told = clock.origin_since_unix_epoch() + Duration::from_nanos(clock.now().as_nanos());
    assert!(told.abs_diff(wall) < Duration::from_secs(60), "{told:?} is not {wall:?}");
}

#[test]
fn quanta_clock_moves_on_from_an_origin_that_all_share() {
    assert_real(QuantaClock::new);
}

#[test]
fn std_clock_moves_on_from_an_origin_that_all_share() {
    assert_real(StdClock::new);
}

#[test]
fn default_clock_gives_readings_that_limiters_share() {
    let first = TokenBucket::new(Quota::per_hour(1)).build().expect("a limiter");
    let second = TokenBucket::new(Quota::per_hour(1)).build().expect("a limiter");
    let now = first.clock().now();
    assert!(first.check_at(now, 1).is_allowed());
    assert!(second.check_at(now, 1).is_allowed());
    assert!(second.clock().now() >= now);
}

#[test]
fn manual_clock_stands_still_until_it_is_moved() {
    let clock = ManualClock::new();
    assert_eq!([clock.now(), clock.now()], [Instant::ORIGIN; 2]);
    clock.advance(Duration::from_nanos(7));
    assert_eq!([clock.now(), clock.now()], [Instant::from_nanos(7); 2]);
}

#[test]
fn manual_clock_set_backwards_reads_backwards() {
    let clock = ManualClock::default();
    clock.set(Instant::from_nanos(9));
    clock.set(Instant::from_nanos(2));
    assert_eq!(clock.now(), Instant::from_nanos(2));
}

#[test]
fn manual_clock_advanced_too_far_reads_the_last_instant() {
    let clock = ManualClock::new();
    clock.set(Instant::from_nanos(u64::MAX - 1));
    clock.advance(Duration::from_nanos(1));
    assert_eq!(clock.now(), LAST);
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), LAST);
}

#[test]
fn manual_clock_moved_through_a_clone_moves() {
    let clock = ManualClock::starting_at(Duration::from_secs(5));
    let clone = clock.clone();
    clone.advance(Duration::from_secs(1));
    assert_eq!(clock.now(), Instant::from_nanos(1_000_000_000));
    assert_eq!(clone.origin_since_unix_epoch(), Duration::from_secs(5));
}

#[test]
fn manual_clock_advanced_by_several_threads_loses_nothing() {
    let clock = ManualClock::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10_000).for_each(|_| clock.advance(Duration::from_nanos(3))));
        }
    });
    assert_eq!(clock.now(), Instant::from_nanos(120_000));
}

#[test]
fn instant_saturates_at_both_ends() {
    let one = Instant::from_nanos(1);
    assert_eq!(LAST + Duration::from_nanos(1), LAST);
    assert_eq!(one + Duration::MAX, LAST);
    assert_eq!(one.saturating_duration_since(LAST), Duration::ZERO);
    assert_eq!(LAST.saturating_duration_since(one), Duration::from_nanos(u64::MAX - 1));
}

/// Asserts that the first window from the clock's origin on ends at `edge`, and the next one a period later.
fn assert_edge(window: &FixedWindow, origin: Duration, edge: Duration, period: Duration) {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).expect("a reading");
    let limiter = || window.clone().clock(ManualClock::starting_at(origin));
    on_each_face(limiter, |stream| {
        assert!(stream.ask(0, 1).is_allowed());
        for edge in [nanos(edge), nanos(edge + period)] {
            assert_eq!(stream.ask(edge - 1, 1).retry_after_nanos(), Some(1), "{window:?} from {origin:?}");
            assert!(stream.ask(edge, 1).is_allowed(), "{window:?} from {origin:?}");
        }
    });
}

/// 22:13:20 UTC on 14 November 2023, a multiple of no period in use.
const ORIGIN: Duration = Duration::from_secs(1_700_000_000);
const DAY: Duration = Duration::from_secs(24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn window_that_is_not_aligned_starts_at_the_origin_of_the_clock() {
    assert_edge(&FixedWindow::new(Quota::per_day(1)), ORIGIN, DAY, DAY);
}

#[test]
fn window_aligned_to_utc_ends_at_midnight_and_on_the_hour() {
    let seconds = Duration::from_secs;
    assert_edge(&FixedWindow::new(Quota::per_day(1)).aligned_to_utc(), ORIGIN, seconds(6_400), DAY);
    assert_edge(&FixedWindow::new(Quota::per_hour(1)).aligned_to_utc(), ORIGIN, seconds(2_800), HOUR);
}

#[test]
fn window_aligned_to_utc_and_hours_more_ends_that_much_after_midnight() {
    let window = FixedWindow::new(Quota::per_day(1)).aligned_to_utc_plus(5 * HOUR);
    assert_edge(&window, ORIGIN, Duration::from_secs(24_400), DAY);
}

#[test]
fn window_aligned_with_an_offset_above_its_period_ends_as_without_the_whole_periods() {
    let quarter = HOUR / 4;
    let window = FixedWindow::new(Quota::per_hour(1)).aligned_to_utc_plus(3 * HOUR + quarter);
    assert_edge(&window, ORIGIN, Duration::from_secs(100), HOUR);
    let window = FixedWindow::new(Quota::per_hour(1)).aligned_to_utc_plus(1_000_000_000 * HOUR + quarter);
    assert_edge(&window, ORIGIN, Duration::from_secs(100), HOUR);
}

#[test]
fn windows_of_all_small_periods_offsets_and_origins_end_where_the_wall_clock_says() {
    let nanos = Duration::from_nanos;
    for period in 1..=8 {
        for (offset, origin) in (0..=10).flat_map(|offset| (0..=10).map(move |origin| (offset, origin))) {
            let window = FixedWindow::new(Quota::new(1, nanos(period))).aligned_to_utc_plus(nanos(offset));
            // Windows start where the wall clock, less the offset, shows whole periods.
            let starts = |reading: &u64| (origin + reading + 10 * period - offset).is_multiple_of(period);
            let edge = (1..=period).find(starts).expect("there is one in each period");
            assert_edge(&window, nanos(origin), nanos(edge), nanos(period));
        }
    }
}

#[test]
fn coarse_clock_error_tells_what_to_do_and_where_it_comes_from() {
    let spawn = CoarseClockError::Spawn(io::Error::other("no more threads"));
    assert_eq!(spawn.to_string(), "the upkeep thread of the coarse clock could not be started");
    assert_eq!(spawn.source().map(ToString::to_string), Some("no more threads".to_owned()));

    let no_value = CoarseClockError::NoValue;
    assert!(no_value.to_string().contains("start it before this clock"), "{no_value}");
    assert!(no_value.source().is_none());
}
