//! Speed of the analysis of access pairs, beside a plain scan of the same data, and its growth.

use crate::{
    docs,
    measure::{scan, timed},
    pairs::PAGE,
    synthetic::{SplitMix, event, from_rows},
    table::PrintedTable,
};
use anyhow::{Context, Result, ensure};
use std::time::Duration;
use unsnarl_core::{
    Budget, StopReason,
    orders::Accesses,
    pairs::{PairCounts, Precision, RunPairs, procedure_one, procedure_three, procedure_two},
};
use unsnarl_trace::{EventKind, Run};

/// Passing runs.
const PASSING: u64 = 100;

/// Prints the tables and writes them into the docs.
pub fn run() -> Result<()> {
    let text = measure()?;
    println!("{text}");
    docs::replace(PAGE, "speed", &text)
}

fn measure() -> Result<String> {
    let mut one_and_two = PrintedTable::new(&[
        "distinct pairs",
        "events of a run",
        "collect a run",
        "beside a scan of its events",
        "100 runs in",
        "beside a scan of their pairs",
        "one more run",
        "I",
        "II",
        "reports",
    ]);
    for sites in [312, 442, 625] {
        eprintln!("procedures I and II, {} pairs", 2 * sites * sites);
        one_and_two.row(procedures_one_and_two(sites)?);
    }
    let mut three = PrintedTable::new(&[
        "pairs in the failing run",
        "events of a run",
        "candidate pairs of pairs",
        "III-pc",
        "III-tid",
        "III-loop",
        "III-loop beside a scan of the groups",
        "reports",
    ]);
    for sites in [60, 120, 240] {
        eprintln!("procedure III, {sites} sites a thread");
        three.row(procedure_three_at(sites)?);
    }
    Ok(format!(
        "{one_and_two}\n{three}\nSynthetic runs of two threads, 100 passing and one failing. *Beside a scan*: \
         as many times the time that adding up the same columns takes."
    ))
}

/// A run of accesses: thread, site, location, writes or reads.
fn run_of(accesses: impl Iterator<Item = (u16, u32, u32, bool)>) -> Run {
    let rows = accesses.map(|(thread, site, location, writes)| {
        let kind = match writes {
            true => EventKind::Write,
            false => EventKind::Read,
        };
        event(thread, kind, location, site)
    });
    from_rows(rows.collect(), |_| String::new())
}

/// A run in which one thread writes and the other reads, so that each two of their sites make two pairs.
fn meeting(sites: u32) -> Run {
    run_of((0..sites * sites).flat_map(|step| {
        let (write, read) = (step / sites, step % sites);
        [(1, 1 + write, 1, true), (2, 1 + sites + read, 1, false)]
    }))
}

fn procedures_one_and_two(sites: u32) -> Result<Vec<String>> {
    let run = meeting(sites);
    let (sum, scanned) = timed(|| scan(&run))?;
    let (base, collected) = timed(|| RunPairs::with_accesses(&run, &Accesses::new(&run)))?;
    ensure!(sum > 0 && base.pairs.len() + 1 == (2 * sites * sites) as usize);
    let mut random = SplitMix(1);
    let mut counts = PairCounts::default();
    let (mut inserting, mut scanning, mut last) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for number in 0..PASSING {
        let passing = without_some(&base, &mut random);
        let (sum, scan) = timed(|| scan_pairs(&passing))?;
        ensure!(sum > 0);
        scanning += scan;
        last = timed(|| counts.insert(&format!("passed-{number}"), &passing))?.1;
        inserting += last;
    }
    let failing = without_some(&base, &mut random);
    let (one, first) = timed(|| procedure_one(&run, &failing, &counts))?;
    let (two, second) = timed(|| procedure_two(&failing, &counts))?;
    Ok(vec![
        counts.pairs().count().to_string(),
        run.events.len().to_string(),
        format!(
            "{} ({:.1} M events/s)",
            seconds(collected),
            rate(run.events.len(), collected)
        ),
        ratio(collected, scanned),
        seconds(inserting),
        ratio(inserting, scanning),
        seconds(last),
        seconds(first),
        seconds(second),
        format!("{} + {}", one.len(), two.len()),
    ])
}

/// The run's pairs, some left out.
fn without_some(base: &RunPairs, random: &mut SplitMix) -> RunPairs {
    let pairs = base.pairs.iter().copied();
    RunPairs {
        pairs: pairs.filter(|_| random.below(50) > 0).collect(),
        accesses: base.accesses.clone(),
        locations: base.locations.clone(),
        ..RunPairs::default()
    }
}

fn scan_pairs(run: &RunPairs) -> u64 {
    let sum = |pair: &unsnarl_core::pairs::SeenPair| {
        pair.key
            .head
            .0
            .wrapping_add(pair.key.tail.0)
            .wrapping_add(u64::from(pair.times))
    };
    run.pairs.iter().map(sum).fold(0, u64::wrapping_add)
}

/// A run in which two threads go over their sites in loops, in turns of a few steps; sites share some variables.
fn looping(sites: u32, seed: u64) -> Run {
    const VARIABLES: u32 = 12;
    const ROUNDS: u32 = 300;
    let mut random = SplitMix(seed);
    let (mut first, mut second, mut is_first) = (0, 0, true);
    let steps = (0..2 * sites * ROUNDS).map(move |_| {
        is_first ^= random.below(3) == 0;
        let (thread, next) = match is_first {
            true => (0, &mut first),
            false => (1, &mut second),
        };
        let at = *next % sites;
        *next += 1;
        let site = 1 + thread * sites + at;
        let writes = at / VARIABLES % 2 == thread;
        (1 + thread as u16, site, 1 + at % VARIABLES, writes)
    });
    run_of(steps)
}

fn procedure_three_at(sites: u32) -> Result<Vec<String>> {
    let run = looping(sites, 1);
    let failing = RunPairs::collect(&run);
    let mut counts = PairCounts::default();
    let mut passing = Vec::new();
    for number in 0..PASSING {
        let pairs = RunPairs::collect(&looping(sites, 2 + number));
        counts.insert(&format!("passed-{number}"), &pairs);
        passing.push(pairs);
    }
    let passing: Vec<&RunPairs> = passing.iter().collect();
    let (sum, scanned) = timed(|| {
        passing
            .iter()
            .map(|run| scan_groups(run))
            .fold(0, u64::wrapping_add)
    })?;
    ensure!(sum > 0);
    let budget = Budget::unlimited();
    let mut cells = Vec::new();
    let mut reports = 0;
    let mut time = Duration::ZERO;
    for precision in [Precision::Pc, Precision::Tid, Precision::Loop] {
        let search = || procedure_three(&run, &failing, &passing, &counts, precision, &budget);
        let (found, took) = timed(search)?;
        ensure!(found.stopped == StopReason::Complete);
        (time, reports) = (took, found.couples.len());
        cells.push(seconds(took));
    }
    let pairs = failing.pairs.len();
    let candidates = pairs * (pairs.checked_sub(1).context("no pairs")?) / 2;
    let head = [pairs, run.events.len(), candidates].map(|number| number.to_string());
    let tail = [ratio(time, scanned), reports.to_string()];
    Ok([head.to_vec(), cells, tail.to_vec()].concat())
}

fn scan_groups(run: &RunPairs) -> u64 {
    let groups = run.by_iterations.groups();
    let met = groups.flat_map(|group| group.forward.iter().chain(group.backward));
    met.map(|met| u64::from(met.pair) + u64::from(met.location))
        .fold(0, u64::wrapping_add)
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

fn rate(events: usize, time: Duration) -> f64 {
    events as f64 / time.as_secs_f64() / 1e6
}

fn ratio(time: Duration, scan: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() / scan.as_secs_f64().max(1e-9))
}
