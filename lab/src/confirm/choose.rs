//! Of the stories of one run the one that experiments bear out.

use super::{
    decide::Decision,
    experiment::{Experiment, Experiments},
};
use anyhow::Result;
use unsnarl_core::{
    Budget, BugKind, Certainty, Corpus, Explanation,
    diagnosis::PassedOver,
    explain::{decided, retold},
};
use unsnarl_trace::{EventId, Run};

/// Other stories that are tried.
const OTHERS: usize = 8;

/// How much more of a difference another story has to make to be told instead: two standard deviations of the difference of
/// two shares near 85 % of 30 samples.
const BETTER: f64 = 0.2;

/// Tries what the explanation blames, and other stories of its run where that does not settle it; the explanation becomes
/// the one that is borne out best, with its evidence. A story that explains other runs already (`known`, by id) is told of
/// this one as well if it holds here: one cause may fail in several places.
pub fn choose(
    corpus: &Corpus,
    known: &[String],
    trials: &dyn Experiments,
    explanation: &mut Explanation,
    decision: &Decision,
    budget: &Budget,
) -> Result<()> {
    if known_cause(corpus, known, trials, (explanation, decision), budget)? {
        return Ok(());
    }
    let own = trials.experiment(explanation, budget)?;
    explanation.evidence = own.as_ref().map(|own| own.evidence);
    let best = own.map(|own| Tried::new(own, explanation, trials.run(), decision));
    let mut choice = Choice {
        trials,
        decision,
        budget,
        best,
        passed_over: Vec::new(),
    };
    if !choice.is_settled() && is_open(explanation) {
        let others = retold(corpus, explanation, budget);
        choice.try_all(explanation, others, |_| true)?;
    }
    if !choice.tells() && is_open(explanation) {
        let steps = decision.steps.iter().map(|step| EventId(step.event));
        let steps: Vec<EventId> = steps.collect();
        let others = decided(corpus, explanation, &steps, budget);
        // No comparison of runs suggests them: experiments have to be clear.
        choice.try_all(explanation, others, Tried::is_settled)?;
    }
    if choice.is_contradicted() {
        explanation.certainty = Certainty::Possible;
    }
    explanation.passed_over = choice.passed_over;
    Ok(())
}

/// Tells a story that explains other runs, if one is as clear here.
fn known_cause(
    corpus: &Corpus,
    known: &[String],
    trials: &dyn Experiments,
    (explanation, decision): (&mut Explanation, &Decision),
    budget: &Budget,
) -> Result<bool> {
    if known.is_empty() || known.contains(&explanation.id) || !is_open(explanation) {
        return Ok(false);
    }
    let others = retold(corpus, explanation, budget).into_iter();
    for other in others.filter(|other| known.contains(&other.id)) {
        let Some(found) = trials.experiment(&other, budget)? else {
            continue;
        };
        let evidence = Some(found.evidence);
        let tried = Tried::new(found, &other, trials.run(), decision);
        if tried.is_settled() {
            *explanation = Explanation { evidence, ..other };
            return Ok(true);
        }
    }
    Ok(false)
}

/// The search for the story that is borne out best.
struct Choice<'c> {
    trials: &'c dyn Experiments,
    decision: &'c Decision,
    budget: &'c Budget,
    best: Option<Tried>,
    passed_over: Vec<PassedOver>,
}

impl Choice<'_> {
    fn is_settled(&self) -> bool {
        self.best.as_ref().is_some_and(Tried::is_settled)
    }

    fn tells(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.tells())
    }

    /// Schedules with what is told fail no more often than those without it.
    fn is_contradicted(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.effect() <= 0.0)
    }

    /// Tries other stories; one that is borne out better takes the place of what is told.
    fn try_all(
        &mut self,
        told: &mut Explanation,
        others: Vec<Explanation>,
        is_clear: fn(&Tried) -> bool,
    ) -> Result<()> {
        for other in others.into_iter().take(OTHERS) {
            if self.budget.stop().is_some() {
                break;
            }
            let found = self.trials.experiment(&other, self.budget)?;
            let evidence = found.as_ref().map(|found| found.evidence);
            let run = self.trials.run();
            let found = found.map(|found| Tried::new(found, &other, run, self.decision));
            let other = Explanation { evidence, ..other };
            let is_better = |it: &Tried| is_clear(it) && it.is_better_than(self.best.as_ref());
            if found.as_ref().is_some_and(is_better) {
                self.best = found;
                self.passed_over.push(of(&std::mem::replace(told, other)));
            } else {
                self.passed_over.push(of(&other));
            }
        }
        Ok(())
    }
}

fn of(explanation: &Explanation) -> PassedOver {
    PassedOver {
        headline: explanation.headline.clone(),
        evidence: explanation.evidence,
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
        let failure = explanation.failure.site.as_ref();
        let failure = failure.map(|place| (place.file.as_str(), place.line));
        let complete = experiment.orders.complete;
        let within = |row: u32| (experiment.begins.0..=complete.0).contains(&row);
        let steps = &decision.steps;
        Tried {
            is_symptom: ends_with_a_look(explanation.kind)
                && failure.is_some()
                && line(complete) == failure,
            spans: steps.is_empty() || steps.iter().any(|step| within(step.event)),
            experiment,
        }
    }

    /// Nothing else has to be looked at.
    fn is_settled(&self) -> bool {
        const ENOUGH: f64 = 0.7;
        let evidence = self.experiment.evidence;
        let is_cause = evidence.tells() && evidence.is_necessary();
        is_cause && evidence.effect() >= ENOUGH && self.spans && !self.is_symptom
    }

    /// What makes much more of a difference comes before what makes less, and that without which nothing fails before what
    /// the program fails without as well. Among stories that are about as good, one that
    /// ends with what the check reads gives way to one that was complete before.
    fn is_better_than(&self, other: Option<&Tried>) -> bool {
        let Some(other) = other else {
            return self.is_settled();
        };
        let (own, known) = (self.experiment.evidence, other.experiment.evidence);
        let more = own.effect() - known.effect();
        let is_earlier = self.experiment.orders.complete < other.experiment.orders.complete;
        let replaces_symptom = other.is_symptom && !self.is_symptom && is_earlier;
        let explains_all = own.is_necessary() && !known.is_necessary() && more > 0.0;
        let is_better = more >= BETTER
            || explains_all
            || replaces_symptom && self.spans && more > -BETTER / 2.0;
        own.tells() && is_better
    }
}
