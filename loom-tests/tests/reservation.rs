//! Models of reservations of a token bucket and of cancelling them.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::{Recorder, ask, granted, model, spawn};
use tollgate::{Limiter, Quota, Reservation, TokenBucket};

const MS: u64 = 1_000_000;
const WAIT: Duration = Duration::from_millis(10);

type Bucket = Limiter<TokenBucket, Recorder>;

/// One permit per ms, so many ms of debt, and a clock that reads 0.
fn bucket(capacity: u64, debt: u64) -> Arc<Bucket> {
    let bucket = TokenBucket::new(Quota::new(1, Duration::from_nanos(MS)));
    let bucket = bucket.burst(capacity).max_wait(Duration::from_nanos(debt * MS));
    Arc::new(bucket.clock(Recorder::default()).build().expect("a bucket"))
}

/// When the bucket has all of its permits again.
fn full_at(bucket: &Bucket, now: u64) -> u64 {
    bucket.clock().set(now);
    now + bucket.peek(0).reset_after_nanos().expect("a time of reset")
}

/// When a reservation of one permit is due, which is kept; `None` if it is refused.
fn reserve_one(bucket: &Bucket) -> Option<u64> {
    let reservation = bucket.reserve(1, WAIT).ok()?;
    let due = reservation.due().as_nanos();
    reservation.keep();
    Some(due)
}

/// Of three that reserve at once two fit into the debt: one at its reading, the other when the first permit is back.
/// (Not for a reading from before the first's: then the debt would be longer.)
///
/// Catches a reservation whose word is exchanged without comparing: two are due at one instant.
#[test]
fn permits_reserved_at_once_are_due_one_after_the_other() {
    model(3, || {
        let bucket = bucket(1, 1);
        let others = [(); 2].map(|()| spawn(&bucket, reserve_one));
        bucket.clock().set(MS / 2);
        let own = reserve_one(&bucket);
        let [second, third] = others.map(|thread| thread.join().expect("a reservation or none"));
        let mut due: Vec<u64> = [own, second, third].into_iter().flatten().collect();
        due.sort_unstable();
        let orders: [&[u64]; 3] = [&[0, MS], &[MS / 2, MS / 2 + MS], &[MS / 2]];
        assert!(orders.contains(&due.as_slice()), "{due:?}");
        assert_eq!(Some(full_at(&bucket, MS / 2)), due.last().map(|last| last + MS));
    });
}

/// A cancel gives back all, and it is as if nothing had been reserved, or nothing, and what was charged since is all
/// that the bound allows.
///
/// Catches a cancel that takes its permits off whatever the word is by then: five in an instant of three.
#[test]
fn cancel_racing_with_a_charge_gives_back_all_or_nothing() {
    model(3, || {
        let bucket = bucket(3, 0);
        let reserved = bucket.reserve(3, Duration::ZERO).expect("a full bucket");
        let other = spawn(&bucket, |bucket| ask(bucket, 2));
        bucket.clock().set(2 * MS);
        // Time has given back the other two.
        let back = reserved.cancel();
        assert!([0, 1].contains(&back), "{back}");
        let mut since = [1, 1, 1].map(|cost| ask(&bucket, cost)).to_vec();
        since.push(other.join().expect("an answer"));
        since.extend([1, 1, 1].map(|cost| ask(&bucket, cost)));
        // At 0 three were reserved and by 2 ms two are back; or the bucket is as full as it was.
        assert_eq!(granted(&since), 2 + back, "{since:?}");
        assert_eq!(full_at(&bucket, 2 * MS), 5 * MS);
    });
}

/// Two reservations cancelled by two threads at once: each gives back its own or nothing, and the later of the two
/// gives back its own. What is owed at last is what was charged and has not come back.
///
/// Catches a cancel that puts the word from before its charge back, whatever was charged since.
#[test]
fn two_cancelled_at_once_never_give_back_more_than_was_charged() {
    model(4, || {
        let bucket = bucket(3, 9);
        assert!(bucket.check_n(3).is_allowed());
        let reserve = |bucket: &Bucket, n| bucket.reserve(n, WAIT).map(Reservation::cancel).expect("in time");
        let other = spawn(&bucket, move |bucket| reserve(bucket, 1));
        bucket.clock().set(MS);
        let own = reserve(&bucket, 2);
        let other = other.join().expect("what came back");
        assert!([(2, 1), (2, 0), (0, 1)].contains(&(own, other)), "{own}, {other}");
        assert_eq!(full_at(&bucket, MS), (3 + 3 - own - other) * MS);
    });
}
