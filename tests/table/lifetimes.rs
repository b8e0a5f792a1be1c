//! Full tables, at the ns at which a slot is free again and at the ns before.

use std::time::Duration;

use oracle::limiters::Visit;
use oracle::reference::Reference;
use oracle::vectors::{Answer, Rule};
use tollgate::{
    Algorithm, Decision, FixedWindow, Instant, Keyed, Limiter, ManualClock, Outcome, Quota, RandomSipHash,
};

use crate::stale::{rules, stale_at};

/// Declared keys of tables in which every key may lie in every slot: a line of four, and eight.
const DECLARED: [usize; 2] = [1, 22];

/// A table with one state for each key that is live.
struct Occupied<A: Algorithm> {
    table: Keyed<A, u64>,
    rule: Rule,
    slots: usize,
    states: Vec<(u64, Reference)>,
    /// The name of the next key.
    next: u64,
}

impl<A: Algorithm> Occupied<A> {
    fn new(rule: Rule, table: Keyed<A, u64>) -> Self {
        let slots = table.capacity() * 16 / 11;
        Self { table, rule, slots: slots.next_multiple_of(4), states: Vec::new(), next: 0 }
    }

    fn horizon(&self) -> u64 {
        self.table.horizon().as_nanos()
    }

    /// Asks for a key that has never been asked for.
    fn check_newcomer(&mut self, now: u64, cost: u64) -> Decision {
        let decision = self.table.check_at(&self.next, Instant::from_nanos(now), cost);
        if !decision.overflowed() {
            let mut state = Reference::new(self.rule, self.horizon());
            assert_eq!(Answer::from(decision), state.call(now, cost), "key {} at {now}", self.next);
            self.states.push((self.next, state));
        }
        self.next += 1;
        decision
    }

    /// Gives every slot that is free or stale to a newcomer. Their costs differ, and so the time they need.
    fn fill(&mut self, now: u64) {
        self.states.retain(|(_, state)| !state.is_stale(now));
        while self.states.len() < self.slots {
            let limit = self.table.peek_at(&0, Instant::ORIGIN, 0).limit();
            let cost = 1 + self.next % limit;
            let decision = self.check_newcomer(now, cost);
            assert!(!decision.overflowed(), "{} of {} slots taken at {now}", self.states.len(), self.slots);
        }
        self.assert_full(now);
    }

    /// Newcomers are told to wait until the first state is stale, and those that have a slot are answered by it.
    fn assert_full(&mut self, now: u64) {
        assert_eq!(self.table.live(Instant::from_nanos(now)), self.slots);
        let wait = self.next_free_at().map(|at| at - now.min(self.horizon()));
        let decision = self.check_newcomer(now, 1);
        assert!(decision.overflowed(), "a slot at {now}");
        let expected = Answer { outcome: Outcome::Denied, remaining: Some(0), retry: wait, reset: wait };
        assert_eq!(Answer::from(decision), expected, "at {now}");
        for (key, state) in &self.states {
            let peeked = self.table.peek_at(key, Instant::from_nanos(now), 1);
            assert_eq!(Answer::from(peeked), state.peek(now, 1), "key {key} at {now}");
        }
    }

    fn next_free_at(&self) -> Option<u64> {
        self.states.iter().filter_map(|(_, state)| stale_at(state, self.horizon())).min()
    }
}

/// Slots go on to other keys from one ns to the next, so many times or until time stands still.
struct Turns {
    rule: Rule,
    start: u64,
    count: usize,
}

impl Visit for Turns {
    type Output = ();

    fn visit<A: Algorithm>(self, _: Limiter<A>, table: Keyed<A, u64>) {
        let mut occupied = Occupied::new(self.rule, table);
        let mut now = self.start;
        occupied.fill(now);
        for _ in 0..self.count {
            let Some(at) = occupied.next_free_at() else {
                for end in [now, occupied.horizon(), u64::MAX] {
                    occupied.assert_full(end.max(now));
                }
                return;
            };
            for almost in [now + (at - now) / 2, at - 1] {
                occupied.assert_full(almost);
            }
            now = at;
            occupied.fill(now);
        }
        let stats = occupied.table.stats();
        assert!(stats.recycled > 0, "{stats:?}");
        assert_eq!(stats.occupied(), occupied.slots as u64);
    }
}

fn turn(rule: Rule, start: u64, count: usize) {
    for declared in DECLARED {
        let built = rule.build(declared, RandomSipHash::with_key([5, 6]), Turns { rule, start, count });
        built.expect("the configuration is legal");
    }
}

#[test]
fn slot_passes_on_at_the_ns_at_which_its_state_is_stale_and_not_before() {
    for (limit, period) in [(1, 1), (1, 1_000_000_000), (3, 1_000_003), (16, 999_999_937), (5, 7)] {
        for rule in rules(limit, period) {
            for start in [0, 1, period - 1, 1_000_000_007] {
                turn(rule, start, 40);
            }
        }
    }
    // Bursts longer and shorter than the period, and more than one permit each ns.
    for (capacity, limit, period) in [(1, 7, 1_000_000), (100, 3, 1000), (50, 16, 3)] {
        turn(Rule::TokenBucket { capacity, limit, period, max_wait: 0 }, 12_345, 40);
    }
}

/// Tells its horizon.
struct Horizon;

impl Visit for Horizon {
    type Output = u64;

    fn visit<A: Algorithm>(self, _: Limiter<A>, table: Keyed<A, u64>) -> u64 {
        table.horizon().as_nanos()
    }
}

fn horizon(rule: Rule) -> u64 {
    rule.build(1, RandomSipHash::with_key([0, 0]), Horizon).expect("the configuration is legal")
}

/// The time for which a state with one permit charged at time 0 is live.
fn life(rule: Rule, horizon: u64) -> u64 {
    let mut state = Reference::new(rule, horizon);
    let _ = state.call(0, 1);
    stale_at(&state, horizon).expect("a limit that refills")
}

/// Windows of 1 ns, so that one starts at the last reading.
#[test]
fn state_stale_at_the_last_reading_gives_its_slot_up_then_and_a_later_one_never() {
    for (limit, period) in [(1, 1), (1, 1_000_000_000)] {
        for rule in rules(limit, period) {
            let horizon = horizon(rule);
            if period > 1 && matches!(rule, Rule::FixedWindow { .. } | Rule::SlidingCounter { .. }) {
                turn(rule, horizon - 3 * period, usize::MAX);
                continue;
            }
            let life = life(rule, horizon);
            for early in 0..4 {
                turn(rule, horizon - life - early, usize::MAX);
                turn(rule, horizon - early.min(life), usize::MAX);
            }
        }
    }
}

#[test]
fn bucket_that_never_refills_keeps_its_slot_for_good() {
    let rule = Rule::TokenBucket { capacity: 5, limit: 0, period: 1_000_000_000, max_wait: 0 };
    turn(rule, 77, usize::MAX);
}

/// Windows that do not start at the clock's origin.
#[test]
fn slot_of_an_aligned_window_passes_on_when_it_ends() {
    const PERIOD: u64 = 1_000_003;
    const ORIGIN: u64 = 987_654_321;
    let clock = ManualClock::starting_at(Duration::from_nanos(ORIGIN));
    let window = FixedWindow::new(Quota::new(3, Duration::from_nanos(PERIOD))).aligned_to_utc().clock(clock);
    let table = window.keyed::<u64>(1).build().expect("the configuration is legal");
    let mut now = 0;
    for turn in 0..100 {
        let end = now + PERIOD - (ORIGIN + now) % PERIOD;
        let [start, almost, end] = [now, end - 1, end].map(Instant::from_nanos);
        assert!((0..4).all(|key| table.check_at(&(100 * turn + key), start, 1).is_allowed()));
        for early in [start, almost] {
            let decision = table.check_at(&(100 * turn + 50), early, 1);
            assert!(decision.overflowed(), "turn {turn}");
            assert_eq!(decision.retry_after(), Some(end.saturating_duration_since(early)), "turn {turn}");
        }
        assert_eq!((table.live(almost), table.live(end)), (4, 0));
        // At different places in their windows.
        now = end.as_nanos() + turn * PERIOD / 100;
    }
}

struct Uncharged;

impl Visit for Uncharged {
    type Output = ();

    fn visit<A: Algorithm>(self, _: Limiter<A>, table: Keyed<A, u64>) {
        let ask = |key: u64, cost| table.check_at(&key, Instant::ORIGIN, cost);
        let limit = ask(0, 0).limit();
        let assert_answered = || {
            for stranger in 1000..1100 {
                let answers =
                    [(0, Outcome::Allowed), (limit + 1, Outcome::TooLarge), (u64::MAX, Outcome::TooLarge)];
                for (cost, outcome) in answers {
                    let decision = ask(stranger, cost);
                    assert_eq!((decision.outcome(), decision.overflowed()), (outcome, false));
                    assert_eq!(decision.remaining(), Some(limit));
                }
            }
        };
        assert_answered();
        assert_eq!(table.stats(), tollgate::KeyedStats::default());
        while !ask(table.stats().inserted, 1).overflowed() {}
        let stats = table.stats();
        // Full, and it makes no difference.
        assert_answered();
        assert_eq!(table.stats(), stats);
        assert_eq!(table.live(Instant::ORIGIN) as u64, stats.inserted);
    }
}

#[test]
fn call_that_charges_nothing_takes_no_slot_and_needs_none() {
    for rule in rules(3, 1_000_000_000) {
        for declared in DECLARED {
            let built = rule.build(declared, RandomSipHash::with_key([7, 8]), Uncharged);
            built.expect("the configuration is legal");
        }
    }
}
