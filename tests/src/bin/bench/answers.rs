//! Answers of `unsnarl explain` for the programs of `tests/programs`.

use crate::{kept::KeptResults, measure::of_children};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, Instant},
};
use unsnarl_core::{BugKind, Explanation};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::read_run;

/// Schedules in which a program with a bug must fail.
const RUNS: &str = "2000";
/// Schedules of a program without a bug.
const CORRECT_RUNS: &str = "300";
/// Schedules of a program that fails in all of them.
const SEQUENTIAL_RUNS: &str = "60";
/// Failing runs of programs with one bug and with two.
const FAILING: [&str; 2] = ["3", "60"];

/// The build, the recording and the options that an answer is for.
#[derive(Clone, Copy)]
pub struct AnswerKey<'q> {
    /// The compiler.
    pub compiler: TestedCompiler,
    /// Level of optimization.
    pub level: &'q str,
    /// Seed of the recording.
    pub seed: u64,
    /// Value of `--run-budget`; its default when there is none.
    pub run_budget: Option<&'q str>,
    /// `true` if the first fix of each explanation is tried.
    pub tries_fixes: bool,
}

/// The question of the tables that are about nothing else: clang without optimization, seed 1.
pub const PLAIN: AnswerKey = AnswerKey {
    compiler: TestedCompiler::Clang,
    level: "-O0",
    seed: 1,
    run_budget: None,
    tries_fixes: false,
};

/// An answer with its cost.
#[derive(Serialize, Deserialize)]
pub struct TimedAnswer {
    /// `true` if a recorded run failed.
    pub fails: bool,
    /// The explanations, without their steps.
    pub explanations: Vec<Explanation>,
    /// Result of each explanation's first fix by `unsnarl verify`, empty where there is none.
    pub fixes: Vec<String>,
    /// Duration of `unsnarl explain`.
    pub time: Duration,
    /// Processor time of `unsnarl explain` and of the programs that it executed.
    pub on_cpu: Duration,
    /// Events of the longest failing run.
    pub events: usize,
}

/// Answers that are kept.
pub struct KeptAnswers(KeptResults<TimedAnswer>);

impl KeptAnswers {
    /// Opens the answers of the present `unsnarl`.
    pub fn open() -> Result<KeptAnswers> {
        Ok(KeptAnswers(KeptResults::open("answers")?))
    }

    /// The answer for a program.
    pub fn get(&mut self, program: &TestProgram, question: &AnswerKey) -> Result<&TimedAnswer> {
        let key = key(program, question)?;
        self.0.get(&key, || {
            eprintln!("{key} ...");
            ask(program, question).with_context(|| key.clone())
        })
    }
}

fn key(program: &TestProgram, question: &AnswerKey) -> Result<String> {
    let AnswerKey {
        compiler,
        level,
        seed,
        run_budget,
        tries_fixes,
    } = question;
    let mut hasher = DefaultHasher::new();
    fs::read(&program.source)?.hash(&mut hasher);
    Ok(format!(
        "{} {:x} {compiler:?} {level} seed {seed} {} {tries_fixes}",
        program.name,
        hasher.finish(),
        run_budget.unwrap_or("-"),
    ))
}

fn ask(program: &TestProgram, question: &AnswerKey) -> Result<TimedAnswer> {
    let workspace = Workspace::new()?;
    let command = program.compile_with(&workspace, question.compiler, &[question.level])?;
    let fails = record(&workspace, program, question.seed, &command)?;
    let mut words = vec!["explain", "--format", "json"];
    words.extend(
        question
            .run_budget
            .iter()
            .flat_map(|time| ["--run-budget", time]),
    );
    let (begin, before) = (Instant::now(), of_children()?);
    let mut explanations = workspace.unsnarl(&words)?.explanations()?;
    let (time, on_cpu) = (begin.elapsed(), of_children()?.saturating_sub(before));
    let mut fixes = Vec::new();
    for told in explanations.iter_mut().filter(|_| question.tries_fixes) {
        fixes.push(fix(&workspace, told)?);
    }
    explanations.iter_mut().for_each(shorten);
    Ok(TimedAnswer {
        fails,
        explanations,
        fixes,
        time,
        on_cpu,
        events: longest(&workspace)?,
    })
}

/// Records a program; the result is whether a run failed.
fn record(workspace: &Workspace, program: &TestProgram, seed: u64, command: &str) -> Result<bool> {
    let seed = seed.to_string();
    let runs: &[&str] = match (program.expectation.kinds.as_slice(), &program.second) {
        ([], _) => &["-n", CORRECT_RUNS],
        ([BugKind::Sequential], _) => &["-n", SEQUENTIAL_RUNS],
        (_, None) => &["-n", RUNS, "--until-failing", FAILING[0]],
        (_, Some(_)) => &["-n", RUNS, "--until-failing", FAILING[1]],
    };
    let words = [
        &["record", "--seed", &seed],
        runs,
        &program.recording(),
        &["--", command],
    ];
    let recorded = workspace.unsnarl(&words.concat())?;
    match recorded.status {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => bail!("cannot record:\n{recorded}"),
    }
}

/// Result of the first fix that is suggested for an explanation, by `unsnarl verify`.
fn fix(workspace: &Workspace, told: &Explanation) -> Result<String> {
    let verified = workspace.unsnarl(&["verify", &told.id])?;
    Ok(match verified.status {
        Some(0) => "holds".to_owned(),
        Some(1) if verified.stdout.contains("not settled") => "not settled".to_owned(),
        Some(1) => "does not hold".to_owned(),
        // No fix is suggested, or this unsnarl tries none.
        _ => String::new(),
    })
}

/// Leaves out what nothing is judged by, so that thousands of answers can be kept.
fn shorten(told: &mut Explanation) {
    told.steps.clear();
    told.edges.clear();
    told.curve.clear();
    told.invariants.clear();
    told.fixes.clear();
    told.contributions.clear();
}

fn longest(workspace: &Workspace) -> Result<usize> {
    let mut longest = 0;
    for name in workspace.runs()? {
        if !name.starts_with("passed-") {
            let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
            longest = longest.max(run.events.len());
        }
    }
    Ok(longest)
}
