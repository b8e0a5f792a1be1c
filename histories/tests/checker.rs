//! The checker itself: histories that no order explains are told from those that one does.

use histories::checker::{assert_windows, explain};
use histories::plan::{Face, Plan, Request, Verb};
use histories::record::Call;
use oracle::vectors::{Answer, Rule};
use oracle::verbs::Told;
use tollgate::Outcome::{self, Allowed, Denied};

const WINDOW: Rule = Rule::FixedWindow { limit: 2, period: 100 };
/// With room for all keys, and with none.
const KEYED: Face = Face::Keyed { declared: 1, fillers: 0, hasher: [0, 0] };
const CROWDED: Face = Face::Keyed { declared: 1, fillers: 4, hasher: [0, 0] };

fn plan(rule: Rule, face: Face) -> Plan {
    Plan { rule, face, threads: vec![], ticks: vec![] }
}

/// A call for one permit, from one instant to another, at one reading.
fn call((invoked, returned): (u64, u64), reading: u64, answer: Answer) -> Call {
    let request = Request { key: 0, verb: Verb::Check, cost: 1 };
    Call { thread: 0, request, invoked, returned, readings: vec![reading], told: Told::Decided(answer) }
}

fn told(outcome: Outcome, remaining: u64, retry: u64, reset: u64) -> Answer {
    Answer { outcome, remaining: Some(remaining), retry: Some(retry), reset: Some(reset) }
}

fn is_explained(rule: Rule, face: Face, calls: &[Call]) -> bool {
    explain(&plan(rule, face), u64::MAX, calls).is_ok()
}

fn no_slot(instants: (u64, u64), reading: u64) -> Call {
    Call { told: Told::NoSlot, ..call(instants, reading, told(Denied, 0, 0, 0)) }
}

fn of_another_key(call: Call) -> Call {
    Call { request: Request { key: 1, ..call.request }, ..call }
}

/// Each by a thread of its own: their order is that of the instants alone.
fn by_threads(calls: impl IntoIterator<Item = Call>) -> Vec<Call> {
    calls.into_iter().enumerate().map(|(thread, call)| Call { thread, ..call }).collect()
}

#[test]
fn calls_one_by_one_are_explained_by_their_order() {
    let calls = [
        call((0, 1), 10, told(Allowed, 1, 0, 90)),
        call((2, 3), 20, told(Allowed, 0, 0, 80)),
        call((4, 5), 30, told(Denied, 0, 70, 70)),
        call((6, 7), 100, told(Allowed, 1, 0, 100)),
    ];
    assert!(is_explained(WINDOW, Face::Direct, &calls));
    assert!(is_explained(WINDOW, KEYED, &calls));
}

#[test]
fn answers_in_the_wrong_order_are_explained_only_while_calls_overlap() {
    let last_first = |first, second| {
        by_threads([call(first, 10, told(Allowed, 0, 0, 90)), call(second, 10, told(Allowed, 1, 0, 90))])
    };
    assert!(is_explained(WINDOW, Face::Direct, &last_first((0, 5), (4, 6))));
    assert!(!is_explained(WINDOW, Face::Direct, &last_first((0, 3), (4, 6))));
}

#[test]
fn calls_of_one_thread_are_taken_in_order_even_at_equal_instants() {
    let mut calls = [call((4, 4), 10, told(Allowed, 0, 0, 90)), call((4, 4), 10, told(Allowed, 1, 0, 90))];
    assert!(!is_explained(WINDOW, Face::Direct, &calls));
    calls.reverse();
    assert!(is_explained(WINDOW, Face::Direct, &calls));
}

#[test]
fn one_permit_granted_twice_is_not_explained() {
    let last = || told(Allowed, 0, 0, 90);
    let calls =
        [call((0, 9), 10, told(Allowed, 1, 0, 90)), call((1, 8), 10, last()), call((2, 7), 10, last())];
    assert!(!is_explained(WINDOW, Face::Direct, &calls));
    assert!(!is_explained(WINDOW, KEYED, &calls));
}

#[test]
fn refusal_while_permits_are_left_is_not_explained() {
    let calls = [call((0, 1), 10, told(Allowed, 1, 0, 90)), call((2, 3), 20, told(Denied, 1, 80, 80))];
    assert!(!is_explained(WINDOW, Face::Direct, &calls));
}

#[test]
fn each_detail_of_an_answer_counts() {
    for wrong in [told(Allowed, 0, 0, 90), told(Allowed, 1, 1, 90), told(Allowed, 1, 0, 91)] {
        assert!(!is_explained(WINDOW, Face::Direct, &[call((0, 1), 10, wrong)]), "{wrong:?}");
    }
}

#[test]
fn any_reading_of_the_call_may_explain_it_and_no_other() {
    let mut call = call((0, 1), 10, told(Allowed, 1, 0, 70));
    assert!(!is_explained(WINDOW, Face::Direct, std::slice::from_ref(&call)));
    call.readings.push(30);
    assert!(is_explained(WINDOW, Face::Direct, &[call]));
}

#[test]
fn key_with_a_state_that_counts_is_never_without_a_slot() {
    let charged = call((0, 1), 10, told(Allowed, 1, 0, 90));
    assert!(is_explained(WINDOW, CROWDED, &[no_slot((2, 3), 20)]));
    assert!(!is_explained(WINDOW, CROWDED, &[charged.clone(), no_slot((2, 3), 20)]));
    assert!(is_explained(WINDOW, CROWDED, &[charged, no_slot((2, 3), 100)]), "its window has passed");
}

#[test]
fn only_charges_of_crowded_tables_find_no_slot() {
    assert!(!is_explained(WINDOW, KEYED, &[no_slot((0, 1), 10)]));
    assert!(!is_explained(WINDOW, Face::Direct, &[no_slot((0, 1), 100)]));
    for (verb, cost) in [(Verb::Peek, 1), (Verb::Check, 0), (Verb::Check, 3)] {
        let mut call = no_slot((0, 1), 10);
        call.request = Request { verb, cost, ..call.request };
        assert!(!is_explained(WINDOW, CROWDED, &[call]), "{verb:?} {cost}");
    }
}

#[test]
fn recycled_key_is_fresh_as_of_a_reading_that_was_taken_and_no_later_one() {
    let bucket = Rule::TokenBucket { capacity: 2, limit: 1, period: 10, max_wait: 0 };
    // Of a key without a slot, seen 5 ns before it is full.
    let late = call((0, 9), 10, told(Allowed, 0, 0, 15));
    let passer_by = of_another_key(call((1, 2), 15, told(Allowed, 1, 0, 10)));
    assert!(!is_explained(bucket, CROWDED, std::slice::from_ref(&late)));
    let calls = by_threads([late, passer_by]);
    assert!(!is_explained(bucket, Face::Direct, &calls));
    assert!(!is_explained(bucket, KEYED, &calls), "nobody needed its slot");
    assert!(is_explained(bucket, CROWDED, &calls));
}

#[test]
fn key_that_lost_its_slot_does_not_come_back_in_a_window_it_has_spent() {
    let calls = |late| {
        by_threads([
            call((1, 2), 10, told(Allowed, 1, 0, 90)),
            call((3, 4), 10, told(Allowed, 0, 0, 90)),
            no_slot((5, 6), 100),
            // Its reading was taken at the start.
            call((0, 8), 20, late),
        ])
    };
    assert!(!is_explained(WINDOW, CROWDED, &calls(told(Allowed, 1, 0, 80))));
    assert!(is_explained(WINDOW, CROWDED, &calls(told(Allowed, 1, 0, 180))));
}

#[test]
fn call_that_cannot_have_changed_a_state_explains_nothing() {
    let peek = |reading| {
        let peek = call((0, 99), reading, told(Allowed, 2, 0, 0));
        Call { request: Request { verb: Verb::Peek, ..peek.request }, ..peek }
    };
    let spent = [
        of_another_key(peek(100)),
        call((1, 2), 10, told(Allowed, 1, 0, 90)),
        call((3, 4), 10, told(Allowed, 0, 0, 90)),
        call((5, 6), 20, told(Allowed, 1, 0, 180)),
    ];
    assert!(!is_explained(WINDOW, CROWDED, &by_threads(spent)));
    let log = Rule::SlidingLog { limit: 2, period: 100 };
    let logged = [
        of_another_key(peek(106)),
        call((1, 2), 5, told(Allowed, 1, 0, 100)),
        call((3, 4), 50, told(Allowed, 0, 0, 100)),
        call((5, 6), 60, told(Allowed, 0, 0, 146)),
    ];
    assert!(!is_explained(log, CROWDED, &by_threads(logged.clone())));
    // Nor does one that charges another key, when the log had entries that count.
    let recycler = of_another_key(call((5, 6), 106, told(Allowed, 1, 0, 100)));
    let [_, first, second, third] = logged;
    let third = Call { returned: 8, ..third };
    assert!(!is_explained(log, CROWDED, &by_threads([first, second, recycler, third])));
    let counter = Rule::SlidingCounter { limit: 2, period: 100 };
    let rolled =
        [peek(150), call((1, 2), 10, told(Allowed, 1, 0, 91)), call((3, 4), 20, told(Allowed, 0, 0, 181))];
    assert!(!is_explained(counter, Face::Direct, &by_threads(rolled)));
}

#[test]
#[should_panic(expected = "3 of 2 permits")]
fn window_with_more_grants_than_the_limit_is_told() {
    let grant = |at| call((at, at), 10 + at, told(Allowed, 1, 0, 90));
    assert_windows(&plan(WINDOW, Face::Direct), &[grant(0), grant(1), grant(2)]);
}

/// A call of another verb, told this.
fn asked(instants: (u64, u64), verb: Verb, cost: u64, reading: u64, told: Told) -> Call {
    let call = call(instants, reading, self::told(Allowed, 0, 0, 0));
    Call { request: Request { verb, cost, ..call.request }, told, ..call }
}

/// Of two permits, and one in 10 ns, that may be reserved 20 ns ahead.
const BUCKET: Rule = Rule::TokenBucket { capacity: 2, limit: 1, period: 10, max_wait: 20 };

fn reserve(instants: (u64, u64), name: u64, cost: u64, told: Told) -> Call {
    asked(instants, Verb::Reserve { name, max_wait: 20 }, cost, 100, told)
}

#[test]
fn reservation_is_due_when_its_permits_come_back_and_at_no_other_time() {
    let second = |due| [reserve((0, 1), 0, 2, Told::Due(100)), reserve((2, 3), 1, 1, Told::Due(due))];
    assert!(is_explained(BUCKET, Face::Direct, &second(110)));
    assert!(!is_explained(BUCKET, Face::Direct, &second(109)));
    assert!(!is_explained(BUCKET, Face::Direct, &second(111)));
}

#[test]
fn cancelled_reservation_gives_back_only_what_nobody_was_charged_after() {
    let cancel = |instants, given| asked(instants, Verb::Cancel { name: 0 }, 0, 100, Told::Moved(given));
    let between = || call((2, 3), 100, told(Allowed, 0, 0, 20));
    for (given, is_possible) in [(0, true), (1, false)] {
        let calls = [reserve((0, 1), 0, 1, Told::Due(100)), between(), cancel((4, 5), given)];
        assert_eq!(is_explained(BUCKET, Face::Direct, &calls), is_possible, "{given}");
    }
    // After all of it came back, what is charged next is charged to a full bucket.
    let next = |remaining, reset| call((6, 7), 100, told(Allowed, remaining, 0, reset));
    for (given, next, is_possible) in
        [(1, next(1, 10), true), (0, next(1, 10), false), (1, next(0, 20), false), (0, next(0, 20), false)]
    {
        let calls = [reserve((0, 1), 0, 1, Told::Due(100)), cancel((4, 5), given), next];
        assert_eq!(is_explained(BUCKET, Face::Direct, &calls), is_possible, "{given}");
    }
}

#[test]
fn what_was_refunded_was_charged_before() {
    let refund = |instants, given| asked(instants, Verb::Refund, 2, 20, Told::Moved(given));
    let granted = || call((0, 3), 10, told(Allowed, 1, 0, 90));
    for (given, is_possible) in [(0, false), (1, true), (2, false)] {
        assert_eq!(is_explained(WINDOW, Face::Direct, &[granted(), refund((4, 5), given)]), is_possible);
    }
    let overlapping = |given| by_threads([granted(), refund((2, 5), given)]);
    assert!((0..=1).all(|given| is_explained(WINDOW, Face::Direct, &overlapping(given))));
}

#[test]
fn as_many_are_taken_as_are_there() {
    let take = |permits, remaining| {
        asked((2, 3), Verb::TakeUpTo, 2, 10, Told::Taken(permits, told(Allowed, remaining, 0, 90)))
    };
    let first = || call((0, 1), 10, told(Allowed, 1, 0, 90));
    assert!(is_explained(WINDOW, Face::Direct, &[first(), take(1, 0)]));
    assert!(!is_explained(WINDOW, Face::Direct, &[first(), take(2, 0)]));
    assert!(!is_explained(WINDOW, Face::Direct, &[take(1, 1)]));
}

#[test]
fn penalty_goes_as_deep_as_the_debt_may_be() {
    let penalty = |taken| asked((0, 1), Verb::Penalize, 9, 100, Told::Moved(taken));
    for (taken, is_possible) in [(3, false), (4, true), (5, false), (0, false)] {
        assert_eq!(is_explained(BUCKET, Face::Direct, &[penalty(taken)]), is_possible, "{taken}");
    }
    // It is not told that there was no slot.
    assert!(is_explained(BUCKET, CROWDED, &[penalty(0)]) && !is_explained(BUCKET, KEYED, &[penalty(0)]));
}

#[test]
fn key_that_was_reset_has_all_of_its_limit() {
    let reset = |had_a_state| asked((4, 5), Verb::Reset, 0, 20, Told::Forgot(had_a_state));
    let granted = |at, remaining| call((at, at + 1), 20, told(Allowed, remaining, 0, 80));
    let calls = |reset| [granted(0, 1), granted(2, 0), reset, granted(6, 1)];
    assert!(is_explained(WINDOW, KEYED, &calls(reset(true))));
    assert!(!is_explained(WINDOW, KEYED, &calls(reset(false))), "it has a slot");
    let [first, second, _, last] = calls(reset(true));
    assert!(!is_explained(WINDOW, KEYED, &[first, second, last]));
}

#[test]
fn cancelled_reservations_are_no_grants_and_what_was_refunded_may_be_granted_again() {
    let plan = plan(BUCKET, Face::Direct);
    let grants = |more: &[Call]| {
        let granted = |at| call((at, at), 100, told(Allowed, 0, 0, 20));
        let calls: Vec<_> =
            [granted(0), granted(1), granted(2)].into_iter().chain(more.iter().cloned()).collect();
        std::panic::catch_unwind(|| assert_windows(&plan, &calls)).is_ok()
    };
    let cancel = asked((9, 9), Verb::Cancel { name: 0 }, 0, 100, Told::Moved(1));
    let refund = asked((5, 5), Verb::Refund, 1, 100, Told::Moved(1));
    let reserved = reserve((4, 4), 0, 1, Told::Due(100));
    assert!(!grants(&[]) && grants(std::slice::from_ref(&refund)));
    assert!(!grants(&[refund.clone(), reserved.clone()]));
    assert!(grants(&[refund.clone(), reserved, cancel]));
    let later = reserve((4, 4), 0, 1, Told::Due(110));
    assert!(grants(&[refund, later]), "a reservation counts when it is due");
}

#[test]
fn what_is_given_back_while_a_counters_window_closes_may_weigh_in_the_next() {
    let counter = Rule::SlidingCounter { limit: 2, period: 100 };
    let full = || {
        let answer = told(Allowed, 0, 0, 101);
        Call { request: Request { cost: 2, ..call((0, 0), 0, answer).request }, ..call((0, 1), 50, answer) }
    };
    let refund = asked((2, 5), Verb::Refund, 2, 99, Told::Moved(2));
    // The first of the next window, 51 ns into it or 49.
    let weighs = |from| call((from, 9), 101, told(Allowed, 0, 0, 100));
    let does_not = |from| call((from, 9), 101, told(Allowed, 1, 0, 100));
    let is_explained = |last: Call| {
        let calls = [full(), refund.clone(), Call { thread: 1, ..last }];
        is_explained(counter, Face::Direct, &calls)
    };
    assert!(is_explained(does_not(6)) && is_explained(does_not(4)));
    assert!(is_explained(weighs(4)), "it may have recorded two");
    // A charge of the closing window is told what it knows: that its own permit is the only one.
    let late = Call { thread: 2, ..call((3, 8), 98, told(Allowed, 1, 0, 3)) };
    let closed = Call { thread: 1, ..call((4, 9), 101, told(Allowed, 0, 0, 100)) };
    assert!(self::is_explained(counter, Face::Direct, &[full(), refund.clone(), late, closed.clone()]));
    // Who is granted nothing may have looked before the record was made.
    let looked =
        Call { thread: 2, ..asked((6, 7), Verb::Peek, 2, 101, Told::Decided(told(Allowed, 2, 0, 0))) };
    assert!(self::is_explained(
        counter,
        Face::Direct,
        &[full(), refund.clone(), looked.clone(), closed.clone()]
    ));
    let after = Call { invoked: 10, returned: 11, ..looked };
    assert!(!self::is_explained(counter, Face::Direct, &[full(), refund.clone(), closed, after]));
    assert!(!is_explained(weighs(6)), "it began when they had come back");
}

#[test]
fn cancel_whose_key_has_lost_its_slot_gives_nothing_back() {
    let calls = |plan| {
        let other = of_another_key(call((2, 3), 200, told(Allowed, 1, 0, 10)));
        let cancel = asked((4, 9), Verb::Cancel { name: 0 }, 0, 101, Told::Moved(0));
        explain(&plan, u64::MAX, &[reserve((0, 1), 0, 2, Told::Due(100)), other, cancel]).is_ok()
    };
    assert!(calls(plan(BUCKET, CROWDED)), "recycled at 200, when it was full again");
    assert!(!calls(plan(BUCKET, KEYED)), "there was room for both");
}
