//! Files that are not as they were written.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use tollgate::{
    AnyAlgorithm, FixedWindow, Overflow, Quota, RestoreError, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::{SECOND, builder, clock, saved};

fn algorithms() -> [AnyAlgorithm; 4] {
    let quota = Quota::per_second(3);
    [
        TokenBucket::new(quota).into(),
        FixedWindow::new(quota).into(),
        SlidingCounter::new(quota).into(),
        SlidingLog::new(quota).into(),
    ]
}

/// A small file, with something of everything.
fn file(algorithm: &AnyAlgorithm) -> Vec<u8> {
    let limiter = builder(algorithm.clone(), &clock(0, SECOND)).overflow(Overflow::Shared(Quota::per_day(9)));
    let limiter = limiter.build().expect("a limiter");
    assert!(limiter.check_n(&1, 3).is_allowed() && limiter.check_n(&2, 2).is_allowed());
    saved(&limiter)
}

fn restore(algorithm: &AnyAlgorithm, file: &[u8]) -> Result<(), RestoreError> {
    let limiter = builder(algorithm.clone(), &clock(0, SECOND)).overflow(Overflow::Shared(Quota::per_day(9)));
    limiter.restore(&mut &*file).map(drop)
}

#[test]
fn no_truncation_and_no_change_of_a_bit_goes_unnoticed() {
    for algorithm in algorithms() {
        let file = file(&algorithm);
        assert!(restore(&algorithm, &file).is_ok());
        for len in 0..file.len() {
            let error = restore(&algorithm, &file[..len]).expect_err("cut off");
            let is_told = matches!(error, RestoreError::NotASnapshot | RestoreError::Damaged);
            assert!(is_told, "{len} bytes: {error}");
        }
        for bit in 0..file.len() * 8 {
            let mut file = file.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            let error = restore(&algorithm, &file).expect_err("another bit");
            let is_told = match bit / 8 {
                0..8 => matches!(error, RestoreError::NotASnapshot),
                8..16 => matches!(error, RestoreError::Version { found } if found != 1),
                _ => matches!(error, RestoreError::Damaged),
            };
            assert!(is_told, "bit {bit}: {error}");
        }
        for more in [&[0_u8][..], &[0; 8], &file] {
            let error = restore(&algorithm, &[&file, more].concat()).expect_err("more");
            assert!(matches!(error, RestoreError::Damaged), "{error}");
        }
    }
}

/// With the checksum that it should have.
fn forged(mut file: Vec<u8>) -> Vec<u8> {
    let end = file.len() - 8;
    let mut hasher = SipHasher13::new();
    hasher.write(&file[..end]);
    file.truncate(end);
    file.extend(hasher.finish().to_le_bytes());
    file
}

/// Whoever computes the checksum can say anything, but nothing breaks: what is accepted is a state that limiters have.
#[test]
fn nothing_that_a_file_says_breaks_a_limiter() {
    for algorithm in algorithms() {
        let file = file(&algorithm);
        let mut outcomes = [0, 0];
        for at in 16..file.len() - 8 {
            for value in [0, 1, 2, 1 << 32, (1 << 61) - 1, 1 << 61, u64::MAX - 1, u64::MAX] {
                let mut file = file.clone();
                let end = file.len().min(at + 8);
                file[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                let limiter = builder(algorithm.clone(), &clock(0, SECOND));
                let limiter = limiter.overflow(Overflow::Shared(Quota::per_day(9)));
                match limiter.restore(&mut forged(file).as_slice()) {
                    Ok(limiter) => {
                        outcomes[0] += 1;
                        for key in 0..4 {
                            let decision = limiter.check_n(&key, 2);
                            assert!(decision.remaining().is_some_and(|remaining| remaining <= 3));
                            let _ = (decision.retry_after(), decision.reset_after());
                        }
                        let _ = saved(&limiter);
                    }
                    Err(error) => {
                        outcomes[1] += 1;
                        assert!(!error.to_string().is_empty());
                    }
                }
            }
        }
        assert!(outcomes.iter().all(|count| *count > 100), "{algorithm}: {outcomes:?}");
    }
}
