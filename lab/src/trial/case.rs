//! Verdict of the runs of a search on one fix.

use super::{explore::Searched, needed::NeededLines};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use unsnarl_core::{
    Corpus, Explanation, FailurePlace,
    corpus::failure_place,
    facts::short,
    fixes::{
        Fix, Trial, TrialVerdict,
        constraint::{self, OrderVerdict},
    },
    render,
};
use unsnarl_recorder::record::Observed;
use unsnarl_trace::{Outcome, Run};

/// Failures that a fix is for, and those of other bugs.
#[derive(Clone)]
pub struct Failures {
    own: Vec<FailurePlace>,
    others: Vec<FailurePlace>,
}

impl Failures {
    /// Those of an explanation, and those of the runs that it does not explain.
    pub fn of(corpus: &Corpus, explanation: &Explanation) -> Failures {
        let own: Vec<FailurePlace> = std::iter::once(&explanation.failure)
            .chain(&explanation.also_fails)
            .cloned()
            .collect();
        let rest = corpus
            .failing()
            .filter(|run| !explanation.runs.contains(&run.name));
        let others = rest.filter_map(|run| run.failure.clone());
        Failures {
            others: others.filter(|place| !own.contains(place)).collect(),
            own,
        }
    }

    /// The same where the failures of other explanations, which blame the same data, are of this bug as well: a fix that
    /// leaves them does not hold.
    pub fn and_akin(mut self, akin: &[FailurePlace]) -> Failures {
        self.others.retain(|place| !akin.contains(place));
        self.own.extend_from_slice(akin);
        self
    }

    /// Is it the failure of another bug? What nobody has seen before is not: it may come of the fix. In an edited
    /// program (`is_edited`) lines are others.
    fn is_other(&self, place: &FailurePlace, is_edited: bool) -> bool {
        let function = |place: &FailurePlace| {
            let site = place.site.as_ref();
            site.map_or(String::new(), |site| site.function.clone())
        };
        let same = |known: &FailurePlace| match is_edited {
            false => known == place,
            true => (&known.message, function(known)) == (&place.message, function(place)),
        };
        !self.own.iter().any(same) && self.others.iter().any(same)
    }
}

/// Program that is explored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExploredProgram {
    /// The one that was recorded: schedules that the fix makes impossible are left out.
    AsItIs,
    /// The same, to learn how often it fails without a fix that changes more than the order.
    Without,
    /// The one with the fix made.
    Edited,
}

/// A fix that is tried.
pub struct FixCase<'a> {
    fix: &'a Fix,
    failures: Failures,
    /// Program that the runs are of.
    program: ExploredProgram,
    /// Runs that failed.
    pub failing: u64,
    /// The failing ones of the same bug.
    pub without: u64,
    /// Different orders of allowed runs that come to what the fix changes.
    reached: BTreeSet<String>,
    /// Runs that came there since the last order that was new.
    repeated: u64,
    /// Runs that the fix allows.
    pub allowed: u64,
    /// The failing ones of the same bug among them.
    pub failed: u64,
    /// Failure of the first of those.
    pub first: Option<String>,
    /// The file of the first of those, if runs are kept.
    pub file: Option<PathBuf>,
    /// A line on which a thread waits with the fix's lock held.
    pub waits: Option<u32>,
    /// Failures of other bugs in runs that it allows.
    pub stays: BTreeSet<String>,
    /// Runs of the edited program that did not come to an end.
    cut: u64,
    /// Lines that no run of the edited program has executed yet.
    needed: NeededLines,
}

impl<'a> FixCase<'a> {
    /// Runs that show what a program comes to.
    const MANY: u64 = 20;

    /// Tries it on the program as it is.
    pub fn constraint(fix: &'a Fix, failures: Failures) -> FixCase<'a> {
        FixCase {
            fix,
            failures,
            program: ExploredProgram::AsItIs,
            failing: 0,
            without: 0,
            reached: BTreeSet::new(),
            repeated: 0,
            allowed: 0,
            failed: 0,
            first: None,
            file: None,
            waits: None,
            stays: BTreeSet::new(),
            cut: 0,
            needed: NeededLines::default(),
        }
    }

    /// Only counts how often the program as it is fails.
    pub fn without(fix: &'a Fix, failures: Failures) -> FixCase<'a> {
        FixCase {
            program: ExploredProgram::Without,
            ..FixCase::constraint(fix, failures)
        }
    }

    /// Tries the program that the edit makes, which still has to come to these lines.
    pub fn edited(fix: &'a Fix, failures: Failures, needed: NeededLines) -> FixCase<'a> {
        FixCase {
            program: ExploredProgram::Edited,
            needed: needed.beside(fix),
            ..FixCase::constraint(fix, failures)
        }
    }

    /// Does it only count?
    pub fn is_without(&self) -> bool {
        self.program == ExploredProgram::Without
    }

    fn is_edited(&self) -> bool {
        self.program == ExploredProgram::Edited
    }

    /// Does it not hold?
    pub fn is_refuted(&self) -> bool {
        self.failed > 0
    }

    /// Takes a run in.
    pub fn see(&mut self, seen: &Observed<'_>) {
        let outcome = seen.outcome();
        if outcome.is_failure() {
            self.failing += 1;
            self.without += u64::from(!self.is_of_another(seen.run()));
        }
        self.cut += u64::from(self.is_edited() && outcome == Outcome::CutShort);
        let is_without = self.program == ExploredProgram::Without;
        if is_without || outcome == Outcome::CutShort || !self.allows(seen) {
            return self.refuse_without_end();
        }
        self.allowed += 1;
        // Putting a run together takes far longer than making it.
        if self.needed.missing().is_some() {
            self.needed.see(seen.run());
        }
        self.refuse_without_end();
        if !self.is_edited() && constraint::reaches(self.fix, seen.run()) {
            let is_new = self.reached.insert(seen.run().meta.order.clone());
            self.repeated = if is_new { 0 } else { self.repeated + 1 };
        }
        if outcome.is_failure() {
            self.fails(seen.run(), seen.file);
        }
    }

    /// An edited program of which some runs end, and others do not, is no mended one.
    fn refuse_without_end(&mut self) {
        if self.cut > 0 && self.allowed > 0 && self.failed == 0 {
            self.failed = self.cut;
            self.first = Some("it does not come to an end".to_owned());
        }
    }

    /// Notes that the runs were all: a program that does not come any more to what went wrong was not mended.
    pub fn end(&mut self) {
        let missing = self.needed.missing().filter(|_| self.failed == 0);
        if let Some(place) = missing.filter(|_| self.allowed >= Self::MANY) {
            self.failed = self.allowed;
            self.first = Some(format!("it never comes to {}", short(place)));
        }
    }

    fn is_of_another(&self, run: &Run) -> bool {
        let place = failure_place(run);
        place.is_some_and(|place| self.failures.is_other(&place, self.is_edited()))
    }

    fn allows(&mut self, seen: &Observed<'_>) -> bool {
        if self.is_edited() {
            return true;
        }
        match constraint::verdict(self.fix, seen.run()) {
            OrderVerdict::Excluded => false,
            OrderVerdict::Allowed => true,
            OrderVerdict::Waits(line) => {
                self.waits.get_or_insert(line);
                true
            }
        }
    }

    fn fails(&mut self, run: &Run, file: Option<&Path>) {
        let place = failure_place(run);
        let is_other = |place: &FailurePlace| self.failures.is_other(place, self.is_edited());
        let said = place
            .as_ref()
            .map_or_else(|| run.meta.outcome.name().to_owned(), render::failure);
        if place.as_ref().is_some_and(is_other) {
            self.stays.insert(said);
            return;
        }
        self.failed += 1;
        self.first.get_or_insert(said);
        self.file = self.file.take().or_else(|| file.map(Path::to_owned));
    }

    /// Result of exploring the edited program, where `without` runs of the same search failed without the edit.
    pub fn built(&self, searched: &Searched, without: u64) -> Trial {
        let shown = Trial {
            built: true,
            without,
            ..self.shown(searched)
        };
        match self.allowed {
            // What never ends tells nothing.
            0 => Trial {
                verdict: TrialVerdict::NotTried,
                reason: format!(
                    "built, but none of {} runs of it came to an end",
                    shown.schedules
                ),
                ..shown
            },
            _ => settled(shown),
        }
    }

    /// As data.
    pub fn trial(&self, searched: &Searched) -> Trial {
        settled(self.shown(searched))
    }

    fn shown(&self, searched: &Searched) -> Trial {
        Trial {
            verdict: match self.failed == 0 && self.allowed > 0 {
                true => TrialVerdict::Holds,
                false => TrialVerdict::DoesNotHold,
            },
            schedules: searched.schedules + searched.random,
            random: searched.random,
            allowed: self.allowed,
            failed: self.failed,
            reached: self.reached.len() as u64,
            repeated: self.repeated,
            without: self.without,
            failure: self.first.clone().unwrap_or_default(),
            bound: searched.bound,
            is_whole: searched.is_whole(),
            is_complete: searched.is_complete(),
            stays: self.stays.iter().cloned().collect(),
            waits: self.waits,
            built: false,
            reason: String::new(),
        }
    }
}

/// The trial, as one that was not made where its schedules do not settle it.
fn settled(trial: Trial) -> Trial {
    let why = trial.unsettled();
    match why.filter(|_| trial.verdict == TrialVerdict::Holds) {
        Some(reason) => Trial {
            verdict: TrialVerdict::NotTried,
            reason,
            ..trial
        },
        None => trial,
    }
}
