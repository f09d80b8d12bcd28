//! What single engines say about the failing runs of a corpus, each finding with its evidence.
//!
//! An explanation is what a person reads first; a finding is what one method of the literature reports,
//! as it reports it, so that methods can be compared and their answers be used by other programs. An
//! engine that can say nothing says why: [`Answer::stopped`] and [`Answer::notes`] are never both silent
//! when there are no findings.

mod agree;
pub mod mining;
pub mod pairs;
#[cfg(test)]
mod tests;

pub use agree::projection_agrees;
pub(crate) use agree::{mining_agrees, pairs_agree, predicted, prediction_agrees};

use crate::{
    Budget, Corpora, Corpus, RunSummary, StopReason, explanation::Place, facts,
    orders::DependencyKind,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The engines that can be asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Access pairs: [`crate::pairs`].
    Pairs,
    /// Bug explanation patterns: [`crate::mining`].
    Mining,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 2] = [Engine::Pairs, Engine::Mining];

    /// The word for it, as on the command line.
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
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Who, as people say it: `withdraw (main.2)`; empty when it did not run in the failing run.
    pub thread: String,
    /// `read`, `write` or `update`.
    pub access: String,
    /// On what.
    pub location: String,
}

impl FoundSite {
    /// What the source calls the location: the expression on the line where that names it, else words for the
    /// block of memory. [`FoundSite::location`] is exact and tells elements and blocks apart.
    pub fn variable(&self) -> String {
        self.expression()
            .unwrap_or_else(|| facts::in_block(&self.location))
    }

    /// The name in the source; none for a block of memory that the line does not name.
    pub(crate) fn expression(&self) -> Option<String> {
        let name = self.location.as_str();
        if !name.starts_with("heap(") {
            return Some(facts::own_part(facts::stack_variable(name)).to_owned());
        }
        let path = name.get(facts::block(name).len()..).unwrap_or("");
        facts::expression(&self.place.text, path, self.access != "read")
    }
}

/// What two accesses to one location call it: the first that has a name for it.
pub(crate) fn variable(ends: &[Option<&FoundSite>]) -> String {
    let ends = || ends.iter().copied().flatten();
    let named = ends().find_map(FoundSite::expression);
    named.unwrap_or_else(|| ends().next().map_or(String::new(), FoundSite::variable))
}

/// How a dependency stands in the failing run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// The failing run has it.
    Failing,
    /// It is suspected only: the failing run ended before it could be seen, or lacks the opposite order.
    Missing,
}

/// One access after another of another thread on the same location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FoundDependency {
    /// Index of the earlier access in [`Finding::sites`].
    pub head: u32,
    /// Index of the later access.
    pub tail: u32,
    /// Read after write, write after read, write after write.
    pub kind: DependencyKind,
    /// Whether the failing run has it.
    pub seen: Seen,
}

/// What an engine reports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Who.
    pub engine: Engine,
    /// By which of its methods, e.g. `procedure II`.
    pub method: String,
    /// What, in a sentence.
    pub headline: String,
    /// The accesses, in the order in which they ran.
    pub sites: Vec<FoundSite>,
    /// What depends on what among them.
    pub dependencies: Vec<FoundDependency>,
    /// Failing runs that it rests on, by name; `replay` takes them.
    pub runs: Vec<String>,
    /// Number of passing runs that it was compared with.
    pub passing: u32,
    /// Number of those that have it, too; none when that is not counted: the method suspects what it did
    /// not see.
    pub in_passing: Option<u32>,
}

/// What an engine says about a corpus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Who.
    pub engine: Engine,
    /// Its findings, best first.
    pub findings: Vec<Finding>,
    /// Why it stopped.
    pub stopped: StopReason,
    /// What the reader should know: what was looked at, what makes the answer weak.
    pub notes: Vec<String>,
}

/// What to ask.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Questions {
    /// Whom, in this order.
    pub engines: Vec<Engine>,
    /// How the access pairs are looked at.
    pub pairs: pairs::Options,
    /// How patterns are mined.
    pub mining: crate::mining::Options,
}

/// Asks engines about a corpus: one answer each, in the order of the question.
pub fn ask(corpus: &Corpus, questions: &Questions, budget: &Budget) -> Vec<Answer> {
    let answer = |engine: &Engine| match engine {
        Engine::Pairs => pairs::ask(corpus, &questions.pairs, budget),
        Engine::Mining => mining::ask(corpus, &questions.mining, budget),
    };
    questions.engines.iter().map(answer).collect()
}

/// Why no engine that compares runs can say anything about this corpus, if that is so.
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

/// What to do about runs that lack something to compare with, when other runs of the same command have
/// it: those of another build or another input.
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

/// What makes every comparison of this corpus weaker, in words.
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

/// `1 run was`, `7 runs were`.
pub(crate) fn runs_were(number: usize) -> String {
    match number {
        1 => "1 run was".to_owned(),
        number => format!("{number} runs were"),
    }
}
