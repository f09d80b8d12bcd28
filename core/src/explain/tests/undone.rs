//! Changes that a waiting thread was told of, and that were undone before it looked.

use crate::{
    explain::{intervention, undone::undone, view::View},
    explanation::Explanation,
    fixture::{corpus, run},
};

fn told(text: &str) -> Vec<Explanation> {
    let corpus = corpus(&[], &[text]);
    let view = View::new(&corpus, corpus.get("failed-0").unwrap()).unwrap();
    undone(&view)
}

/// `clear` wakes all, and the first that wakes takes that back for all others.
const FLAG: &str = "
    start main.1 pop
    start main.2 pop
    main fork main.1 @40 main
    main fork main.2 @41 main
    main lock m @20 clear
    main W woken =1 @21 clear
    main unlock m @22 clear
    main broadcast c @23 clear
    main.2 lock m @10 pop
    main.2 R woken =1 @11 pop \"while (!woken)\"
    main.2 W woken =0 @14 pop
    main.2 unlock m @15 pop
    main.1 lock m @10 pop
    main.1 R woken =0 @11 pop \"while (!woken)\"
    main.1 wait c @12 pop
    main.1 unlock m @12 pop
    main.1 blocked condition c @12 pop
    main blocked join main.1 @42 main
    deadlocks";

#[test]
fn a_wakeup_for_all_that_one_thread_takes_back() {
    let told = told(FLAG);
    let [one] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(
        one.headline,
        "`woken` was changed again before pop (main.1) looked at it"
    );
    assert_eq!(
        one.detail,
        "main set woken = 1 at test.c:21 and signalled `c` at line 23;\n\
         pop (main.2) set woken = 0 at line 14 before main.1 read it at line 11."
    );
    // The order has all three of them: that a thread looks after the second is nothing unusual.
    let orders = intervention(one, &run(FLAG)).unwrap();
    assert_eq!(orders.with.len(), 3, "{orders:?}");
}

#[test]
fn a_signal_for_one_that_another_one_makes_use_of_is_no_such_case() {
    let signal = FLAG.replace("broadcast", "signal");
    assert_eq!(told(&signal).len(), 0);
}

/// The last one at a barrier is first at the next one.
#[test]
fn a_signal_of_the_thread_that_takes_it_back() {
    let barrier = FLAG.replace("broadcast", "signal");
    let barrier = barrier.replace(
        "main.2 R woken =1 @11 pop \"while (!woken)\"\n    main.2 W woken =0 @14 pop",
        "main.2 R other =1 @16 pop",
    );
    let barrier = barrier.replace(
        "main signal c @23 clear",
        "main signal c @23 clear\n    main lock m @30 next\n    main W woken =0 @31 next\n    main unlock m @32 next",
    );
    assert_eq!(told(&barrier).len(), 1);
    // What the thread has seen in between was not kept from it.
    let seen = barrier.replace(
        "main lock m @30 next",
        "main.1 R woken =1 @50 pop\n    main lock m @30 next",
    );
    assert_eq!(told(&seen).len(), 0);
}

/// A barrier with a predicate that looks at what is missing and at how many there are: the next round begins before all have
/// left the last one.
const BARRIER: &str = "
    start main.1 agent
    start main.2 agent
    main W all =2 @9 main
    main fork main.1 @40 main
    main fork main.2 @41 main
    main.1 lock m @12 arrive
    main.1 W left =1 @13 arrive
    main.1 R left =1 @18 is_done via=18@arrive
    main.1 R all =2 @18 is_done via=18@arrive
    main.1 wait done @18 arrive
    main.1 unlock m @18 arrive
    main.2 lock m @12 arrive
    main.2 W left =2 @15 arrive
    main.2 broadcast done =2 @16 arrive
    main.2 unlock m @19 arrive
    main.2 lock m @12 arrive
    main.2 W left =1 @13 arrive
    main.2 R left =1 @18 is_done via=18@arrive
    main.2 R all =2 @18 is_done via=18@arrive
    main.2 wait done @18 arrive
    main.2 unlock m @18 arrive
    main.1 lock m @18 arrive
    main.1 wake done =0 @18 arrive
    main.1 R left =1 @18 is_done via=18@arrive
    main.1 R all =2 @18 is_done via=18@arrive
    main.1 wait done @18 arrive
    main.1 unlock m @18 arrive
    main.1 blocked condition done @18 arrive
    main.2 blocked condition done @18 arrive
    main blocked join main.1 @50 main
    deadlocks";

#[test]
fn the_next_round_begins_before_all_have_left() {
    let told = told(BARRIER);
    let headlines: Vec<&str> = told.iter().map(|one| one.headline.as_str()).collect();
    assert_eq!(
        headlines,
        ["`left` was changed again before agent (main.1) looked at it"]
    );
}

/// `run` sets the flag back when it begins, after `stop` was called already.
const RESET: &str = "
    start main.1 run
    main fork main.1 @65 main
    main lock m @42 stop
    main W stopped =1 @43 stop
    main unlock m @44 stop
    main broadcast c @27 stop
    main.1 lock m @42 run
    main.1 W stopped =0 @43 run
    main.1 unlock m @44 run
    main.1 lock m @48 next
    main.1 R stopped =0 @49 next via=49@next \"wake.wait(l, [this] { return stopped || !tasks.empty(); });\"
    main.1 R tasks =0 @49 next via=49@next \"wake.wait(l, [this] { return stopped || !tasks.empty(); });\"
    main.1 wait c @49 next
    main.1 unlock m @49 next
    main.1 blocked condition c @49 next
    main W tasks =1 @80 post
    main blocked join main.1 @69 main
    deadlocks";

#[test]
fn a_thread_that_waits_wrote_over_what_it_waits_for() {
    let told = told(RESET);
    let headlines: Vec<&str> = told.iter().map(|one| one.headline.as_str()).collect();
    assert_eq!(
        headlines,
        ["run (main.1) overwrote the value of `stopped` that main had written"]
    );
    let orders = intervention(&told[0], &run(RESET)).unwrap();
    assert_eq!(orders.with.len(), 2, "{orders:?}");
}

#[test]
fn what_the_thread_had_seen_before_it_wrote_over_it_is_no_loss() {
    let seen = RESET.replace(
        "main.1 W stopped",
        "main.1 R stopped =1 @42 run\n    main.1 W stopped",
    );
    assert_eq!(told(&seen).len(), 0);
}
