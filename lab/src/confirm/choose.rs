//! Of the stories of one run the one that experiments bear out.

use super::{
    decide::Decision,
    experiment::{DrawnSchedules, Experiments},
    others::{OtherStory, needed},
    tried::{TriedStory, is_half_of, is_symptom},
};
use anyhow::Result;
use std::{cmp::Ordering, time::Duration};
use unsnarl_core::{
    Budget, BugKind, Certainty, Explanation,
    diagnosis::{Evidence, ExperimentProgress, Shows, TriedProposal},
    explain::{
        Intervention, ORDERS, Proposals, Proposer, Proposers, SplitStory, comes_of_wakeup, counted,
        guarding, parts,
    },
    explanation::Step,
};
use unsnarl_trace::{EventId, EventKind, Run};

/// Proposals of one engine that are tried.
const OTHERS: usize = 8;

/// Time for listing proposals when there is none left for trying them.
const LISTING: Duration = Duration::from_secs(1);

/// Tries what the explanation blames, and what else engines propose for its run where that does not settle it; the
/// explanation becomes the one that is borne out best, with its evidence. A story that explains other runs already
/// (`known`, by id) is told of this one as well if it holds here: one cause may fail in several places. Returns whether the
/// run was decided before what is told began.
pub fn choose(
    proposers: &Proposers<'_>,
    known: &[String],
    trials: &dyn Experiments,
    explanation: &mut Explanation,
    decision: &Decision,
    budget: &Budget,
) -> Result<bool> {
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
            return Ok(false);
        }
    }
    let mut choice = StorySearch::new(proposers, (trials, decision), budget);
    choice.try_first(explanation)?;
    if choice.is_the_rule(explanation) {
        explanation.certainty = Certainty::Possible;
    }
    if is_open(explanation) {
        // What guards the accesses that met comes before what else they could have met in.
        let asked = choice.ask_for_guards(proposers, explanation, None)?;
        let mut proposals = proposals();
        for engine in proposers.all() {
            choice.ask(engine, &mut proposals, explanation)?;
        }
        choice.try_rare(explanation)?;
        choice.doubt(explanation);
        choice.tell_spare(explanation);
        choice.tell_fact(explanation);
        if choice.is_cause()
            && let Some(parts) = parts(proposers, explanation)
        {
            choice.try_part(explanation, parts)?;
        }
        choice.ask_for_guards(proposers, explanation, asked)?;
    }
    choice.note(explanation)
}

/// State of experiments for which there was no time at all.
pub fn untried(proposers: &Proposers<'_>, explanation: &Explanation) -> ExperimentProgress {
    let mut progress = ExperimentProgress::default();
    progress.not_tried.push(explanation.headline.clone());
    if is_open(explanation) {
        let mut proposals = proposers.instead_of(explanation, &[]);
        let engines = proposers.all();
        engines.for_each(|engine| leave_out(engine, &mut proposals, &mut progress));
    }
    progress
}

/// Notes what an engine proposes as not tried. One that only speaks where experiments can decide is not asked.
fn leave_out(
    engine: &dyn Proposer,
    proposals: &mut Proposals<'_>,
    progress: &mut ExperimentProgress,
) {
    if !engine.stands_alone() {
        progress.not_asked.push(engine.name().to_owned());
        return;
    }
    let others = proposals.first_by(engine, OTHERS, &Budget::lasting(LISTING));
    let others = others.into_iter().map(|other| other.headline);
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
        let tried = TriedStory::new(found, &other, trials.run(), decision);
        if tried.is_settled() {
            return Ok(Some(Explanation { evidence, ..other }));
        }
    }
    Ok(None)
}

/// A run that speaks against a proposal, and what it shows.
type Against = Option<(Shows, Box<Run>)>;

/// The search for the story that is borne out best.
struct StorySearch<'c> {
    proposers: &'c Proposers<'c>,
    trials: &'c dyn Experiments,
    decision: &'c Decision,
    budget: &'c Budget,
    best: Option<TriedStory>,
    /// A run that speaks against what is told.
    against: Against,
    others: Vec<OtherStory>,
    /// The best of the stories that are enough by themselves, while nothing else is borne out.
    spare: Option<(TriedStory, Explanation)>,
    /// The first of the stories of which no schedules can be drawn, but that are facts of the run.
    fact: Option<Explanation>,
    /// Stories whose opposite was too rare among the schedules.
    rare: Vec<Explanation>,
    /// Experiments take many more schedules.
    is_patient: bool,
    progress: ExperimentProgress,
    /// The time was over before all was tried.
    is_cut: bool,
}

impl<'c> StorySearch<'c> {
    fn new(
        proposers: &'c Proposers<'c>,
        (trials, decision): (&'c dyn Experiments, &'c Decision),
        budget: &'c Budget,
    ) -> StorySearch<'c> {
        StorySearch {
            proposers,
            trials,
            decision,
            budget,
            best: None,
            against: None,
            others: Vec::new(),
            spare: None,
            fact: None,
            rare: Vec::new(),
            is_patient: false,
            progress: ExperimentProgress::default(),
            is_cut: false,
        }
    }

    fn is_settled(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.is_final() && !best.may_have_parts())
    }

    fn tells(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.tells())
    }

    /// Most passing runs have what is told as well.
    fn is_usual(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.is_usual)
    }

    /// Some schedules fail without what is told.
    fn has_exceptions(&self) -> bool {
        self.best
            .as_ref()
            .is_some_and(|best| !best.is_exception_free())
    }

    /// Nothing fails without what is told, but it is not enough by itself.
    fn is_part(&self) -> bool {
        let best = self.best.as_ref().map(|best| best.experiment.evidence);
        best.is_some_and(|best| best.is_cause() && !best.suffices())
    }

    /// Returns whether nothing fails without the explanation that is told.
    fn is_cause(&self) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| best.experiment.evidence.is_cause())
    }

    /// Can no schedules be drawn of an order that passing runs have as well?
    fn is_the_rule(&self, told: &Explanation) -> bool {
        self.best.is_none() && told.is_usual_in_passing()
    }

    /// Takes what is told for no more than possible where schedules with it do not fail clearly more often than those without;
    /// a signal that is seen to be lost, only where they fail no more often. Where none can be drawn, an order that passing
    /// runs have is no more than that either.
    fn doubt(&self, told: &mut Explanation) {
        let best = self.best.as_ref().map(|best| best.experiment.evidence);
        let is_contradicted =
            |best: Evidence| best.effect() <= 0.0 || is_open(told) && !best.tells();
        if self.is_the_rule(told) || best.is_some_and(is_contradicted) {
            told.certainty = Certainty::Possible;
        }
    }

    /// Makes the experiment on a proposal and notes that it was made. With `leads_to` its schedules go on to that order.
    fn experiment(
        &mut self,
        proposal: &Explanation,
        leads_to: Option<&Intervention>,
    ) -> Result<DrawnSchedules> {
        let trial = match (self.budget.stop(), leads_to) {
            (None, None) if self.is_patient => self.trials.patiently(proposal, self.budget)?,
            (None, None) => self.trials.experiment(proposal, self.budget)?,
            (None, Some(order)) => self.trials.on_the_way(proposal, order, self.budget)?,
            (Some(_), _) => DrawnSchedules {
                is_unfinished: true,
                ..DrawnSchedules::default()
            },
        };
        self.is_cut |= trial.is_unfinished;
        if trial.is_too_rare {
            self.rare.push(proposal.clone());
        }
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

    /// Tries the guards of what is told, unless that was done (`asked`, by its id) or what is told makes no difference;
    /// returns what was asked for.
    fn ask_for_guards(
        &mut self,
        proposers: &Proposers<'_>,
        told: &mut Explanation,
        asked: Option<String>,
    ) -> Result<Option<String>> {
        let is_asked = asked.as_ref() == Some(&told.id);
        if is_asked || !self.tells() || !is_open(told) {
            return Ok(asked);
        }
        let id = told.id.clone();
        let guards = guarding(proposers, told);
        self.try_guards(told, guards)?;
        Ok(Some(id))
    }

    /// Tries the guards of what is told. One without which nothing fails was decided before, and is told instead: what was
    /// told came of it, however often it is enough by itself.
    fn try_guards(&mut self, told: &mut Explanation, guards: Vec<Explanation>) -> Result<()> {
        let best = self
            .best
            .as_ref()
            .map(|best| best.experiment.orders.clone());
        let Some(leads_to) = best else {
            return Ok(());
        };
        // What two threads change together may take more than that both were let in. An order is what its guard leads to.
        let is_interrupted = told.kind.is_interruption();
        let mut cause: Option<(TriedStory, Explanation, Against)> = None;
        for guard in guards {
            let trial = self.experiment(&guard, Some(&leads_to))?;
            if trial.is_unfinished {
                continue;
            }
            let evidence = trial.made.as_ref().map(|made| made.evidence);
            let guard = Explanation { evidence, ..guard };
            let Some(made) = trial.made else {
                self.pass_over(&guard, None, trial.against);
                continue;
            };
            let tried = TriedStory::new(made, &guard, self.trials.run(), self.decision);
            let known = cause.as_ref().map(|(known, ..)| known);
            let is_best = known.is_none_or(|known| tried.decides_before(known));
            let evidence = tried.experiment.evidence;
            let is_no_guard = self.best.as_ref().is_some_and(|met| {
                tried.is_rarer_than(met) && !is_interrupted
                    || tried.ends_in_freed(met)
                    || tried.leaves_it_to(met)
                    || tried.is_looser_than(met)
            });
            if is_no_guard || !is_best || !evidence.tells() || evidence.without.fails > 0 {
                self.pass_over(&guard, Some(&tried), trial.against);
            } else if let Some((known, other, against)) =
                cause.replace((tried, guard, trial.against))
            {
                self.pass_over(&other, Some(&known), against);
            }
        }
        if let Some((tried, guard, against)) = cause {
            let known = self.best.replace(tried);
            self.against = against;
            let told = std::mem::replace(told, guard);
            let mut other = OtherStory::of(&told, known.as_ref());
            other.passed_over.follows = true;
            self.others.push(other);
        }
        Ok(())
    }

    /// Tries once more, with patience, the stories whose opposite was too rare, if nothing else is borne out.
    fn try_rare(&mut self, told: &mut Explanation) -> Result<()> {
        let rare = std::mem::take(&mut self.rare);
        if rare.is_empty() || self.tells() {
            return Ok(());
        }
        self.is_patient = true;
        for story in rare {
            self.others.retain(|other| !other.is(&story));
            let mut tried = self.progress.tried.iter();
            if let Some(at) = tried.position(|one| one.headline == story.headline) {
                self.progress.tried.remove(at);
            }
            match story.id == told.id {
                true => self.try_first(told)?,
                false => self.try_all(told, vec![story], TriedStory::is_settled)?,
            }
        }
        self.is_patient = false;
        Ok(())
    }

    /// Tells of what is told only the read that came too early, if its thread comes there without having seen the other change
    /// and then it fails as well: that change has no part in it.
    fn try_part(&mut self, told: &mut Explanation, parts: SplitStory) -> Result<()> {
        let SplitStory { seen, early } = parts;
        let share = match self.budget.stop() {
            None => self.trials.but_without(&early, &seen, self.budget)?,
            Some(_) => {
                self.is_cut = true;
                None
            }
        };
        if share.is_none_or(|share| share.fails == 0) {
            return Ok(());
        }
        let trial = self.experiment(&early, None)?;
        let Some(made) = trial.made.filter(|made| made.evidence.is_cause()) else {
            return Ok(());
        };
        let evidence = Some(made.evidence);
        let tried = TriedStory::new(made, &early, self.trials.run(), self.decision);
        let is_rarer = |told: &TriedStory| tried.is_rarer_than(told);
        if !self.best.as_ref().is_some_and(is_rarer) {
            let early = Explanation { evidence, ..early };
            self.tell(told, early, (tried, trial.against));
        }
        Ok(())
    }

    /// Tells another story, and passes over the one that was told.
    fn tell(
        &mut self,
        told: &mut Explanation,
        other: Explanation,
        (tried, against): (TriedStory, Against),
    ) {
        let known = self.best.replace(tried);
        let against = std::mem::replace(&mut self.against, against);
        let told = std::mem::replace(told, other);
        self.pass_over(&told, known.as_ref(), against);
    }

    /// Tries what is told without an experiment.
    fn try_first(&mut self, told: &mut Explanation) -> Result<()> {
        let trial = self.experiment(told, None)?;
        told.evidence = trial.made.as_ref().map(|own| own.evidence);
        let run = self.trials.run();
        let made = trial.made;
        self.best = made.map(|own| TriedStory::new(own, told, run, self.decision));
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
            false => self.is_cause() && !self.is_part(),
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
        // more; it gives way where the comparison speaks against it, or something fails without it.
        let is_clear: fn(&TriedStory) -> bool = match (engine.stands_alone(), self.tells()) {
            (true, _) => |_| true,
            (false, true) if self.is_usual() => TriedStory::is_spare,
            (false, true) if self.has_exceptions() => TriedStory::is_needed,
            (false, true) => |_| false,
            (false, false) => TriedStory::is_settled,
        };
        self.try_all(
            told,
            proposals.first_by(engine, OTHERS, self.budget),
            is_clear,
        )
    }

    /// Tries other stories; one that is borne out better takes the place of what is told.
    fn try_all(
        &mut self,
        told: &mut Explanation,
        others: Vec<Explanation>,
        is_clear: fn(&TriedStory) -> bool,
    ) -> Result<()> {
        for other in others {
            let trial = self.experiment(&other, None)?;
            if trial.is_unfinished {
                continue;
            }
            let evidence = trial.made.as_ref().map(|found| found.evidence);
            let run = self.trials.run();
            let found = trial.made;
            let found = found.map(|found| TriedStory::new(found, &other, run, self.decision));
            let other = Explanation { evidence, ..other };
            // What the runs speak for, but cannot be tried, gives way only to what is enough by itself.
            let is_open = self.best.is_some() || told.certainty != Certainty::Likely;
            // Half of what cannot be tried is no other story, and neither is what comes of it.
            let is_less = is_half_of(&other, told) || comes_of_wakeup(&other, told, run);
            let is_half = self.best.is_none() && is_less;
            let is_better = |it: &TriedStory| {
                let is_enough = is_open || it.experiment.evidence.suffices();
                // Counting finds what is beside the cause as well.
                let is_counted = other.engines.iter().all(|engine| engine != ORDERS);
                let spare = self.spare.as_ref().map(|(spare, _)| spare);
                let says_more = is_counted && spare.is_some_and(|spare| it.only_surrounds(spare));
                let is_told = is_clear(it) && is_enough && !is_half && !says_more;
                let is_better = || it.is_better_than(self.best.as_ref());
                is_told && (is_better() || self.is_in_more_runs(it, &other, told))
            };
            match found {
                Some(found) if is_better(&found) => self.tell(told, other, (found, trial.against)),
                found => {
                    self.pass_over(&other, found.as_ref(), trial.against);
                    if found.is_none() && is_fact(&other) {
                        self.fact.get_or_insert_with(|| other.clone());
                    }
                    let spare = found.filter(|it| !is_half && it.is_spare());
                    self.spare_for_the_end(other, spare);
                }
            }
        }
        Ok(())
    }

    /// Returns whether experiments are as clear on a story as on the one that is told, or about so on a part of it, and more of
    /// the failing runs have it: what else that one blames is chance.
    fn is_in_more_runs(&self, tried: &TriedStory, other: &Explanation, told: &Explanation) -> bool {
        let Some(best) = &self.best else {
            return false;
        };
        let may_stand_for = tried.may_stand_for(best);
        if !may_stand_for && !tried.is_as_good_as(best) {
            return false;
        }
        let of = |story: &Explanation| counted(self.proposers, story);
        matches!((of(other), of(told)), (Some(other), Some(told))
            if other.failing_with > told.failing_with
                && (other.passing_with <= told.passing_with
                    || may_stand_for && other.compare(told) == Ordering::Greater))
    }

    /// Keeps a story that is told if no other one is borne out: it may be a symptom, or only half of what happened, but the
    /// failure goes with it.
    fn spare_for_the_end(&mut self, story: Explanation, tried: Option<TriedStory>) {
        let Some(tried) = tried else {
            return;
        };
        let known = self.spare.as_ref();
        if known.is_none_or(|(known, _)| tried.decides_before(known)) {
            self.spare = Some((tried, story));
        }
    }

    /// Tells the spare story in the place of what is only possible, or ends with what the failing check reads, and makes no
    /// difference that could be shown.
    fn tell_spare(&mut self, told: &mut Explanation) {
        let is_open = told.certainty == Certainty::Possible;
        let is_symptom = is_symptom(told, self.trials.run());
        let tells = self.tells();
        let is_needed = |(tried, _): &(TriedStory, Explanation)| {
            !tells && (is_open || is_symptom && !tried.is_symptom)
        };
        let Some((tried, spare)) = self.spare.take().filter(is_needed) else {
            return;
        };
        self.others.retain(|other| !other.is(&spare));
        self.tell(told, spare, (tried, None));
    }

    /// Tells what is wrong in itself, and led to the failure, in the place of what makes no difference that could be shown.
    fn tell_fact(&mut self, told: &mut Explanation) {
        let is_needed = !self.tells() && !is_fact(told);
        let Some(fact) = self.fact.take().filter(|_| is_needed) else {
            return;
        };
        self.others.retain(|other| !other.is(&fact));
        let (known, against) = (self.best.take(), self.against.take());
        let told = std::mem::replace(told, fact);
        self.pass_over(&told, known.as_ref(), against);
    }

    /// Notes a story that is not told, and keeps the run that speaks against it.
    fn pass_over(&mut self, other: &Explanation, tried: Option<&TriedStory>, against: Against) {
        let mut other = OtherStory::of(other, tried);
        let kept = against.and_then(|against| self.trials.keep(against));
        other.passed_over.counterexample = kept;
        self.others.push(other);
    }

    /// Says on what is told how it was chosen; returns whether the run was decided before that began.
    fn note(mut self, told: &mut Explanation) -> Result<bool> {
        let is_too_late = self.best.as_ref().is_some_and(|best| best.is_too_late);
        self.doubt(told);
        // More than chance speaks for it, though another reason may come to it.
        if self.tells() && !is_too_late && told.certainty == Certainty::Possible {
            told.certainty = Certainty::Likely;
        }
        if let Some(best) = self.best.as_ref().filter(|_| self.is_part()) {
            needed(told, best, &mut self.others, (self.trials, self.budget))?;
        }
        let others = self.others.into_iter();
        told.passed_over = others.map(|other| other.passed_over).collect();
        if self.is_cut {
            told.progress = Some(self.progress);
        }
        Ok(is_too_late)
    }
}

/// Returns whether the run itself shows that what a story tells is wrong, whatever other runs do.
fn is_fact(explanation: &Explanation) -> bool {
    explanation.gone.is_some()
}

/// May it be another story? A circle that a lock closes is one, and so is a signal that was lost; that a signal or a unit never
/// comes, or that threads wait for each other's signals only, may have its reason in the order of accesses.
fn is_open(explanation: &Explanation) -> bool {
    let kinds = explanation
        .steps
        .iter()
        .map(|step: &Step| EventKind::from_name(&step.access));
    let kinds: Vec<EventKind> = kinds.flatten().collect();
    let is_lock = |kind: &EventKind| matches!(kind, EventKind::Lock | EventKind::SharedLock);
    match explanation.kind {
        BugKind::Sequential => false,
        BugKind::Deadlock if kinds.contains(&EventKind::Wait) => !kinds.iter().any(is_lock),
        BugKind::Deadlock | BugKind::LostWakeup => explanation.certainty == Certainty::Possible,
        _ => true,
    }
}
