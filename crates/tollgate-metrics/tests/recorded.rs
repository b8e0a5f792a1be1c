//! What a recorder is told.

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tollgate::{ManualClock, Observed, Quota, TokenBucket};
use tollgate_metrics::{MetricsHook, SlotMetrics};

/// Everything recorded, as `name{label=value,..}`, in order of that.
fn recorded(snapshotter: &Snapshotter) -> Vec<(String, f64)> {
    let all = snapshotter.snapshot().into_vec();
    let mut all: Vec<_> = all
        .into_iter()
        .map(|(key, _, _, value)| {
            let labels: Vec<_> =
                key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            let value = match value {
                DebugValue::Counter(count) => f64::from(u32::try_from(count).expect("a small number")),
                DebugValue::Gauge(value) => value.into_inner(),
                DebugValue::Histogram(_) => panic!("there are none"),
            };
            (format!("{}{{{}}}", key.key().name(), labels.join(",")), value)
        })
        .collect();
    all.sort_by(|first, second| first.0.cmp(&second.0));
    all
}

#[test]
fn decisions_and_slots_are_recorded_under_the_limiters_name() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let limiter = TokenBucket::new(Quota::per_hour(2)).clock(ManualClock::new()).keyed::<u64>(1);
        let limiter = Observed::new(limiter.build().expect("a limiter"), MetricsHook::new("logins"));
        for n in [1, 1, 1, 3, 0] {
            let _ = limiter.check_n(&0, n);
        }
        // Until no key finds a slot.
        let (mut key, mut overflowed) = (0, 0);
        while overflowed < 3 {
            key += 1;
            overflowed += u32::from(limiter.check(&key).overflowed());
        }
        let stats = limiter.limiter().stats();
        SlotMetrics::new("logins").record(stats);
        let slots = u32::try_from(stats.inserted).expect("a small number");
        let expected = [
            ("tollgate_decisions_total{limiter=logins,outcome=allowed}", 3 + slots - 1),
            ("tollgate_decisions_total{limiter=logins,outcome=refused}", 1 + 3),
            ("tollgate_decisions_total{limiter=logins,outcome=too_large}", 1),
            ("tollgate_overflowed_total{limiter=logins}", 3),
            ("tollgate_slots_inserted_total{limiter=logins}", slots),
            ("tollgate_slots_occupied{limiter=logins}", slots),
            ("tollgate_slots_recycled_total{limiter=logins}", 0),
        ];
        assert_eq!(recorded(&snapshotter), expected.map(|(name, value)| (name.to_owned(), f64::from(value))));
    });
}
