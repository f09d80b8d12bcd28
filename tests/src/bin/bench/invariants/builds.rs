//! Error invariants by compiler and level of optimization: how many failing programs get any.

use super::PAGE;
use crate::{docs, judged::with_bug, table::PrintedTable};
use anyhow::{Context, Result, ensure};
use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use unsnarl_core::Budget;
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};
use unsnarl_symbolic::{
    invariants::{self, InvariantOptions, PathExplanation, Violation},
    walk_in_words,
};
use unsnarl_trace::{Run, program, read_run};

/// Schedules in which a program with a bug must fail.
const RUNS: &str = "2000";
/// Time for one run's invariants, and again for their check.
const TIME: Duration = Duration::from_secs(20);
/// Compilers and levels of optimization.
const BUILDS: [(TestedCompiler, &str); 7] = [
    (TestedCompiler::Gcc, "-O0"),
    (TestedCompiler::Gcc, "-O1"),
    (TestedCompiler::Gcc, "-O2"),
    (TestedCompiler::Clang, "-O0"),
    (TestedCompiler::Clang, "-O2"),
    (TestedCompiler::ClangLifted, "-O0"),
    (TestedCompiler::ClangLifted, "-O2"),
];

/// The invariants of one failing run, as far as there are any.
enum Found {
    /// No recorded run failed.
    Passes,
    /// Conditions along a slice.
    Invariants,
    /// A slice without conditions, with what was not followed.
    Slice(String),
    /// Nothing, with the reason.
    Nothing(String),
    /// Conditions that the checker's solver cannot decide about.
    Undecided(String),
    /// Conditions that the checker refuses, with its reason.
    Refused(String),
}

/// Measures the programs of these names, all that have a bug when there are none; the numbers go into the docs then.
pub fn builds(names: &[String]) -> Result<()> {
    let programs = with_bug(names)?;
    let found = in_parallel(&programs)?;
    let text = in_words(&programs, &found);
    println!("{text}");
    match names.is_empty() {
        true => docs::replace(PAGE, "builds", &text),
        false => Ok(()),
    }
}

/// The results by build and program: one thread for each processor takes the next of them.
fn in_parallel(programs: &[TestProgram]) -> Result<BTreeMap<(usize, usize), Found>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (build, row) = (at / programs.len(), at % programs.len());
            let (Some(key), Some(program)) = (BUILDS.get(build), programs.get(row)) else {
                return Ok(());
            };
            let named = || format!("{} by {:?} {}", program.name, key.0, key.1);
            let one = measure(program, *key).with_context(named)?;
            eprintln!("{}: {}", named(), one.word());
            let mut all = found
                .lock()
                .map_err(|_| anyhow::anyhow!("a thread ended"))?;
            all.insert((build, row), one);
        }
    };
    let count = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let all: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        let ended = all.into_iter().map(|one| one.join());
        let ended = ended.map(|one| one.map_err(|_| anyhow::anyhow!("a thread ended"))?);
        ended.collect::<Result<()>>()
    })?;
    found.into_inner().context("a thread ended")
}

fn measure(program: &TestProgram, (compiler, level): (TestedCompiler, &str)) -> Result<Found> {
    let workspace = Workspace::new()?;
    let command = program.compile_with(&workspace, compiler, &[level])?;
    let words = [
        &["-n", RUNS, "--until-failing", "1"],
        &program.recording()[..],
    ]
    .concat();
    let recorded = workspace.record(&words, &command)?;
    ensure!(matches!(recorded.status, Some(0 | 1)), "{recorded}");
    let runs = workspace.runs()?;
    let Some(name) = runs.iter().find(|name| !name.starts_with("passed-")) else {
        return Ok(Found::Passes);
    };
    let file = workspace.path().join(workspace.run_path(name));
    let run = read_run(&file)?;
    let folder = file.parent().context("runs lie in a folder")?;
    Ok(match program::load(folder, &run.meta.build_id) {
        Ok(model) => of_run(&run, &model),
        Err(why) => Found::Nothing(in_a_line(&why.to_string())),
    })
}

fn of_run(run: &Run, model: &program::Program) -> Found {
    let budget = Budget::lasting(TIME);
    let walked = walk_in_words(run, model, &budget);
    let trace = walked.trace;
    let lost = trace.gaps.first().map_or("", String::as_str);
    let options = InvariantOptions::default();
    match invariants::explain(&trace, run, &trace.order, &options, &budget) {
        Err(why) => Found::Nothing(in_a_line(&format!("{why}; {lost}"))),
        Ok(explained) if explained.is_concrete => Found::Nothing(in_a_line(lost)),
        Ok(explained) => checked(&explained, run, lost),
    }
}

fn checked(explained: &PathExplanation, run: &Run, lost: &str) -> Found {
    let broken = invariants::check(explained, &Budget::lasting(TIME));
    let is_open = |one: &&Violation| matches!(one, Violation::Unknown(_));
    if let Some(refused) = broken.iter().find(|one| !is_open(one)) {
        return Found::Refused(refused.to_string());
    }
    if let Some(open) = broken.first() {
        return Found::Undecided(open.to_string());
    }
    let told = invariants::told(explained, run);
    match told.invariants.is_empty() {
        true => Found::Slice(in_a_line(lost)),
        false => Found::Invariants,
    }
}

fn in_a_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().replace('|', "/")
}

impl Found {
    fn word(&self) -> &'static str {
        match self {
            Found::Passes => "passes",
            Found::Invariants => "invariants",
            Found::Slice(_) => "only a slice",
            Found::Nothing(_) => "none",
            Found::Undecided(_) => "undecided",
            Found::Refused(_) => "refused",
        }
    }

    fn reason(&self) -> &str {
        match self {
            Found::Passes | Found::Invariants => "",
            Found::Slice(why)
            | Found::Nothing(why)
            | Found::Undecided(why)
            | Found::Refused(why) => why,
        }
    }
}

fn in_words(programs: &[TestProgram], found: &BTreeMap<(usize, usize), Found>) -> String {
    const WORDS: [&str; 5] = ["invariants", "only a slice", "none", "undecided", "refused"];
    let head = [&["build", "failing"], &WORDS[..], &["share, %"]].concat();
    let mut table = PrintedTable::new(&head);
    let mut others = Vec::new();
    for (build, (compiler, level)) in BUILDS.iter().enumerate() {
        let all = || found.range((build, 0)..(build + 1, 0));
        let count = |word: &str| all().filter(|(_, one)| one.word() == word).count();
        let failing: usize = WORDS.iter().map(|word| count(word)).sum();
        let share = 100.0 * count(WORDS[0]) as f64 / failing.max(1) as f64;
        let name = format!("{} `{level}`", compiler.in_words());
        let mut row = vec![name.clone(), failing.to_string()];
        row.extend(WORDS.iter().map(|word| count(word).to_string()));
        row.push(format!("{share:.0}"));
        table.row(row);
        others.extend(without(programs, all()).map(|one| format!("- {name}: {one}")));
    }
    format!("{table}\nWithout invariants:\n\n{}", others.join("\n"))
}

/// The programs that fail and have no invariants, with the reason for each.
fn without<'f>(
    programs: &'f [TestProgram],
    found: impl Iterator<Item = (&'f (usize, usize), &'f Found)>,
) -> impl Iterator<Item = String> {
    found.filter_map(|((_, row), one)| {
        let name = &programs.get(*row)?.name;
        let is_without = !matches!(one, Found::Passes | Found::Invariants);
        is_without.then(|| {
            let said = format!("`{name}`, {}: {}", one.word(), one.reason());
            said.trim_end_matches([':', ' ', ';']).to_owned()
        })
    })
}
