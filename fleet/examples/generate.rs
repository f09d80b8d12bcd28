//! Writes summaries of runs that nobody has made, to measure questions about many: `cargo xtask fleet --measure` calls it.
//!
//! `generate FOLDER RUNS` writes that many summaries of twenty programs with five builds each. A run has about half of
//! the 240 pairs of its program, each up to 160 times, and orders, locks and lines. One run in twenty fails, in one of
//! three ways, each with a pair that no passing run has. The same number gives the same bytes.

use anyhow::{Context, Result, bail};
use std::{fs, path::Path};
use unsnarl_fleet::summary::{Fact, FactKind, FailureFacts, Operation, RunFacts, table};

/// Programs.
const PROGRAMS: u64 = 20;
/// Builds of each.
const BUILDS: u64 = 5;
/// Pairs of each program.
const PAIRS: u64 = 240;
/// Orders, and as many locks and lines.
const OTHERS: u64 = 60;
/// Time of the first run, in milliseconds since 1970.
const BEGIN: i64 = 1_767_225_600_000;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, runs] = &words[..] else {
        bail!("usage: generate FOLDER RUNS");
    };
    fs::create_dir_all(folder)?;
    for number in 0..runs.parse().context("RUNS is a number")? {
        let run = run(number);
        let path = Path::new(folder).join(&run.file).with_extension("parquet");
        fs::write(path, table(&run, &facts(number, &run))?)?;
    }
    Ok(())
}

/// A number that looks drawn, after Steele et al., "Fast splittable pseudorandom number generators".
fn drawn(seed: u64) -> u64 {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// One of the three ways to fail, for one run in twenty.
fn way(number: u64) -> Option<u64> {
    let lot = drawn(number ^ 0xfa11);
    lot.is_multiple_of(20).then_some((lot >> 8) % 3)
}

fn run(number: u64) -> RunFacts {
    let (program, build) = (number % PROGRAMS, number / PROGRAMS % BUILDS);
    let failure = way(number).map(|way| FailureFacts {
        kind: "assertion",
        function: format!("check_{way}"),
        file: "main.c".to_owned(),
        line: 400,
        message: format!("assertion `sum == {way}` failed"),
        signature: format!("{:016x}", drawn(program * 3 + way)),
    });
    let outcome = if failure.is_some() {
        "failed"
    } else {
        "passed"
    };
    RunFacts {
        run: format!("{:016x}", drawn(number)),
        file: format!("{outcome}-pct-{number}-{:08x}.arrow", drawn(number) >> 32),
        recorded: BEGIN + number.cast_signed() * 1000,
        program: format!("program_{program}"),
        build: format!("{:064x}", program * BUILDS + build),
        arguments: String::new(),
        strategy: "pct".to_owned(),
        seed: number,
        outcome,
        failure,
        order_class: format!("{:016x}", drawn(number / 3)),
        threads: 4,
        events: 10_000,
        steps: 500 + drawn(number) % 500,
    }
}

fn operation(kind: &'static str, number: u64) -> Operation {
    Operation {
        kind: Some(kind),
        function: format!("function_{}", number % 12),
        file: "main.c".to_owned(),
        line: 10 + u32::try_from(number % 380).unwrap_or(0),
    }
}

fn fact(kind: FactKind, number: u64) -> Fact {
    let has_two = matches!(kind, FactKind::Pair | FactKind::Order);
    Fact {
        kind,
        object: (kind != FactKind::Line).then(|| format!("object_{}", number % 16)),
        first: Some(operation("read", number)),
        second: has_two.then(|| operation("write", number * 7 + 3)),
        locks: (kind == FactKind::Lock).then(|| format!("lock_{}", number % 4)),
    }
}

fn facts(number: u64, run: &RunFacts) -> Vec<(Fact, u64)> {
    let own = drawn(run.seed);
    let has = |fact: u64| drawn(own ^ fact).is_multiple_of(2);
    let pairs = (0..PAIRS).filter(|pair| has(*pair));
    let suspect = way(number).map(|way| PAIRS + way);
    let pairs = pairs
        .chain(suspect)
        .map(|pair| (fact(FactKind::Pair, pair), 1 + drawn(own ^ pair) % 160));
    let kinds = [FactKind::Order, FactKind::Lock, FactKind::Line];
    let others = kinds
        .into_iter()
        .flat_map(|kind| (0..OTHERS).map(move |at| (fact(kind, at), 1 + at)));
    let whole = Fact {
        kind: FactKind::Run,
        object: None,
        first: None,
        second: None,
        locks: None,
    };
    let mut all: Vec<(Fact, u64)> = std::iter::once((whole, 1))
        .chain(pairs)
        .chain(others)
        .collect();
    all.sort();
    all
}
