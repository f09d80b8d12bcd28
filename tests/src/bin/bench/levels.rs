//! Correctness of the first explanation of each bug of `tests/programs` at every level of optimization. Wrong
//! explanations are printed on standard error.

use crate::table::Table;
use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{Compiler, Program, Workspace};

/// The compilers that are measured.
const COMPILERS: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];
/// Levels of optimization.
const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];
/// Runs at most.
const RUNS: &str = "2000";

/// Judges the programs of these names, all that have a bug when there are none.
pub fn run(names: &[String]) -> Result<()> {
    let all = Program::names()?;
    let names = if names.is_empty() { &all } else { names };
    let columns: Vec<(Compiler, &str)> = COMPILERS
        .into_iter()
        .flat_map(|compiler| LEVELS.map(|level| (compiler, level)))
        .collect();
    let titles: Vec<String> = columns
        .iter()
        .map(|(compiler, level)| format!("{compiler:?} {level}"))
        .collect();
    let head: Vec<&str> = std::iter::once("program")
        .chain(titles.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(&head);
    let mut right = vec![0; columns.len()];
    let mut programs = 0;
    for name in names {
        let program = Program::open(name)?;
        if program.expectation.parts.is_empty() {
            continue;
        }
        programs += 1;
        eprintln!("{name} ...");
        let mut row = vec![format!("`{name}`")];
        for ((compiler, level), right) in columns.iter().zip(&mut right) {
            let judged = judge(&program, *compiler, level)
                .with_context(|| format!("{name} {compiler:?} {level}"))?;
            *right += u32::from(judged == "right" || judged == "no bug");
            row.push(judged);
        }
        table.row(row);
    }
    let sums = right.iter().map(|sum| format!("{sum} of {programs}"));
    table.row(std::iter::once("right".to_owned()).chain(sums).collect());
    println!("{table}");
    println!(
        "The first explanation after `unsnarl record -n {RUNS} --until-failing 3`; a number is the rank of \
         the right one; no bug: the program's header says that the compiler leaves it out, and it never failed."
    );
    Ok(())
}

fn judge(program: &Program, compiler: Compiler, level: &str) -> Result<String> {
    let workspace = Workspace::new()?;
    let command = program.compile_with(&workspace, compiler, &[level])?;
    let options = [
        &["-n", RUNS, "--until-failing", "3"],
        &program.recording()[..],
    ];
    let recorded = workspace.record(&options.concat(), &command)?;
    ensure!(matches!(recorded.status, Some(0 | 1)), "{recorded}");
    match (recorded.status, program.has_bug(compiler, level)) {
        (Some(0), false) => return Ok("no bug".to_owned()),
        (Some(0), true) => return Ok("never fails".to_owned()),
        (_, false) => return Ok("fails".to_owned()),
        (_, true) => {}
    }
    let (_, explanations) = workspace.explain()?;
    let expectation = &program.expectation;
    let rank = expectation.rank(&explanations, &program.source);
    if rank == Some(1) {
        return Ok("right".to_owned());
    }
    if let Some(first) = explanations.first()
        && let Err(wrong) = expectation.check(first, &program.source)
    {
        eprintln!("{} {compiler:?} {level}: {wrong:#}", program.name);
    }
    eprintln!("{}", workspace.unsnarl(&["explain"])?);
    Ok(rank.map_or("wrong".to_owned(), |rank| rank.to_string()))
}
