use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::MockConnectInfo;
use axum::routing::get;
use http::{Request, Response};
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tollgate_tower::ProblemJson;
use tollgate_tower::keys::KeySource;
use tower::ServiceExt;

use crate::layer;

async fn body(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn request(path: &str) -> Request<Body> {
    Request::builder().uri(path).body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn an_app_is_limited_as_a_whole_or_by_its_routes() {
    let (whole, _) = layer("9/h", KeySource::peer());
    let (one, _) = layer("1/h", KeySource::fixed());
    let app = Router::new()
        .route("/one", get(|| async { "one" }).layer(one.respond_with(ProblemJson)))
        .route("/any", get(|| async { "any" }))
        .layer(whole)
        .layer(MockConnectInfo(SocketAddr::from(([9, 9, 9, 9], 1))));
    let call = |path| app.clone().oneshot(request(path));

    let response = call("/one").await.expect("infallible");
    assert_eq!(response.status(), 200);
    assert_eq!(body(response).await, "one");
    let refused = call("/one").await.expect("infallible");
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].as_bytes()), (429, &b"3600"[..]));
    assert!(body(refused).await.contains("\"violated-policies\":[\"default\"]"));
    // Nine for the whole, of which two are used.
    let mut passed = 0;
    for _ in 0..20 {
        passed += usize::from(call("/any").await.expect("infallible").status() == 200);
    }
    assert_eq!(passed, 7);
}

/// Over a socket, with the peer's address from where axum puts it.
#[tokio::test]
async fn a_served_app_knows_its_peers() {
    let (limit, clock) = layer("2/h", KeySource::peer());
    let app = Router::new().route("/", get(|| async { "hello" })).layer(limit);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    let server = tokio::spawn(async move { axum::serve(listener, service).await });

    let mut statuses = Vec::new();
    for request in 0..4 {
        if request == 3 {
            clock.advance(std::time::Duration::from_secs(1800));
        }
        // A connection, and so a port, of its own.
        let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).await.expect("a response");
        statuses.push(response.split(' ').nth(1).expect("a status").to_owned());
    }
    server.abort();
    assert_eq!(statuses, ["200", "200", "429", "200"]);
}
