//! An algorithm chosen at run time answers as the same one chosen at compile time.

#[path = "support/random.rs"]
mod random;

use std::future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate::{
    Algorithm, AnyAlgorithm, AnyKeyed, AnyLimiter, BuildError, Builder, Decision, Denied, FixedWindow,
    ManualClock, Overflow, Patience, Quota, SlidingCounter, SlidingLog, Timer, TokenBucket,
};

fn told(decision: Decision) -> String {
    format!("{decision:?}")
}

struct Never;

impl Timer for Never {
    async fn sleep(&self, _: Duration) {
        future::pending::<()>().await;
    }
}

/// What is told at once; whoever would have to wait gives up, and so cancels what it has reserved.
fn at_once(acquired: impl Future<Output = Result<(), Denied>>) -> Poll<Result<(), Denied>> {
    pin!(acquired).poll(&mut Context::from_waker(Waker::noop()))
}

fn answers_alike<A: Algorithm + Into<AnyAlgorithm>>(algorithm: &A, seed: u64) {
    let clock = ManualClock::new();
    let one = Builder::new(algorithm.clone(), clock.clone());
    let any = Builder::new(algorithm.clone().into(), clock.clone());
    let (direct, any_direct) = (one.clone().build().expect("fits"), any.clone().build().expect("fits"));
    let shared = Overflow::Shared(Quota::new(2, Duration::from_nanos(50)));
    let hasher = tollgate::RandomSipHash::new();
    let keyed = one.keyed::<u64>(4).with_hasher(hasher.clone()).overflow(shared).build().expect("fits");
    let any_keyed = any.keyed::<u64>(4).with_hasher(hasher).overflow(shared).build().expect("fits");
    assert_eq!(keyed.memory_bytes(), any_keyed.memory_bytes());
    let mut random = random::Random(seed);
    for _ in 0..3000 {
        clock.advance(Duration::from_nanos(random.below(40)));
        let (verb, n, key) = (random.below(7), random.below(7), random.below(30));
        let pairs = match verb {
            0 => [
                (direct.check_n(n), any_direct.check_n(n)),
                (keyed.check_n(&key, n), any_keyed.check_n(&key, n)),
            ],
            1 => [(direct.peek(n), any_direct.peek(n)), (keyed.peek(&key, n), any_keyed.peek(&key, n))],
            2 => [
                (direct.take_up_to(n).decision(), any_direct.take_up_to(n).decision()),
                (keyed.take_up_to(&key, n).decision(), any_keyed.take_up_to(&key, n).decision()),
            ],
            3 => {
                let at = tollgate::Instant::from_nanos(clock_now(&clock).saturating_sub(random.below(30)));
                [
                    (direct.check_at(at, n), any_direct.check_at(at, n)),
                    (keyed.check_at(&key, at, n), any_keyed.check_at(&key, at, n)),
                ]
            }
            4 => {
                assert_eq!(keyed.reset(&key), any_keyed.reset(&key));
                [(direct.peek(0), any_direct.peek(0)), (keyed.peek(&key, 0), any_keyed.peek(&key, 0))]
            }
            5 => {
                let patience = Patience::up_to(Duration::from_nanos(random.below(60)));
                let waits = [
                    at_once(direct.acquire(n, patience, &Never)),
                    at_once(any_direct.acquire(n, patience, &Never)),
                    at_once(keyed.acquire(&key, n, patience, &Never)),
                    at_once(any_keyed.acquire(&key, n, patience, &Never)),
                ];
                assert_eq!((waits[0], waits[2]), (waits[1], waits[3]), "{algorithm:?}");
                [(direct.peek(0), any_direct.peek(0)), (keyed.peek(&key, 0), any_keyed.peek(&key, 0))]
            }
            _ => {
                let now = Patience::up_to(Duration::ZERO);
                let waits = [direct.acquire_blocking(n, now), any_direct.acquire_blocking(n, now)];
                assert_eq!(waits[0], waits[1]);
                let waits = [keyed.acquire_blocking(&key, n, now), any_keyed.acquire_blocking(&key, n, now)];
                assert_eq!(waits[0], waits[1]);
                [(direct.peek(0), any_direct.peek(0)), (keyed.peek(&key, 0), any_keyed.peek(&key, 0))]
            }
        };
        for (expected, got) in pairs {
            assert_eq!(told(got), told(expected), "{algorithm:?}");
        }
    }
    assert_eq!(keyed.stats(), any_keyed.stats());
}

fn clock_now(clock: &ManualClock) -> u64 {
    tollgate::Clock::now(clock).as_nanos()
}

#[test]
fn each_algorithm_answers_alike_whether_chosen_at_run_time_or_at_compile_time() {
    let quota = Quota::new(5, Duration::from_nanos(100));
    for seed in 0..5 {
        answers_alike(&TokenBucket::new(quota).burst(6).max_wait(Duration::from_nanos(50)), seed);
        answers_alike(&FixedWindow::new(quota), seed);
        answers_alike(&SlidingCounter::new(quota), seed);
        answers_alike(&SlidingLog::new(quota), seed);
        answers_alike(&SlidingLog::new(quota).without_remaining(), seed);
    }
}

#[test]
fn what_cannot_be_built_is_told_as_by_the_algorithm_itself() {
    let bucket = AnyAlgorithm::from(TokenBucket::new(Quota::per_second(1)).start_empty());
    let empty = bucket.clone().clock(ManualClock::new()).build().expect("fits");
    assert_eq!(empty.peek(0).remaining(), Some(0));
    assert_eq!(bucket.keyed::<u64>(1).build().err(), Some(BuildError::StartEmptyKeyed));
    let log = AnyAlgorithm::from(SlidingLog::new(Quota::per_second(262_145)));
    assert_eq!(log.build().err(), Some(BuildError::LimitTooLarge { limit: 262_145, max: 262_144 }));
}

#[test]
fn limiters_of_different_algorithms_have_one_type() {
    let quota = Quota::per_hour(1);
    let algorithms: [AnyAlgorithm; 4] = [
        TokenBucket::new(quota).into(),
        FixedWindow::new(quota).into(),
        SlidingCounter::new(quota).into(),
        SlidingLog::new(quota).into(),
    ];
    let limiters: Vec<AnyLimiter> =
        algorithms.iter().map(|algorithm| algorithm.clone().build().expect("fits")).collect();
    assert!(limiters.iter().all(|limiter| limiter.check().is_allowed() && !limiter.check().is_allowed()));
    let keyed: Vec<AnyKeyed<str>> =
        algorithms.into_iter().map(|algorithm| algorithm.keyed(10).build().expect("fits")).collect();
    assert!(keyed.iter().all(|keyed| keyed.check("a").is_allowed() && !keyed.check("a").is_allowed()));
}

/// Whether there is such a verb; if there is, it is called instead of these, and does not compile.
trait Has {
    fn reserve(&self) -> bool {
        false
    }

    fn refund(&self) -> bool {
        false
    }

    fn penalize(&self) -> bool {
        false
    }
}

impl Has for AnyLimiter {}
impl Has for AnyKeyed<str> {}

#[test]
fn verbs_that_not_every_algorithm_has_do_not_exist() -> Result<(), BuildError> {
    let any = AnyAlgorithm::from(TokenBucket::new(Quota::per_second(1)));
    let (limiter, keyed): (AnyLimiter, AnyKeyed<str>) = (any.clone().build()?, any.keyed(1).build()?);
    assert!(!limiter.reserve() && !limiter.refund() && !limiter.penalize());
    assert!(!keyed.reserve() && !keyed.refund() && !keyed.penalize());
    Ok(())
}

#[test]
fn the_quota_is_told_whichever_the_algorithm() {
    for text in
        ["token-bucket 7/3s burst 20", "fixed-window 7/3s utc", "sliding-counter 7/3s", "sliding-log 7/3s"]
    {
        let algorithm: AnyAlgorithm = text.parse().expect(text);
        assert_eq!(algorithm.quota(), Quota::new(7, Duration::from_secs(3)), "{text}");
    }
}
