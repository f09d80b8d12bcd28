//! `unsnarl report`: the causes of failures over all builds, by how many runs have them.

use crate::{
    arguments::{ReportArguments, ReportFormat},
    explain::{LeftOutFile, broken},
    message,
};
use anyhow::Result;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};
use unsnarl_core::{
    Budget,
    causes::{Cause, Causes, RecordedBuild},
    render,
};
use unsnarl_lab::{
    load::{self, Loaded},
    pipeline::{self, BuildFinding},
};

/// Version of the JSON.
const JSON_VERSION: u32 = 1;

/// Share of the time for reading and summarizing runs, in hundredths.
const SUMMARIZING: u32 = 60;

/// The document; `docs/fleet.md` describes it.
#[derive(Serialize)]
struct CausesDocument<'a> {
    version: u32,
    causes: &'a [Cause],
    unexplained: &'a [&'a str],
    broken: Vec<LeftOutFile<'a>>,
}

/// Prints the causes.
pub fn run(arguments: &ReportArguments) -> Result<ExitCode> {
    let budget = Budget::lasting(arguments.budget);
    let mut loaded = load::load_within(arguments.place.as_deref(), arguments.memory)?;
    let corpora = loaded.summarize(&budget.percent(SUMMARIZING));
    let findings = pipeline::compare(&corpora, &loaded, &budget);
    let causes = causes(&findings, &loaded);
    let unexplained = findings.iter().flat_map(|finding| &finding.unexplained);
    let unexplained: Vec<&str> = unexplained.map(String::as_str).collect();
    match arguments.format {
        ReportFormat::Json => {
            let document = CausesDocument {
                version: JSON_VERSION,
                causes: &causes,
                unexplained: &unexplained,
                broken: broken(&loaded),
            };
            anstream::println!("{}", serde_json::to_string_pretty(&document)?);
        }
        ReportFormat::Html => anstream::print!("{}", render::causes(&causes, &unexplained)),
        ReportFormat::Text => print_text(&causes, &unexplained),
    }
    let fails = !causes.is_empty() || !unexplained.is_empty();
    Ok(ExitCode::from(u8::from(fails)))
}

fn causes(findings: &[BuildFinding<'_>], loaded: &Loaded) -> Vec<Cause> {
    let recorded = first_runs(loaded);
    let mut causes = Causes::default();
    for finding in findings {
        let key = finding.corpus.key();
        let program = key.command.first().map_or("", String::as_str);
        for explanation in &finding.explanations {
            let build = RecordedBuild {
                recorded: recorded.get(key.build_id.as_str()).copied().unwrap_or(0),
                build_id: key.build_id.clone(),
            };
            causes.add(explanation, program, build);
        }
    }
    suggest(&mut causes, loaded);
    causes.by_frequency()
}

/// Adds the fixes that `explain` and `verify` have told of these runs. Here nothing is executed.
fn suggest(causes: &mut Causes, loaded: &Loaded) {
    for told in loaded.told() {
        let mut runs = loaded.runs.iter();
        if let Some((_, run)) = runs.find(|(name, _)| *name == told.run) {
            causes.suggest(&told, &run.meta.build_id);
        }
    }
}

/// Time of the first run of each build.
fn first_runs(loaded: &Loaded) -> BTreeMap<&str, u64> {
    let mut first = BTreeMap::new();
    for (name, run) in &loaded.runs {
        let time = loaded.written.get(name).copied().map(milliseconds);
        if let Some(time) = time {
            let known = first.entry(run.meta.build_id.as_str()).or_insert(time);
            *known = time.min(*known);
        }
    }
    first
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn print_text(causes: &[Cause], unexplained: &[&str]) {
    for cause in causes {
        let runs = if cause.runs == 1 { "run" } else { "runs" };
        let builds = match cause.builds.len() {
            1 => "1 build".to_owned(),
            builds => format!("{builds} builds"),
        };
        let programs: Vec<&str> = cause.programs.iter().map(String::as_str).collect();
        outln!("{}  {}", cause.signature, cause.headline);
        outln!(
            "  {} {runs} of {builds} of {}, {}",
            cause.runs,
            programs.join(", "),
            cause.kind.word()
        );
        if let Some(fix) = &cause.fix {
            outln!("  fix {}: {} ({})", fix.name, fix.title, fix.in_words());
        }
        outln!("  next: unsnarl replay {}", cause.example);
    }
    if !unexplained.is_empty() {
        message::note(&format!(
            "failing runs without an explanation: {}",
            unexplained.join(", ")
        ));
    }
}
