use std::sync::Arc;

use tollgate::{Counters, DecisionCounts, FixedWindow, Observed, Quota};

use crate::hourly;
use crate::race::race;

fn assert_counts(counts: DecisionCounts, expected: [u64; 4]) {
    let DecisionCounts { allowed, refused, too_large, overflowed, .. } = counts;
    assert_eq!([allowed, refused, too_large, overflowed], expected);
}

#[test]
fn each_decision_is_counted_once_under_its_outcome() {
    let limiter = FixedWindow::new(Quota::per_day(5)).build().expect("a limiter");
    let limiter = Observed::new(limiter, Counters::new());
    assert_counts(limiter.hook().counts(), [0; 4]);
    for n in [1, 0, 3, 2, 2, 6] {
        let _ = limiter.check_n(n);
    }
    assert_counts(limiter.hook().counts(), [3, 2, 1, 0]);
    let _ = (limiter.take_up_to(9), limiter.take_up_to(9), limiter.check_at(limiter.limiter().now(), 1));
    assert_counts(limiter.hook().counts(), [4, 4, 1, 0]);
    // Nothing was asked for.
    let _ = limiter.limiter().peek(1);
    assert_counts(limiter.hook().counts(), [4, 4, 1, 0]);
}

#[test]
fn no_decision_of_any_thread_is_lost() {
    const THREADS: usize = 20;
    let limiter = Observed::new(hourly(1000), Arc::new(Counters::new()));
    let granted: u64 = race(THREADS, |thread| {
        (0..5000_u64).filter(|call| limiter.check(&((call + thread as u64) % 10)).is_allowed()).count() as u64
    })
    .into_iter()
    .sum();
    assert_eq!(granted, 10 * 1000);
    assert_counts(limiter.hook().counts(), [granted, THREADS as u64 * 5000 - granted, 0, 0]);
}

#[test]
fn keys_without_a_slot_are_counted_as_the_table_counts_them() {
    let limiter = Observed::new(hourly(1), Counters::new());
    for key in 0..1000 {
        let _ = limiter.check(&key);
    }
    let (counts, stats) = (limiter.hook().counts(), limiter.limiter().stats());
    assert!(counts.overflowed > 0);
    assert_counts(counts, [stats.inserted, stats.overflowed, 0, stats.overflowed]);
}
