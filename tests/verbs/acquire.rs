//! Waiting on a clock that errs or stands still, and with threads that are stopped between two readings of it.

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use tollgate::{Algorithm, Builder, FixedWindow, Limiter, Patience, Quota, SlidingLog, Timer, TokenBucket};

use crate::scripted_clock::ScriptedClock;
use crate::{SECOND, at, nanos};

const S: u64 = 1_000_000_000;
const START: u64 = 10 * S;
const HOUR: u64 = 3600 * S;

/// A timer that moves the clock on from [`START`] by what it is told to sleep, and counts that.
struct Sleeper {
    clock: ScriptedClock,
    slept: AtomicU64,
}

impl Sleeper {
    fn of(clock: &ScriptedClock) -> Self {
        Self { clock: clock.clone(), slept: AtomicU64::new(0) }
    }

    fn slept(&self) -> u64 {
        self.slept.load(Ordering::Relaxed)
    }
}

impl Timer for Sleeper {
    async fn sleep(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).expect("a sleep that ends");
        let slept = self.slept.fetch_add(nanos, Ordering::Relaxed) + nanos;
        self.clock.set(START + slept);
    }
}

/// Of a future that waits for nothing but a [`Sleeper`].
fn finish<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("sleeps have no end"),
    }
}

/// A limiter built at [`START`], of which so many permits are charged.
fn limiter<A: Algorithm>(algorithm: A, charged: u64) -> (Limiter<A, ScriptedClock>, ScriptedClock) {
    let clock = ScriptedClock::default();
    clock.set(START);
    let limiter = Builder::new(algorithm, clock.clone()).build().expect("a quota that fits");
    for _ in 0..charged {
        assert!(limiter.check().is_allowed());
    }
    (limiter, clock)
}

/// Of the readings before the first sleep each in turn is an hour ahead, or far behind.
fn no_reading_that_errs_makes_anybody_sleep_longer<A: Algorithm>(algorithm: &A, charged: u64) {
    for (erring, wrong) in (0..3).flat_map(|reading| [(reading, START + HOUR), (reading, 1)]) {
        let (limiter, clock) = limiter(algorithm.clone(), charged);
        for _ in 0..erring {
            clock.read_once(START);
        }
        clock.read_once(wrong);
        let sleeper = Sleeper::of(&clock);
        let result = finish(limiter.acquire(1, Patience::up_to(SECOND), &sleeper));
        let slept = sleeper.slept();
        assert!(slept <= S, "{algorithm:?}: reading {erring} of {wrong}: {result:?} after {slept} ns");
    }
}

#[test]
fn a_reading_that_errs_makes_nobody_sleep_beyond_the_deadline() {
    let quota = Quota::per_second(1);
    for charged in [0, 1] {
        no_reading_that_errs_makes_anybody_sleep_longer(&TokenBucket::new(quota), charged);
        let reserving = TokenBucket::new(quota).max_wait(nanos(HOUR));
        no_reading_that_errs_makes_anybody_sleep_longer(&reserving, charged);
        no_reading_that_errs_makes_anybody_sleep_longer(&FixedWindow::new(quota), charged);
        no_reading_that_errs_makes_anybody_sleep_longer(&SlidingLog::new(quota), charged);
    }
}

#[test]
fn a_reading_far_behind_does_not_lengthen_what_is_left_until_a_deadline() {
    for reading in 0..3 {
        // The next begins in 5 s, and from the reading far behind there would be 11 left.
        let (limiter, clock) = limiter(FixedWindow::new(Quota::new(1, 15 * SECOND)), 1);
        for _ in 0..reading {
            clock.read_once(START);
        }
        clock.read_once(1);
        let sleeper = Sleeper::of(&clock);
        let result = finish(limiter.acquire(1, Patience::until(at(START + S)), &sleeper));
        assert!(result.is_err() && sleeper.slept() == 0, "reading {reading}: {} ns", sleeper.slept());
    }
}

#[test]
fn a_timeout_told_on_a_reading_that_errs_is_no_longer_than_it_is() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)).max_wait(nanos(HOUR)), 0);
    for _ in 0..10 {
        limiter.reserve(1, nanos(HOUR)).expect("within an hour").keep();
    }
    clock.read_once(START + HOUR);
    let sleeper = Sleeper::of(&clock);
    assert!(finish(limiter.acquire(1, Patience::up_to(SECOND), &sleeper)).is_err(), "due in 10 s");
    assert_eq!(sleeper.slept(), 0);
}

#[test]
fn what_is_there_at_a_reading_that_errs_is_not_waited_for() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)).max_wait(10 * SECOND), 0);
    clock.read_once(START + HOUR);
    let held = limiter.reserve(1, 10 * SECOND).expect("a full bucket");
    assert_eq!((held.due(), held.wait()), (at(START + HOUR), nanos(0)));
    let sleeper = Sleeper::of(&clock);
    finish(held.until_due(&sleeper));
    assert_eq!(sleeper.slept(), 0);
}

/// Another's charge has been left an hour ahead; the first reading is right, and the fresh one errs again.
#[test]
fn what_is_there_at_a_fresh_reading_that_errs_is_not_waited_for() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)).max_wait(10 * SECOND), 0);
    clock.read_once(START + HOUR);
    assert!(limiter.check().is_allowed());
    clock.read_once(START);
    clock.read_once(START + 2 * HOUR);
    let held = limiter.reserve(1, 10 * SECOND).expect("a full bucket");
    assert_eq!((held.due(), held.wait()), (at(START + 2 * HOUR), nanos(0)));
}

/// Without a deadline too: what is due further ahead than any reservation was decided on a reading that erred.
#[test]
fn a_reservation_made_while_the_clock_erred_is_not_waited_for_once_it_is_right() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)).max_wait(10 * SECOND), 0);
    let sleeper = Sleeper::of(&clock);
    let acquire = limiter.acquire(1, Patience::unlimited(), &sleeper);
    clock.read_once(START + HOUR);
    assert!(limiter.check().is_allowed());
    // Due in a second then.
    clock.read_once(START + HOUR);
    let result = finish(acquire);
    assert!(sleeper.slept() <= 15 * S, "{result:?} after {} ns", sleeper.slept());
}

/// Ten reservations are kept, so that the next is due in ten seconds.
fn ten_seconds_ahead() -> (Limiter<TokenBucket, ScriptedClock>, ScriptedClock) {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)).max_wait(10 * SECOND), 0);
    for _ in 0..10 {
        limiter.reserve(1, 10 * SECOND).expect("within ten seconds").keep();
    }
    (limiter, clock)
}

/// Readings 4 s apart are honest.
#[test]
fn nobody_gives_a_reservation_up_where_the_next_readings_are_a_little_behind() {
    for patience in [Patience::unlimited(), Patience::until(at(START + 10 * S))] {
        let (limiter, clock) = ten_seconds_ahead();
        let sleeper = Sleeper::of(&clock);
        let acquire = limiter.acquire(1, patience, &sleeper);
        clock.set(START - 4 * S);
        clock.read_once(START);
        assert_eq!((finish(acquire), sleeper.slept()), (Ok(()), 14 * S));
        assert_eq!(limiter.peek_at(at(START + 10 * S), 1).retry_after(), Some(SECOND), "charged once");
    }
}

/// The time left is told on a reading far behind, at which the state is ahead, and decided on a fresh one.
#[test]
fn what_was_reserved_beyond_the_deadline_after_a_second_reading_is_given_back() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)).max_wait(10 * SECOND), 0);
    for _ in 0..7 {
        limiter.reserve(1, 10 * SECOND).expect("within ten seconds").keep();
    }
    let sleeper = Sleeper::of(&clock);
    let acquire = limiter.acquire(1, Patience::until(at(START + S)), &sleeper);
    clock.read_once(1);
    let refused = finish(acquire).expect_err("due in 7 s");
    assert_eq!((refused.retry_after(), sleeper.slept()), (Some(6 * SECOND), 0));
    assert_eq!(limiter.peek(1).retry_after(), Some(7 * SECOND), "charged nothing");
}

#[test]
fn nothing_is_granted_that_is_due_after_the_deadline_by_a_thread_stopped_before_it() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)).max_wait(10 * SECOND), 0);
    for _ in 0..6 {
        limiter.reserve(1, 10 * SECOND).expect("within ten seconds").keep();
    }
    // Due in 6 s; the deadline is in 1 s, and 5 s go by after the reading.
    clock.set(START + 5 * S);
    clock.read_once(START);
    clock.read_once(START);
    let sleeper = Sleeper::of(&clock);
    let result = finish(limiter.acquire(1, Patience::until(at(START + S)), &sleeper));
    assert_eq!((result.map_err(|denied| denied.retry_after()), sleeper.slept()), (Err(Some(5 * SECOND)), 0));
}

#[test]
fn a_timeout_counts_from_the_call_and_not_from_the_first_poll() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)), 0);
    let keyed = TokenBucket::new(Quota::per_second(1)).clock(clock.clone()).keyed::<u64>(10).build();
    let keyed = keyed.expect("a quota that fits");
    let sleeper = Sleeper::of(&clock);
    let waits = limiter.acquire(1, Patience::up_to(SECOND), &sleeper);
    let key_waits = keyed.acquire(&7, 1, Patience::up_to(SECOND), &sleeper);
    clock.set(START + 5 * S);
    assert!(limiter.check().is_allowed() && keyed.check(&7).is_allowed());
    assert!(finish(waits).is_err(), "called 5 s ago");
    assert!(finish(key_waits).is_err(), "called 5 s ago");
    assert_eq!(sleeper.slept(), 0);
}

#[test]
fn what_is_there_is_granted_however_late() {
    let (limiter, clock) = limiter(TokenBucket::new(Quota::per_second(1)), 0);
    let sleeper = Sleeper::of(&clock);
    let waits = limiter.acquire(1, Patience::up_to(SECOND), &sleeper);
    clock.set(START + 5 * S);
    assert_eq!(finish(waits), Ok(()));
}

/// The table is full for the moment, and the caller ready to wait for as long as it takes.
#[test]
fn a_key_without_a_slot_is_waited_for_with_reservations_and_without() {
    for max_wait in [0, 60] {
        let clock = ScriptedClock::default();
        clock.set(START);
        let bucket = TokenBucket::new(Quota::per_second(1)).max_wait(max_wait * SECOND);
        let limiter = bucket.clock(clock.clone()).keyed::<u64>(1).build().expect("a quota that fits");
        for key in 0..64 {
            let _ = limiter.check(&key);
        }
        assert!(limiter.stats().overflowed > 0, "the table is full");
        let sleeper = Sleeper::of(&clock);
        assert_eq!(finish(limiter.acquire(&1000, 1, Patience::unlimited(), &sleeper)), Ok(()), "{max_wait}");
        assert!((S..2 * S).contains(&sleeper.slept()), "{} ns", sleeper.slept());
        // What its state refuses is still refused at once.
        let refused = finish(limiter.acquire(&1000, 1, Patience::up_to(SECOND / 2), &sleeper));
        assert!(refused.is_err());
    }
}
