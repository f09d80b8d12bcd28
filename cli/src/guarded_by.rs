//! `unsnarl explain --guarded-by`: which lock guards which location.

use crate::arguments::{Explain, ExplainFormat};
use anyhow::{Result, bail};
use serde::Serialize;
use std::{collections::BTreeMap, process::ExitCode};
use unsnarl_core::{
    CorpusKey,
    facts::{location_in_words, short},
    guarded::{Guarded, Guards},
    render::MOST_COLUMN,
};
use unsnarl_lab::load::Loaded;
use unsnarl_trace::shell;

/// Version of the JSON.
const JSON_VERSION: u32 = 1;

/// The document.
#[derive(Serialize)]
struct GuardsDocument<'a> {
    version: u32,
    corpora: Vec<GuardTable<'a>>,
}

/// The table of the runs of one build on one input.
#[derive(Serialize)]
struct GuardTable<'a> {
    command: &'a [String],
    build_id: &'a str,
    runs: usize,
    guarded: Vec<Guarded>,
}

/// Prints the table of each build, over all its runs.
pub fn run(arguments: &Explain, loaded: &Loaded) -> Result<ExitCode> {
    let mut counts: BTreeMap<CorpusKey, (usize, Guards)> = BTreeMap::new();
    for (_, run) in &loaded.runs {
        let (runs, guards) = counts.entry(CorpusKey::of(run)).or_default();
        *runs += 1;
        guards.add(run);
    }
    let tables = counts.iter().map(|(key, (runs, guards))| GuardTable {
        command: &key.command,
        build_id: &key.build_id,
        runs: *runs,
        guarded: guards.table(),
    });
    let tables: Vec<GuardTable<'_>> = tables.collect();
    match arguments.format {
        ExplainFormat::Text => tables.iter().for_each(print),
        ExplainFormat::Json => {
            let document = GuardsDocument {
                version: JSON_VERSION,
                corpora: tables,
            };
            anstream::println!("{}", serde_json::to_string_pretty(&document)?);
        }
        _ => bail!("the table of locks comes as text or JSON\n  next: --format text, or json"),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(table: &GuardTable<'_>) {
    let runs = if table.runs == 1 { "run" } else { "runs" };
    outln!("{} ({} {runs})", shell::command(table.command), table.runs);
    if table.guarded.is_empty() {
        outln!("  No lock is held at most of the accesses of anything that threads share.");
    }
    let width = |text: fn(&Guarded) -> &str| {
        let names = table.guarded.iter().map(|row| location_in_words(text(row)));
        names
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0)
            .min(MOST_COLUMN)
    };
    let (location, lock) = (width(|row| &row.location), width(|row| &row.lock));
    for row in &table.guarded {
        let held = match row.held == row.of {
            true => format!("all {} accesses", row.of),
            false => format!("{} of {} accesses", row.held, row.of),
        };
        let (data, guard) = (
            location_in_words(&row.location),
            location_in_words(&row.lock),
        );
        outln!("  {data:location$}  {guard:lock$}  {held}");
        for without in &row.without {
            let times = match without.times {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            };
            outln!(
                "    not at {}, {} {times}:  {}",
                short(&without.place),
                without.access,
                without.place.text
            );
        }
    }
}
