//! Explanations of failures, as data. `docs/explain-json.md` documents the JSON of it.

use crate::{
    claims::{Claim, Counted},
    diagnosis::{
        Counterexample, CurvePoint, DecisiveStep, Evidence, ExperimentProgress, Ochiai, PassedOver,
        Perturbation,
    },
    facts::ToldValue,
    fixes::Fix,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unsnarl_trace::{EventKind, LeftLocal, RUNS, shell};

/// The class of a bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BugKind {
    /// Accesses to one location that were meant as one atomic step were interrupted.
    AtomicityViolation,
    /// Accesses to several locations that were meant as one atomic step were interrupted.
    MultiVariableAtomicityViolation,
    /// Two accesses ran in an unintended order.
    OrderViolation,
    /// Threads wait for each other in a cycle.
    Deadlock,
    /// A thread waits for a signal that was sent before.
    LostWakeup,
    /// Memory was used after it was freed.
    UseAfterFree,
    /// The program fails in every order.
    Sequential,
}

impl BugKind {
    /// Returns whether an order of steps is blamed, which a run may have or not have.
    pub fn is_order(self) -> bool {
        match self {
            Self::AtomicityViolation
            | Self::MultiVariableAtomicityViolation
            | Self::OrderViolation
            | Self::UseAfterFree => true,
            Self::Deadlock | Self::LostWakeup | Self::Sequential => false,
        }
    }

    /// Returns whether steps that belong together were interrupted.
    pub fn is_interruption(self) -> bool {
        matches!(
            self,
            Self::AtomicityViolation | Self::MultiVariableAtomicityViolation
        )
    }

    /// Name of the class, as in JSON; the pages under `docs/bugs` have these names.
    pub fn word(self) -> &'static str {
        match self {
            Self::AtomicityViolation => "atomicity-violation",
            Self::MultiVariableAtomicityViolation => "multi-variable-atomicity-violation",
            Self::OrderViolation => "order-violation",
            Self::Deadlock => "deadlock",
            Self::LostWakeup => "lost-wakeup",
            Self::UseAfterFree => "use-after-free",
            Self::Sequential => "sequential",
        }
    }
}

/// Certainty of an explanation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Confirmed by re-execution.
    Confirmed,
    /// Supported by several engines, not re-executed.
    Likely,
    /// Predicted, not reproduced.
    Possible,
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// File as the debug info names it; empty when unknown.
    pub file: String,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column in bytes, from 1; 0 when unknown.
    pub column: u32,
    /// Function.
    pub function: String,
    /// Source text of the line, trimmed.
    pub text: String,
}

/// Message and place of a failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailurePlace {
    /// Place of the failure; none for a timeout.
    pub site: Option<Place>,
    /// One line, as in [`unsnarl_trace::Failure::message`].
    pub message: String,
    /// `true` if only the status of the process tells the failure: the site is that of the last step before it ended.
    #[serde(default)]
    pub is_by_status: bool,
}

/// Role of a site in an explanation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A line that a person would change: the root cause.
    Cause,
    /// The interfering access of the other thread, in between or too early.
    Interference,
    /// An intermediate step, marked as a hint.
    Step,
    /// The site at which the run failed.
    Failure,
}

impl Role {
    /// Returns whether a site is one of those that an explanation blames: a cause, or what interferes.
    pub fn is_blamed(self) -> bool {
        matches!(self, Role::Cause | Role::Interference)
    }
}

/// One marked site.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteMark {
    /// Place in the source.
    #[serde(flatten)]
    pub place: Place,
    /// Thread with its function: `withdraw (main.2)`.
    pub thread: String,
    /// `read`, `write`, `lock`, ... ([`unsnarl_trace::EventKind::name`]).
    pub access: String,
    /// Location that it accesses.
    pub location: String,
    /// Role in the explanation.
    pub role: Role,
    /// Number of its step in [`Explanation::steps`], from 1, if it has one.
    pub step: Option<u32>,
}

/// One step of the failing run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Thread, by its place in the fork tree: `main.2`.
    pub thread: String,
    /// Place of the step in the source.
    pub place: Place,
    /// `read`, `write`, ...
    pub access: String,
    /// Location that it accesses.
    pub location: String,
    /// Effect in words: `reads 300`.
    pub effect: String,
    /// The value that it read or wrote, as it stands in `effect`; an update's is both: `3 to 4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ToldValue>,
    /// Remark, e.g. `in between`; empty when there is none.
    pub note: String,
    /// Row of its event in the run.
    pub event: u32,
    /// The calls that led there, innermost first, if they distinguish this step from others because its
    /// function is called from several places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Place>,
}

impl Explanation {
    /// The step that a mark is of; none where the failing run did not come there.
    pub fn step_of(&self, mark: &SiteMark) -> Option<&Step> {
        self.steps.get(mark.step?.checked_sub(1)? as usize)
    }

    /// The sites that it blames: causes, and what interferes.
    pub fn blamed(&self) -> impl Iterator<Item = &SiteMark> {
        self.sites.iter().filter(|mark| mark.role.is_blamed())
    }

    /// Names of the failing runs that it explains: first the one that its steps are from, so that what is said of values is
    /// said of the same run.
    pub fn runs_as_told(&self) -> impl Iterator<Item = &String> {
        let own = self.runs.iter().filter(|name| **name == self.run);
        own.chain(self.runs.iter().filter(|name| **name != self.run))
    }

    /// Returns whether all passing runs have its lines in this order as well, on whichever visit.
    #[must_use]
    pub fn is_in_all_passing(&self) -> bool {
        let is_order = |claim: &Claim| matches!(claim, Claim::After { .. });
        let mut claims = self.claims.iter();
        claims.any(|one| is_order(&one.claim) && one.of > 0 && one.holds_in == one.of)
    }

    /// Returns whether all passing runs have its lines in this order as well, or most of them lack the other order.
    #[must_use]
    pub fn is_usual_in_passing(&self) -> bool {
        let is_other = |claim: &Claim| matches!(claim, Claim::Before { .. });
        let mut claims = self.claims.iter();
        let is_rare = claims.any(|one| is_other(&one.claim) && one.holds_in * 2 < one.of);
        is_rare || self.is_in_all_passing()
    }
}

impl Step {
    /// Kind of an access; none of a step that accesses no data.
    pub fn access_kind(&self) -> Option<EventKind> {
        EventKind::from_name(&self.access).filter(|kind| kind.is_access())
    }

    /// Takes another effect, which has no value.
    pub fn does(&mut self, effect: impl Into<String>) {
        self.effect = effect.into();
        self.value = None;
    }
}

/// A step of passing runs that the failing run lacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Absent {
    /// Index in [`Explanation::steps`], from 0, of the step before which it is missing.
    pub before: u32,
    /// Thread that takes it: `main.2`; empty where several threads could.
    pub thread: String,
    /// Place of the step in the source.
    pub place: Place,
    /// Number of times that most passing runs have been there before the step that it is missing before.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
}

/// A local variable that other threads use after its function has returned.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct GoneLocal {
    /// Its name.
    pub variable: String,
    /// The function whose variable it is.
    pub function: String,
}

impl From<&LeftLocal> for GoneLocal {
    fn from(local: &LeftLocal) -> GoneLocal {
        GoneLocal {
            variable: local.variable.clone(),
            function: local.function.clone(),
        }
    }
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_once(times: &u32) -> bool {
    *times == once()
}

/// Kind of a connection between two steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// The order in the failing run.
    Failing,
    /// The order in passing runs.
    Passing,
    /// A data flow.
    Flow,
    /// One thread waits for the other.
    WaitsFor,
}

/// A connection between two sites: indices into [`Explanation::sites`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Edge {
    /// Index of the earlier site.
    pub from: u32,
    /// Index of the later site.
    pub to: u32,
    /// Kind of the connection.
    pub kind: EdgeKind,
}

/// Lines that should be atomic.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Region {
    /// File.
    pub file: String,
    /// First line.
    pub first: u32,
    /// Last line.
    pub last: u32,
    /// Function.
    pub function: String,
    /// The lock that guards the location already, if any.
    pub lock: Option<String>,
}

/// An error invariant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvariantMark {
    /// File.
    pub file: String,
    /// Line where it begins to hold.
    pub line: u32,
    /// Thread for which it holds.
    pub thread: String,
    /// The invariant in source names.
    pub text: String,
    /// `true` if it is about values other than addresses; `false` if it is about those, about the order of steps, or that none
    /// came.
    #[serde(default = "is_by_default")]
    pub is_of_values: bool,
    /// `true` if it bounds a value: what a variable just is says no more than the step that set it.
    #[serde(default)]
    pub is_bound: bool,
}

/// Returns `true`: an invariant that was kept before the two were told apart is shown as it was.
fn is_by_default() -> bool {
    true
}

/// Results of re-executing the failing order and the passing one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Number of failures of the failing order.
    pub fails: u32,
    /// Number of executions of the failing order.
    pub of_fails: u32,
    /// Number of passes of the passing order.
    pub passes: u32,
    /// Number of executions of the passing order.
    pub of_passes: u32,
}

/// Verdict of re-execution on an explanation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The failing order failed each time, another one passed each time.
    Confirmed,
    /// The failing order failed each time, but no other order was feasible.
    Unsettled,
    /// The failure did not recur.
    NotReproduced,
    /// Another order that should not fail failed in the same way: the explanation is wrong.
    Refuted,
    /// Nothing was executed.
    NotRun,
}

/// Result of re-executing the orders of an explanation; [`Explanation::confirmed`] has the numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Execution {
    /// Verdict on the explanation.
    pub verdict: Verdict,
    /// Description of the other order: `main.1 bank.c:38 after main.2 bank.c:51`, or a recorded run; empty
    /// without one.
    pub other: String,
    /// `true` if the other order is a recorded run that passed. Then `other` is its name.
    pub is_recorded: bool,
    /// Reason why it is not confirmed, in words; empty when it is.
    pub reason: String,
    /// Advice for that case; empty when there is none.
    pub next: String,
    /// Further results of the executions, a sentence each.
    pub says: Vec<String>,
    /// The run that refuted it, if it is refuted and the run was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<Counterexample>,
}

/// Contribution of one engine to an explanation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contribution {
    /// Name of the engine, as in [`Explanation::engines`].
    pub engine: String,
    /// Finding of the engine, in a sentence.
    pub says: String,
}

impl Explanation {
    /// Returns whether both blame the same lines for the same reason. Other elements of an array, and other
    /// iterations of a loop, make no difference.
    pub(crate) fn blames_as(&self, other: &Explanation) -> bool {
        let blamed = |one: &Explanation| {
            let marks = one.sites.iter().filter(|mark| mark.role != Role::Failure);
            let mut places: Vec<_> = marks.map(|mark| (mark.role, mark.place.clone())).collect();
            places.sort();
            places
        };
        self.id == other.id || self.kind == other.kind && blamed(self) == blamed(other)
    }

    /// Prepends a sentence to the remark.
    pub(crate) fn remark_first(&mut self, sentence: &str) {
        let remark = [sentence, &self.remark].join(" ");
        remark.trim().clone_into(&mut self.remark);
    }

    /// Appends a sentence to the remark.
    pub(crate) fn remark_last(&mut self, sentence: &str) {
        let remark = [&self.remark, sentence].join(" ");
        remark.trim().clone_into(&mut self.remark);
    }

    /// Adds an engine with its finding. Each engine has one finding.
    pub fn join(&mut self, engine: &str, says: String) {
        if self.engines.iter().any(|known| known == engine) {
            return;
        }
        self.engines.push(engine.to_owned());
        self.contributions.push(Contribution {
            engine: engine.to_owned(),
            says,
        });
    }
}

/// Explanation of one cause of failures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// Stable identifier over runs of the same corpus, made from class and sites.
    pub id: String,
    /// Class of the bug.
    pub kind: BugKind,
    /// Headline: the failure and its cause.
    pub headline: String,
    /// Threads and places involved, in one or two lines.
    pub detail: String,
    /// Reason why nothing prevented the failure, in one line: locks that are held or missing, joins, critical
    /// sections; empty when there is nothing to say.
    #[serde(default)]
    pub remark: String,
    /// Contrast with passing runs, in one line; empty when unknown.
    pub contrast: String,
    /// The queries over the kept runs that [`Explanation::contrast`] and the headline state, with their counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Counted>,
    /// Certainty of the explanation.
    pub certainty: Certainty,
    /// Names of the failing runs that it explains, in order; `replay` takes them.
    pub runs: Vec<String>,
    /// Those of them that fail at the same place without having what is blamed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_without: Vec<String>,
    /// Those of them in which the two threads meet the other way round: what comes in between is interrupted there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_mirrored: Vec<String>,
    /// The one of them that the steps are from; empty when there are no steps.
    #[serde(default)]
    pub run: String,
    /// Message and place of their failure.
    pub failure: FailurePlace,
    /// Other places where runs fail for this cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_fails: Vec<FailurePlace>,
    /// The relevant steps, in the order of execution.
    pub steps: Vec<Step>,
    /// Steps that are missing among them, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// The local variable that was used after its function had returned, where that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<GoneLocal>,
    /// The marked sites, causes first.
    pub sites: Vec<SiteMark>,
    /// Connections between sites.
    pub edges: Vec<Edge>,
    /// Lines that should be atomic.
    pub region: Option<Region>,
    /// Error invariants.
    pub invariants: Vec<InvariantMark>,
    /// Other schedules with the steps that the invariants rest on; none where none was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbed: Option<Perturbation>,
    /// Engines that support the explanation.
    pub engines: Vec<String>,
    /// Contributions of these engines, in the same order.
    #[serde(default)]
    pub contributions: Vec<Contribution>,
    /// Reason for its rank among the explanations, in a sentence; empty when not computed.
    #[serde(default)]
    pub rank: String,
    /// Counts of the re-executions.
    pub confirmed: Option<Tally>,
    /// Result of re-execution; none when it was not tried.
    #[serde(default)]
    pub executed: Option<Execution>,
    /// The steps of [`Explanation::run`] at which the share of failing continuations changes, in order; after
    /// the last one all fail. Empty when it was not measured, or when the outcome is not decided along the
    /// run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisive: Vec<DecisiveStep>,
    /// Failure rates with and without the blamed behaviour, everything else drawn at random; none when it was
    /// not tried, or is not feasible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Alternative explanations of the run that were tested in the same way and not chosen, in the order of
    /// the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<PassedOver>,
    /// Numbers of different orders of the runs that have the blamed order, where nothing was executed; none where no order is
    /// blamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ochiai: Option<Ochiai>,
    /// State of the experiments at the end of their time; none where there was time for all of them, or none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ExperimentProgress>,
    /// The measured points of that share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// `true` if only a comparison of runs speaks for it: a pair of accesses, or a pattern, that only failing runs have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_comparison: bool,
    /// It begins with a wait that ended without a signal: what systems allow, and hardly ever do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_spurious_wakeup: bool,
    /// Caveats for the reader: inexact runs, few passing runs.
    pub caveats: Vec<String>,
    /// Suggested changes of the program, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// Reasons why other changes are not suggested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_fixed: Vec<String>,
    /// The lack of the program, where no edit that is known can mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Explanation {
    /// The name of one of its fixes, as `unsnarl verify` takes it: the same wherever the fix stands among those that hold.
    #[must_use]
    pub fn name_of(&self, fix: &Fix) -> String {
        format!("{}:{}", self.id, fix.number)
    }

    /// The command that tries one of its fixes at length, where runs are named as here.
    #[must_use]
    pub fn verify_command(&self, fix: &Fix) -> String {
        let folder = Path::new(&self.run).parent();
        let is_usual = |folder: &Path| folder == Path::new(RUNS) || folder.as_os_str().is_empty();
        let place = folder.filter(|folder| !is_usual(folder));
        let place = place.map_or(String::new(), |folder| format!(" {}", shell::word(folder)));
        format!("unsnarl verify {}{place}", self.name_of(fix))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Budget, explain,
        fixes::{Fix, FixKind},
        fixture::corpus,
    };

    #[test]
    fn the_command_for_a_fix_names_another_folder_than_the_usual_one() {
        let lost = "main W n =0 @1\nmain fork main.1 @2\nmain.1 R n =0 @10\nmain W n =1 @3\nmain.1 W n =1 @11\nmain fails @4";
        let mut told = explain(&corpus(&[], &[lost]), &Budget::unlimited())
            .findings
            .remove(0);
        told.id = "ab".to_owned();
        let fix = Fix::edit(
            FixKind::MoveBehind,
            String::new(),
            Vec::new(),
            String::new(),
        );
        let mut command = |run: &str| {
            told.run = run.to_owned();
            told.verify_command(&fix)
        };
        assert_eq!(command(".unsnarl/runs/a.arrow"), "unsnarl verify ab:1");
        assert_eq!(command("a.arrow"), "unsnarl verify ab:1");
        assert_eq!(command("my runs/a.arrow"), "unsnarl verify ab:1 'my runs'");
    }

    #[test]
    fn the_run_that_is_shown_is_asked_first() {
        let lost = "main W n =0 @1\nmain fork main.1 @2\nmain.1 R n =0 @10\nmain W n =1 @3\nmain.1 W n =1 @11\nmain fails @4";
        let mut told = explain(&corpus(&[], &[lost]), &Budget::unlimited())
            .findings
            .remove(0);
        told.runs = vec!["a".to_owned(), told.run.clone(), "z".to_owned()];
        let names: Vec<&String> = told.runs_as_told().collect();
        assert_eq!(names, [&told.run, "a", "z"]);
    }
}
