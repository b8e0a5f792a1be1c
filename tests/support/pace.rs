//! Threads that charge while another looks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::yield_now;

/// So many calls come between one look and the next.
const PACE: u64 = 500;

/// How threads that charge and one that looks keep up with each other, on however few cores.
#[derive(Default)]
pub(crate) struct Pace {
    calls: AtomicU64,
    looks: AtomicU64,
    is_over: AtomicBool,
}

impl Pace {
    /// Before a call: waits while looks are two behind.
    pub(crate) fn call(&self) {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        self.wait_while(|| calls > PACE * (self.looks.load(Ordering::SeqCst) + 2));
    }

    fn wait_while(&self, is_early: impl Fn() -> bool) {
        while is_early() && !self.is_over.load(Ordering::SeqCst) {
            yield_now();
        }
    }

    /// A charger is done.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// What `look` gives, again and again until a charger is done.
    pub(crate) fn collect<T>(&self, look: impl Fn() -> T) -> Vec<T> {
        let mut looks = Vec::new();
        while !self.is_over.load(Ordering::SeqCst) {
            looks.push(look());
            let count = self.looks.fetch_add(1, Ordering::SeqCst) + 1;
            self.wait_while(|| self.calls.load(Ordering::SeqCst) < PACE * count);
        }
        looks
    }
}
