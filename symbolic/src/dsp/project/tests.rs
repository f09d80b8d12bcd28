use super::*;
use crate::dsp::{
    AlternateLimits, alternates,
    cases::{BANK, CACHE4J, PBZIP2, STRINGBUFFER},
    fixture::{PFSCAN, fixture},
};
use unsnarl_core::Budget;
use unsnarl_trace::{EventId, Run, script};

fn parsed(text: &str) -> Run {
    script::parse(text).unwrap()
}

fn dsp(text: &str) -> Dsp {
    let fixture = fixture(text);
    let trace = &fixture.trace;
    let found = alternates(
        trace,
        &trace.order,
        &AlternateLimits::default(),
        None,
        &Budget::unlimited(),
    )
    .unwrap();
    project(trace, &fixture.run, &trace.order, &found.found[0], None).unwrap()
}

/// `W1.20`, as the paper writes it.
fn paper(dsp: &Dsp, at: u32) -> String {
    let operation = &dsp.operations[at as usize];
    let does = &operation.does.verb()[..1].to_uppercase();
    let thread = operation.thread.strip_prefix("main.").unwrap_or("0");
    format!("{does}{thread}.{}", operation.place.line)
}

fn told(dsp: &Dsp) -> String {
    let flows = |flows: &[Flow]| {
        let flow = |flow: &Flow| {
            let end = |end: Option<u32>| end.map_or("-".to_owned(), |at| paper(dsp, at));
            format!("{}->{}", end(flow.from), end(flow.to))
        };
        flows.iter().map(flow).collect::<Vec<_>>().join(" ")
    };
    let order = |order: &[u32]| {
        order
            .iter()
            .map(|&at| paper(dsp, at))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let advice = match &dsp.advice {
        None => "none".to_owned(),
        Some(Advice::Order { first, second }) => {
            format!("{} before {}", paper(dsp, *first), paper(dsp, *second))
        }
        Some(Advice::Region { region, who, .. }) => {
            format!("{} to {} of {who} in one piece", region.first, region.last)
        }
    };
    format!(
        "{}\n{}\n{} becomes {}\n{advice}\n{} of {} events, {} of {} flows, {} to read",
        order(&dsp.failing),
        order(&dsp.alternate),
        flows(&dsp.flows.only_failing),
        flows(&dsp.flows.only_alternate),
        dsp.counts.shown,
        dsp.counts.events,
        dsp.counts.variations,
        dsp.counts.flows,
        dsp.counts.to_read,
    )
}

#[test]
fn the_projection_of_figure_three() {
    expect_test::expect![[r#"
        W0.4 R2.10 W1.20 R2.19
        W0.4 R2.10 R2.19 W1.20
        W1.20->R2.19 becomes W0.4->R2.19
        9 to 19 of get (main.2) in one piece
        6 of 20 events, 1 of 6 flows, 3 to read"#]]
    .assert_eq(&told(&dsp(PFSCAN)));
}

#[test]
fn the_case_studies() {
    expect_test::expect![[r#"
        R1.11 W2.31 R1.21
        R1.11 R1.21 W2.31
        W2.31->R1.21 becomes -->R1.21
        5 to 7 of append (main.1) in one piece
        5 of 11 events, 1 of 1 flows, 2 to read"#]]
    .assert_eq(&told(&dsp(STRINGBUFFER)));
    expect_test::expect![[r#"
        R1.280 W0.412 R1.287
        R1.280 R1.287 W0.412
        W0.412->R1.287 becomes -->R1.287
        280 to 287 of consumer (main.1) in one piece
        2 of 4 events, 1 of 1 flows, 2 to read"#]]
    .assert_eq(&told(&dsp(PBZIP2)));
    expect_test::expect![[r#"
        R1.24 W2.25 W1.25 R0.88
        W2.25 R1.24 W1.25 R0.88
        -->R1.24 becomes W2.25->R1.24
        24 to 25 of transfer (main.1) in one piece
        2 of 21 events, 1 of 3 flows, 2 to read"#]]
    .assert_eq(&told(&dsp(BANK)));
    expect_test::expect![[r#"
        W1.10 W1.12 R2.30
        W1.10 R2.30 W1.12
        W1.12->R2.30 becomes W1.10->R2.30
        R2.30 before W1.12
        3 of 5 events, 1 of 1 flows, 3 to read"#]]
    .assert_eq(&told(&dsp(CACHE4J)));
}

/// A customer looks for a free seat and takes it later; a customer who finds none goes away.
const SEATS: &str = "
    file seats.c
    start main.1 customer
    start main.2 customer
    main   fork main.1                    @70
    main   fork main.2                    @71
    main.2 lock m                         @27
    main.2 R free =3 via=57@customer      @29 find
    main.2 unlock m                       @34
    main.1 lock m                         @27
    main.1 R free =3 via=57@customer      @29 find
    main.1 unlock m                       @34
    main.1 lock m                         @41
    main.1 W free =1 via=59@customer      @48 take
    main.1 unlock m                       @50
";

#[test]
fn a_thread_that_goes_another_way_in_the_alternate_run() {
    let failing = format!(
        "{SEATS}
        main.2 lock m                      @41
        main.2 W free =-2 via=59@customer  @48 take
        main.2 unlock m                    @50
        main   R free =-2                  @76 main
        main   fails @76 main"
    );
    let early = "main.2 lock m                         @27
    main.2 R free =3 via=57@customer      @29 find
    main.2 unlock m                       @34";
    let late = early.replace("=3", "=1");
    let alternate = format!(
        "{}{late}
        main.2 R rows =0                   @60 customer
        main   R free =1                   @76 main",
        SEATS.replace(early, "")
    );
    let runs = [failing, alternate].map(|text| parsed(&text));
    let dsp = project_runs(&runs[0], &runs[1], &Hints::default());
    assert!(dsp.explains);
    expect_test::expect![[r#"
        R2.29 W1.48 W2.48 R0.76
        W1.48 R2.29 R0.76
        -->R2.29 W2.48->R0.76 becomes W1.48->R2.29 W1.48->R0.76
        57 to 59 of customer (main.2) in one piece
        6 of 16 events, 2 of 1 flows, 4 to read"#]]
    .assert_eq(&told(&dsp));
}

/// The running example of [symbiosis], as executed: in the alternate the consumer finds the queue empty and
/// leaves.
#[test]
fn a_thread_that_leaves_early_departs_at_its_check() {
    let check = "main.2 lock m @9 take\nmain.2 R filled =FOUND @10 take\nmain.2 unlock m @11 take";
    let other = "main.1 lock m @18 take\nmain.1 R filled =1 @19 take\nmain.1 W filled =0 @20 take\nmain.1 unlock m @21 take";
    let start = "main W filled =1 @2\nmain fork main.1 @3\nmain fork main.2 @4";
    let failing = format!(
        "{start}\n{}\n{other}\nmain.2 lock m @18 take\nmain.2 R filled =0 @19 take\nmain.2 fails @19 take",
        check.replace("FOUND", "1")
    );
    let alternate = format!("{start}\n{other}\n{}", check.replace("FOUND", "0"));
    let runs = [failing, alternate].map(|text| parsed(&text));
    let dsp = project_runs(&runs[0], &runs[1], &Hints::default());
    assert!(dsp.explains);
    expect_test::expect![[r#"
        W0.2 R2.10 W1.20 R2.19
        W0.2 W1.20 R2.10
        W0.2->R2.10 becomes W1.20->R2.10
        9 to 19 of take (main.2) in one piece
        5 of 13 events, 1 of 3 flows, 3 to read"#]]
    .assert_eq(&told(&dsp));
}

#[test]
fn a_region_does_not_wait_for_the_threads_that_it_is_to_keep_out() {
    let start = "main fork main.1 @1\nmain R stop =0 @43\nmain.1 W stop =1 @35\nmain.1 end @36";
    let end = "main join main.1 @63";
    let failing = format!("{start}\n{end}\nmain R stop =1 @65\nmain fails @65");
    let alternate = "main fork main.1 @1\nmain.1 W stop =1 @35\nmain.1 end @36\nmain R stop =1 @43\nmain join main.1 @63\nmain R stop =1 @65";
    let runs = [failing.as_str(), alternate].map(parsed);
    let dsp = project_runs(&runs[0], &runs[1], &Hints::default());
    assert!(
        matches!(dsp.advice, Some(Advice::Order { .. })),
        "{:?}",
        dsp.advice
    );
}

#[test]
fn a_region_over_two_variables() {
    let start = "start main.1 feed
        start main.2 report
        main   fork main.1      @30
        main   fork main.2      @31";
    let (sum, count) = ("main.1 W sum =20 @9 feed", "main.1 W count =1 @12 feed");
    let failing = format!(
        "{start}\n{sum}\nmain.2 R sum =20 @21 report\nmain.2 R count =0 @22 report\n{count}\nmain.2 fails @23 report"
    );
    let alternate = format!(
        "{start}\nmain.2 R sum =0 @21 report\nmain.2 R count =0 @22 report\n{sum}\n{count}"
    );
    let runs = [failing, alternate].map(|text| parsed(&text));
    let hints = Hints {
        pair: Some((EventId(2), EventId(3))),
        matters: [EventId(3), EventId(4)].into(),
    };
    expect_test::expect![[r#"
        W1.9 R2.21 W1.12 C2.23
        R2.21 W1.9 W1.12
        W1.9->R2.21 becomes -->R2.21
        9 to 12 of feed (main.1) in one piece
        2 of 7 events, 1 of 1 flows, 2 to read"#]]
    .assert_eq(&told(&project_runs(&runs[0], &runs[1], &hints)));
}
