//! Models of refunds.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::table::uninterrupted;
use loom_tests::{Recorder, ask, at, granted, model, spawn};
use tollgate::{Algorithm, Clock, FixedWindow, Limiter, Quota, SlidingCounter, TokenBucket};

const MS: u64 = 1_000_000;
/// Half of the second window.
const LATER: u64 = MS + MS / 2;

/// A clock that reads 0.
fn limiter<A: Algorithm>(algorithm: A) -> Arc<Limiter<A, Recorder>> {
    Arc::new(tollgate::Builder::new(algorithm, Recorder::default()).build().expect("a limiter"))
}

/// So many permits per ms.
const fn quota(limit: u64) -> Quota {
    Quota::new(limit, Duration::from_millis(1))
}

/// What is left `now`.
fn remaining<A: Algorithm>(limiter: &Limiter<A, Recorder>, now: u64) -> u64 {
    limiter.peek_at(at(now), 0).remaining().expect("what remains")
}

/// While others charge, a refund gives back its permits once, and what is granted is what time and the refund gave
/// back.
///
/// Catches a refund that stores what it has computed on an older word: a charge is forgotten.
#[test]
fn refund_to_a_bucket_racing_with_charges_comes_back_once() {
    model(3, || {
        let bucket = limiter(TokenBucket::new(quota(1)).burst(2));
        assert!(bucket.check_n(2).is_allowed());
        let refund = spawn(&bucket, |bucket| bucket.refund(1));
        let other = spawn(&bucket, |bucket| ask(bucket, 1));
        bucket.clock().set(MS);
        let mut answers = vec![ask(&bucket, 1)];
        assert_eq!(refund.join().expect("what came back"), 1);
        answers.push(other.join().expect("an answer"));
        answers.extend([ask(&bucket, 1), ask(&bucket, 1)]);
        assert_eq!(granted(&answers), 2, "{answers:?}");
        assert_eq!(remaining(&bucket, MS), 0);
    });
}

/// A refund gives to the window that has passed, before the next one is charged, or to the next what that granted; with
/// a reading of the next window, only the latter.
///
/// Catches a refund that does not look at the window: two come back in a window that has granted one.
#[test]
fn refund_racing_with_the_next_window_gives_it_no_more_than_it_granted() {
    model(3, || {
        let window = limiter(FixedWindow::new(quota(3)));
        assert!(window.check_n(2).is_allowed());
        let refund = spawn(&window, |window| {
            let now = window.clock().now();
            (now.as_nanos(), window.refund_at(now, 2))
        });
        window.clock().set(MS);
        let own = ask(&window, 1);
        assert_eq!(own.granted(), 1);
        let (at, back) = refund.join().expect("what came back");
        assert!([0, 1].contains(&back) || at == 0, "{back} at {at}");
        let of_the_next = u64::from(back == 1);
        assert_eq!(remaining(&window, MS), 2 + of_the_next);
    });
}

/// The same of a counter. What the window that has passed granted at last, less what it took back, weighs in the next.
///
/// Catches a refund that does not look at the window.
#[test]
fn refund_racing_with_a_rollover_leaves_the_window_before_its_weight() {
    model(3, || {
        let counter = limiter(SlidingCounter::new(quota(4)));
        assert!(counter.check_n(3).is_allowed());
        let refund = spawn(&counter, |counter| {
            let now = counter.clock().now();
            (now.as_nanos(), counter.refund_at(now, 2))
        });
        counter.clock().set(LATER);
        let own = ask(&counter, 1);
        assert_eq!(own.granted(), 1);
        let (at, back) = refund.join().expect("what came back");
        assert!([0, 1].contains(&back) || at == 0, "{back} at {at}");
        // Half of three, rounded down; or half of one, unless the two came back while the window was closing.
        let left = remaining(&counter, LATER);
        match back {
            0 => assert_eq!(left, 2),
            1 => assert_eq!(left, 3),
            _ => assert!([2, 3].contains(&left), "{left}"),
        }
    });
}

/// A window is weighed by what it granted at last, also if a charge comes late, after a refund while the window closes.
///
/// Catches a record of the closing window that is lowered with the refund: the word comes back to what was recorded
/// before, and whoever has recorded that moves on from it.
#[test]
fn late_charge_after_a_refund_to_a_closing_window_weighs() {
    model(3, || {
        let counter = limiter(SlidingCounter::new(quota(8)));
        assert!(counter.check_at(at(0), 2).is_allowed());
        let roller = spawn(&counter, |counter| {
            assert!(uninterrupted(|| counter.check_at(at(0), 2)).is_allowed());
            assert!(counter.check_at(at(LATER), 1).is_allowed());
        });
        let refund = spawn(&counter, |counter| {
            let back = uninterrupted(|| counter.refund_at(at(0), 2));
            assert!(counter.check_at(at(LATER), 1).is_allowed());
            back
        });
        let late = counter.check_at(at(0), 2);
        roller.join().expect("its answers");
        let back = refund.join().expect("what came back");
        assert!(late.is_allowed());
        let late_to_the_first = late.reset_after_nanos() <= Some(2 * MS);
        let (first, next) = if late_to_the_first { (6, 2) } else { (4, 4) };
        // Given back to the window that closed, which has as much or, if it was closing, may forget it; or to the next.
        let to_the_first = (first - back) / 2 + next..=first / 2 + next;
        let to_the_next = first / 2 + next - back;
        let used = 8 - remaining(&counter, LATER);
        // Of the next window's, before the refund, one is granted; and the late two.
        let may_be_the_next = back == 1 || !late_to_the_first;
        let explained = back == 2 && to_the_first.contains(&used) || may_be_the_next && used == to_the_next;
        assert!(explained, "{used}, {back}, {late:?}");
    });
}
