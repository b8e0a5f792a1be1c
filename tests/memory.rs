//! What a keyed limiter asks of memory. A binary with one test at a time: resident memory is the whole process's.

use memory_stats::memory_stats;
use tollgate::{
    Algorithm, BuildError, FixedWindow, KeyedBuilder, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

const QUOTA: Quota = Quota::per_minute(10);

fn resident_bytes() -> usize {
    memory_stats().expect("this system tells how much memory a process uses").physical_mem
}

/// Builds the limiter; checks that this costs address space only.
fn assert_lazy<A: Algorithm>(limiter: KeyedBuilder<A, u64>) {
    let before = resident_bytes();
    let limiter = limiter.build().expect("the memory can be had");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 1_000_000, "{limiter:?} made {grown} bytes resident before its first key");
}

fn assert_told<A: Algorithm>(limiter: KeyedBuilder<A, u64>) -> u128 {
    let told = limiter.memory_bytes().expect("the configuration is legal");
    assert_eq!(limiter.build().expect("the memory can be had").memory_bytes(), told);
    told
}

/// The whole file is one test, or the measurements would disturb each other.
#[test]
fn memory_is_told_beforehand_and_taken_lazily() {
    // The first use of anything, the clock's calibration for instance, is none of the limiter's memory.
    drop(TokenBucket::new(QUOTA).keyed::<u64>(1).build());
    assert_lazy(TokenBucket::new(QUOTA).keyed(10_000_000));
    assert_lazy(FixedWindow::new(QUOTA).keyed(10_000_000));
    assert_lazy(SlidingCounter::new(QUOTA).keyed(10_000_000));
    assert_lazy(SlidingLog::new(QUOTA).keyed(10_000_000));

    for keys in [1_000, 1_001, 1_023, 4_096, 10_000, 65_537, 100_000, 1_000_000, 3_333_333, 10_000_000] {
        let per_key = |bytes: u128| bytes.div_ceil(keys as u128);
        assert!(per_key(assert_told(TokenBucket::new(QUOTA).keyed(keys))) <= 24, "{keys} keys");
        assert!(per_key(assert_told(FixedWindow::new(QUOTA).keyed(keys))) <= 24, "{keys} keys");
        assert!(per_key(assert_told(SlidingCounter::new(QUOTA).keyed(keys))) <= 36, "{keys} keys");
        assert_told(SlidingLog::new(QUOTA).keyed(keys));
    }

    let unaffordable = SlidingLog::new(Quota::per_second(262_144)).keyed::<u64>(1_000_000_000);
    let bytes = unaffordable.memory_bytes().expect("the configuration is legal");
    assert!(bytes > 1 << 51, "{bytes} bytes might be had");
    let error = unaffordable.build().expect_err("no machine has the memory");
    assert_eq!(error, BuildError::OutOfMemory { bytes });
    assert!(error.to_string().contains(&bytes.to_string()), "{error}");
}
