use super::*;
use crate::dsp::{
    AlternateLimits, alternates,
    cases::{BANK, CACHE4J, PBZIP2, STRINGBUFFER},
    fixture::{PFSCAN, fixture},
    project,
};
use expect_test::expect;
use unsnarl_core::Budget;

fn dsp(text: &str) -> Dsp {
    let fixture = fixture(text);
    let trace = &fixture.trace;
    let found = alternates(
        trace,
        &trace.order,
        &AlternateLimits::default(),
        None,
        &Budget::unlimited(),
    );
    project(
        trace,
        &fixture.run,
        &trace.order,
        &found.unwrap().found[0],
        None,
    )
    .unwrap()
}

#[test]
fn headlines() {
    let cases = [PFSCAN, STRINGBUFFER, PBZIP2, BANK, CACHE4J];
    let sentences: Vec<String> = cases
        .iter()
        .filter_map(|text| headline(&dsp(text)))
        .collect();
    expect![[r#"
        With lines 9 to 19 of get made atomic the assertion holds. Each part of it holds `m`, but the lock is given up in between.
        With lines 5 to 7 of append made atomic the assertion holds. Each part of it holds `m`, but the lock is given up in between.
        With lines 280 to 287 of consumer made atomic the program does not fail.
        With lines 24 to 25 of transfer made atomic the assertion holds.
        When cleaner (main.2) reads inTryBlock at cache.c:30 before update (main.1) writes inTryBlock at cache.c:12, the assertion holds."#]].assert_eq(&sentences.join("\n"));
}

#[test]
fn side_by_side_and_one_under_the_other() {
    expect![[r#"
          this order fails                               |   this order does not
                                                         |
          1 main    pfscan.c:4                           |   1 main    pfscan.c:4
                    filled++;                            |             filled++;
                    writes filled = 1                    |             writes filled = 1
          2 main.2  pfscan.c:10                          |   2 main.2  pfscan.c:10
                    if (filled == 0)                     |             if (filled == 0)
                    reads filled = 1                     |             reads filled = 1
        > 3 main.1  pfscan.c:20                          |   4 main.2  pfscan.c:19
                    filled--;                            |             assert(filled > 0);
                    writes filled = 0                    |             reads filled = 1 <- 1
          4 main.2  pfscan.c:19   fails                  | > 3 main.1  pfscan.c:20
                    assert(filled > 0);                  |             filled--;
                    reads filled = 0 <- 3                |             writes filled = 0

          > comes at another place than in the other order
          <- N takes the value that step N left; only in this order

          With lines 9 to 19 of get made atomic the assertion holds. Each part of it holds `m`, but the lock is given up in between.
    "#]].assert_eq(&text(&dsp(PFSCAN), 100));
    expect![[r#"
          this order fails

          1 main.1  cache.c:10
                    inTryBlock = true;
                    writes inTryBlock = 1
        > 2 main.1  cache.c:12
                    inTryBlock = false;
                    writes inTryBlock = 0
          3 main.2  cache.c:30   fails
                    assert(inTryBlock);
                    reads inTryBlock = 0 <- 2

          this order does not

          1 main.1  cache.c:10
                    inTryBlock = true;
                    writes inTryBlock = 1
          3 main.2  cache.c:30
                    assert(inTryBlock);
                    reads inTryBlock = 1 <- 1
        > 2 main.1  cache.c:12
                    inTryBlock = false;
                    writes inTryBlock = 0

          > comes at another place than in the other order
          <- N takes the value that step N left; only in this order

          When cleaner (main.2) reads inTryBlock at cache.c:30 before update (main.1) writes inTryBlock at cache.c:12, the assertion holds.
    "#]].assert_eq(&text(&dsp(CACHE4J), 60));
}

#[test]
fn no_line_is_longer_than_asked() {
    for columns in [40, 60, 79, 80, 100] {
        let text = text(&dsp(BANK), columns);
        let body = text.lines().take_while(|line| !line.is_empty());
        assert!(
            body.into_iter().all(|line| line.chars().count() <= columns),
            "{text}"
        );
    }
}

#[test]
fn graphviz() {
    expect![[r##"
        digraph dsp {
          node [shape=box, fontname="monospace", fontsize=10];
          edge [fontname="sans-serif", fontsize=10];
          label="When cleaner (main.2) reads inTryBlock at cache.c:30 before update (main.1) writes inTryBlock at cache.c:12, the assertion holds.";
          labelloc=b;
          subgraph cluster_f {
            label="this order fails";
            f0 [label="1. update (main.1)  cache.c:10\linTryBlock = true;\lwrites inTryBlock = 1"];
            f1 [label="2. update (main.1)  cache.c:12\linTryBlock = false;\lwrites inTryBlock = 0", style=filled, fillcolor="#fff4c2"];
            f2 [label="3. cleaner (main.2)  cache.c:30\lassert(inTryBlock);\lreads inTryBlock = 0", style=filled, fillcolor="#f9dedc"];
            f0 -> f1 [style=dotted, arrowhead=none, weight=10];
            f1 -> f2 [style=dotted, arrowhead=none, weight=10];
            f1 -> f2 [color="#b3261e", fontcolor="#b3261e", label="inTryBlock = 0", constraint=false];
          }
          subgraph cluster_a {
            label="this order does not";
            a0 [label="1. update (main.1)  cache.c:10\linTryBlock = true;\lwrites inTryBlock = 1"];
            a2 [label="3. cleaner (main.2)  cache.c:30\lassert(inTryBlock);\lreads inTryBlock = 1"];
            a1 [label="2. update (main.1)  cache.c:12\linTryBlock = false;\lwrites inTryBlock = 0", style=filled, fillcolor="#fff4c2"];
            a0 -> a2 [style=dotted, arrowhead=none, weight=10];
            a2 -> a1 [style=dotted, arrowhead=none, weight=10];
            a0 -> a2 [color="#1b7f3b", fontcolor="#1b7f3b", label="inTryBlock = 1", constraint=false];
          }
        }
    "##]].assert_eq(&dot(&dsp(CACHE4J)));
}

#[test]
fn the_picture_holds_every_operation_and_flow() {
    let dsp = dsp(BANK);
    let picture = svg(&dsp);
    let count = |what: &str| picture.matches(what).count();
    assert_eq!(
        count("<rect class="),
        dsp.failing.len() + dsp.alternate.len()
    );
    let flows = dsp.flows.only_failing.len() + dsp.flows.only_alternate.len();
    assert_eq!(count("<path class="), flows);
    assert_eq!(count("<text"), count("</text>"));
}
