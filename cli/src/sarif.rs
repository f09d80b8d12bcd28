//! Explanations as SARIF 2.1.0, for code scanning and its viewers.
//!
//! Viewers show the first thread flow, often only that: it is the interleaved schedule, every step with the name of its
//! thread. A flow for each thread follows.

use anyhow::Result;
use serde_json::{Value, json};
use serde_sarif::sarif::{
    ArtifactLocation, CodeFlow, Location, Message, PhysicalLocation, PropertyBag, Region,
    ReportingDescriptor, Result as Row, ResultKind, ResultLevel, Run, Sarif, Suppression,
    ThreadFlow, ThreadFlowLocation, Tool, ToolComponent,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
};
use unsnarl_core::{
    BugKind, Explanation, Place, Role, SiteMark, Step, render, suppressions::Suppressed,
};
use unsnarl_trace::files::read_text;

/// URI of the schema of this version.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log as JSON. `broken` are run files that were left out, each with the problem. Suppressed results stand behind
/// the others, with the source and the reason of the suppression.
pub fn sarif(
    explanations: &[&Explanation],
    suppressed: &[&Suppressed],
    broken: &[(String, String)],
) -> Result<String> {
    let mut places = Places::new();
    let mut results: Vec<Row> = explanations
        .iter()
        .map(|explanation| result(explanation, &mut places))
        .collect();
    for suppressed in suppressed {
        let mut row = result(&suppressed.explanation, &mut places);
        let by = Suppression::builder()
            .kind(json!("external"))
            .justification(&suppressed.because);
        row.suppressions = Some(vec![by.build()]);
        results.push(row);
    }
    let left = suppressed.iter().map(|suppressed| &suppressed.explanation);
    let kinds: BTreeSet<&'static str> = explanations
        .iter()
        .copied()
        .chain(left)
        .map(|explanation| explanation.kind.word())
        .collect();
    let driver = ToolComponent::builder()
        .name("unsnarl")
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .rules(kinds.into_iter().map(rule).collect::<Vec<_>>())
        .build();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .column_kind(json!("unicodeCodePoints"))
        .invocations(vec![invocation(broken)?])
        .results(results)
        .build();
    let log = Sarif::builder()
        .schema(SCHEMA)
        .version(json!("2.1.0"))
        .runs(vec![run])
        .build();
    Ok(serde_json::to_string_pretty(&log)?)
}

fn invocation(broken: &[(String, String)]) -> Result<serde_sarif::sarif::Invocation> {
    let notifications: Vec<Value> = broken
        .iter()
        .map(|(file, problem)| {
            json!({ "level": "warning", "message": { "text": format!("{file} was left out: {problem}") } })
        })
        .collect();
    let value = json!({
        "executionSuccessful": true,
        "toolExecutionNotifications": notifications,
    });
    Ok(serde_json::from_value(value)?)
}

fn result(explanation: &Explanation, places: &mut Places) -> Row {
    let (kind, level) = match explanation.kind {
        BugKind::Sequential => (ResultKind::Informational, ResultLevel::None),
        _ => (ResultKind::Fail, ResultLevel::Error),
    };
    let related = explanation.sites.iter().enumerate();
    let related: Vec<Location> = related
        .filter_map(|(at, site)| {
            let mut location = places.location(&site.place, &remark(site))?;
            location.id = Some(at as i64);
            Some(location)
        })
        .collect();
    let mut row = Row::builder()
        .rule_id(explanation.kind.word())
        .kind(kind)
        .level(level)
        .message(message(&said(explanation)))
        .locations(primary(explanation, places))
        .related_locations(related)
        .partial_fingerprints(BTreeMap::from([(
            "unsnarl/v1".to_owned(),
            explanation.id.clone(),
        )]))
        .properties(properties(explanation))
        .build();
    if !explanation.steps.is_empty() {
        row.code_flows = Some(vec![flows(&explanation.steps, places)]);
    }
    row
}

/// The message of a result: the failure, its threads, and the certainty.
fn said(explanation: &Explanation) -> String {
    let mut lines = vec![explanation.headline.clone()];
    let more = [
        &explanation.detail,
        &explanation.remark,
        &explanation.contrast,
    ];
    lines.extend(more.into_iter().filter(|line| !line.is_empty()).cloned());
    lines.extend(render::certainty(explanation));
    lines.extend(render::fix(explanation).map(|fix| format!("Fix: {fix}")));
    lines.join("\n")
}

/// The first line that a person would change, or else the place of the failure.
fn primary(explanation: &Explanation, places: &mut Places) -> Vec<Location> {
    let cause = explanation
        .sites
        .iter()
        .find(|site| site.role == Role::Cause)
        .map(|site| &site.place);
    let place = cause.or(explanation.failure.site.as_ref());
    place
        .and_then(|place| places.location(place, ""))
        .into_iter()
        .collect()
}

/// `deposit (main.1): write of balance`.
fn remark(site: &SiteMark) -> String {
    let what = match site.location.as_str() {
        "" => site.access.clone(),
        location => format!("{} of {location}", site.access),
    };
    format!("{}: {what}", site.thread)
}

fn flows(steps: &[Step], places: &mut Places) -> CodeFlow {
    let mut all = Vec::new();
    let mut by_thread: BTreeMap<&str, Vec<ThreadFlowLocation>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let location = flow_location(at, step, places);
        by_thread
            .entry(&step.thread)
            .or_default()
            .push(location.clone());
        all.push(location);
    }
    let interleaved = ThreadFlow::builder()
        .id("schedule")
        .message(message("the steps of all threads, in the order that fails"))
        .locations(all)
        .build();
    let each = by_thread.into_iter().map(|(thread, locations)| {
        let flow = ThreadFlow::builder().id(thread).message(message(thread));
        flow.locations(locations).build()
    });
    let flows: Vec<ThreadFlow> = std::iter::once(interleaved).chain(each).collect();
    CodeFlow::builder().thread_flows(flows).build()
}

fn flow_location(at: usize, step: &Step, places: &mut Places) -> ThreadFlowLocation {
    let mut words = format!("{}: {}", step.thread, step.effect);
    if !step.note.is_empty() {
        words.push_str(&format!(" ({})", step.note));
    }
    let location = places
        .location(&step.place, &words)
        .unwrap_or_else(|| Location::builder().message(message(&words)).build());
    ThreadFlowLocation::builder()
        .location(location)
        .execution_order(at as i64 + 1)
        .importance(json!("essential"))
        .build()
}

fn properties(explanation: &Explanation) -> PropertyBag {
    let confirmed = explanation.confirmed.map(|tally| json!(tally));
    let rows = [
        ("certainty", json!(explanation.certainty)),
        ("engines", json!(explanation.engines)),
        ("runs", json!(explanation.runs)),
        ("confirmed", confirmed.unwrap_or(Value::Null)),
    ];
    let rows = rows.map(|(key, value)| (key.to_owned(), value));
    PropertyBag::builder()
        .additional_properties(BTreeMap::from(rows))
        .build()
}

fn message(text: &str) -> Message {
    Message::builder().text(text).build()
}

fn rule(id: &'static str) -> ReportingDescriptor {
    let short = match id {
        "atomicity-violation" => "Accesses that were meant as one step were interrupted.",
        "multi-variable-atomicity-violation" => {
            "Accesses of several variables that were meant as one step were interrupted."
        }
        "order-violation" => "Two accesses ran in the order that was not meant.",
        "deadlock" => "Threads wait for each other.",
        "lost-wakeup" => "A thread waits for a signal that was sent before.",
        "use-after-free" => "Memory is used after it was given back.",
        _ => "Fails in every order: not a concurrency bug.",
    };
    let text = serde_sarif::sarif::MultiformatMessageString::builder().text(short);
    ReportingDescriptor::builder()
        .id(id)
        .short_description(text.build())
        .build()
}

/// Places in SARIF's form: paths relative to the current folder if they lie in it, columns in characters.
struct Places {
    here: Option<PathBuf>,
    files: BTreeMap<String, Option<String>>,
}

impl Places {
    fn new() -> Places {
        let here = env::current_dir().ok();
        Places {
            here,
            files: BTreeMap::new(),
        }
    }

    /// The location; `None` when the file is not known.
    fn location(&mut self, place: &Place, words: &str) -> Option<Location> {
        if place.file.is_empty() {
            return None;
        }
        let artifact = ArtifactLocation::builder()
            .uri(self.uri(&place.file))
            .build();
        let mut physical = PhysicalLocation::builder()
            .artifact_location(artifact)
            .build();
        if place.line > 0 {
            let mut region = Region::builder().start_line(place.line).build();
            region.start_column = self.column(place);
            physical.region = Some(region);
        }
        let mut location = Location::builder().physical_location(physical).build();
        if !words.is_empty() {
            location.message = Some(message(words));
        }
        Some(location)
    }

    fn uri(&self, file: &str) -> String {
        let path = Path::new(file);
        let inside = self
            .here
            .as_ref()
            .and_then(|here| path.strip_prefix(here).ok());
        match (inside, path.is_absolute()) {
            (Some(inside), _) => encoded(&inside.to_string_lossy()),
            (None, true) => format!("file://{}", encoded(file)),
            (None, false) => encoded(file),
        }
    }

    /// The column in characters. The recorded one counts bytes: it is converted by the line's text, if that still is
    /// the recorded one.
    fn column(&mut self, place: &Place) -> Option<i64> {
        let before = (place.column as usize).checked_sub(1)?;
        let line = place.line as usize - 1;
        let content = self
            .files
            .entry(place.file.clone())
            .or_insert_with(|| read_text(place.file.as_ref()).ok());
        let text = content.as_ref()?.lines().nth(line)?;
        if text.trim() != place.text {
            return None;
        }
        Some(text.get(..before)?.chars().count() as i64 + 1)
    }
}

/// A path with characters that a URI cannot hold percent-encoded.
fn encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
