//! The main word of a state: a tag and a value.
//!
//! ```text
//!   63   61 60                                              0
//!  +-------+-------------------------------------------------+
//!  |  tag  |                      value                      |
//!  +-------+-------------------------------------------------+
//! ```
//!
//! A LIVE word's value is laid out by its algorithm. The words of a slot that is no key's (FREE, HELD) or whose key
//! has never been charged (NEWBORN) carry a *stamp* instead: the state is fresh as of that time, in ns and in no
//! quota's units. (The log keeps its head there, and the stamp in a word of its own.) An all-zero word is FREE and
//! has never been used. A direct limiter's word is always LIVE. The tags from LIVE on tell under which of several sets of
//! numbers the value is, if the quota can be changed: see `adjustable`.

use core::fmt;

use crate::sync::MODELLED;

const TAG_BITS: u32 = 3;
pub(crate) const VALUE_BITS: u32 = u64::BITS - TAG_BITS;
pub(crate) const VALUE_MAX: u64 = (1 << VALUE_BITS) - 1;

/// The last time in ns that any word tells, 73 years after the clock's origin; time stands still there.
pub(crate) const TIME_MAX: u64 = VALUE_MAX;

/// What the slot of a word is in. Tags from LIVE on tell the [`Parameters`] that the value is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Nobody's: may be taken.
    Free = 0,
    /// Taken by one inserter that has not committed.
    Held = 1,
    /// A key's, never charged.
    Newborn = 2,
    /// A key's, charged.
    Live = 3,
}

/// Which of several sets of parameters the value of a LIVE word is under. Most limiters have one set: number 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters(u8);

impl Parameters {
    /// How many sets there are: as many as the tags can tell.
    pub(crate) const SETS: usize = if MODELLED { 3 } else { (1 << TAG_BITS) - Tag::Live as usize };

    pub(crate) const FIRST: Self = Self(0);

    #[expect(clippy::cast_possible_truncation, reason = "there are 5")]
    pub(crate) fn new(number: usize) -> Self {
        debug_assert!(number < Self::SETS);
        Self(number as u8)
    }

    #[inline]
    pub(crate) fn number(self) -> usize {
        self.0.into()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(u64);

impl Word {
    #[inline]
    pub(crate) const fn new(tag: Tag, value: u64) -> Self {
        debug_assert!(value <= VALUE_MAX);
        Self((tag as u64) << VALUE_BITS | value)
    }

    #[inline]
    pub(crate) const fn live(value: u64) -> Self {
        Self::new(Tag::Live, value)
    }

    #[inline]
    pub(crate) const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    #[inline]
    pub(crate) const fn raw(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) const fn value(self) -> u64 {
        self.0 & VALUE_MAX
    }

    #[inline]
    pub(crate) const fn tag(self) -> Tag {
        match self.0 >> VALUE_BITS {
            0 => Tag::Free,
            1 => Tag::Held,
            2 => Tag::Newborn,
            _ => Tag::Live,
        }
    }

    /// The parameters that a LIVE word is under.
    #[inline]
    pub(crate) const fn parameters(self) -> Option<Parameters> {
        match (self.0 >> VALUE_BITS).checked_sub(Tag::Live as u64) {
            #[expect(clippy::cast_possible_truncation, reason = "below 5")]
            Some(number) => Some(Parameters(number as u8)),
            None => None,
        }
    }

    /// A LIVE word under these parameters; others are under none.
    #[inline]
    pub(crate) const fn under(self, parameters: Parameters) -> Self {
        if self.is_live() {
            Self((Tag::Live as u64 + parameters.0 as u64) << VALUE_BITS | self.value())
        } else {
            self
        }
    }

    /// Whether the state belongs to a key: LIVE or NEWBORN.
    #[inline]
    pub(crate) const fn is_owned(self) -> bool {
        self.0 >= Self::new(Tag::Newborn, 0).0
    }

    #[inline]
    pub(crate) const fn is_newborn(self) -> bool {
        matches!(self.tag(), Tag::Newborn)
    }

    #[inline]
    pub(crate) const fn is_live(self) -> bool {
        self.0 >= Self::new(Tag::Live, 0).0
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word").field("tag", &self.tag()).field("value", &self.value()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_packed_is_unpacked_as_it_was() {
        for tag in [Tag::Free, Tag::Held, Tag::Newborn, Tag::Live] {
            for value in [0, 1, 12_345, VALUE_MAX - 1, VALUE_MAX] {
                let word = Word::new(tag, value);
                assert_eq!((word.tag(), word.value()), (tag, value));
                assert_eq!(word.is_owned(), matches!(tag, Tag::Newborn | Tag::Live));
                assert_eq!(word.is_live(), tag == Tag::Live);
                assert_eq!(Word::from_raw(word.raw()), word);
            }
        }
    }

    #[test]
    fn a_word_of_zeros_is_free() {
        assert_eq!(Word::from_raw(0).tag(), Tag::Free);
    }

    #[test]
    fn words_under_any_parameters_are_live_and_others_are_under_none() {
        for number in 0..Parameters::SETS {
            let word = Word::live(5).under(Parameters::new(number));
            assert_eq!((word.tag(), word.value(), word.is_owned()), (Tag::Live, 5, true));
            assert_eq!(word.parameters(), Some(Parameters::new(number)));
            assert_eq!(word.under(Parameters::FIRST), Word::live(5));
        }
        for tag in [Tag::Free, Tag::Held, Tag::Newborn] {
            let word = Word::new(tag, 5);
            assert_eq!((word.parameters(), word.under(Parameters::new(4))), (None, word));
        }
    }
}
