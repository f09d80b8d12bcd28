//! The procedures by name, in the paper's order.

use super::{
    collect::{RunPairs, SeenPair},
    procedure_one::procedure_one,
    procedure_three::{Couple, Precision, procedure_three},
    procedure_two::{MissingPair, procedure_two},
};
use crate::{Budget, Corpus, RunSummary, StopReason};

/// A test procedure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Procedure {
    /// Procedure I: pairs that only the failing run has.
    One,
    /// Procedure II: pairs that the failing run lacks.
    Two,
    /// Procedure III: pairs that occur together only in the failing run.
    Three(Precision),
}

impl Procedure {
    /// All procedures in the paper's order, from the cheapest to the most precise.
    pub const ORDER: [Procedure; 5] = [
        Procedure::One,
        Procedure::Two,
        Procedure::Three(Precision::Pc),
        Procedure::Three(Precision::Tid),
        Procedure::Three(Precision::Loop),
    ];

    /// Name of the procedure, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Procedure::One => "I",
            Procedure::Two => "II",
            Procedure::Three(Precision::Pc) => "III-pc",
            Procedure::Three(Precision::Tid) => "III-tid",
            Procedure::Three(Precision::Loop) => "III-loop",
        }
    }

    /// The procedure with this name.
    pub fn from_name(name: &str) -> Option<Procedure> {
        let named = |procedure: &Procedure| procedure.name().eq_ignore_ascii_case(name);
        Procedure::ORDER.into_iter().find(named)
    }
}

/// Result of a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reported {
    /// A pair that only the failing run has.
    Seen(SeenPair),
    /// A pair that the failing run lacks.
    Missing(MissingPair),
    /// Two pairs that occur together only in the failing run.
    Couple(Couple),
}

/// All results of a procedure.
#[derive(Clone, Debug)]
pub struct Reports {
    /// Results in the order of occurrence.
    pub reported: Vec<Reported>,
    /// Number of couples that were too many to be distinguished.
    pub left_out: u64,
    /// Stop reason of the procedure.
    pub stopped: StopReason,
}

/// Runs one procedure on a failing run of a corpus.
pub fn localize(
    corpus: &Corpus,
    failing: &RunSummary,
    procedure: Procedure,
    budget: &Budget,
) -> Reports {
    let mut reports = Reports {
        reported: Vec::new(),
        left_out: 0,
        stopped: StopReason::Complete,
    };
    let Some(run) = &failing.run else {
        reports.stopped = StopReason::Lacks("the events of the failing run");
        return reports;
    };
    let counts = corpus.counts();
    match procedure {
        Procedure::One => {
            let found = procedure_one(run, &failing.pairs, counts);
            reports.reported = found.into_iter().map(Reported::Seen).collect();
        }
        Procedure::Two => {
            let found = procedure_two(&failing.pairs, counts);
            reports.reported = found.into_iter().map(Reported::Missing).collect();
        }
        Procedure::Three(precision) => {
            let passing: Vec<&RunPairs> = corpus.passing().map(|run| &*run.pairs).collect();
            let found = procedure_three(run, &failing.pairs, &passing, counts, precision, budget);
            reports.reported = found.couples.into_iter().map(Reported::Couple).collect();
            (reports.left_out, reports.stopped) = (found.left_out, found.stopped);
        }
    }
    reports
}
