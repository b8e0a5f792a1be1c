//! Files of any bytes, restored: refused, or a limiter that keeps to its limit.
//!
//! Half of them get the checksum that they should have, and the head of a file that was really saved.

#![no_main]

use std::hash::Hasher;
use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use siphasher::sip::SipHasher13;
use tollgate::{
    AnyAlgorithm, AnyKeyed, FixedWindow, KeyedBuilder, ManualClock, Overflow, Quota, RandomSipHash,
    SlidingCounter, SlidingLog, TokenBucket,
};

const LIMIT: u64 = 5;

#[derive(Debug)]
struct Input {
    algorithm: AnyAlgorithm,
    /// The clock that goes on.
    origin: u64,
    reading: u64,
    file: Vec<u8>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let period = Duration::from_nanos(bytes.int_in_range(1..=1 << 40)?);
        let quota = Quota::new(LIMIT, period);
        let algorithm = match bytes.int_in_range(0..=4)? {
            0 => TokenBucket::new(quota).into(),
            1 => FixedWindow::new(quota).into(),
            2 => FixedWindow::new(quota).aligned_to_utc().into(),
            3 => SlidingCounter::new(quota).into(),
            _ => SlidingLog::new(quota).into(),
        };
        let (origin, reading, is_whole) = (bytes.arbitrary()?, bytes.arbitrary()?, bytes.arbitrary()?);
        let rest = bytes.bytes(bytes.len())?;
        let file = if is_whole { whole(&algorithm, rest) } else { rest.to_vec() };
        Ok(Self { algorithm, origin, reading, file })
    }
}

fn builder(
    algorithm: &AnyAlgorithm,
    origin: u64,
    reading: u64,
) -> KeyedBuilder<AnyAlgorithm, u64, ManualClock> {
    let clock = ManualClock::starting_at(Duration::from_nanos(origin));
    clock.advance(Duration::from_nanos(reading));
    let builder = algorithm.clone().clock(clock).keyed(10).overflow(Overflow::Shared(Quota::per_second(3)));
    builder.with_hasher(RandomSipHash::with_key([0, 0]))
}

/// A file whose end, from the number of keys on, is this one.
fn whole(algorithm: &AnyAlgorithm, end: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    if let Ok(limiter) = builder(algorithm, 0, 0).build() {
        let _ = limiter.snapshot(&mut file);
        // The keys, two shifts, two empty lists, three numbers and the checksum.
        file.truncate(file.len().saturating_sub(9 * 8));
    }
    file.extend_from_slice(end);
    let mut hasher = SipHasher13::new();
    hasher.write(&file);
    file.extend(hasher.finish().to_le_bytes());
    file
}

fn assert_limited(limiter: &AnyKeyed<u64, ManualClock>) {
    for key in 0..4 {
        let granted = (0..=LIMIT).filter(|_| limiter.check(&key).is_allowed()).count();
        let now = limiter.peek(&key, 1);
        // In periods of a few ns permits come back at once, but this clock stands still.
        assert!(granted as u64 <= LIMIT, "{granted} granted: {now:?}");
        let _ = (now.remaining(), now.retry_after(), now.reset_after());
    }
}

fuzz_target!(|input: Input| {
    let Input { algorithm, origin, reading, file } = input;
    match builder(&algorithm, origin, reading).restore(&mut file.as_slice()) {
        Ok(limiter) => {
            let mut again = Vec::new();
            assert!(limiter.snapshot(&mut again).is_ok());
            assert_limited(&limiter);
            let limiter = builder(&algorithm, origin, reading).restore(&mut again.as_slice());
            assert_limited(&limiter.expect("what was just saved"));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
