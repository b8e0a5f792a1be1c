//! The layer, its service, and the handle to both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use http::request::Parts;
use http::{Request, Response};
use tollgate::{Clock, QuantaClock};
use tower_layer::Layer;
use tower_service::Service;

use crate::error::BuildError;
use crate::future::ResponseFuture;
use crate::limits::{Decided, Limits};
use crate::policy::Policy;
use crate::refusal::{PlainText, Refusal, Respond};

/// A [`tower_layer::Layer`] that refuses requests beyond their limits, and tells clients what they have left.
///
/// Cheap to clone; all clones and all services made by them share one state, however many connections there are. `R`
/// makes the response to those refused: [`PlainText`], [`ProblemJson`](crate::ProblemJson), [`Empty`](crate::Empty),
/// [`Grpc`](crate::Grpc) or a closure.
pub struct RateLimitLayer<R = PlainText, C: Clock = QuantaClock> {
    shared: Arc<Shared<C>>,
    respond: R,
}

/// What all services share. Limits are swapped whole.
struct Shared<C: Clock> {
    limits: ArcSwap<Limits<C>>,
    is_enabled: AtomicBool,
}

impl RateLimitLayer {
    /// Limits by these policies; all of those that apply to a request, or none, are charged.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for the first policy that cannot be had, and why.
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> Result<Self, BuildError> {
        Limits::builder().policies(policies).build().map(Self::of)
    }
}

impl<C: Clock> RateLimitLayer<PlainText, C> {
    /// Limits that are built.
    pub fn of(limits: Limits<C>) -> Self {
        let shared = Shared { limits: ArcSwap::from_pointee(limits), is_enabled: AtomicBool::new(true) };
        Self { shared: Arc::new(shared), respond: PlainText }
    }
}

impl<R, C: Clock> RateLimitLayer<R, C> {
    /// Requests that are refused are answered so, instead of by [`PlainText`].
    pub fn respond_with<S>(self, respond: S) -> RateLimitLayer<S, C> {
        RateLimitLayer { shared: self.shared, respond }
    }

    /// To look at the limits, to swap them and to switch them off, while they are in use.
    pub fn handle(&self) -> Handle<C> {
        Handle { shared: Arc::clone(&self.shared) }
    }
}

impl<S, R: Clone, C: Clock> Layer<S> for RateLimitLayer<R, C> {
    type Service = RateLimit<S, R, C>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimit { inner, shared: Arc::clone(&self.shared), respond: self.respond.clone() }
    }
}

/// The service of a [`RateLimitLayer`].
#[derive(Clone)]
pub struct RateLimit<S, R = PlainText, C: Clock = QuantaClock> {
    inner: S,
    shared: Arc<Shared<C>>,
    respond: R,
}

impl<S, R, C, Q, B> Service<Request<Q>> for RateLimit<S, R, C>
where
    S: Service<Request<Q>, Response = Response<B>>,
    R: Respond<B>,
    C: Clock,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, B, C>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let decided = self.shared.decide(&parts);
        let refused = decided.as_ref().and_then(|decided| {
            let mut response = self.respond.respond(&decided.refusal()?);
            Refusal::write_headers(response.headers_mut());
            decided.write_fields(response.headers_mut());
            Some(response)
        });
        match refused {
            Some(response) => ResponseFuture::refused(response),
            None => ResponseFuture::passed(self.inner.call(Request::from_parts(parts, body)), decided),
        }
    }
}

/// To look at a layer's limits, to swap them and to switch them off, while they are in use. Cheap to clone.
///
/// ```
/// use tollgate::{Quota, TokenBucket};
/// use tollgate_tower::keys::KeySource;
/// use tollgate_tower::{Limits, Policy, RateLimitLayer};
///
/// let policy = |limit| Policy::new("api", TokenBucket::new(Quota::per_second(limit)), KeySource::peer());
/// let layer = RateLimitLayer::new([policy(10)])?;
/// let handle = layer.handle();
///
/// handle.swap(Limits::builder().policy(policy(20)).build_after(&handle.limits())?);
/// handle.set_enabled(false); // everything passes
/// # Ok::<(), tollgate_tower::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Handle<C: Clock = QuantaClock> {
    shared: Arc<Shared<C>>,
}

impl<C: Clock> Handle<C> {
    /// The limits in use.
    pub fn limits(&self) -> Limits<C> {
        Limits::clone(&self.shared.limits.load())
    }

    /// Decides by these from the next request on. Those under way are settled by the limits that decided them.
    pub fn swap(&self, limits: Limits<C>) {
        self.shared.limits.store(Arc::new(limits));
    }

    /// The kill switch: off, everything passes, and nothing is counted or written.
    pub fn set_enabled(&self, is_enabled: bool) {
        // ORDERING: Relaxed: it says when to decide, and publishes nothing that is decided on.
        self.shared.is_enabled.store(is_enabled, Ordering::Relaxed);
    }

    /// Whether limits are enforced.
    pub fn is_enabled(&self) -> bool {
        // ORDERING: Relaxed: as in `set_enabled`.
        self.shared.is_enabled.load(Ordering::Relaxed)
    }
}

impl<C: Clock> Shared<C> {
    fn decide(&self, request: &Parts) -> Option<Decided<C>> {
        // ORDERING: Relaxed: as in `Handle::set_enabled`.
        self.is_enabled.load(Ordering::Relaxed).then(|| self.limits.load().decide(request))
    }
}

impl<R: Clone, C: Clock> Clone for RateLimitLayer<R, C> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), respond: self.respond.clone() }
    }
}

impl<C: Clock> fmt::Debug for Shared<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limits.load().fmt(f)
    }
}

impl<R, C: Clock> fmt::Debug for RateLimitLayer<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer").field("limits", &self.shared).finish_non_exhaustive()
    }
}

impl<S, R, C: Clock> fmt::Debug for RateLimit<S, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("limits", &self.shared).finish_non_exhaustive()
    }
}

impl<C: Clock> fmt::Debug for Handle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("limits", &self.shared).finish_non_exhaustive()
    }
}
