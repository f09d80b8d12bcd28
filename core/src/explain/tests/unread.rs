//! Tests of changes that a thread did not come to see before it ended.

use crate::{
    explain::{order::plain, view::View},
    fixture::corpus,
};
use unsnarl_trace::EventId;

const BEGIN: &str = "
    start main.1 flush
    main W stopping =0 @5 main
    main fork main.1 @6 main";
/// `main.1` takes what is there, and asks whether it is to stop.
const TAKES: &str = "
    main.1 lock m @17 flush
    main.1 R pending =1 @18 flush \"while (!pending && !stopping)\"
    main.1 W pending =0 @22 flush
    main.1 unlock m @25 flush";
const GOES_ON: &str = "
    main.1 R stopping =0 @28 flush \"if (stopping)\"";
const STOPS: &str = "
    main.1 R stopping =1 @28 flush \"if (stopping)\"
    main.1 end @30 flush";
const WRITES: &str = "
    main lock m @50 main
    main W pending =1 @54 main
    main unlock m @57 main";
const CLOSES: &str = "
    main lock m @60 main
    main W stopping =1 @62 main
    main unlock m @64 main";
const ENDS: &str = "
    main join main.1 @66 main
    main R written =1 @70 main
    main fails @70 assertion `written == 2` failed";

/// The order of `stopping` and the last look at it, as it is told.
fn remark(failing: &[&str]) -> String {
    let passing = [
        BEGIN, WRITES, TAKES, GOES_ON, WRITES, TAKES, GOES_ON, CLOSES, TAKES, STOPS,
    ];
    let corpus = corpus(&[&*passing.concat(); 4], &[&failing.concat()]);
    let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
    let rows = view.run.events.iter();
    let of_stopping = rows.filter(|(_, event)| view.run.location(event.location) == "stopping");
    let of_stopping: Vec<EventId> = of_stopping.map(|(row, _)| row).collect();
    let [.., early, late] = of_stopping[..] else {
        panic!("it is set and read")
    };
    plain(&view, early, late).remark
}

#[test]
fn what_a_thread_leaves_behind_is_told_with_the_order_that_ended_it() {
    let lost = remark(&[BEGIN, WRITES, TAKES, WRITES, CLOSES, STOPS, ENDS]);
    let said = "main.1 ended without having seen `pending` = 1, set by main at line 54; \
                in all 4 passing runs it sees what others set last.";
    assert!(lost.ends_with(said), "{lost}");
}

#[test]
fn what_it_has_seen_is_not_left() {
    let taken = remark(&[BEGIN, WRITES, TAKES, CLOSES, STOPS, ENDS]);
    assert!(!taken.contains("without having seen"), "{taken}");
}

/// Whoever reads it after that takes care of it.
#[test]
fn what_another_thread_reads_is_not_left() {
    let read = ENDS.replace(
        "main R written",
        "main R pending =1 @68 main\n    main R written",
    );
    let by_main = remark(&[BEGIN, WRITES, TAKES, WRITES, CLOSES, STOPS, &read]);
    assert!(by_main.contains("without having seen"), "{by_main}");
    let begin = BEGIN.replace(
        "main fork main.1",
        "main fork main.2 @4 main\n    main fork main.1",
    );
    let other = format!("{WRITES}\n    main.2 R pending =1 @80 watch");
    let by_other = remark(&[&begin, WRITES, TAKES, &other, CLOSES, STOPS, ENDS]);
    assert!(!by_other.contains("without having seen"), "{by_other}");
}

/// A look of `main.1` before its end, and a message that `main` leaves too late for it, as it is told.
fn told_late(after: &str) -> String {
    let looks = "
    main.1 R pending =0 @18 flush
    main.1 end @30 flush";
    let passing = [BEGIN, WRITES, TAKES, CLOSES, STOPS].concat();
    let failing = [BEGIN, looks, WRITES, after, ENDS].concat();
    let corpus = corpus(&[&passing], &[&failing]);
    let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
    let rows = view.run.events.iter();
    let of_pending = rows.filter(|(_, event)| view.run.location(event.location) == "pending");
    let of_pending: Vec<EventId> = of_pending.map(|(row, _)| row).collect();
    plain(&view, of_pending[0], of_pending[1]).remark
}

#[test]
fn a_message_that_is_left_after_the_end_of_its_reader() {
    let said = "main.1 ended after that, and nobody else has read what main had set.";
    assert!(told_late("").ends_with(said), "{}", told_late(""));
    let own = told_late("\n    main R pending =1 @68 main");
    assert!(own.ends_with(said), "{own}");
    let destructor = told_late("\n    main.2 R pending =1 @80 Queue::~Queue");
    assert!(destructor.ends_with(said), "{destructor}");
    let other = told_late("\n    main.2 R pending =1 @80 watch");
    assert!(!other.contains("nobody else has read"), "{other}");
}
