//! Looks by which a thread went on before what it needed was done.

use super::super::order::plain;
use crate::{
    Budget, Corpus, CorpusKey, Explanation, RunSummary, explain,
    explain::view::View,
    fixture::{corpus, run},
};
use std::sync::Arc;
use unsnarl_trace::{Event, EventId, ThreadId};

fn told(passing: &str, failing: &str) -> Explanation {
    let corpus = corpus(&[passing; 6], &[failing]);
    let found = explain(&corpus, &Budget::unlimited()).findings;
    found.into_iter().next().expect("an explanation")
}

const BEGIN: &str = "
    start main.1 work
    main W left =1 @5 main
    main fork main.1 @6 main";

/// The worker counts a task as taken when it begins it, and `main` waits until none is left.
#[test]
fn a_count_by_which_a_thread_goes_on_is_told() {
    let takes = "\nmain.1 lock m @10 work\nmain.1 W left =0 @11 take\nmain.1 unlock m @12 work";
    let does = "\nmain.1 W sum =1 @20 add";
    let waits = "\nmain R left =0 @30 wait_all \"while (left)\"";
    let reads = |sum: u32| format!("\nmain R sum ={sum} @40 main \"assert(sum == 1);\"");
    let fine = [BEGIN, takes, does, waits, &reads(1)].concat();
    let fails = "\nmain fails @40 assertion `sum == 1` failed";
    let fails = [BEGIN, takes, waits, &reads(0), fails].concat();
    let told = told(&fine, &fails);
    assert_eq!(told.headline, "`sum` was used before it was set");
    assert_eq!(
        told.remark,
        "main does not join main.1 before. Before that main looked at `left` on line 30, read 0, and went on."
    );
    let steps: Vec<u32> = told.steps.iter().map(|step| step.place.line).collect();
    assert_eq!(steps, [11, 30, 40]);
}

#[test]
fn a_look_at_what_no_other_thread_changes_is_no_reason() {
    let does = "\nmain.1 W sum =1 @20 add";
    let asks = "\nmain R verbose =0 @30 main \"if (verbose)\"";
    let reads = |sum: u32| format!("\nmain R sum ={sum} @40 main \"assert(sum == 1);\"");
    let fine = [BEGIN, does, asks, &reads(1)].concat();
    let fails = "\nmain fails @40 assertion `sum == 1` failed";
    let fails = [BEGIN, asks, &reads(0), fails].concat();
    let told = told(&fine, &fails);
    assert_eq!(told.remark, "main does not join main.1 before.");
}

/// A look without a lock says as well as one with it that the reader may go on, if it asks.
#[test]
fn a_flag_that_is_asked_without_a_lock_announces() {
    let text = |asks: &str, order: &[&str]| {
        let step = |name: &&str| match *name {
            "old" => "main W result =3 @4 main\nmain fork main.1 @6 main\n".to_owned(),
            "flag" => {
                "main.1 lock m @10 work\nmain.1 W left =0 @11 work\nmain.1 unlock m @12 work\n"
                    .to_owned()
            }
            "set" => "main.1 W result =9 @20 work\n".to_owned(),
            "look" => format!("main R left =0 @30 main \"{asks}\"\n"),
            "early" => "main R result =3 @40 main\n".to_owned(),
            _ => "main R result =9 @40 main\n".to_owned(),
        };
        let steps: String = order.iter().map(step).collect();
        format!("start main.1 work\n{steps}")
    };
    let headline = |asks: &str| {
        let fine = text(asks, &["old", "flag", "set", "look", "late"]);
        let fails = text(asks, &["old", "flag", "look", "early", "set"]);
        told(&fine, &(fails + "main fails @40")).headline
    };
    assert_eq!(
        headline("while (left)"),
        "`left` was changed before `result` was"
    );
    assert_eq!(
        headline("n = left;"),
        "`result` was read before work (main.1) had set it"
    );
}

/// The predicate of a wait is asked before it waits: its look is one of the thread that calls it.
#[test]
fn a_predicate_that_holds_at_once_is_a_look() {
    let takes = "\nmain.1 lock m @10 work\nmain.1 W left =0 @11 take\nmain.1 unlock m @12 work";
    let does = "\nmain.1 W sum =1 @20 add";
    let waits = "\nmain R left =0 @30 lambda \"done.wait(lock, [&] { return left == 0; });\"";
    let reads = |sum: u32| format!("\nmain R sum ={sum} @40 main \"assert(sum == 1);\"");
    let fine = [BEGIN, takes, does, waits, &reads(1)].concat();
    let fails = "\nmain fails @40 assertion `sum == 1` failed";
    let fails = [BEGIN, takes, waits, &reads(0), fails].concat();
    let told = told(&fine, &fails);
    let expected = "Before that main looked at `left` on line 30, read 0, and went on.";
    assert!(told.remark.ends_with(expected), "{}", told.remark);
}

/// A run whose line 59 waits with a predicate.
fn waiting(text: &str) -> Arc<unsnarl_trace::Run> {
    let mut run = run(text);
    let sites = run.meta.sites.iter_mut();
    for site in sites.filter(|site| site.line == 59) {
        site.text = "done.wait(lock, [&] { return idle(); });".to_owned();
    }
    Arc::new(run)
}

/// The predicate calls a function that looks, and gives back a lock on its last line.
#[test]
fn a_look_of_what_a_predicate_calls_is_one_of_the_wait() {
    let takes = "\nmain.1 lock m @10 work\nmain.1 W left =0 @11 take\nmain.1 unlock m @12 work";
    let does = "\nmain.1 W sum =1 @20 add";
    let waits = "\nmain R limit =2 via=59@wait @63 idle\nmain R left =0 via=59@wait @63 idle\n\
                 main R guard =1 via=59@wait @64 idle";
    let reads = |sum: u32| format!("\nmain R sum ={sum} @40 main");
    let begin = format!("main W limit =2 @4 main\nmain W guard =1 @4 main{BEGIN}");
    let fine = [&*begin, takes, does, waits, &reads(1)].concat();
    let fails = [&*begin, takes, waits, &reads(0), "\nmain fails @40 it is 0"].concat();
    let mut corpus = Corpus::new(CorpusKey::default());
    let runs = (0..6).map(|at| (format!("passed-{at}"), &fine));
    for (name, text) in runs.chain([("failed-0".to_owned(), &fails)]) {
        corpus.insert(RunSummary::new(name, waiting(text)));
    }
    let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
    let expected = "Before that main looked at `left` on line 63, read 0, and went on.";
    assert!(told.remark.ends_with(expected), "{}", told.remark);
}

/// A constant that the thread has set itself tells nothing of what others change.
#[test]
fn a_constant_that_other_threads_read_as_well_is_no_look() {
    let does = "\nmain.1 R count =2 @43 wait \"if (out == count)\"\nmain.1 W sum =1 @20 add";
    let waits = "\nmain R count =2 @43 wait \"if (out == count)\"";
    let reads = |sum: u32| format!("\nmain R sum ={sum} @40 main");
    let begin = format!("main W count =2 @4 main{BEGIN}");
    let fine = [&*begin, does, waits, &reads(1)].concat();
    let fails = [&*begin, waits, &reads(0), "\nmain fails @40 it is 0"].concat();
    assert_eq!(
        told(&fine, &fails).remark,
        "main does not join main.1 before."
    );
}

/// The worker takes the second task from the queue before it has added the result of it.
#[test]
fn a_change_that_came_less_often_than_in_passing_runs_is_missing() {
    let adds = |sum: u32| format!("\nmain.1 rmw sum {}->{sum} @20 add", sum - 1);
    let reads = |sum: u32| format!("\nmain R sum ={sum} @40 main \"assert(sum == 2);\"");
    let fine = [BEGIN, &adds(1), &adds(2), &reads(2)].concat();
    let fails = "\nmain fails @40 assertion `sum == 2` failed";
    let fails = [BEGIN, &adds(1), &reads(1), fails].concat();
    let told = told(&fine, &fails);
    assert_eq!(
        told.headline,
        "main read `sum` before work (main.1) had changed it again"
    );
    assert_eq!(
        told.detail,
        "main read sum = 1 at test.c:40, but work (main.1) had changed it only once at line 20 until then; \
         in passing runs it was changed more often."
    );
}

/// Either thread fills the table, whichever comes first; the other one reads before it is done.
#[test]
fn changes_that_somebody_had_made_by_then_are_missing() {
    let fills = |by: &str, times: u32| -> String {
        let line = |n| format!("\n{by} W n ={n} @20 fill");
        (1..=times).map(line).collect()
    };
    let reads = |n: u32| format!("\nmain R n ={n} @40 main \"assert(n == 2);\"");
    let other = [BEGIN, &fills("main.1", 2), &reads(2)].concat();
    let own = [BEGIN, &fills("main", 2), &reads(2)].concat();
    let fails = "\nmain fails @40 assertion `n == 2` failed";
    let fails = [BEGIN, &fills("main.1", 1), &reads(1), fails].concat();
    let passing = [other.as_str(), &own, &other, &own, &other, &own];
    let told = explain(&corpus(&passing, &[&fails]), &Budget::unlimited())
        .findings
        .remove(0);
    assert_eq!(
        told.headline,
        "main read `n` before work (main.1) had changed it again"
    );
}

/// The value that a thread saw in place of the missing change came from another one: that is where it began.
#[test]
fn the_write_that_was_seen_instead_is_a_step() {
    let begins = "\nmain lock m @9 flush\nmain W busy =1 @10 flush\nmain unlock m @11 flush";
    let ends = "\nmain W busy =0 @20 flush";
    let looks = |busy: u32| format!("\nmain.1 R busy ={busy} @30 feed \"if (busy)\"");
    let start = "start main.1 feed\nmain fork main.1 @6 main";
    let fine = [start, begins, ends, &looks(0)].concat();
    let fails = [start, begins, &looks(1), "\nmain.1 fails @31 it is busy"].concat();
    let told = told(&fine, &fails);
    assert_eq!(told.headline, "`busy` was read before it was changed");
    let lines: Vec<u32> = told.steps.iter().map(|step| step.place.line).collect();
    assert!(lines.contains(&10), "{lines:?}");
}

/// Both see that there is no lock yet, and each makes one: `main.2` takes the first one and gives the second one back.
#[test]
fn what_was_set_since_a_look_is_set_again() {
    let text = |look: &str| {
        format!(
            "start main.1 hello
            start main.2 world
            main fork main.1 @50 main
            main fork main.2 @51 main
            {look}
            main.2 R lock =0 @20 world \"if (!bf->lock)\"
            main.2 W lock =1 @13 world
            main.2 R lock =1 @22 world
            main.1 W lock =2 @13 hello
            main.2 R lock =2 @27 world
            main.2 fails @27"
        )
    };
    let headline = |look: &str| {
        let corpus = corpus(&[], &[&text(look)]);
        let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
        let row = |thread: u16, line: u32| {
            let mut rows = view.run.events.iter();
            let is_it = |event: &Event| {
                event.thread.0 == thread && view.run.meta.site(event.site).line == line
            };
            rows.find(|(_, event)| is_it(event)).unwrap().0
        };
        let told = plain(&view, row(2, 22), row(1, 13));
        (told.headline, told.steps.len())
    };
    assert_eq!(
        headline("main.1 R lock =0 @20 hello \"if (!bf->lock)\""),
        (
            "`lock` was set again: hello (main.1) had looked at it before world (main.2) set it"
                .to_owned(),
            5
        )
    );
    assert!(
        headline("main.1 R lock =0 @20 hello \"log(bf->lock);\"")
            .0
            .contains("was read before")
    );
}

/// A thread that has asked for something before another one set it, and not again, does over what that one has done.
#[test]
fn who_does_not_look_again_goes_on() {
    let text = |again: &str| {
        format!(
            "
            start main.1 get
            start main.2 get
            main fork main.1 @25 main
            main fork main.2 @25 main
            main.2 atomic-read done =0 @28 get \"if (done)\"
            main.1 atomic-read done =0 @28 get \"if (done)\"
            main.1 lock m @31 get
            main.1 W base =5 @16 init
            main.1 atomic-write done =1 @33 get
            main.1 unlock m @34 get
            main.2 lock m @31 get{again}
            main.2 W base =0 @10 clear
            main.1 R base =0 @37 use
            main.1 fails @37"
        )
    };
    let told = |again: &str| {
        let corpus = corpus(&[], &[&text(again)]);
        let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
        let of_flag = view.run.events.iter().filter(|(_, event)| {
            view.run.location(event.location) == "done" && event.thread != ThreadId(0)
        });
        let rows: Vec<EventId> = of_flag.map(|(row, _)| row).collect();
        let told = plain(&view, rows[0], rows[2]);
        (told.headline, told.remark)
    };
    let (headline, remark) = told("");
    assert_eq!(
        headline,
        "get (main.2) did not look at `done` again after get (main.1) had set it"
    );
    let said =
        "main.2 goes on: it sets `base` to 0 at test.c:10, and main.1 reads that at line 37.";
    assert!(remark.contains(said), "{remark}");
    let (headline, _) = told("\n            main.2 atomic-read done =1 @32 get");
    assert_eq!(headline, "`done` was read before get (main.1) had set it");
}
