use super::*;
use crate::dsp::{
    cases::{BANK, CACHE4J, PBZIP2, STRINGBUFFER},
    check::step_in_words,
    fixture::{Fixture, PFSCAN, fixture},
};

fn search(fixture: &Fixture, options: &AlternateLimits) -> Alternates {
    let trace = &fixture.trace;
    alternates(trace, &trace.order, options, None, &Budget::unlimited()).unwrap()
}

fn pair(fixture: &Fixture, (first, second): (StepId, StepId)) -> String {
    let words = |id| step_in_words(&fixture.trace, &fixture.run, id);
    format!("{} <-> {}", words(first), words(second))
}

fn first(text: &str) -> (usize, String, usize) {
    let fixture = fixture(text);
    let found = search(
        &fixture,
        &AlternateLimits {
            alternates: 1,
            ..AlternateLimits::default()
        },
    );
    let alternate = &found.found[0];
    (
        found.pairs,
        pair(&fixture, alternate.pair),
        alternate.variations,
    )
}

#[test]
fn the_first_alternate_of_each_case_study() {
    let check = |text, pairs: usize, expected: &str, variations: usize| {
        assert_eq!(first(text), (pairs, expected.to_owned(), variations));
    };
    check(
        PFSCAN,
        1,
        "main.1, write filled at pfscan.c:20 <-> main.2, read filled at pfscan.c:19",
        1,
    );
    check(
        STRINGBUFFER,
        1,
        "main.2, write count at stringbuffer.cpp:31 <-> main.1, read count at stringbuffer.cpp:21",
        1,
    );
    check(
        PBZIP2,
        1,
        "main, write fifo at pbzip2.c:412 <-> main.1, read fifo at pbzip2.c:287",
        1,
    );
    check(
        CACHE4J,
        1,
        "main.1, write inTryBlock at cache.c:12 <-> main.2, read inTryBlock at cache.c:30",
        1,
    );
    // The paper needed 181 pairs.
    check(
        BANK,
        2,
        "main.2, read total at bank.c:24 <-> main.1, write total at bank.c:25",
        3,
    );
}
