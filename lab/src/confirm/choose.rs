//! Of the stories of one run the one that experiments bear out.

use super::{
    decide::Decision,
    experiment::{Experiment, Experiments},
};
use anyhow::Result;
use std::collections::BTreeSet;
use unsnarl_core::{
    Budget, BugKind, Certainty, Corpus, Explanation, Role,
    diagnosis::{DecisiveStep, Evidence, PassedOver},
    explain::{decided, ends_in_the_check, guarding, retold},
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
        others: Vec::new(),
    };
    if !choice.is_settled() && is_open(explanation) {
        let others = retold(corpus, explanation, budget);
        choice.try_all(explanation, others, |_| true)?;
    }
    if (!choice.tells() || choice.is_part()) && is_open(explanation) {
        let steps = decision.steps.iter().map(|step| EventId(step.event));
        let steps: Vec<EventId> = steps.collect();
        let others = decided(corpus, explanation, &steps, budget);
        // No comparison of runs suggests them: experiments have to be clear. What is told already stays, but may take more.
        let is_clear: fn(&Tried) -> bool = match choice.tells() {
            true => |_| false,
            false => Tried::is_settled,
        };
        choice.try_all(explanation, others, is_clear)?;
    }
    if choice.is_cause() && is_open(explanation) {
        let guards = guarding(corpus, explanation, budget);
        choice.try_guards(explanation, guards)?;
    }
    if choice.is_contradicted() {
        explanation.certainty = Certainty::Possible;
    }
    if let Some(best) = choice.best.as_ref().filter(|_| choice.is_part()) {
        needed(explanation, best, &mut choice.others);
    }
    let others = choice.others.into_iter();
    explanation.passed_over = others.map(|other| other.passed_over).collect();
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
    others: Vec<Other>,
}

impl Choice<'_> {
    fn is_settled(&self) -> bool {
        self.best.as_ref().is_some_and(Tried::is_settled)
    }

    fn tells(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.tells())
    }

    /// Nothing fails without what is told.
    fn is_cause(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.is_cause())
    }

    /// Nothing fails without what is told, but it is not enough by itself.
    fn is_part(&self) -> bool {
        let best = self.best.as_ref().map(|best| best.experiment.evidence);
        best.is_some_and(|best| best.is_cause() && !best.suffices())
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
            // What the runs speak for, but cannot be tried, gives way only to what is enough by itself.
            let is_open = self.best.is_some() || told.certainty != Certainty::Likely;
            let is_better = |it: &Tried| {
                let is_enough = is_open || it.experiment.evidence.suffices();
                is_clear(it) && is_enough && it.is_better_than(self.best.as_ref())
            };
            if found.as_ref().is_some_and(is_better) {
                let known = std::mem::replace(&mut self.best, found);
                let told = std::mem::replace(told, other);
                self.others.push(Other::of(&told, known.as_ref()));
            } else {
                self.others.push(Other::of(&other, found.as_ref()));
            }
        }
        Ok(())
    }
}

impl Choice<'_> {
    /// Tries the guards of what is told. One without which nothing fails was decided before, and is told instead: what was
    /// told came of it, however often it is enough by itself.
    fn try_guards(&mut self, told: &mut Explanation, guards: Vec<Explanation>) -> Result<()> {
        let (mut found, mut cause): (Vec<Other>, Option<(Tried, Explanation)>) = (Vec::new(), None);
        let Some(leads_to) = self
            .best
            .as_ref()
            .map(|best| best.experiment.orders.clone())
        else {
            return Ok(());
        };
        for guard in guards {
            let tried = self.trials.on_the_way(&guard, &leads_to, self.budget)?;
            let Some(tried) = tried else {
                found.push(Other::of(&guard, None));
                continue;
            };
            let guard = Explanation {
                evidence: Some(tried.evidence),
                ..guard
            };
            let tried = Tried::new(tried, &guard, self.trials.run(), self.decision);
            let is_best = cause
                .as_ref()
                .is_none_or(|(known, _)| tried.decides_before(known));
            let evidence = tried.experiment.evidence;
            let is_needed = evidence.tells() && evidence.without.fails == 0;
            if !is_needed || !is_best {
                found.push(Other::of(&guard, Some(&tried)));
            } else if let Some((known, other)) = cause.replace((tried, guard)) {
                found.push(Other::of(&other, Some(&known)));
            }
        }
        if let Some((tried, guard)) = cause {
            let known = self.best.replace(tried);
            let told = std::mem::replace(told, guard);
            let mut other = Other::of(&told, known.as_ref());
            other.passed_over.follows = true;
            self.others.push(other);
        }
        self.others.append(&mut found);
        Ok(())
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
                evidence: explanation.evidence,
                needed: false,
                follows: false,
            },
            lines: lines(explanation),
            complete: tried.map(|tried| tried.experiment.orders.complete),
        }
    }

    /// Does nothing fail without it either, though it is complete before `end`?
    fn is_needed(&self, end: EventId) -> bool {
        self.passed_over.evidence.is_some_and(Evidence::is_cause)
            && self.complete.is_some_and(|at| at < end)
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
    /// Memory was used after it was freed: an interruption may have led there.
    is_use_after_free: bool,
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
            is_use_after_free: explanation.kind == BugKind::UseAfterFree,
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

    /// Returns whether it makes more of a difference, or about as much and is complete earlier.
    fn decides_before(&self, other: &Tried) -> bool {
        let more = self.experiment.evidence.effect() - other.experiment.evidence.effect();
        let is_earlier = self.experiment.orders.complete < other.experiment.orders.complete;
        more > BETTER / 2.0 || is_earlier && more > -BETTER / 2.0
    }

    /// Nothing else has to be looked at.
    fn is_settled(&self) -> bool {
        const ENOUGH: f64 = 0.7;
        let evidence = self.experiment.evidence;
        let is_open = self.is_symptom || self.is_use_after_free;
        evidence.is_cause() && evidence.effect() >= ENOUGH && self.spans && !is_open
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
