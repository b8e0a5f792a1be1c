//! The verbs that read the limiter's own clock, on a clock that jumps ahead and back, and some of whose readings are
//! wrong: what is promised whatever the clock does.

#![no_main]

mod clock;
mod face;
mod input;
mod ledger;
mod place;
mod promise;
mod recovery;
mod run;

use libfuzzer_sys::fuzz_target;
use oracle::limiters::Visit;
use tollgate::{Algorithm, Keyed, Limiter, RandomSipHash};

use clock::ErringClock;
use input::Input;
use run::Run;

struct Calls<'i>(&'i Input);

impl Visit<ErringClock> for Calls<'_> {
    type Output = ();

    fn visit<A: Algorithm + 'static>(
        self,
        direct: Limiter<A, ErringClock>,
        keyed: Keyed<A, u64, ErringClock>,
    ) {
        if self.0.keys.is_none() {
            Run::new(&direct, self.0).all();
        } else {
            Run::new(&keyed, self.0).all();
        }
    }
}

fuzz_target!(|input: Input| {
    let clock = ErringClock::default();
    clock.set(input.start);
    let keys = input.keys.map_or(1, |keys| keys.declared);
    let hasher = RandomSipHash::with_key([input.hasher.into(), 0]);
    if let Err(error) = input.rule.build_on(clock, keys, hasher, Calls(&input)) {
        assert!(!error.to_string().is_empty());
    }
});
