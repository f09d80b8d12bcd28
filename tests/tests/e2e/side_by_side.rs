//! Runs that are made side by side are those that are made one after the other.

use super::modes::Modes;
use anyhow::{Context, Result, ensure};
use std::{collections::BTreeMap, fs, path::Path};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// Results of a campaign: its run files, and its output without the rate and the notes on how the runs were made.
#[derive(PartialEq)]
struct CampaignResult {
    files: BTreeMap<String, Vec<u8>>,
    said: Vec<String>,
    status: Option<i32>,
}

fn record(
    workspace: &Workspace,
    jobs: &str,
    options: &[&str],
    command: &[&str],
) -> Result<CampaignResult> {
    let start = ["record", "--seed", "5", "-j", jobs];
    let words = [&start[..], options, &["--"], command].concat();
    let finished = workspace.unsnarl(&words)?;
    let folder = workspace.path().join(".unsnarl/runs");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("{finished}"))? {
        let entry = entry?;
        // The models of a build lie in a folder among the runs.
        if !entry.file_type()?.is_dir() {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(name, fs::read(entry.path())?);
        }
    }
    fs::remove_dir_all(&folder)?;
    let lines = finished.stderr.lines().chain(finished.stdout.lines());
    let ways = [
        "run was made at a time",
        "was made by itself",
        "were made by themselves",
    ];
    let lines = lines.filter(|line| !ways.iter().any(|way| line.contains(way)));
    Ok(CampaignResult {
        files,
        said: lines.map(without_rate).collect(),
        status: finished.status,
    })
}

/// `100 runs: 93 passed, 7 failed; 12 different, 812 runs/s, seed 5`
fn without_rate(line: &str) -> String {
    let words = line.split(", ").filter(|words| !words.ends_with(" runs/s"));
    words.collect::<Vec<_>>().join(", ")
}

/// One, two and four runs at a time leave the same.
fn compare(workspace: &Workspace, options: &[&str], command: &[&str]) -> Result<()> {
    let one = record(workspace, "1", options, command)?;
    ensure!(!one.files.is_empty(), "{command:?}: nothing was recorded");
    for jobs in ["2", "4"] {
        let more = record(workspace, jobs, options, command)?;
        let names = |left: &CampaignResult| left.files.keys().cloned().collect::<Vec<_>>();
        let what = format!("{command:?} {options:?} -j {jobs}");
        ensure!(
            (&one.said, one.status) == (&more.said, more.status),
            "{what}: {:#?}\nand\n{:#?}",
            one.said,
            more.said
        );
        ensure!(
            names(&one) == names(&more),
            "{what}: {:?}\nand\n{:?}",
            names(&one),
            names(&more)
        );
        ensure!(one == more, "{what}: same names, other bytes");
    }
    Ok(())
}

/// Locks, atomics, heap, C++, deadlocks, hangs, failures that are frequent and that are rare.
const COMPARED: [&str; 8] = [
    "bank_account",
    "c11_atomics",
    "correct_cpp",
    "cpp_cache",
    "lock_order",
    "lost_stop",
    "lost_wakeup",
    "queue_pointer",
];

#[test]
fn the_same_seed_gives_the_same_files_however_many_are_made_at_a_time() -> Result<()> {
    for name in COMPARED {
        let workspace = Workspace::new()?;
        let command = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
        compare(&workspace, &["-n", "120"], &[&command])?;
    }
    Ok(())
}

#[test]
fn what_ends_a_campaign_does_so_at_the_same_run() -> Result<()> {
    for name in [
        "bank_account",
        "correct_queue",
        "lock_order",
        "queue_pointer",
    ] {
        let workspace = Workspace::new()?;
        let command = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
        for options in [
            &["-n", "300", "--until-failing", "2", "--coverage"][..],
            &["-n", "300", "--until-failing", "1", "--minimize"],
            &["-n", "80", "--keep-passing", "3", "--max-disk", "60000"],
            &["-n", "30", "--strategy", "pct:4", "--no-filter"],
            &["-n", "40", "--strategy", "exhaustive:1"],
        ] {
            compare(&workspace, options, &[&command])?;
        }
    }
    Ok(())
}

/// The effects of a run outside its own process are found by the next run, and no other run sees them meanwhile.
#[test]
fn runs_that_others_could_notice_are_made_by_themselves() -> Result<()> {
    let program = Modes::compile("shares.c", TestedCompiler::Gcc, &[])?;
    let workspace = &program.workspace;
    for (mode, why) in [
        ("file", "the program opens count.txt for writing"),
        ("port", "the program takes port 45817"),
        ("child", "the program starts other processes"),
        ("fork", "the program starts other processes"),
        (
            "memory",
            "the program opens /dev/shm/unsnarl-shares for writing",
        ),
        ("lock", "the program locks files"),
        ("remove", "the program changes names or properties of files"),
        ("connect", "the program connects to port 45817"),
        ("signal", "the program sends a signal to another process"),
    ] {
        let words = ["record", "-n", "20", "-j", "4", "--", "./prog", mode];
        let said = workspace.unsnarl(&words)?;
        let note = format!("only one run was made at a time: {why}");
        said.says(&[&note]).with_context(|| mode.to_owned())?;
    }
    for mode in ["plain", "null", "any-port"] {
        let words = ["record", "-n", "20", "-j", "4", "--", "./prog", mode];
        let said = workspace.unsnarl(&words)?;
        ensure!(!format!("{said}").contains("at a time"), "{mode}: {said}");
    }
    Ok(())
}

#[test]
fn what_runs_find_of_those_before_does_not_depend_on_how_many_are_made_at_a_time() -> Result<()> {
    let program = Modes::compile("shares.c", TestedCompiler::Gcc, &[])?;
    let workspace = &program.workspace;
    let count = || fs::read_to_string(workspace.path().join("count.txt"));
    for mode in ["file", "file-seldom"] {
        let mut left = Vec::new();
        for jobs in ["1", "2", "4"] {
            for file in ["count.txt", ".unsnarl"] {
                remove(&workspace.path().join(file))?;
            }
            left.push((
                record(workspace, jobs, &["-n", "60"], &["./prog", mode])?,
                count()?,
            ));
        }
        let first = left.first().context("no campaign")?;
        ensure!(
            left.iter().all(|one| one == first),
            "{mode}: {:?}",
            count()?
        );
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    } else if path.exists() {
        fs::remove_file(path)?;
    }
    Ok(())
}
