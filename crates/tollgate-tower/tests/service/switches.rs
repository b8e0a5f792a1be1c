use tollgate::{Overflow, Quota};
use tollgate_tower::keys::KeySource;
use tollgate_tower::{Limits, Mode, Policy};

use crate::{Server, everybodys, get};

#[tokio::test]
async fn a_policy_that_is_tried_out_reports_and_lets_pass() {
    let server = Server::new([everybodys("tried", "1/h").mode(Mode::Shadow), everybodys("enforced", "5/h")]);
    let response = server.call(&get("/")).await;
    assert_eq!(
        response.headers()["ratelimit-policy"],
        "\"enforced\";q=5;w=3600",
        "clients are not told of it"
    );
    assert_eq!(server.passed_of(9, &get("/")).await, 4);
    let stats = server.stats("tried");
    // Requests that another limit refuses are not decided.
    assert_eq!((stats.allowed, stats.shadow_refused, stats.refused), (1, 4, 0));
}

#[tokio::test]
async fn a_policy_that_is_off_decides_nothing() {
    let server = Server::new([everybodys("off", "1/h").mode(Mode::Off)]);
    let response = server.call(&get("/")).await;
    assert!(response.headers().is_empty());
    assert_eq!((server.passed_of(5, &get("/")).await, server.stats("off").allowed), (5, 0));
}

#[tokio::test]
async fn the_kill_switch_lets_everything_pass_and_counts_nothing() {
    let server = Server::new([everybodys("all", "1/h")]);
    assert_eq!(server.passed_of(3, &get("/")).await, 1);
    let handle = server.handle();
    handle.set_enabled(false);
    assert!(!handle.is_enabled());
    assert_eq!(server.passed_of(9, &get("/")).await, 9);
    assert!(server.call(&get("/")).await.headers().is_empty());
    handle.set_enabled(true);
    assert_eq!(server.passed_of(3, &get("/")).await, 0, "what was used up still is");
    assert_eq!(server.stats("all").allowed, 1);
}

#[tokio::test]
async fn limits_are_swapped_under_the_services_that_use_them_and_keep_their_states() {
    let server = Server::new([everybodys("all", "3/h"), everybodys("old", "9/h")]);
    assert_eq!(server.passed_of(1, &get("/")).await, 1);
    let (handle, clock) = (server.handle(), server.clock.clone());
    let builder =
        Limits::builder().clock(clock).policies([everybodys("all", "3/h"), everybodys("new", "2/h")]);
    handle.swap(builder.build_after(&handle.limits()).expect("limits"));
    assert_eq!(server.passed_of(5, &get("/")).await, 2);
    assert_eq!((server.stats("all").allowed, server.stats("new").allowed), (3, 2));
}

#[tokio::test]
async fn a_policy_that_is_defined_otherwise_starts_anew() {
    let closure = KeySource::by(|request| Some(request.uri.path().to_owned()));
    let quota = || "1/h".parse::<tollgate::TokenBucket>().expect("a quota");
    let policy = || Policy::new("a", quota(), closure.clone());
    let others: [(bool, Policy); 7] = [
        (true, policy()),
        (true, policy().mode(Mode::Enforce).route("/").cost(1)),
        (false, Policy::new("a", quota().burst(3), closure.clone())),
        (false, policy().keys(7)),
        (false, policy().overflow(Overflow::Shared(Quota::per_hour(1)))),
        (false, Policy::new("a", quota(), KeySource::by(|request| Some(request.uri.path().to_owned())))),
        (false, Policy::new("b", quota(), closure.clone())),
    ];
    for (index, (keeps, other)) in others.into_iter().enumerate() {
        let server = Server::new([policy()]);
        assert_eq!(server.passed_of(2, &get("/")).await, 1);
        let (handle, builder) = (server.handle(), Limits::builder().clock(server.clock.clone()));
        handle.swap(builder.policy(other).build_after(&handle.limits()).expect("limits"));
        assert_eq!(server.passed_of(1, &get("/")).await == 0, keeps, "{index}");
    }
}
