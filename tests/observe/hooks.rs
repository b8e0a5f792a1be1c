use std::sync::{Arc, Mutex};

use tollgate::{Counters, Decision, Hook, Observed, Outcome, Quota, TokenBucket};

use crate::hourly;

/// What was told, in order.
#[derive(Default)]
struct Told(Mutex<Vec<(u64, Outcome, Option<u64>)>>);

impl Told {
    fn take(&self) -> Vec<(u64, Outcome, Option<u64>)> {
        std::mem::take(&mut self.0.lock().expect("nobody panics"))
    }
}

impl Hook<u64> for Told {
    fn decided(&self, key: &u64, decision: &Decision) {
        let told = (*key, decision.outcome(), decision.remaining());
        self.0.lock().expect("nobody panics").push(told);
    }
}

#[test]
fn every_verb_tells_of_its_key_and_its_decision() {
    use Outcome::{Allowed, Denied, TooLarge};
    let limiter = Observed::new(hourly(3), Told::default());
    let now = limiter.limiter().now();
    let _ = limiter.check(&1);
    assert_eq!(limiter.hook().take(), [(1, Allowed, Some(2))]);
    let _ = (limiter.check_n(&1, 3), limiter.check_n(&2, 4));
    assert_eq!(limiter.hook().take(), [(1, Denied, Some(2)), (2, TooLarge, Some(3))]);
    let _ = limiter.check_at(&2, now, 3);
    assert_eq!(limiter.hook().take(), [(2, Allowed, Some(0))]);
    let _ = (limiter.take_up_to(&1, 9), limiter.take_up_to_at(&1, now, 9));
    assert_eq!(limiter.hook().take(), [(1, Allowed, Some(0)), (1, Denied, Some(0))]);
}

#[test]
fn batches_tell_of_each_key_in_order_and_answer_as_without_a_hook() {
    let (told, plain) = (Observed::new(hourly(3), Told::default()), hourly(3));
    let keys: Vec<u64> = (0..100).map(|number| number % 23).collect();
    let now = plain.now();
    for is_given in [false, true] {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        if is_given {
            told.check_many_at(&keys, now, &mut first);
            plain.check_many_at(&keys, now, &mut second);
        } else {
            told.check_many(&keys, &mut first);
            plain.check_many(&keys, &mut second);
        }
        let of = |decisions: &[Decision]| -> Vec<_> {
            let pairs = keys.iter().zip(decisions);
            pairs.map(|(key, decision)| (*key, decision.outcome(), decision.remaining())).collect()
        };
        assert_eq!(of(&first), of(&second));
        assert_eq!(told.hook().take(), of(&first));
    }
}

#[test]
fn hooks_can_be_closures_pairs_shared_and_none() {
    let shared = Arc::new(Counters::new());
    let seen = Mutex::new(Vec::new());
    let see = |key: &u64, decision: &Decision| {
        seen.lock().expect("nobody panics").push((*key, decision.is_allowed()));
    };
    let first = Observed::new(hourly(1), (shared.clone(), see));
    let second = TokenBucket::new(Quota::per_hour(1)).build().expect("a limiter");
    let second = Observed::new(second, (shared.clone(), ()));
    for _ in 0..2 {
        let _ = (first.check(&7), second.check());
    }
    assert_eq!((shared.counts().allowed, shared.counts().refused), (2, 2));
    assert_eq!(*seen.lock().expect("nobody panics"), [(7, true), (7, false)]);
    let unseen = Observed::new(hourly(1), ());
    assert!(unseen.check(&1).is_allowed() && !unseen.check(&1).is_allowed());
    assert_eq!(size_of_val(&unseen), size_of_val(unseen.limiter()));
}
