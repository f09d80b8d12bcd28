//! Long runs: what recording costs and leaves as the number of accesses grows.

use crate::{
    docs,
    measure::{of_children, peak_of},
    table::PrintedTable,
};
use anyhow::{Context, Result, ensure};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};
use unsnarl_e2e::{TestedCompiler, Workspace, binary, program::compile_with, project};
use unsnarl_trace::{Run, read_run};

/// Times that the threads go over their arrays.
const ROUNDS: [u64; 4] = [40, 400, 4_100, 41_000];
/// Page with the table.
const PAGE: &str = "recording.md";
/// Time that a run may take.
const TIME: &str = "10m";

/// Measures runs of a growing length, and writes the table into the docs.
pub fn run() -> Result<()> {
    let workspace = Workspace::new()?;
    let text = fs::read_to_string(project().join("tests/bench/sweeps.c"))?;
    workspace.write("sweeps.c", &text)?;
    let source = Path::new("sweeps.c");
    compile_with(&workspace, source, "sweeps", TestedCompiler::Gcc, &["-O1"])?;
    let mut table = PrintedTable::new(&[
        "accesses",
        "processor s",
        "ns/access",
        "memory MB",
        "events in the file",
        "file MB",
        "the same again",
    ]);
    for rounds in ROUNDS {
        eprintln!("{rounds} rounds ...");
        table.row(measure(&workspace, rounds)?);
    }
    let said = format!(
        "{table}\n`tests/bench/sweeps.c`, gcc -O1, `record -n 1 --strategy sequential`. *Memory* is that of the recorder and of the program \
         together at their peaks; the log, which they share, counts twice."
    );
    println!("{said}");
    docs::replace(PAGE, "long", &said)
}

fn measure(workspace: &Workspace, rounds: u64) -> Result<Vec<String>> {
    let (out, rounds) = (format!("runs-{rounds}"), rounds.to_string());
    let words = [
        "record",
        "-n1",
        "--seed=1",
        "--strategy",
        "sequential",
        "--timeout",
        TIME,
    ];
    let program = ["--out", &out, "--", "./sweeps", &rounds];
    let before = of_children()?;
    let memory = peak_of_all(workspace, &[&words[..], &program].concat())?;
    let spent = of_children()?.saturating_sub(before).as_secs_f64();
    let names = workspace.runs_in(&out)?;
    let path = workspace
        .path()
        .join(&out)
        .join(names.first().context("no run")?);
    let run = read_run(&path)?;
    let again = workspace.unsnarl(&[
        "replay",
        "--trust",
        "--timeout",
        TIME,
        &path.to_string_lossy(),
    ])?;
    let accesses = accesses(&run) as f64;
    Ok(vec![
        format!("{:.1} million", accesses / 1e6),
        format!("{spent:.1}"),
        format!("{:.0}", spent * 1e9 / accesses),
        (memory / 1024).to_string(),
        run.events.len().to_string(),
        format!("{:.1}", fs::metadata(&path)?.len() as f64 / 1e6),
        if again.status == Some(0) { "yes" } else { "no" }.to_owned(),
    ])
}

/// Number of the accesses that the program made, those without an event included.
fn accesses(run: &Run) -> u64 {
    let rows = run.events.iter().map(|(_, event)| event.kind);
    let accesses = rows.filter(|kind| kind.reads() || kind.writes());
    accesses.count() as u64 + run.meta.left_out.map_or(0, |left_out| left_out.accesses)
}

/// Most kilobytes that the command and the processes that it starts have had, each for itself, together.
fn peak_of_all(workspace: &Workspace, words: &[&str]) -> Result<u64> {
    let mut command = Command::new(binary::unsnarl()?);
    command.args(words).current_dir(workspace.path());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut peaks = BTreeMap::new();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        for process in family(child.id()) {
            let peak = peak_of(process).unwrap_or(0);
            let most = peaks.entry(process).or_insert(0);
            *most = peak.max(*most);
        }
        sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "the recording failed: {status}");
    Ok(peaks.values().sum())
}

/// A process and those that come of it.
fn family(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let mut at = 0;
    while let Some(parent) = all.get(at).copied() {
        at += 1;
        let tasks = fs::read_dir(format!("/proc/{parent}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks {
            let listed = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(
                listed
                    .split_whitespace()
                    .filter_map(|word| word.parse::<u32>().ok()),
            );
        }
    }
    all
}
