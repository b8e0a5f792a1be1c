//! Keys that are made and shuffled beforehand, and tables filled with them.

use tollgate::{Algorithm, Builder, Clock, Instant, Keyed};

/// `count` keys in an order that no prefetcher guesses.
pub(crate) fn shuffled(count: usize) -> Vec<u64> {
    let mut keys: Vec<u64> = (0..count as u64).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for unshuffled in (2..=count).rev() {
        // Xorshift (Marsaglia, "Xorshift RNGs", 2003).
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of keys")]
        keys.swap(unshuffled - 1, (random % unshuffled as u64) as usize);
    }
    keys
}

/// A limiter for exactly these keys, each of which has spent `permits` at the clock's origin.
pub(crate) fn filled<A: Algorithm, C: Clock>(
    builder: &Builder<A, C>,
    keys: &[u64],
    permits: u64,
) -> Keyed<A, u64, C> {
    let table = builder.clone().keyed(keys.len()).build().expect("the configuration is legal");
    for key in keys {
        assert!(table.check_at(key, Instant::ORIGIN, permits).is_allowed());
    }
    table
}
