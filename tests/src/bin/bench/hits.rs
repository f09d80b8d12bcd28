//! Hits per 1,000 runs, by strategy, for every program of `tests/programs`; how fast its runs are, what
//! they take on disk, and whether they repeat.

use crate::table::PrintedTable;
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

/// The strategies, as `record --strategy` takes them.
const STRATEGIES: [&str; 9] = [
    "random",
    "random:20",
    "pct:1",
    "pct:2",
    "pct:3",
    "pct:4",
    "pct:5",
    "portfolio",
    "exhaustive:2",
];
/// Runs of a program with a strategy.
const RUNS: u64 = 1000;
/// Runs for measuring the rate.
const RATE_RUNS: u64 = 300;
/// Replays of a run.
const REPLAYS: &str = "100";

/// Measures the programs of these names, all when there are none.
pub fn run(names: &[String]) -> Result<()> {
    let all = TestProgram::names()?;
    let names = if names.is_empty() { &all } else { names };
    let programs: Vec<TestProgram> = names
        .iter()
        .map(|name| TestProgram::open(name))
        .collect::<Result<_>>()?;
    println!("{}", hits(&programs)?);
    println!(
        "Failing runs of {RUNS} with each strategy (gcc -O0), as many programs at a time as there are \
         processors; *n of m*: an exhaustive search within two preemptions that was over after m runs.\n"
    );
    println!("{}", rates(&programs)?);
    println!(
        "Portfolio, one program at a time; an event has a record of 32 bytes in the log, sometimes two. \
         The run that is replayed is a failing one where there is any."
    );
    Ok(())
}

/// One row for each program. Workers take the next program when they are done with one.
fn hits(programs: &[TestProgram]) -> Result<PrintedTable> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        while let Some((at, program)) = take(&next, programs) {
            let row = hits_of(program).with_context(|| program.name.clone())?;
            eprintln!("{}", row.join(" "));
            rows.lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .push((at, row));
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let mut rows = rows
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    rows.sort();
    let mut table = PrintedTable::new(&[&["program"], &STRATEGIES[..]].concat());
    rows.into_iter().for_each(|(_, row)| table.row(row));
    Ok(table)
}

fn take<'a>(next: &AtomicUsize, programs: &'a [TestProgram]) -> Option<(usize, &'a TestProgram)> {
    let at = next.fetch_add(1, Relaxed);
    Some((at, programs.get(at)?))
}

fn hits_of(program: &TestProgram) -> Result<Vec<String>> {
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    let mut row = vec![format!("`{}`", program.name)];
    for strategy in STRATEGIES {
        let tally = campaign(&workspace, program, &command, strategy, RUNS)?.0;
        row.push(match tally {
            (runs, failed) if runs == RUNS => failed.to_string(),
            (runs, failed) => format!("{failed} of {runs}"),
        });
    }
    Ok(row)
}

/// Records `runs` runs into a folder named like the strategy: runs made and runs that failed.
fn campaign(
    workspace: &Workspace,
    program: &TestProgram,
    command: &str,
    strategy: &str,
    runs: u64,
) -> Result<((u64, u64), Finished)> {
    let (runs, out) = (runs.to_string(), strategy.replace(':', "-"));
    let words = [
        &["record", "-n", &runs, "--strategy", strategy, "--seed", "1"][..],
        &["--keep-passing", "20", "--out", &out],
        &program.recording(),
        &["--", command],
    ]
    .concat();
    let finished = workspace.unsnarl(&words)?;
    ensure!(matches!(finished.status, Some(0 | 1)), "{finished}");
    let tally = tally(&finished).with_context(|| format!("no tally:\n{finished}"))?;
    Ok((tally, finished))
}

/// `30 runs: 25 passed, 4 failed, 1 deadlocked; ...` has 5 of 30 failing.
fn tally(finished: &Finished) -> Option<(u64, u64)> {
    let text = [&finished.stdout, &finished.stderr];
    text.iter()
        .flat_map(|text| text.lines())
        .find_map(tally_of_line)
}

fn tally_of_line(line: &str) -> Option<(u64, u64)> {
    let (runs, rest) = line
        .split_once(" runs: ")
        .or_else(|| line.split_once(" run: "))?;
    let outcomes = rest.split(';').next()?.split(", ");
    let failed = outcomes.filter_map(|outcome| {
        let (number, what) = outcome.split_once(' ')?;
        let fails = matches!(what, "failed" | "deadlocked" | "timed out");
        fails.then(|| number.parse::<u64>().ok())?
    });
    Some((runs.trim().replace(',', "").parse().ok()?, failed.sum()))
}

fn rates(programs: &[TestProgram]) -> Result<PrintedTable> {
    let mut table = PrintedTable::new(&[
        "program",
        "runs/s",
        "events in a run",
        "bytes/event, run file",
        "bytes, run file",
        "replay",
        "rank of the right explanation",
    ]);
    for program in programs {
        eprintln!("{}: rate, size, replay", program.name);
        table.row(rate_of(program).with_context(|| program.name.clone())?);
    }
    Ok(table)
}

fn rate_of(program: &TestProgram) -> Result<Vec<String>> {
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    let begin = Instant::now();
    let ((runs, _), _) = campaign(&workspace, program, &command, "portfolio", RATE_RUNS)?;
    let rate = runs as f64 / begin.elapsed().as_secs_f64();
    let names = workspace.runs_in("portfolio")?;
    let failing = names.iter().find(|name| !name.starts_with("passed-"));
    let name = failing.or(names.first()).context("no run was kept")?;
    let path = workspace.path().join("portfolio").join(name);
    let events = unsnarl_trace::read_run(&path)?.events.len();
    let bytes = fs::metadata(&path)?.len();
    let replay = workspace.unsnarl(&["replay", &path.to_string_lossy(), "-n", REPLAYS])?;
    Ok(vec![
        format!("`{}`", program.name),
        format!("{rate:.0}"),
        events.to_string(),
        format!("{:.1}", bytes as f64 / events.max(1) as f64),
        bytes.to_string(),
        match replay.status {
            Some(0) => "100/100".to_owned(),
            _ => replay.to_string(),
        },
        rank(&workspace, program)?,
    ])
}

/// Returns the rank of the first explanation that names the expected kind and lines.
fn rank(workspace: &Workspace, program: &TestProgram) -> Result<String> {
    let finished = workspace.unsnarl(&["explain", "portfolio", "--format", "json"])?;
    let explanations = finished.explanations()?;
    let rank = program.expectation.rank(&explanations, &program.source);
    Ok(match rank {
        Some(rank) => format!("{rank} of {}", explanations.len()),
        None => format!("none of {}", explanations.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_are_read() {
        let line =
            "1000 runs: 25 passed, 4 failed, 1 deadlocked, 2 timed out; 5 different, 2 runs/s";
        assert_eq!(tally_of_line(line), Some((1000, 7)));
        assert_eq!(tally_of_line("9 runs: 9 passed; 1 different"), Some((9, 0)));
        assert_eq!(tally_of_line("runs are in .unsnarl/runs"), None);
    }
}
