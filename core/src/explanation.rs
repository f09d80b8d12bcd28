//! What a person reads about one failure, as data. `docs/explain-json.md` documents the JSON of it.

use crate::{
    claims::Counted,
    diagnosis::{Counterexample, CurvePoint, DecisiveStep, Evidence, Ochiai, PassedOver, Progress},
    fixes::Fix,
};
use serde::{Deserialize, Serialize};

/// The class of a bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BugKind {
    /// Accesses to one location that were meant as one step were interrupted.
    AtomicityViolation,
    /// The same over several locations.
    MultiVariableAtomicityViolation,
    /// Two accesses ran in the order that was not meant.
    OrderViolation,
    /// Unordered conflicting accesses.
    DataRace,
    /// Threads wait for each other.
    Deadlock,
    /// A thread waits for a signal that was sent before.
    LostWakeup,
    /// Memory used after it was given back.
    UseAfterFree,
    /// Fails in every order.
    Sequential,
}

impl BugKind {
    /// The word for it, as in JSON; the pages under `docs/bugs` have these names.
    pub fn word(self) -> &'static str {
        match self {
            Self::AtomicityViolation => "atomicity-violation",
            Self::MultiVariableAtomicityViolation => "multi-variable-atomicity-violation",
            Self::OrderViolation => "order-violation",
            Self::DataRace => "data-race",
            Self::Deadlock => "deadlock",
            Self::LostWakeup => "lost-wakeup",
            Self::UseAfterFree => "use-after-free",
            Self::Sequential => "sequential",
        }
    }
}

/// How sure an explanation is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Re-executed.
    Confirmed,
    /// Engines agree, not re-executed.
    Likely,
    /// Predicted, not reproduced.
    Possible,
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// File as the debug info names it; empty when not known.
    pub file: String,
    /// Line, from 1; 0 when not known.
    pub line: u32,
    /// Column in bytes, from 1; 0 when not known.
    pub column: u32,
    /// Function.
    pub function: String,
    /// Source text of the line, trimmed.
    pub text: String,
}

/// Where and how the run failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailurePlace {
    /// Where; none for a timeout.
    pub site: Option<Place>,
    /// One line, as in [`unsnarl_trace::Failure::message`].
    pub message: String,
}

/// What a site does in an explanation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A line that a person would change: the root cause.
    Cause,
    /// The access of the other thread that came in between or too early.
    Interference,
    /// Seen on the way; a hint.
    Step,
    /// Where the run failed.
    Failure,
}

/// One marked site.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteMark {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Who, as people say it: `withdraw (main.2)`.
    pub thread: String,
    /// `read`, `write`, `lock`, ... ([`unsnarl_trace::EventKind::name`]).
    pub access: String,
    /// On what.
    pub location: String,
    /// What it does in the explanation.
    pub role: Role,
    /// Step number in [`Explanation::steps`], from 1, when it is one.
    pub step: Option<u32>,
}

/// One step of the failing run, in the order in which they ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Who: `main.2`.
    pub thread: String,
    /// Where.
    pub place: Place,
    /// `read`, `write`, ...
    pub access: String,
    /// On what.
    pub location: String,
    /// What it did, for a person: `reads 300`.
    pub effect: String,
    /// Remark, e.g. `in between`; empty when there is none.
    pub note: String,
    /// Row of the run that the step is.
    pub event: u32,
    /// The calls that led there, innermost first, where they tell this step from others: its function
    /// is called from several places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Place>,
}

/// What passing runs do at a point where the failing run does not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Absent {
    /// It is missing before this step, from 0: an index into [`Explanation::steps`].
    pub before: u32,
    /// Who does it: `main.2`; empty where several threads could.
    pub thread: String,
    /// Where.
    pub place: Place,
}

/// Why two steps are connected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// The order in the failing run.
    Failing,
    /// The order in passing runs.
    Passing,
    /// A value flowed.
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
    /// Why.
    pub kind: EdgeKind,
}

/// Lines that should be one step.
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
    /// The lock that guards the location already, if one does.
    pub lock: Option<String>,
}

/// An error invariant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvariantMark {
    /// File.
    pub file: String,
    /// Line where it begins to hold.
    pub line: u32,
    /// Who.
    pub thread: String,
    /// The invariant in source names.
    pub text: String,
}

/// How often the failing order failed and the other passed when they were run again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Failures of the failing order.
    pub fails: u32,
    /// Out of this many executions.
    pub of_fails: u32,
    /// Passes of the passing order.
    pub passes: u32,
    /// Out of this many executions.
    pub of_passes: u32,
}

/// What running orders again means for an explanation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The failing order failed each time, another one passed each time.
    Confirmed,
    /// The failing order failed each time, but no other one could be had.
    Unsettled,
    /// The failing run did not come again.
    NotReproduced,
    /// The order that should not fail failed in the same way: the explanation is wrong.
    Refuted,
    /// Nothing was executed.
    NotRun,
}

/// What came of running the orders of an explanation again; [`Explanation::confirmed`] has the numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Execution {
    /// What it means.
    pub verdict: Verdict,
    /// What the other order is: `main.1 bank.c:38 after main.2 bank.c:51`, or a recorded run; empty without one.
    pub other: String,
    /// Is the other order a recorded run that passed? Then `other` is its name.
    pub is_recorded: bool,
    /// Why it is not confirmed, in words; empty when it is.
    pub reason: String,
    /// What to do about that; empty when there is nothing.
    pub next: String,
    /// What else executing has shown, a sentence each.
    pub says: Vec<String>,
    /// The run that refuted it, if it is refuted and the run was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<Counterexample>,
}

/// What one engine says about an explanation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contribution {
    /// Its name, as in [`Explanation::engines`].
    pub engine: String,
    /// What it has found, in a sentence.
    pub says: String,
}

impl Explanation {
    /// Does it blame the same lines for the same reason? Other elements of an array, and other turns of a loop, are no other
    /// story.
    pub(crate) fn blames_as(&self, other: &Explanation) -> bool {
        let blamed = |one: &Explanation| {
            let marks = one.sites.iter().filter(|mark| mark.role != Role::Failure);
            let mut places: Vec<_> = marks.map(|mark| (mark.role, mark.place.clone())).collect();
            places.sort();
            places
        };
        self.id == other.id || self.kind == other.kind && blamed(self) == blamed(other)
    }

    /// Says a sentence before all others of the remark.
    pub(crate) fn remark_first(&mut self, sentence: &str) {
        let remark = [sentence, &self.remark].join(" ");
        remark.trim().clone_into(&mut self.remark);
    }

    /// Notes that an engine says so, and what it has found. An engine says one thing.
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

/// One explanation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// Stable over runs of the same corpus: made from class and sites.
    pub id: String,
    /// The class.
    pub kind: BugKind,
    /// First line: what went wrong.
    pub headline: String,
    /// Who did it, where, in one or two lines.
    pub detail: String,
    /// Why nothing prevented it, in one line: locks that are held or missing, joins, critical sections; empty
    /// when there is nothing to say.
    #[serde(default)]
    pub remark: String,
    /// What passing runs do instead, in one line; empty when nothing is known.
    pub contrast: String,
    /// The queries over the kept runs that [`Explanation::contrast`] and the headline state, with their counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Counted>,
    /// How sure.
    pub certainty: Certainty,
    /// Names of the failing runs that it explains, in order; `replay` takes them.
    pub runs: Vec<String>,
    /// The one of them that the steps are of; empty when there are no steps.
    #[serde(default)]
    pub run: String,
    /// Where and how they fail.
    pub failure: FailurePlace,
    /// Other places where runs fail for this cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_fails: Vec<FailurePlace>,
    /// The steps that matter, in the order in which they ran.
    pub steps: Vec<Step>,
    /// What is missing among them, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// The marked sites, causes first.
    pub sites: Vec<SiteMark>,
    /// Connections between sites.
    pub edges: Vec<Edge>,
    /// What should be one step.
    pub region: Option<Region>,
    /// Error invariants.
    pub invariants: Vec<InvariantMark>,
    /// Which engines say so.
    pub engines: Vec<String>,
    /// What each of them says, in the same order.
    #[serde(default)]
    pub contributions: Vec<Contribution>,
    /// Why it stands where it does among the others, in a sentence; empty when nobody has asked.
    #[serde(default)]
    pub rank: String,
    /// What re-execution showed: the numbers.
    pub confirmed: Option<Tally>,
    /// What re-execution showed; none when nobody has tried.
    #[serde(default)]
    pub executed: Option<Execution>,
    /// The steps of [`Explanation::run`] at which the share of failing continuations changes, in order; after the last one
    /// all fail. Empty when nobody has tried, or nothing is decided on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisive: Vec<DecisiveStep>,
    /// How often the program fails with what is blamed and without it, everything else drawn; none when nobody has tried,
    /// or it cannot be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Other stories of the run that were tried in the same way and not told, in the order in which they were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<PassedOver>,
    /// Numbers of different orders of the runs that have the blamed order, where nothing was executed; none where no order is
    /// blamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ochiai: Option<Ochiai>,
    /// State of the experiments at the end of their time; none where there was time for all of them, or none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The points of that share that were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// What the reader should know: inexact runs, few passing runs.
    pub caveats: Vec<String>,
    /// Changes of the program that are suggested, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// Why other changes are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_fixed: Vec<String>,
}
