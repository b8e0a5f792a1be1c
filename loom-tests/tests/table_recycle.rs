//! Models of the keyed table: slots that go from a stale key to another.
#![cfg(loom)]

use loom_tests::table::{Answer, MS, Places, ask_at, ask_for, assert_nobody_found_it_full, buckets, grants};
use loom_tests::{at, model, spawn};

/// A charge of a stale key and the recycling of its slot exclude each other: one of the two keys gets the slot.
///
/// Catches a slot that is freed whatever has become of its word, and a charge of the word of another key.
#[test]
fn charge_and_recycling_of_a_stale_key_exclude_each_other() {
    model(2, || {
        let table = buckets(1, 1);
        ask_at(&table, 1, 0);
        let other = spawn(&table, |table| ask_at(table, 2, 2 * MS));
        let answers = [ask_at(&table, 1, 2 * MS), other.join().expect("the other thread")];
        // A fresh key is never refused by a state of its own.
        assert!(!answers.contains(&Answer::Refused), "{answers:?}");
        assert_eq!(grants(&answers), 1, "{answers:?}");
        assert_eq!(table.live(at(2 * MS)), 1);
    });
}

/// What a call reads of a slot that goes to another key in the meantime decides nothing: a fresh key is told so.
///
/// Catches a decision on the word of another key: one that is not checked against the fingerprint after the word.
#[test]
fn peek_at_a_key_while_its_slot_is_recycled_tells_of_no_other_key() {
    model(3, || {
        let table = buckets(1, 1);
        ask_at(&table, 1, 0);
        let other = spawn(&table, |table| ask_at(table, 2, 2 * MS));
        assert!(table.peek_at(&1, at(2 * MS), 1).is_allowed());
        assert_eq!(other.join().expect("the other thread"), Answer::Granted);
    });
}

/// A key that is asked for while its slot goes to another key is given a new slot, and one permit, not two.
///
/// Catches a slot that is freed whatever has become of its word: the charge in it is lost.
#[test]
fn key_asked_for_while_it_is_recycled_moves_with_its_charge() {
    let [moving, taker, _] = Places::new(2).neighbours;
    model(2, move || {
        let table = buckets(1, 2);
        ask_at(&table, moving, 0);
        let other = spawn(&table, move |table| ask_at(table, taker, 2 * MS));
        let answers = [ask_at(&table, moving, 2 * MS), other.join().expect("the other thread")];
        assert_nobody_found_it_full(&table);
        assert!(!answers.contains(&Answer::Refused), "{answers:?}");
        assert!(grants(&answers) > 0, "{answers:?}");
        for (key, answer) in [moving, taker].into_iter().zip(answers) {
            assert!(answer == Answer::NoRoom || ask_at(&table, key, 2 * MS) == Answer::Refused);
        }
    });
}

/// A thread that slept with an old reading does not revive a key whose slot was recycled in the meantime.
///
/// Catches a recycling that leaves no time in the guard, or leaves it after the slot is free, and an insertion that
/// does not stamp the slot with it: at 1 ns a bucket of one grants twice.
#[test]
fn sleeper_does_not_revive_a_recycled_key() {
    let [revived, taker, _] = Places::new(2).neighbours;
    model(3, move || {
        let table = buckets(1, 2);
        assert_eq!(ask_at(&table, revived, 1), Answer::Granted);
        let sleeper = spawn(&table, move |table| ask_at(table, revived, 0));
        assert_eq!(ask_at(&table, taker, 2 * MS), Answer::Granted);
        assert_eq!(sleeper.join().expect("the sleeper"), Answer::Refused);
        assert_eq!(ask_at(&table, revived, 2 * MS), Answer::Granted);
        assert_eq!(ask_at(&table, revived, 2 * MS), Answer::Refused);
    });
}

/// A key that is inserted anew is stamped for everyone, not only for the thread that inserts it.
///
/// Catches a stamp that the inserter takes for its own decision and does not leave in the slot: another thread that
/// meets the slot before its first charge is granted a permit as of 1 ns, the second.
#[test]
fn older_reading_meets_no_full_bucket_in_a_slot_inserted_anew() {
    let [revived, taker, _] = Places::new(2).neighbours;
    model(2, move || {
        let table = buckets(1, 2);
        assert_eq!(ask_at(&table, revived, 1), Answer::Granted);
        assert_eq!(ask_at(&table, taker, 2 * MS), Answer::Granted);
        let sleeper = spawn(&table, move |table| ask_at(table, revived, 1));
        let late = ask_at(&table, revived, 2 * MS);
        let early = sleeper.join().expect("the sleeper");
        assert_nobody_found_it_full(&table);
        assert_ne!(early, Answer::Granted);
        let then = ask_at(&table, revived, 2 * MS);
        assert_eq!(grants(&[late, then]), 1, "{late:?}, {then:?}");
    });
}

/// A refusal is decided by a word of its own key, also if the slot has been another's and come back.
///
/// Catches a refusal that is not confirmed: the key waits for what another key owes.
#[test]
fn refusal_after_a_slot_has_come_back_is_of_the_keys_own_word() {
    model(2, || {
        let table = buckets(1, 1);
        ask_at(&table, 1, 0);
        // Between the refills of the two keys.
        let now = 2 * MS + MS / 2;
        let reader = spawn(&table, move |table| table.peek_at(&1, at(now), 1));
        assert_eq!(ask_at(&table, 2, 2 * MS), Answer::Granted);
        assert_eq!(ask_at(&table, 1, 4 * MS), Answer::Granted);
        let decision = reader.join().expect("the reader");
        if !decision.is_allowed() {
            // By the state that was recycled as of 4 ms, before its first charge or after.
            let full_at = now + decision.retry_after_nanos().expect("a wait");
            assert!([4 * MS, 5 * MS].contains(&full_at), "told to wait until {full_at} ns");
        }
    });
}

/// A slot whose key has been inserted but not charged may go to another key too, after the slack; the charge that
/// comes late is not made to that one's state.
///
/// Catches a free slot that keeps the stamp of the key it was taken from: the late exchange finds its word again. (The
/// other key is of another guard. In one guard the time of the recycling would stamp the slot.)
#[test]
fn slot_recycled_before_its_first_charge_is_not_charged_for_the_key_before() {
    const LATER: u64 = 5_002 * MS;

    let Places { neighbours: [tenant, key, _], elsewhere } = Places::new(2);
    let taker = elsewhere[0];
    model(2, move || {
        let table = buckets(10_000, 2);
        // Live for 10 s, in the near line of the key, which spills into the taker's.
        assert_eq!(ask_for(&table, tenant, 10_000, 0), Answer::Granted);
        let moved = spawn(&table, move |table| ask_for(table, taker, 10_000, LATER));
        let own = ask_for(&table, key, 10_000, 0);
        let moved = moved.join().expect("the taker");
        assert_ne!(moved, Answer::Refused, "{own:?}");
        assert!(grants(&[own, moved]) < 2, "{own:?}, {moved:?}");
        // The taker has found no room only if the key before was charged, or took its slot back, or held it.
        let was_held = table.stats().contended > 0;
        assert!(moved == Answer::Granted || own != Answer::NoRoom || was_held, "{own:?}, {moved:?}");
    });
}

/// Who finishes an insertion of others finishes that one, and not a later one in the same slot.
///
/// Catches a finisher that does not look at the guard again, and an inserter that takes a slot whose last insertion
/// nobody has finished: a slot is published while it is still held, for the key it was last for.
#[test]
fn late_finisher_publishes_no_slot_that_is_held() {
    let [first, second, _] = Places::new(2).neighbours;
    model(2, move || {
        let table = buckets(1, 2);
        let other = spawn(&table, move |table| {
            let early = ask_at(table, first, 0);
            (early, ask_at(table, second, 2 * MS))
        });
        let own = ask_at(&table, first, 2 * MS);
        let (early, second) = other.join().expect("the other thread");
        assert_nobody_found_it_full(&table);
        let stats = table.stats();
        // Only an early reading can be refused.
        assert!(own != Answer::Refused && second != Answer::Refused, "{own:?}, {early:?}, {second:?}");
        assert_eq!(table.live(at(2 * MS)), grants(&[own, second]), "{own:?}, {early:?}, {second:?}");
        assert!(stats.occupied() == 2 || stats.contended > 0, "{stats:?}");
    });
}

/// A slot that another thread is freeing is found, stale or free: nobody says "full" who could have had it.
///
/// Catches a search that looks for free slots first and for stale ones later, and misses the one that goes from stale
/// to free in between.
#[test]
fn slot_that_is_being_freed_is_not_counted_as_full() {
    let Places { neighbours: [key, stale, _], elsewhere } = Places::new(3);
    model(1, move || {
        let table = buckets(2, 3);
        ask_at(&table, stale, 0);
        for live in &elsewhere {
            assert_eq!(ask_for(&table, *live, 2, 2 * MS), Answer::Granted);
        }
        let other = spawn(&table, move |table| ask_at(table, key, 2 * MS));
        let answers = [ask_at(&table, key, 2 * MS), other.join().expect("the other thread")];
        assert_nobody_found_it_full(&table);
        assert!(grants(&answers) > 0 && !answers.contains(&Answer::Refused), "{answers:?}");
    });
}
