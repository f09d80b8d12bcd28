//! What is known about a mutant when it has been judged.

use serde::{Deserialize, Serialize};
use unsnarl_core::{BugKind, Certainty};

/// How a mutant behaves.
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

/// What the first explanation says, and whether that is right.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Told {
    /// Its class.
    pub class: BugKind,
    /// Its certainty.
    pub certainty: Certainty,
    /// The class is one of those that are right.
    pub is_class_right: bool,
    /// It blames a line that was changed, or that what was changed protected.
    pub is_region_right: bool,
    /// The headline; empty for what is held back.
    pub headline: String,
    /// Lines that it blames; none for what is held back.
    pub lines: Vec<u32>,
    /// Why changes are not suggested; nothing for what is held back.
    pub not_fixed: Vec<String>,
}

/// What came of the first fix.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TriedFix {
    /// The edited program can be built.
    pub builds: bool,
    /// No run of the edited program failed.
    pub holds: bool,
    /// What the fix does; empty for what is held back.
    pub title: String,
}

/// All that is known about one mutant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// The mutant.
    pub id: String,
    /// Its operator.
    pub operator: String,
    /// Its fingerprint: a judgement about another text, or by another region, is none.
    pub mutant: String,
    /// How it behaves.
    pub fate: Fate,
    /// The first explanation; none when there is no explanation, or nothing to explain.
    pub told: Option<Told>,
    /// The first fix of it; none when none is offered.
    pub fix: Option<TriedFix>,
    /// Claims that are not true in the kept runs, over all explanations.
    pub false_claims: u32,
    /// Claims in all.
    pub claims: u32,
}

impl Judgement {
    /// Leaves out all that one could learn about a single mutant beyond right and wrong.
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
    /// Does the mutant count as a bug?
    pub fn is_failure(self) -> bool {
        matches!(self, Fate::Fails | Fate::AlwaysFails)
    }
}
