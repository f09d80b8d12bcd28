//! The language server from an editor's point of view: time from a run landing to its marks, hovers, opening a
//! workspace with 1,000 runs for the first time and again, and the memory of these. Written into
//! `docs/editor-speed.md`.

use crate::{docs, editor_client::EditorClient, table::PrintedTable};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// Programs under `tests/programs` that are measured when none is named: one lock, many different runs, and C++. One
/// failing run of each is explained without others.
const PROGRAMS: [&str; 3] = ["bank_account", "table_loader", "cpp_cache"];
/// Runs of the large workspace.
const MANY: usize = 1000;
/// Number of schedules that are tried for it. Of their runs those that differ are kept; copies fill it up.
const TRIED: &str = "3000";
/// Landings that are timed.
const LANDINGS: usize = 20;
/// Hovers that are timed.
const HOVERS: usize = 1000;

/// Measures these programs.
pub fn run(names: &[String]) -> Result<()> {
    let names: Vec<&str> = match names {
        [] => PROGRAMS.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut table = PrintedTable::new(&[
        "program",
        "events per run",
        "different runs",
        "run lands, marks: median (worst) ms",
        "the same with 1,000 runs, ms",
        "opened first: marks, all done, s",
        "opened again: marks, all done, s",
        "hover p50 / p99 / worst, ms",
        "memory now (most), MB",
        "estimated, MB",
    ]);
    for name in &names {
        eprintln!("{name} ...");
        table.row(measure(name).with_context(|| (*name).to_owned())?);
    }
    let text = format!("{table}\n{}", explained());
    println!("{text}");
    if names == PROGRAMS {
        docs::replace("editor-speed.md", "editor", &text)?;
    }
    Ok(())
}

fn explained() -> String {
    let build = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    format!(
        "A {build} build. Landings: {LANDINGS}, of a failing run into an empty folder. A workspace of {MANY} runs is filled up\n\
         with copies of its different runs. *Opened*: from the start of the process to the first marks, and until nothing is\n\
         left to do. Hovers: {HOVERS}, over all lines of the source in turn. *Estimated* is what `unsnarl/status` says of the\n\
         runs' memory, from the sizes of their files: what the setting `unsnarl.memory` is held against.\n"
    )
}

fn measure(name: &str) -> Result<Vec<String>> {
    let program = TestProgram::open(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    let events = record(&workspace, &program, &command)?;
    let different = workspace.runs()?.len();
    let failing = workspace.runs_that("failed")?.into_iter().next();
    let failing = fs::read(
        workspace
            .path()
            .join(workspace.run_path(&failing.context("no run failed")?)),
    )?;
    let landings = landings(&workspace, &failing)?;
    fill(&workspace, MANY)?;

    let first = open(&workspace)?;
    first.client.end()?;
    let mut again = open(&workspace)?;
    let hovers = hovers(&mut again.client, &program.source)?;
    let landed = land_among_many(&mut again.client, &workspace, &failing)?;
    let status = again.client.status(|status| status["quiescent"] == true)?;
    let (now, most) = again.client.memory()?;
    again.client.end()?;
    let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
    Ok(vec![
        name.to_owned(),
        events.to_string(),
        different.to_string(),
        format!("{} ({})", ms(at(&landings, 50)), ms(at(&landings, 100))),
        ms(landed),
        format!("{}, {}", seconds(first.marks), seconds(first.done)),
        format!("{}, {}", seconds(again.marks), seconds(again.done)),
        [50, 99, 100]
            .map(|share| ms(at(&hovers, share)))
            .join(" / "),
        format!("{} ({})", now >> 20, most >> 20),
        status
            .pointer("/memory/runs")
            .map_or_else(String::new, ToString::to_string),
    ])
}

/// Records, and returns the number of events of a typical run.
fn record(workspace: &Workspace, program: &TestProgram, command: &str) -> Result<usize> {
    let options = [&["-n", TRIED][..], &program.recording()].concat();
    workspace.record(&options, command)?.exits(1)?;
    let runs = workspace.runs()?;
    let middle = runs.get(runs.len() / 2).context("no runs")?;
    let run = unsnarl_trace::read_run(&workspace.path().join(workspace.run_path(middle)))?;
    Ok(run.events.len())
}

/// Times from a run landing in an empty folder to its marks.
fn landings(workspace: &Workspace, run: &[u8]) -> Result<Vec<Duration>> {
    let runs = workspace.path().join(unsnarl_e2e::workspace::RUNS);
    let aside = workspace.path().join("aside");
    fs::rename(&runs, &aside)?;
    fs::create_dir(&runs)?;
    let mut client = EditorClient::start(workspace.path())?;
    client.status(|status| status["quiescent"] == true)?;
    let mut times = Vec::new();
    for _ in 0..LANDINGS {
        let since = land(&runs, run)?;
        times.push(client.marks(true)?.saturating_duration_since(since));
        client.status(|status| status["quiescent"] == true)?;
        fs::remove_file(runs.join("failed-bench.arrow"))?;
        client.marks(false)?;
        client.status(|status| status["quiescent"] == true && status["runs"] == 0)?;
    }
    client.end()?;
    fs::remove_dir_all(&runs)?;
    fs::rename(&aside, &runs)?;
    times.sort_unstable();
    Ok(times)
}

/// Adds a run as the recorder does; returns the time at which it was there.
fn land(runs: &Path, run: &[u8]) -> Result<Instant> {
    fs::write(runs.join(".bench"), run)?;
    let since = Instant::now();
    fs::rename(runs.join(".bench"), runs.join("failed-bench.arrow"))?;
    Ok(since)
}

/// Copies runs under other names until there are `number` of them.
fn fill(workspace: &Workspace, number: usize) -> Result<()> {
    let runs = workspace.runs()?;
    ensure!(!runs.is_empty(), "no runs");
    for (at, name) in runs
        .iter()
        .cycle()
        .take(number.saturating_sub(runs.len()))
        .enumerate()
    {
        let folder = workspace.path().join(unsnarl_e2e::workspace::RUNS);
        let (outcome, rest) = name.split_once('-').context("a run without a name")?;
        fs::copy(
            folder.join(name),
            folder.join(format!("{outcome}-copy{at}-{rest}")),
        )?;
    }
    Ok(())
}

/// An opened workspace, with the time that it took.
struct Opened {
    client: EditorClient,
    marks: Duration,
    done: Duration,
}

fn open(workspace: &Workspace) -> Result<Opened> {
    let mut client = EditorClient::start(workspace.path())?;
    let marks = client
        .marks(true)?
        .saturating_duration_since(client.started);
    client.status(|status| status["quiescent"] == true)?;
    let done = client.started.elapsed();
    Ok(Opened {
        client,
        marks,
        done,
    })
}

/// Times of hovers over the lines of the source.
fn hovers(client: &mut EditorClient, source: &Path) -> Result<Vec<Duration>> {
    let text = fs::read_to_string(source)?;
    let uri = format!("file://{}", source.display());
    let mut times = Vec::new();
    for (line, _) in text.lines().enumerate().cycle().take(HOVERS) {
        let position = json!({ "line": line, "character": 4 });
        let since = Instant::now();
        client.ask(
            "textDocument/hover",
            json!({ "textDocument": { "uri": uri }, "position": position }),
        )?;
        times.push(since.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

/// Time until one more run is among those that were examined.
fn land_among_many(
    client: &mut EditorClient,
    workspace: &Workspace,
    run: &[u8],
) -> Result<Duration> {
    let runs = workspace.path().join(unsnarl_e2e::workspace::RUNS);
    let since = land(&runs, run)?;
    client.status(|status| status["runs"] == MANY + 1)?;
    Ok(since.elapsed())
}

/// The given percentile of sorted times.
fn at(sorted: &[Duration], share: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * share / 100).copied().unwrap_or_default()
}

fn ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}
