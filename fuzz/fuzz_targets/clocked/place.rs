//! Where a state lies in time, and what one that is too far ahead is healed to.

use oracle::limiters::Visit;
use oracle::rate::is_rounded;
use oracle::vectors::Rule;
use tollgate::{Algorithm, Decision, Instant, Keyed, Limiter, ManualClock, RandomSipHash};

use crate::promise::{SLACK, limit};

pub(crate) enum Place {
    /// Not more than the slack ahead.
    Here,
    /// Further ahead.
    Ahead(Spent),
    Unknown,
}

impl Place {
    /// Of a state that, seen at `now`, is as good as new after `wait`.
    pub(crate) fn of(rule: Rule, now: u64, wait: Option<u64>) -> Self {
        // A rounded state may be a unit off, and of a counter the place cannot be told.
        if is_rounded(rule) || matches!(rule, Rule::SlidingCounter { .. }) {
            return Self::Unknown;
        }
        let Some(wait) = wait else { return Self::Unknown };
        if wait <= SLACK {
            return Self::Here;
        }
        let Some(spent) = now.checked_add(SLACK).and_then(|edge| Spent::at(edge, rule)) else {
            return Self::Unknown;
        };
        match spent.peek_at(now, 0).reset_after_nanos() {
            Some(longest) if wait > longest => Self::Ahead(spent),
            Some(longest) if wait < longest => Self::Here,
            // Units of a bucket are parts of a ns.
            _ => Self::Unknown,
        }
    }
}

/// A limiter that was asked for all of its limit at some time.
pub(crate) struct Spent(Box<dyn Fn(u64, u64) -> Decision>);

impl Spent {
    fn at(edge: u64, rule: Rule) -> Option<Self> {
        let hasher = RandomSipHash::with_key([0, 0]);
        rule.build_on(ManualClock::new(), 1, hasher, Spend { edge, limit: limit(rule) }).ok()
    }

    pub(crate) fn peek_at(&self, now: u64, n: u64) -> Decision {
        self.0(now, n)
    }
}

struct Spend {
    edge: u64,
    limit: u64,
}

impl Visit<ManualClock> for Spend {
    type Output = Spent;

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, ManualClock>,
        _: Keyed<A, u64, ManualClock>,
    ) -> Spent {
        let all = direct.check_at(Instant::from_nanos(self.edge), self.limit);
        assert!(all.is_allowed(), "{all:?}");
        Spent(Box::new(move |now, n| direct.peek_at(Instant::from_nanos(now), n)))
    }
}
