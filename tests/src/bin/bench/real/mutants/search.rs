//! The searches for a failure: as in CI, by other strategies and seeds, and without recording.

use super::super::{campaign::unsnarl, declaration::RecordedProgram, sources::SourceTree};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};
use unsnarl_e2e::{Finished, binary};

/// Time for the first search of CI.
pub const FIRST: Duration = Duration::from_secs(60);
/// The budget of CI, for mutants that fail elsewhere.
pub const WHOLE: Duration = Duration::from_secs(600);
/// Time for each other strategy.
const REFERENCE: Duration = Duration::from_secs(30);
/// The other strategies, with a seed that CI has not begun with.
const STRATEGIES: [&str; 2] = ["random", "pct"];
const SEED: &str = "90210";
/// Times that each program is run without recording it.
const NATIVE_RUNS: usize = 200;
/// Folder of what is recorded.
const RECORDED: &str = ".unsnarl";

/// A failure that CI has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundFailure {
    /// Name of the program.
    pub program: String,
    /// Seconds until `unsnarl test` had ended, with the runs that the failing one is compared with.
    pub seconds: f64,
    /// The line about it.
    pub line: String,
}

/// `unsnarl test` with a budget, of which each program has an equal part, until the first failure.
pub fn by_ci(
    tree: &SourceTree,
    programs: &[&RecordedProgram],
    budget: Duration,
) -> Result<Option<FoundFailure>> {
    let begin = Instant::now();
    let share = share(budget, programs);
    for program in programs {
        let folder = cleared(tree, program)?;
        let budget = format!("{share}s");
        let mut words: Vec<OsString> = ["test", "--seed", "1", "--budget", &budget]
            .map(Into::into)
            .into();
        words.extend(expected_exits(program));
        for part in program
            .command
            .split_at_checked(1)
            .into_iter()
            .flat_map(|(one, rest)| [one, rest])
        {
            words.push("--".into());
            words.extend(part.iter().map(Into::into));
        }
        let finished = unsnarl(&folder, &words)?;
        match finished.status {
            Some(0) => {}
            Some(1) => {
                return Ok(Some(FoundFailure {
                    program: program.name.clone(),
                    seconds: begin.elapsed().as_secs_f64(),
                    line: finished
                        .stdout
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
                }));
            }
            _ => eprintln!("{finished}"),
        }
    }
    Ok(None)
}

/// `unsnarl record` by other strategies; the one that finds a failure.
pub fn by_record(tree: &SourceTree, programs: &[&RecordedProgram]) -> Result<Option<String>> {
    let time = format!("{}s", share(REFERENCE, programs));
    for strategy in STRATEGIES {
        for program in programs {
            let folder = cleared(tree, program)?;
            let mut command = Command::new("timeout");
            command
                .args(["--signal", "INT", &time])
                .arg(binary::unsnarl()?);
            command.args(["record", "--strategy", strategy, "--seed", SEED]);
            command.args(["-n", "1000000", "--until-failing", "1"]);
            command
                .args(expected_exits(program))
                .arg("--")
                .args(&program.command);
            Finished::of({
                command.current_dir(&folder);
                command
            })?;
            if has_run(&folder, |name| !name.starts_with("passed-"))? {
                return Ok(Some(format!("{strategy}: {}", program.name)));
            }
        }
    }
    Ok(None)
}

/// Plain runs; the program that fails in one of them.
pub fn natively(tree: &SourceTree, programs: &[&RecordedProgram]) -> Result<Option<String>> {
    for program in programs {
        for _ in 0..NATIVE_RUNS {
            let mut command = Command::new("timeout");
            command
                .arg("10")
                .args(&program.command)
                .current_dir(tree.folder(program));
            let finished = Finished::of(command)?;
            if !program.passes(finished.status) {
                return Ok(Some(format!("native: {}", program.name)));
            }
        }
    }
    Ok(None)
}

/// Returns whether a run with such a name was kept in a folder.
pub fn has_run(folder: &Path, is_one: impl Fn(&str) -> bool) -> Result<bool> {
    let runs = folder.join(RECORDED).join("runs");
    if !runs.exists() {
        return Ok(false);
    }
    for entry in fs::read_dir(runs)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".arrow") && !name.starts_with('.') && is_one(&name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Seconds for each program.
fn share(time: Duration, programs: &[&RecordedProgram]) -> u64 {
    (time.as_secs() / programs.len().max(1) as u64).max(1)
}

/// Folder of a program, with nothing recorded in it.
fn cleared(tree: &SourceTree, program: &RecordedProgram) -> Result<std::path::PathBuf> {
    let folder = tree.folder(program);
    let recorded = folder.join(RECORDED);
    if recorded.exists() {
        fs::remove_dir_all(recorded)?;
    }
    Ok(folder)
}

fn expected_exits(program: &RecordedProgram) -> Vec<OsString> {
    let statuses = program.expect_exit.iter();
    statuses
        .flat_map(|status| ["--expect-exit".into(), status.to_string().into()])
        .collect()
}
