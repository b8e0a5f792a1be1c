//! From policies to limits.

use std::sync::Arc;

use http::StatusCode;
use tollgate::{AnyAlgorithm, Clock, QuantaClock};

use super::state::State;
use super::{Built, Limits, Set, Settings};
use crate::error::{BuildError, BuildErrorKind};
use crate::headers::{Announcement, Fields, Jitter, PolicyName};
use crate::policy::{Charge, Mode, Policy};
use crate::requests::Requests;

/// Builds [`Limits`].
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Quota, TokenBucket};
/// use tollgate_tower::headers::{Fields, Jitter, XReset};
/// use tollgate_tower::keys::KeySource;
/// use tollgate_tower::{Limits, Policy, Requests};
///
/// let limits = Limits::builder()
///     .policy(Policy::new("burst", TokenBucket::new(Quota::per_second(10)).burst(50), KeySource::peer()))
///     .policy(Policy::new("daily", TokenBucket::new(Quota::per_day(10_000)), KeySource::peer()))
///     .fields(Fields::default().x_rate_limit(XReset::EpochSeconds))
///     .jitter(Jitter::up_to(Duration::from_secs(3)))
///     .exempt(Requests::when(|request| request.uri.path() == "/health"))
///     .build()?;
/// # Ok::<(), tollgate_tower::BuildError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "limits have to be built"]
pub struct LimitsBuilder<C: Clock = QuantaClock> {
    policies: Vec<Policy>,
    clock: C,
    settings: Settings,
}

impl<C: Clock> LimitsBuilder<C> {
    pub(super) fn new(clock: C) -> Self {
        let settings = Settings {
            fields: Fields::default(),
            jitter: None,
            blocked: Vec::new(),
            exempt: Vec::new(),
            count_options: false,
            too_large: StatusCode::TOO_MANY_REQUESTS,
        };
        Self { policies: Vec::new(), clock, settings }
    }

    /// Reads this clock instead of quanta's.
    pub fn clock<D: Clock>(self, clock: D) -> LimitsBuilder<D> {
        LimitsBuilder { policies: self.policies, clock, settings: self.settings }
    }

    /// One more policy. The one that refuses most first: see [`AllOf`](tollgate::AllOf#what-other-threads-see).
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policies.push(policy);
        self
    }

    /// More policies.
    pub fn policies(mut self, policies: impl IntoIterator<Item = Policy>) -> Self {
        self.policies.extend(policies);
        self
    }

    /// The header fields that are written, instead of those of the newest draft.
    pub fn fields(mut self, fields: Fields) -> Self {
        self.settings.fields = fields;
        self
    }

    /// Clients that are refused together are told different waits.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.settings.jitter = Some(jitter);
        self
    }

    /// These are refused by 403, whatever else holds for them.
    pub fn block(mut self, requests: Requests) -> Self {
        self.settings.blocked.push(requests);
        self
    }

    /// These pass and are not counted.
    pub fn exempt(mut self, requests: Requests) -> Self {
        self.settings.exempt.push(requests);
        self
    }

    /// `OPTIONS` counts too. Without this it passes: browsers send it by themselves before requests to other origins.
    pub fn count_options(mut self) -> Self {
        self.settings.count_options = true;
        self
    }

    /// A request that costs more than the limit itself is refused by this status, instead of 429: by 413, say.
    pub fn too_large_status(mut self, status: StatusCode) -> Self {
        self.settings.too_large = status;
        self
    }

    /// The limits. Without a policy everything passes.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for the first policy that cannot be had, and why.
    pub fn build(self) -> Result<Limits<C>, BuildError> {
        let origin = self.clock.origin_since_unix_epoch();
        let policies = built(self.policies, &self.clock, &[])?;
        Ok(Limits(Arc::new(Set { policies, clock: self.clock, origin, settings: self.settings })))
    }

    /// The limits that follow others: policies that are defined as before (the name, algorithm, key, number of keys and
    /// overflow; the rest may differ) keep their states, all of a name their counters. On the clock of the others.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build); the others are left as they are.
    pub fn build_after(self, previous: &Limits<C>) -> Result<Limits<C>, BuildError> {
        let previous = &*previous.0;
        let (clock, origin) = (previous.clock.clone(), previous.origin);
        let policies = built(self.policies, &clock, &previous.policies)?;
        Ok(Limits(Arc::new(Set { policies, clock, origin, settings: self.settings })))
    }
}

fn built<C: Clock>(
    policies: Vec<Policy>,
    clock: &C,
    previous: &[Built<C>],
) -> Result<Vec<Built<C>>, BuildError> {
    check(&policies)?;
    policies.into_iter().map(|policy| Built::new(policy, clock, previous)).collect()
}

/// What can be told without building anything.
fn check(policies: &[Policy]) -> Result<(), BuildError> {
    for (index, policy) in policies.iter().enumerate() {
        let refuse = |kind| Err(BuildError::new(&policy.name, kind));
        if let Err(error) = PolicyName::new(&policy.name) {
            return refuse(BuildErrorKind::Name(error));
        }
        if !policy.scope.is_path_valid() {
            let route = policy.scope.path.clone().unwrap_or_default().into();
            return refuse(BuildErrorKind::Route { route });
        }
        if is_log(policy) && matches!(policy.charge, Charge::If(_)) {
            return refuse(BuildErrorKind::LogGivesNothingBack);
        }
        for earlier in &policies[..index] {
            if earlier.name == policy.name {
                return refuse(BuildErrorKind::SameName);
            }
            let are_enforced = earlier.mode == Mode::Enforce && policy.mode == Mode::Enforce;
            if are_enforced && is_log(earlier) && is_log(policy) && earlier.scope.overlaps(&policy.scope) {
                return refuse(BuildErrorKind::SecondLog { other: earlier.name.as_str().into() });
            }
        }
    }
    Ok(())
}

fn is_log(policy: &Policy) -> bool {
    matches!(policy.algorithm, AnyAlgorithm::SlidingLog(_))
}

impl<C: Clock> Built<C> {
    fn new(policy: Policy, clock: &C, previous: &[Self]) -> Result<Self, BuildError> {
        let refuse = |kind| BuildError::new(&policy.name, kind);
        let name = PolicyName::new(&policy.name).map_err(|error| refuse(BuildErrorKind::Name(error)))?;
        let previous = previous.iter().find(|built| built.policy.name == policy.name);
        let counters = previous.map_or_else(Arc::default, |built| Arc::clone(&built.counters));
        let kept =
            previous.filter(|built| built.has_states_for(&policy)).map(|built| Arc::clone(&built.state));
        let state = kept.map_or_else(
            || State::new(&policy.algorithm, clock, policy.keys, policy.overflow).map(Arc::new),
            Ok,
        );
        let state = state.map_err(|error| refuse(BuildErrorKind::Limit(error)))?;
        let announcement =
            Announcement::new(name, &policy.algorithm).capacity(state.capacity()).unit(policy.unit);
        Ok(Self { policy, announcement, state, counters })
    }

    /// Whether what has been decided for this policy holds for the other.
    fn has_states_for(&self, policy: &Policy) -> bool {
        self.policy.algorithm == policy.algorithm
            && self.policy.keys == policy.keys
            && self.policy.overflow == policy.overflow
            && self.policy.key.is_same(&policy.key)
    }
}

const _: () = {
    // Shared by all connections.
    const fn is_shared<T: Send + Sync + Clone>() {}
    is_shared::<Limits>();
};
