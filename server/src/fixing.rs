//! Fixes of each explanation, worked out once in the background from the runs and the recorded sources.

use crate::{
    cache::FixesRestOn,
    compiling::Compiling,
    facts::ExplainedFact,
    paths::{Root, candidates},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Weak},
};
use unsnarl_core::{
    Budget, Explanation,
    fixes::{self, Fix, Offered},
};
use unsnarl_trace::{
    Run,
    files::{read_text, sha256},
};

/// The fixes worked out so far, by explanation.
#[derive(Debug, Default)]
pub struct Fixing {
    known: BTreeMap<String, KnownFixes>,
    compiling: Compiling,
}

#[derive(Debug)]
struct KnownFixes {
    /// The run that the explanation is based on. While this is held no other run gets its address.
    run: Weak<Run>,
    rests_on: FixesRestOn,
    fixes: Vec<Fix>,
    not_fixed: Vec<String>,
    advice: Option<String>,
}

impl KnownFixes {
    fn is_of(&self, run: &Arc<Run>) -> bool {
        Weak::as_ptr(&self.run) == Arc::as_ptr(run)
    }

    /// Returns whether nothing that matters has changed. Twice as many runs may show accesses that were not seen
    /// before.
    fn holds(&self, run: &Arc<Run>, runs: usize, missing: &BTreeSet<String>) -> bool {
        let before = &self.rests_on;
        self.is_of(run) && runs < before.runs.saturating_mul(2) && before.missing == *missing
    }
}

impl Fixing {
    /// A store that offers fixes that compile.
    pub fn new(compiling: Compiling) -> Fixing {
        Fixing {
            compiling,
            ..Fixing::default()
        }
    }

    /// Forgets all but these explanations.
    pub fn keep_only(&mut self, ids: &BTreeSet<String>) {
        self.known.retain(|id, _| ids.contains(id));
    }

    /// The explanation with its known fixes, if this run shows it as before.
    pub fn add_known(&self, mut explanation: Explanation, run: Option<&Arc<Run>>) -> Explanation {
        let known = self.known.get(&explanation.id);
        if let Some(known) = known.filter(|known| run.is_some_and(|run| known.is_of(run))) {
            explanation.fixes.clone_from(&known.fixes);
            explanation.not_fixed.clone_from(&known.not_fixed);
            explanation.advice.clone_from(&known.advice);
        }
        explanation
    }

    /// Takes over the results of another session for this run.
    pub fn remember(&mut self, explanation: &Explanation, run: &Arc<Run>, rests_on: FixesRestOn) {
        let known = KnownFixes {
            run: Arc::downgrade(run),
            rests_on,
            fixes: explanation.fixes.clone(),
            not_fixed: explanation.not_fixed.clone(),
            advice: explanation.advice.clone(),
        };
        self.known.insert(explanation.id.clone(), known);
    }

    /// The basis of an explanation's fixes, if they were worked out.
    pub fn rests_on(&self, id: &str) -> Option<&FixesRestOn> {
        self.known.get(id).map(|known| &known.rests_on)
    }

    /// Works out the fixes that are not known yet. `count` is the number of runs of the corpus and `load` reads them.
    /// Returns `None` when they add nothing, or when the budget ended the work.
    pub fn look(
        &mut self,
        root: &Root,
        explained: &ExplainedFact,
        count: usize,
        load: impl FnOnce() -> Arc<[(String, Arc<Run>)]>,
        budget: &Budget,
    ) -> Option<ExplainedFact> {
        let run = explained.evidence.clone()?;
        let (texts, missing) = texts(root, &run);
        let known = self.known.get(&explained.explanation.id);
        if known.is_some_and(|known| known.holds(&run, count, &missing)) {
            return None;
        }
        let runs = load();
        let offered = fixes::offer(&explained.explanation, &runs, &texts, budget);
        // Nothing is known of what was given up: the next job looks again.
        if budget.stop().is_some() {
            return None;
        }
        let Offered {
            fixes,
            mut refused,
            advice,
        } = offered.without_doubt();
        let (fixes, wrong) = self.compiling.sift(fixes, &texts, &run.meta.directory);
        refused.extend(wrong);
        let known = KnownFixes {
            run: Arc::downgrade(&run),
            rests_on: FixesRestOn {
                runs: count.max(1),
                missing,
            },
            fixes,
            not_fixed: refused,
            advice,
        };
        let id = explained.explanation.id.clone();
        self.known.insert(id, known);
        let explanation = self.add_known(explained.explanation.clone(), Some(&run));
        let is_new = explanation != explained.explanation;
        is_new.then(|| ExplainedFact::new(explanation, Some(run)).beside(explained.passing.clone()))
    }
}

/// The texts of a run's sources that are on disk in the recorded state, and the names of the others.
fn texts(root: &Root, run: &Run) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut texts, mut missing) = (BTreeMap::new(), BTreeSet::new());
    for source in &run.meta.sources {
        let origin = Path::new(&run.meta.directory).join(&source.file);
        let mut there = candidates(root, &origin).into_iter().filter_map(|path| {
            let text = read_text(&path).ok()?;
            (sha256(text.as_bytes()) == source.sha256).then_some(text)
        });
        match there.next() {
            Some(text) => drop(texts.insert(source.file.clone(), text)),
            None => drop(missing.insert(source.file.clone())),
        }
    }
    (texts, missing)
}
