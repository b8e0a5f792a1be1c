//! The verbs from several threads at once, on a clock that stands still: what comes back by time does not blur what is
//! given back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate::{
    Algorithm, Builder, FixedWindow, Keyed, ManualClock, Quota, Refundable, SlidingCounter, SlidingLog,
    TokenBucket,
};

use crate::{a_second_each, clock_at, nanos};

const LIMIT: u64 = 7;
const THREADS: u64 = 4;

fn keyed<A: Algorithm>(algorithm: A) -> Keyed<A, u64, ManualClock> {
    Builder::new(algorithm, clock_at(1_000_000)).keyed(4).build().expect("fits")
}

fn quota() -> Quota {
    Quota::new(LIMIT, nanos(1_000_000))
}

/// Runs `work` on threads that all begin at once.
fn on_threads(work: impl Fn(u64) + Sync) {
    let barrier = std::sync::Barrier::new(usize::try_from(THREADS).expect("few"));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(number);
            });
        }
    });
}

#[test]
fn each_reset_gives_at_most_one_more_limit_while_others_charge() {
    fn test<A: Algorithm>(algorithm: A) {
        let limiter = keyed(algorithm);
        for key in 0..300 {
            let (granted, resets) = (AtomicU64::new(0), AtomicU64::new(1));
            on_threads(|number| {
                for _ in 0..30 {
                    if number == 0 {
                        // Counted before it takes effect.
                        resets.fetch_add(1, Ordering::SeqCst);
                        limiter.reset(&key);
                    } else if limiter.check(&key).is_allowed() {
                        granted.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
            let (granted, bound) = (granted.into_inner(), LIMIT * resets.into_inner());
            assert!(granted >= LIMIT && granted <= bound, "{granted}, at most {bound}");
            limiter.reset(&key);
            assert_eq!(limiter.take_up_to(&key, 100).permits(), LIMIT);
            limiter.clock().advance(nanos(3_000_000));
        }
        assert_eq!(limiter.stats().overflowed, 0);
    }
    test(TokenBucket::new(quota()));
    test(FixedWindow::new(quota()));
    test(SlidingCounter::new(quota()));
    test(SlidingLog::new(quota()));
}

#[test]
fn what_is_refunded_is_granted_again_and_no_more() {
    fn test<A: Refundable>(algorithm: A) {
        let limiter = keyed(algorithm);
        for key in 0..300 {
            let (granted, refunded) = (AtomicU64::new(0), AtomicU64::new(0));
            on_threads(|number| {
                for _ in 0..30 {
                    if number % 2 == 0 {
                        refunded.fetch_add(limiter.refund(&key, 2), Ordering::SeqCst);
                    } else {
                        granted.fetch_add(limiter.take_up_to(&key, 3).permits(), Ordering::SeqCst);
                    }
                }
            });
            let (granted, refunded) = (granted.into_inner(), refunded.into_inner());
            let left = limiter.peek(&key, 0).remaining().expect("told");
            assert_eq!(granted - refunded, LIMIT - left);
            limiter.clock().advance(nanos(3_000_000));
        }
    }
    test(TokenBucket::new(quota()));
    test(FixedWindow::new(quota()));
    test(SlidingCounter::new(quota()));
}

#[test]
fn threads_that_take_what_there_is_get_all_of_it_and_no_more() {
    fn test<A: Algorithm>(algorithm: A) {
        let limiter = keyed(algorithm);
        for key in 0..300 {
            let granted = AtomicU64::new(0);
            on_threads(|number| {
                granted.fetch_add(limiter.take_up_to(&key, 1 + number).permits(), Ordering::SeqCst);
            });
            assert_eq!(granted.into_inner(), LIMIT);
            limiter.clock().advance(nanos(3_000_000));
        }
    }
    test(TokenBucket::new(quota()));
    test(FixedWindow::new(quota()));
    test(SlidingCounter::new(quota()));
    test(SlidingLog::new(quota()));
}

#[test]
fn reservations_of_many_threads_are_due_at_different_instants_and_what_is_kept_stays_charged() {
    let limiter = keyed(a_second_each());
    for key in 0..300 {
        let dues = std::sync::Mutex::new(Vec::new());
        let given_back = AtomicU64::new(0);
        on_threads(|number| {
            for round in 0..2 {
                let held = limiter.reserve(&key, 1, 10 * crate::SECOND).expect("within 10 s");
                if (number + round) % 2 == 0 {
                    dues.lock().expect("no panic").push(held.due());
                    held.keep();
                } else {
                    given_back.fetch_add(held.cancel(), Ordering::SeqCst);
                }
            }
        });
        let mut dues = dues.into_inner().expect("no panic");
        let kept = dues.len();
        dues.sort();
        dues.dedup();
        assert_eq!((dues.len(), kept), (4, 4), "no two are due at one instant");
        // What was cancelled out of order is lost, never more.
        let owed = 2 * THREADS - given_back.into_inner();
        let wait = limiter.peek(&key, 1).retry_after().expect("in debt");
        assert_eq!(wait, crate::SECOND * u32::try_from(owed).expect("few"));
        limiter.clock().advance(20 * crate::SECOND);
    }
}
