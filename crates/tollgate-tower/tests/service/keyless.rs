use http::StatusCode;
use tollgate_tower::keys::KeySource;
use tollgate_tower::{MissingKey, Mode, Policy};

use crate::{Server, everybodys, get, per_peer, value};

#[tokio::test]
async fn without_a_peer_the_first_request_is_refused_and_told_what_is_missing() {
    let server = Server::new([per_peer("per client", "5/s")]);
    for count in 1..=3 {
        let refused = server.call(&get("/").without_peer()).await;
        assert_eq!(refused.status(), 500);
        for part in ["per client", "PeerAddr", "into_make_service_with_connect_info", "Policy::missing_key"] {
            assert!(refused.body().contains(part), "{}", refused.body());
        }
        assert_eq!(value(refused.headers(), "cache-control"), Some("no-store"));
        assert_eq!(server.stats("per client").missing_key, count);
    }
    assert_eq!(server.served(), 0);
    assert_eq!(server.status(&get("/")).await, 200);
}

#[tokio::test]
async fn a_missing_key_means_what_was_chosen() {
    let by_key = |choice| {
        let key = KeySource::header("x-api-key").expect("a name");
        let quota = "1/h".parse::<tollgate::TokenBucket>().expect("a quota");
        Server::new([everybodys("first", "9/h"), Policy::new("by key", quota, key).missing_key(choice)])
    };
    let server = by_key(MissingKey::Refuse(StatusCode::UNAUTHORIZED));
    let refused = server.call(&get("/")).await;
    assert_eq!(
        (refused.status().as_u16(), refused.body().as_str()),
        (401, "the limit by key needs the header `x-api-key`, once\n")
    );
    assert_eq!(server.stats("first").allowed, 0, "nothing is charged");

    let server = by_key(MissingKey::Skip);
    assert_eq!(server.passed_of(12, &get("/")).await, 9);
    let server = by_key(MissingKey::Share);
    assert_eq!(server.passed_of(3, &get("/")).await, 1);
    assert_eq!(server.passed_of(3, &get("/").peer("1.1.1.1")).await, 0, "one for all without a key");
    assert_eq!(server.passed_of(3, &get("/").header("x-api-key", "")).await, 0);
    assert_eq!(server.passed_of(3, &get("/").header("x-api-key", "a")).await, 1);
}

#[tokio::test]
async fn a_policy_that_is_tried_out_refuses_nothing_for_a_missing_key() {
    let server = Server::new([per_peer("tried", "5/s").mode(Mode::Shadow)]);
    assert_eq!(server.status(&get("/").without_peer()).await, 200);
    assert_eq!(server.stats("tried").missing_key, 1);
}
