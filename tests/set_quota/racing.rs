//! Threads that ask while another changes the quota.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tollgate::{Adjustable, FixedWindow, Keyed, ManualClock, TokenBucket};

use crate::{SECOND, at, quota};

const DAY: u64 = 86_400 * SECOND;

/// The clock stands still, but for the changes, which come ten seconds apart at least.
#[test]
fn permits_granted_while_limits_change_are_never_more_than_the_highest_limit() {
    let window = |limit| FixedWindow::new(quota(limit, DAY));
    for round in 0..200 {
        let limiter: Keyed<Adjustable<FixedWindow>, u64, _> = window(10)
            .adjustable()
            .max_limit(1000)
            .clock(ManualClock::new())
            .keyed(4)
            .build()
            .expect("a table");
        let (granted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        if limiter.check_at(&round, at(0), 1).is_allowed() {
                            granted.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            for (change, limit) in [20, 30, 40, 50, 15, 60, 5, 70].into_iter().enumerate() {
                limiter.set_quota_at(at(change as u64 * 11 * SECOND), &window(limit)).expect("slowly enough");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let told = limiter.peek_at(&round, at(0), 0).remaining().expect("a window tells");
        let granted = granted.into_inner();
        assert!(granted <= 70, "{granted} in round {round}");
        assert_eq!(granted, 70 - told, "round {round}: what was granted is what is used");
    }
}

/// A bucket's word means something else under each rate: one read under the wrong rate would show.
#[test]
fn bucket_has_granted_what_it_misses_whatever_the_rates_were() {
    let bucket = |rate| TokenBucket::new(quota(rate, DAY)).burst(5000);
    let limiter = bucket(1).adjustable().clock(ManualClock::new()).build().expect("a quota that fits");
    let (granted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for _ in 0..10 {
                        if limiter.check_at(at(0), 1).is_allowed() {
                            granted.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    thread::yield_now();
                }
            });
        }
        for change in 0..40 {
            // All decide at one reading: nothing comes back but in the minutes of the changes, which is less than a
            // permit, as is what each change rounds up.
            limiter.set_quota_at(at(change * 11 * SECOND), &bucket(change % 7 + 1)).expect("slowly enough");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let missing = 5000 - limiter.peek_at(at(40 * 11 * SECOND), 0).remaining().expect("a bucket tells");
    let granted = granted.into_inner();
    assert!(missing.abs_diff(granted) <= 40, "{missing} are missing, {granted} were granted");
}
