//! Table 4 and Figure 8 of LOCON repeated: its 16 bugs, with 100 passing runs and one failing run each.

use crate::{
    cases::{RecordedProgram, is_right, record},
    docs,
    pairs_plot::{Panel, plot},
    pairs_speed,
    table::PrintedTable,
};
use anyhow::{Context, Result};
use std::time::Instant;
use unsnarl_core::{
    Budget, Corpus, RunSummary,
    explanation::Place,
    facts::place,
    orders::Accesses,
    pairs::{
        AccessKey, Couple, Procedure, Reported, Reports,
        falcon::{Falcon, FalconPattern, WINDOW, patterns},
        localize,
    },
};
use unsnarl_trace::{EventId, Run};

/// Passing runs of each bug.
const PASSING: usize = 100;
/// The page with the tables.
pub const PAGE: &str = "engines/pairs.md";
/// The plot beside it.
const PLOT: &str = "engines/pairs-sensitivity.svg";

/// A bug of Table 3: its name there, its kind, the program.
type PairCase<'a> = (&'a str, &'a str, &'a str);

const CASES: [PairCase<'static>; 16] = [
    ("s_counter", "SAV", "lost_counter"),
    ("b_account", "SAV", "bank_account"),
    ("c_list", "MAV", "circular_list"),
    ("s_buffer", "SAV", "string_buffer"),
    ("l_proc_sweep", "SAV", "proc_sweep"),
    ("MySQL-1_e", "MAV", "table_and_log"),
    ("MySQL-2_e", "MAV", "binlog_header"),
    ("Pbzip2", "OV", "queue_pointer"),
    ("Transmission", "OV", "use_before_init"),
    ("FFT", "OV", "fft_timing"),
    ("Aget", "MAV", "resume_file"),
    ("Apache-1", "SAV", "cache_refcount"),
    ("Apache-2", "SAV", "log_buffer"),
    ("Apache-3", "MAV", "idle_workers"),
    ("MySQL-3", "SAV", "log_rotation"),
    ("MySQL-4", "SAV", "proc_info"),
];

/// The bugs of these names, of the paper or of any programs; all of the paper's when there are none.
fn cases(names: &[String]) -> Vec<(String, PairCase<'_>)> {
    let known = |name: &str| {
        let mut numbered = (1..).zip(CASES);
        numbered.find(|(_, case)| case.0 == name || case.2 == name)
    };
    let named = names.iter().map(|name| match known(name) {
        Some((number, case)) => (format!("{number} {}", case.0), case),
        None => ("other".to_owned(), ("other", "", name.as_str())),
    });
    match names {
        [] => (1..)
            .zip(CASES)
            .map(|(number, case)| (format!("{number} {}", case.0), case))
            .collect(),
        _ => named.collect(),
    }
}

/// Localizes the bugs of these names (of the paper, or of programs), the paper's 16 when there are none;
/// then the docs are written, too, and so is the speed.
pub fn run(names: &[String]) -> Result<()> {
    bugs(names)?;
    match names {
        [] => pairs_speed::run(),
        _ => Ok(()),
    }
}

/// The table and the plot.
pub fn bugs(names: &[String]) -> Result<()> {
    let mut table = PrintedTable::new(&[
        "bug",
        "program",
        "kind",
        "events",
        "pairs",
        "I",
        "II",
        "III-pc",
        "III-tid",
        "III-loop",
        "time",
        "Falcon: patterns",
        "rank",
        "first",
        "Falcon: time",
    ]);
    let (mut panels, mut localized, mut first) = (Vec::new(), 0, 0);
    let cases = cases(names);
    for (name, case) in &cases {
        eprintln!("{}: {}", case.0, case.2);
        let recorded = record(case.2, PASSING, 1).with_context(|| case.2.to_owned())?;
        let result = localized_by(&recorded);
        localized += usize::from(result.rank.is_some());
        first += usize::from(result.rank == Some(1));
        panels.push(sensitivity(name, &recorded, result.procedure));
        let cells = [name.clone(), format!("`{}`", case.2), case.1.to_owned()];
        table.row([cells.to_vec(), result.cells, falcon(&recorded)].concat());
    }
    let text = format!(
        "{table}\n{localized} of {} are localized, {first} of them by the first report of the procedure. \
         100 passing runs and one failing run each, random schedules, gcc -O0. A report is the buggy one when all its lines are the bug's and one is a cause, for Falcon likewise. *I* to *III-loop*: number \
         of reports, and behind the stroke the rank of the buggy one where it is among them; the procedures \
         behind it are not asked. Time: taking in the runs' pairs, then the procedures. Falcon: patterns in the \
         failing run, rank of a buggy one by score (N: none), number of patterns with the highest score, \
         with a window of {WINDOW}.",
        cases.len()
    );
    println!("{text}\n");
    if names.is_empty() {
        docs::replace(PAGE, "table 4", &text)?;
        docs::write(PLOT, &plot(&panels, PASSING))?;
    }
    Ok(())
}

/// The localization of a bug.
struct Localized {
    procedure: Procedure,
    rank: Option<usize>,
    cells: Vec<String>,
}

fn localized_by(recorded: &RecordedProgram) -> Localized {
    let corpus = recorded.corpus(PASSING, 1);
    let begin = Instant::now();
    let mut counts = unsnarl_core::pairs::PairCounts::default();
    for run in corpus.passing() {
        counts.insert(&run.name, &run.pairs);
    }
    let mut result = Localized {
        procedure: Procedure::One,
        rank: None,
        cells: Vec::new(),
    };
    let Some(failing) = corpus.failing().next() else {
        return result;
    };
    let mut reports = Vec::new();
    for procedure in Procedure::ORDER {
        let found = localize(&corpus, failing, procedure, &Budget::unlimited());
        let rank = rank(recorded, &corpus, failing, procedure, &found);
        reports.push(match rank {
            Some(rank) => format!("{}/**{rank}**", found.reported.len()),
            None => found.reported.len().to_string(),
        });
        result.procedure = procedure;
        result.rank = rank;
        if rank.is_some() {
            break;
        }
    }
    let time = begin.elapsed();
    reports.resize(Procedure::ORDER.len(), "-".to_owned());
    let pairs = failing.pairs.pairs.len().to_string();
    result.cells = [
        vec![failing.events.to_string(), pairs],
        reports,
        vec![format!("{:.1} ms", time.as_secs_f64() * 1000.0)],
    ]
    .concat();
    result
}

/// Place of the first report that names the bug, from 1.
fn rank(
    recorded: &RecordedProgram,
    corpus: &Corpus,
    failing: &RunSummary,
    procedure: Procedure,
    reports: &Reports,
) -> Option<usize> {
    let program = &recorded.program;
    let right = |reported: &Reported| {
        let places = places(corpus, failing, reported).unwrap_or_default();
        let lines: Vec<u32> = places.iter().map(|place| place.line).collect();
        let places: Vec<&Place> = places.iter().collect();
        let right = is_right(&program.expectation, &program.source, &places);
        eprintln!(
            "  {} {lines:?}{}",
            procedure.name(),
            if right { " right" } else { "" }
        );
        right
    };
    Some(reports.reported.iter().position(right)? + 1)
}

/// Places of the heads and tails of a report.
fn places(corpus: &Corpus, failing: &RunSummary, reported: &Reported) -> Option<Vec<Place>> {
    let run = failing.run.as_deref()?;
    let of_row = |row: EventId| Some(place(run, run.events.get(row)?.site));
    let of_key = |key: AccessKey| Some(corpus.counts().site(key)?.place.clone());
    let rows = match reported {
        Reported::Seen(pair) => vec![pair.head, pair.tail],
        Reported::Couple(Couple { first, second }) => {
            vec![first.head, first.tail, second.head, second.tail]
        }
        Reported::Missing(pair) => {
            let reversed = pair.reversed();
            return [reversed.head, reversed.tail]
                .into_iter()
                .map(of_key)
                .collect();
        }
    };
    rows.into_iter().map(of_row).collect()
}

/// Reports of the localizing procedure with fewer passing runs.
fn sensitivity(name: &str, recorded: &RecordedProgram, procedure: Procedure) -> Panel {
    let mut corpus = recorded.corpus(0, 1);
    let failing = corpus.failing().next().cloned();
    let mut counts = Vec::new();
    for (name, run) in &recorded.passing {
        corpus.insert(RunSummary::new(name.clone(), run.clone()));
        let failing = failing.iter();
        let reports = failing.map(|run| localize(&corpus, run, procedure, &Budget::unlimited()));
        counts.push(reports.map(|reports| reports.reported.len()).sum());
    }
    Panel {
        title: format!("{name} ({})", procedure.name()),
        counts,
    }
}

/// Falcon's cells: patterns, rank, number of the most suspicious ones, time.
fn falcon(recorded: &RecordedProgram) -> Vec<String> {
    let begin = Instant::now();
    let mut falcon = Falcon::default();
    for (_, run) in &recorded.passing {
        falcon.insert(&patterns(run, &Accesses::new(run), WINDOW), false);
    }
    let Some((_, failing)) = recorded.failing.first() else {
        return Vec::new();
    };
    let found = patterns(failing, &Accesses::new(failing), WINDOW);
    falcon.insert(&found, true);
    let ranked = falcon.ranked();
    let time = begin.elapsed();
    let best = ranked.first().map_or(0.0, |first| falcon.score(first));
    let most = ranked
        .iter()
        .filter(|one| falcon.score(one) >= best)
        .count();
    let program = &recorded.program;
    let right = ranked.iter().find(|one| {
        let places = places_of(failing, &one.pattern);
        is_right(
            &program.expectation,
            &program.source,
            &places.iter().collect::<Vec<_>>(),
        )
    });
    let rank = right.map_or("N".to_owned(), |right| {
        let better = ranked
            .iter()
            .filter(|one| falcon.score(one) > falcon.score(right));
        (better.count() + 1).to_string()
    });
    vec![
        found.len().to_string(),
        rank,
        most.to_string(),
        format!("{:.1} ms", time.as_secs_f64() * 1000.0),
    ]
}

fn places_of(run: &Run, pattern: &FalconPattern) -> Vec<Place> {
    let keys = [Some(pattern.first), Some(pattern.remote), pattern.second];
    let rows = run
        .events
        .iter()
        .filter(|(_, event)| event.kind.is_access());
    let known: std::collections::BTreeMap<AccessKey, Place> = rows
        .map(|(row, event)| {
            (
                unsnarl_core::pairs::access_key(run, row),
                place(run, event.site),
            )
        })
        .collect();
    let places = keys.iter().flatten().filter_map(|key| known.get(key));
    places.cloned().collect()
}
