//! The numbers that are in force, read without a lock and replaced by one setter at a time.
//!
//! ```text
//!   63                                     6 5        3 2        0
//!  +----------------------------------------+----------+----------+
//!  |  generation: how often it was changed  | previous | current  |
//!  +----------------------------------------+----------+----------+
//! ```
//!
//! The word names two of five *sets* of numbers: those in force, and those that were before. A LIVE word's tag names the
//! set that its value is under. A state under the previous set is carried over to the current one by whoever charges it
//! next, as part of that exchange; a refusal carries it over in its head.
//!
//! # Why no decision mixes two quotas
//!
//! A reader loads the state's word first, this word second, then the numbers, and after that exchanges the state's word,
//! or loads it again: it is still there. Before the setter stores numbers into a set, it has *swept* all states, once for
//! each change since the set was named last: every state under the set before the one in force, or never charged, is
//! carried over to the one in force by an exchange, and every other is touched by a read-modify-write. After a sweep has
//! passed a state:
//!
//! - it is not under the set before, and a thread that has decided so can no longer write: the word it wants to exchange
//!   is gone;
//! - whoever takes a slot or charges it for the first time reads a word that the sweep has written, or a later one, and
//!   so sees at least the set that is in force.
//!
//! So a set is stored anew only when all words under it, and all that were decided on by its numbers, are gone. The
//! numbers are stored with Release and loaded with Acquire: whoever reads one of the new ones, and then the state's
//! word, finds it replaced.
//!
//! What cannot be excluded so is a thread that is stopped between its last look and its exchange until the word it wants
//! to replace has come back, bit by bit: under a set that was reused since. That takes four changes, of which the last
//! is `Busy` for ten seconds after the set was replaced.

use core::marker::PhantomData;

use crate::algorithm::adjustable::{Adjust, NUMBERS};
use crate::algorithm::{Parameters, SLACK_NANOS, Word};
use crate::error::SetQuotaError;
use crate::sync::{AtomicU64, Ordering};

const SET_BITS: u32 = 3;
const SET_MASK: u64 = (1 << SET_BITS) - 1;

/// Which sets are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named(u64);

impl Named {
    fn current(self) -> Parameters {
        Parameters::new((self.0 & SET_MASK) as usize)
    }

    fn previous(self) -> Parameters {
        Parameters::new((self.0 >> SET_BITS & SET_MASK) as usize)
    }

    /// The set after the current one, in a circle: neither the current one nor the previous.
    fn next(self) -> Parameters {
        Parameters::new((self.current().number() + 1) % Parameters::SETS)
    }

    /// The same once `next` is in force.
    fn followed_by(self, next: Parameters) -> Self {
        let generation = (self.0 >> (2 * SET_BITS)) + 1;
        let (previous, current) = (self.current().number() as u64, next.number() as u64);
        Self(generation << (2 * SET_BITS) | previous << SET_BITS | current)
    }
}

/// One set; since when it is in force, in ns; and when it was last replaced, in ns and 1 more, 0 if never.
#[derive(Debug)]
struct Set {
    numbers: [AtomicU64; NUMBERS],
    since: AtomicU64,
    replaced: AtomicU64,
}

impl Set {
    fn new(numbers: [u64; NUMBERS]) -> Self {
        Self { numbers: numbers.map(AtomicU64::new), since: AtomicU64::new(0), replaced: AtomicU64::new(0) }
    }

    fn load<P: Adjust>(&self) -> P {
        // ORDERING: Acquire pairs with the Release of `store`: see the head of this file.
        P::from_numbers(core::array::from_fn(|at| self.numbers[at].load(Ordering::Acquire)))
    }

    fn store(&self, numbers: [u64; NUMBERS], since: u64) {
        for (word, number) in self.numbers.iter().zip(numbers) {
            // ORDERING: Relaxed: only setters write, and the turn orders setters. A number that stays the same tells
            // nobody anything.
            if word.load(Ordering::Relaxed) != number {
                // ORDERING: Release pairs with the Acquire of `load`: whoever reads this knows that the set is not named.
                word.store(number, Ordering::Release);
            }
        }
        // ORDERING: as for the numbers.
        self.since.store(since, Ordering::Release);
    }
}

/// What a word's value is under.
#[derive(Debug, Clone, Copy)]
pub(super) enum Under<P> {
    /// The policy in force.
    Current(P, Parameters),
    /// The policy before the one in force, which replaced it at a time in ns.
    Previous { policy: P, current: P, parameters: Parameters, at: u64 },
    /// Older ones: the word has been replaced since it was loaded.
    Past,
}

#[derive(Debug)]
pub(super) struct Numbers<P> {
    named: AtomicU64,
    /// Whether a setter is at work.
    is_being_set: AtomicU64,
    sets: [Set; Parameters::SETS],
    policy: PhantomData<P>,
}

impl<P: Adjust> Numbers<P> {
    pub(super) fn new(policy: &P) -> Self {
        let numbers = policy.numbers();
        Self {
            named: AtomicU64::new(0),
            is_being_set: AtomicU64::new(0),
            sets: core::array::from_fn(|_| Set::new(numbers)),
            policy: PhantomData,
        }
    }

    fn named(&self) -> Named {
        // ORDERING: Acquire pairs with the Release of `set`: whoever sees a set named sees its numbers.
        Named(self.named.load(Ordering::Acquire))
    }

    fn set_of(&self, parameters: Parameters) -> &Set {
        // Below the length; `min` says so to the compiler, which else checks.
        &self.sets[parameters.number().min(Parameters::SETS - 1)]
    }

    /// The policy in force, for what is told without a look at any state.
    pub(super) fn current(&self) -> P {
        loop {
            let named = self.named();
            let policy = self.set_of(named.current()).load();
            if self.named() == named {
                return policy;
            }
        }
    }

    /// What the value of `word` is under, if the state still has that word after this; if not, anything. A word that is
    /// not LIVE is under the policy in force.
    #[inline]
    pub(super) fn under(&self, word: Word) -> Under<P> {
        let named = self.named();
        let current = named.current();
        let set = self.set_of(current);
        match word.parameters() {
            Some(parameters) if parameters == current => Under::Current(set.load(), current),
            None => Under::Current(set.load(), current),
            Some(parameters) if parameters == named.previous() => Under::Previous {
                policy: self.set_of(parameters).load(),
                current: set.load(),
                parameters: current,
                // ORDERING: Acquire as for the numbers.
                at: set.since.load(Ordering::Acquire),
            },
            Some(_) => Under::Past,
        }
    }

    /// Puts `next` in force at the reading `now`, after `sweep` has carried every state over to the current policy.
    pub(super) fn set(&self, next: &P, now: u64, sweep: impl FnOnce()) -> Result<(), SetQuotaError> {
        let _turn = Turn::take(&self.is_being_set)?;
        let named = self.named();
        let (current, set) = (self.set_of(named.current()), self.set_of(named.next()));
        current.load::<P>().can_become(next)?;
        // ORDERING: Relaxed, here and below: only setters use these times, and the turn orders setters.
        let replaced = set.replaced.load(Ordering::Relaxed);
        if replaced.checked_sub(1).is_some_and(|at| now.abs_diff(at) < 2 * SLACK_NANOS) {
            return Err(SetQuotaError::Busy);
        }
        sweep();
        let began = current.since.load(Ordering::Relaxed);
        // Not before the current quota's time, unless a clock that erred told that.
        let since = if began.saturating_sub(now) > SLACK_NANOS { now } else { now.max(began) };
        set.store(next.numbers(), since);
        current.replaced.store(now + 1, Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire of `named`.
        self.named.store(named.followed_by(named.next()).0, Ordering::Release);
        Ok(())
    }
}

/// One setter's turn. A setter that is stopped in it makes others busy, and no decision wait.
struct Turn<'t>(&'t AtomicU64);

impl<'t> Turn<'t> {
    fn take(is_being_set: &'t AtomicU64) -> Result<Self, SetQuotaError> {
        // ORDERING: Acquire pairs with the Release of `drop`: a setter sees what the one before has done. Failure uses
        // nothing that was read.
        match is_being_set.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Self(is_being_set)),
            Err(_) => Err(SetQuotaError::Busy),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire of `take`.
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use core::time::Duration;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::thread;

    use super::*;
    use crate::algorithm::Algorithm;
    use crate::{ManualClock, Quota, SlidingLog};

    /// As many permits as hours.
    fn policy(hours: u64) -> <SlidingLog as Algorithm>::Policy {
        let log = SlidingLog::new(Quota::new(hours, Duration::from_secs(hours * 3600)));
        log.policy(&ManualClock::new()).expect("a quota that fits")
    }

    #[test]
    fn numbers_that_are_read_while_they_are_replaced_are_of_one_policy() {
        const HOUR: u64 = 3_600_000_000_000;
        let numbers = Numbers::new(&policy(1));
        let reads = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while reads.fetch_add(1, Relaxed) < 100_000 {
                    let [limit, period, ..] = numbers.current().numbers();
                    assert_eq!(period, limit * HOUR);
                }
            });
            for change in (1..100_000).cycle() {
                if reads.load(Relaxed) >= 100_000 {
                    break;
                }
                numbers.set(&policy(change % 50 + 1), change * HOUR, || {}).expect("slowly enough");
            }
        });
    }
}
