//! Projects from Debian's source packages, as they are: what recording them costs, whether runs repeat, and whether
//! anything fails that is no bug; and, with bugs put in, what is found and explained.
//!
//! A project is a declaration under `tests/debian`. Its sources are fetched and built below the user's cache folder, and
//! nothing of them is kept here.

mod bugs;
mod campaign;
mod costs;
mod declaration;
mod mutants;
mod sources;

use crate::{docs, table::PrintedTable};
use anyhow::{Context, Result, bail};
use declaration::DebianProject;
use sources::{BuildVariant, SourceTree};
use std::collections::BTreeMap;

/// The page with the table.
const PAGE: &str = "real-programs.md";

/// Measures the projects of these names, or all; with `--bug` those whose declaration has a bug to put in, with
/// `--mutants` those with files to mutate.
pub fn run(words: &[String]) -> Result<()> {
    let is_option = |word: &String| word.starts_with("--") || word.contains(['=', '/']);
    let (options, names): (Vec<_>, Vec<_>) = words.iter().cloned().partition(is_option);
    let names = match names.is_empty() {
        true => DebianProject::names()?,
        false => names,
    };
    for name in names {
        eprintln!("{name} ...");
        let project = DebianProject::open(&name)?;
        project.set_environment();
        match options.split_first() {
            None => measure(&project).with_context(|| name)?,
            Some((word, chosen)) if word == "--mutants" => {
                mutants::measure(&project, chosen).with_context(|| name)?;
            }
            Some((word, [])) if word == "--bug" => bugs::judge(&project).with_context(|| name)?,
            Some(_) => bail!("expected `--bug`, or `--mutants` with `limit=N` or ids of mutants"),
        }
    }
    Ok(())
}

/// Measures the programs of a project and puts their rows into the page.
fn measure(project: &DebianProject) -> Result<()> {
    let trees = BuildVariant::ALL.map(|variant| SourceTree::new(project, variant));
    for tree in &trees {
        tree.build()?;
    }
    let [native, tsan, recorded] = &trees;
    let version = recorded.version()?;
    for program in &project.programs {
        eprintln!("{}: {} ...", project.name, program.name);
        let campaign = campaign::record_program(recorded, program)?;
        let costs = costs::measure([native, tsan], program)?;
        let first = format!("{} {version}: {}", project.name, program.name);
        let row = [campaign.cells(), costs.cells(&campaign)].concat();
        put(&first, row)?;
    }
    trees.iter().try_for_each(SourceTree::remove)
}

/// Puts the row of a program into the table of the page, in the place of the old one.
fn put(first: &str, cells: Vec<String>) -> Result<()> {
    let mut rows: BTreeMap<String, Vec<String>> = docs::rows(PAGE, "projects")?
        .into_iter()
        .filter_map(|row| Some((row.first()?.clone(), row)))
        .collect();
    let mut row = vec![first.to_owned()];
    row.extend(cells);
    rows.insert(first.to_owned(), row);
    let head = [&["program"], &campaign::HEAD[..], &costs::HEAD[..]].concat();
    let mut table = PrintedTable::new(&head);
    rows.into_values().for_each(|row| table.row(row));
    println!("{table}");
    docs::replace(PAGE, "projects", &table.to_string())
}
