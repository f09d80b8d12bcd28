//! Confirmation of explanations: `unsnarl explain` runs the program again, in a process of its own.
//!
//! A program that crashes, hangs or takes all memory does so over there, and to give way is to end that process.

use crate::{config::Config, trust::Trust};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use unsnarl_core::{Budget, Explanation, StopReason};

/// Interval of the checks whether the process has ended or something newer happened.
const TICK: Duration = Duration::from_millis(5);
/// Time that runs get to end when they are asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Starts the command line tool.
#[derive(Clone, Debug)]
pub struct Confirmer {
    unsnarl: PathBuf,
}

/// The results of execution; the part of `docs/explain-json.md` that is needed.
#[derive(Debug, Default, Deserialize)]
pub struct Confirmation {
    /// Explanations that hold, with their confirmation and fixes that were tried.
    pub explanations: Vec<Explanation>,
    /// Explanations that execution has refuted.
    pub refuted: Vec<Explanation>,
}

/// The reason for which there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// A newer event made the answer useless.
    Superseded,
    /// The tool failed, for this reason.
    Failed(String),
}

impl Confirmer {
    /// A confirmer that starts this binary.
    pub fn new(unsnarl: PathBuf) -> Confirmer {
        Confirmer { unsnarl }
    }

    /// Runs the program of a run folder again, in the recorded way.
    pub fn confirm(
        &self,
        (root, runs): (&Path, &Path),
        trust: &Trust,
        budget: &Budget,
    ) -> Result<Confirmation, NoAnswer> {
        let failed = |error: io::Error| {
            let name = self.unsnarl.display();
            NoAnswer::Failed(format!("cannot start {name}: {error}"))
        };
        // Where the tool looks by itself it calls runs by their names, in all that it says.
        let is_usual = runs == root.join(Config::default().runs_folder);
        let elsewhere = Some(runs).filter(|_| !is_usual);
        let mut child = Command::new(&self.unsnarl)
            .args(["explain", "--format", "json"])
            .args(trust.argument())
            .args(elsewhere)
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (output, errors) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let status = loop {
            match child.try_wait().map_err(failed)? {
                Some(status) => break status,
                None if budget.stop().is_some() => return Err(given_up(child, budget)),
                None => thread::sleep(TICK),
            }
        };
        read(status, &text(output), &text(errors)).map_err(NoAnswer::Failed)
    }
}

/// Reads a pipe while the process runs: it holds little.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Option<JoinHandle<Vec<u8>>> {
    pipe.map(|mut pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What came before an error is all that there is to read.
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    })
}

fn text(reader: Option<JoinHandle<Vec<u8>>>) -> String {
    let bytes = reader.and_then(|reader| reader.join().ok());
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

fn read(status: ExitStatus, output: &str, errors: &str) -> Result<Confirmation, String> {
    // 0, 1 and 3 say what was found.
    if !matches!(status.code(), Some(0 | 1 | 3)) {
        let said = errors.trim();
        let said = if said.is_empty() {
            "it said nothing"
        } else {
            said
        };
        return Err(format!("unsnarl explain ended with {status}: {said}"));
    }
    let mut answer: Confirmation = serde_json::from_str(output)
        .map_err(|error| format!("the answer of unsnarl explain cannot be read: {error}"))?;
    let all = answer.explanations.iter_mut().chain(&mut answer.refuted);
    all.for_each(name_runs);
    Ok(answer)
}

/// Gives runs their names: for a folder other than the one in which it was started the tool names them by their
/// files.
fn name_runs(explanation: &mut Explanation) {
    let executed = explanation.executed.iter_mut();
    let recorded = executed.filter(|executed| executed.is_recorded);
    let others = recorded.map(|executed| &mut executed.other);
    let runs = explanation.runs.iter_mut().chain([&mut explanation.run]);
    for name in runs.chain(others) {
        let stem = name.strip_suffix(".arrow").map(Path::new);
        if let Some(stem) = stem.and_then(Path::file_name) {
            *name = stem.to_string_lossy().into_owned();
        }
    }
}

/// Asks the process to end its runs. That takes a moment, for which nobody waits.
fn given_up(mut child: Child, budget: &Budget) -> NoAnswer {
    signal(&child, Signal::TERM);
    thread::spawn(move || {
        let until = Instant::now() + GRACE;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(TICK);
        }
        // Both do nothing to a process that has ended.
        let _ = child.kill();
        let _ = child.wait();
    });
    match budget.stop() {
        Some(StopReason::OutOfTime) => {
            NoAnswer::Failed("running it again took too long: use unsnarl explain".to_owned())
        }
        _ => NoAnswer::Superseded,
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended by itself meanwhile.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::OwnRuns;
    use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt};

    fn nothing() -> Trust {
        Trust {
            everything: false,
            builds: BTreeSet::new(),
            own: OwnRuns::default(),
        }
    }

    /// A tool that consists of this script.
    fn tool(folder: &Path, script: &str) -> Confirmer {
        let path = folder.join("unsnarl");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Confirmer::new(path)
    }

    fn said(script: &str) -> Result<Confirmation, NoAnswer> {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let at = (folder.path(), runs.as_path());
        tool(folder.path(), script).confirm(at, &nothing(), &Budget::unlimited())
    }

    fn reason(script: &str) -> String {
        match said(script) {
            Err(NoAnswer::Failed(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_said() {
        let empty = r#"{"version":1,"explanations":[],"refuted":[],"corpora":[]}"#;
        for status in [0, 1, 3] {
            let answer = said(&format!("echo '{empty}'; exit {status}")).unwrap();
            assert!(answer.explanations.is_empty() && answer.refuted.is_empty());
        }
        assert_eq!(
            reason("echo 'error: no runs' >&2; exit 2"),
            "unsnarl explain ended with exit status: 2: error: no runs"
        );
        assert!(reason("kill -9 $$").contains("signal: 9"));
        assert!(reason("echo nothing").contains("cannot be read"));
        // More than a pipe holds.
        assert!(reason("head -c 300000 /dev/zero").contains("cannot be read"));
    }

    #[test]
    fn a_tool_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let none = Confirmer::new(folder.path().join("none"));
        let at = (folder.path(), folder.path());
        let answer = none.confirm(at, &nothing(), &Budget::unlimited());
        assert!(matches!(answer, Err(NoAnswer::Failed(reason)) if reason.contains("none")));
    }

    #[test]
    fn giving_way_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let ended = folder.path().join("ended");
        let script = format!(
            "trap 'touch {}; exit' TERM; touch started; while :; do sleep 0.01; done",
            ended.display()
        );
        let tool = tool(folder.path(), &script);
        let budget = Budget::unlimited();
        let root = folder.path().to_owned();
        let there = |path: &Path| {
            let until = Instant::now() + Duration::from_secs(30);
            while !path.exists() {
                assert!(Instant::now() < until, "{} never came", path.display());
                thread::sleep(TICK);
            }
        };
        thread::scope(|scope| {
            let waits = scope.spawn(|| tool.confirm((&root, &root), &nothing(), &budget));
            there(&root.join("started"));
            budget.cancel();
            assert!(matches!(waits.join().unwrap(), Err(NoAnswer::Superseded)));
        });
        there(&ended);
    }
}
