//! Waiting on tokio's paused clock: who is served when.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::{JoinSet, yield_now};
use tollgate::{
    Algorithm, Builder, Clock, FixedWindow, Limiter, Patience, Quota, SlidingLog, Timer, TokenBucket,
};
use tollgate_tokio::{TokioClock, TokioTimer};

const MINUTE: Duration = Duration::from_secs(60);

fn per_second(n: u64) -> TokenBucket {
    TokenBucket::new(Quota::per_second(n)).burst(1).max_wait(MINUTE)
}

/// Counts the sleeps.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicU64>);

impl Timer for Counting {
    async fn sleep(&self, duration: Duration) {
        self.0.fetch_add(1, Ordering::Relaxed);
        TokioTimer.sleep(duration).await;
    }
}

#[tokio::test(start_paused = true)]
async fn four_hundred_waiters_are_served_in_order_at_their_instants_with_one_sleep_each() {
    let clock = TokioClock::new();
    let limiter = Arc::new(per_second(200).clock(clock.clone()).build().expect("a quota that fits"));
    let (timer, mut tasks) = (Counting::default(), JoinSet::new());
    for number in 0..400_u64 {
        let (limiter, timer) = (Arc::clone(&limiter), timer.clone());
        tasks.spawn(async move {
            limiter.acquire(1, Patience::unlimited(), &timer).await.expect("no deadline");
            (number, limiter.now())
        });
        // In the order in which they are numbered.
        yield_now().await;
    }
    let mut served = tasks.join_all().await;
    served.sort_by_key(|(number, _)| *number);
    for (number, at) in served {
        assert_eq!(at.as_nanos(), number * 5_000_000, "waiter {number}");
    }
    assert_eq!(timer.0.load(Ordering::Relaxed), 399, "the first does not wait");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_for_fifty_is_not_starved_by_waiters_for_one() {
    let clock = TokioClock::new();
    let bucket = TokenBucket::new(Quota::per_second(100)).burst(50).max_wait(MINUTE);
    let limiter = Arc::new(bucket.clock(clock.clone()).build().expect("a quota that fits"));
    assert!(limiter.check_n(50).is_allowed());
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let limiter = Arc::clone(&limiter);
        tasks.spawn(async move {
            loop {
                limiter.acquire(1, Patience::unlimited(), &TokioTimer).await.expect("no deadline");
            }
        });
    }
    yield_now().await;
    limiter.acquire(50, Patience::unlimited(), &TokioTimer).await.expect("no deadline");
    // After the 20 who came before it: 70 permits at 100 per second.
    assert_eq!(clock.now().as_nanos(), 700_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_dropped_gives_its_place_up() {
    let limiter = per_second(1).clock(TokioClock::new()).build().expect("a quota that fits");
    assert!(limiter.check().is_allowed());
    let waiter = limiter.acquire(1, Patience::unlimited(), &TokioTimer);
    assert!(tokio::time::timeout(Duration::from_millis(100), waiter).await.is_err());
    limiter.acquire(1, Patience::unlimited(), &TokioTimer).await.expect("no deadline");
    assert_eq!(limiter.now().as_nanos(), 1_000_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_reservation_is_awaited_until_it_is_due_and_cancelled_if_that_is_dropped() {
    let limiter = per_second(1).clock(TokioClock::new()).build().expect("a quota that fits");
    let reserve = || limiter.reserve(1, MINUTE).expect("within a minute");
    reserve().until_due(&TokioTimer).await;
    let (kept, dropped) = (reserve(), reserve());
    assert!(tokio::time::timeout(Duration::from_millis(1500), dropped.until_due(&TokioTimer)).await.is_err());
    kept.until_due(&TokioTimer).await;
    assert_eq!(limiter.now().as_nanos(), 1_500_000_000, "due since half a second");
    reserve().until_due(&TokioTimer).await;
    assert_eq!(limiter.now().as_nanos(), 2_000_000_000, "in the place of the one dropped");
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_deadline_is_refused_at_once_and_takes_no_place() {
    let limiter = per_second(1).clock(TokioClock::new()).build().expect("a quota that fits");
    assert!(limiter.check().is_allowed());
    for patience in [
        Patience::up_to(Duration::from_millis(999)),
        Patience::until(tollgate::Instant::from_nanos(999_999_999)),
    ] {
        assert!(limiter.acquire(1, patience, &TokioTimer).await.is_err());
    }
    assert_eq!(limiter.now().as_nanos(), 0);
    limiter.acquire(1, Patience::up_to(Duration::from_secs(1)), &TokioTimer).await.expect("in time");
    assert_eq!(limiter.now().as_nanos(), 1_000_000_000);
}

/// One after the other: each is served as soon as it can be.
async fn waits_by_honest_retry(algorithm: impl Algorithm, expected: [u64; 7]) {
    let limiter = Builder::new(algorithm, TokioClock::new()).build().expect("a quota that fits");
    let mut served = Vec::new();
    for _ in 0..expected.len() {
        limiter.acquire(1, Patience::unlimited(), &TokioTimer).await.expect("no deadline");
        served.push(limiter.now().as_nanos() / 1_000_000);
    }
    assert_eq!(served, expected);
}

#[tokio::test(start_paused = true)]
async fn windows_logs_and_buckets_without_reservations_wait_by_honest_retry() {
    let quota = Quota::per_second(3);
    waits_by_honest_retry(FixedWindow::new(quota), [0, 0, 0, 1000, 1000, 1000, 2000]).await;
    waits_by_honest_retry(SlidingLog::new(quota), [0, 0, 0, 1000, 1000, 1000, 2000]).await;
    waits_by_honest_retry(TokenBucket::new(Quota::per_second(2)), [0, 0, 500, 1000, 1500, 2000, 2500]).await;
}

#[tokio::test(start_paused = true)]
async fn keys_wait_each_for_its_own_limit() {
    let limiter = per_second(1).clock(TokioClock::new()).keyed::<str>(10).build().expect("fits");
    for (key, at) in [("a", 0), ("b", 0), ("a", 1000), ("b", 1000), ("b", 2000)] {
        limiter.acquire(key, 1, Patience::unlimited(), &TokioTimer).await.expect("no deadline");
        assert_eq!(limiter.now().as_nanos() / 1_000_000, at, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_only_ever_adds_and_no_more_than_it_may() {
    let limiter = per_second(1).clock(TokioClock::new()).build().expect("a quota that fits");
    assert!(limiter.check().is_allowed());
    let patience = Patience::unlimited().with_jitter(Duration::from_millis(400));
    let mut late = Vec::new();
    for number in 1..=20 {
        limiter.acquire(1, patience, &TokioTimer).await.expect("no deadline");
        let due = number * 1_000_000_000;
        let now = limiter.now().as_nanos();
        // tokio's timer rounds up to 1 ms.
        assert!((due..=due + 401_000_000).contains(&now), "{now} of {due}");
        late.push(now - due);
    }
    assert!(late.iter().any(|late| *late > 50_000_000), "{late:?}");
}

#[test]
fn futures_that_wait_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let limiter: Limiter<TokenBucket> = per_second(1).build().expect("a quota that fits");
    is_send(&limiter.acquire(1, Patience::unlimited(), &TokioTimer));
    let keyed = per_second(1).keyed::<String>(1).build().expect("fits");
    is_send(&keyed.acquire("a", 1, Patience::unlimited(), &TokioTimer));
}
