//! Deeper analysis, which takes longer than comparing runs: error invariants of each explanation, worked out once.

use crate::facts::ExplainedFact;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Weak},
};
use unsnarl_core::{Budget, Explanation, InvariantMark};
use unsnarl_symbolic::invariants;
use unsnarl_trace::{Run, program};

/// The results so far, by explanation.
#[derive(Debug, Default)]
pub struct Deeper {
    known: BTreeMap<String, KnownDeeper>,
}

#[derive(Debug)]
struct KnownDeeper {
    /// The run that it is based on. While this is held no other run gets its address.
    run: Weak<Run>,
    invariants: Vec<InvariantMark>,
    engines: Vec<String>,
}

impl KnownDeeper {
    fn is_of(&self, run: &Arc<Run>) -> bool {
        Weak::as_ptr(&self.run) == Arc::as_ptr(run)
    }
}

impl Deeper {
    /// Forgets all but these explanations.
    pub fn keep_only(&mut self, ids: &BTreeSet<String>) {
        self.known.retain(|id, _| ids.contains(id));
    }

    /// The explanation with its known invariants, if this run shows it as before.
    pub fn add_known(&self, mut explanation: Explanation, run: Option<&Arc<Run>>) -> Explanation {
        let known = self.known.get(&explanation.id);
        if let Some(known) = known.filter(|known| run.is_some_and(|run| known.is_of(run))) {
            explanation.invariants.clone_from(&known.invariants);
            let new = known
                .engines
                .iter()
                .filter(|name| !explanation.engines.contains(name));
            let new: Vec<String> = new.cloned().collect();
            explanation.engines.extend(new);
        }
        explanation
    }

    /// Takes over the results of another session for this run.
    pub fn remember(&mut self, explanation: &Explanation, run: &Arc<Run>) {
        let known = KnownDeeper {
            run: Arc::downgrade(run),
            invariants: explanation.invariants.clone(),
            engines: explanation.engines.clone(),
        };
        self.known.insert(explanation.id.clone(), known);
    }

    /// Returns whether an explanation was analysed.
    pub fn knows(&self, id: &str) -> bool {
        self.known.contains_key(id)
    }

    /// Works out the invariants that are not known yet; returns `None` when they add nothing, or when the budget
    /// ended the work.
    pub fn look(
        &mut self,
        folder: &Path,
        explained: &ExplainedFact,
        budget: &Budget,
    ) -> Option<ExplainedFact> {
        let run = explained.evidence.clone()?;
        let id = &explained.explanation.id;
        if self.known.get(id).is_some_and(|known| known.is_of(&run)) {
            return None;
        }
        let mut explanation = explained.explanation.clone();
        // Without a model of the build there is nothing to work with; the explanation stays as it is.
        if let Ok(model) = program::load(folder, &run.meta.build_id) {
            invariants::add_to(&mut explanation, &run, &model, budget);
        }
        // Nothing is known of what was given up: the next job looks again.
        if budget.stop().is_some() {
            return None;
        }
        let known = KnownDeeper {
            run: Arc::downgrade(&run),
            invariants: explanation.invariants.clone(),
            engines: explanation.engines.clone(),
        };
        self.known.insert(id.clone(), known);
        let is_new = explanation != explained.explanation;
        is_new.then(|| ExplainedFact::new(explanation, Some(run)).beside(explained.passing.clone()))
    }
}
