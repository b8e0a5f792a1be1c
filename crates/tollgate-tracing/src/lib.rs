#![doc = include_str!("../README.md")]

use std::borrow::Cow;
use std::fmt::Debug;

use tollgate::{Decision, Hook, Outcome};
use tracing::{debug, trace};

/// Makes each decision an event.
#[derive(Debug, Clone)]
pub struct TracingHook {
    limiter: Cow<'static, str>,
    tells_keys: bool,
}

impl TracingHook {
    /// Events have this name in their field `limiter`, and no key.
    pub fn new(limiter: impl Into<Cow<'static, str>>) -> Self {
        Self { limiter: limiter.into(), tells_keys: false }
    }

    /// Events have the key in their field `key`, by its `Debug`.
    pub fn with_keys(mut self) -> Self {
        self.tells_keys = true;
        self
    }
}

/// An event with what a decision tells. Each use is a place of its own, with its own level.
macro_rules! event {
    ($level:ident, $hook:expr, $key:expr, $decision:expr, $outcome:literal) => {
        $level!(
            target: "tollgate",
            limiter = &*$hook.limiter,
            key = $hook.tells_keys.then(|| tracing::field::debug($key)),
            outcome = $outcome,
            limit = $decision.limit(),
            remaining = $decision.remaining(),
            retry_after_ms = $decision.retry_after_nanos().map(|nanos| nanos.div_ceil(1_000_000)),
            overflowed = $decision.overflowed(),
        )
    };
}

impl<Q: Debug + ?Sized> Hook<Q> for TracingHook {
    fn decided(&self, key: &Q, decision: &Decision) {
        match decision.outcome() {
            Outcome::Allowed => event!(trace, self, &key, decision, "allowed"),
            Outcome::Denied => event!(debug, self, &key, decision, "refused"),
            Outcome::TooLarge => event!(debug, self, &key, decision, "too_large"),
        }
    }
}
