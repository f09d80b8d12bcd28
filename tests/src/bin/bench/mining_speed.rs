//! Costs of mining: whole answers on long traces, growth, and closed patterns beside other miners.

use crate::{
    measure::{best, forget_peak, on_cpu, peak},
    mining_inputs::{Alike, Interrupted, Labelled, Shape, inputs},
    table::PrintedTable,
};
use anyhow::{Result, ensure};
use std::{hint::black_box, time::Duration};
use unsnarl_core::{
    Budget, StopReason,
    mining::{
        MiningOptions,
        closed::{Everything, PatternLimits, SequencesToMine},
        mine,
    },
};

/// Number of measurements of which each figure is the best.
const REPEATS: usize = 3;
/// Time for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Measures everything.
pub fn run() -> Result<()> {
    answers()?;
    growth()?;
    closed()
}

const BLOCKS: Interrupted = Interrupted::BetweenSections;

fn answers() -> Result<()> {
    let shape = |failing, passing, length, switches, interrupted| Shape {
        failing,
        passing,
        length,
        sections: 12,
        events: 40,
        switches,
        interrupted,
    };
    let cases = [
        (
            "20 + 20 of 13,000, cut between sections",
            shape(20, 20, 13_000, 8, BLOCKS),
        ),
        (
            "20 + 20 of 13,000, cut anywhere",
            shape(20, 20, 13_000, 8, Interrupted::Anywhere),
        ),
        (
            "20 + 20 of 13,000, cut anywhere, often",
            shape(20, 20, 13_000, 60, Interrupted::Anywhere),
        ),
        (
            "775 + 45 of 7,000, cut between sections",
            shape(775, 45, 7_000, 8, BLOCKS),
        ),
        (
            "775 + 45 of 7,000, cut anywhere",
            shape(775, 45, 7_000, 8, Interrupted::Anywhere),
        ),
    ];
    let mut table = head();
    for (name, shape) in cases {
        eprintln!("{name} ...");
        table.row(measure(name, &shape)?);
    }
    println!("## Mining: whole answers\n\n{table}");
    Ok(())
}

fn growth() -> Result<()> {
    let mut table = head();
    for interrupted in [BLOCKS, Interrupted::Anywhere] {
        for length in [5_000, 20_000, 80_000] {
            let shape = Shape {
                failing: 20,
                passing: 20,
                length,
                sections: 12,
                events: 40,
                switches: 8,
                interrupted,
            };
            let place = match interrupted {
                BLOCKS => "between sections",
                Interrupted::Anywhere => "anywhere",
            };
            table.row(measure(
                &format!("20 + 20 of {length}, cut {place}"),
                &shape,
            )?);
        }
    }
    println!("## Mining: growth with the length of traces\n\n{table}");
    Ok(())
}

fn head() -> PrintedTable {
    PrintedTable::new(&[
        "traces",
        "s",
        "million events/s",
        "times a plain scan",
        "peak memory added, MB",
        "macros per trace",
        "abstract patterns",
        "groups",
        "best: failing, passing",
        "stopped",
    ])
}

fn measure(name: &str, shape: &Shape) -> Result<Vec<String>> {
    let traces = shape.traces();
    let events: usize = traces.iter().map(|(trace, _)| trace.events.len()).sum();
    let plain = best(REPEATS, || {
        black_box(scan(&traces));
    })?
    .as_secs_f64();
    let inputs = inputs(&traces);
    let before = forget_peak()?;
    let begin = on_cpu()?;
    let (mined, stopped) = mine(
        &inputs,
        &MiningOptions::default(),
        &Budget::lasting(PATIENCE),
    );
    let mut seconds = (on_cpu()? - begin).as_secs_f64();
    let memory = peak()?.saturating_sub(before);
    if stopped == StopReason::Complete {
        let again = || {
            drop(black_box(mine(
                &inputs,
                &MiningOptions::default(),
                &Budget::unlimited(),
            )));
        };
        seconds = seconds.min(best(REPEATS - 1, again)?.as_secs_f64());
    }
    let first = mined.groups.first();
    Ok(vec![
        name.to_owned(),
        format!("{seconds:.2}"),
        format!("{:.1}", events as f64 / 1e6 / seconds),
        format!("{:.0}", seconds / plain),
        format!("{:.0}", memory as f64 / 1024.0),
        format!("{:.0}", mined.average_abstract_length()),
        mined.figures.abstract_patterns.to_string(),
        mined.groups.len().to_string(),
        first.map_or("-".to_owned(), |group| {
            format!("{}, {}", group.failing, group.passing)
        }),
        match stopped {
            StopReason::Complete => "complete".to_owned(),
            _ => mined.notes.join("; "),
        },
    ])
}

/// Cost of reading all events once.
fn scan(traces: &[Labelled]) -> u64 {
    let events = traces.iter().flat_map(|(trace, _)| {
        let kinds = &trace.kinds;
        let location = |event: &u32| kinds.get(*event as usize).map_or(0, |kind| kind.location);
        trace.events.iter().map(location)
    });
    events.fold(0, u64::wrapping_add)
}

/// A measurement of other miners on a similar input.
struct OtherMiner {
    name: &'static str,
    alike: Alike,
    percent: u32,
    patterns: &'static str,
    /// Seconds of BIDE+ and of CM-ClaSP.
    seconds: (f64, f64),
}

/// Closed patterns of any length, beside the times of other miners for similar inputs.
pub fn closed() -> Result<()> {
    let alike = |count, template, items, dropped, exchanged| Alike {
        count,
        template,
        items,
        dropped,
        exchanged,
    };
    let others = [
        OtherMiner {
            name: "200 x 33, 50 %",
            alike: alike(200, 48, 48, 31, 10),
            percent: 50,
            patterns: "3,574",
            seconds: (1.8, 1.3),
        },
        OtherMiner {
            name: "200 x 33, 30 %",
            alike: alike(200, 49, 49, 32, 10),
            percent: 30,
            patterns: "55,433",
            seconds: (7.1, 5.7),
        },
        OtherMiner {
            name: "775 x 57, 50 %",
            alike: alike(775, 80, 80, 29, 10),
            percent: 50,
            patterns: "49,949",
            seconds: (51.6, 12.0),
        },
        OtherMiner {
            name: "610 x 75, 50 %",
            alike: alike(610, 114, 114, 34, 10),
            percent: 50,
            patterns: "24,550",
            seconds: (21.4, 10.8),
        },
    ];
    let mut table = PrintedTable::new(&[
        "sequences x mean length, support",
        "closed patterns",
        "s",
        "thousand patterns/s",
        "peak memory added, MB",
        "the others' input: patterns, BIDE+ s, CM-ClaSP s",
        "times as fast per pattern: BIDE+, CM-ClaSP",
    ]);
    for other in others {
        eprintln!("{} ...", other.name);
        table.row(measure_closed(&other)?);
    }
    println!("## Closed patterns of any length\n\n{table}");
    closed_growth()
}

/// Growth with ever more sequences, which have about the same patterns.
fn closed_growth() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "sequences x mean length, support 50 %",
        "closed patterns",
        "s",
        "microseconds per thousand sequences and pattern",
        "peak memory added, MB",
    ]);
    for count in [800, 3_200, 12_800] {
        let alike = Alike {
            count,
            template: 48,
            items: 48,
            dropped: 31,
            exchanged: 10,
        };
        let sequences = alike.sequences();
        let cost = Cost::of(&sequences, alike.items, 50)?;
        let places = cost.patterns as f64 * count as f64 / 1e3;
        table.row(vec![
            format!("{count} x {:.0}", mean(&sequences)),
            cost.patterns.to_string(),
            format!("{:.2}", cost.seconds),
            format!("{:.2}", cost.seconds * 1e6 / places),
            format!("{:.1}", cost.memory),
        ]);
    }
    println!("## Closed patterns: growth with the number of sequences\n\n{table}");
    Ok(())
}

fn mean(sequences: &[Vec<u32>]) -> f64 {
    sequences.iter().map(Vec::len).sum::<usize>() as f64 / sequences.len() as f64
}

/// Cost of all closed patterns of some sequences.
struct Cost {
    patterns: u64,
    seconds: f64,
    /// Peak memory added, in MB.
    memory: f64,
}

impl Cost {
    fn of(sequences: &[Vec<u32>], kinds: usize, percent: u32) -> Result<Cost> {
        let limits = PatternLimits {
            least: (sequences.len() as u32 * percent).div_ceil(100),
            longest: None,
            effort: None,
        };
        let mut stopped = None;
        let mut count = || {
            let weighted = sequences.iter().map(|items| (items.clone(), 1));
            let data = SequencesToMine::new(kinds, weighted);
            let mut patterns = 0u64;
            let budget = Budget::lasting(PATIENCE);
            stopped = data.mine(&limits, &Everything, &budget, |_, _| {
                patterns += 1;
                true
            });
            patterns
        };
        let before = forget_peak()?;
        let patterns = count();
        let memory = peak()?.saturating_sub(before) as f64 / 1024.0;
        let seconds = best(REPEATS, || {
            black_box(count());
        })?
        .as_secs_f64();
        ensure!(stopped.is_none(), "gave up after {patterns} patterns");
        Ok(Cost {
            patterns,
            seconds,
            memory,
        })
    }
}

fn measure_closed(other: &OtherMiner) -> Result<Vec<String>> {
    let sequences = other.alike.sequences();
    let cost = Cost::of(&sequences, other.alike.items, other.percent)?;
    let rate = cost.patterns as f64 / cost.seconds;
    let theirs: f64 = other.patterns.replace(',', "").parse()?;
    let (bide, clasp) = other.seconds;
    Ok(vec![
        format!("{} (mean {:.0})", other.name, mean(&sequences)),
        cost.patterns.to_string(),
        format!("{:.3}", cost.seconds),
        format!("{:.0}", rate / 1e3),
        format!("{:.1}", cost.memory),
        format!("{}, {bide}, {clasp}", other.patterns),
        format!("{:.0}, {:.0}", rate * bide / theirs, rate * clasp / theirs),
    ])
}
