//! Header fields: each form, exact rounding, and what a library that parses structured fields makes of them.

use std::collections::HashSet;
use std::time::Duration;

use http::{HeaderMap, HeaderName};
use proptest::prelude::*;
use sfv::{BareItem, List, ListEntry, Parser};
use tollgate::{AnyAlgorithm, AnyLimiter, Decision, Instant, ManualClock, RandomSipHash};
use tollgate_tower::headers::{
    Announcement, Draft, Fields, Jitter, PolicyName, PolicyNameError, Report, Unit, XReset,
};

const SECOND: Duration = Duration::from_secs(1);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A limit on a clock of its own that starts 1000 s after the epoch.
struct Limit {
    announcement: Announcement,
    limiter: AnyLimiter<ManualClock>,
    clock: ManualClock,
}

impl Limit {
    fn new(name: &str, text: &str) -> Self {
        let algorithm: AnyAlgorithm = text.parse().expect(text);
        let clock = ManualClock::starting_at(1000 * SECOND);
        let limiter = algorithm.clone().clock(clock.clone()).build().expect("fits");
        let capacity = limiter.peek(0).limit();
        let name = PolicyName::new(name).expect("a name");
        Self { announcement: Announcement::new(name, &algorithm).capacity(capacity), limiter, clock }
    }

    fn report(&self, decision: Decision) -> Report<'_> {
        let now = Duration::from_nanos(self.limiter.now().as_nanos());
        Report::new(&self.announcement, decision, 1000 * SECOND + now)
    }

    fn check_n(&self, n: u64) -> Report<'_> {
        self.report(self.limiter.check_n(n))
    }
}

fn written(fields: Fields, reports: &[Report<'_>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    fields.write(reports, &mut headers);
    headers
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().expect("printable ASCII"))
}

fn names(headers: &HeaderMap) -> HashSet<HeaderName> {
    headers.keys().cloned().collect()
}

#[test]
fn the_newest_form_tells_every_limit() {
    let (burst, daily) =
        (Limit::new("burst", "fixed-window 100/min"), Limit::new("daily", "fixed-window 1000/d"));
    burst.clock.advance(30 * SECOND);
    let headers = written(Fields::default(), &[burst.check_n(50), daily.check_n(1)]);
    assert_eq!(value(&headers, "ratelimit-policy"), Some("\"burst\";q=100;w=60, \"daily\";q=1000;w=86400"));
    assert_eq!(value(&headers, "ratelimit"), Some("\"burst\";r=50;t=30, \"daily\";r=999;t=86400"));
    assert_eq!(headers.len(), 2);
}

#[test]
fn each_older_form_tells_the_limit_that_matters_most() {
    let (wide, tight) =
        (Limit::new("wide", "fixed-window 1000/h"), Limit::new("tight", "fixed-window 100/min"));
    tight.clock.advance(millis(29_500));
    let reports = [wide.check_n(1), tight.check_n(50)];
    let triple = |headers: &HeaderMap, prefix: &str| {
        ["limit", "remaining", "reset"].map(|name| {
            value(headers, &format!("{prefix}-{name}")).map(|value| value.parse().expect("a number"))
        })
    };
    let headers = written(Fields::of(Draft::Draft03), &reports);
    assert_eq!((triple(&headers, "ratelimit"), headers.len()), ([Some(100), Some(50), Some(31)], 3));

    let headers = written(Fields::of(Draft::Draft07), &reports);
    assert_eq!(value(&headers, "ratelimit"), Some("limit=100, remaining=50, reset=31"));
    assert_eq!(value(&headers, "ratelimit-policy"), Some("1000;w=3600, 100;w=60"));

    let headers = written(Fields::none().x_rate_limit(XReset::DeltaSeconds), &reports);
    assert_eq!((triple(&headers, "x-ratelimit"), headers.len()), ([Some(100), Some(50), Some(31)], 3));

    let headers = written(Fields::none().x_rate_limit(XReset::EpochSeconds), &reports);
    assert_eq!(triple(&headers, "x-ratelimit"), [Some(100), Some(50), Some(1060)]);
}

#[test]
fn waits_are_whole_seconds_rounded_up_and_never_zero() {
    for (left, told) in [(1, "1"), (400, "1"), (999, "1"), (1000, "1"), (1001, "2"), (2000, "2"), (2001, "3")]
    {
        let limit = Limit::new("one", "fixed-window 1/min");
        assert!(!limit.check_n(1).is_refused());
        limit.clock.set(Instant::after_origin(millis(60_000 - left)));
        let all = Fields::default().x_rate_limit(XReset::DeltaSeconds);
        let headers = written(all, &[limit.check_n(1)]);
        assert_eq!(value(&headers, "retry-after"), Some(told), "{left} ms");
        assert_eq!(value(&headers, "ratelimit"), Some(format!("\"one\";r=0;t={told}").as_str()), "{left} ms");
        assert_eq!(value(&headers, "x-ratelimit-reset"), Some(told), "{left} ms");
    }
}

#[test]
fn a_nanosecond_beyond_a_whole_second_is_one_more() {
    let limit = Limit::new("one", "fixed-window 1/min");
    let _ = limit.check_n(1);
    limit.clock.set(Instant::from_nanos(60_000_000_000 - 2_000_000_001));
    assert_eq!(limit.check_n(1).retry_after_seconds(), Some(3));
}

#[test]
fn the_epoch_of_a_reset_is_the_same_for_each_request_of_a_window() {
    let limit = Limit::new("window", "fixed-window 3/10s");
    let mut told = HashSet::new();
    for step in 0..9_999 {
        limit.clock.set(Instant::after_origin(millis(step)));
        let headers = written(Fields::none().x_rate_limit(XReset::EpochSeconds), &[limit.check_n(1)]);
        told.insert(value(&headers, "x-ratelimit-reset").expect("written").to_owned());
    }
    assert_eq!(told, HashSet::from(["1010".to_owned()]));
    limit.clock.set(Instant::after_origin(10 * SECOND));
    let headers = written(Fields::none().x_rate_limit(XReset::EpochSeconds), &[limit.check_n(1)]);
    assert_eq!(value(&headers, "x-ratelimit-reset"), Some("1020"));
}

#[test]
fn a_bucket_never_suggests_a_higher_rate_than_its_quota() {
    let limit = Limit::new("bucket", "token-bucket 10/s burst 45");
    let headers = written(Fields::default(), &[limit.check_n(4)]);
    assert_eq!(value(&headers, "ratelimit-policy"), Some("\"bucket\";q=10;w=1;tg-burst=45"));
    assert_eq!(value(&headers, "ratelimit"), Some("\"bucket\";r=41;t=5"));
    // A window does end when it says, however much is left.
    let window = Limit::new("window", "fixed-window 1000/min");
    window.clock.set(Instant::after_origin(59 * SECOND));
    assert_eq!(
        value(&written(Fields::default(), &[window.check_n(1)]), "ratelimit"),
        Some("\"window\";r=999;t=1")
    );
}

#[test]
fn what_remains_is_rounded_down_and_the_last_one_is_not_told_to_be_back_at_once() {
    let limit = Limit::new("bucket", "token-bucket 2/s");
    let remaining = |headers: HeaderMap| value(&headers, "ratelimit").expect("written").to_owned();
    assert_eq!(remaining(written(Fields::default(), &[limit.check_n(2)])), "\"bucket\";r=0;t=1");
    limit.clock.advance(millis(999));
    // 1.998 permits are there, 0.998 are left.
    assert_eq!(remaining(written(Fields::default(), &[limit.check_n(1)])), "\"bucket\";r=0;t=1");
}

#[test]
fn a_window_below_a_second_is_not_told_and_one_with_a_fraction_is_rounded_up() {
    let short = Limit::new("short", "fixed-window 5/100ms");
    let long = Limit::new("long", "fixed-window 5/1500ms");
    let headers = written(Fields::default(), &[short.check_n(1), long.check_n(1)]);
    assert_eq!(value(&headers, "ratelimit-policy"), Some("\"short\";q=5, \"long\";q=5;w=2"));
}

#[test]
fn the_longest_wait_of_those_that_refuse_is_told_and_of_others_none() {
    let limits = [
        Limit::new("a", "fixed-window 1/10s"),
        Limit::new("b", "fixed-window 1/40s"),
        Limit::new("c", "fixed-window 9/h"),
    ];
    for limit in &limits {
        let _ = limit.check_n(1);
    }
    let reports = [limits[0].check_n(1), limits[1].check_n(1), limits[2].report(limits[2].limiter.peek(0))];
    let headers = written(Fields::of(Draft::Draft03), &reports);
    assert_eq!(value(&headers, "retry-after"), Some("40"));
    assert_eq!(value(&headers, "ratelimit-reset"), Some("40"));
    assert!(written(Fields::default(), &reports[2..]).get("retry-after").is_none());
}

#[test]
fn what_no_wait_helps_has_no_retry_after() {
    let limit = Limit::new("small", "fixed-window 5/min");
    let headers = written(Fields::default(), &[limit.check_n(6)]);
    assert_eq!(value(&headers, "retry-after"), None);
    assert_eq!(value(&headers, "ratelimit"), Some("\"small\";r=5;t=0"));
    let nothing = Limit::new("nothing", "token-bucket 0/s burst 1");
    let _ = nothing.check_n(1);
    let headers = written(Fields::default(), &[nothing.check_n(1)]);
    assert_eq!(
        (value(&headers, "retry-after"), value(&headers, "ratelimit")),
        (None, Some("\"nothing\";r=0"))
    );
}

#[test]
fn where_nothing_is_left_nobody_is_told_that_all_is_back_at_once() {
    let nothing = Limit::new("nothing", "fixed-window 0/min");
    let headers = written(Fields::default(), &[nothing.check_n(0)]);
    assert_eq!(value(&headers, "ratelimit"), Some("\"nothing\";r=0;t=1"));
}

#[test]
fn a_log_that_does_not_look_tells_nothing_until_it_refuses() {
    let limit = Limit::new("log", "sliding-log 1/min without-remaining");
    let headers = written(Fields::default(), &[limit.check_n(1)]);
    assert_eq!(names(&headers), HashSet::from([HeaderName::from_static("ratelimit-policy")]));
    let headers = written(Fields::default(), &[limit.check_n(1)]);
    assert_eq!(value(&headers, "ratelimit"), Some("\"log\";r=0;t=60"));
}

#[test]
fn the_unit_is_told_unless_it_is_requests() {
    let limit = Limit::new("bytes", "fixed-window 1MB/min");
    let announcement = limit.announcement.clone().unit(Unit::ContentBytes);
    let report = Report::new(&announcement, limit.limiter.check_n(1), SECOND);
    let headers = written(Fields::default(), &[report]);
    assert_eq!(value(&headers, "ratelimit-policy"), Some("\"bytes\";q=1000000;qu=\"content-bytes\";w=60"));
}

#[test]
fn numbers_beyond_a_structured_field_are_cut_to_what_it_holds() {
    let limit = Limit::new("all", "token-bucket 2000000000000000/d");
    let headers = written(Fields::default(), &[limit.check_n(1)]);
    let policy: List =
        Parser::new(value(&headers, "ratelimit-policy").expect("written")).parse().expect("a list");
    assert_eq!(parameter(&policy, 0, "q"), Some(999_999_999_999_999));
    let rate: List = Parser::new(value(&headers, "ratelimit").expect("written")).parse().expect("a list");
    assert_eq!(parameter(&rate, 0, "r"), Some(999_999_999_999_999));
}

#[test]
fn fields_that_are_there_are_kept_and_lists_are_added_to() {
    let limit = Limit::new("outer", "fixed-window 9/min");
    let mut headers = HeaderMap::new();
    headers.insert("ratelimit", "\"inner\";r=1;t=1".parse().expect("a value"));
    headers.insert("x-ratelimit-limit", "7".parse().expect("a value"));
    headers.insert("retry-after", "77".parse().expect("a value"));
    Fields::default().x_rate_limit(XReset::EpochSeconds).write(&[limit.check_n(1)], &mut headers);
    let lines: Vec<_> = headers.get_all("ratelimit").iter().collect();
    assert_eq!(lines, ["\"inner\";r=1;t=1", "\"outer\";r=8;t=60"]);
    assert_eq!(value(&headers, "x-ratelimit-limit"), Some("7"));
    assert_eq!(value(&headers, "x-ratelimit-remaining"), None, "three that tell of two limits");
    assert_eq!(value(&headers, "retry-after"), Some("77"));
}

#[test]
fn all_names_that_are_written_can_be_exposed() {
    for draft in [None, Some(Draft::Draft03), Some(Draft::Draft07), Some(Draft::Draft11)] {
        for x in [None, Some(XReset::DeltaSeconds), Some(XReset::EpochSeconds)] {
            let fields = draft.map_or(Fields::none(), Fields::of);
            let fields = x.map_or(fields, |reset| fields.x_rate_limit(reset));
            let limit = Limit::new("one", "fixed-window 1/min");
            let _ = limit.check_n(1);
            assert_eq!(names(&written(fields, &[limit.check_n(1)])), fields.names().collect(), "{fields:?}");
        }
    }
}

#[test]
fn names_that_no_field_can_carry_are_refused() {
    let long = "x".repeat(65);
    for (name, error) in [
        ("", PolicyNameError::Empty),
        ("a\nb", PolicyNameError::NotPrintableAscii { byte: 1 }),
        ("täglich", PolicyNameError::NotPrintableAscii { byte: 1 }),
        ("\u{7f}", PolicyNameError::NotPrintableAscii { byte: 0 }),
        (long.as_str(), PolicyNameError::TooLong { bytes: 65, max: 64 }),
    ] {
        assert_eq!(PolicyName::new(name), Err(error), "{name:?}");
    }
    assert_eq!(
        PolicyName::new(&long).expect_err("too long").to_string(),
        "a policy's name has 65 bytes; at most 64 are accepted"
    );
}

#[test]
fn jitter_only_adds_is_bounded_and_steady_for_one_key_in_one_window() {
    let jitter = Jitter::up_to(Duration::from_millis(5900)).hasher(RandomSipHash::with_key([1, 2]));
    let minute = Duration::from_secs(60);
    let all: HashSet<u64> =
        (0..200_u32).map(|key| jitter.seconds(&key.to_le_bytes(), minute, minute)).collect();
    assert_eq!(all, (0..=5).collect());
    let steady: HashSet<u64> =
        (0..100).map(|n| jitter.seconds(b"k", minute + millis(n * 599), minute)).collect();
    assert_eq!(steady.len(), 1);
    let windows: HashSet<u64> = (1..100).map(|n| jitter.seconds(b"k", n * minute, minute)).collect();
    assert!(windows.len() > 1);

    let limit = Limit::new("one", "fixed-window 1/min");
    let _ = limit.check_n(1);
    let headers = written(Fields::default(), &[limit.check_n(1).jittered(3)]);
    assert_eq!(value(&headers, "retry-after"), Some("63"));
    assert_eq!(value(&headers, "ratelimit"), Some("\"one\";r=0;t=63"));
}

fn parameter(list: &List, index: usize, name: &str) -> Option<i64> {
    let ListEntry::Item(item) = &list[index] else { panic!("an item") };
    item.params.get(name).map(|value| value.as_integer().expect("an integer").into())
}

fn name_of(list: &List, index: usize) -> String {
    let ListEntry::Item(item) = &list[index] else { panic!("an item") };
    let BareItem::String(name) = &item.bare_item else { panic!("a string") };
    name.as_str().to_owned()
}

/// What is written for some limits after each of these costs in permits and pauses in ms.
fn reads_back(names: &[String], text: &str, costs: &[(u64, u64)]) -> Result<(), TestCaseError> {
    let limits: Vec<Limit> = names.iter().map(|name| Limit::new(name, text)).collect();
    for (cost, pause) in costs {
        for limit in &limits {
            limit.clock.advance(millis(*pause));
        }
        let reports: Vec<Report<'_>> = limits.iter().map(|limit| limit.check_n(*cost)).collect();
        let headers = written(Fields::default(), &reports);
        let list = |name| Parser::new(value(&headers, name).expect("written")).parse().expect("a list");
        let (policies, rates): (List, List) = (list("ratelimit-policy"), list("ratelimit"));
        for (index, (report, name)) in reports.iter().zip(names).enumerate() {
            prop_assert_eq!(&name_of(&policies, index), name);
            prop_assert_eq!(&name_of(&rates, index), name);
            is_told(text, report, [(&policies, "q"), (&policies, "w"), (&rates, "r"), (&rates, "t")], index)?;
        }
        let waits = reports.iter().filter(|report| report.is_refused());
        let waits: Option<Vec<Duration>> = waits.map(|report| report.decision().retry_after()).collect();
        let longest = waits.and_then(|waits| waits.into_iter().max());
        let told = value(&headers, "retry-after").map(|told| told.parse::<u128>().expect("digits"));
        prop_assert_eq!(told, longest.map(|wait| wait.as_nanos().div_ceil(1_000_000_000).max(1)));
    }
    Ok(())
}

fn is_told(
    text: &str,
    report: &Report<'_>,
    places: [(&List, &str); 4],
    index: usize,
) -> Result<(), TestCaseError> {
    let quota = text.parse::<AnyAlgorithm>().expect("a text").quota();
    let told = places.map(|(list, name)| parameter(list, index, name));
    let [q, w, r, t] = told.map(|value| value.map(|value| u128::from(value.unsigned_abs())));
    prop_assert_eq!(q, Some(quota.limit().into()));
    prop_assert_eq!(w.is_some(), quota.period() >= SECOND);
    prop_assert_eq!(r, report.decision().remaining().map(u128::from));
    let (r, t) = (r.unwrap_or_default(), t.unwrap_or_default());
    if text.starts_with("token-bucket") && !report.is_refused() && r > 0 {
        // r / t is at most q / w.
        let window = w.map_or(quota.period().as_nanos(), |w| w * 1_000_000_000);
        prop_assert!(r * window <= t * u128::from(quota.limit()) * 1_000_000_000);
    }
    prop_assert!(t >= 1 || (r > 0 && report.decision().retry_after().is_none()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_parser_of_structured_fields_reads_back_what_was_decided(
        names in proptest::collection::vec("[ -~]{1,64}", 1..4),
        text in prop_oneof![
            "token-bucket [1-9][0-9]{0,4}/[1-9][0-9]{0,3}(s|ms|min) burst [1-9][0-9]{0,2}",
            "(fixed-window|sliding-counter) [1-9][0-9]{0,4}/[1-9][0-9]{0,3}(s|ms|min)",
        ],
        costs in proptest::collection::vec((0_u64..2000, 0_u64..100_000), 1..12),
    ) {
        reads_back(&names, &text, &costs)?;
    }
}
