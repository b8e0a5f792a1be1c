//! Models of several limits at once: what threads that compete for the last permits of one do to the others.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::{Answer, Recorder, ask, granted, model, spawn};
use tollgate::{AllOf, FixedWindow, Limiter, Quota, TokenBucket};

const MS: u64 = 1_000_000;

/// A bucket of two, one more each ms, and a window of a day.
struct Limits {
    bucket: Limiter<TokenBucket, Recorder>,
    window: Limiter<FixedWindow, Recorder>,
}

impl Limits {
    fn new(limit: u64) -> Arc<Self> {
        let clock = Recorder::starting_at(100 * MS);
        let bucket = TokenBucket::new(Quota::new(1, Duration::from_nanos(MS))).burst(2).clock(clock.clone());
        let window = FixedWindow::new(Quota::per_day(limit)).clock(clock);
        let (bucket, window) = (bucket.build().expect("a bucket"), window.build().expect("a window"));
        Arc::new(Self { bucket, window })
    }

    /// Asks both. The reading is taken before the thread can be stopped.
    fn ask(&self, cost: u64) -> Answer {
        let decision = AllOf::new((&self.bucket, &self.window)).check_n(cost).decision();
        Answer { at: self.bucket.clock().last(), cost, decision }
    }
}

/// Two threads ask both limits, of which the later one has a permit left: one of them gets it. The other's charge of
/// the earlier limit is undone, or lost if the winner's came after it; it never counts as granted, nor twice as undone.
///
/// Catches a refusal by a later limit that is overlooked because a look has seen it allow.
#[test]
fn last_permit_of_a_later_limit_is_granted_once() {
    model(5, || {
        let limits = Limits::new(1);
        let other = spawn(&limits, |limits| limits.ask(1));
        let this = limits.ask(1);
        let answers = [this, other.join().expect("an answer"), limits.ask(1)];
        assert_eq!(granted(&answers), 1, "{answers:?}");
        let left = limits.bucket.peek(0).remaining();
        assert!(left == Some(1) || left == Some(0), "{left:?}");
        // What is lost comes back by itself.
        limits.bucket.clock().set(102 * MS);
        assert_eq!(limits.bucket.peek(0).remaining(), Some(2));
    });
}

/// A later limit refuses while others charge the earlier one: what the undo gives back and what they are granted keep
/// to the bound.
///
/// Catches an undo that takes its permits off whatever word is there.
#[test]
fn undo_beside_a_charge_keeps_the_bound() {
    model(5, || {
        let limits = Limits::new(2);
        let other = spawn(&limits, |limits| limits.ask(2));
        assert!(limits.window.check().is_allowed() || limits.window.peek(0).remaining() == Some(0));
        limits.bucket.clock().set(101 * MS);
        let mut answers = vec![ask(&limits.bucket, 1), ask(&limits.bucket, 2)];
        answers.push(other.join().expect("an answer"));
        answers.push(ask(&limits.bucket, 2));
        for from in &answers {
            let since = answers.iter().filter(|answer| answer.at >= from.at);
            let bound = 2 + (101 * MS - from.at) / MS;
            assert!(granted(since) <= bound, "{answers:?}");
        }
    });
}
