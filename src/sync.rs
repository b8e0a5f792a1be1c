//! The only file that names `core::sync::atomic`, `loom` or `shuttle`.
//!
//! With `--cfg loom` and the feature `loom` the whole crate runs on loom's atomics, with `--cfg shuttle` and the feature
//! `shuttle` on shuttle's: both explore the production code, not a copy of it.

#[cfg(not(any(all(loom, feature = "loom"), all(shuttle, feature = "shuttle"))))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(all(shuttle, feature = "shuttle"))]
pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering};
#[cfg(all(loom, feature = "loom"))]
pub(crate) use {loom::sync::atomic::Ordering, modelled::AtomicU64};

/// Whether the crate is built for loom, where tables shrink so that all of their schedules can be explored.
pub(crate) const MODELLED: bool = cfg!(all(loom, feature = "loom"));

/// The number of this thread, in the order in which threads first asked: for choosing where to count, so the models have
/// no part in it.
#[inline]
pub(crate) fn thread_number() -> usize {
    use core::sync::atomic::AtomicUsize;
    use std::thread_local;

    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        // ORDERING: Relaxed: only that no two numbers are the same matters.
        static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    // A thread that is ending has no number.
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

/// Memory for the words could not be allocated.
#[derive(Debug)]
pub(crate) struct OutOfMemory;

/// `len` words that are zero, from memory the operating system zeroes lazily: a page costs nothing until touched.
#[cfg(not(any(all(loom, feature = "loom"), all(shuttle, feature = "shuttle"))))]
pub(crate) fn zeroed_words(len: usize) -> Result<Box<[AtomicU64]>, OutOfMemory> {
    bytemuck::allocation::try_zeroed_slice_box(len).map_err(|()| OutOfMemory)
}

/// `len` words that are zero. loom's and shuttle's atomics are objects and cannot be made from zeroed memory.
#[cfg(any(all(loom, feature = "loom"), all(shuttle, feature = "shuttle")))]
#[expect(clippy::unnecessary_wraps, reason = "the signature of the lazily zeroed twin")]
pub(crate) fn zeroed_words(len: usize) -> Result<Box<[AtomicU64]>, OutOfMemory> {
    Ok((0..len).map(|_| AtomicU64::new(0)).collect())
}

/// loom's atomic, with loads that loom cannot overlook.
///
/// loom 0.7 keeps one last access for each atomic. A thread that loads and then exchanges one so hides, by its own
/// load, that its exchange races with an earlier load of another thread, and the other order is never explored. Here
/// each load first touches a companion by a read-modify-write. Relaxed: it orders nothing, so what a load may return
/// is still all that the memory model allows.
#[cfg(all(loom, feature = "loom"))]
mod modelled {
    use loom::sync::atomic::{AtomicU64 as Word, Ordering};

    #[derive(Debug, Default)]
    pub struct AtomicU64 {
        word: Word,
        touched: Word,
    }

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> Self {
            Self { word: Word::new(value), touched: Word::new(0) }
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.touched.fetch_add(0, Ordering::Relaxed);
            self.word.load(order)
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.word.store(value, order);
        }

        pub(crate) fn compare_exchange(
            &self,
            current: u64,
            new: u64,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u64, u64> {
            self.word.compare_exchange(current, new, success, failure)
        }

        pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
            self.word.fetch_max(value, order)
        }

        pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
            self.word.fetch_add(value, order)
        }
    }
}
