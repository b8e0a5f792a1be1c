use http::{Response, StatusCode};
use tollgate_tower::headers::PolicyName;
use tollgate_tower::{Empty, Grpc, ProblemJson, Reason, Refusal};

use crate::{Server, everybodys, get, value};

fn one_an_hour() -> Server {
    Server::new([everybodys("default", "fixed-window 1/h")])
}

#[tokio::test]
async fn a_refusal_is_429_with_a_wait_and_kept_by_nobody() {
    let server = one_an_hour();
    let allowed = server.call(&get("/")).await;
    assert_eq!(
        (value(allowed.headers(), "retry-after"), value(allowed.headers(), "cache-control")),
        (None, None)
    );
    let refused = server.call(&get("/")).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(value(refused.headers(), "retry-after"), Some("3600"));
    assert_eq!(value(refused.headers(), "cache-control"), Some("no-store"));
    assert_eq!(value(refused.headers(), "ratelimit"), Some("\"default\";r=0;t=3600"));
    assert_eq!(value(refused.headers(), "content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(refused.body(), "too many requests: default; retry after 3600 s\n");
}

#[tokio::test]
async fn a_problem_names_the_policies_that_refuse() {
    let server = one_an_hour().respond_with(ProblemJson);
    let _ = server.call(&get("/")).await;
    let refused = server.call(&get("/")).await;
    assert_eq!(value(refused.headers(), "content-type"), Some("application/problem+json"));
    assert_eq!(
        refused.body(),
        "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
          \"title\":\"Too Many Requests\",\"status\":429,\"violated-policies\":[\"default\"]}"
    );
}

#[tokio::test]
async fn names_with_quotes_are_escaped_wherever_they_are_written() {
    let server = Server::new([everybodys("a\"b\\c", "fixed-window 1/h")]).respond_with(ProblemJson);
    let _ = server.call(&get("/")).await;
    let refused = server.call(&get("/")).await;
    assert_eq!(value(refused.headers(), "ratelimit"), Some(r#""a\"b\\c";r=0;t=3600"#));
    let problem: serde_json::Value = serde_json::from_str(refused.body()).expect("JSON");
    assert_eq!(problem["violated-policies"][0], "a\"b\\c");
}

#[tokio::test]
async fn what_guards_the_servers_capacity_refuses_by_503() {
    let guard = || everybodys("capacity", "fixed-window 1/min").guards_capacity();
    let server = Server::new([guard()]).respond_with(ProblemJson);
    let _ = server.call(&get("/")).await;
    let refused = server.call(&get("/")).await;
    assert_eq!((refused.status().as_u16(), value(refused.headers(), "retry-after")), (503, Some("60")));
    let problem: serde_json::Value = serde_json::from_str(refused.body()).expect("JSON");
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity");
    assert_eq!(problem["violated-policies"][0], "capacity");
    // A client that is beyond its own quota too is told that.
    let server = Server::new([guard(), everybodys("own", "fixed-window 1/min")]);
    let _ = server.call(&get("/")).await;
    assert_eq!(server.status(&get("/")).await, 429);
}

#[tokio::test]
async fn what_costs_more_than_the_limit_itself_is_told_no_wait() {
    let server = Server::new([everybodys("small", "5/h").cost(6)]);
    let refused = server.call(&get("/")).await;
    assert_eq!((refused.status().as_u16(), value(refused.headers(), "retry-after")), (429, None));
    assert_eq!(refused.body(), "the request costs more than the limit itself: small\n");
    assert_eq!((server.stats("small").refused, server.stats("small").too_large), (1, 1));

    let server = Server::with(|builder| {
        builder.policy(everybodys("small", "5/h").cost(6)).too_large_status(StatusCode::PAYLOAD_TOO_LARGE)
    });
    assert_eq!(server.status(&get("/")).await, 413);
}

#[tokio::test]
async fn a_closure_makes_its_own_response_and_the_fields_are_added() {
    let server = one_an_hour().respond_with(|refusal: &Refusal<'_>| {
        assert_eq!(refusal.reason(), Reason::Limited);
        assert_eq!(refusal.retry_after_seconds(), Some(3600));
        let names: Vec<_> = refusal.violated_policies().map(PolicyName::as_str).collect();
        let mut response = Response::new(names.join("+"));
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response.headers_mut().insert("cache-control", "private".parse().expect("a value"));
        response
    });
    let _ = server.call(&get("/")).await;
    let refused = server.call(&get("/")).await;
    assert_eq!((refused.status().as_u16(), refused.body().as_str()), (418, "default"));
    assert_eq!(value(refused.headers(), "retry-after"), Some("3600"));
    assert_eq!(value(refused.headers(), "cache-control"), Some("private"), "its own is kept");
    assert!(value(refused.headers(), "ratelimit").is_some());
}

#[tokio::test]
async fn grpc_is_told_resource_exhausted_and_a_body_is_not_needed() {
    let server = Server::new([everybodys("100%", "fixed-window 1/h")]).respond_with(Grpc);
    let _ = server.call(&get("/")).await;
    let refused = server.call(&get("/")).await;
    assert_eq!((refused.status().as_u16(), value(refused.headers(), "grpc-status")), (200, Some("8")));
    assert_eq!(value(refused.headers(), "content-type"), Some("application/grpc"));
    assert_eq!(
        value(refused.headers(), "grpc-message"),
        Some("too many requests: 100%25; retry after 3600 s")
    );
    assert_eq!(value(refused.headers(), "retry-after"), Some("3600"));
    let server = Server::new([everybodys("c", "1/h").guards_capacity()]).respond_with(Grpc);
    let _ = server.call(&get("/")).await;
    assert_eq!(value(server.call(&get("/")).await.headers(), "grpc-status"), Some("14"));

    let server = one_an_hour().respond_with(Empty);
    let _ = server.call(&get("/")).await;
    let refused = server.call(&get("/")).await;
    assert_eq!((refused.status().as_u16(), refused.body().as_str()), (429, ""));
}
