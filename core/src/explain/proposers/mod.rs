//! Engines as proposers: each proposes causes of a failing run, and experiments decide between them.
//!
//! [`Proposers::new`] has the list. No engine's word decides: where programs are executed, a proposal is told when the
//! experiments bear it out, and an explanation names the engines that propose what it says.
//!
//! [`orders`] proposes what compares a run with the runs that passed, [`pairs`] and [`mining`] what these engines report by
//! themselves; they need only what a [`Corpus`] keeps. The others look into whole runs: [`predict`] asks a run that passed,
//! and [`decisive`] has nothing to propose before experiments have found the steps that decide. Engines that follow runs
//! through the program model stand in `unsnarl-symbolic`, since core knows no solver: the caller hands them over.

mod among;
mod decisive;
mod mining;
mod orders;
mod pairs;
mod predict;
#[cfg(test)]
mod tests;

use super::{turned::blamed, view::View};
use crate::{
    Budget,
    corpus::{Corpus, RunSummary},
    explanation::Explanation,
};
use among::Among;
use mining::MiningProposer;
pub use orders::ORDERS;
pub(super) use orders::{name as name_orders, write};
use pairs::PairsProposer;
use std::{collections::BTreeSet, sync::Arc};
use unsnarl_trace::{EventId, Run};

/// An engine that proposes causes of failures.
pub trait Proposer {
    /// Its name among [`Explanation::engines`].
    fn name(&self) -> &'static str;

    /// Causes of a failing run, the likeliest first, each as an explanation that names the engine.
    fn propose(&self, failing: &Failing<'_>, budget: &Budget) -> Vec<Explanation>;

    /// Names the engine with an explanation that says what it has found, too.
    fn support(&self, explanation: &mut Explanation, material: &Material<'_>, budget: &Budget);

    /// It needs only what a corpus keeps of its runs.
    fn compares(&self) -> bool {
        false
    }

    /// Its proposals are told without an experiment, too, the first of them before there is any. Of others the
    /// experiments have to be clear.
    fn stands_alone(&self) -> bool {
        false
    }
}

/// The data from which engines propose causes.
pub struct Material<'a> {
    /// Summaries of the runs.
    pub corpus: &'a Corpus,
    /// Whole runs of the corpus, with their names.
    pub runs: &'a [(String, Arc<Run>)],
}

impl Material<'_> {
    /// A run, if it was read.
    pub fn run(&self, name: &str) -> Option<&Run> {
        let mut runs = self.runs.iter();
        runs.find(|(known, _)| known == name).map(|(_, run)| &**run)
    }
}

/// The failing run that causes are proposed for.
pub struct Failing<'a> {
    material: &'a Material<'a>,
    view: &'a View<'a>,
    /// The failing runs of which a cause is looked for: this one and those that fail like it.
    alike: Vec<&'a RunSummary>,
    /// The steps that decide it, as far as experiments have found them.
    decisive: &'a [EventId],
}

impl<'a> Failing<'a> {
    /// A run by what is kept of it, and the runs that fail like it.
    pub(super) fn new(
        material: &'a Material<'a>,
        view: &'a View<'a>,
        alike: Vec<&'a RunSummary>,
    ) -> Failing<'a> {
        Failing {
            material,
            view,
            alike,
            decisive: &[],
        }
    }

    /// The run's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.view.summary.name
    }

    /// The run, as far as it is kept.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.view.run
    }

    /// The data from which causes are proposed.
    #[must_use]
    pub fn material(&self) -> &Material<'a> {
        self.material
    }

    /// Explanations of the orders that are between some rows only, and of `further` pairs of them, in an engine's name.
    #[must_use]
    pub fn orders_among(
        &self,
        rows: &BTreeSet<EventId>,
        further: Option<(EventId, EventId)>,
        (engine, says): (&str, &str),
    ) -> Vec<Explanation> {
        let mut among = Among::within(self.view, rows);
        among.pairs.extend(further);
        among.told(self.view, engine, says)
    }
}

/// All engines, with what they propose from. What is dear is worked out once.
pub struct Proposers<'a> {
    material: Material<'a>,
    list: Vec<Box<dyn Proposer>>,
}

impl<'a> Proposers<'a> {
    /// The list, in the order in which they are asked: what tells the runs apart, then what experiments have found, then
    /// what follows values (`following`, which core does not know), then what counts.
    pub fn new(material: Material<'a>, following: Vec<Box<dyn Proposer>>) -> Proposers<'a> {
        let mut list: Vec<Box<dyn Proposer>> = vec![
            Box::new(orders::OrdersProposer),
            Box::new(decisive::Decisive),
        ];
        list.extend(following);
        list.push(Box::<predict::PredictProposer>::default());
        list.push(Box::new(PairsProposer));
        list.push(Box::<MiningProposer>::default());
        Proposers { material, list }
    }

    /// The list for a corpus alone: engines that look into whole runs have none.
    pub fn comparing(corpus: &'a Corpus) -> Proposers<'a> {
        Proposers::new(Material { corpus, runs: &[] }, Vec::new())
    }

    /// The data from which they propose.
    pub fn material(&self) -> &Material<'a> {
        &self.material
    }

    /// The engines, in the order in which they are asked.
    pub fn all(&self) -> impl Iterator<Item = &dyn Proposer> {
        self.list.iter().map(|one| &**one)
    }

    /// The first cause that engines which compare runs propose.
    pub(super) fn by_comparing(
        &self,
        view: &View<'_>,
        alike: &[&RunSummary],
        budget: &Budget,
    ) -> Option<Explanation> {
        let failing = Failing::new(&self.material, view, alike.to_vec());
        let engines = self.all().filter(|one| one.compares());
        let mut found = engines.flat_map(|one| one.propose(&failing, budget));
        found.find(|one| !blames_spin_lock(view, one))
    }

    /// Names the engines that compare runs with an explanation that they agree with.
    pub(super) fn support_by_comparing(&self, explanation: &mut Explanation, budget: &Budget) {
        for engine in self.all().filter(|one| one.compares()) {
            engine.support(explanation, &self.material, budget);
        }
    }

    /// Names those that look into whole runs.
    pub fn support_by_looking(&self, explanation: &mut Explanation, budget: &Budget) {
        for engine in self.all().filter(|one| !one.compares()) {
            engine.support(explanation, &self.material, budget);
        }
    }

    /// Names all engines that agree with an explanation that experiments have put in the place of another.
    pub fn support(&self, explanation: &mut Explanation, budget: &Budget) {
        self.support_by_comparing(explanation, budget);
        self.support_by_looking(explanation, budget);
    }

    /// The orders of an explanation's run that the runs bear out nearly as well as the best one, other than what is told.
    pub fn nearly(&self, explanation: &Explanation, budget: &Budget) -> Vec<Explanation> {
        let mut proposals = self.instead_of(explanation, &[]);
        let found = proposals.failing().map(|of| orders::nearly(&of, budget));
        proposals.fresh(found.unwrap_or_default(), usize::MAX)
    }

    /// Proposals for the run that an explanation is told of. `decisive` are the steps that decide it, as far as
    /// they are known.
    pub fn instead_of<'p>(
        &'p self,
        explanation: &'p Explanation,
        decisive: &'p [EventId],
    ) -> Proposals<'p> {
        let corpus = self.material.corpus;
        let summary = corpus.get(&explanation.run);
        let names = explanation.runs.iter();
        Proposals {
            proposers: self,
            told: explanation.clone(),
            known: vec![explanation.clone()],
            view: summary.and_then(|run| View::new(corpus, run)),
            alike: names.filter_map(|name| corpus.get(name)).collect(),
            decisive,
        }
    }
}

/// Proposals for one failing run instead of the explanation that is told of it.
pub struct Proposals<'p> {
    proposers: &'p Proposers<'p>,
    told: Explanation,
    /// The explanation that is told, and all proposals so far.
    known: Vec<Explanation>,
    view: Option<View<'p>>,
    alike: Vec<&'p RunSummary>,
    decisive: &'p [EventId],
}

impl Proposals<'_> {
    /// Proposals of an engine that are not told and that were not returned for an engine asked before.
    pub fn by(&mut self, engine: &dyn Proposer, budget: &Budget) -> Vec<Explanation> {
        self.first_by(engine, usize::MAX, budget)
    }

    /// The first of these, so many at most.
    pub fn first_by(
        &mut self,
        engine: &dyn Proposer,
        most: usize,
        budget: &Budget,
    ) -> Vec<Explanation> {
        let found = self.failing().map(|of| engine.propose(&of, budget));
        self.fresh(found.unwrap_or_default(), most)
    }

    fn failing(&self) -> Option<Failing<'_>> {
        let view = self.view.as_ref()?;
        let material = &self.proposers.material;
        Some(Failing {
            decisive: self.decisive,
            ..Failing::new(material, view, self.alike.clone())
        })
    }

    /// Returns whether a step is blamed that comes too late for the failure.
    fn blames_what_is_past(&self, proposal: &Explanation) -> bool {
        let mut blamed = blamed(proposal).into_iter();
        self.view
            .as_ref()
            .is_some_and(|view| blamed.any(|one| view.is_past(one.row)))
    }

    /// Returns whether the word of a lock is blamed.
    fn blames_lock(&self, proposal: &Explanation) -> bool {
        let view = self.view.as_ref();
        view.is_some_and(|view| blames_spin_lock(view, proposal))
    }

    /// The first of some proposals that are new, told of the same runs. The others stay new: another engine may have better
    /// reasons for them.
    fn fresh(&mut self, proposals: Vec<Explanation>, most: usize) -> Vec<Explanation> {
        let mut new = Vec::new();
        for mut proposal in proposals {
            if new.len() == most {
                break;
            }
            let is_known = self.known.iter().any(|known| known.blames_as(&proposal));
            if is_known || self.blames_what_is_past(&proposal) || self.blames_lock(&proposal) {
                continue;
            }
            proposal.runs.clone_from(&self.told.runs);
            proposal.also_fails.clone_from(&self.told.also_fails);
            self.known.push(proposal.clone());
            new.push(proposal);
        }
        new
    }
}

/// Returns whether an explanation takes the word of a lock of the program's own for data: that it was changed says only which
/// sections came first.
fn blames_spin_lock(view: &View<'_>, explanation: &Explanation) -> bool {
    let blamed = blamed(explanation);
    blamed.iter().any(|one| view.is_of_spin_lock(one.row))
}
