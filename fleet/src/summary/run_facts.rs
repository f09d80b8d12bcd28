//! Facts about a run as a whole.

use super::signature::{failure_signature, short_hash};
use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};
use unsnarl_core::{corpus::failure_place, facts::basename};
use unsnarl_trace::{Run, RunMeta};

/// The facts that every row of a summary begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFacts {
    /// Id of the run, the same on every machine that has recorded it.
    pub run: String,
    /// Name of the run file.
    pub file: String,
    /// Time at which the run file was written, in milliseconds since 1970.
    pub recorded: i64,
    /// File name of the program.
    pub program: String,
    /// SHA-256 of the program's file.
    pub build: String,
    /// Arguments, separated by spaces.
    pub arguments: String,
    /// Strategy that chose the schedule.
    pub strategy: String,
    /// Its seed.
    pub seed: u64,
    /// The way in which the run ended.
    pub outcome: &'static str,
    /// The failure; none of a run that passed.
    pub failure: Option<FailureFacts>,
    /// Hash of the order of conflicting operations.
    pub order_class: String,
    /// Number of threads.
    pub threads: u64,
    /// Number of events.
    pub events: u64,
    /// Decision points that it passed.
    pub steps: u64,
}

/// Facts about a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureFacts {
    /// Word for its kind.
    pub kind: &'static str,
    /// Function of its place; empty when not known.
    pub function: String,
    /// Source file of its place.
    pub file: String,
    /// Line of its place; 0 when not known.
    pub line: u32,
    /// Its message.
    pub message: String,
    /// See [`failure_signature`].
    pub signature: String,
}

impl RunFacts {
    /// The facts of a run that is stored in this file since then.
    pub fn new(run: &Run, file: &str, recorded: SystemTime) -> RunFacts {
        let meta = &run.meta;
        RunFacts {
            run: id(meta),
            file: file.to_owned(),
            recorded: milliseconds(recorded),
            program: basename(&meta.program).to_owned(),
            build: meta.build_id.clone(),
            arguments: arguments(meta).join(" "),
            strategy: meta.strategy.clone(),
            seed: meta.seed,
            outcome: meta.outcome.name(),
            failure: failure(run),
            order_class: meta.order.clone(),
            threads: meta.threads.len() as u64,
            events: run.length(),
            steps: meta.steps,
        }
    }
}

/// The words behind the program.
fn arguments(meta: &RunMeta) -> &[String] {
    meta.command.get(1..).unwrap_or_default()
}

/// Hash of what makes the run repeat on any machine: build, arguments, choices, drawn numbers.
fn id(meta: &RunMeta) -> String {
    let seed = meta.seed.to_string();
    let schedule = meta.schedule.to_string();
    let chances = format!("{:?} {:?}", meta.chances, meta.mode);
    let mut parts = vec![
        meta.build_id.as_str(),
        &seed,
        &schedule,
        &chances,
        meta.outcome.name(),
    ];
    parts.extend(arguments(meta).iter().map(String::as_str));
    short_hash(parts)
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn failure(run: &Run) -> Option<FailureFacts> {
    let failure = run.meta.failure.as_ref()?;
    let place = failure_place(run).and_then(|failure| failure.site);
    let place = place.as_ref();
    Some(FailureFacts {
        kind: failure.kind.name(),
        function: place.map(|site| site.function.clone()).unwrap_or_default(),
        file: place
            .map(|site| relative(&run.meta, &site.file))
            .unwrap_or_default(),
        line: place.map_or(0, |site| site.line),
        message: failure.message.clone(),
        signature: failure_signature(run)?,
    })
}

/// A source file as seen from the folder in which the program ran, if it lies there: machines have it elsewhere.
pub(super) fn relative(meta: &RunMeta, file: &str) -> String {
    let within = Path::new(file).strip_prefix(&meta.directory).ok();
    within.and_then(Path::to_str).unwrap_or(file).to_owned()
}
