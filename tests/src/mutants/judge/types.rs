//! The judgement of a mutant.

use serde::{Deserialize, Serialize};
use unsnarl_core::{BugKind, Certainty};

/// The behaviour of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The compiler refuses it.
    DoesNotBuild,
    /// No run failed.
    Passes,
    /// Some runs failed, some passed.
    Fails,
    /// All runs failed.
    AlwaysFails,
}

/// The first explanation, with its assessment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JudgedExplanation {
    /// Its class.
    pub class: BugKind,
    /// Its certainty.
    pub certainty: Certainty,
    /// `true` if the class is one of those that are right.
    pub is_class_right: bool,
    /// `true` if it blames a line that was changed, or that the changed code protected.
    pub is_region_right: bool,
    /// Headline; empty for held-back mutants.
    pub headline: String,
    /// Lines that it blames; empty for held-back mutants.
    pub lines: Vec<u32>,
    /// Reasons for which changes are not suggested; empty for held-back mutants.
    pub not_fixed: Vec<String>,
}

/// The result of trying the first fix.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TriedFix {
    /// `true` if the edited program can be built.
    pub builds: bool,
    /// `true` if no run of the edited program failed.
    pub holds: bool,
    /// Title of the fix; empty for held-back mutants.
    pub title: String,
}

/// All that is known about one mutant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// The mutant.
    pub id: String,
    /// Its operator.
    pub operator: String,
    /// Fingerprint of the mutant: a judgement about another text, or about another region, is invalid.
    pub mutant: String,
    /// Behaviour of the mutant.
    pub fate: Fate,
    /// The first explanation; `None` when there is no explanation, or nothing to explain.
    pub told: Option<JudgedExplanation>,
    /// Its first fix; `None` when none is offered.
    pub fix: Option<TriedFix>,
    /// Number of claims that are not true in the kept runs, over all explanations.
    pub false_claims: u32,
    /// Number of all claims.
    pub claims: u32,
}

impl Judgement {
    /// Removes everything about a single mutant beyond right and wrong.
    pub(super) fn withhold(&mut self) {
        if let Some(told) = &mut self.told {
            told.headline.clear();
            told.lines.clear();
            told.not_fixed.clear();
        }
        if let Some(fix) = &mut self.fix {
            fix.title.clear();
        }
    }
}

impl Fate {
    /// Returns whether the mutant counts as a bug.
    pub fn is_failure(self) -> bool {
        matches!(self, Fate::Fails | Fate::AlwaysFails)
    }
}
