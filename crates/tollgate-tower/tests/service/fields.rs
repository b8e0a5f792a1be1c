use std::collections::HashSet;
use std::time::Duration;

use tollgate::RandomSipHash;
use tollgate_tower::headers::{Draft, Fields, Jitter, XReset};

use crate::{SECOND, Server, everybodys, get, per_peer, value};

#[tokio::test]
async fn every_response_tells_what_is_left_by_the_decision_taken() {
    let server = Server::new([everybodys("a", "fixed-window 3/min"), everybodys("b", "fixed-window 2/h")]);
    for (status, told) in [
        (200, "\"a\";r=2;t=60, \"b\";r=1;t=3600"),
        (200, "\"a\";r=1;t=60, \"b\";r=0;t=3600"),
        (429, "\"a\";r=1;t=60, \"b\";r=0;t=3600"),
    ] {
        let response = server.call(&get("/")).await;
        assert_eq!(
            (response.status().as_u16(), value(response.headers(), "ratelimit")),
            (status, Some(told))
        );
        assert_eq!(value(response.headers(), "ratelimit-policy"), Some("\"a\";q=3;w=60, \"b\";q=2;w=3600"));
    }
}

#[tokio::test]
async fn the_fields_are_those_that_were_chosen_and_can_be_exposed() {
    let fields = Fields::of(Draft::Draft03).x_rate_limit(XReset::EpochSeconds);
    let server = Server::with(|builder| builder.policy(everybodys("a", "fixed-window 1/min")).fields(fields));
    server.clock.advance(30 * SECOND);
    let _ = server.call(&get("/")).await;
    let refused = server.call(&get("/")).await;
    let headers = refused.headers();
    let told = ["ratelimit-reset", "x-ratelimit-reset", "retry-after"].map(|name| value(headers, name));
    assert_eq!(told, [Some("30"), Some("1060"), Some("30")]);
    let exposed: HashSet<_> = server.handle().limits().exposed_names().collect();
    let written: HashSet<_> =
        headers.keys().filter(|name| *name != "cache-control" && *name != "content-type").cloned().collect();
    assert_eq!(written, exposed);
}

#[tokio::test]
async fn jitter_spreads_clients_upwards_and_stays_the_same_for_each() {
    let jitter = Jitter::up_to(Duration::from_secs(9)).hasher(RandomSipHash::with_key([3, 4]));
    let server = Server::with(|builder| builder.policy(per_peer("a", "fixed-window 1/min")).jitter(jitter));
    let mut waits = HashSet::new();
    for host in 0..50 {
        let ask = get("/").peer(&format!("10.0.0.{host}"));
        let _ = server.call(&ask).await;
        let mut told = HashSet::new();
        for _ in 0..5 {
            let refused = server.call(&ask).await;
            let wait: u64 =
                value(refused.headers(), "retry-after").expect("refused").parse().expect("digits");
            assert!((60..=69).contains(&wait), "{wait}");
            assert_eq!(value(refused.headers(), "ratelimit"), Some(format!("\"a\";r=0;t={wait}").as_str()));
            told.insert(wait);
        }
        assert_eq!(told.len(), 1);
        waits.extend(told);
    }
    assert!(waits.len() > 5, "{waits:?}");
}
