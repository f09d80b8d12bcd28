//! Findings of single engines about the failing runs of a corpus, each with its evidence.
//!
//! An explanation is for people to read first; a finding is a result of one method of the literature, as the
//! method reports it, so that methods can be compared and other programs can use their answers. An engine
//! without a result gives the reason: [`Answer::stopped`] and [`Answer::notes`] are never both silent when
//! there are no findings.

mod agree;
pub mod mining;
pub mod pairs;
#[cfg(test)]
mod tests;

pub(crate) use agree::{mining_agrees, pairs_agree, predicted, prediction_agrees};

use crate::{
    Budget, Corpora, Corpus, RunSummary, StopReason, explanation::Place, facts,
    orders::DependencyKind,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unsnarl_trace::Location;

/// The engines that can be run on their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Access pairs: [`crate::pairs`].
    Pairs,
    /// Bug explanation patterns: [`crate::mining`].
    Mining,
}

impl Engine {
    /// All engines.
    pub const ALL: [Engine; 2] = [Engine::Pairs, Engine::Mining];

    /// Name of the engine, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Pairs => "pairs",
            Engine::Mining => "mining",
        }
    }

    /// The engine with this name.
    pub fn from_name(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

/// An access that a finding is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct FoundSite {
    /// Place in the source.
    #[serde(flatten)]
    pub place: Place,
    /// Thread with its function: `withdraw (main.2)`; empty for an access that the failing run did not
    /// execute.
    pub thread: String,
    /// `read`, `write` or `update`.
    pub access: String,
    /// Location of the access.
    pub location: String,
}

impl FoundSite {
    /// Name of the location in the source: the expression on the line where that names it, else a description
    /// of the block of memory. [`FoundSite::location`] is exact and distinguishes elements and blocks.
    pub fn variable(&self) -> String {
        self.expression()
            .unwrap_or_else(|| facts::in_block(&self.location))
    }

    /// The name in the source; none for a block of memory that the line does not name.
    pub(crate) fn expression(&self) -> Option<String> {
        let name = self.location.as_str();
        match Location::of(name) {
            Location::Heap { path, .. } => {
                facts::expression(&self.place.text, path, self.access != "read")
            }
            _ => Some(facts::own_part(Location::variable(name)).to_owned()),
        }
    }
}

/// Name of a location by either of two accesses: the first that has one.
pub(crate) fn variable(ends: &[Option<&FoundSite>]) -> String {
    let ends = || ends.iter().copied().flatten();
    let named = ends().find_map(FoundSite::expression);
    named.unwrap_or_else(|| ends().next().map_or(String::new(), FoundSite::variable))
}

/// Presence of a dependency in the failing run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// The failing run has it.
    Failing,
    /// Suspected only: the failing run ended before it, or lacks the opposite order.
    Missing,
}

/// Dependency of an access on another thread's access to the same location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FoundDependency {
    /// Index of the earlier access in [`Finding::sites`].
    pub head: u32,
    /// Index of the later access.
    pub tail: u32,
    /// Read after write, write after read, write after write.
    pub kind: DependencyKind,
    /// Presence in the failing run.
    pub seen: Presence,
}

/// Finding of an engine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Engine that it comes from.
    pub engine: Engine,
    /// Method of the engine, e.g. `procedure II`.
    pub method: String,
    /// Headline, in a sentence.
    pub headline: String,
    /// The accesses, in the order of execution.
    pub sites: Vec<FoundSite>,
    /// Dependencies between the accesses.
    pub dependencies: Vec<FoundDependency>,
    /// Failing runs that it rests on, by name; `replay` takes them.
    pub runs: Vec<String>,
    /// Number of passing runs that it was compared with.
    pub passing: u32,
    /// Number of those that have it, too; none when it is not counted because the method suspects an order it
    /// did not see.
    pub in_passing: Option<u32>,
}

/// Answer of an engine about a corpus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Engine that it comes from.
    pub engine: Engine,
    /// Its findings, best first.
    pub findings: Vec<Finding>,
    /// Stop reason of the engine.
    pub stopped: StopReason,
    /// Notes for the reader: the extent of the analysis, the weaknesses of the answer.
    pub notes: Vec<String>,
}

/// Engines to run, with their options.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Questions {
    /// The engines, in this order.
    pub engines: Vec<Engine>,
    /// Options for access pairs.
    pub pairs: pairs::PairOptions,
    /// Options for mining.
    pub mining: crate::mining::MiningOptions,
}

/// Runs engines on a corpus: one answer each, in the given order.
pub fn ask(corpus: &Corpus, questions: &Questions, budget: &Budget) -> Vec<Answer> {
    let answer = |engine: &Engine| match engine {
        Engine::Pairs => pairs::ask(corpus, &questions.pairs, budget),
        Engine::Mining => mining::ask(corpus, &questions.mining, budget),
    };
    questions.engines.iter().map(answer).collect()
}

/// Reason why no engine that compares runs can be used on this corpus, if any.
pub fn cannot_compare(corpus: &Corpus) -> Option<StopReason> {
    if corpus.failing().next().is_none() {
        return Some(StopReason::Lacks("a failing run"));
    }
    if corpus.passing().next().is_none() {
        return Some(StopReason::Lacks("a passing run to compare with"));
    }
    None
}

/// Failing runs by how and where they fail, in words; of each kind the shortest first.
pub fn by_failure(corpus: &Corpus) -> BTreeMap<String, Vec<&RunSummary>> {
    let mut kinds: BTreeMap<String, Vec<&RunSummary>> = BTreeMap::new();
    for run in corpus.failing() {
        let failure = run.failure.as_ref();
        let site = failure.and_then(|failure| failure.site.as_ref());
        let what = failure.map_or("", |failure| failure.message.as_str());
        let what = if what.is_empty() {
            run.outcome.name()
        } else {
            what
        };
        let place = site.map_or(String::new(), |site| format!(" at {}", facts::short(site)));
        kinds.entry(format!("{what}{place}")).or_default().push(run);
    }
    for runs in kinds.values_mut() {
        runs.sort_by(|a, b| (a.events, &a.name).cmp(&(b.events, &b.name)));
    }
    kinds
}

/// Advice for a corpus without passing runs when another build or another input of the same command has some.
pub fn elsewhere(corpora: &Corpora, corpus: &Corpus) -> Option<String> {
    let lacks_passing = corpus.passing().next().is_none();
    if corpus.failing().next().is_none() || !lacks_passing {
        return None;
    }
    let key = corpus.key();
    let same = |other: &&Corpus| other.key() != key && other.key().command == key.command;
    let others = corpora.iter().filter(same);
    let other = others.max_by_key(|other| other.passing().count())?;
    let passing = other.passing().count();
    let what = match other.key().build_id == key.build_id {
        true => "on another input",
        false => "of another build of the program",
    };
    (passing > 0).then(|| {
        format!(
            "{passing} passing runs are {what} and cannot be compared with these: record both with one build and one input"
        )
    })
}

/// Weaknesses of every comparison in this corpus, in words.
pub fn weaknesses(corpus: &Corpus) -> Vec<String> {
    let (mut cut_short, mut inexact) = (0usize, 0usize);
    for run in corpus.runs() {
        let compared = run.is_pass() || run.is_failure();
        cut_short += usize::from(!compared);
        inexact += usize::from(compared && !run.exact);
    }
    let mut notes = Vec::new();
    if cut_short > 0 {
        notes.push(format!(
            "{} cut short: neither passing nor failing, left out",
            runs_were(cut_short)
        ));
    }
    if inexact > 0 {
        notes.push(format!(
            "{} inexact: the order of accesses to data without a lock may have been another one",
            runs_were(inexact)
        ));
    }
    notes
}

/// A count with noun and verb: `1 run was`, `7 runs were`.
pub(crate) fn runs_were(number: usize) -> String {
    match number {
        1 => "1 run was".to_owned(),
        number => format!("{number} runs were"),
    }
}
