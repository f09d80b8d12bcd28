//! Of the stories of one run the one that experiments bear out.

use super::{
    decide::Decision,
    experiment::{Experiment, Experiments, Trial},
};
use anyhow::Result;
use std::{collections::BTreeSet, time::Duration};
use unsnarl_core::{
    Budget, BugKind, Certainty, Explanation, Role,
    diagnosis::{DecisiveStep, Evidence, PassedOver, Progress, Shows, TriedProposal},
    explain::{Proposals, Proposer, Proposers, ends_in_the_check},
};
use unsnarl_trace::{EventId, Run};

/// Proposals of one engine that are tried.
const OTHERS: usize = 8;

/// How much more of a difference another story has to make to be told instead: two standard deviations of the difference of
/// two shares near 85 % of 30 samples.
const BETTER: f64 = 0.2;

/// Time for listing proposals when there is none left for trying them.
const LISTING: Duration = Duration::from_secs(1);

/// Tries what the explanation blames, and what else engines propose for its run where that does not settle it; the
/// explanation becomes the one that is borne out best, with its evidence. A story that explains other runs already
/// (`known`, by id) is told of this one as well if it holds here: one cause may fail in several places.
pub fn choose(
    proposers: &Proposers<'_>,
    known: &[String],
    trials: &dyn Experiments,
    explanation: &mut Explanation,
    decision: &Decision,
    budget: &Budget,
) -> Result<()> {
    let steps = decision.steps.iter().map(|step| EventId(step.event));
    let steps: Vec<EventId> = steps.collect();
    let first = explanation.clone();
    let proposals = || proposers.instead_of(&first, &steps);
    if !known.is_empty() && !known.contains(&first.id) && is_open(&first) {
        let others = proposers.all().flat_map({
            let mut proposals = proposals();
            move |engine| proposals.by(engine, budget)
        });
        let others = others.filter(|other| known.contains(&other.id));
        if let Some(told) = known_cause(others, trials, decision, budget)? {
            *explanation = told;
            return Ok(());
        }
    }
    let mut choice = Choice::new(trials, decision, budget);
    choice.try_first(explanation)?;
    if is_open(explanation) {
        let mut proposals = proposals();
        for engine in proposers.all() {
            choice.ask(engine, &mut proposals, explanation)?;
        }
    }
    choice.note(explanation);
    Ok(())
}

/// How far experiments have come for which there was no time at all.
pub fn untried(proposers: &Proposers<'_>, explanation: &Explanation) -> Progress {
    let mut progress = Progress::default();
    progress.not_tried.push(explanation.headline.clone());
    if is_open(explanation) {
        let mut proposals = proposers.instead_of(explanation, &[]);
        let engines = proposers.all();
        engines.for_each(|engine| leave_out(engine, &mut proposals, &mut progress));
    }
    progress
}

/// Notes what an engine proposes as not tried. One that only speaks where experiments can decide is not asked.
fn leave_out(engine: &dyn Proposer, proposals: &mut Proposals<'_>, progress: &mut Progress) {
    if !engine.stands_alone() {
        progress.not_asked.push(engine.name().to_owned());
        return;
    }
    let others = proposals.by(engine, &Budget::lasting(LISTING)).into_iter();
    let others = others.take(OTHERS).map(|other| other.headline);
    progress.not_tried.extend(others);
}

/// A story that explains other runs, if one is as clear here.
fn known_cause(
    others: impl Iterator<Item = Explanation>,
    trials: &dyn Experiments,
    decision: &Decision,
    budget: &Budget,
) -> Result<Option<Explanation>> {
    for other in others {
        let Some(found) = trials.experiment(&other, budget)?.made else {
            continue;
        };
        let evidence = Some(found.evidence);
        let tried = Tried::new(found, &other, trials.run(), decision);
        if tried.is_settled() {
            return Ok(Some(Explanation { evidence, ..other }));
        }
    }
    Ok(None)
}

/// A run that speaks against a proposal, and what it shows.
type Against = Option<(Shows, Box<Run>)>;

/// The search for the story that is borne out best.
struct Choice<'c> {
    trials: &'c dyn Experiments,
    decision: &'c Decision,
    budget: &'c Budget,
    best: Option<Tried>,
    /// A run that speaks against what is told.
    against: Against,
    others: Vec<Other>,
    progress: Progress,
    /// The time was over before all was tried.
    is_cut: bool,
}

impl<'c> Choice<'c> {
    fn new(trials: &'c dyn Experiments, decision: &'c Decision, budget: &'c Budget) -> Choice<'c> {
        Choice {
            trials,
            decision,
            budget,
            best: None,
            against: None,
            others: Vec::new(),
            progress: Progress::default(),
            is_cut: false,
        }
    }

    fn is_settled(&self) -> bool {
        self.best.as_ref().is_some_and(Tried::is_settled)
    }

    fn tells(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.tells())
    }

    /// Nothing fails without what is told, but it is not enough by itself.
    fn is_part(&self) -> bool {
        let best = self.best.as_ref().map(|best| best.experiment.evidence);
        best.is_some_and(|best| best.tells() && best.is_necessary() && !best.suffices())
    }

    /// Schedules with what is told fail no more often than those without it.
    fn is_contradicted(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.effect() <= 0.0)
    }

    /// Makes the experiment on a proposal and notes that it was made.
    fn experiment(&mut self, proposal: &Explanation) -> Result<Trial> {
        let trial = match self.budget.stop() {
            None => self.trials.experiment(proposal, self.budget)?,
            Some(_) => Trial {
                is_unfinished: true,
                ..Trial::default()
            },
        };
        self.is_cut |= trial.is_unfinished;
        let headline = proposal.headline.clone();
        match trial.is_unfinished && trial.schedules == 0 {
            true => self.progress.not_tried.push(headline),
            false => self.progress.tried.push(TriedProposal {
                headline,
                schedules: trial.schedules,
                is_unfinished: trial.is_unfinished,
            }),
        }
        Ok(trial)
    }

    /// Tries what is told without an experiment.
    fn try_first(&mut self, told: &mut Explanation) -> Result<()> {
        let trial = self.experiment(told)?;
        told.evidence = trial.made.as_ref().map(|own| own.evidence);
        let run = self.trials.run();
        let made = trial.made;
        self.best = made.map(|own| Tried::new(own, told, run, self.decision));
        self.against = trial.against;
        Ok(())
    }

    /// Tries what an engine proposes, unless what is told is clear enough.
    fn ask(
        &mut self,
        engine: &dyn Proposer,
        proposals: &mut Proposals<'_>,
        told: &mut Explanation,
    ) -> Result<()> {
        let is_clear_enough = match engine.stands_alone() {
            true => self.is_settled(),
            false => self.tells() && !self.is_part(),
        };
        if is_clear_enough {
            return Ok(());
        }
        if self.budget.stop().is_some() {
            self.is_cut = true;
            leave_out(engine, proposals, &mut self.progress);
            return Ok(());
        }
        // Where no comparison of runs suggests it, experiments have to be clear. What is told already stays, but may take
        // more.
        let is_clear: fn(&Tried) -> bool = match (engine.stands_alone(), self.tells()) {
            (true, _) => |_| true,
            (false, true) => |_| false,
            (false, false) => Tried::is_settled,
        };
        self.try_all(told, proposals.by(engine, self.budget), is_clear)
    }

    /// Tries other stories; one that is borne out better takes the place of what is told.
    fn try_all(
        &mut self,
        told: &mut Explanation,
        others: Vec<Explanation>,
        is_clear: fn(&Tried) -> bool,
    ) -> Result<()> {
        for other in others.into_iter().take(OTHERS) {
            let trial = self.experiment(&other)?;
            if trial.is_unfinished {
                continue;
            }
            let evidence = trial.made.as_ref().map(|found| found.evidence);
            let run = self.trials.run();
            let found = trial.made;
            let found = found.map(|found| Tried::new(found, &other, run, self.decision));
            let other = Explanation { evidence, ..other };
            // What the runs speak for, but cannot be tried, gives way only to what is enough by itself.
            let is_open = self.best.is_some() || told.certainty != Certainty::Likely;
            let is_better = |it: &Tried| {
                let is_enough = is_open || it.experiment.evidence.suffices();
                is_clear(it) && is_enough && it.is_better_than(self.best.as_ref())
            };
            if found.as_ref().is_some_and(is_better) {
                let known = std::mem::replace(&mut self.best, found);
                let against = std::mem::replace(&mut self.against, trial.against);
                let told = std::mem::replace(told, other);
                self.pass_over(&told, known.as_ref(), against);
            } else {
                self.pass_over(&other, found.as_ref(), trial.against);
            }
        }
        Ok(())
    }

    /// Notes a story that is not told, and keeps the run that speaks against it.
    fn pass_over(&mut self, other: &Explanation, tried: Option<&Tried>, against: Against) {
        let mut other = Other::of(other, tried);
        let kept = against.and_then(|against| self.trials.keep(against));
        other.passed_over.counterexample = kept;
        self.others.push(other);
    }

    /// Says on what is told how it was chosen.
    fn note(mut self, told: &mut Explanation) {
        if self.is_contradicted() {
            told.certainty = Certainty::Possible;
        }
        if let Some(best) = self.best.as_ref().filter(|_| self.is_part()) {
            needed(told, best, &mut self.others);
        }
        let others = self.others.into_iter();
        told.passed_over = others.map(|other| other.passed_over).collect();
        if self.is_cut {
            told.progress = Some(self.progress);
        }
    }
}

/// A story that was tried and is not told.
struct Other {
    passed_over: PassedOver,
    /// Files and lines that it blames.
    lines: Lines,
    /// Where what it blames is complete, if experiments could be made.
    complete: Option<EventId>,
}

type Lines = BTreeSet<(String, u32)>;

impl Other {
    fn of(explanation: &Explanation, tried: Option<&Tried>) -> Other {
        Other {
            passed_over: PassedOver {
                headline: explanation.headline.clone(),
                engines: explanation.engines.clone(),
                evidence: explanation.evidence,
                ..PassedOver::default()
            },
            lines: lines(explanation),
            complete: tried.map(|tried| tried.experiment.orders.complete),
        }
    }

    /// Does nothing fail without it either, though it is complete before `end`?
    fn is_needed(&self, end: EventId) -> bool {
        let is_needed = |evidence: Evidence| evidence.tells() && evidence.is_necessary();
        self.passed_over.evidence.is_some_and(is_needed) && self.complete.is_some_and(|at| at < end)
    }
}

fn lines(explanation: &Explanation) -> Lines {
    let marks = explanation.sites.iter();
    let blamed = marks.filter(|mark| matches!(mark.role, Role::Cause | Role::Interference));
    let lines = blamed.map(|mark| (mark.place.file.clone(), mark.place.line));
    lines.collect()
}

/// Marks the stories that the failure takes as well: as far as each blames a line that none before it does, and what comes
/// of what is told apart.
fn needed(told: &Explanation, best: &Tried, others: &mut [Other]) {
    let mut known = lines(told);
    let end = best.experiment.orders.complete;
    for other in others.iter_mut().filter(|other| other.is_needed(end)) {
        if !other.lines.is_subset(&known) {
            other.passed_over.needed = true;
            known.append(&mut other.lines);
        }
    }
}

/// May it be another story? A circle of waits is one, and so is a signal that was lost; that a signal never comes may have
/// its reason in the order of accesses.
fn is_open(explanation: &Explanation) -> bool {
    match explanation.kind {
        BugKind::Deadlock | BugKind::Sequential => false,
        BugKind::LostWakeup => explanation.certainty == Certainty::Possible,
        _ => true,
    }
}

/// Kinds of stories that may say no more than what the failing check reads.
fn ends_with_a_look(kind: BugKind) -> bool {
    matches!(
        kind,
        BugKind::OrderViolation | BugKind::MultiVariableAtomicityViolation
    )
}

/// A story that was tried.
struct Tried {
    experiment: Experiment,
    /// The line at which what it blames is complete.
    ends_at: Option<(String, u32)>,
    /// Steps that belong together were interrupted.
    is_interruption: bool,
    /// It ends with what the failing check reads: perhaps a symptom.
    is_symptom: bool,
    /// A step that decides lies within it, as far as any is known.
    spans: bool,
}

impl Tried {
    fn new(
        experiment: Experiment,
        explanation: &Explanation,
        run: &Run,
        decision: &Decision,
    ) -> Tried {
        let line = |row: EventId| {
            let event = run.events.get(row)?;
            let site = run.meta.site(event.site);
            Some((site.file.as_str(), site.line))
        };
        let complete = experiment.orders.complete;
        let within = |row: u32| (experiment.begins.0..=complete.0).contains(&row);
        // Where the share of failing continuations grows step by step, no single one decides.
        let is_gradual = !decision.steps.iter().any(DecisiveStep::is_jump);
        let mut steps = decision.steps.iter();
        Tried {
            ends_at: line(complete).map(|(file, line)| (file.to_owned(), line)),
            is_interruption: matches!(
                explanation.kind,
                BugKind::AtomicityViolation | BugKind::MultiVariableAtomicityViolation
            ),
            is_symptom: ends_with_a_look(explanation.kind) && ends_in_the_check(run, complete),
            spans: is_gradual || steps.any(|step| within(step.event)),
            experiment,
        }
    }

    /// Is it an interruption that ends with the order of which the other one tells, and began before?
    fn has_more_than(&self, other: &Tried) -> bool {
        self.is_interruption
            && !other.is_interruption
            && self.experiment.begins < other.experiment.begins
            && self.ends_at == other.ends_at
    }

    /// Nothing else has to be looked at.
    fn is_settled(&self) -> bool {
        const ENOUGH: f64 = 0.7;
        let evidence = self.experiment.evidence;
        let is_cause = evidence.tells() && evidence.is_necessary();
        is_cause && evidence.effect() >= ENOUGH && self.spans && !self.is_symptom
    }

    /// What makes much more of a difference comes before what makes less, and that without which nothing fails before what
    /// the program fails without as well. What ends with what the check reads says no more than that the check fails: it
    /// gives way to what was complete before and is about as good, and to an interruption without which nothing fails,
    /// however often that is enough by itself. An order without which nothing fails may just be the way there.
    fn is_better_than(&self, other: Option<&Tried>) -> bool {
        let Some(other) = other else {
            return self.is_settled();
        };
        let (own, known) = (self.experiment.evidence, other.experiment.evidence);
        let more = own.effect() - known.effect();
        let is_earlier = self.experiment.orders.complete < other.experiment.orders.complete;
        let replaces_symptom = other.is_symptom && !self.is_symptom && is_earlier;
        let explains_all = own.is_necessary() && !known.is_necessary() && more > 0.0;
        let is_cause = self.is_interruption && own.is_necessary() || more > -BETTER / 2.0;
        let says_less = self.is_symptom && !other.is_symptom && known.is_necessary();
        let is_better = more >= BETTER && !says_less
            || explains_all
            || replaces_symptom && self.spans && is_cause
            || self.has_more_than(other) && own.is_necessary() && more > -BETTER / 2.0;
        own.tells() && is_better
    }
}
