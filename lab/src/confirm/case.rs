//! Results of executing one explanation, and their consequences for it.

use super::{attempt::is_whole, decide::Decision, directed::Directed};
use crate::dsp::{ExecutedProjection, Executor};
use unsnarl_core::{
    BugKind, Certainty, Execution, Explanation, Role, Tally, Verdict,
    diagnosis::{Evidence, FailingShare},
    explain::{ORDERS, Proposers, Turn, counted},
    explanation::Region,
    facts::{basename, short},
};
use unsnarl_symbolic::{dsp::Advice, dsp::projection_agrees};

/// Different orders that have to fail, and to pass, for recorded runs to stand for schedules that were drawn. What has nothing
/// to do with the failure is in all of so many failing orders, and in none of so many passing ones, with a chance of at
/// most 3^3 * 20^20 / 23^23, one in 7,000.
const FAILING: u32 = 3;
const PASSING: u32 = 20;

/// The reason why a story that goes with the failure is not its cause.
const TOO_LATE: &str =
    "all continuations of the run failed before this began, so that it may come of the cause";

/// Results of executing an explanation so far.
pub(super) struct Case<'e, 'a> {
    pub proposers: &'e Proposers<'e>,
    pub explanation: &'e mut Explanation,
    pub executor: Executor<'a>,
    pub tally: Tally,
    pub decision: Decision,
    /// It passes without a wakeup that was injected: that is no order, and no schedules are drawn for it.
    pub needs_a_wakeup: bool,
    /// All continuations of the run failed before what is told began.
    pub is_too_late: bool,
    pub says: Vec<String>,
}

/// An order that passed.
pub(super) struct PassedOrder {
    pub says: String,
    pub is_recorded: bool,
}

impl Case<'_, '_> {
    /// Judges a failure that should happen in all schedules, or a circle of waits, by schedules drawn from the start.
    pub fn whatever_the_schedule(&mut self) -> Option<(Verdict, String)> {
        let kind = self.explanation.kind;
        let always = self.decision.of_all_schedules();
        if let Some(share) = always.filter(|share| share.is_all()) {
            self.says.push(every_schedule(share));
            let is_settled = kind == BugKind::Sequential || self.is_seen_at_the_end();
            return is_settled.then(|| (Verdict::Confirmed, String::new()));
        }
        (kind == BugKind::Sequential).then(|| match always {
            Some(share) => (
                Verdict::Refuted,
                format!(
                    "{} of {} schedules that were drawn pass",
                    share.of - share.fails,
                    share.of
                ),
            ),
            None => (Verdict::Confirmed, String::new()),
        })
    }

    /// Returns whether it tells of waits that are there to be seen at the end of the run, whatever the order was: of a circle
    /// of them, or of a signal where no recorded run has passed.
    fn is_seen_at_the_end(&self) -> bool {
        match self.explanation.kind {
            BugKind::Deadlock => true,
            BugKind::LostWakeup => self.proposers.material().corpus.passing().next().is_none(),
            _ => false,
        }
    }

    /// Notes whether the lines that should be one step help as one step.
    pub fn region(&mut self, seen: &Directed) {
        if !self.explanation.kind.is_interruption() {
            return;
        }
        let passes = |turn| seen.passing.contains(&turn);
        let fails = |turn| seen.fails.iter().find(|failed| failed.turn == turn);
        let piece = piece(self.explanation);
        if passes(Turn::RegionFirst) && passes(Turn::OthersFirst) {
            let other = interfering(self.explanation);
            self.says.push(format!(
                "{}, whether {other} comes before or after.",
                uninterrupted(&piece)
            ));
        } else if passes(Turn::RegionFirst) && fails(Turn::OthersFirst).is_none() {
            self.says.push(format!("{}.", uninterrupted(&piece)));
        } else if fails(Turn::OthersFirst).is_some_and(|failed| failed.is_against)
            && passes(Turn::RegionFirst)
        {
            // One piece is not enough: it also has to come first.
            self.explanation.region = None;
            let other = interfering(self.explanation);
            self.says.push(format!(
                "Run again with {piece} in one piece and before {other}, it passes."
            ));
        }
    }

    /// The order that the engine dsp has executed, if that settles it; else why not.
    pub fn projected(&mut self, projection: &ExecutedProjection) -> Result<PassedOrder, String> {
        if let Some(reason) = &projection.unconfirmed {
            return Err(reason.clone());
        }
        if !projection.confirmed.is_some_and(is_whole) {
            return Err("no other order passed each time".to_owned());
        }
        let dsp = &projection.dsp;
        let operation = |at: u32| dsp.operations.get(at as usize);
        let in_words = |at: u32| {
            operation(at).map_or(String::new(), |one| {
                format!("{} {}", one.thread, short(&one.place))
            })
        };
        let flipped = dsp
            .flipped
            .map(|(first, second)| format!("{} before {}", in_words(second), in_words(first)));
        if !waits(self.explanation) && !projection_agrees(dsp, self.explanation) {
            let which = flipped.unwrap_or_else(|| "another order".to_owned());
            return Err(format!(
                "what passes is {which}\n  next: unsnarl explain --engine dsp shows both orders"
            ));
        }
        let says =
            "has executed an order in which these lines come the other way round, and it passes";
        self.explanation.join("dsp", says.to_owned());
        if let Some(Advice::Region { region, .. }) = &dsp.advice
            && is_of_story(self.explanation, region)
        {
            self.explanation.region = Some(region.clone());
            let piece = piece(self.explanation);
            self.says.push(format!("{}.", uninterrupted(&piece)));
        }
        Ok(PassedOrder {
            is_recorded: projection.recorded.is_some(),
            says: match &projection.recorded {
                Some(name) => name.clone(),
                None => flipped.unwrap_or_default(),
            },
        })
    }

    pub fn passes(mut self, other: PassedOrder, passes: u32, of: u32) -> Execution {
        self.tally.passes = passes;
        self.tally.of_passes = of;
        let contradicts = contradicts(self.explanation).filter(|_| !self.needs_a_wakeup);
        match contradicts.map(|says| (says, self.speaks_by_itself())) {
            None => {}
            Some((_, Some(recorded))) => self.says.push(recorded),
            Some((says, None)) => return self.ends(Verdict::Unsettled, Some(other), &says),
        }
        match is_whole(self.tally) {
            true => self.ends(Verdict::Confirmed, Some(other), ""),
            false => self.ends(
                Verdict::Unsettled,
                Some(other),
                "it does not end the same each time",
            ),
        }
    }

    /// The sentence of recorded runs that stand for schedules which were not drawn: all that fail have what is blamed, and
    /// none that passes. Only for a story that follows the steps of a run: what is found by comparing runs goes with the
    /// failure anyway.
    fn speaks_by_itself(&self) -> Option<String> {
        let told = &*self.explanation;
        let follows = told.engines.iter().any(|engine| engine == ORDERS);
        // Where the time was over, other stories may not have been tried that go with the failure as well.
        if told.progress.is_some()
            || told.evidence.is_some()
            || told.certainty != Certainty::Likely
            || !follows
        {
            return None;
        }
        let of = counted(self.proposers, told)?;
        let is_exact = of.failing_with == of.failing && of.passing_with == 0;
        (is_exact && of.failing >= FAILING && of.passing >= PASSING).then(|| {
            format!(
                "No schedules were drawn with it and without it; of the recorded runs all {} different orders that fail have \
                 it, and none of {} that pass.",
                of.failing, of.passing
            )
        })
    }

    pub fn ends(self, verdict: Verdict, other: Option<PassedOrder>, reason: &str) -> Execution {
        let refuted = refuted(self.explanation).filter(|_| !self.is_seen_at_the_end());
        self.explanation.confirmed = Some(self.tally);
        self.explanation.decisive = self.decision.steps;
        self.explanation.curve = self.decision.curve;
        let (verdict, reason) = match &refuted {
            Some(why) => (Verdict::Refuted, why.as_str()),
            None if verdict == Verdict::Confirmed && self.is_too_late => {
                (Verdict::Unsettled, TOO_LATE)
            }
            None => (verdict, reason),
        };
        let (reason, next) = reason.split_once("\n  next: ").unwrap_or((reason, ""));
        Execution {
            verdict,
            is_recorded: other.as_ref().is_some_and(|other| other.is_recorded),
            other: other.map_or(String::new(), |other| other.says),
            reason: reason.to_owned(),
            next: next.to_owned(),
            says: self.says,
            counterexample: None,
        }
    }
}

fn every_schedule(share: FailingShare) -> String {
    let orders = match share.orders {
        1 => "all in one order of conflicting steps".to_owned(),
        orders => format!("{orders} different orders of conflicting steps"),
    };
    format!(
        "All {} schedules that were drawn fail so ({orders}): as far as was tried it does not depend on the schedule.",
        share.of
    )
}

/// Threads that wait for ever have no accesses that another run could be without.
pub(super) fn waits(explanation: &Explanation) -> bool {
    matches!(explanation.kind, BugKind::Deadlock | BugKind::LostWakeup)
}

/// Returns whether it is told because what met follows from it. Schedules that went on to the meeting have shown that;
/// one schedule that does not go on to it shows nothing.
pub(super) fn is_guard(explanation: &Explanation) -> bool {
    explanation.passed_over.iter().any(|other| other.follows)
}

/// Returns whether schedules were drawn with it and without it that show it to be a cause.
pub(super) fn is_cause(explanation: &Explanation) -> bool {
    explanation.evidence.is_some_and(Evidence::is_cause)
}

/// Returns whether it is found in the runs, every schedule with it has failed, and none without it, of enough to be a cause.
pub(super) fn is_told_by_schedules(explanation: &Explanation) -> bool {
    let evidence = explanation.evidence;
    explanation.certainty != Certainty::Possible && evidence.is_some_and(Evidence::is_exact)
}

/// Returns whether hardly a schedule with it passes, and significantly more do without it: it is enough for the failure, which
/// other steps may bring about as well.
pub(super) fn is_enough(explanation: &Explanation) -> bool {
    let evidence = explanation.evidence;
    evidence.is_some_and(|evidence| evidence.tells() && evidence.suffices())
}

/// Returns whether a region is in the function that the explanation's own is in, if it has one: a piece of another function
/// is no part of what it tells.
fn is_of_story(explanation: &Explanation, region: &Region) -> bool {
    let own = explanation.region.as_ref();
    own.is_none_or(|own| (&own.file, &own.function) == (&region.file, &region.function))
}

/// `lines 46 to 54`, with the file where steps of another one are blamed: `lines 11 to 12 of main.c`.
pub(super) fn piece(explanation: &Explanation) -> String {
    let Some(region) = &explanation.region else {
        return "the two accesses".to_owned();
    };
    let lines = match region.first == region.last {
        true => format!("line {}", region.first),
        false => format!("lines {} to {}", region.first, region.last),
    };
    let mut blamed = explanation.sites.iter();
    match blamed.all(|mark| mark.place.file == region.file) {
        true => lines,
        false => format!("{lines} of {}", basename(&region.file)),
    }
}

/// `line 41 of payroll (main.1)`: what came in between; `buffer.h:35 of main`, where the lines are of another file.
fn interfering(explanation: &Explanation) -> String {
    let mut marks = explanation.sites.iter();
    let between = marks.find(|mark| mark.role == Role::Interference);
    let Some(mark) = between else {
        return "the other thread".to_owned();
    };
    let mut others = explanation.sites.iter();
    let beside = match &explanation.region {
        Some(region) => Some(&region.file),
        None => others.next().map(|mark| &mark.place.file),
    };
    match beside == Some(&mark.place.file) {
        true => format!("line {} of {}", mark.place.line, mark.thread),
        false => format!("{} of {}", short(&mark.place), mark.thread),
    }
}

/// The reason why it cannot be the cause: schedules with it fail no more often than those without it, of which many fail.
fn refuted(explanation: &Explanation) -> Option<String> {
    let evidence = explanation.evidence?;
    evidence.makes_no_difference().then(|| shares(evidence))
}

/// `8 of 8 schedules with it fail, and 2 of 8 without it`
fn shares(evidence: Evidence) -> String {
    let share = |share: FailingShare| format!("{} of {}", share.fails, share.of);
    format!(
        "{} schedules with it fail, and {} without it",
        share(evidence.with),
        share(evidence.without)
    )
}

/// Returns the reason why an order that passes is not enough: schedules drawn at random fail about as often without
/// what is blamed, or pass about as often with it, or none could be drawn; or all passing runs have it, and it has exceptions.
/// A circle of waits needs none.
pub(super) fn contradicts(explanation: &Explanation) -> Option<String> {
    match explanation.evidence {
        _ if explanation.kind == BugKind::Deadlock => None,
        // What no passing run is without is a cause only where experiments leave no exception.
        Some(evidence) if explanation.is_in_all_passing() && !evidence.is_exact() => Some(format!(
            "all passing runs have these lines in this order as well, and {}",
            shares(evidence)
        )),
        Some(evidence) if evidence.is_cause() && evidence.mostly_suffices() => None,
        Some(evidence) if evidence.is_cause() && both_suffice(explanation, evidence) => None,
        Some(evidence) => Some(shares(evidence)),
        None if explanation.progress.is_some() => {
            Some("the time was over before schedules were drawn with it and without it".to_owned())
        }
        None => Some("no other schedules could be drawn with it and without it".to_owned()),
    }
}

/// Returns whether most schedules fail that have what is told together with another order that the failure takes.
fn both_suffice(explanation: &Explanation, evidence: Evidence) -> bool {
    let mut both = explanation.passed_over.iter().filter_map(|one| one.both);
    both.any(|with| Evidence { with, ..evidence }.mostly_suffices())
}

/// Beginning of a sentence about the run that was executed so: others may take more.
fn uninterrupted(piece: &str) -> String {
    format!("Run again with {piece} in one piece, it passes")
}
