//! The numbers that are in force, read without a lock and replaced by one setter at a time.
//!
//! ```text
//!   63                                      2 1    0
//!  +-----------------------------------------+------+
//!  |  generation: how often it was changed   | set  |
//!  +-----------------------------------------+------+
//! ```
//!
//! The word names one of three *sets* of numbers: that in force. The set before it in the circle is the previous one. A
//! LIVE word's tag tells whether its value is of an even or of an odd generation; as states are of the last two only,
//! that names the set. A state of the previous generation is carried over to the current one by whoever charges it next,
//! as part of that exchange; a refusal carries it over in its head.
//!
//! # Why no decision mixes two quotas
//!
//! A reader loads the state's word first, this word second, then the numbers, and after that exchanges the state's word,
//! or loads it again: it is still there. Before the setter names another set it *sweeps* all states: every state of the
//! previous generation, or never charged, is carried over to the current one by an exchange, and every other is touched
//! by a read-modify-write. After the sweep has passed a state:
//!
//! - it is not of the previous generation, and a thread that has decided so can no longer write: the word it wants to
//!   exchange is gone;
//! - whoever takes a slot or charges it for the first time reads a word that the sweep has written, or a later one, and
//!   so sees at least the generation that is in force.
//!
//! So when a tag is used again, and when numbers are stored into a set again, all words under it are gone, and all that
//! was decided by them. The numbers are stored with Release and loaded with Acquire: whoever reads one of the new ones,
//! and then the state's word, finds it replaced.
//!
//! What cannot be excluded so is a thread that is stopped between its last look and its exchange until the word it wants
//! to replace has come back, bit by bit, in a later generation. That takes two changes, which are ten seconds apart.

use core::marker::PhantomData;

use crate::algorithm::adjustable::{Adjust, NUMBERS};
use crate::algorithm::{Parameters, SLACK_NANOS, Word};
use crate::error::SetQuotaError;
use crate::sync::{AtomicU64, Ordering};

/// That in force, the one before, and one to store the next into.
const SETS: usize = 3;
const SET_BITS: u32 = 2;

/// The generation, and the set that it is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named(u64);

impl Named {
    fn set(self) -> usize {
        (self.0 & ((1 << SET_BITS) - 1)) as usize
    }

    fn previous_set(self) -> usize {
        (self.set() + SETS - 1) % SETS
    }

    /// What words of this generation are tagged with.
    fn parameters(self) -> Parameters {
        Parameters::new(self.0 >> SET_BITS & 1 == 1)
    }

    /// The next generation, by the next set.
    fn next(self) -> Self {
        Self(((self.0 >> SET_BITS) + 1) << SET_BITS | ((self.set() + 1) % SETS) as u64)
    }
}

/// One set, and since when it is in force, in ns.
#[derive(Debug)]
struct Set {
    numbers: [AtomicU64; NUMBERS],
    since: AtomicU64,
}

impl Set {
    fn new(numbers: [u64; NUMBERS]) -> Self {
        Self { numbers: numbers.map(AtomicU64::new), since: AtomicU64::new(0) }
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
}

#[derive(Debug)]
pub(super) struct Numbers<P> {
    named: AtomicU64,
    /// Whether a setter is at work.
    is_being_set: AtomicU64,
    /// When it was last changed, in ns and 1 more; 0 if never.
    changed: AtomicU64,
    sets: [Set; SETS],
    policy: PhantomData<P>,
}

impl<P: Adjust> Numbers<P> {
    pub(super) fn new(policy: &P) -> Self {
        let numbers = policy.numbers();
        Self {
            named: AtomicU64::new(0),
            is_being_set: AtomicU64::new(0),
            changed: AtomicU64::new(0),
            sets: core::array::from_fn(|_| Set::new(numbers)),
            policy: PhantomData,
        }
    }

    fn named(&self) -> Named {
        // ORDERING: Acquire pairs with the Release of `set`: whoever sees a set named sees its numbers.
        Named(self.named.load(Ordering::Acquire))
    }

    fn set_at(&self, set: usize) -> &Set {
        // Below the length; `min` says so to the compiler, which else checks.
        &self.sets[set.min(SETS - 1)]
    }

    /// The policy in force, for what is told without a look at any state. (Nothing that is told so depends on two of its
    /// numbers today, and so no test shows the second look.)
    pub(super) fn current(&self) -> P {
        loop {
            let named = self.named();
            let policy = self.set_at(named.set()).load();
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
        let (set, parameters) = (self.set_at(named.set()), named.parameters());
        if word.parameters().is_none_or(|under| under == parameters) {
            return Under::Current(set.load(), parameters);
        }
        Under::Previous {
            policy: self.set_at(named.previous_set()).load(),
            current: set.load(),
            parameters,
            // ORDERING: Acquire as for the numbers.
            at: set.since.load(Ordering::Acquire),
        }
    }

    /// Puts `next` in force at the reading `now`, after `sweep` has carried every state over to the current policy.
    pub(super) fn set(&self, next: &P, now: u64, sweep: impl FnOnce()) -> Result<(), SetQuotaError> {
        let _turn = Turn::take(&self.is_being_set)?;
        let named = self.named();
        let (current, set) = (self.set_at(named.set()), self.set_at(named.next().set()));
        current.load::<P>().can_become(next)?;
        // ORDERING: Relaxed, here and below: only setters use these times, and the turn orders setters.
        let changed = self.changed.load(Ordering::Relaxed);
        if changed.checked_sub(1).is_some_and(|at| now.abs_diff(at) < 2 * SLACK_NANOS) {
            return Err(SetQuotaError::Busy);
        }
        sweep();
        let began = current.since.load(Ordering::Relaxed);
        // Not before the current quota's time, unless a clock that erred told that.
        let since = if began.saturating_sub(now) > SLACK_NANOS { now } else { now.max(began) };
        set.store(next.numbers(), since);
        self.changed.store(now + 1, Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire of `named`.
        self.named.store(named.next().0, Ordering::Release);
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
