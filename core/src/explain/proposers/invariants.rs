//! Orders among the accesses that a failing run's slice keeps: those that the failure follows from.

use super::{Failing, Material, Proposer, among::Among};
use crate::{
    Budget,
    explain::view::View,
    explanation::Explanation,
    invariants::{self, Told},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};
use unsnarl_trace::EventId;

/// The engine's name among those of an explanation.
const NAME: &str = "invariants";

/// The engine.
#[derive(Default)]
pub(super) struct Invariants {
    /// Invariants along the runs that were asked about.
    known: RefCell<BTreeMap<String, Option<Rc<Told>>>>,
}

impl Invariants {
    fn told(&self, material: &Material<'_>, name: &str, budget: &Budget) -> Option<Rc<Told>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let run = material.run(name)?;
        let told = invariants::in_brief(run, &material.program, budget).map(Rc::new);
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
        let view = failing.view;
        let told = self.told(failing.material, &view.summary.name, budget);
        let Some(told) = told else {
            return Vec::new();
        };
        self::told(&told, view)
    }

    fn support(&self, explanation: &mut Explanation, material: &Material<'_>, budget: &Budget) {
        let mut runs = explanation.runs.iter();
        let Some(name) = runs.find(|name| material.run(name).is_some()) else {
            return;
        };
        if let Some(told) = self.told(material, name, budget) {
            invariants::beside(&told, explanation);
        }
    }
}

/// The orders among the accesses of a slice.
pub(super) fn told(told: &Told, view: &View) -> Vec<Explanation> {
    let rows = told.lines.iter().flat_map(|line| &line.events);
    let rows: BTreeSet<EventId> = rows.copied().map(EventId).collect();
    Among::within(view, &rows).told(view, NAME, invariants::SAYS)
}
