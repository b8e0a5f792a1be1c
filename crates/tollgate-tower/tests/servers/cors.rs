use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Method, Request};
use tollgate_tower::keys::KeySource;
use tower::ServiceExt;
use tower_http::cors::{Any, CorsLayer};

use crate::layer;

#[tokio::test]
async fn inside_of_a_cors_layer_refusals_can_be_read_across_origins_and_preflights_do_not_count() {
    let (limit, _) = layer("1/h", KeySource::fixed());
    let exposed: Vec<_> = limit.handle().limits().exposed_names().collect();
    // The last layer is the outermost.
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .layer(limit)
        .layer(CorsLayer::new().allow_origin(Any).expose_headers(exposed));
    let call = |method: Method| {
        let request = Request::builder()
            .method(method)
            .uri("/")
            .header("origin", "https://other.example")
            .header("access-control-request-method", "GET")
            .body(Body::empty())
            .expect("a request");
        app.clone().oneshot(request)
    };
    for _ in 0..5 {
        assert_eq!(call(Method::OPTIONS).await.expect("infallible").status(), 200);
    }
    assert_eq!(call(Method::GET).await.expect("infallible").status(), 200);
    let refused = call(Method::GET).await.expect("infallible");
    assert_eq!(refused.status(), 429);
    let headers = refused.headers();
    assert_eq!(headers["access-control-allow-origin"], "*");
    let exposed = headers["access-control-expose-headers"].to_str().expect("printable ASCII");
    let exposed: Vec<&str> = exposed.split(',').map(str::trim).collect();
    for name in ["retry-after", "ratelimit", "ratelimit-policy"] {
        assert!(headers.contains_key(name) && exposed.contains(&name), "{name}");
    }
}
