//! `unsnarl import`.

use crate::{
    arguments::{ImportArguments, TraceFormat},
    message,
};
use anyhow::{Context, Result};
use std::{fs, process::ExitCode};
use unsnarl_core::{facts::thread_in_words, orders::Orders};
use unsnarl_trace::{
    Run, RunFolder,
    rapid::{self, Format},
};

/// Number of bad lines and oddities that are named one by one.
const NAMED: usize = 10;

/// Makes a run from a trace.
pub fn run(arguments: &ImportArguments) -> Result<ExitCode> {
    let file = &arguments.file;
    let format = match arguments.from {
        TraceFormat::Std => Format::Std,
        TraceFormat::Csv => Format::Csv,
    };
    // Read, not mapped: a mapped file that another program cuts would end this one.
    let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let imported = rapid::import(&text, format).with_context(|| {
        let (file, format) = (file.display(), format.name());
        format!("{file} is no {format} trace (docs/traces.md)")
    })?;
    let bad: Vec<String> = imported.bad.iter().map(ToString::to_string).collect();
    name(&bad, imported.bad_lines, "lines were left out");
    let run = named(imported.run, arguments);
    name_oddities(&run);
    let stored = RunFolder::new(&arguments.out).store(&run)?;
    outln!(
        "{} events of {} threads: {}",
        run.events.len(),
        run.meta.threads.len(),
        stored.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// The run with what the user knows of it: what ran, and that it failed. Where nothing is said the file's name stands for
/// the program that nobody knows.
fn named(run: Run, arguments: &ImportArguments) -> Run {
    let file = arguments.file.file_name();
    let file = file.unwrap_or(arguments.file.as_os_str());
    let name = arguments.of.clone();
    let name = name.unwrap_or_else(|| file.to_string_lossy().into_owned());
    let mut run = match arguments.failed {
        true => rapid::failed(run),
        false => run,
    };
    run.meta.command = vec![name];
    run
}

/// Names events that cannot have happened; they are analysed all the same.
fn name_oddities(run: &Run) {
    let orders = Orders::new(run);
    let told: Vec<String> = orders
        .anomalies()
        .iter()
        .take(NAMED)
        .map(|anomaly| {
            let event = run.events.get(anomaly.event);
            let who = event.map_or(String::new(), |event| thread_in_words(run, event.thread));
            let kind = anomaly.kind;
            format!("event {} ({who}): {kind}", u64::from(anomaly.event.0) + 1)
        })
        .collect();
    name(&told, orders.anomalies().len(), "oddities are in the trace");
}

fn name(texts: &[String], all: usize, what: &str) {
    for text in texts.iter().take(NAMED) {
        message::warning(text);
    }
    if all > texts.len().min(NAMED) {
        message::warning(&format!("{all} {what}, of which these are the first"));
    }
}
