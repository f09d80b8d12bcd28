//! Runs of one build of one program on one input, with a summary of each.

use crate::{
    explanation::{FailurePlace, GoneLocal, Place},
    facts::{place, thread_name},
    failed,
    mining::{Trace, trace::line_hash},
    orders::Accesses,
    pairs::{PairCounts, RunPairs},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, btree_map},
    sync::Arc,
};
use unsnarl_trace::{EventKind, FailureKind, Outcome, Run, RunMeta, RunScope};

/// Key of a corpus. Runs with equal keys can be compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CorpusKey {
    /// SHA-256 of the program.
    pub build_id: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// SHA-256 over arguments and standard input.
    pub input_hash: String,
}

impl CorpusKey {
    /// The key of a run.
    pub fn of(run: &Run) -> CorpusKey {
        CorpusKey::of_meta(&run.meta)
    }

    /// The key of the run that this is about.
    pub fn of_meta(meta: &RunMeta) -> CorpusKey {
        CorpusKey {
            build_id: meta.build_id.clone(),
            command: meta.command.clone(),
            input_hash: meta.input_hash.clone(),
        }
    }
}

/// Summary of a run in a corpus.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Name of the run, which `replay` takes.
    pub name: String,
    /// Key of its corpus.
    pub key: CorpusKey,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Message and place of the failure.
    pub failure: Option<FailurePlace>,
    /// Kind of the failure.
    pub failure_kind: Option<FailureKind>,
    /// `true` if order and values are exact.
    pub exact: bool,
    /// Number of events.
    pub events: usize,
    /// Hash of the order in which threads took turns.
    pub order: u64,
    /// Its access pairs.
    pub pairs: Arc<RunPairs>,
    /// Places where it tried to acquire a lock in vain, as file and line.
    pub refusals: BTreeSet<(String, u32)>,
    /// The lines that it came to, by [`line_hash`](crate::mining::trace::line_hash), in order.
    pub lines: Arc<[u64]>,
    /// The signals that its threads send.
    pub signals: BTreeSet<Sent>,
    /// Locals that other threads used after their function had returned.
    pub gone: BTreeSet<GoneLocal>,
    /// Its accesses in order, for mining: four bytes each.
    pub accesses: Arc<Trace>,
    /// The run itself, kept for failing runs only.
    pub run: Option<Arc<Run>>,
}

/// A signal, or a unit of a semaphore, or several of one thread on one line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sent {
    /// Name of the location of the condition, or of the semaphore.
    pub condition: String,
    /// Name of the thread.
    pub thread: String,
    /// Source line.
    pub place: Place,
}

/// Message and place of a run's failure; none when it did not fail.
pub fn failure_place(run: &Run) -> Option<FailurePlace> {
    run.meta.failure.as_ref().map(|failure| FailurePlace {
        site: failed::site(run).map(|site| place(run, site)),
        message: failure.message.clone(),
        is_by_status: failure.kind == FailureKind::Exit,
    })
}

/// Places where a run tried to acquire a lock in vain.
fn refusals(run: &Run) -> BTreeSet<(String, u32)> {
    let rows = run.events.iter();
    let tries = rows.filter(|(_, event)| event.kind == EventKind::TryLockFailed);
    let sites = tries.map(|(_, event)| run.meta.site(event.site));
    sites.map(|site| (site.file.clone(), site.line)).collect()
}

fn lines(run: &Run) -> Arc<[u64]> {
    let sites = run.meta.sites.iter();
    let hashes = sites.map(|site| line_hash(&site.file, site.line));
    let all: BTreeSet<u64> = hashes.collect();
    all.into_iter().collect()
}

fn signals(run: &Run) -> BTreeSet<Sent> {
    let rows = run.events.iter();
    let sends = |kind: EventKind| {
        matches!(
            kind,
            EventKind::Signal | EventKind::Broadcast | EventKind::SemPost
        )
    };
    let signals = rows.filter(|(_, event)| sends(event.kind));
    let sent = signals.map(|(_, event)| Sent {
        condition: run.location(event.location).to_owned(),
        thread: thread_name(run, event.thread),
        place: place(run, event.site),
    });
    sent.collect()
}

impl RunSummary {
    /// Summarizes a run in a few passes over its columns.
    pub fn new(name: impl Into<String>, run: Arc<Run>) -> RunSummary {
        let name = name.into();
        let _scope = RunScope::enter(&name);
        let failure = run.meta.failure.as_ref();
        let accesses = Accesses::new(&run);
        RunSummary {
            name,
            key: CorpusKey::of(&run),
            outcome: run.meta.outcome,
            failure: failure_place(&run),
            failure_kind: failure.map(|failure| failure.kind),
            exact: run.meta.exact,
            events: run.events.len(),
            order: order_hash(&run),
            pairs: Arc::new(RunPairs::with_accesses(&run, &accesses)),
            refusals: refusals(&run),
            lines: lines(&run),
            signals: signals(&run),
            gone: run.meta.left_locals.iter().map(GoneLocal::from).collect(),
            accesses: Arc::new(Trace::new(&run, &accesses)),
            run: Some(run).filter(|run| run.meta.outcome.is_failure()),
        }
    }

    /// Returns whether the run failed, in any way.
    pub fn is_failure(&self) -> bool {
        self.outcome.is_failure()
    }

    /// Returns whether the run came to a line.
    pub fn comes_to(&self, file: &str, line: u32) -> bool {
        self.lines.binary_search(&line_hash(file, line)).is_ok()
    }

    /// Returns whether the run passed.
    pub fn is_pass(&self) -> bool {
        self.outcome == Outcome::Passed
    }
}

fn order_hash(run: &Run) -> u64 {
    let mut hash = crate::pairs::Fnv::default();
    for turn in run.events.threads().chunk_by(|a, b| a == b) {
        let thread = turn.first().copied().unwrap_or(0);
        hash.bytes(&thread.to_le_bytes());
        hash.bytes(&(turn.len() as u32).to_le_bytes());
    }
    hash.0
}

/// All runs with one key.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    key: CorpusKey,
    runs: BTreeMap<String, RunSummary>,
    counts: PairCounts,
}

impl Corpus {
    /// An empty corpus.
    pub fn new(key: CorpusKey) -> Corpus {
        Corpus {
            key,
            ..Corpus::default()
        }
    }

    /// Key of the runs.
    pub fn key(&self) -> &CorpusKey {
        &self.key
    }

    /// Adds a run; one with the same name is replaced.
    pub fn insert(&mut self, run: RunSummary) {
        self.remove(&run.name);
        if run.is_pass() {
            self.counts.insert(&run.name, &run.pairs);
        }
        self.runs.insert(run.name.clone(), run);
    }

    /// Removes a run.
    pub fn remove(&mut self, name: &str) -> Option<RunSummary> {
        let run = self.runs.remove(name)?;
        if run.is_pass() {
            self.counts.remove(&run.name, &run.pairs);
        }
        Some(run)
    }

    /// All runs by name.
    pub fn runs(&self) -> impl Iterator<Item = &RunSummary> {
        self.runs.values()
    }

    /// One run.
    pub fn get(&self, name: &str) -> Option<&RunSummary> {
        self.runs.get(name)
    }

    /// Failing runs, by name.
    pub fn failing(&self) -> impl Iterator<Item = &RunSummary> {
        self.runs().filter(|run| run.is_failure())
    }

    /// Passing runs, by name.
    pub fn passing(&self) -> impl Iterator<Item = &RunSummary> {
        self.runs().filter(|run| run.is_pass())
    }

    /// Pair statistics of the passing runs.
    pub fn counts(&self) -> &PairCounts {
        &self.counts
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns whether there are no runs.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// Corpora of any builds, commands and inputs, kept apart.
#[derive(Clone, Debug, Default)]
pub struct Corpora {
    corpora: BTreeMap<CorpusKey, Corpus>,
    home: HashMap<String, CorpusKey>,
}

impl Corpora {
    /// Adds a run and returns the key of the changed corpus; a run with the same name is replaced.
    pub fn insert(&mut self, run: RunSummary) -> CorpusKey {
        self.remove(&run.name);
        let key = run.key.clone();
        self.home.insert(run.name.clone(), key.clone());
        let corpus = self.corpora.entry(key.clone());
        corpus
            .or_insert_with(|| Corpus::new(key.clone()))
            .insert(run);
        key
    }

    /// Removes a run and returns the key of the changed corpus. A corpus without runs is removed as well.
    pub fn remove(&mut self, name: &str) -> Option<CorpusKey> {
        let key = self.home.remove(name)?;
        if let btree_map::Entry::Occupied(mut corpus) = self.corpora.entry(key.clone()) {
            corpus.get_mut().remove(name);
            if corpus.get().is_empty() {
                corpus.remove();
            }
        }
        Some(key)
    }

    /// The corpora in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Corpus> {
        self.corpora.values()
    }

    /// One corpus.
    pub fn get(&self, key: &CorpusKey) -> Option<&Corpus> {
        self.corpora.get(key)
    }

    /// The corpus that contains a run.
    pub fn of_run(&self, name: &str) -> Option<&Corpus> {
        self.corpora.get(self.home.get(name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    fn summary(name: &str, build: &str) -> RunSummary {
        let mut run = run("main W x @1");
        run.meta.build_id = build.to_owned();
        RunSummary::new(name, Arc::new(run))
    }

    #[test]
    fn builds_are_kept_apart() {
        let mut corpora = Corpora::default();
        corpora.insert(summary("a", "one"));
        corpora.insert(summary("b", "two"));
        corpora.insert(summary("c", "one"));
        let sizes: Vec<usize> = corpora.iter().map(Corpus::len).collect();
        assert_eq!(sizes, [2, 1]);
        assert_eq!(corpora.of_run("b").map(Corpus::len), Some(1));
    }

    #[test]
    fn a_name_moves_with_its_run_and_an_empty_corpus_goes() {
        let mut corpora = Corpora::default();
        corpora.insert(summary("a", "one"));
        corpora.insert(summary("a", "two"));
        assert_eq!(corpora.iter().count(), 1);
        assert_eq!(
            corpora.remove("a").map(|key| key.build_id),
            Some("two".to_owned())
        );
        assert_eq!(corpora.remove("a"), None);
        assert_eq!(corpora.iter().count(), 0);
    }

    #[test]
    fn runs_cut_short_count_neither_way() {
        let mut corpus = Corpus::new(CorpusKey::default());
        corpus.insert(RunSummary::new(
            "a",
            Arc::new(run("main W x @1\ncut-short")),
        ));
        assert_eq!(
            (
                corpus.len(),
                corpus.passing().count(),
                corpus.failing().count()
            ),
            (1, 0, 0)
        );
        assert_eq!(corpus.counts().passing(), 0);
    }
}
