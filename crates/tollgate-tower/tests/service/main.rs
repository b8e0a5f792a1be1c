//! The layer around a service: what passes, what is refused, and what clients are told, on a clock moved by hand.

mod charges;
mod credentials;
mod events;
mod fields;
mod keyless;
mod mistakes;
mod policies;
mod refusals;
mod switches;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderMap, Method, Request, Response, StatusCode};
use tollgate::{AnyAlgorithm, ManualClock};
use tollgate_tower::keys::{KeySource, PeerAddr};
use tollgate_tower::{
    Handle, Limits, LimitsBuilder, PlainText, Policy, PolicyStats, RateLimitLayer, Respond,
};
use tower::{Layer, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

/// A limit as text, for all clients together.
fn everybodys(name: &str, text: &str) -> Policy {
    Policy::new(name, text.parse::<AnyAlgorithm>().expect(text), KeySource::fixed())
}

/// A limit as text, for each peer.
fn per_peer(name: &str, text: &str) -> Policy {
    Policy::new(name, text.parse::<AnyAlgorithm>().expect(text), KeySource::peer())
}

/// A request's head.
#[derive(Debug, Clone)]
struct Ask {
    method: Method,
    path: String,
    peer: Option<IpAddr>,
    headers: Vec<(&'static str, String)>,
}

fn get(path: &str) -> Ask {
    Ask { method: Method::GET, path: path.to_owned(), peer: Some([9, 9, 9, 9].into()), headers: Vec::new() }
}

impl Ask {
    fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    fn peer(mut self, peer: &str) -> Self {
        self.peer = Some(peer.parse().expect("an address"));
        self
    }

    fn without_peer(mut self) -> Self {
        self.peer = None;
        self
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn request(&self) -> Request<String> {
        let mut request = Request::builder().method(self.method.clone()).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut request = request.body(String::new()).expect("a request");
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(PeerAddr(SocketAddr::new(peer, 1)));
        }
        request
    }
}

/// A server that answers by the status that a request asks for (`x-answer`), behind the layer.
struct Server<R = PlainText> {
    clock: ManualClock,
    layer: RateLimitLayer<R, ManualClock>,
    served: Arc<AtomicU64>,
}

impl Server {
    fn new(policies: impl IntoIterator<Item = Policy>) -> Self {
        Self::with(|builder| builder.policies(policies))
    }

    fn with(build: impl FnOnce(LimitsBuilder<ManualClock>) -> LimitsBuilder<ManualClock>) -> Self {
        let clock = ManualClock::starting_at(1000 * SECOND);
        let limits = build(Limits::builder().clock(clock.clone())).build().expect("limits");
        Self { clock, layer: RateLimitLayer::of(limits), served: Arc::default() }
    }

    fn respond_with<R>(self, respond: R) -> Server<R> {
        Server { clock: self.clock, layer: self.layer.respond_with(respond), served: self.served }
    }
}

impl<R: Respond<String> + Clone> Server<R> {
    /// On a service of its own each time, as if each request came by another connection.
    async fn call(&self, ask: &Ask) -> Response<String> {
        let served = Arc::clone(&self.served);
        let inner = service_fn(move |request: Request<String>| {
            served.fetch_add(1, Ordering::Relaxed);
            let answer = request.headers().get("x-answer");
            let status = answer.map_or(StatusCode::OK, |status| {
                StatusCode::from_bytes(status.as_bytes()).expect("a status")
            });
            let mut response = Response::new("served".to_owned());
            *response.status_mut() = status;
            std::future::ready(Ok::<_, Infallible>(response))
        });
        self.layer.layer(inner).oneshot(ask.request()).await.expect("infallible")
    }

    async fn status(&self, ask: &Ask) -> u16 {
        self.call(ask).await.status().as_u16()
    }

    /// How many of `n` such requests pass.
    async fn passed_of(&self, n: usize, ask: &Ask) -> usize {
        let mut passed = 0;
        for _ in 0..n {
            passed += usize::from(self.status(ask).await == 200);
        }
        passed
    }

    fn handle(&self) -> Handle<ManualClock> {
        self.layer.handle()
    }

    fn stats(&self, name: &str) -> PolicyStats {
        let limits = self.handle().limits();
        limits.stats().find(|(policy, _)| policy.as_str() == name).expect("a policy").1
    }

    fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().expect("printable ASCII"))
}
