//! A clock that in one thread is far ahead, for single readings now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oracle::SLACK;

use crate::erring_clock::err;
use crate::promises::on_each_promise;
use crate::race::{hammer_by, race};
use crate::{NANOS_PER_S, THREADS, repeat};

const LIMIT: u64 = 8;
const PERIOD: u64 = NANOS_PER_S;
const GLITCH: u64 = 3600 * NANOS_PER_S;
/// From one glitch to the next: time for the states to be right again in between.
const PAUSE: u64 = 8 * NANOS_PER_S;
const SPAN: u64 = 16 * NANOS_PER_S;

#[test]
fn glitches_of_one_thread_cost_at_most_one_limit_each() {
    let all_glitches = AtomicU64::new(0);
    repeat(|| {
        for threads in THREADS {
            on_each_promise(LIMIT, PERIOD, |stream, promise| {
                let glitches = Arc::new(AtomicU64::new(0));
                let begin = stream.clock.right();
                let grants = hammer_by(
                    || stream.clock.right(),
                    threads,
                    stream,
                    SPAN,
                    |thread| {
                        if thread == 0 {
                            let (glitches, mut next) = (Arc::clone(&glitches), begin + PAUSE / 2);
                            err(move |right| {
                                if right < next {
                                    return right;
                                }
                                next = right + PAUSE;
                                glitches.fetch_add(1, Ordering::Relaxed);
                                right + GLITCH
                            });
                        }
                        1 + thread as u64 % 3
                    },
                );
                let granted: u64 = grants.iter().map(|grant| grant.permits).sum();
                let most = (promise.bound)(begin, stream.clock.right());
                let glitches = glitches.load(Ordering::Relaxed);
                all_glitches.fetch_add(glitches, Ordering::Relaxed);
                assert!(
                    granted <= most + glitches * LIMIT,
                    "{granted} of {most} permits, {glitches} glitches"
                );
            });
        }
    });
    assert!(all_glitches.into_inner() > 0, "the clock was right all the time");
}

/// One request, and the right time before and after it.
#[derive(Clone, Copy)]
struct Asked {
    from: u64,
    to: u64,
    is_allowed: bool,
}

/// Nobody is granted anything within the slack. Whoever asks once the slack and a refill have passed since the first
/// request at the right time is refused only if another has been granted.
#[test]
fn key_works_again_after_slack_and_a_refill_once_the_clock_is_right() {
    repeat(|| {
        for threads in THREADS {
            on_each_promise(LIMIT, PERIOD, |stream, promise| {
                let now = || stream.clock.right();
                race(1, |_| {
                    err(|right| right + GLITCH);
                    assert!(stream.check(LIMIT).is_allowed());
                });
                let refill = SLACK + promise.refill;
                let asked = race(threads, |_| {
                    let mut asked: Vec<Asked> = Vec::new();
                    loop {
                        let from = now();
                        let is_allowed = stream.check(1).is_allowed();
                        asked.push(Asked { from, to: now(), is_allowed });
                        if from > asked[0].to + refill {
                            return asked;
                        }
                    }
                });
                let asked = asked.concat();
                let granted = asked.iter().filter(|asked| asked.is_allowed);
                let granted = granted.min_by_key(|asked| asked.from).expect("a grant in time");
                let begin = asked.iter().map(|asked| asked.from).min().expect("each thread asks");
                assert!(
                    granted.to >= begin + SLACK,
                    "granted {} ns after the first call",
                    granted.to - begin
                );
                let first = asked.iter().map(|asked| asked.to).min().expect("each thread asks");
                let late = asked.iter().find(|asked| {
                    asked.from >= first + refill && !asked.is_allowed && asked.to < granted.from
                });
                assert!(late.is_none(), "refused {:?} ns late", late.map(|late| late.from - first));
            });
        }
    });
}
