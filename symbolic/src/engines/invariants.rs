//! Orders among the accesses that a failing run's slice keeps: those that the failure follows from.

use crate::invariants::{self, PreparedPaths, ToldInvariants};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};
use unsnarl_core::{
    Budget, Explanation,
    explain::{Failing, Material, Proposer},
};
use unsnarl_trace::EventId;

/// The engine's name among those of an explanation.
const NAME: &str = "invariants";

/// The engine.
pub(super) struct Invariants {
    paths: Rc<PreparedPaths>,
    /// Invariants along the runs that were asked about.
    known: RefCell<BTreeMap<String, Option<Rc<ToldInvariants>>>>,
}

impl Invariants {
    /// The engine for runs of these paths' program.
    pub fn new(paths: Rc<PreparedPaths>) -> Invariants {
        Invariants {
            paths,
            known: RefCell::default(),
        }
    }

    fn told(
        &self,
        material: &Material<'_>,
        name: &str,
        budget: &Budget,
    ) -> Option<Rc<ToldInvariants>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let run = material.run(name)?;
        let path = self.paths.of(run, name, &budget.at_most(invariants::TIME));
        let told = path.and_then(|path| invariants::in_brief(&path, run, budget));
        let told = told.map(Rc::new);
        self.known
            .borrow_mut()
            .insert(name.to_owned(), told.clone());
        told
    }
}

impl Proposer for Invariants {
    fn name(&self) -> &'static str {
        NAME
    }

    fn propose(&self, failing: &Failing<'_>, budget: &Budget) -> Vec<Explanation> {
        let told = self.told(failing.material(), failing.name(), budget);
        told.map_or_else(Vec::new, |told| self::told(&told, failing))
    }

    fn support(&self, explanation: &mut Explanation, material: &Material<'_>, budget: &Budget) {
        let name = explanation
            .runs_as_told()
            .find(|name| material.run(name).is_some());
        let told = name.and_then(|name| self.told(material, name, budget));
        if let Some(told) = told {
            invariants::beside(&told, explanation);
        }
    }
}

/// The orders among the accesses of a slice.
pub(super) fn told(told: &ToldInvariants, failing: &Failing<'_>) -> Vec<Explanation> {
    let rows = told.lines.iter().flat_map(|line| &line.events);
    let rows: BTreeSet<EventId> = rows.copied().map(EventId).collect();
    failing.orders_among(&rows, None, (NAME, invariants::SAYS))
}
