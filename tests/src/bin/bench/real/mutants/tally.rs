//! Judgements of a project's mutants, and the row that comes of them.

use super::search::FoundFailure;
use crate::{mutants::store::Judged, table::median};
use serde::{Deserialize, Serialize};
use unsnarl_e2e::mutants::{
    Mutant,
    judge::{JudgedExplanation, fingerprint},
};

/// Columns of a project.
pub const HEAD: [&str; 11] = [
    "mutants",
    "tried",
    "do not build",
    "fail",
    "of these always",
    "found in CI",
    "median s",
    "largest s",
    "place right",
    "class right",
    "both",
];

/// All that is known about a mutant of a project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RealJudgement {
    id: String,
    /// Fingerprint of the mutant.
    mutant: String,
    /// `false` if the compiler refuses it.
    pub builds: bool,
    /// The failure that CI has found.
    pub found: Option<FoundFailure>,
    /// The search that failed where the first one of CI did not.
    pub reference: Option<String>,
    /// `true` if no run passed.
    pub always: bool,
    /// The first explanation.
    pub told: Option<JudgedExplanation>,
}

impl Judged for RealJudgement {
    fn mutant(&self) -> (&str, &str) {
        (&self.id, &self.mutant)
    }
}

impl RealJudgement {
    /// A judgement about a mutant of which nothing is known.
    pub fn of(mutant: &Mutant) -> RealJudgement {
        RealJudgement {
            id: mutant.id.clone(),
            mutant: fingerprint(mutant),
            builds: false,
            found: None,
            reference: None,
            always: false,
            told: None,
        }
    }

    fn fails(&self) -> bool {
        self.found.is_some() || self.reference.is_some()
    }

    fn is_told(&self, is_right: impl Fn(&JudgedExplanation) -> bool) -> bool {
        self.told.as_ref().is_some_and(is_right)
    }
}

/// One line about a mutant.
pub fn tell(judgement: &RealJudgement) {
    let told = match (&judgement.found, &judgement.told) {
        _ if !judgement.builds => "does not build".to_owned(),
        (None, _) => match &judgement.reference {
            Some(search) => format!("MISSED, fails by {search}"),
            None => "not shown to fail".to_owned(),
        },
        (Some(found), None) => format!("NOT EXPLAINED: {}", found.line),
        (Some(found), Some(told)) => format!(
            "{:.1} s, {}, {}: {:?} {:?} {}",
            found.seconds,
            if told.is_region_right {
                "place"
            } else {
                "WRONG PLACE"
            },
            if told.is_class_right {
                "class"
            } else {
                "WRONG CLASS"
            },
            told.class,
            told.lines,
            told.headline
        ),
    };
    eprintln!("{}: {told}", judgement.id);
}

/// The cells for [`HEAD`] about the tried ones of so many mutants.
pub fn cells(judged: &[RealJudgement], all: usize) -> Vec<String> {
    let count =
        |is_one: &dyn Fn(&RealJudgement) -> bool| judged.iter().filter(|one| is_one(one)).count();
    let found = judged.iter().filter_map(|one| one.found.as_ref());
    let seconds: Vec<u64> = found.map(|found| found.seconds.ceil() as u64).collect();
    let time = |seconds: Option<u64>| seconds.map_or("-".to_owned(), |seconds| seconds.to_string());
    vec![
        all.to_string(),
        judged.len().to_string(),
        count(&|one| !one.builds).to_string(),
        count(&RealJudgement::fails).to_string(),
        count(&|one| one.always).to_string(),
        count(&|one| one.found.is_some()).to_string(),
        time(median(&seconds)),
        time(seconds.iter().max().copied()),
        count(&|one| one.is_told(|told| told.is_region_right)).to_string(),
        count(&|one| one.is_told(|told| told.is_class_right)).to_string(),
        count(&|one| one.is_told(|told| told.is_region_right && told.is_class_right)).to_string(),
    ]
}
