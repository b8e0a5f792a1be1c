//! One stream of decisions, whether it is a limiter of its own or one key of a table.

use tollgate::{
    Algorithm, Builder, Clock, Decision, FixedWindow, Instant, ManualClock, Quota, SlidingCounter,
    SlidingLog, TokenBucket,
};

/// The verbs that the direct and the keyed limiters have in common, and their clock.
pub(crate) struct Stream<'l, C = ManualClock> {
    pub(crate) clock: C,
    check: &'l (dyn Fn(u64) -> Decision + Sync),
    check_at: &'l (dyn Fn(Instant, u64) -> Decision + Sync),
}

impl<C> Stream<'_, C> {
    /// Asks for `n` permits on the limiter's clock.
    pub(crate) fn check(&self, n: u64) -> Decision {
        (self.check)(n)
    }

    /// Asks for `n` permits at a reading of `nanos`, wherever the clock stands.
    pub(crate) fn check_at(&self, nanos: u64, n: u64) -> Decision {
        (self.check_at)(Instant::from_nanos(nanos), n)
    }
}

impl Stream<'_> {
    /// Asks for `n` permits once the clock stands at `nanos`.
    pub(crate) fn ask(&self, nanos: u64, n: u64) -> Decision {
        self.clock.set(Instant::from_nanos(nanos));
        self.check(n)
    }

    /// Asks for single permits at `nanos` until one is refused; tells how many were granted.
    pub(crate) fn take_all(&self, nanos: u64) -> usize {
        let mut granted = 0;
        loop {
            let decision = self.ask(nanos, 1);
            if !decision.is_allowed() {
                return granted;
            }
            granted += 1;
            assert!(granted as u64 <= decision.limit(), "{granted} permits at one instant: {decision:?}");
        }
    }
}

/// Runs the scenario on a limiter of its own, and on one key of a table.
pub(crate) fn on_each_face<A: Algorithm, C: Clock>(
    limiter: impl Fn() -> Builder<A, C>,
    scenario: impl Fn(&Stream<'_, C>),
) {
    let direct = limiter().build().expect("the configuration is legal");
    scenario(&Stream {
        clock: direct.clock().clone(),
        check: &|n| direct.check_n(n),
        check_at: &|now, n| direct.check_at(now, n),
    });
    let keyed = limiter().keyed::<str>(8).build().expect("the configuration is legal");
    scenario(&Stream {
        clock: keyed.clock().clone(),
        check: &|n| keyed.check_n("key", n),
        check_at: &|now, n| keyed.check_at("key", now, n),
    });
}

/// Runs the scenario on both faces of all four algorithms, each time with a new clock.
pub(crate) fn on_each_algorithm<C: Clock>(
    quota: Quota,
    clock: impl Fn() -> C,
    scenario: impl Fn(&Stream<'_, C>),
) {
    on_each_face(|| TokenBucket::new(quota).clock(clock()), &scenario);
    on_each_face(|| FixedWindow::new(quota).clock(clock()), &scenario);
    on_each_face(|| SlidingCounter::new(quota).clock(clock()), &scenario);
    on_each_face(|| SlidingLog::new(quota).clock(clock()), &scenario);
}
