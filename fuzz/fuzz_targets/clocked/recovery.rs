//! However much the clock erred: once it is right, requests pass again in time.

use crate::face::Face;
use crate::promise::{self, SLACK};
use crate::run::Run;

/// Takes the clock for right from here on.
pub(crate) fn assert_recovers<F: Face>(run: &Run<'_, F>) {
    let (face, now, names) = (run.face, run.time(), run.input.keys.map_or(1, |keys| keys.names));
    let Some(recovery) = promise::recovery(run.input.rule) else { return };
    let limit = promise::limit(run.input.rule);
    if limit == 0 {
        return;
    }
    // The first that is asked for once the clock is right.
    let asked: Vec<_> = (0..names).map(|key| (key, face.check_n(key, 1))).collect();
    let at = |wait: u64| {
        let then = now.checked_add(SLACK)?.checked_add(wait)?;
        (then <= face.horizon()).then(|| face.clock().set(then))
    };
    let overflowed = asked.iter().find(|(_, decision)| decision.overflowed());
    if let Some((key, _)) = overflowed {
        // All slots were those of other keys. One of them is free as soon as it is as good as new; one that was given
        // to a key and never charged is left alone for the slack.
        if at(recovery.idle.saturating_add(SLACK + 1)).is_some() {
            let decision = face.check_n(*key, 1);
            assert!(decision.is_allowed(), "key {key}, which found no slot at {now}: {decision:?}");
        }
        return;
    }
    if at(recovery.refill).is_none() {
        return;
    }
    for (key, first) in &asked {
        let decision = face.check_n(*key, 1);
        assert!(decision.is_allowed(), "key {key} at {now}: {first:?}, and then {decision:?}");
    }
    if at(recovery.refill.saturating_add(recovery.idle)).is_some() {
        for key in 0..names {
            let decision = face.check_n(key, limit);
            assert!(decision.is_allowed(), "all of key {key}, long after {now}: {decision:?}");
        }
    }
}
