use http::Method;
use tollgate::{Overflow, Quota};
use tollgate_tower::keys::{ClientAddress, KeySource};
use tollgate_tower::{Policy, Requests};

use crate::{SECOND, Server, everybodys, get, per_peer, value};

#[tokio::test]
async fn two_per_second_are_two_in_each_second() {
    let server = Server::new([everybodys("two", "2 per second")]);
    for second in 0..5 {
        assert_eq!(server.passed_of(5, &get("/")).await, 2, "second {second}");
        server.clock.advance(SECOND);
    }
}

#[tokio::test]
async fn a_thousand_addresses_of_one_subscriber_are_one_client() {
    let server = Server::new([per_peer("minute", "1/min")]);
    let mut passed = 0;
    for address in 0..1000 {
        passed += server.passed_of(1, &get("/").peer(&format!("2001:db8::{address:x}:1"))).await;
    }
    assert_eq!(passed, 1);
    assert_eq!(server.passed_of(1, &get("/").peer("2001:db8:0:1::1")).await, 1);
}

#[tokio::test]
async fn a_refusal_charges_none_of_several_limits_and_the_longest_wait_is_told() {
    let server = Server::new([
        everybodys("minute", "fixed-window 3/min"),
        everybodys("second", "fixed-window 1/s"),
        everybodys("hour", "sliding-log 2/h"),
    ]);
    assert_eq!(server.status(&get("/")).await, 200);
    let refused = server.call(&get("/")).await;
    assert_eq!((refused.status().as_u16(), value(refused.headers(), "retry-after")), (429, Some("1")));
    assert_eq!(
        value(refused.headers(), "ratelimit"),
        Some("\"minute\";r=2;t=60, \"second\";r=0;t=1, \"hour\";r=1;t=3600")
    );
    server.clock.advance(SECOND);
    assert_eq!(server.status(&get("/")).await, 200);
    // Two of them refuse; neither the minute nor the refusing ones are charged, however often.
    for _ in 0..5 {
        let refused = server.call(&get("/")).await;
        assert_eq!(value(refused.headers(), "retry-after"), Some("3599"));
        assert_eq!(
            value(refused.headers(), "ratelimit"),
            Some("\"minute\";r=1;t=59, \"second\";r=0;t=1, \"hour\";r=0;t=3599")
        );
        assert_eq!(refused.body(), "too many requests: second, hour; retry after 3599 s\n");
    }
    assert_eq!(server.served(), 2);
    assert_eq!(
        (server.stats("minute").refused, server.stats("second").refused, server.stats("hour").refused),
        (0, 6, 5)
    );
}

#[tokio::test]
async fn a_policy_applies_to_its_route_and_methods() {
    let closure = everybodys("beta", "1/h").when(|request| request.headers.contains_key("x-beta"));
    let server = Server::new([
        everybodys("logins", "1/h").route("/login").method(Method::POST).method(Method::PUT),
        everybodys("api", "2/h").route("/api/*"),
        closure,
    ]);
    let login = get("/login").method(Method::POST);
    assert_eq!(server.passed_of(2, &login).await, 1);
    assert_eq!(server.passed_of(1, &login.clone().method(Method::PUT)).await, 0);
    assert_eq!(server.passed_of(3, &get("/login")).await, 3);
    assert_eq!(server.passed_of(2, &get("/api/a")).await + server.passed_of(2, &get("/api/b?c=d")).await, 2);
    assert_eq!(server.passed_of(3, &get("/other")).await, 3);
    assert_eq!(server.passed_of(3, &get("/other").header("x-beta", "1")).await, 1);
    assert!(server.call(&get("/other")).await.headers().is_empty(), "no policy applies");
}

#[tokio::test]
async fn layers_around_each_other_each_limit_and_each_tell() {
    use std::convert::Infallible;
    use tower::{Layer, ServiceExt, service_fn};
    let (outer, inner) =
        (Server::new([everybodys("outer", "5/h")]), Server::new([everybodys("inner", "2/h")]));
    let served = service_fn(|_| std::future::ready(Ok::<_, Infallible>(http::Response::new(String::new()))));
    let service = outer.layer.layer(inner.layer.layer(served));
    for (status, lines) in [(200, 2), (200, 2), (429, 2)] {
        let response = service.clone().oneshot(get("/").request()).await.expect("infallible");
        assert_eq!(response.status(), status);
        assert_eq!(response.headers().get_all("ratelimit").iter().count(), lines);
        assert_eq!(response.headers().get_all("retry-after").iter().count(), usize::from(status == 429));
    }
}

#[tokio::test]
async fn costs_come_from_the_request_and_nothing_costs_nothing() {
    let length = |request: &http::request::Parts| {
        let length = request.headers.get("content-length").and_then(|length| length.to_str().ok());
        length.and_then(|length| length.parse().ok()).unwrap_or(0)
    };
    let server = Server::new([
        everybodys("bytes", "1000/h").cost_by(length),
        everybodys("weighted", "100/h").cost(10).route("/heavy"),
    ]);
    let sized = |bytes: u64| get("/").header("content-length", &bytes.to_string());
    assert_eq!(server.passed_of(3, &sized(400)).await, 2);
    assert_eq!(server.passed_of(1, &sized(200)).await, 1);
    assert_eq!(server.passed_of(1, &sized(1)).await, 0);
    assert_eq!(server.passed_of(20, &sized(0)).await, 20);
    assert_eq!(server.passed_of(20, &get("/heavy")).await, 10);
}

#[tokio::test]
async fn exempt_requests_pass_uncounted_and_blocked_ones_never() {
    let office = || Requests::from_networks(ClientAddress::peer(), ["10.0.0.0/8"]).expect("a network");
    let server = Server::with(|builder| {
        builder
            .policy(everybodys("all", "1/h"))
            .exempt(office())
            .exempt(Requests::when(|request| request.uri.path() == "/health"))
            .exempt(Requests::with_header("x-api-key", ["gold"]).expect("a name"))
            .block(
                Requests::from_networks(ClientAddress::peer(), ["10.6.6.6", "6.6.6.0/24"]).expect("networks"),
            )
    });
    assert_eq!(server.passed_of(9, &get("/").peer("10.1.2.3")).await, 9);
    assert_eq!(server.passed_of(9, &get("/health")).await, 9);
    assert_eq!(server.passed_of(9, &get("/").header("x-api-key", "gold")).await, 9);
    let doubled = get("/").header("x-api-key", "gold").header("x-api-key", "lead");
    assert_eq!(server.passed_of(9, &doubled).await, 1);
    let blocked = server.call(&get("/health").peer("6.6.6.6")).await;
    assert_eq!((blocked.status().as_u16(), value(blocked.headers(), "retry-after")), (403, None));
    assert_eq!(server.status(&get("/").peer("10.6.6.6")).await, 403, "blocked before exempt");
    let options = get("/").peer("6.6.6.6").method(Method::OPTIONS);
    assert_eq!(server.status(&options).await, 403, "and before what is not counted");
}

#[tokio::test]
async fn options_are_not_counted_unless_told_so() {
    let options = get("/").method(Method::OPTIONS);
    let server = Server::new([everybodys("all", "1/h")]);
    assert_eq!(server.passed_of(5, &options).await, 5);
    assert_eq!(server.passed_of(2, &get("/")).await, 1);
    let server = Server::with(|builder| builder.policy(everybodys("all", "1/h")).count_options());
    assert_eq!(server.passed_of(5, &options).await, 1);
}

/// Of more clients than there is room for, with the room they were built for.
async fn crowd(overflow: Overflow) -> (Server, usize) {
    let server = Server::new([per_peer("crowded", "fixed-window 1/h").keys(1).overflow(overflow)]);
    let mut passed = 0;
    for client in 0..200_u8 {
        passed += server.passed_of(1, &get("/").peer(&format!("10.0.0.{client}"))).await;
    }
    (server, passed)
}

#[tokio::test]
async fn clients_without_room_are_dealt_with_as_told() {
    let (server, denied) = crowd(Overflow::Deny).await;
    assert!(denied < 50, "{denied}");
    assert_eq!(server.stats("crowded").overflowed, 200 - denied as u64);
    // Its own quota is not used up: the server is at its capacity.
    let refused = server.call(&get("/").peer("10.9.9.9")).await;
    assert_eq!(refused.status(), 503);
    assert!(value(refused.headers(), "retry-after").is_some());

    let (_, allowed) = crowd(Overflow::Allow).await;
    assert_eq!(allowed, 200);
    let (_, shared) = crowd(Overflow::Shared(Quota::per_hour(7))).await;
    assert_eq!(shared, denied + 7);
}

#[tokio::test]
async fn several_keys_of_one_request_are_limited_each_by_itself() {
    let by_key = KeySource::header("x-api-key").expect("a name");
    let quota = || "2/h".parse::<tollgate::TokenBucket>().expect("a quota");
    let server = Server::new([
        Policy::new("key", quota(), by_key.clone()),
        Policy::new("key and address", quota().burst(1), by_key.and(KeySource::peer())),
    ]);
    let ask = |key: &str, peer: &str| get("/").header("x-api-key", key).peer(peer);
    assert_eq!(server.passed_of(2, &ask("a", "1.1.1.1")).await, 1);
    assert_eq!(server.passed_of(2, &ask("a", "2.2.2.2")).await, 1);
    assert_eq!(server.passed_of(2, &ask("a", "3.3.3.3")).await, 0, "two for the key");
    assert_eq!(server.passed_of(2, &ask("b", "1.1.1.1")).await, 1);
}
