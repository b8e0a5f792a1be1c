//! What the compiler and callers rely on: sizes, auto traits, and the types that can be named and asked for.

use std::error::Error;
use std::hash::BuildHasherDefault;
use std::net::{IpAddr, Ipv4Addr};
use std::panic::{RefUnwindSafe, UnwindSafe};

use tollgate::{
    Adjustable, AllOf, AnyAlgorithm, AnyKey, AnyKeyed, AnyLimiter, BuildError, Builder, Clock, CoarseClock,
    CoarseClockError, CombinedDecision, Counters, Decision, DecisionCounts, Denied, DeniedKind, FixedWindow,
    Instant, KeyLimit, Keyed, KeyedBuilder, KeyedStats, LimitList, Limiter, LiveKey, ManualClock,
    MostRefused, Observed, Outcome, Overflow, ParseError, ParseErrorKind, PartialGrant, Patience,
    QuantaClock, Quota, RandomSipHash, RefusedKey, Reservation, RestoreError, SetQuotaError, SlidingCounter,
    SlidingLog, StdClock, TokenBucket,
};

const QUOTA: Quota = Quota::per_hour(1);

/// What a limiter of a server has to be; also to be asked for within `catch_unwind`.
const fn assert_shared<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
const fn assert_value<T: Copy + Send + Sync + 'static>() {}
const fn assert_sent<T: Send + Sync + Unpin>() {}
const fn assert_error<T: Error + Send + Sync + 'static>() {}

const _: () = {
    assert!(size_of::<Decision>() <= 64);
    assert!(size_of::<Option<Decision>>() == size_of::<Decision>());
    assert!(size_of::<Result<Decision, Denied>>() == size_of::<Decision>());
    assert!(size_of::<Denied>() <= 24);
    assert!(size_of::<Instant>() == 8);
    assert!(size_of::<Option<DeniedKind>>() == 1);
    assert!(size_of::<Option<Outcome>>() == 1);
    assert!(size_of::<Option<ParseErrorKind>>() == 1);
    assert!(size_of::<ParseError>() <= 32);
    assert!(size_of::<Quota>() == 24);
    assert!(size_of::<Reservation<'_>>() <= 72);
    assert!(size_of::<CombinedDecision>() <= 72);
    assert!(size_of::<PartialGrant>() <= 72);
    assert!(size_of::<KeyedStats>() == 32);
    assert!(size_of::<LiveKey>() <= 72);
    assert!(size_of::<Observed<Limiter<TokenBucket>, ()>>() == size_of::<Limiter<TokenBucket>>());
    // What a keyed limiter takes beside its states, less the words that align them.
    assert!(size_of::<Keyed<TokenBucket, str>>() < 4096 - 64);
    assert!(size_of::<Keyed<FixedWindow, str>>() < 4096 - 64);
    assert!(size_of::<Keyed<SlidingCounter, str>>() < 4096 - 64);
    assert!(size_of::<Keyed<SlidingLog, str>>() < 4096 - 64);

    assert_value::<Decision>();
    assert_value::<DecisionCounts>();
    assert_value::<LiveKey>();
    assert_value::<Denied>();
    assert_value::<DeniedKind>();
    assert_value::<Instant>();
    assert_value::<KeyedStats>();
    assert_value::<Outcome>();
    assert_value::<Overflow>();
    assert_value::<Quota>();
    assert_value::<CombinedDecision>();
    assert_value::<PartialGrant>();
    assert_value::<Patience>();
    assert_value::<KeyLimit<'static, TokenBucket, str, QuantaClock, RandomSipHash>>();

    assert_sent::<Reservation<'_>>();
    assert_sent::<AllOf<LimitList<'_>>>();

    assert_error::<BuildError>();
    assert_error::<SetQuotaError>();
    assert_shared::<Limiter<Adjustable<TokenBucket>>>();
    assert_shared::<Keyed<Adjustable<SlidingLog>, str>>();
    assert_error::<CoarseClockError>();
    assert_error::<Denied>();
    assert_error::<ParseError>();
    assert_error::<RestoreError>();

    assert_shared::<AnyAlgorithm>();
    assert_shared::<Counters>();
    assert_shared::<MostRefused>();
    assert_shared::<RefusedKey>();
    assert_shared::<Observed<Keyed<TokenBucket, str>, (Counters, MostRefused)>>();
    assert_shared::<AnyLimiter>();
    assert_shared::<AnyKeyed<str>>();
    assert_shared::<TokenBucket>();
    assert_shared::<FixedWindow>();
    assert_shared::<SlidingCounter>();
    assert_shared::<SlidingLog>();
    assert_shared::<QuantaClock>();
    assert_shared::<StdClock>();
    assert_shared::<CoarseClock>();
    assert_shared::<ManualClock>();
    assert_shared::<RandomSipHash>();
    assert_shared::<Limiter<TokenBucket>>();
    assert_shared::<Limiter<FixedWindow, StdClock>>();
    assert_shared::<Limiter<SlidingCounter, CoarseClock>>();
    assert_shared::<Limiter<SlidingLog, ManualClock>>();
    assert_shared::<Builder<TokenBucket>>();
    assert_shared::<KeyedBuilder<SlidingLog, str>>();
    assert_shared::<Keyed<TokenBucket, str>>();
    // Keys are never stored, so what they may be shared with does not matter.
    assert_shared::<Keyed<FixedWindow, std::rc::Rc<str>>>();
    assert_shared::<Keyed<SlidingCounter, AnyKey, StdClock>>();
    assert_shared::<Keyed<SlidingLog, u64, QuantaClock, RandomSipHash>>();
};

/// Fields name the algorithm and the key, and no clock or hasher.
struct Service {
    all: Limiter<TokenBucket>,
    per_user: Keyed<TokenBucket, String>,
}

#[test]
fn limiters_are_fields_without_a_clock_or_a_hasher_in_their_types() -> Result<(), BuildError> {
    let service = Service {
        all: TokenBucket::new(QUOTA).build()?,
        per_user: TokenBucket::new(QUOTA).keyed(10).build()?,
    };
    assert!(service.all.check().is_allowed());
    assert!(service.per_user.check("alice").is_allowed());
    Ok(())
}

#[test]
fn strings_are_asked_for_as_str() -> Result<(), BuildError> {
    let limiter: Keyed<_, String> = TokenBucket::new(QUOTA).keyed(10).build()?;
    assert!(limiter.check("alice").is_allowed());
    assert!(!limiter.check(&String::from("alice")).is_allowed());
    assert!(!limiter.check(String::from("alice").as_str()).is_allowed());
    Ok(())
}

#[test]
fn unsized_str_is_a_type_of_key() -> Result<(), BuildError> {
    let limiter: Keyed<_, str> = TokenBucket::new(QUOTA).keyed(10).build()?;
    assert!(limiter.check("alice").is_allowed());
    assert!(!limiter.check(&String::from("alice")[..]).is_allowed());
    Ok(())
}

#[test]
fn integers_are_asked_for_as_literals_of_the_type_of_the_key() -> Result<(), BuildError> {
    let limiter: Keyed<_, u64> = TokenBucket::new(QUOTA).keyed(10).build()?;
    assert!(limiter.check(&42).is_allowed());
    assert!(!limiter.check(&42_u64).is_allowed());
    let mut decisions = Vec::new();
    limiter.check_many(&[42, 43], &mut decisions);
    assert_eq!(decisions.iter().map(Decision::is_allowed).collect::<Vec<_>>(), [false, true]);
    Ok(())
}

#[test]
fn bytes_are_asked_for_as_slices() -> Result<(), BuildError> {
    let limiter: Keyed<_, Vec<u8>> = TokenBucket::new(QUOTA).keyed(10).build()?;
    assert!(limiter.check(&b"alice"[..]).is_allowed());
    assert!(!limiter.check(&b"alice".to_vec()).is_allowed());
    Ok(())
}

#[test]
fn addresses_are_keys() -> Result<(), BuildError> {
    let limiter: Keyed<_, IpAddr> = TokenBucket::new(QUOTA).keyed(10).build()?;
    assert!(limiter.check(&IpAddr::V4(Ipv4Addr::LOCALHOST)).is_allowed());
    assert!(limiter.check(&IpAddr::V4(Ipv4Addr::UNSPECIFIED)).is_allowed());
    Ok(())
}

#[test]
fn pairs_of_borrowed_parts_are_asked_for_with_any_key() -> Result<(), BuildError> {
    let limiter: Keyed<_, AnyKey> = TokenBucket::new(QUOTA).keyed_any(10).build()?;
    let (tenant, user) = (String::from("acme"), String::from("alice"));
    assert!(limiter.check(&(tenant.as_str(), user.as_str())).is_allowed());
    assert!(!limiter.check(&("acme", "alice")).is_allowed());
    assert!(limiter.check(&("acme", "bob")).is_allowed());
    assert!(limiter.check("acme").is_allowed());
    Ok(())
}

#[test]
fn integers_of_several_types_are_several_keys_with_any_key() -> Result<(), BuildError> {
    let limiter: Keyed<_, AnyKey> = TokenBucket::new(QUOTA).keyed_any(10).build()?;
    assert!(limiter.check(&42_u32).is_allowed());
    assert!(limiter.check(&42_u64).is_allowed());
    Ok(())
}

/// Generic over the clock, as a library on top would be.
struct Middleware<C: Clock> {
    limiter: Keyed<SlidingLog, str, C>,
}

impl<C: Clock> Middleware<C> {
    fn new(clock: C) -> Result<Self, BuildError> {
        Ok(Self { limiter: SlidingLog::new(QUOTA).clock(clock).keyed(10).build()? })
    }

    fn passes(&self, user: &str) -> bool {
        let now = self.limiter.clock().now();
        self.limiter.check_at(user, now, 1).is_allowed()
    }
}

#[test]
fn code_generic_over_the_clock_takes_each() -> Result<(), BuildError> {
    fn assert_limits<C: Clock>(clock: C) -> Result<(), BuildError> {
        let middleware = Middleware::new(clock)?;
        assert!(middleware.passes("alice"));
        assert!(!middleware.passes("alice"));
        Ok(())
    }
    assert_limits(QuantaClock::new())?;
    assert_limits(StdClock::new())?;
    assert_limits(ManualClock::new())
}

#[test]
fn hasher_is_any_build_hasher() -> Result<(), BuildError> {
    let hasher = BuildHasherDefault::<std::hash::DefaultHasher>::new();
    let limiter = TokenBucket::new(QUOTA).keyed::<str>(10).with_hasher(hasher).build()?;
    assert!(limiter.check("alice").is_allowed());
    assert!(!limiter.check("alice").is_allowed());
    Ok(())
}
