//! Reads before any of several threads had changed the variable.

use crate::{
    explain::{before_any::before_any, intervention, view::View},
    explanation::Explanation,
    fixture::{corpus, run},
};
use unsnarl_trace::{EventId, EventKind};

/// `main` counts what two workers have put before either has come there.
const EARLY: &str = "
    start main.1 put
    start main.2 put
    main fork main.1 @40 main
    main fork main.2 @41 main
    main R filled =0 @28 main \"if (filled == 0)\"
    main.2 lock m @19 put
    main.2 W filled =1 @20 put
    main.2 unlock m @21 put
    main.1 lock m @19 put
    main.1 W filled =2 @20 put
    main.1 unlock m @21 put
    main join main.1 @42 main
    main join main.2 @43 main
    main fails @44 main";

fn told(text: &str) -> Option<Explanation> {
    let corpus = corpus(&[], &[text]);
    let view = View::new(&corpus, corpus.get("failed-0").unwrap()).unwrap();
    let accesses = || view.run.events.iter();
    let of = |kind| accesses().find(|(_, event)| event.kind == kind).unwrap().0;
    before_any(&view, of(EventKind::Read), of(EventKind::Write))
}

#[test]
fn a_read_that_came_before_the_change_of_each_thread() {
    let one = told(EARLY).unwrap();
    assert_eq!(
        one.headline,
        "`filled` was read before any other thread had set it"
    );
    let detail = "main read filled = 0 at test.c:28 before main.2 or main.1 set it at line 20.";
    assert_eq!(one.detail, detail);
    let failing = run(EARLY);
    let orders = intervention(&one, &failing).unwrap();
    let line = |row: &EventId| failing.meta.site(failing.events.site(*row)).line;
    let lines = |order: &[EventId]| order.iter().map(line).collect::<Vec<u32>>();
    // Both come after the read. One of them before it is enough to pass.
    assert_eq!(lines(&orders.with), [28, 19, 19]);
    assert_eq!(lines(&orders.without[0]), [20, 28]);
}

#[test]
fn one_thread_that_changes_it_is_named_by_the_order_of_two() {
    let elsewhere = EARLY.replacen("main.1 W filled =2 @20", "main.1 W filled =2 @30", 1);
    assert_eq!(told(&elsewhere), None);
    let look = "    main R filled =0 @28 main \"if (filled == 0)\"\n";
    let come = "    main.1 W filled =5 @20 put\n";
    let counted = EARLY.replacen(look, &format!("{come}{look}"), 1);
    assert_eq!(told(&counted), None, "a thread has come there before");
    let elsewhere = counted.replacen("=5 @20", "=5 @30", 1);
    assert_eq!(told(&elsewhere), None, "it was set on another line");
}
