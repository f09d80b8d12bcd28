//! Requests of our own; `docs/lsp-extensions.md` describes them.

use crate::{
    encoding::Encoding,
    facts::{ExplainedFact, Folder},
    host::ServerState,
    jumps::{Jump, JumpKind},
    labels::label,
    marks::FollowedFiles,
    paths::Root,
    suppressed, to_proto,
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tower_lsp::lsp_types::Location;
use unsnarl_core::{
    EdgeKind, Explanation, Place,
    render::{TextWidth, text_within},
};

/// Answer of `unsnarl/explanations`.
#[derive(Clone, Debug, Serialize)]
pub struct ExplanationsResult {
    /// Best first within each workspace folder.
    pub explanations: Vec<ExplanationAndPlaces>,
    /// Id of the explanation whose steps are shown.
    pub selected: Option<String>,
    /// Explanations that the project calls harmless.
    pub suppressed: Vec<HiddenExplanation>,
}

/// An explanation that is not shown.
#[derive(Clone, Debug, Serialize)]
pub struct HiddenExplanation {
    /// Its id.
    pub id: String,
    /// Its first line.
    pub headline: String,
    /// Reason for which it is harmless.
    pub because: String,
}

/// An explanation as in `unsnarl explain --format json`, with the current places beside those of the run.
#[derive(Clone, Debug, Serialize)]
pub struct ExplanationAndPlaces {
    /// The explanation.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Program and arguments of the failing run; empty when its file cannot be read.
    pub command: Vec<String>,
    /// The folder that it ran in; empty likewise.
    pub directory: String,
    /// The folder that its runs were recorded in: commands about them are to be executed there.
    pub folder: PathBuf,
    /// Name of that folder, if the workspace has runs of several.
    pub label: Option<String>,
    /// The explanation as text for a person.
    pub text: String,
    /// Current places of its steps, in their order; null for those that cannot be followed.
    #[serde(rename = "stepLocations")]
    pub steps: Vec<Option<Location>>,
    /// Current places of its sites, in their order.
    #[serde(rename = "siteLocations")]
    pub sites: Vec<Option<Location>>,
    /// Names of its files that were not found: their places have no location for that reason.
    #[serde(rename = "notFound")]
    pub not_found: Vec<String>,
    /// Place of the failure.
    #[serde(rename = "failureLocation")]
    pub failure: Option<Location>,
}

impl ExplanationsResult {
    /// All explanations of the workspace.
    pub fn of(state: &ServerState) -> ExplanationsResult {
        let one = |(root, explained)| ExplanationAndPlaces::of(state, root, explained);
        ExplanationsResult {
            explanations: state.explained().map(one).collect(),
            selected: state
                .selected()
                .map(|(_, explained)| explained.explanation.id.clone()),
            suppressed: state.folders.iter().flat_map(harmless).collect(),
        }
    }
}

fn harmless(folder: &Folder) -> impl Iterator<Item = HiddenExplanation> {
    folder
        .suppressed()
        .map(|(explained, because)| HiddenExplanation {
            id: explained.explanation.id.clone(),
            headline: explained.explanation.headline.clone(),
            because: because.to_owned(),
        })
}

impl ExplanationAndPlaces {
    fn of(
        state: &ServerState,
        root: &Root,
        explained: &Arc<ExplainedFact>,
    ) -> ExplanationAndPlaces {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let now = |place: &Place| to_proto::location(&located.spot(place)?, state.encoding);
        let meta = explained.evidence.as_deref().map(|run| &run.meta);
        let explanation = explained.explanation.clone();
        ExplanationAndPlaces {
            steps: explanation
                .steps
                .iter()
                .map(|step| now(&step.place))
                .collect(),
            sites: explanation
                .sites
                .iter()
                .map(|site| now(&site.place))
                .collect(),
            failure: explanation.failure.site.as_ref().and_then(now),
            command: meta.map_or_else(Vec::new, |meta| meta.command.clone()),
            directory: meta.map_or_else(String::new, |meta| meta.directory.clone()),
            not_found: explained
                .files()
                .filter(|(_, recorded)| state.sources.find(root, recorded).is_none())
                .map(|(file, _)| file.clone())
                .collect(),
            folder: root.path.clone(),
            label: label(state, &root.path),
            text: unsnarl_core::render::text(&explanation),
            explanation,
        }
    }
}

/// Parameters of `unsnarl/texts`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TextsParams {
    /// The number of columns that there are to show them.
    pub columns: u32,
}

/// An explanation as text for a person, in one of the answers of `unsnarl/texts`.
#[derive(Clone, Debug, Serialize)]
pub struct ExplanationText {
    /// Id of the explanation.
    pub explanation: String,
    /// The text.
    pub text: String,
}

impl ExplanationText {
    /// The texts of all explanations of the workspace, in the order of [`ExplanationsResult`].
    pub fn all(state: &ServerState, params: TextsParams) -> Vec<ExplanationText> {
        let width = TextWidth::of(params.columns as usize);
        let one = |explanation: &Explanation| ExplanationText {
            explanation: explanation.id.clone(),
            text: text_within(explanation, width),
        };
        let all = state.explained();
        all.map(|(_, explained)| one(&explained.explanation))
            .collect()
    }
}

/// Parameters of `unsnarl/select`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SelectParams {
    /// Id of an explanation; none for the best one.
    #[serde(default)]
    pub explanation: Option<String>,
}

/// Answer of `unsnarl/select`.
#[derive(Clone, Debug, Serialize)]
pub struct SelectResult {
    /// Id of the explanation whose steps are shown now; none when nothing is explained. An unknown id selects the
    /// best one.
    pub selected: Option<String>,
}

/// Answer of `unsnarl/jumps`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JumpsResult {
    /// The jumps of the selected explanation first, steps before edges.
    pub jumps: Vec<JumpTo>,
}

/// A place to go to.
#[derive(Clone, Debug, Serialize)]
pub struct JumpTo {
    /// Id of the explanation that connects the two places.
    pub explanation: String,
    /// `next`, `previous`, or the kind of edge: `failing`, `passing`, `flow`, `waits-for`.
    pub kind: &'static str,
    /// Description for a person.
    pub title: String,
    /// The place.
    pub location: Location,
}

impl JumpsResult {
    /// Converts the jumps into the protocol's terms.
    pub fn of(jumps: Vec<Jump>, encoding: Encoding) -> JumpsResult {
        let one = |jump: Jump| {
            Some(JumpTo {
                location: to_proto::location(&jump.spot, encoding)?,
                kind: word(jump.way),
                explanation: jump.explanation,
                title: jump.title,
            })
        };
        JumpsResult {
            jumps: jumps.into_iter().filter_map(one).collect(),
        }
    }
}

fn word(way: JumpKind) -> &'static str {
    match way {
        JumpKind::NextStep => "next",
        JumpKind::PreviousStep => "previous",
        JumpKind::Edge(EdgeKind::Failing) => "failing",
        JumpKind::Edge(EdgeKind::Passing) => "passing",
        JumpKind::Edge(EdgeKind::Flow) => "flow",
        JumpKind::Edge(EdgeKind::WaitsFor) => "waits-for",
    }
}

/// The health of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// The server works completely.
    Ok,
    /// The server leaves something out; the message says what.
    Warning,
}

/// Answer of `unsnarl/status`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StatusResult {
    /// Health: whether the user has to look at something.
    pub health: Health,
    /// `true` if nothing is being analysed or waits for it.
    pub quiescent: bool,
    /// One line for a person.
    pub message: String,
    /// Run files that were read.
    pub runs: usize,
    /// Number of failing runs among them.
    pub failing: usize,
    /// Number of explanations.
    pub explanations: usize,
    /// Number of explanations that are suppressed.
    pub suppressed: usize,
    /// Number of failing runs without an explanation.
    pub unexplained: usize,
    /// Number of failing runs of outdated builds, of which nothing is shown.
    pub outdated: usize,
    /// `true` if the analysis ended before it had examined everything.
    #[serde(rename = "outOfTime")]
    pub out_of_time: bool,
    /// Number of older run files that are left out for lack of memory.
    #[serde(rename = "leftOut")]
    pub left_out: usize,
    /// Megabytes that the runs take, as estimated, and the limit.
    pub memory: MemoryInUse,
    /// Number of marks that are not shown because their line changed.
    pub stale: usize,
    /// Recorded source files that were not found, by their recorded paths.
    #[serde(rename = "notFound")]
    pub not_found: Vec<PathBuf>,
    /// Run files and folders that cannot be used, with the reason.
    pub broken: Vec<Unreadable>,
    /// Run folders that are watched.
    pub folders: Vec<PathBuf>,
}

/// Memory for runs, in megabytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct MemoryInUse {
    /// Memory that the runs take, as estimated from their files.
    pub runs: u64,
    /// Memory that they may take: the setting `memory`.
    pub limit: u64,
}

/// Something that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Unreadable {
    /// The file or folder.
    pub file: PathBuf,
    /// The reason, and the next step.
    pub reason: String,
}

impl StatusResult {
    /// The current status of the server.
    pub fn of(state: &ServerState) -> StatusResult {
        let facts = || {
            state
                .folders
                .iter()
                .filter_map(|folder| folder.facts.as_ref())
        };
        let broken = broken(state);
        let stale = state.marks().1;
        let mut status = StatusResult {
            health: if broken.is_empty() && state.watch_problem.is_none() {
                Health::Ok
            } else {
                Health::Warning
            },
            quiescent: state.quiescent,
            message: String::new(),
            runs: facts().map(|facts| facts.runs).sum(),
            failing: facts().map(|facts| facts.failing).sum(),
            explanations: state.explained().count(),
            suppressed: state
                .folders
                .iter()
                .map(|folder| folder.suppressed().count())
                .sum(),
            unexplained: facts().map(|facts| facts.unexplained_runs()).sum(),
            outdated: facts().map(|facts| facts.outdated).sum(),
            out_of_time: facts().any(|facts| facts.out_of_time),
            left_out: facts().map(|facts| facts.left_out).sum(),
            memory: MemoryInUse {
                runs: facts()
                    .map(|facts| facts.memory)
                    .sum::<u64>()
                    .div_ceil(1 << 20),
                limit: state.config.memory,
            },
            stale,
            not_found: state.not_found().into_iter().collect(),
            broken,
            folders: state
                .folders
                .iter()
                .map(|folder| folder.root.path.join(&state.config.runs_folder))
                .collect(),
        };
        status.message = message(&status, state.watch_problem.as_deref(), &by_folder(state));
        status
    }
}

/// The number of failing runs of each folder with runs, in words, if there are several.
fn by_folder(state: &ServerState) -> String {
    let folders = state.folders.iter().filter_map(|folder| {
        let facts = folder.facts.as_ref().filter(|facts| facts.runs > 0)?;
        let label = label(state, &folder.root.path)?;
        Some(format!("{label}: {} failing", facts.failing))
    });
    let folders: Vec<String> = folders.collect();
    match folders.is_empty() {
        true => String::new(),
        false => format!(" ({})", folders.join(", ")),
    }
}

fn broken(state: &ServerState) -> Vec<Unreadable> {
    let mut broken = Vec::new();
    for folder in &state.folders {
        broken.extend(folder.suppressions.as_ref().err().map(|reason| Unreadable {
            file: suppressed::file(&folder.root.path),
            reason: reason.clone(),
        }));
        let Some(facts) = &folder.facts else { continue };
        let unreadable = facts
            .unreadable
            .iter()
            .map(|reason| (&folder.root.path, reason));
        broken.extend(
            facts
                .broken
                .iter()
                .chain(unreadable)
                .map(|(file, reason)| Unreadable {
                    file: file.clone(),
                    reason: reason.clone(),
                }),
        );
    }
    broken
}

fn message(status: &StatusResult, watch_problem: Option<&str>, by_folder: &str) -> String {
    if let Some(problem) = watch_problem {
        return problem.to_owned();
    }
    let mut parts = Vec::new();
    match (status.quiescent, status.runs) {
        (false, _) => parts.push("analysing runs".to_owned()),
        (true, 0) => {
            parts.push("no runs yet: record some with `unsnarl record -- PROGRAM`".to_owned())
        }
        (true, runs) => parts.push(format!(
            "{}, {} failing, {}{by_folder}",
            count(runs, "run"),
            status.failing,
            count(status.explanations, "explanation")
        )),
    }
    if status.suppressed > 0 {
        parts.push(format!("{} suppressed", status.suppressed));
    }
    if status.unexplained > 0 {
        let runs = count(status.unexplained, "failing run");
        parts.push(format!("{runs} without an explanation: record more runs"));
    }
    if status.outdated > 0 {
        parts.push(format!(
            "{} of an older build not shown",
            count(status.outdated, "failing run")
        ));
    }
    if status.out_of_time {
        parts.push("the analysis ran out of time, there may be more to find".to_owned());
    }
    if status.left_out > 0 {
        parts.push(format!(
            "{} left out: the setting unsnarl.memory is {} MB",
            count(status.left_out, "older run"),
            status.memory.limit
        ));
    }
    if !status.broken.is_empty() {
        parts.push(format!(
            "{} cannot be read",
            count(status.broken.len(), "file")
        ));
    }
    if status.stale > 0 {
        parts.push(format!(
            "{} not shown, the lines changed since the run",
            count(status.stale, "mark")
        ));
    }
    if let Some(first) = status.not_found.first() {
        parts.push(not_found(first, status.not_found.len()));
    }
    parts.join("; ")
}

/// Text about recorded files that were not found: one of them, and their number.
pub fn not_found(one: &Path, number: usize) -> String {
    let others = match number {
        0 | 1 => String::new(),
        _ => format!(" and {}", count(number - 1, "other file")),
    };
    format!(
        "{}{others} not found: the setting unsnarl.sourceMap says where the sources are now",
        one.display()
    )
}

/// A count in words: `1 run`, `2 runs`.
pub fn count(number: usize, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}
