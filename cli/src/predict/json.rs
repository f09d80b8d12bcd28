//! Predictions as JSON; `docs/predict-json.md` describes it.

use super::{
    Report,
    verdict::{AnomalyVerdict, ExecutionVerdict, FindingTally, UnshownReason},
};
use crate::explain::stopped;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use unsnarl_core::{FailurePlace, facts::place, orders::Accesses};
use unsnarl_trace::Run;

/// Version of the JSON; it changes when readers have to.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct AnomaliesDocument<'a> {
    version: u32,
    predictions: Vec<Prediction<'a>>,
}

/// The predictions from one run.
#[derive(Serialize)]
struct Prediction<'a> {
    run: &'a str,
    command: &'a [String],
    build_id: &'a str,
    events: usize,
    threads: usize,
    shared_locations: usize,
    anomalies: Vec<AnomalyRow<'a>>,
    tally: FindingTally,
    times: PredictTimes,
    stopped: Option<String>,
    over_max: u64,
    interrupted: bool,
}

/// Times in milliseconds.
#[derive(Serialize)]
struct PredictTimes {
    analysis: f64,
    ordering: f64,
    executing: f64,
}

#[derive(Serialize)]
struct AnomalyRow<'a> {
    class: &'static str,
    pattern: &'a str,
    events: Vec<AnomalyStep>,
    verdict: &'static str,
    executed: u64,
    certain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<UnshownReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a FailurePlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<&'a str>,
}

#[derive(Serialize)]
struct AnomalyStep {
    thread: String,
    kind: &'static str,
    location: String,
    file: String,
    line: u32,
    column: u32,
}

/// Prints the document.
pub fn print(reports: &[Report], headlines: &BTreeMap<String, String>) -> Result<()> {
    let rows = reports.iter().map(|report| prediction(report, headlines));
    let document = AnomaliesDocument {
        version: VERSION,
        predictions: rows.collect(),
    };
    anstream::println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

fn prediction<'a>(report: &'a Report, headlines: &'a BTreeMap<String, String>) -> Prediction<'a> {
    let run = &report.subject.run;
    let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    let rows = report.findings.iter();
    Prediction {
        run: &report.subject.name,
        command: &run.meta.command,
        build_id: &run.meta.build_id,
        events: run.events.len(),
        threads: run.meta.threads.len(),
        shared_locations: Accesses::new(run).shared().count(),
        anomalies: rows
            .map(|finding| anomaly(run, finding, headlines))
            .collect(),
        tally: report.tally(),
        times: PredictTimes {
            analysis: milliseconds(report.analysis),
            ordering: milliseconds(report.ordering),
            executing: milliseconds(report.executing),
        },
        stopped: stopped(report.stopped),
        over_max: report.over,
        interrupted: report.interrupted,
    }
}

fn anomaly<'a>(
    run: &Run,
    finding: &'a AnomalyVerdict,
    headlines: &'a BTreeMap<String, String>,
) -> AnomalyRow<'a> {
    let mut anomaly = AnomalyRow {
        class: finding.candidate.class.name(),
        pattern: &finding.candidate.pattern,
        events: steps(run, finding),
        verdict: "",
        executed: finding.executed,
        certain: finding.certain,
        why: None,
        reason: None,
        failure: None,
        failing_run: None,
        headline: None,
    };
    match &finding.verdict {
        ExecutionVerdict::Failed(failed) => {
            anomaly.verdict = match failed.reached {
                true => "failed",
                false => "failed-before",
            };
            anomaly.failure = Some(&failed.failure);
            anomaly.failing_run = Some(&failed.run);
            anomaly.headline = headlines.get(&failed.run).map(String::as_str);
        }
        ExecutionVerdict::Harmless => anomaly.verdict = "harmless",
        ExecutionVerdict::Not { why, reason } => {
            anomaly.verdict = "not-reproduced";
            anomaly.why = Some(*why);
            anomaly.reason = Some(reason);
        }
    }
    anomaly
}

fn steps(run: &Run, finding: &AnomalyVerdict) -> Vec<AnomalyStep> {
    let events = finding.candidate.events.iter();
    let events = events.map(|id| run.events.event(*id));
    events
        .map(|event| {
            let place = place(run, event.site);
            AnomalyStep {
                thread: run.meta.thread(event.thread).name.clone(),
                kind: event.kind.name(),
                location: run.location(event.location).to_owned(),
                file: place.file,
                line: place.line,
                column: place.column,
            }
        })
        .collect()
}
