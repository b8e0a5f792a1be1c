//! A thread reads the clock, is stopped, and decides with that reading much later.

use tollgate::{
    Algorithm, Builder, FixedWindow, ManualClock, Outcome, Quota, RandomSipHash, SlidingCounter, SlidingLog,
    TokenBucket,
};

use crate::scripted_clock::ScriptedClock;
use crate::stream::{Stream, on_each_algorithm};
use crate::{NANOS_PER_MS, NANOS_PER_S};

fn ask_late(stream: &Stream<'_, ScriptedClock>, reading: u64, n: u64) -> Outcome {
    stream.clock.read_once(reading);
    stream.check(n).outcome()
}

#[test]
fn late_reading_after_a_grant_is_refused() {
    let quota = "1/ms".parse().expect("a quota");
    on_each_algorithm(quota, ManualClock::new, |stream| {
        assert!(stream.check_at(0, 1).is_allowed());
        // 1 ns after the period, when the counter too has forgotten the first.
        assert!(stream.check_at(NANOS_PER_MS + 1, 1).is_allowed());
        assert_eq!(stream.check_at(0, 1).outcome(), Outcome::Denied);
        assert_eq!(stream.check_at(NANOS_PER_MS + 1, 1).outcome(), Outcome::Denied);
    });
}

/// 7 s are more than any clock is trusted to differ: the state looks like that of a clock that erred.
#[test]
fn late_reading_of_7_s_ago_heals_nothing() {
    on_each_algorithm(Quota::per_second(10), ScriptedClock::default, |stream| {
        stream.clock.set(107 * NANOS_PER_S);
        assert!(stream.check(10).is_allowed());
        assert_eq!(ask_late(stream, 100 * NANOS_PER_S, 1), Outcome::Denied);
        assert_eq!(ask_late(stream, 100 * NANOS_PER_S, 10), Outcome::Denied);
        assert_eq!(stream.check(1).outcome(), Outcome::Denied);
    });
}

/// The key is inserted again as of when it was recycled, not as of the late reading.
#[test]
fn late_reading_for_a_recycled_key_gets_no_second_burst() {
    let quota = "1/ms".parse().expect("a quota");
    revive_late(|clock| TokenBucket::new(quota).clock(clock));
    revive_late(|clock| FixedWindow::new(quota).clock(clock));
    revive_late(|clock| SlidingCounter::new(quota).clock(clock));
    revive_late(|clock| SlidingLog::new(quota).clock(clock));
}

fn revive_late<A: Algorithm>(limiter: impl Fn(ScriptedClock) -> Builder<A, ScriptedClock>) {
    const OLD: [&str; 4] = ["a", "b", "c", "d"];
    const NEW: [&str; 3] = ["e", "f", "g"];
    for key in OLD {
        for newcomers in 1..=NEW.len() {
            let clock = ScriptedClock::default();
            // A table of four slots: some newcomer takes the key's.
            let limiter = limiter(clock.clone()).keyed::<str>(1).build().expect("a limiter");
            clock.set(1);
            assert!(OLD.iter().all(|key| limiter.check(*key).is_allowed()));
            clock.set(2 * NANOS_PER_MS);
            assert!(NEW.iter().take(newcomers).all(|key| limiter.check(*key).is_allowed()));

            clock.read_once(0);
            let late = limiter.check(key).is_allowed();
            let punctual = limiter.check(key).is_allowed();
            assert!(late ^ punctual, "key {key}, {newcomers} newcomers: {late}, {punctual}");
        }
    }
}

/// A slot that nobody has ever had knows of no time before which the key must not be inserted.
#[test]
fn late_reading_for_a_recycled_key_gets_no_second_burst_from_an_unused_slot() {
    let quota = "1/ms".parse().expect("a quota");
    revive_late_elsewhere(|clock| TokenBucket::new(quota).clock(clock));
    revive_late_elsewhere(|clock| FixedWindow::new(quota).clock(clock));
    revive_late_elsewhere(|clock| SlidingCounter::new(quota).clock(clock));
    revive_late_elsewhere(|clock| SlidingLog::new(quota).clock(clock));
}

fn revive_late_elsewhere<A: Algorithm>(limiter: impl FnOnce(ScriptedClock) -> Builder<A, ScriptedClock>) {
    let clock = ScriptedClock::default();
    // So full that some newcomers find no free slot near, and so empty that many of those they displace do.
    let builder = limiter(clock.clone()).keyed::<u64>(1000).with_hasher(RandomSipHash::with_key([1, 2]));
    let table = builder.build().expect("a limiter");
    let (old, new) = (0..1250, 1250..1350);
    clock.set(1);
    assert!(old.clone().all(|key| table.check(&key).is_allowed()));
    clock.set(3 * NANOS_PER_MS);
    assert!(new.filter(|key| table.check(key).is_allowed()).count() > 50);
    assert!(table.stats().recycled > 0);

    let mut revived = 0;
    for key in old {
        clock.read_once(0);
        let late = table.check(&key).is_allowed();
        let punctual = table.check(&key).is_allowed();
        assert!(late ^ punctual, "key {key}: {late}, {punctual}");
        revived += u32::from(late);
    }
    assert!(revived > 0);
}

/// A newcomer's first reading is an hour ahead of what the clock says right after.
#[test]
fn reading_far_ahead_takes_no_slot_from_a_key_in_debt() {
    keep_slots(|clock| TokenBucket::new(Quota::per_minute(2)).clock(clock));
    keep_slots(|clock| FixedWindow::new(Quota::per_minute(2)).clock(clock));
    keep_slots(|clock| SlidingCounter::new(Quota::per_minute(2)).clock(clock));
    keep_slots(|clock| SlidingLog::new(Quota::per_minute(2)).clock(clock));
}

fn keep_slots<A: Algorithm>(limiter: impl Fn(ScriptedClock) -> Builder<A, ScriptedClock>) {
    let clock = ScriptedClock::default();
    let limiter = limiter(clock.clone()).keyed::<str>(1).build().expect("a limiter");
    clock.set(NANOS_PER_S);
    let keys = ["a", "b", "c", "d"];
    assert!(keys.iter().all(|key| limiter.check_n(*key, 2).is_allowed()));
    clock.read_once(3600 * NANOS_PER_S);
    assert!(limiter.check("newcomer").overflowed());
    assert!(keys.iter().all(|key| limiter.check(*key).outcome() == Outcome::Denied));
    assert_eq!(limiter.stats().recycled, 0);
}
