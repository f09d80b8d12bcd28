//! Tests of data that a thread uses before it is set.

use crate::{Budget, explain, fixture::corpus};

const BEGIN: &str = "main W callback =0 @3 main\nstart main.1 run\nmain fork main.1 @4 main\n";

/// Most passing runs end without the call: those that come to it had the callback set before.
#[test]
fn what_passing_runs_have_that_come_there_is_missing() {
    let stop = "main lock m @22 stop\nmain W state =2 @23 stop\nmain unlock m @24 stop\n";
    let looks = |state: u32| {
        format!("main.1 lock m @48 run\nmain.1 R state ={state} @49 run\nmain.1 unlock m @50 run\n")
    };
    let set = "main W callback =7 @8 main\n";
    let calls = "main.1 R callback =7 @52 run\n";
    let early = [BEGIN, set, stop, &looks(2)].concat();
    let called = [BEGIN, set, &looks(1), calls, stop].concat();
    let unset = [
        BEGIN,
        &looks(1),
        "main.1 R callback =0 @52 run\nmain.1 R words =1 @52 run\n",
        // The exception that is thrown there.
        "main.1 alloc `heap(test.c:52 by main.1 #0)` =16 @52 run\n",
        "main.1 R `heap(test.c:52 by main.1 #0)` =0 @52 run\nmain.1 fails @52 run\n",
    ]
    .concat();
    let passing = [[&*early; 9].as_slice(), &[&*called; 4]].concat();
    let found = explain(&corpus(&passing, &[&unset]), &Budget::unlimited()).findings;
    let first = found.first().map(|told| told.headline.as_str());
    assert_eq!(first, Some("`callback` was used before it was set"));
}

/// In passing runs one thread or the other sets the elements, and this run fails for want of another one than the first.
#[test]
fn another_element_of_the_array_that_passing_runs_set_is_missing() {
    let begin = "main fork main.1 @4 main\nmain fork main.2 @5 main\nmain fork main.3 @6 main\n";
    let sets =
        |by: u32, element: u32| format!("main.{by} W table[{element}] ={} @20 load\n", element + 5);
    let says = |by: u32| format!("main.{by} W ready =1 @19 load\n");
    let asks =
        |value: u32| format!("main.1 R ready =1 @37 run\nmain.1 R table[1] ={value} @38 run\n");
    let first = "main.1 R table[0] =5 @38 run\n";
    let fine = |by| {
        [
            begin,
            &says(by),
            &sets(by, 0),
            &sets(by, 1),
            first,
            &asks(6),
        ]
        .concat()
    };
    let early = [begin, &says(2), &asks(0), "main.1 fails @39 run\n"].concat();
    let passing = [2, 3, 2, 3].map(fine);
    let passing = passing.each_ref().map(String::as_str);
    let found = explain(&corpus(&passing, &[&early]), &Budget::unlimited()).findings;
    let first = found.first().map(|told| told.headline.as_str());
    assert_eq!(first, Some("`ready` was changed before `table[1]` was set"));
}

/// A write that makes an object ready comes before its use in most passing runs; a state that it has at times does not.
#[test]
fn a_pointer_is_too_early_only_where_passing_runs_set_what_is_behind_it() {
    let begin = "main fork main.1 @4 main\nmain fork main.2 @5 main\nmain W slot =0 @6 main\n";
    let store = "main.1 W slot =&front @35 accept\n";
    let load = "main.2 R slot =&front @14 work\n";
    let sets = "main.1 W `front.state` =1 @36 accept\n";
    let looks = |value: u32| format!("main.2 R `front.state` ={value} @54 release\n");
    let set = [begin, store, sets, load, &looks(1)].concat();
    let unset = [begin, store, load, &looks(0)].concat();
    let early = [
        begin,
        store,
        load,
        &looks(0),
        sets,
        "main.2 fails @55 release\n",
    ]
    .concat();
    let told = |set_in: usize| {
        let mut passing = vec![&*unset; 6 - set_in];
        passing.extend(vec![&*set; set_in]);
        let found = explain(&corpus(&passing, &[&early]), &Budget::unlimited()).findings;
        found.first().map(|told| told.headline.clone())
    };
    let visible = "`slot` was visible before `front.state` was set";
    assert_eq!(told(6).as_deref(), Some(visible));
    assert!(told(2).is_some_and(|told| told != visible));
}
