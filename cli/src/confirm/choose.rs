//! Of the stories of one run the one that experiments bear out.

use super::{
    decide::Decision,
    experiment::{Experiment, Trials},
};
use anyhow::Result;
use unsnarl_core::{Budget, BugKind, Corpus, Explanation, diagnosis::PassedOver, explain::retold};
use unsnarl_trace::{EventId, Run};

/// Other stories that are tried.
const OTHERS: usize = 8;

/// How much more of a difference another story has to make to be told instead.
const BETTER: f64 = 0.3;

/// Tries what the explanation blames, and other stories of its run where that does not settle it; the explanation becomes
/// the one that is borne out best, with its evidence.
pub fn choose(
    corpus: &Corpus,
    trials: &Trials<'_>,
    explanation: &mut Explanation,
    decision: &Decision,
    budget: &Budget,
) -> Result<()> {
    let own = trials.experiment(explanation, budget)?;
    explanation.evidence = own.as_ref().map(|own| own.evidence);
    let mut best = own.map(|own| Tried::new(own, explanation, trials.executor.run, decision));
    if best.as_ref().is_some_and(Tried::is_settled) || !orders_accesses(explanation) {
        return Ok(());
    }
    let mut passed_over = Vec::new();
    for other in retold(corpus, explanation, budget).into_iter().take(OTHERS) {
        if budget.stop().is_some() {
            break;
        }
        let found = trials.experiment(&other, budget)?;
        let evidence = found.as_ref().map(|found| found.evidence);
        let found = found.map(|found| Tried::new(found, &other, trials.executor.run, decision));
        let other = Explanation { evidence, ..other };
        if found
            .as_ref()
            .is_some_and(|it| it.is_better_than(best.as_ref()))
        {
            best = found;
            passed_over.push(of(&std::mem::replace(explanation, other)));
        } else {
            passed_over.push(of(&other));
        }
    }
    explanation.passed_over = passed_over;
    Ok(())
}

fn of(explanation: &Explanation) -> PassedOver {
    PassedOver {
        headline: explanation.headline.clone(),
        evidence: explanation.evidence,
    }
}

/// Does it blame the order of accesses? Waits are told by what the threads wait for.
fn orders_accesses(explanation: &Explanation) -> bool {
    !matches!(
        explanation.kind,
        BugKind::Deadlock | BugKind::LostWakeup | BugKind::Sequential
    )
}

/// A story that was tried.
struct Tried {
    experiment: Experiment,
    /// It says no more than that the failing check reads too early or too late: perhaps a symptom.
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
            is_symptom: explanation.kind == BugKind::OrderViolation
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
        evidence.tells() && evidence.effect() >= ENOUGH && self.spans && !self.is_symptom
    }

    /// What makes much more of a difference comes before what makes less. Among stories that are about as good, one that
    /// ends with what the check reads gives way to one that was complete before.
    fn is_better_than(&self, other: Option<&Tried>) -> bool {
        let Some(other) = other else {
            return self.is_settled();
        };
        let (own, known) = (self.experiment.evidence, other.experiment.evidence);
        let more = own.effect() - known.effect();
        let is_earlier = self.experiment.orders.complete < other.experiment.orders.complete;
        let replaces_symptom = other.is_symptom && !self.is_symptom && is_earlier;
        let is_better = more >= BETTER || replaces_symptom && self.spans && more > -BETTER / 2.0;
        own.tells() && is_better
    }
}
