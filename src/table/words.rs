//! Lazily zeroed words that start at a cache line.

use crate::sync::{AtomicU64, OutOfMemory, zeroed_words};

const WORD_BYTES: usize = 8;
const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / WORD_BYTES;

/// Words whose first lies at a 64-byte boundary.
///
/// Plain words with a few to spare, from the first boundary on: an element type aligned to 64 bytes would be zeroed
/// by hand when it is allocated, and all of it resident at once.
#[derive(Debug)]
pub(super) struct Words {
    memory: Box<[AtomicU64]>,
    start: usize,
}

impl Words {
    pub(super) fn new(count: usize) -> Result<Self, OutOfMemory> {
        let memory = zeroed_words(count.checked_add(LINE_WORDS - 1).ok_or(OutOfMemory)?)?;
        let start = memory.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS - 1);
        Ok(Self { memory, start })
    }

    /// The bytes allocated for `count` words.
    pub(super) fn bytes(count: u128) -> u128 {
        (count + LINE_WORDS as u128 - 1) * WORD_BYTES as u128
    }

    /// `count` words from `at` on.
    #[inline]
    pub(super) fn get(&self, at: usize, count: usize) -> &[AtomicU64] {
        &self.memory[self.start + at..][..count]
    }
}
