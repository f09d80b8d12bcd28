//! Fixes of programs whose locks stand behind functions, macros, structs and classes: each offered fix is built and
//! explored, into `docs/fixes.md`.

use crate::{docs, table::PrintedTable};
use anyhow::{Context, Result};
use std::time::Instant;
use unsnarl_core::{Explanation, fixes::Fix};
use unsnarl_e2e::{
    TestProgram, Workspace,
    wrapped::{Form, Wrapped},
};

/// The example of the README and others in C and C++, with each kind of fix.
const PROGRAMS: [&str; 13] = [
    "bank_account",
    "array_list",
    "bank_total",
    "block_manager",
    "bounded_queue",
    "cpp_cache",
    "cpp_string_buffer",
    "linked_list",
    "lock_order",
    "running_average",
    "string_table",
    "table_and_log",
    "unlocked_signal",
];
/// Time and random schedules for each fix.
const LIMITS: [&str; 4] = ["--budget", "10s", "--random", "50"];

/// Results of the programs.
#[derive(Default)]
struct WrappedTally {
    builds: usize,
    offered: usize,
    hold: usize,
    refused: usize,
}

/// Tries every fix that is offered for each program and form; with names only prints.
pub fn run(names: &[String]) -> Result<()> {
    let all = PROGRAMS.map(str::to_owned);
    let mut table = PrintedTable::new(&[
        "program",
        "locks behind",
        "fix",
        "built and explored",
        "time",
    ]);
    let mut tally = WrappedTally::default();
    for name in if names.is_empty() { &all } else { names } {
        let program = TestProgram::open(name)?;
        for form in Form::ALL {
            if let Some(wrapped) = Wrapped::new(&program, form)? {
                eprintln!("{name}, {} ...", form.in_words(program.is_cpp()));
                for row in
                    measure(&program, form, &wrapped, &mut tally).with_context(|| name.clone())?
                {
                    table.row(row);
                }
            }
        }
    }
    let WrappedTally {
        builds,
        offered,
        hold,
        refused,
    } = tally;
    let sum = format!(
        "Of {offered} fixes that were offered for {builds} programs {hold} hold when they are built, {} do not; for {refused} programs none was offered.",
        offered - hold
    );
    let text = format!("{table}\n{sum}");
    println!("{text}");
    match names.is_empty() {
        true => docs::replace("fixes.md", "wrapped", &text),
        false => Ok(()),
    }
}

fn measure(
    program: &TestProgram,
    form: Form,
    wrapped: &Wrapped,
    tally: &mut WrappedTally,
) -> Result<Vec<Vec<String>>> {
    let workspace = Workspace::new()?;
    wrapped.compile(&workspace)?;
    let words = [
        &["-n", "3000", "--until-failing", "3"],
        &program.recording()[..],
    ]
    .concat();
    workspace.record(&words, "./prog")?;
    let (_, explanations) = workspace.explain()?;
    tally.builds += 1;
    let mut rows = Vec::new();
    let mut row = |fix: &str, came: String, begin: Instant| {
        let (name, form) = (
            format!("`{}`", program.name),
            form.in_words(program.is_cpp()),
        );
        let time = format!("{:.1} s", begin.elapsed().as_secs_f64());
        rows.push(vec![name, form.to_owned(), fix.to_owned(), came, time]);
    };
    let fixes = |one: &Explanation| one.fixes.clone();
    if explanations.iter().all(|one| one.fixes.is_empty()) {
        tally.refused += 1;
        let why: Vec<String> = explanations
            .iter()
            .flat_map(|one| one.not_fixed.clone())
            .collect();
        row(
            &format!("refused: {}", why.join("; ")),
            String::new(),
            Instant::now(),
        );
    }
    for one in &explanations {
        for fix in fixes(one) {
            let begin = Instant::now();
            tally.offered += 1;
            let (holds, said) = verify(&workspace, one, &fix, wrapped)?;
            tally.hold += usize::from(holds);
            row(&fix.title, said, begin);
        }
    }
    Ok(rows)
}

/// Returns whether the fix holds when it is built, with the line that says so.
fn verify(
    workspace: &Workspace,
    of: &Explanation,
    fix: &Fix,
    wrapped: &Wrapped,
) -> Result<(bool, String)> {
    let id = format!("{}:{}", of.id, fix.number);
    let build = wrapped.build();
    let words = [&["verify", &id, "--build", &build], &LIMITS[..]].concat();
    let finished = workspace.unsnarl(&words)?;
    let lines = finished.stdout.lines().chain(finished.stderr.lines());
    let mut telling = lines.filter(|line| {
        ["holds: ", "does not hold: ", "not settled: ", "error"]
            .iter()
            .any(|head| line.starts_with(head))
    });
    let said = telling.next().unwrap_or("-").to_owned();
    Ok((finished.status == Some(0), said))
}
