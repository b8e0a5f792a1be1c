//! The main word of a state: a tag and a value.
//!
//! ```text
//!   63   61 60                                              0
//!  +-------+-------------------------------------------------+
//!  |  tag  |                      value                      |
//!  +-------+-------------------------------------------------+
//! ```
//!
//! A LIVE or MARKED word's value is laid out by its algorithm. The words of a slot that is no key's (FREE, HELD) or whose key
//! has never been charged (NEWBORN) carry a *stamp* instead: the state is fresh as of that time, in ns and in no
//! quota's units. (The log keeps its head there, and the stamp in a word of its own.) An all-zero word is FREE and
//! has never been used. A direct limiter's word is always LIVE. Of LIVE and MARKED there are two each, by which a word
//! tells under which numbers its value is if the quota can be changed: see `adjustable`.

use core::fmt;

const TAG_BITS: u32 = 3;
pub(crate) const VALUE_BITS: u32 = u64::BITS - TAG_BITS;
pub(crate) const VALUE_MAX: u64 = (1 << VALUE_BITS) - 1;

/// The last time in ns that any word tells, 73 years after the clock's origin; time stands still there.
pub(crate) const TIME_MAX: u64 = VALUE_MAX;

/// What the slot of a word is in. Of LIVE and MARKED there are two each: see [`Parameters`].
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
    /// The same, and about to be taken back from: see `take_back.rs`. No decision differs.
    Marked = 4,
}

/// The tag of a LIVE word under the other parameters; that of a MARKED one is the next.
const OTHER_LIVE: u64 = 5;

/// Which of two sets of parameters the value of a LIVE or MARKED word is under. Most limiters have one: the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    are_other: bool,
}

impl Parameters {
    pub(crate) const FIRST: Self = Self::new(false);

    #[inline]
    pub(crate) const fn new(are_other: bool) -> Self {
        Self { are_other }
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
            3 | OTHER_LIVE => Tag::Live,
            _ => Tag::Marked,
        }
    }

    /// The parameters that a LIVE or MARKED word is under.
    #[inline]
    pub(crate) const fn parameters(self) -> Option<Parameters> {
        match self.0 >> VALUE_BITS {
            0..3 => None,
            tag => Some(Parameters::new(tag >= OTHER_LIVE)),
        }
    }

    /// A LIVE or MARKED word under these parameters; others are under none.
    #[inline]
    pub(crate) const fn under(self, parameters: Parameters) -> Self {
        match (self.tag(), parameters.are_other) {
            (Tag::Live, false) => Self::live(self.value()),
            (Tag::Live, true) => Self(OTHER_LIVE << VALUE_BITS | self.value()),
            (Tag::Marked, false) => Self::new(Tag::Marked, self.value()),
            (Tag::Marked, true) => Self((OTHER_LIVE + 1) << VALUE_BITS | self.value()),
            (Tag::Free | Tag::Held | Tag::Newborn, _) => self,
        }
    }

    /// A LIVE word about to be taken back from.
    #[inline]
    pub(crate) const fn marked(self) -> Self {
        match self.parameters() {
            Some(parameters) => Self::new(Tag::Marked, self.value()).under(parameters),
            None => self,
        }
    }

    /// Whether the state belongs to a key: LIVE, MARKED or NEWBORN.
    #[inline]
    pub(crate) const fn is_owned(self) -> bool {
        self.0 >= Self::new(Tag::Newborn, 0).0
    }

    #[inline]
    pub(crate) const fn is_newborn(self) -> bool {
        matches!(self.tag(), Tag::Newborn)
    }

    /// Whether it is a charged key's: LIVE or MARKED.
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
        for tag in [Tag::Free, Tag::Held, Tag::Newborn, Tag::Live, Tag::Marked] {
            for value in [0, 1, 12_345, VALUE_MAX - 1, VALUE_MAX] {
                let word = Word::new(tag, value);
                assert_eq!((word.tag(), word.value()), (tag, value));
                assert_eq!(word.is_owned(), matches!(tag, Tag::Newborn | Tag::Live | Tag::Marked));
                assert_eq!(word.is_live(), matches!(tag, Tag::Live | Tag::Marked));
                assert_eq!(Word::from_raw(word.raw()), word);
            }
        }
    }

    #[test]
    fn a_word_of_zeros_is_free() {
        assert_eq!(Word::from_raw(0).tag(), Tag::Free);
    }

    #[test]
    fn words_under_either_parameters_are_live_or_marked_and_others_are_under_none() {
        for parameters in [Parameters::FIRST, Parameters::new(true)] {
            let word = Word::live(5).under(parameters);
            assert_eq!((word.tag(), word.value(), word.is_owned()), (Tag::Live, 5, true));
            assert_eq!((word.parameters(), word.under(Parameters::FIRST)), (Some(parameters), Word::live(5)));
            let marked = word.marked();
            assert_eq!((marked.tag(), marked.value(), marked.is_live()), (Tag::Marked, 5, true));
            assert_eq!(marked.parameters(), Some(parameters));
            assert_eq!(marked.under(Parameters::FIRST), Word::new(Tag::Marked, 5));
            assert_ne!(marked, word);
        }
        for tag in [Tag::Free, Tag::Held, Tag::Newborn] {
            let word = Word::new(tag, 5);
            assert_eq!((word.parameters(), word.under(Parameters::new(true))), (None, word));
        }
    }
}
