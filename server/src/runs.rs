//! The run files of one workspace folder: read once each, kept as summaries, forgotten when they go.

use crate::{
    compiling::Compiling,
    confirming::Confirming,
    deeper::Deeper,
    facts::{ExplainedFact, FolderFacts},
    fixing::Fixing,
    paths::Root,
    unexplained::{self, UnexplainedFailure},
};
mod kept;
mod listing;
mod shown;

pub use listing::is_run_file_name;
use listing::{Fitting, list};
use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};
use unsnarl_core::{Budget, Corpora, Corpus, CorpusKey, RunSummary, StopReason, builds, explain};
use unsnarl_trace::{
    Run,
    folder::{RunFile, run_file},
    read::read_run,
};

/// The error of a job that was given up because something newer happened.
#[derive(Debug)]
pub struct Superseded;

/// The runs of one workspace folder, with what is known about them.
#[derive(Debug, Default)]
pub struct RunStore {
    /// Every file that was read, in its state then.
    files: BTreeSet<RunFile>,
    broken: BTreeMap<PathBuf, String>,
    corpora: Corpora,
    fixing: Fixing,
    deeper: Deeper,
    confirming: Confirming,
    /// Runs that were read before their turn.
    at_hand: BTreeMap<RunFile, Arc<Run>>,
    /// Key of the cache's content, once it was read or written.
    kept: Option<String>,
}

/// Bound for the events of the runs that are read once more to work out fixes, which limits the memory of all of them
/// together: an event takes about 50 bytes.
const MOST_EVENTS: usize = 1_000_000;

/// Runs with their names.
type NamedRuns = Arc<[(String, Arc<Run>)]>;

impl RunStore {
    /// A store that offers fixes that compile.
    pub fn new(compiling: Compiling) -> RunStore {
        RunStore {
            fixing: Fixing::new(compiling),
            ..RunStore::default()
        }
    }

    /// Brings the store up to date with the run folder, then explains the failures. Files that were read stay read
    /// when the budget ends the work. `room` is the memory that the runs may take, in bytes. `progress` is told how
    /// many of the new files are done.
    pub fn refresh(
        &mut self,
        folder: &Path,
        room: u64,
        budget: &Budget,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<FolderFacts, Superseded> {
        let (all, unreadable) = list(folder);
        let Fitting {
            there,
            left_out,
            memory,
        } = Fitting::of(all, room);
        for gone in self.files.difference(&there).cloned().collect::<Vec<_>>() {
            self.forget(&gone);
        }
        let new: Vec<RunFile> = there.difference(&self.files).cloned().collect();
        for (done, file) in new.iter().enumerate() {
            progress(done, new.len());
            give_way(budget)?;
            self.take_in(file);
        }
        self.at_hand.clear();
        let ComparedAnswers {
            explained,
            unexplained,
            outdated,
        } = self.explain(budget)?;
        let runs = || self.corpora.iter().flat_map(|corpus| corpus.runs());
        Ok(FolderFacts {
            runs: runs().count(),
            failing: runs().filter(|run| run.is_failure()).count(),
            broken: self.broken.clone(),
            unreadable,
            explained,
            unexplained,
            outdated,
            unconfirmed: 0,
            out_of_time: budget.stop() == Some(StopReason::OutOfTime),
            left_out,
            memory,
        })
    }

    /// Performs the expensive part of the work and reports the facts again each time that something was added: fixes
    /// first, since they are found soon.
    pub fn deepen(
        &mut self,
        root: &Root,
        folder: &Path,
        mut facts: FolderFacts,
        budget: &Budget,
        mut told: impl FnMut(FolderFacts),
    ) -> Result<FolderFacts, Superseded> {
        let ids = facts.explained.iter().map(|one| &one.explanation.id);
        let ids: BTreeSet<String> = ids.cloned().collect();
        self.fixing.keep_only(&ids);
        self.deeper.keep_only(&ids);
        self.confirming.keep_only(&ids, &self.files);
        self.add_fixes(root, &mut facts, budget, &mut told)?;
        if self.add_invariants(folder, &mut facts, budget)? {
            told(self.shown(&facts));
        }
        Ok(facts)
    }

    /// Adds the fixes of each explanation and reports them at once: those of the others may take long.
    fn add_fixes(
        &mut self,
        root: &Root,
        facts: &mut FolderFacts,
        budget: &Budget,
        told: &mut impl FnMut(FolderFacts),
    ) -> Result<(), Superseded> {
        let (mut fixing, mut read) = (std::mem::take(&mut self.fixing), BTreeMap::new());
        for at in 0..facts.explained.len() {
            let Some(one) = facts.explained.get_mut(at) else {
                break;
            };
            if let Some(corpus) = one.evidence.as_ref().and_then(|run| self.corpus_of(run)) {
                let load = || {
                    let runs = read.entry(corpus.key().clone());
                    runs.or_insert_with(|| self.read_again(corpus, budget))
                        .clone()
                };
                if let Some(found) = fixing.look(root, one, corpus.len(), load, budget) {
                    *one = Arc::new(found);
                    told(self.shown(facts));
                }
            }
            if budget.stop().is_some() {
                break;
            }
        }
        self.fixing = fixing;
        give_way(budget)
    }

    fn add_invariants(
        &mut self,
        folder: &Path,
        facts: &mut FolderFacts,
        budget: &Budget,
    ) -> Result<bool, Superseded> {
        let mut is_new = false;
        for one in &mut facts.explained {
            let deepened = self.deeper.look(folder, one, budget);
            give_way(budget)?;
            is_new |= deepened.is_some();
            *one = deepened.map_or_else(|| one.clone(), Arc::new);
        }
        Ok(is_new)
    }

    fn corpus_of(&self, run: &Run) -> Option<&Corpus> {
        let key = CorpusKey::of(run);
        self.corpora.iter().find(|corpus| *corpus.key() == key)
    }

    /// The runs of a corpus in full: failing ones are kept; of passing ones with the same order a single one is read,
    /// and no more than [`MOST_EVENTS`] allow: a fix says how many runs it rests on.
    fn read_again(&self, corpus: &Corpus, budget: &Budget) -> NamedRuns {
        let failing = corpus
            .failing()
            .filter_map(|run| Some((run.name.clone(), run.run.clone()?)));
        let mut runs: Vec<(String, Arc<Run>)> = failing.collect();
        let files: BTreeMap<&str, &RunFile> = self
            .files
            .iter()
            .map(|file| (file.name.as_str(), file))
            .collect();
        let (mut orders, mut events) = (BTreeSet::new(), 0);
        for summary in corpus.passing().filter(|run| orders.insert(run.order)) {
            events += summary.events;
            if events > MOST_EVENTS || budget.stop().is_some() {
                break;
            }
            // A file that is gone by now has an event on its way that says so.
            let run = files
                .get(summary.name.as_str())
                .map(|file| read_run(&file.path));
            runs.extend(
                run.and_then(Result::ok)
                    .map(|run| (summary.name.clone(), Arc::new(run))),
            );
        }
        runs.into()
    }

    fn forget(&mut self, file: &RunFile) {
        self.files.remove(file);
        self.broken.remove(&file.path);
        self.corpora.remove(&file.name);
    }

    fn take_in(&mut self, file: &RunFile) {
        match summarize(file, self.at_hand.remove(file)) {
            Ok(summary) => drop(self.corpora.insert(summary)),
            // Gone or replaced while it was read: there is an event on its way that says so.
            Err(_) if run_file(&file.path).as_ref() != Some(file) => return,
            Err(reason) => drop(self.broken.insert(file.path.clone(), reason)),
        }
        self.files.insert(file.clone());
    }

    fn explain(&self, budget: &Budget) -> Result<ComparedAnswers, Superseded> {
        let runs = self.files.iter().filter_map(|file| {
            let corpus = self.corpora.of_run(&file.name)?;
            Some((corpus.key(), file.modified))
        });
        let old = builds::outdated(runs);
        let mut answers = ComparedAnswers::default();
        for corpus in self.corpora.iter() {
            if old.contains(corpus.key()) {
                answers.outdated += corpus.failing().count();
                continue;
            }
            let explained = explain(corpus, budget);
            let findings = explained.findings;
            let passing: Arc<[String]> = corpus.passing().map(|run| run.name.clone()).collect();
            answers.unexplained.extend(unexplained::of_corpus(
                corpus,
                &findings,
                explained.stopped,
            ));
            for explanation in findings {
                // What hovers tell has to be of the run that the steps are from, where that is at hand.
                let mut shown_by = iter::once(&explanation.run)
                    .chain(&explanation.runs)
                    .filter_map(|name| corpus.get(name)?.run.clone());
                let evidence = shown_by.next();
                let known = self.fixing.add_known(explanation, evidence.as_ref());
                let known = self.deeper.add_known(known, evidence.as_ref());
                let one = ExplainedFact::new(known, evidence).beside(passing.clone());
                answers.explained.push(Arc::new(one));
            }
            give_way(budget)?;
        }
        Ok(answers)
    }
}

/// The result of comparing runs.
#[derive(Default)]
struct ComparedAnswers {
    explained: Vec<Arc<ExplainedFact>>,
    /// Failures without an explanation.
    unexplained: Vec<Arc<UnexplainedFailure>>,
    /// Failing runs of builds that are out of date.
    outdated: usize,
}

/// Summarizes a file. One on which the reader or the analysis panics is broken, and no reason to end the server.
fn summarize(file: &RunFile, at_hand: Option<Arc<Run>>) -> Result<RunSummary, String> {
    let read = || {
        let run = match at_hand {
            Some(run) => run,
            None => Arc::new(read_run(&file.path).map_err(|error| error.to_string())?),
        };
        if let Some(damage) = run.damage.first() {
            return Err(format!(
                "the run file {} is left out: {damage}; record the program again",
                file.path.display()
            ));
        }
        Ok(RunSummary::new(file.name.as_str(), run))
    };
    let defect = |_| {
        Err(format!(
            "the run file {} makes the analysis fail, a defect of unsnarl: please report it with the file",
            file.path.display()
        ))
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(defect)
}

/// Gives way to something newer. Running out of time is no reason to discard the results so far.
fn give_way(budget: &Budget) -> Result<(), Superseded> {
    match budget.stop() {
        Some(StopReason::Cancelled) => Err(Superseded),
        _ => Ok(()),
    }
}
