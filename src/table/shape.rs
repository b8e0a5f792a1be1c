//! How many lines there are, and which of them a fingerprint names.
//!
//! # Three lines, and a window when they are full
//!
//! Each key has three lines of four slots, chosen independently; a new key goes to the least loaded (to the first, as
//! long as that is less than half full). A table filled to its declared capacity, 11 live keys to 16 slots, finds no
//! room there for about 3 keys in 100,000; one that has churned at that load for long, for about 7 in 1,000. Those
//! spill into a window of eight adjacent lines. The key's guard remembers that one of its keys has ever spilled, so
//! nobody else looks there. With it 1 of 180 million new keys was turned away, filling and churning
//! tables of 1 to a million keys at the declared capacity (`tests/overflow.rs` repeats a part of that).
//!
//! A hit touches 1.4 lines on average after filling and 1.7 after churning; a new key its three lines and its guard's,
//! and when it takes a slot from another key, that one's guard too.

use crate::error::BuildError;
use crate::sync::MODELLED;

/// Slots in a line: four fingerprints and four words are 64 bytes.
pub(super) const WAYS: usize = if MODELLED { 1 } else { 4 };
/// Lines a key may lie in.
pub(super) const CHOICES: usize = if MODELLED { 1 } else { 3 };
/// Adjacent lines a key may lie in when those are full.
const WINDOW_LINES: usize = if MODELLED { 2 } else { 8 };
/// Live keys to slots, at the declared capacity.
const LOAD: (usize, usize) = if MODELLED { (1, 1) } else { (11, 16) };
/// Lines whose keys share a guard.
const LINES_PER_GUARD: usize = if MODELLED { 1 } else { 16 };
/// A guard's word numbers slots beside its sequence.
const SLOTS_MAX: usize = 1 << if usize::BITS < 64 { 26 } else { 40 };

/// Digits of pi: numbers without a purpose of their own.
const PI: [u64; 4] =
    [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];

/// 64 bits of a key's hash; never 0, which is a slot that has never been used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    #[inline]
    pub(crate) fn new(hash: u64) -> Self {
        Self(hash.max(1))
    }

    /// One of `shards` counters.
    pub(crate) fn shard(self, shards: usize) -> usize {
        place(self.mixed().1, shards)
    }

    #[inline]
    pub(crate) fn get(self) -> u64 {
        self.0
    }

    /// Two words that are independent of each other for places in the table, whatever bits the hasher leaves alone.
    #[inline]
    fn mixed(self) -> (u64, u64) {
        (folded(self.0 ^ PI[0], PI[1] | 1), folded(self.0 ^ PI[2], PI[3]))
    }
}

/// Both halves of the product, folded: every bit of `word` reaches the high bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a product")]
fn folded(word: u64, factor: u64) -> u64 {
    let product = u128::from(word) * u128::from(factor);
    product as u64 ^ (product >> 64) as u64
}

/// `0..range`, by the high bits: any range, no division.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the high half of a product is below the range")]
fn place(word: u64, range: usize) -> usize {
    ((u128::from(word) * range as u128) >> 64) as usize
}

/// The size of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    lines: usize,
}

/// The lines of one key, found as they are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probes {
    a: u64,
    b: u64,
    lines: usize,
}

impl Shape {
    pub(super) fn new(keys: usize) -> Result<Self, BuildError> {
        let max = SLOTS_MAX / LOAD.1 * LOAD.0;
        if keys == 0 {
            return Err(BuildError::ZeroKeys);
        }
        if keys > max {
            return Err(BuildError::TooManyKeys { keys, max });
        }
        Ok(Self { lines: (keys * LOAD.1).div_ceil(LOAD.0 * WAYS) })
    }

    pub(super) fn lines(self) -> usize {
        self.lines
    }

    pub(super) fn slots(self) -> usize {
        self.lines * WAYS
    }

    /// A fingerprint and a main word for each slot.
    pub(super) fn line_words(self) -> usize {
        self.slots() * 2
    }

    /// The words of the table beside those that the algorithm asks for: of the lines, then of the guards.
    #[inline]
    pub(super) fn own_words(self) -> usize {
        self.line_words() + self.lines.div_ceil(LINES_PER_GUARD) * super::Guard::WORDS
    }

    /// Bits that number the slots from 1.
    pub(super) fn slot_bits(self) -> u32 {
        usize::BITS - self.slots().leading_zeros()
    }

    /// The guard of all keys with this fingerprint, wherever they lie.
    pub(super) fn guard(self, fingerprint: Fingerprint) -> usize {
        self.probes(fingerprint).near(0) / LINES_PER_GUARD
    }

    #[inline]
    pub(super) fn probes(self, fingerprint: Fingerprint) -> Probes {
        let (a, b) = fingerprint.mixed();
        Probes { a, b, lines: self.lines }
    }
}

impl Probes {
    /// The lines that are always searched, by choice. They need not be distinct.
    #[inline]
    pub(super) fn near(&self, choice: usize) -> usize {
        let word = match choice {
            0 => self.a,
            1 => self.b,
            _ => self.a.rotate_left(32) ^ self.b,
        };
        place(word, self.lines)
    }

    #[inline]
    pub(super) fn all_near(&self) -> impl Iterator<Item = usize> {
        (0..CHOICES).map(|choice| self.near(choice))
    }

    /// The adjacent lines that are searched only if a key of the guard's has spilled.
    pub(super) fn window(&self) -> impl Iterator<Item = usize> {
        let first = place(self.b.rotate_left(32) ^ self.a, self.lines);
        let wrapped = move |line| if line < self.lines { line } else { line - self.lines };
        (first..first + WINDOW_LINES.min(self.lines)).map(wrapped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_key_stay_below_24() {
        for keys in [1_000, 4_096, 1_000_000, 123_456_789] {
            let shape = Shape::new(keys).expect("a number of keys that fits");
            let bytes = shape.own_words() * 8;
            assert!(bytes <= 24 * keys, "{keys} keys: {bytes} bytes");
            assert!(shape.slots() < 1 << shape.slot_bits());
        }
    }

    #[test]
    fn zero_keys_and_too_many_are_refused_with_the_bound() {
        assert_eq!(Shape::new(0).err(), Some(BuildError::ZeroKeys));
        let Err(BuildError::TooManyKeys { max, .. }) = Shape::new(usize::MAX) else { panic!("refused") };
        assert!(Shape::new(max).is_ok() && Shape::new(max + 1).is_err());
        assert_eq!(max, SLOTS_MAX / 16 * 11);
        assert_eq!(SLOTS_MAX.ilog2(), if cfg!(target_pointer_width = "64") { 40 } else { 26 });
    }

    /// Hashers that leave most bits alone, such as those of integers by themselves, must not crowd the lines.
    const HASHERS: [fn(u64) -> u64; 4] =
        [|key| key, |key| key << 40, |key| key << 48, |key| key.wrapping_mul(0x1_0000_0001)];
    const KEYS: u64 = 44_000;

    #[test]
    fn places_are_spread_whatever_the_hasher() {
        let shape = Shape::new(11_000).expect("a number of keys that fits");
        for hash in HASHERS {
            let (mut lines, mut guards) =
                (vec![0_u32; shape.lines()], vec![0_u32; shape.lines() / LINES_PER_GUARD]);
            let mut shards = [0_u32; 8];
            for key in 0..KEYS {
                let fingerprint = Fingerprint::new(hash(key));
                for line in shape.probes(fingerprint).all_near() {
                    lines[line] += 1;
                }
                guards[shape.guard(fingerprint)] += 1;
                shards[fingerprint.shard(8)] += 1;
            }
            // 33 a line on average; chance alone stays within six standard deviations.
            for (hits, least, most) in [(&lines[..], 2, 70), (&guards, 98, 254), (&shards, 5084, 5916)] {
                assert!(hits.iter().all(|hits| (least..=most).contains(hits)), "{hits:?}");
            }
        }
    }

    #[test]
    fn no_place_of_a_key_follows_from_another_whatever_the_hasher() {
        const LINES: usize = 16;
        let shape = Shape::new(LINES * 11 * WAYS / 16).expect("a number of keys that fits");
        assert_eq!(shape.lines(), LINES);
        for hash in HASHERS {
            let mut pairs = [[[0_u32; LINES * LINES]; 4]; 4];
            for key in 0..KEYS {
                let probes = shape.probes(Fingerprint::new(hash(key)));
                let first_of_window = probes.window().next().expect("a line");
                let places = [probes.near(0), probes.near(1), probes.near(2), first_of_window];
                for (one, other) in (0..4).flat_map(|one| (0..one).map(move |other| (one, other))) {
                    pairs[one][other][places[one] * LINES + places[other]] += 1;
                }
            }
            for (one, other) in (0..4).flat_map(|one| (0..one).map(move |other| (one, other))) {
                // 172 on average.
                let hits = &pairs[one][other];
                assert!(hits.iter().all(|hits| (93..=251).contains(hits)), "{one}, {other}: {hits:?}");
            }
        }
    }

    #[test]
    fn a_window_is_eight_adjacent_lines_or_all_of_a_small_table() {
        for keys in [1, 8, 22, 23, 44, 1000] {
            let shape = Shape::new(keys).expect("a number of keys that fits");
            let mut ends = 0;
            for key in 0..1000 {
                let window: Vec<_> = shape.probes(Fingerprint::new(key)).window().collect();
                assert_eq!(window.len(), WINDOW_LINES.min(shape.lines()));
                let adjacent = |pair: &[usize]| pair[1] == (pair[0] + 1) % shape.lines();
                assert!(window[0] < shape.lines() && window.windows(2).all(adjacent), "{window:?}");
                ends += usize::from(window.contains(&(shape.lines() - 1)));
            }
            assert!(ends > 0);
        }
    }
}
