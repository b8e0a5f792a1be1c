//! Policies, built: what decides.

mod builder;
mod decided;
mod state;
mod stats;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Method, StatusCode};
use smallvec::SmallVec;
use tollgate::{AllOf, Clock, Decision, Instant, LimitList, Outcome, QuantaClock, Revocable};

pub use builder::LimitsBuilder;
pub use decided::Decided;
use decided::{Pending, Told, Verdict};
use state::{Asked, State};
pub use stats::PolicyStats;
use stats::{Counter, Counters};

use crate::headers::{Announcement, Fields, Jitter, PolicyName, Report};
use crate::keys::Key;
use crate::policy::{Charge, MissingKey, Mode, Policy};
use crate::requests::Requests;

/// Policies, built: what decides about requests. A handle: clones share the states.
///
/// A [`RateLimitLayer`](crate::RateLimitLayer) asks for each request; a handler that knows more than a layer does (what
/// is in a form, say) may ask by itself:
///
/// ```
/// use http::{HeaderMap, Request, StatusCode};
/// use tollgate::{Quota, TokenBucket};
/// use tollgate_tower::{Limits, Policy};
/// use tollgate_tower::keys::KeySource;
///
/// let hourly = Policy::new("hourly", TokenBucket::new(Quota::per_hour(1)), KeySource::fixed());
/// let limits = Limits::builder().policy(hourly).build()?;
/// let (request, ()) = Request::new(()).into_parts();
///
/// assert!(limits.decide(&request).refusal().is_none());
/// let decided = limits.decide(&request);
/// let refusal = decided.refusal().expect("the second within the hour");
/// assert_eq!(refusal.status(), StatusCode::TOO_MANY_REQUESTS);
/// let mut headers = HeaderMap::new();
/// decided.write_fields(&mut headers);
/// assert_eq!(headers["retry-after"], "3600");
/// # Ok::<(), tollgate_tower::BuildError>(())
/// ```
///
/// # Concurrency
///
/// No lock: see [`Keyed`](tollgate::Keyed#concurrency) and, for several policies, [`AllOf`].
pub struct Limits<C: Clock = QuantaClock>(Arc<Set<C>>);

/// What [`Limits`] share.
struct Set<C: Clock> {
    policies: Vec<Built<C>>,
    clock: C,
    /// Asked for once: the wall clock may be set, and the end of a window must not move with it.
    origin: Duration,
    settings: Settings,
}

/// A policy and its states.
struct Built<C: Clock> {
    policy: Policy,
    announcement: Announcement,
    state: Arc<State<C>>,
    counters: Arc<Counters>,
}

/// What holds for all policies.
#[derive(Debug, Clone)]
struct Settings {
    fields: Fields,
    jitter: Option<Jitter>,
    blocked: Vec<Requests>,
    exempt: Vec<Requests>,
    count_options: bool,
    too_large: StatusCode,
}

/// A policy that applies to a request: which, whose limit, and the cost in permits.
struct Applied {
    policy: usize,
    key: Key,
    cost: u64,
}

/// Those of a request, mostly few.
type Few<T> = SmallVec<[T; 4]>;

impl Limits {
    /// Starts with no policies.
    pub fn builder() -> LimitsBuilder {
        LimitsBuilder::new(QuantaClock::new())
    }
}

impl<C: Clock> Limits<C> {
    /// Decides about a request: all policies that apply are charged, or none.
    ///
    /// O(number of policies); allocates only for more than a few, and for long keys.
    pub fn decide(&self, request: &Parts) -> Decided<C> {
        let set = &*self.0;
        if set.settings.blocked.iter().any(|requests| requests.has(request)) {
            tracing::debug!(target: "tollgate", outcome = "blocked", "request refused");
            return self.decided(Verdict::Blocked);
        }
        let is_uncounted = request.method == Method::OPTIONS && !set.settings.count_options;
        if is_uncounted || set.settings.exempt.iter().any(|requests| requests.has(request)) {
            return self.decided(Verdict::Unlimited);
        }
        let (mut enforced, mut shadows) = (Few::new(), Few::new());
        for (index, built) in set.policies.iter().enumerate() {
            let policy = &built.policy;
            if policy.mode == Mode::Off || !policy.scope.has(request) {
                continue;
            }
            let key = match policy.key.of(request) {
                Some(key) => key,
                None => match built.keyless() {
                    MissingKey::Share => Key::new(),
                    MissingKey::Skip => continue,
                    MissingKey::Fail => return self.decided(Verdict::MissingKey(index, None)),
                    MissingKey::Refuse(status) => {
                        return self.decided(Verdict::MissingKey(index, Some(status)));
                    }
                },
            };
            let applied = Applied { policy: index, key, cost: policy.cost.of(request) };
            if policy.mode == Mode::Shadow { shadows.push(applied) } else { enforced.push(applied) }
        }
        let mut decided = self.decided(Verdict::Unlimited);
        self.enforce(enforced, &mut decided);
        if decided.refusal().is_none() {
            for shadow in shadows {
                self.shadow(shadow, &mut decided);
            }
        }
        decided
    }

    /// The policies' names and what each has decided so far. Reads the state of every key: O(keys they are built for).
    pub fn stats(&self) -> impl Iterator<Item = (&PolicyName, PolicyStats)> {
        self.0.policies.iter().map(|built| {
            let live = built.state.live().try_into().unwrap_or(u64::MAX);
            (built.announcement.name(), built.counters.snapshot(live))
        })
    }

    /// The names of header fields that responses may carry, for `Access-Control-Expose-Headers`: see [`Fields::names`].
    pub fn exposed_names(&self) -> impl Iterator<Item = http::HeaderName> + use<C> {
        self.0.settings.fields.names()
    }

    fn decided(&self, verdict: Verdict) -> Decided<C> {
        Decided {
            limits: self.clone(),
            verdict,
            told: SmallVec::new(),
            pending: SmallVec::new(),
            taken_at: Duration::ZERO,
        }
    }

    fn enforce(&self, applied: Few<Applied>, decided: &mut Decided<C>) {
        if applied.is_empty() {
            return;
        }
        let (decisions, now) = self.0.ask(&applied);
        let is_allowed = decisions.iter().all(Decision::is_allowed);
        decided.verdict = if is_allowed { Verdict::Allowed } else { Verdict::Refused };
        decided.taken_at = self.0.origin.saturating_add(Duration::from_nanos(now.as_nanos()));
        for (applied, decision) in applied.into_iter().zip(decisions) {
            let built = &self.0.policies[applied.policy];
            if decision.is_allowed() == is_allowed {
                built.count(&decision);
            }
            let jitter = self.0.jitter(built, &applied.key, decision, decided.taken_at);
            decided.told.push(Told { policy: applied.policy, decision, jitter });
            if is_allowed {
                decided.pending.extend(built.pending(applied, &decision, now));
            }
        }
    }

    fn shadow(&self, applied: Applied, decided: &mut Decided<C>) {
        let built = &self.0.policies[applied.policy];
        let (decisions, now) = self.0.ask(std::slice::from_ref(&applied));
        for decision in decisions {
            built.count(&decision);
            if decision.is_allowed() {
                decided.pending.extend(built.pending(applied, &decision, now));
                return;
            }
        }
    }

    fn give_back(&self, pending: &Pending) {
        let built = &self.0.policies[pending.policy];
        let permits = built.state.refund(pending.key.as_bytes(), pending.permits, pending.until);
        built.counters.refunded.add(permits);
    }
}

impl<C: Clock> Set<C> {
    /// Charges all of these or none; each one's decision, and the reading that they are about.
    fn ask(&self, applied: &[Applied]) -> (Few<Decision>, Instant) {
        let asked: Few<Asked<'_, C>> = applied
            .iter()
            .map(|applied| self.policies[applied.policy].state.asked(applied.key.as_bytes(), applied.cost))
            .collect();
        // A log can only be the last; that there is no second one was seen to when the limits were built.
        let mut order: Few<usize> = (0..asked.len()).collect();
        order.sort_by_key(|index| asked[*index].as_revocable().is_none());
        let revocable: Few<&dyn Revocable> =
            order.iter().filter_map(|index| asked[*index].as_revocable()).collect();
        let mut limits = LimitList::new(&revocable);
        if let Some(log) = asked.iter().find(|asked| asked.as_revocable().is_none()) {
            limits = limits.and_last(log.as_limit());
        }
        let mut told: Few<Option<Decision>> = SmallVec::from_elem(None, asked.len());
        let (combined, now) = AllOf::new(limits).check_each(1, &mut told);
        let mut decisions: Few<Decision> = SmallVec::from_elem(combined.decision(), asked.len());
        for (index, decision) in order.into_iter().zip(told) {
            decisions[index] = decision.unwrap_or(combined.decision());
        }
        (decisions, now)
    }

    fn jitter(&self, built: &Built<C>, key: &Key, decision: Decision, decided_at: Duration) -> u64 {
        let Some(jitter) = &self.settings.jitter else { return 0 };
        let reset_at = Report::new(&built.announcement, decision, decided_at).reset_at();
        let period = built.policy.algorithm.quota().period();
        jitter.seconds(key.as_bytes(), reset_at.unwrap_or(decided_at), period)
    }
}

impl<C: Clock> Built<C> {
    /// What becomes of a request without a key. A policy that is only tried out refuses nothing.
    fn keyless(&self) -> MissingKey {
        let count = self.counters.missing_key.count();
        let missing_key = match self.policy.missing_key {
            MissingKey::Fail | MissingKey::Refuse(_) if self.policy.mode == Mode::Shadow => MissingKey::Skip,
            missing_key => missing_key,
        };
        if self.policy.missing_key == MissingKey::Fail && count.is_power_of_two() {
            tracing::error!(
                target: "tollgate", policy = %self.announcement.name(), outcome = "missing_key", count,
                "request without a key: it needs {}; or choose what that means by `Policy::missing_key`",
                self.policy.key.needs(),
            );
        }
        missing_key
    }

    fn count(&self, decision: &Decision) {
        let (counters, is_shadow) = (&self.counters, self.policy.mode == Mode::Shadow);
        let policy = self.announcement.name();
        if decision.overflowed() {
            let count = counters.overflowed.count();
            if count.is_power_of_two() {
                tracing::warn!(
                    target: "tollgate", %policy, outcome = "overflowed", count,
                    "more keys are live than the policy is built for; raise `Policy::keys`"
                );
            }
        }
        let (counter, outcome): (&Counter, _) = match (decision.outcome(), is_shadow) {
            (Outcome::Allowed, _) => (&counters.allowed, "allowed"),
            (_, true) => (&counters.shadow_refused, "shadow_refused"),
            (Outcome::TooLarge, false) => {
                counters.too_large.count();
                (&counters.refused, "too_large")
            }
            (Outcome::Denied, false) => (&counters.refused, "refused"),
        };
        counter.count();
        if decision.is_allowed() {
            tracing::trace!(target: "tollgate", %policy, outcome, "request decided");
        } else {
            tracing::debug!(
                target: "tollgate", %policy, outcome, retry_after = ?decision.retry_after(), "request decided"
            );
        }
    }

    /// What may have to be given back after the response.
    fn pending(&self, applied: Applied, decision: &Decision, now: Instant) -> Option<Pending> {
        let Charge::If(_) = self.policy.charge else { return None };
        let until = self.state.refundable_until(now, decision.reset_after());
        (applied.cost > 0).then_some(Pending {
            policy: applied.policy,
            key: applied.key,
            permits: applied.cost,
            until,
        })
    }
}

impl<C: Clock> Clone for Limits<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Clock> fmt::Debug for Limits<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policies = self.0.policies.iter().map(|built| &built.policy);
        f.debug_list().entries(policies).finish()
    }
}
