//! What is limited, for whom and by how much.

mod credentials;
mod scope;

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use tollgate::{AnyAlgorithm, Overflow};

pub use credentials::CredentialLimits;
pub(crate) use scope::Scope;

use crate::headers::Unit;
use crate::keys::KeySource;

/// Clients with a state at a time, unless told otherwise.
const KEYS: usize = 100_000;

/// One limit: its name, how much, and whose.
///
/// What is wrong with it is told when [`Limits`](crate::Limits) are built of it.
///
/// ```
/// use http::Method;
/// use tollgate::{Overflow, Quota, TokenBucket};
/// use tollgate_tower::{MissingKey, Policy};
/// use tollgate_tower::keys::KeySource;
///
/// let uploads = Policy::new("uploads", "100MB/h".parse::<TokenBucket>()?, KeySource::header("x-api-key")?)
///     .route("/files/*")
///     .method(Method::PUT)
///     .cost_by(|request| {
///         let length = request.headers.get("content-length").and_then(|value| value.to_str().ok());
///         length.and_then(|length| length.parse().ok()).unwrap_or(1_000_000)
///     })
///     .keys(10_000)
///     .overflow(Overflow::Shared(Quota::per_hour(1_000_000_000)))
///     .missing_key(MissingKey::Refuse(http::StatusCode::UNAUTHORIZED));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Policy {
    pub(crate) name: String,
    pub(crate) algorithm: AnyAlgorithm,
    pub(crate) key: KeySource,
    pub(crate) keys: usize,
    pub(crate) overflow: Overflow,
    pub(crate) missing_key: MissingKey,
    pub(crate) scope: Scope,
    pub(crate) cost: Cost,
    pub(crate) mode: Mode,
    pub(crate) charge: Charge,
    pub(crate) unit: Unit,
    pub(crate) guards_capacity: bool,
}

/// What becomes of what a policy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mode {
    /// It is enforced.
    #[default]
    Enforce,
    /// It is decided, charged, counted and reported by `tracing`, and the request passes: to try a limit out. Clients are
    /// told nothing.
    Shadow,
    /// Nothing is decided.
    Off,
}

/// What becomes of a request without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MissingKey {
    /// It is refused by 500 and a text that says what is missing and how to provide it; an error is logged at the 1st,
    /// 2nd, 4th and so on. For keys that are always there, once the server is set up.
    #[default]
    Fail,
    /// It is refused by this status: 401 where an API key is required, say.
    Refuse(StatusCode),
    /// All such requests share one key.
    Share,
    /// This limit does not apply to it.
    Skip,
}

#[derive(Clone)]
pub(crate) enum Cost {
    Fixed(u64),
    By(Arc<dyn Fn(&Parts) -> u64 + Send + Sync>),
}

#[derive(Clone)]
pub(crate) enum Charge {
    Always,
    /// Charged when the request comes, and given back unless the response is like this.
    If(Arc<Counts>),
}

/// Whether a request counts that has such a response.
type Counts = dyn Fn(StatusCode, &HeaderMap) -> bool + Send + Sync;

impl Policy {
    /// A limit under this name, which clients see.
    ///
    /// Unless told otherwise it is enforced for all requests, each costs one permit, 100,000 keys may be live at a time,
    /// requests of more are refused, and so are those without a key.
    pub fn new(name: &str, algorithm: impl Into<AnyAlgorithm>, key: KeySource) -> Self {
        Self {
            name: name.to_owned(),
            algorithm: algorithm.into(),
            key,
            keys: KEYS,
            overflow: Overflow::Deny,
            missing_key: MissingKey::default(),
            scope: Scope::default(),
            cost: Cost::Fixed(1),
            mode: Mode::default(),
            charge: Charge::Always,
            unit: Unit::default(),
            guards_capacity: false,
        }
    }

    /// Applies to this path, or to those below it: `/login` is that path alone, `/api/*` is every path that begins with
    /// `/api/`. Without this it applies to all.
    ///
    /// Paths are compared as they were sent, before `%` escapes are read: as routers such as axum's do.
    pub fn route(mut self, path: &str) -> Self {
        self.scope.path = Some(path.to_owned());
        self
    }

    /// Applies to this method, and to others named so. Without this it applies to all.
    pub fn method(mut self, method: Method) -> Self {
        self.scope.methods.push(method);
        self
    }

    /// Applies to requests of which this is true.
    pub fn when(mut self, applies: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        self.scope.when = Some(Arc::new(applies));
        self
    }

    /// Each request costs so many permits, instead of 1.
    pub fn cost(mut self, permits: u64) -> Self {
        self.cost = Cost::Fixed(permits);
        self
    }

    /// A request costs what this says, in permits; at 0 it passes.
    pub fn cost_by(mut self, cost: impl Fn(&Parts) -> u64 + Send + Sync + 'static) -> Self {
        self.cost = Cost::By(Arc::new(cost));
        self
    }

    /// What permits are, for clients to know.
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// How many keys may be live at a time: see [`Keyed`](tollgate::Keyed#memory) for the bytes that each takes.
    pub fn keys(mut self, keys: usize) -> Self {
        self.keys = keys;
        self
    }

    /// What becomes of requests when more keys are live than that.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// What becomes of requests without a key.
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// What becomes of what this decides.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Only requests whose response is like this count: failed logins, say.
    ///
    /// A permit is charged when the request comes, so that no more can be under way at a time than the limit allows, and
    /// given back when the response is another. A request that is dropped before its response counts. One whose response
    /// comes after the window that it was charged to has passed gives nothing back: there is nothing left of it.
    ///
    /// Not for a [`SlidingLog`](tollgate::SlidingLog), which cannot give back.
    pub fn charge_if(
        mut self,
        counts: impl Fn(StatusCode, &HeaderMap) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.charge = Charge::If(Arc::new(counts));
        self
    }

    /// What is limited is what the server can take, not what a client may ask for: refusals are 503 and "reduced
    /// capacity" instead of 429.
    pub fn guards_capacity(mut self) -> Self {
        self.guards_capacity = true;
        self
    }
}

impl Cost {
    pub(crate) fn of(&self, request: &Parts) -> u64 {
        match self {
            Self::Fixed(permits) => *permits,
            Self::By(cost) => cost(request),
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("name", &self.name)
            .field("algorithm", &format_args!("{}", self.algorithm))
            .field("key", &self.key)
            .field("scope", &self.scope)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
