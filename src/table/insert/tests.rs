//! Insertion step by step, without a second thread: what another would have left half done is made by hand.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::*;
use crate::algorithm::Algorithm;
use crate::table::shape::WAYS;
use crate::table::tests::key;
use crate::{Instant, ManualClock, Quota, TokenBucket};

type Bucket = <TokenBucket as Algorithm>::Policy;

const NANOS_PER_S: u64 = 1_000_000_000;
const NOW: u64 = 1000 * NANOS_PER_S;

/// Buckets of one permit, full again after a second.
fn table(keys: usize) -> Table<Bucket> {
    let policy = TokenBucket::new(Quota::per_second(1)).policy(&ManualClock::new()).expect("a policy");
    Table::new(policy, keys).expect("a table")
}

fn given(now: u64) -> Readings<'static, ManualClock> {
    Readings::given(Instant::from_nanos(now))
}

/// Makes the slot a key's, whose bucket is full at `full_at`.
fn occupy(slot: Slot<'_>, fingerprint: Fingerprint, full_at: u64) {
    set(slot, fingerprint, Word::live(full_at));
}

fn set(slot: Slot<'_>, fingerprint: Fingerprint, word: Word) {
    slot.inscribe(fingerprint);
    slot.state.exchange(slot.state.load(), word).expect("nobody else writes");
}

fn all_slots<P: Policy>(table: &Table<P>) -> impl Iterator<Item = Slot<'_>> {
    (0..table.shape.lines()).flat_map(|line| table.slots_of(line))
}

/// Every slot a key's, from the 100th on, whose bucket is full at `full_at`.
fn occupy_all(table: &Table<Bucket>, full_at: u64) {
    for (slot, number) in all_slots(table).zip(100..) {
        occupy(slot, key(number), full_at);
    }
}

/// What an inserter does before it commits.
fn hold(table: &Table<Bucket>, fingerprint: Fingerprint, now: u64) -> Seat<'_> {
    let probes = table.shape.probes(fingerprint);
    let Room::Vacant(seat) = table.find_room(&probes, &given(now)) else { panic!("no room") };
    table.take(seat, fingerprint, &given(now)).expect("a vacant slot")
}

/// An inserter that is stopped as soon as it has committed.
fn commit(table: &Table<Bucket>, fingerprint: Fingerprint, now: u64) -> (Seat<'_>, GuardWord) {
    let seat = hold(table, fingerprint, now);
    let guard = table.guard(fingerprint);
    let committed = guard.commit(guard.load(), seat.slot.number, false).expect("nobody else commits");
    (seat, committed)
}

fn locate<'t, C: Clock>(
    table: &'t Table<Bucket>,
    fingerprint: Fingerprint,
    readings: &mut Readings<'_, C>,
) -> Result<Located<'t>, Full> {
    table.locate(&table.shape.probes(fingerprint), fingerprint, readings)
}

fn find(table: &Table<Bucket>, fingerprint: Fingerprint) -> Option<Located<'_>> {
    table.find_near(&table.shape.probes(fingerprint), fingerprint)
}

type Something = Box<dyn FnOnce() + Send>;

/// A clock that stands at a time, and on which something can happen while it is read.
#[derive(Clone)]
struct Interrupted {
    clock: ManualClock,
    meanwhile: Arc<Mutex<Option<Something>>>,
}

impl Interrupted {
    fn at(now: u64) -> Self {
        let interrupted = Self { clock: ManualClock::new(), meanwhile: Arc::default() };
        interrupted.set(now);
        interrupted
    }

    fn set(&self, now: u64) {
        self.clock.set(Instant::from_nanos(now));
    }

    fn something(&self) -> MutexGuard<'_, Option<Something>> {
        self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Done while the clock is read next.
    fn meanwhile(&self, something: impl FnOnce() + Send + 'static) {
        *self.something() = Some(Box::new(something));
    }
}

impl fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clock.fmt(f)
    }
}

impl Clock for Interrupted {
    fn now(&self) -> Instant {
        let something = self.something().take();
        if let Some(something) = something {
            something();
        }
        self.clock.now()
    }
}

#[test]
fn a_key_whose_inserter_stopped_after_its_commit_is_inserted_by_the_next_one() {
    let table = table(1);
    let (seat, committed) = commit(&table, key(1), NOW);
    assert!(find(&table, key(1)).is_none(), "found before it is inserted");
    let other = locate(&table, key(2), &mut given(NOW)).expect("room");
    let found = find(&table, key(1)).expect("inserted");
    assert_eq!((found.slot.number, found.word), (seat.slot.number, Word::new(Tag::Newborn, 0)));
    assert_ne!(other.slot.number, seat.slot.number);
    assert_eq!(table.guard(key(1)).load().in_progress(), None);
    // The one that was stopped comes back, and finds nothing left to do.
    let after = table.guard(key(1)).load();
    table.finish(table.guard(key(1)), committed);
    assert_eq!(
        (find(&table, key(1)).map(|found| found.word), table.guard(key(1)).load()),
        (Some(found.word), after)
    );
}

#[test]
fn a_guard_whose_inserter_stopped_before_it_moved_on_is_moved_on_by_the_next_one() {
    let table = table(1);
    let (seat, _) = commit(&table, key(1), NOW);
    occupy(seat.slot, key(1), NOW + NANOS_PER_S);
    let _ = locate(&table, key(2), &mut given(NOW)).expect("room");
    assert_eq!(table.guard(key(1)).load().in_progress(), None);
    assert_eq!(find(&table, key(1)).map(|found| found.word), Some(Word::live(NOW + NANOS_PER_S)));
}

#[test]
fn whoever_finishes_an_insertion_late_leaves_the_next_hold_of_the_slot_alone() {
    let table = table(1);
    let (seat, committed) = commit(&table, key(1), NOW);
    table.finish(table.guard(key(1)), committed);
    set(seat.slot, key(2), Word::new(Tag::Held, NOW));
    table.finish(table.guard(key(1)), committed);
    assert_eq!(seat.slot.state.load(), Word::new(Tag::Held, NOW));
}

#[test]
fn a_slot_taken_again_before_its_insertion_was_finished_is_no_longer_in_progress() {
    let table = table(1);
    let (seat, committed) = commit(&table, key(1), NOW);
    occupy(seat.slot, key(1), NOW);
    let stale = Seat { word: Word::live(NOW), ..seat };
    let taken = table.take(stale, key(2), &given(NOW + 1)).expect("a stale slot");
    assert_eq!(taken.word, Word::new(Tag::Held, NOW + 1));
    assert_eq!(table.guard(key(1)).load().in_progress(), None);
    table.finish(table.guard(key(1)), committed);
    assert_eq!(seat.slot.state.load(), taken.word);
}

#[test]
fn a_slot_that_changed_is_not_taken() {
    let table = table(1);
    let slot = table.numbered(0);
    occupy(slot, key(1), NOW);
    let seat = |word| Seat { slot, word, is_spilled: false };
    assert!(table.take(seat(Word::from_raw(0)), key(2), &given(NOW + 1)).is_none(), "free once");
    assert!(table.take(seat(Word::live(NOW - 1)), key(2), &given(NOW + 1)).is_none(), "stale once");
    assert!(table.take(seat(Word::live(NOW)), key(2), &given(NOW)).is_none(), "not stale yet");
    assert_eq!((slot.fingerprint(), slot.state.load()), (key(1).get(), Word::live(NOW)));
    assert_eq!(table.stats.snapshot().recycled, 0);
}

#[test]
fn a_slot_given_back_is_no_keys_and_takes_the_next() {
    let table = table(1);
    let seat = hold(&table, key(1), NOW);
    give_back(Some(seat));
    assert_eq!(seat.slot.state.load().tag(), Tag::Free);
    assert!(find(&table, key(1)).is_none());
    let taken = hold(&table, key(2), NOW);
    assert_eq!(taken.slot.number, seat.slot.number);
}

#[test]
fn an_inserter_overtaken_by_another_of_its_key_gives_its_slot_back() {
    let table = Arc::new(table(1));
    let (clock, other) = (Interrupted::at(NOW), table.clone());
    // So that it reads the clock between taking a slot and its commit.
    table.guard(key(1)).raise_newest(NOW + 1);
    let mut readings = Readings::of(&clock);
    clock.meanwhile(move || assert!(locate(&other, key(1), &mut given(NOW + 1)).is_ok()));
    let found = locate(&table, key(1), &mut readings).expect("room");
    let owned: Vec<_> = all_slots(&table).filter(|slot| slot.state.load().is_owned()).collect();
    assert_eq!(owned.iter().map(|slot| slot.number).collect::<Vec<_>>(), [found.slot.number]);
    assert!(all_slots(&table).all(|slot| slot.state.load().tag() != Tag::Held));
    assert_eq!(table.stats.snapshot().inserted, 1);
}

#[test]
fn a_key_inserted_elsewhere_while_there_was_no_room_is_found() {
    let table = Arc::new(table(1));
    occupy_all(&table, NOW);
    let clock = Interrupted::at(NOW);
    let (mut readings, other) = (Readings::of(&clock), table.clone());
    clock.meanwhile(move || assert!(locate(&other, key(1), &mut given(NOW + 1)).is_ok()));
    // By its own reading no slot is stale.
    let found = locate(&table, key(1), &mut readings).expect("inserted");
    assert_eq!(found.word, Word::new(Tag::Newborn, NOW + 1));
    assert_eq!(table.stats.snapshot().inserted, 1);
}

#[test]
fn a_full_table_tells_when_its_next_slot_is_free_and_is_not_contended() {
    let table = table(1);
    for (slot, full_at) in all_slots(&table).zip([NOW + 7, NOW + 5, NOW + 6, NOW + 8]) {
        occupy(slot, key(100 + full_at), full_at);
    }
    let full = locate(&table, key(1), &mut given(NOW + 5)).expect_err("full");
    assert_eq!(full.free_at, Some(NOW + 6));
    assert_eq!(table.stats.snapshot().contended, 0);
    let located = locate(&table, key(1), &mut given(NOW + 6)).expect("a stale slot");
    assert_eq!((located.slot.number, located.word), (1, Word::new(Tag::Newborn, NOW + 6)));
}

#[test]
fn a_slot_held_for_as_long_as_it_is_waited_for_counts_as_contended() {
    let table = table(1);
    let holds: Vec<_> = (0..WAYS as u64).map(|number| hold(&table, key(100 + number), NOW)).collect();
    let full = locate(&table, key(1), &mut given(NOW)).expect_err("full");
    assert_eq!((full.free_at, table.stats.snapshot().contended), (Some(0), 1));
    give_back(holds.first().copied());
    let found = locate(&table, key(1), &mut given(NOW)).expect("a slot given back");
    assert_eq!(found.slot.number, holds[0].slot.number);
}

#[test]
fn a_slot_held_in_the_window_alone_is_waited_for() {
    let table = table(8);
    let lines = table.shape.lines();
    let is_far = |line: &usize, number| !table.shape.probes(key(number)).all_near().any(|near| near == *line);
    let (newcomer, far) = (1..)
        .find_map(|number| (0..lines).find(|line| is_far(line, number)).map(|line| (key(number), line)))
        .expect("a line that is not near");
    occupy_all(&table, NOW);
    set(table.slot(far, 0), key(2), Word::new(Tag::Held, 0));
    assert!(locate(&table, newcomer, &mut given(NOW)).is_err());
    assert_eq!(table.stats.snapshot().contended, 1);
}

#[test]
fn a_slot_that_changes_while_it_is_looked_at_is_unsettled() {
    let table = table(1);
    occupy_all(&table, NOW);
    assert!(!table.best_of(0..1, |_, _| false).is_unsettled);
    let offer = table.best_of(0..1, |slot, word| {
        slot.number == 0 && slot.state.exchange(word, Word::live(NOW + 1)).is_err()
    });
    assert!(offer.best.is_none() && offer.is_unsettled);
}

#[test]
fn a_new_key_goes_to_the_least_taken_line_or_at_once_to_one_that_is_lightly_taken() {
    let is_free = |_: Slot<'_>, word: Word| word.tag() == Tag::Free;
    for (taken, best) in [
        ([0, 0, 0], Some((0, 0))),
        ([1, 0, 0], Some((0, 1))),
        ([2, 1, 0], Some((1, 1))),
        ([2, 2, 2], Some((0, 2))),
        ([3, 2, 2], Some((1, 2))),
        ([3, 3, 2], Some((2, 2))),
        ([2, 3, 3], Some((0, 2))),
        ([4, 4, 3], Some((2, 3))),
        ([4, 4, 4], None),
    ] {
        let table = table(8);
        for (line, taken) in taken.into_iter().enumerate() {
            for slot in table.slots_of(line).take(taken) {
                occupy(slot, key(1), NOW);
            }
        }
        let offer = table.best_of(0..3, is_free).best;
        let chosen = offer.map(|(slot, _, taken)| (slot.number / WAYS, taken));
        assert_eq!(chosen, best, "{taken:?}");
        let first = offer.is_none_or(|(slot, ..)| slot.number % WAYS == taken[slot.number / WAYS]);
        assert!(first, "{taken:?}: not the first vacant slot of its line");
    }
}

#[test]
fn a_key_just_inserted_keeps_its_slot_for_the_slack() {
    let table = table(1);
    let slot = table.numbered(0);
    let newborn = Word::new(Tag::Newborn, NOW);
    assert_eq!(table.recyclable(slot, newborn, SLACK_NANOS - 1), None, "before time began");
    assert_eq!(table.recyclable(slot, newborn, NOW + SLACK_NANOS), None);
    let as_of = NOW + 1;
    assert_eq!(table.recyclable(slot, newborn, as_of + SLACK_NANOS), Some((as_of, as_of)));
    assert_eq!(table.recyclable(slot, Word::live(NOW), as_of), Some((as_of, as_of)));
}

#[test]
fn a_slot_is_stale_by_the_older_of_two_readings() {
    let clock = Interrupted::at(NOW);
    let readings = Readings::of(&clock);
    for (fresh, time) in [(NOW - 1, NOW - 1), (NOW, NOW), (NOW + 1, NOW)] {
        clock.set(fresh);
        assert_eq!(recycling_time(&readings), time);
    }
}

#[test]
fn a_key_that_comes_back_is_stamped_with_its_recycling() {
    let table = table(1);
    let (returning, other) = (key(1), key(2));
    for slot in all_slots(&table) {
        occupy(slot, returning, NOW);
    }
    let taken = locate(&table, other, &mut given(NOW + 5)).expect("a stale slot");
    assert_eq!(taken.word, Word::new(Tag::Newborn, NOW + 5));
    set(table.numbered(3), returning, Word::from_raw(0));
    for slot in all_slots(&table).take(3) {
        occupy(slot, other, NOW + 5);
    }
    let back = locate(&table, returning, &mut given(NOW)).expect("a free slot");
    assert_eq!((back.slot.number, back.word), (3, Word::new(Tag::Newborn, NOW + 5)));
    assert_eq!(back.slot.state.load(), back.word);
}

#[test]
fn a_recycling_later_than_the_reading_is_seen_by_a_fresh_one() {
    let table = table(1);
    let guard = table.guard(key(1));
    guard.raise_newest(NOW);
    let clock = Interrupted::at(0);
    for (reading, fresh, now_after) in
        [(NOW + 1, NOW + 9, NOW + 1), (NOW, NOW + 9, NOW), (NOW - 1, NOW + 9, NOW + 9)]
    {
        clock.set(reading);
        let mut readings = Readings::of(&clock);
        clock.set(fresh);
        assert_eq!((newest(guard, &mut readings), readings.now()), (NOW, now_after));
    }
}

#[test]
fn a_recycling_further_ahead_than_the_slack_is_healed_on_the_clock_alone() {
    let table = table(1);
    let guard = table.guard(key(1));
    let clock = Interrupted::at(NOW);
    let edge = NOW + SLACK_NANOS;
    guard.raise_newest(edge);
    assert_eq!(newest(guard, &mut Readings::of(&clock)), edge);
    guard.raise_newest(edge + 1);
    assert_eq!(newest(guard, &mut given(NOW)), edge + 1, "the caller's time is the caller's word");
    assert_eq!(newest(guard, &mut Readings::of(&clock)), edge);
    assert_eq!(guard.newest(), edge);
}

#[test]
fn a_table_full_of_keys_ahead_of_the_clock_heals_them_and_nothing_else() {
    let table = table(1);
    let clock = Interrupted::at(NOW);
    let ahead = NOW + SLACK_NANOS + NANOS_PER_S + 1;
    let words = [
        Word::live(ahead),
        Word::new(Tag::Held, ahead),
        Word::live(ahead - 1),
        Word::new(Tag::Newborn, ahead),
    ];
    for (slot, word) in all_slots(&table).zip(words) {
        set(slot, key(100), word);
    }
    let now_in = || all_slots(&table).map(|slot| slot.state.load()).collect::<Vec<_>>();
    let (guard, probes) = (table.guard(key(1)), table.shape.probes(key(1)));
    guard.raise_newest(ahead);
    table.heal_all(guard, &probes, &mut given(NOW));
    assert_eq!((now_in(), guard.newest()), (words.to_vec(), ahead), "the caller's time heals nothing");
    table.heal_all(guard, &probes, &mut Readings::of(&clock));
    let edge = Word::live(ahead - 1);
    assert_eq!((now_in(), guard.newest()), (vec![edge, words[1], edge, edge], NOW + SLACK_NANOS));
}

#[test]
fn whoever_waits_while_a_stopped_inserter_holds_the_last_slot_gives_up_at_the_deadline() {
    use core::future::Future;
    use core::task::{Context, Poll, Waker};
    use core::time::Duration;

    use crate::{Clock, Keyed, Patience, Timer};

    /// Moves the clock on; counts.
    struct Sleeper(ManualClock, Mutex<usize>);

    impl Timer for Sleeper {
        async fn sleep(&self, duration: Duration) {
            assert!(self.0.now().as_nanos() < 1000, "the deadline has passed");
            self.0.advance(duration);
            *self.1.lock().expect("nobody panicked") += 1;
        }
    }

    let clock = ManualClock::new();
    let bucket = TokenBucket::new(Quota::per_day(1)).clock(clock.clone());
    let keyed: Keyed<TokenBucket, u64, _> = bucket.keyed(1).build().expect("a quota that fits");
    for number in 0..64 {
        let _ = keyed.check(&number);
    }
    assert!(keyed.stats().overflowed > 0, "the table is full");
    set(all_slots(&keyed.table).next().expect("a slot"), key(5), Word::new(Tag::Held, 0));
    let timer = Sleeper(clock.clone(), Mutex::new(0));
    let patience = Patience::until(Instant::from_nanos(1000));
    let waits = core::pin::pin!(keyed.acquire(&1000, 1, patience, &timer));
    let Poll::Ready(result) = waits.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the timer has no end")
    };
    assert!(result.is_err());
    // 1 ns and twice as long each time, up to 512 ns, and a rest.
    assert_eq!((clock.now().as_nanos(), *timer.1.lock().expect("nobody panicked")), (1000, 10));
}
