//! A campaign of runs of one program, and repetitions of some of them.

use super::{declaration::RecordedProgram, sources::SourceTree};
use crate::paths::children;
use anyhow::{Context, Result};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use unsnarl_e2e::{Finished, binary, permit};
use unsnarl_recorder::{
    launch::{Company, Output, Starter},
    log::Limits,
    record::{Goal, Job, Recording, Summary, record, strategy::Strategy},
    target,
};
use unsnarl_trace::{Chances, Criteria};

/// Columns of a campaign.
pub const HEAD: [&str; 7] = [
    "runs",
    "runs/s",
    "events/run",
    "kept",
    "disk MB",
    "replayed",
    "failures",
];
/// Kept runs that are repeated.
const REPEATED: usize = 5;
/// The first seed, so that anybody can make the same runs.
const SEED: u64 = 1;

/// The result of a campaign.
pub struct CampaignResult {
    /// Counts and problems.
    pub summary: Summary,
    /// Time on the wall.
    pub wall: Duration,
    /// Processor time of the recorder and of the recorded processes.
    pub used: Duration,
    events: u64,
    files: Vec<PathBuf>,
    disk: u64,
    repeated: usize,
}

impl CampaignResult {
    /// The cells for [`HEAD`].
    pub fn cells(&self) -> Vec<String> {
        let tally = &self.summary.tally;
        let runs = tally.runs.max(1);
        let failures = match (tally.failing(), tally.cut_short) {
            (failing, 0) => failing.to_string(),
            (failing, cut_short) => format!("{failing} ({cut_short} cut short)"),
        };
        vec![
            tally.runs.to_string(),
            format!("{:.1}", runs as f64 / self.wall.as_secs_f64()),
            (self.events / runs).to_string(),
            self.files.len().to_string(),
            format!("{:.1}", self.disk as f64 / 1e6),
            format!("{} of {}", self.repeated, self.files.len().min(REPEATED)),
            failures,
        ]
    }
}

/// Records a program as often as its declaration says, and repeats some of the runs.
pub fn record_program(tree: &SourceTree, program: &RecordedProgram) -> Result<CampaignResult> {
    let mut result = record_until(tree, program, Goal::of(Some(program.runs), None))?;
    let folder = tree.folder(program);
    // Kept runs are spread evenly, since those of one strategy stand together.
    let step = result.files.len().div_ceil(REPEATED).max(1);
    for file in result.files.iter().step_by(step).take(REPEATED) {
        let mut words: Vec<OsString> = vec!["replay".into(), file.into(), "--trust".into()];
        if let Some(driver) = &program.driver {
            words.extend(["--driver".into(), driver.into()]);
        }
        let finished = unsnarl(&folder, &words)?;
        match finished.status {
            Some(0) => result.repeated += 1,
            _ => eprintln!("{finished}"),
        }
    }
    let runs = result.files.len().div_ceil(step).min(REPEATED);
    eprintln!("{} of {runs} runs replayed", result.repeated);
    Ok(result)
}

/// Records a program until the goal is reached. The runs stay in `.unsnarl/runs` of its folder.
pub fn record_until(
    tree: &SourceTree,
    program: &RecordedProgram,
    goal: Goal,
) -> Result<CampaignResult> {
    let folder = tree.folder(program);
    let recording = recording(&folder, program, goal)?;
    if recording.out.exists() {
        fs::remove_dir_all(&recording.out)?;
    }
    let name = program.command.first().context("a command has a program")?;
    let target = target::open(name.as_ref(), &folder)?;
    let (begin, before) = (Instant::now(), processor_time()?);
    let mut events = 0;
    let summary = record(
        &recording,
        &target.program,
        &AtomicBool::new(false),
        |seen| {
            events += seen.events();
        },
    )?;
    let wall = begin.elapsed();
    let out = recording.out.clone();
    // The process that is copied ends when nobody wants more copies: only then its time is counted.
    drop(recording);
    let used = processor_time()?.saturating_sub(before);
    let problems = &summary.problems;
    problems
        .iter()
        .for_each(|(problem, runs)| eprintln!("in {runs} runs: {problem}"));
    let (files, disk) = run_files(&out)?;
    Ok(CampaignResult {
        summary,
        wall,
        used,
        events,
        files,
        disk,
        repeated: 0,
    })
}

fn recording(folder: &Path, program: &RecordedProgram, goal: Goal) -> Result<Recording> {
    let command: Vec<OsString> = program.command.iter().map(OsString::from).collect();
    let name = program.command.first().context("a command has a program")?;
    let crew = std::thread::available_parallelism()?.get();
    let company = Company {
        driver: program.driver.as_ref().map(OsString::from),
        ..Company::default()
    };
    Ok(Recording {
        job: Job {
            parent: None,
            permit: permit(&folder.join(name), &command, folder),
            command,
            directory: folder.to_owned(),
            stdin: None,
            output: Output::Kept,
            timeout: Duration::from_secs(program.timeout),
            limits: Limits::default(),
            criteria: Criteria {
                expected_exits: program.expect_exit.clone(),
                ..Criteria::default()
            },
            starter: Starter::with_crew(crew).with_company(company),
        },
        strategy: Strategy::Portfolio,
        chances: Chances::default(),
        seed: SEED,
        shard: None,
        goal,
        keep_passing: 100,
        filter: true,
        names_data: false,
        minimize: false,
        out: folder.join(".unsnarl/runs"),
        max_disk: 1 << 30,
    })
}

/// `unsnarl` in a folder, to its end.
pub fn unsnarl(folder: &Path, words: &[OsString]) -> Result<Finished> {
    let mut command = Command::new(binary::unsnarl()?);
    command.args(words).current_dir(folder).env("NO_COLOR", "1");
    Finished::of(command)
}

/// The run files of a folder, sorted, with their size.
fn run_files(folder: &Path) -> Result<(Vec<PathBuf>, u64)> {
    let (mut files, mut size) = (Vec::new(), 0);
    if folder.exists() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "arrow")
            {
                size += fs::metadata(&path)?.len();
                files.push(path);
            }
        }
    }
    files.sort();
    Ok((files, size))
}

/// Processor time of this process and of those that it has waited for.
fn processor_time() -> Result<Duration> {
    Ok(crate::measure::on_cpu()? + children()?)
}
