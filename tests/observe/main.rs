//! What can be seen of a limiter: counts, hooks, who is refused, and who has used what.

mod counters;
mod hooks;
mod live;
mod most_refused;

use tollgate::{Keyed, ManualClock, Quota, RandomSipHash, TokenBucket};

#[path = "../support/pace.rs"]
mod pace;
#[path = "../support/race.rs"]
#[expect(dead_code, reason = "nothing is hammered here")]
mod race;
#[path = "../support/stream.rs"]
#[expect(dead_code, reason = "`race` names it")]
mod stream;

/// `limit` permits an hour for each of a few keys, on a clock that stands still.
fn hourly(limit: u64) -> Keyed<TokenBucket, u64, ManualClock> {
    let builder = TokenBucket::new(Quota::per_hour(limit)).clock(ManualClock::new()).keyed(100);
    builder.with_hasher(RandomSipHash::with_key([3, 7])).build().expect("a limiter")
}
