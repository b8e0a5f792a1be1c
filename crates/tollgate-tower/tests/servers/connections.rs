use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;
use tollgate_tower::keys::KeySource;
use tower::{Layer, service_fn};

use crate::layer;

/// A limit that is kept by each connection is none.
#[tokio::test]
async fn fifteen_hundred_requests_on_separate_connections_pass_as_few_as_on_one() {
    let (limit, clock) = layer("5/s burst 5", KeySource::fixed());
    let served = Arc::new(AtomicU64::new(0));
    let (mut requests, mut statuses) = (JoinSet::new(), Vec::new());
    for number in 0..1500_u64 {
        if number == 750 {
            clock.advance(Duration::from_millis(999));
        }
        let (near, far) = tokio::io::duplex(1024);
        let (limit, served) = (limit.clone(), Arc::clone(&served));
        requests.spawn(async move {
            let inner = service_fn(move |_: Request<Incoming>| {
                served.fetch_add(1, Ordering::Relaxed);
                std::future::ready(Ok::<_, Infallible>(Response::new("served".to_owned())))
            });
            let service = TowerToHyperService::new(limit.layer(inner));
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(far), service);
            tokio::spawn(connection);
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(near)).await.expect("a connection");
            tokio::spawn(connection);
            let request =
                Request::builder().uri("/").header("host", "a").body(String::new()).expect("a request");
            sender.send_request(request).await.expect("a response").status().as_u16()
        });
        if number == 749 {
            // All of them are before the time moves.
            while let Some(status) = requests.join_next().await {
                statuses.push(status.expect("no panic"));
            }
        }
    }
    statuses.extend(requests.join_all().await);
    let passed = served.load(Ordering::Relaxed);
    // The burst, and what has come back after 999 ms.
    assert_eq!(passed, 5 + 4);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 1500 - 9);
}
