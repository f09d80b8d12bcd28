//! A cluster on this machine, in processes that the tests start.

use crate::{ask, corpus::many, packed};
use clap::ValueEnum;
use std::{
    io::{BufRead, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    thread::sleep,
    time::Duration,
};
use unsnarl_fleet_engine::queries::Query;

const ENGINE: &str = env!("CARGO_BIN_EXE_unsnarl-fleet-engine");

/// A scheduler with two executors, which ends with the value.
struct TestCluster {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
    executors: Vec<String>,
    scheduler: String,
}

impl TestCluster {
    fn start() -> TestCluster {
        let mut local = Command::new(ENGINE);
        local.args(["local", "--port", "0", "--executors", "2"]);
        local.args(["--threads", "1", "--memory", "256"]);
        let mut process = local.stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut cluster = TestCluster {
            process,
            said,
            executors: Vec::new(),
            scheduler: String::new(),
        };
        while cluster.scheduler.is_empty() {
            let line = cluster.said.next().unwrap().unwrap();
            match line.split_once(": ").unwrap() {
                ("executor", process) => cluster.executors.push(process.replace("process ", "")),
                (_, scheduler) => cluster.scheduler = scheduler.to_owned(),
            }
        }
        cluster
    }

    fn asked(&self, query: Query, file: &Path) -> Child {
        let name = query.to_possible_value().unwrap();
        let mut asked = Command::new(ENGINE);
        asked.args(["ask", name.get_name(), "--scheduler", &self.scheduler]);
        asked.args(["--within", "120"]);
        asked.args(["--signature", "5167", "--failing", "1", "--passing", "2"]);
        asked
            .arg(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        asked.spawn().unwrap()
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        // Its executors see that their standard input is closed.
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn two_executors_answer_as_one_process_does() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    many(200, 60)
        .iter()
        .for_each(|run| drop(run.write(&runs, 7)));
    let (_, file) = packed(&[runs], folder.path());
    let cluster = TestCluster::start();
    for query in Query::value_variants() {
        let answer = cluster.asked(*query, &file).wait_with_output().unwrap();
        assert!(
            answer.status.success(),
            "{query:?}: {}",
            text(&answer.stderr)
        );
        assert_eq!(text(&answer.stdout), ask(*query, &file), "{query:?}");
    }
}

/// The answer while an executor is killed so long after the question, if it was not there before.
fn killed_after(delay: Duration, file: &Path) -> Option<Output> {
    let cluster = TestCluster::start();
    let mut asked = cluster.asked(Query::ProcedureThree, file);
    sleep(delay);
    let was_there = asked.try_wait().unwrap().is_some();
    let mut kill = Command::new("kill");
    kill.args(["-KILL", &cluster.executors[0]]);
    assert!(kill.status().unwrap().success());
    let answer = asked.wait_with_output().unwrap();
    (!was_there).then_some(answer)
}

#[test]
fn where_an_executor_is_killed_the_answer_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    many(400, 200)
        .iter()
        .for_each(|run| drop(run.write(&runs, 7)));
    let (_, file) = packed(&[runs], folder.path());
    let right = ask(Query::ProcedureThree, &file);
    let mut killed = 0;
    for delay in [200, 500, 1000, 2000].map(Duration::from_millis) {
        let Some(answer) = killed_after(delay, &file) else {
            break;
        };
        killed += 1;
        let problem = text(&answer.stderr);
        assert!(answer.status.success(), "{delay:?}: {problem}");
        assert_eq!(text(&answer.stdout), right, "{delay:?}");
    }
    assert!(
        killed > 0,
        "every answer came before its executor was killed"
    );
}

#[test]
fn a_scheduler_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    many(2, 2).iter().for_each(|run| drop(run.write(&runs, 7)));
    let mut asked = Command::new(ENGINE);
    asked.args(["ask", "coverage", "--scheduler", "http://127.0.0.1:1"]);
    let answer = asked.arg(&runs).output().unwrap();
    assert_eq!(answer.status.code(), Some(2));
    assert!(text(&answer.stderr).contains("cannot reach the scheduler http://127.0.0.1:1"));
}
