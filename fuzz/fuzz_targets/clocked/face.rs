//! What the direct and the keyed limiters have in common.

use tollgate::{Algorithm, Decision, Instant, Keyed, Limiter};

use crate::clock::ErringClock;

/// The verbs; a direct limiter takes every key for the same.
pub(crate) trait Face {
    fn clock(&self) -> &ErringClock;
    fn check_n(&self, key: u64, n: u64) -> Decision;
    fn peek(&self, key: u64, n: u64) -> Decision;
    fn check_at(&self, key: u64, at: u64, n: u64) -> Decision;
    fn peek_at(&self, key: u64, at: u64, n: u64) -> Decision;
    fn check_many(&self, keys: &[u64]) -> Vec<Decision>;
    fn horizon(&self) -> u64;
    /// Keys that lost their slots.
    fn recycled(&self) -> u64;
}

impl<A: Algorithm> Face for Limiter<A, ErringClock> {
    fn clock(&self) -> &ErringClock {
        self.clock()
    }

    fn check_n(&self, _: u64, n: u64) -> Decision {
        // The shorter verb is another way in.
        if n == 1 { self.check() } else { self.check_n(n) }
    }

    fn peek(&self, _: u64, n: u64) -> Decision {
        self.peek(n)
    }

    fn check_at(&self, _: u64, at: u64, n: u64) -> Decision {
        self.check_at(Instant::from_nanos(at), n)
    }

    fn peek_at(&self, _: u64, at: u64, n: u64) -> Decision {
        self.peek_at(Instant::from_nanos(at), n)
    }

    fn check_many(&self, keys: &[u64]) -> Vec<Decision> {
        // On one reading, as the keyed limiters do it.
        let now = self.now();
        keys.iter().map(|_| self.check_at(now, 1)).collect()
    }

    fn horizon(&self) -> u64 {
        self.horizon().as_nanos()
    }

    fn recycled(&self) -> u64 {
        0
    }
}

impl<A: Algorithm> Face for Keyed<A, u64, ErringClock> {
    fn clock(&self) -> &ErringClock {
        self.clock()
    }

    fn check_n(&self, key: u64, n: u64) -> Decision {
        if n == 1 { self.check(&key) } else { self.check_n(&key, n) }
    }

    fn peek(&self, key: u64, n: u64) -> Decision {
        self.peek(&key, n)
    }

    fn check_at(&self, key: u64, at: u64, n: u64) -> Decision {
        self.check_at(&key, Instant::from_nanos(at), n)
    }

    fn peek_at(&self, key: u64, at: u64, n: u64) -> Decision {
        self.peek_at(&key, Instant::from_nanos(at), n)
    }

    fn check_many(&self, keys: &[u64]) -> Vec<Decision> {
        let mut decisions = Vec::with_capacity(keys.len());
        self.check_many(keys, &mut decisions);
        decisions
    }

    fn horizon(&self) -> u64 {
        self.horizon().as_nanos()
    }

    fn recycled(&self) -> u64 {
        self.stats().recycled
    }
}
