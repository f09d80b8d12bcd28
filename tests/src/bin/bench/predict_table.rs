//! The subjects of PECAN's Table 1 that were written anew for `tests/programs`, and what a run of each has.

use crate::table::Table;
use anyhow::{Context, Result};
use unsnarl_core::orders::Accesses;
use unsnarl_e2e::{Compiler, Program, Workspace};
use unsnarl_trace::{Run, read_run};

/// A subject's name in the paper, and the program's here.
const SUBJECTS: [(&str, &str); 10] = [
    ("Account", "account_transfer"),
    ("BuggyPrg", "dealt_numbers"),
    ("Critical", "critical_turn"),
    ("Loader", "table_loader"),
    ("Manager", "block_manager"),
    ("MergeSort", "merge_sort"),
    ("Shop", "corner_shop"),
    ("StringBuf", "string_buffer"),
    ("ArrayList", "array_list"),
    ("LinkedList", "linked_list"),
];

/// Prints the table.
pub fn run() -> Result<()> {
    let mut table = Table::new(&["subject", "program", "threads", "SV", "events"]);
    for (subject, name) in SUBJECTS {
        eprintln!("{subject}: {name}");
        let run = passing(name).with_context(|| name.to_owned())?;
        table.row(vec![
            subject.to_owned(),
            format!("`{name}`"),
            run.meta.threads.len().to_string(),
            Accesses::new(&run).shared().count().to_string(),
            run.events.len().to_string(),
        ]);
    }
    println!("{table}");
    Ok(())
}

/// The first passing run of a program.
fn passing(name: &str) -> Result<Run> {
    let workspace = Workspace::new()?;
    let command = Program::open(name)?.compile(&workspace, Compiler::Gcc)?;
    workspace.record(&["-n", "20"], &command)?;
    let passed = workspace.runs_that("passed")?;
    let first = passed.first().context("no run passed")?;
    Ok(read_run(&workspace.path().join(workspace.run_path(first)))?)
}
