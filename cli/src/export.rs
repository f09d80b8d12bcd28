//! `unsnarl export`.

mod explained;
mod script;

use crate::{
    arguments::{Export, ExportFormat},
    message, replay, sarif,
};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    io::{self, Write},
    process::ExitCode,
};
use unsnarl_core::export::{SHIVIZ_PARSER, graph, shiviz, timeline};
use unsnarl_trace::{Run, rapid, read_run};

/// Arrows of a graph: more of them nobody can read, and Graphviz takes minutes to lay them out.
const ARROWS: usize = 200;

/// Prints a run.
pub fn run(arguments: &Export) -> Result<ExitCode> {
    let path = replay::find(&arguments.run)?;
    let run = read_run(&path)?;
    if let Some(damage) = run.damage.first() {
        bail!("{} is damaged: {damage}", path.display());
    }
    let text = match arguments.to {
        ExportFormat::Std => standard(&run),
        ExportFormat::Perfetto => serde_json::to_string(&timeline(&run))? + "\n",
        ExportFormat::Dot => pictured(&run),
        ExportFormat::Shiviz => {
            message::note(&format!(
                "the expression that ShiViz asks for: {SHIVIZ_PARSER}"
            ));
            shiviz(&run)
        }
        ExportFormat::Sarif => {
            let explained = explained::explained(&path)?;
            sarif::sarif(
                &explained.explanation.iter().collect::<Vec<_>>(),
                &[],
                &explained.broken,
            )? + "\n"
        }
        ExportFormat::Test => script::script(&path, &run, arguments)?,
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .context("cannot print the run")?;
    Ok(ExitCode::SUCCESS)
}

fn standard(run: &Run) -> String {
    let exported = rapid::export(run);
    tell(
        "written as a lock that is taken and given back at once",
        &exported.as_locks,
    );
    tell("left out, STD has no word for them", &exported.left_out);
    exported.text
}

fn pictured(run: &Run) -> String {
    let graph = graph(run, ARROWS);
    if graph.shown < graph.of {
        message::note(&format!(
            "the graph has the last {} of {} arrows between threads; --to perfetto has all",
            graph.shown, graph.of
        ));
    }
    graph.text
}

fn tell(what: &str, kinds: &BTreeMap<&str, usize>) {
    if kinds.is_empty() {
        return;
    }
    let counts: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    message::note(&format!("{what}: {}", counts.join(", ")));
}
