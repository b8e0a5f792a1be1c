//! What a snapshot can be restored as.

use std::error::Error as _;
use std::hash::{BuildHasher, DefaultHasher};
use std::io::{self, Read, Write};

use tollgate::{
    AnyAlgorithm, BuildError, FixedWindow, Keyed, ManualClock, Outcome, Overflow, PortableHasher, Quota,
    RandomSipHash, RestoreError, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::{SECOND, builder, clock, nanos, saved};

fn bucket() -> TokenBucket {
    TokenBucket::new(Quota::per_second(10)).burst(20)
}

fn file_of(algorithm: impl Into<AnyAlgorithm>) -> Vec<u8> {
    let limiter = builder(algorithm.into(), &clock(0, SECOND)).build().expect("a limiter");
    for key in 0..50 {
        assert!(limiter.check(&key).is_allowed());
    }
    saved(&limiter)
}

fn refused(file: &[u8], algorithm: impl Into<AnyAlgorithm>) -> RestoreError {
    let restored = builder(algorithm.into(), &clock(0, SECOND)).restore(&mut &*file);
    restored.expect_err("another limiter's snapshot")
}

#[test]
fn another_algorithm_or_quota_is_refused_and_both_are_named() {
    let file = file_of(bucket());
    for (other, text) in [
        (AnyAlgorithm::from(TokenBucket::new(Quota::per_second(10))), "token-bucket 10/s burst 10"),
        (TokenBucket::new(Quota::per_second(11)).burst(20).into(), "token-bucket 11/s burst 20"),
        (TokenBucket::new(Quota::per_minute(10)).burst(20).into(), "token-bucket 10/min burst 20"),
        (bucket().max_wait(nanos(5)).into(), "token-bucket 10/s burst 20 max-wait 5ns"),
        (SlidingCounter::new(Quota::per_second(10)).into(), "sliding-counter 10/s"),
    ] {
        let error = refused(&file, other);
        let named = match &error {
            RestoreError::Algorithm { saved, built } => (&**saved, &**built),
            _ => panic!("{error}"),
        };
        assert_eq!(named, ("token-bucket 10/s burst 20", text));
        assert!(error.to_string().contains(text), "{error}");
    }
    let file = file_of(FixedWindow::new(Quota::per_day(10)).aligned_to_utc());
    let error = refused(&file, FixedWindow::new(Quota::per_day(10)));
    assert!(matches!(error, RestoreError::Algorithm { .. }), "{error}");
}

#[test]
fn what_makes_no_difference_to_a_state_makes_none_here() {
    let clock = clock(0, SECOND);
    let file = file_of(TokenBucket::new(Quota::per_second(10)));
    let same = TokenBucket::new(Quota::per_second(10)).burst(10).into();
    assert!(builder(same, &clock).restore(&mut file.as_slice()).is_ok());
    let file = file_of(SlidingLog::new(Quota::per_second(10)));
    let same = SlidingLog::new(Quota::per_second(10)).without_remaining().into();
    assert!(builder(same, &clock).restore(&mut file.as_slice()).is_ok());
    // An algorithm chosen at run time is the same as one that is not.
    let typed = SlidingLog::new(Quota::per_second(10)).clock(clock).keyed::<u64>(60);
    assert!(typed.restore(&mut file.as_slice()).is_ok());
}

#[test]
fn what_cannot_be_built_is_told_as_by_build() {
    let file = file_of(bucket());
    let none = bucket().clock(clock(0, SECOND)).keyed::<u64>(0).restore(&mut file.as_slice());
    assert!(matches!(none, Err(RestoreError::Build(BuildError::ZeroKeys))));
}

#[test]
fn more_live_keys_than_there_are_slots_for_are_refused_and_the_number_is_told() {
    let limiter = |keys| bucket().clock(clock(0, SECOND)).keyed::<u64>(keys);
    let file = file_of(bucket());
    let error = limiter(20).restore(&mut file.as_slice()).expect_err("50 keys");
    let RestoreError::NoSlot { keys: 20, saved_for: 100, saved: 50 } = error else { panic!("{error}") };
    assert!(error.to_string().contains("at least 50"), "{error}");
    for keys in [50, 1000] {
        let restored = limiter(keys).restore(&mut file.as_slice()).expect("room for 50 keys");
        assert_eq!((restored.stats().inserted, restored.stats().occupied()), (50, 50));
        assert!((0..50).all(|key| restored.peek(&key, 0).remaining() == Some(19)));
    }
    // A second later they are all as good as new, and need no room.
    let later = bucket().clock(clock(0, 2 * SECOND)).keyed::<u64>(1).restore(&mut file.as_slice());
    assert_eq!(later.expect("nothing to place").stats().inserted, 0);
}

#[test]
fn the_limit_that_keys_without_a_slot_share_is_saved_too() {
    let quota = Quota::per_hour(5);
    let limiter = |overflow| {
        let bucket = TokenBucket::new(Quota::per_hour(1)).clock(clock(0, SECOND)).keyed::<u64>(1);
        bucket.overflow(overflow)
    };
    // Until there is no slot left, and two permits of the shared limit.
    let first = limiter(Overflow::Shared(quota)).build().expect("a limiter");
    let mut keys = 0..;
    while first.stats().overflowed < 3 {
        assert!(first.check(&keys.next().expect("a key")).is_allowed());
    }
    let file = saved(&first);

    let restored = limiter(Overflow::Shared(quota)).restore(&mut file.as_slice()).expect("the same");
    let granted = keys.by_ref().take(200).filter(|key| restored.check(key).is_allowed()).count();
    let overflowed = |limiter: &Keyed<TokenBucket, u64, ManualClock>| limiter.stats().overflowed;
    assert!(overflowed(&restored) >= 195, "{:?}", restored.stats());
    assert_eq!(granted as u64, 2 + 200 - overflowed(&restored));

    for other in [Overflow::Deny, Overflow::Allow] {
        assert!(limiter(other).restore(&mut file.as_slice()).is_ok(), "{other:?} owes nothing");
    }
    let error = limiter(Overflow::Shared(Quota::per_hour(6))).restore(&mut file.as_slice());
    let error = error.expect_err("another limit");
    assert!(matches!(error, RestoreError::SharedLimit { .. }), "{error}");
    assert!(error.to_string().contains("5/h") && error.to_string().contains("6/h"), "{error}");
    // New where there was none.
    let file = saved(&limiter(Overflow::Deny).build().expect("a limiter"));
    assert!(limiter(Overflow::Shared(quota)).restore(&mut file.as_slice()).is_ok());
}

#[test]
fn keys_are_found_though_the_new_limiter_came_with_another_hasher() {
    let file = file_of(bucket());
    let other = bucket().clock(clock(0, SECOND)).keyed::<u64>(100).with_hasher(RandomSipHash::new());
    let restored = other.restore(&mut file.as_slice()).expect("the same quota");
    assert_eq!(restored.hasher().key(), [3, 7]);
    assert!((0..50).all(|key| restored.peek(&key, 0).remaining() == Some(19)));
}

/// A hash of another kind.
#[derive(Debug, Default)]
struct Other;

impl BuildHasher for Other {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        DefaultHasher::new()
    }
}

impl PortableHasher for Other {
    fn key(&self) -> [u64; 2] {
        [3, 7]
    }

    fn with_key(_: [u64; 2]) -> Self {
        Self
    }
}

#[test]
fn another_kind_of_hasher_is_refused() {
    let file = file_of(bucket());
    let limiter = || bucket().clock(clock(0, SECOND)).keyed::<u64>(100).with_hasher(Other);
    let error = limiter().restore(&mut file.as_slice()).expect_err("another hasher");
    assert!(matches!(error, RestoreError::Hasher), "{error}");
    let first = limiter().build().expect("a limiter");
    assert!(first.check(&1).is_allowed());
    let mut file = Vec::new();
    assert_eq!(first.snapshot(&mut file).expect("a vector takes everything"), 1);
    let restored = limiter().restore(&mut file.as_slice()).expect("the same hasher");
    assert_eq!(restored.peek(&1, 0).remaining(), Some(19));
}

/// Takes and gives so many bytes, and then nothing.
struct Failing(usize);

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

#[test]
fn errors_of_the_writer_and_the_reader_are_handed_on() {
    let limiter = builder(bucket().into(), &clock(0, SECOND)).build().expect("a limiter");
    assert!(limiter.check(&1).is_allowed());
    let len = saved(&limiter).len();
    for room in [0, len / 2, len - 1] {
        let error = limiter.snapshot(&mut Failing(room)).expect_err("no room");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    assert_eq!(limiter.snapshot(&mut Failing(len)).expect("room"), 1);
    let error = builder(bucket().into(), &clock(0, SECOND)).restore(&mut Failing(0)).expect_err("no file");
    assert!(matches!(error, RestoreError::Read(_)) && error.source().is_some(), "{error}");
}

#[test]
fn only_what_is_not_as_good_as_new_is_written() {
    let clock = clock(0, SECOND);
    let limiter = builder(bucket().into(), &clock).build().expect("a limiter");
    let empty = saved(&limiter).len();
    for key in 0..20 {
        assert!(limiter.check_n(&key, key + 1).is_allowed());
    }
    // A newborn key was never charged.
    assert_eq!(limiter.check_n(&100, 21).outcome(), Outcome::TooLarge);
    assert_eq!(saved(&limiter).len() - empty, 20 * 16);
    clock.advance(nanos(SECOND));
    assert_eq!(saved(&limiter).len() - empty, 11 * 16);
}
