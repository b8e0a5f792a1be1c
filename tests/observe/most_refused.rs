use std::collections::HashMap;

use proptest::prelude::*;
use tollgate::{FixedWindow, ManualClock, MostRefused, Observed, Quota};

use crate::hourly;
use crate::race::race;

#[test]
fn only_refusals_are_told_and_the_most_frequent_first() {
    let limiter = Observed::new(hourly(2), MostRefused::new(5));
    for (key, calls) in [(1, 2), (2, 5), (3, 12), (4, 3)] {
        for _ in 0..calls {
            let _ = limiter.check(&key);
        }
    }
    let _ = limiter.check_n(&4, 3);
    let top: Vec<_> =
        limiter.hook().top().into_iter().map(|key| (key.key, key.refusals, key.error)).collect();
    assert_eq!(top, [("3".to_owned(), 10, 0), ("2".to_owned(), 3, 0), ("4".to_owned(), 2, 0)]);
    assert_eq!(limiter.hook().missed(), 0);
    limiter.hook().clear();
    assert_eq!(limiter.hook().top(), []);
}

proptest! {
    /// The promises of the algorithm.
    #[test]
    fn frequent_keys_are_found_and_errors_are_bounded(
        keys in proptest::collection::vec((0..30_u64, 0..30_u64).prop_map(|(a, b)| a * b % 41), 0..400),
        capacity in 1..12_usize,
    ) {
        let quota = FixedWindow::new(Quota::per_hour(0)).clock(ManualClock::new()).keyed::<u64>(100);
        let limiter = Observed::new(quota.build().expect("a limiter"), MostRefused::new(capacity));
        let mut refusals = HashMap::new();
        for key in &keys {
            let _ = limiter.check(key);
            *refusals.entry(key.to_string()).or_insert(0) += 1;
        }
        let top = limiter.hook().top();
        prop_assert!(top.len() <= capacity && top.is_sorted_by_key(|key| u64::MAX - key.refusals));
        prop_assert_eq!(top.iter().map(|key| key.refusals).sum::<u64>(), keys.len() as u64);
        for key in &top {
            let truly = refusals[&key.key];
            prop_assert!((key.refusals - key.error..=key.refusals).contains(&truly), "{:?}, {}", key, truly);
            prop_assert!(key.error <= (keys.len() / capacity) as u64);
        }
        for (key, count) in refusals {
            let is_found = top.iter().any(|found| found.key == key);
            prop_assert!(is_found || count <= (keys.len() / capacity) as u64, "{} of {}", count, keys.len());
        }
    }
}

#[test]
fn long_texts_are_cut_where_a_character_ends_and_are_told_apart_nevertheless() {
    let long = |end: &str| format!("{}{end}", "ä".repeat(40));
    let limiter = FixedWindow::new(Quota::per_hour(0)).keyed::<str>(10).build().expect("a limiter");
    let limiter = Observed::new(limiter, MostRefused::new(4));
    for key in [long("x"), long("y"), long("x"), format!("x{}", "ä".repeat(40)), String::new()] {
        let _ = limiter.check(key.as_str());
    }
    let top: Vec<_> = limiter.hook().top().into_iter().map(|key| (key.key, key.refusals)).collect();
    let cut = "ä".repeat(32);
    let one_less = format!("x{}", "ä".repeat(31));
    assert_eq!(top, [(cut.clone(), 2), (cut, 1), (one_less, 1), (String::new(), 1)]);
}

#[test]
fn threads_that_are_refused_at_once_wait_for_nobody_and_what_they_miss_is_counted() {
    let limiter = FixedWindow::new(Quota::per_hour(0)).keyed::<u64>(10).build().expect("a limiter");
    let limiter = Observed::new(limiter, MostRefused::new(4));
    race(4, |thread| {
        for call in 0..20_000_u64 {
            assert!(!limiter.check(&((call + thread as u64) % 7)).is_allowed());
        }
    });
    let counted: u64 = limiter.hook().top().iter().map(|key| key.refusals).sum();
    assert_eq!(counted + limiter.hook().missed(), 4 * 20_000);
}
