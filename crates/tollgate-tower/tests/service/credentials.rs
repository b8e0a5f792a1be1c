use http::Method;
use tollgate::TokenBucket;
use tollgate_tower::CredentialLimits;
use tollgate_tower::keys::KeySource;

use crate::{Ask, SECOND, Server, get};

/// The account is in a header here; a form's reader would put it into an extension.
fn account() -> KeySource {
    KeySource::header("x-account").expect("a name")
}

fn bucket(text: &str) -> TokenBucket {
    text.parse().expect(text)
}

fn logins() -> Server {
    let limits = CredentialLimits::login(KeySource::peer(), account())
        .per_pair(bucket("3/h"))
        .per_account(bucket("8/h"))
        .per_address(bucket("20/h"))
        .on(Method::POST, "/login");
    Server::new(limits.policies())
}

fn login(peer: &str, account: &str, answer: &str) -> Ask {
    get("/login").method(Method::POST).peer(peer).header("x-account", account).header("x-answer", answer)
}

#[tokio::test]
async fn an_attacker_at_one_address_locks_nobody_else_out() {
    let server = logins();
    for _ in 0..50 {
        let _ = server.status(&login("6.6.6.6", "alice", "401")).await;
    }
    assert_eq!(server.served(), 3, "by address and account");
    assert_eq!(server.status(&login("1.1.1.1", "alice", "200")).await, 200, "alice herself, from elsewhere");
    assert_eq!(server.status(&login("6.6.6.6", "bob", "200")).await, 200, "another user behind that address");
}

#[tokio::test]
async fn many_addresses_at_one_account_are_stopped_by_the_account() {
    let server = logins();
    for host in 1..=50 {
        let _ = server.status(&login(&format!("6.6.6.{host}"), "alice", "401")).await;
    }
    assert_eq!(server.served(), 8);
    assert_eq!(server.status(&login("1.1.1.1", "bob", "200")).await, 200);
}

#[tokio::test]
async fn one_address_at_many_accounts_is_stopped_by_the_address() {
    let server = logins();
    for user in 1..=50 {
        let _ = server.status(&login("6.6.6.6", &format!("user{user}"), "401")).await;
    }
    assert_eq!(server.served(), 20);
}

#[tokio::test]
async fn successes_do_not_count_and_other_requests_are_not_touched() {
    let server = logins();
    assert_eq!(server.passed_of(100, &login("1.1.1.1", "alice", "200")).await, 100);
    for _ in 0..3 {
        assert_eq!(server.status(&login("1.1.1.1", "alice", "401")).await, 401);
    }
    assert_eq!(server.status(&login("1.1.1.1", "alice", "200")).await, 429);
    assert_eq!(server.passed_of(9, &get("/login").peer("1.1.1.1")).await, 9);
    assert_eq!(server.passed_of(9, &get("/").peer("1.1.1.1")).await, 9);
    server.clock.advance(1200 * SECOND);
    assert_eq!(server.status(&login("1.1.1.1", "alice", "200")).await, 200, "one of three an hour is back");
}

#[tokio::test]
async fn a_login_without_an_account_is_a_bad_request() {
    let ask = get("/login").method(Method::POST);
    assert_eq!(logins().status(&ask).await, 400);
}

#[tokio::test]
async fn sign_ups_count_whatever_comes_of_them_and_are_stricter() {
    let limits = CredentialLimits::sign_up(KeySource::peer(), account()).on(Method::POST, "/login");
    let server = Server::new(limits.policies());
    assert_eq!(server.passed_of(9, &login("1.1.1.1", "a@example.com", "200")).await, 3);
    let mut passed = 0;
    for user in 0..20 {
        passed += server.passed_of(1, &login("1.1.1.1", &format!("{user}@example.com"), "200")).await;
    }
    assert_eq!(passed, 7, "ten an hour by address");
    assert_eq!(server.stats("sign-up-address").allowed, 10);
}

#[tokio::test]
async fn what_a_failure_is_can_be_told() {
    let limits = CredentialLimits::login(KeySource::peer(), account())
        .per_pair(bucket("1/h"))
        .failed_when(|_, headers| !headers.contains_key("set-cookie"));
    let server = Server::new(limits.policies());
    assert_eq!(server.passed_of(3, &login("1.1.1.1", "alice", "200")).await, 1);
}
