#![doc = include_str!("../README.md")]

use std::fmt;

use metrics::{Counter, Gauge, SharedString, counter, describe_counter, describe_gauge, gauge};
use tollgate::{Decision, Hook, KeyedStats, Outcome};

const DECISIONS: &str = "tollgate_decisions_total";
const OVERFLOWED: &str = "tollgate_overflowed_total";
const INSERTED: &str = "tollgate_slots_inserted_total";
const RECYCLED: &str = "tollgate_slots_recycled_total";
const OCCUPIED: &str = "tollgate_slots_occupied";

/// Counts decisions by their outcome. The counters are looked up once, when this is made, so a decision costs an
/// increment of one of them (of two, if the key found no slot).
///
/// Made before a recorder is installed, it counts for none.
#[derive(Clone)]
pub struct MetricsHook {
    allowed: Counter,
    refused: Counter,
    too_large: Counter,
    overflowed: Counter,
}

impl MetricsHook {
    /// Counts under this name, as the label `limiter`. Two hooks of one name count together.
    pub fn new(limiter: impl Into<SharedString>) -> Self {
        describe_counter!(DECISIONS, "Decisions of a rate limiter");
        describe_counter!(OVERFLOWED, "Decisions of a rate limiter whose key found no slot");
        let limiter = limiter.into();
        let decisions =
            |outcome: &'static str| counter!(DECISIONS, "limiter" => limiter.clone(), "outcome" => outcome);
        Self {
            allowed: decisions("allowed"),
            refused: decisions("refused"),
            too_large: decisions("too_large"),
            overflowed: counter!(OVERFLOWED, "limiter" => limiter.clone()),
        }
    }
}

impl<Q: ?Sized> Hook<Q> for MetricsHook {
    fn decided(&self, _key: &Q, decision: &Decision) {
        match decision.outcome() {
            Outcome::Allowed => self.allowed.increment(1),
            Outcome::Denied => self.refused.increment(1),
            Outcome::TooLarge => self.too_large.increment(1),
        }
        if decision.overflowed() {
            self.overflowed.increment(1);
        }
    }
}

impl fmt::Debug for MetricsHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsHook").finish_non_exhaustive()
    }
}

/// Tells what has become of a keyed limiter's slots, when it is told to.
#[derive(Clone)]
pub struct SlotMetrics {
    inserted: Counter,
    recycled: Counter,
    occupied: Gauge,
}

impl SlotMetrics {
    /// Tells under this name, as the label `limiter`. Counts are absolute: one name for each limiter.
    pub fn new(limiter: impl Into<SharedString>) -> Self {
        describe_counter!(INSERTED, "Keys that a rate limiter has given a slot");
        describe_counter!(RECYCLED, "Slots that a rate limiter has taken from keys as good as new");
        describe_gauge!(OCCUPIED, "Slots of a rate limiter that belong to a key");
        let limiter = limiter.into();
        Self {
            inserted: counter!(INSERTED, "limiter" => limiter.clone()),
            recycled: counter!(RECYCLED, "limiter" => limiter.clone()),
            occupied: gauge!(OCCUPIED, "limiter" => limiter),
        }
    }

    /// Tells these.
    pub fn record(&self, stats: KeyedStats) {
        self.inserted.absolute(stats.inserted);
        self.recycled.absolute(stats.recycled);
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 slots")]
        self.occupied.set(stats.occupied() as f64);
    }
}

impl fmt::Debug for SlotMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotMetrics").finish_non_exhaustive()
    }
}
