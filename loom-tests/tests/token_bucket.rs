//! Models of the token bucket. Each runs the one limiter of the crate; no clock stands still.
#![cfg(loom)]

use std::sync::Arc;
use std::time::Duration;

use loom_tests::{Answer, Recorder, ask, granted, model, spawn};
use tollgate::{Limiter, Quota, TokenBucket};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

type Bucket = Limiter<TokenBucket, Recorder>;

/// One permit per `nanos` and a clock that reads `now`.
fn bucket(capacity: u64, nanos: u64, now: u64) -> Arc<Bucket> {
    let quota = Quota::new(1, Duration::from_nanos(nanos));
    let bucket = TokenBucket::new(quota).burst(capacity).clock(Recorder::starting_at(now)).build();
    Arc::new(bucket.expect("a bucket"))
}

/// Asserts that over every span of readings at most `capacity` and a permit per `nanos` are granted.
fn assert_bound(answers: &[Answer], capacity: u64, nanos: u64) {
    for from in answers {
        for until in answers.iter().filter(|until| from.at <= until.at) {
            let granted = granted(answers.iter().filter(|answer| (from.at..=until.at).contains(&answer.at)));
            let bound = capacity + (until.at - from.at) / nanos;
            assert!(granted <= bound, "{granted} > {bound} in {}..={}: {answers:?}", from.at, until.at);
        }
    }
}

/// Asserts that some order of the grants, each at its reading, explains when each leaves the bucket full again and
/// what it leaves; and that what is left at last is what the limiter tells `now`.
fn assert_history(bucket: &Bucket, answers: &[Answer], capacity: u64, nanos: u64, now: u64) {
    let mut grants: Vec<_> = answers.iter().filter(|answer| answer.granted() > 0).collect();
    grants.sort_by_key(|grant| grant.reset_at());
    let mut full_at = 0;
    for grant in grants {
        full_at = grant.at.max(full_at) + grant.cost * nanos;
        assert_eq!(grant.reset_at(), full_at, "{answers:?}");
        let missing = (full_at - grant.at).div_ceil(nanos);
        assert_eq!(Some(grant.remaining()), capacity.checked_sub(missing), "{answers:?}");
    }
    let left = capacity.saturating_sub(full_at.saturating_sub(now).div_ceil(nanos));
    bucket.clock().set(now);
    assert_eq!(bucket.peek(0).remaining(), Some(left), "{answers:?}");
}

/// Whoever asks with a reading from before other grants gets what was left at that reading, not a new refill.
///
/// Catches a word whose times wrap: the stale reading looks like a long time that has passed.
#[test]
fn stale_reading_after_a_refill_creates_no_permit() {
    model(4, || {
        let bucket = bucket(1, MS, 0);
        let late = spawn(&bucket, |bucket| ask(bucket, 1));
        let first = ask(&bucket, 1);
        bucket.clock().set(MS);
        let answers = [first, ask(&bucket, 1), late.join().expect("an answer")];
        assert_eq!(granted(&answers), 2, "{answers:?}");
        assert_history(&bucket, &answers, 1, MS, MS);
    });
}

/// Of three threads that ask at the instant one permit returns, one gets it.
///
/// Catches a charge that is a load and a store, and one that takes another's equal word for its own success.
#[test]
fn last_permit_when_three_threads_ask_is_granted_once() {
    model(3, || {
        let bucket = bucket(1, MS, 0);
        let first = ask(&bucket, 1);
        let others = [(); 2].map(|()| spawn(&bucket, |bucket| ask(bucket, 1)));
        bucket.clock().set(MS);
        let last = ask(&bucket, 1);
        let [second, third] = others.map(|thread| thread.join().expect("an answer"));
        let answers = [first, second, third, last];
        assert_eq!(granted(&answers), 2, "{answers:?}");
        assert_history(&bucket, &answers, 1, MS, MS);
    });
}

/// A thread that sleeps through refills between its reading and its decision is granted what its reading allows.
///
/// Catches a lost exchange that is tried again with the charge computed before.
#[test]
fn long_sleep_across_refills_keeps_the_bound() {
    model(3, || {
        let bucket = bucket(2, MS, 0);
        let one = spawn(&bucket, |bucket| ask(bucket, 1));
        let two = spawn(&bucket, |bucket| ask(bucket, 2));
        bucket.clock().set(MS);
        let first = ask(&bucket, 1);
        bucket.clock().set(3 * MS);
        let second = ask(&bucket, 2);
        let answers = [first, second, one.join().expect("an answer"), two.join().expect("an answer")];
        assert_bound(&answers, 2, MS);
        assert_history(&bucket, &answers, 2, MS, 3 * MS);
        // All is granted again after the longest refill.
        bucket.clock().set(5 * MS);
        assert!(bucket.check_n(2).is_allowed() && !bucket.check().is_allowed());
    });
}

/// What a grant tells to remain is what it left, not what a later one did.
///
/// Catches details that are taken from the state as it is when the exchange is done.
#[test]
fn remaining_when_threads_race_is_each_grants_own() {
    model(3, || {
        let bucket = bucket(3, MS, 0);
        let all = ask(&bucket, 3);
        let others = [1, 1].map(|cost| spawn(&bucket, move |bucket| ask(bucket, cost)));
        bucket.clock().set(3 * MS);
        let last = ask(&bucket, 1);
        let [second, third] = others.map(|thread| thread.join().expect("an answer"));
        assert!(last.granted() == 1, "a permit was lost: {last:?}");
        assert_history(&bucket, &[all, second, third, last], 3, MS, 3 * MS);
    });
}

/// A thread reads the clock and is stopped for longer than the slack, twice, while others use all there is: what it
/// finds is no glitch, and it gives nothing back.
///
/// Catches healing by the reading in hand, healing a word that was loaded after the fresh reading, and healing one that
/// the fresh reading explains.
#[test]
fn sleep_longer_than_the_slack_gives_nothing_back() {
    model(3, || {
        let bucket = bucket(1, 100 * MS, 100 * S);
        let late = spawn(&bucket, |bucket| ask(bucket, 1));
        bucket.clock().set(107 * S);
        let mut answers = vec![ask(&bucket, 1), ask(&bucket, 1)];
        bucket.clock().set(114 * S);
        answers.push(ask(&bucket, 1));
        answers.push(late.join().expect("an answer"));
        answers.push(ask(&bucket, 1));
        for now in [107 * S, 114 * S] {
            assert_eq!(granted(answers.iter().filter(|answer| answer.at == now)), 1, "{answers:?}");
        }
        assert_bound(&answers, 1, 100 * MS);
        // Nor does it take anything away.
        bucket.clock().set(116 * S);
        assert!(bucket.check().is_allowed());
    });
}

/// A word that a glitch has left an hour ahead is healed by whoever comes, to the edge: spent as of the slack from
/// the reading. Two who heal at once heal once, and however late the second is, it takes nobody's grant back.
///
/// Catches healing to "just spent", healing that overwrites what it did not load, and none at all.
#[test]
fn two_healers_of_one_glitch_give_at_most_one_permit() {
    const REFILL: u64 = 100 * MS;
    model(2, || {
        let bucket = bucket(1, REFILL, 3600 * S);
        assert!(bucket.check().is_allowed());
        bucket.clock().set(S);
        let others = [(); 2].map(|()| spawn(&bucket, |bucket| ask(bucket, 1)));
        bucket.clock().set(3 * S);
        let early = ask(&bucket, 1);
        bucket.clock().set(8 * S + REFILL);
        let due = [ask(&bucket, 1), ask(&bucket, 1)];
        let [second, third] = others.map(|thread| thread.join().expect("an answer"));
        let answers = [early, due[0], due[1], second, third, ask(&bucket, 1)];
        let before = answers.iter().filter(|answer| answer.at <= 3 * S);
        assert_eq!(granted(before), 0, "{answers:?}");
        // Only the last reading can be one that is due: 5 s and a refill after the first two.
        assert_eq!(granted(&answers), 1, "{answers:?}");
        bucket.clock().set(14 * S);
        assert!(bucket.check().is_allowed() && !bucket.check().is_allowed());
    });
}
