//! Policies that cannot be had.

use tollgate::Overflow;
use tollgate_tower::headers::PolicyNameError;
use tollgate_tower::{BuildErrorKind, Limits, Mode, Policy, RateLimitLayer};

use crate::everybodys;

fn mistake(policies: impl IntoIterator<Item = Policy>) -> (String, BuildErrorKind) {
    let error = Limits::builder().policies(policies).build().expect_err("a mistake");
    assert!(
        error.to_string().starts_with(&format!("policy `{}`: ", error.policy().escape_debug())),
        "{error}"
    );
    (error.policy().to_owned(), error.kind().clone())
}

#[test]
fn each_mistake_is_a_typed_error_when_the_limits_are_built() {
    assert_eq!(
        mistake([everybodys("ok", "1/s"), everybodys("new\nline", "1/s")]),
        ("new\nline".into(), BuildErrorKind::Name(PolicyNameError::NotPrintableAscii { byte: 3 }))
    );
    assert_eq!(mistake([everybodys("", "1/s")]).1, BuildErrorKind::Name(PolicyNameError::Empty));
    assert_eq!(
        mistake([everybodys("a", "1/s"), everybodys("a", "2/s")]),
        ("a".into(), BuildErrorKind::SameName)
    );
    assert_eq!(
        mistake([everybodys("a", "1/s burst 0")]).1,
        BuildErrorKind::Limit(tollgate::BuildError::ZeroBurst)
    );
    assert_eq!(
        mistake([everybodys("a", "1/s").keys(0)]).1,
        BuildErrorKind::Limit(tollgate::BuildError::ZeroKeys)
    );
    let shared = Overflow::Shared(tollgate::Quota::new(1, std::time::Duration::ZERO));
    assert_eq!(
        mistake([everybodys("a", "1/s").overflow(shared)]).1,
        BuildErrorKind::Limit(tollgate::BuildError::ZeroPeriod)
    );
    assert_eq!(mistake([everybodys("a", "1/s").route("a")]).1, BuildErrorKind::Route { route: "a".into() });
    let error = RateLimitLayer::new([everybodys("a", "1/s").route("a")]).expect_err("a mistake");
    assert_eq!(
        error.to_string(),
        "policy `a`: expected a path such as `/login`, or `/api/*` for those below it, instead of `a`"
    );
}

#[test]
fn a_log_is_the_only_one_for_a_request_and_gives_nothing_back() {
    let log = |name: &str, route: &str| everybodys(name, "sliding-log 1/s").route(route);
    assert_eq!(
        mistake([log("a", "/api/*"), log("b", "/api/x")]),
        ("b".into(), BuildErrorKind::SecondLog { other: "a".into() })
    );
    assert!(Limits::builder().policies([log("a", "/a"), log("b", "/b")]).build().is_ok());
    let shadow = log("b", "/a").mode(Mode::Shadow);
    assert!(Limits::builder().policies([log("a", "/a"), shadow]).build().is_ok());
    assert_eq!(mistake([log("a", "/a").charge_if(|_, _| true)]).1, BuildErrorKind::LogGivesNothingBack);
}
