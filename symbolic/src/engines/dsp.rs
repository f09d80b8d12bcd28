//! Differences between a failing run and the nearest order that passes as far as the program model tells.

use crate::dsp::{self as projections, Flow, ThreadOperation, projection_agrees};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};
use unsnarl_core::{
    Budget, Explanation,
    explain::{Failing, Material, Proposer},
};
use unsnarl_trace::{EventId, OrderMode, Run, program::Program};

/// Failing runs of which a projection is made.
const RUNS: usize = 8;

/// Failing runs of an explanation that are asked about.
const ASKED: usize = 2;

/// The engine's name among those of an explanation.
const NAME: &str = "dsp";

/// Its contribution to an explanation that it agrees with.
const SAYS: &str =
    "turns these lines round in the nearest order that passes, as far as the program model tells";

/// The engine.
pub(super) struct DspEngine {
    program: Rc<Program>,
    /// The projections that were made, by run.
    known: RefCell<BTreeMap<String, Option<Rc<projections::Dsp>>>>,
}

impl DspEngine {
    /// The engine for runs of this program.
    pub fn new(program: Rc<Program>) -> DspEngine {
        DspEngine {
            program,
            known: RefCell::default(),
        }
    }

    /// The projection of a run; none where there is no model, or too many were made.
    fn projection(
        &self,
        material: &Material<'_>,
        name: &str,
        budget: &Budget,
    ) -> Option<Rc<projections::Dsp>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let run = material.run(name)?;
        let is_left_out = self.program.is_empty() || self.known.borrow().len() >= RUNS;
        if is_left_out || run.meta.mode != OrderMode::Controlled {
            return None;
        }
        let made = projections::in_brief(run, &self.program, budget).map(Rc::new);
        self.known
            .borrow_mut()
            .insert(name.to_owned(), made.clone());
        made
    }
}

impl Proposer for DspEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn propose(&self, failing: &Failing<'_>, budget: &Budget) -> Vec<Explanation> {
        let projection = self.projection(failing.material(), failing.name(), budget);
        projection.map_or_else(Vec::new, |made| told(&made, failing))
    }

    fn support(&self, explanation: &mut Explanation, material: &Material<'_>, budget: &Budget) {
        let agrees = explanation.runs_as_told().take(ASKED).any(|name| {
            let projection = self.projection(material, name, budget);
            projection.is_some_and(|dsp| projection_agrees(&dsp, explanation))
        });
        if agrees {
            explanation.join(NAME, SAYS.to_owned());
        }
    }
}

/// The orders of what a projection shows.
pub(super) fn told(projection: &projections::Dsp, failing: &Failing<'_>) -> Vec<Explanation> {
    let flipped = flipped(projection, failing.run());
    failing.orders_among(&rows(projection), flipped, (NAME, SAYS))
}

/// The rows that take part in what only one of the orders does.
fn rows(projection: &projections::Dsp) -> BTreeSet<EventId> {
    let flows = &projection.flows;
    let flows = flows.only_failing.iter().chain(&flows.only_alternate);
    let ends = flows.flat_map(|Flow { from, to, .. }| [*from, *to]);
    let flipped = projection.flipped.into_iter();
    let flipped = flipped.flat_map(|(first, second)| [Some(first), Some(second)]);
    let region = projection.region().into_iter().flatten();
    let region = region.filter_map(|operation| operation.event);
    let between = projection.between().iter().copied().map(Some);
    let all = ends.chain(flipped).chain(between).flatten();
    all.filter_map(|at| row(projection, at))
        .chain(region)
        .collect()
}

/// The two accesses that came the other way, where they are accesses of one location.
fn flipped(projection: &projections::Dsp, run: &Run) -> Option<(EventId, EventId)> {
    let (first, second) = projection.flipped?;
    let (first, second) = (row(projection, first)?, row(projection, second)?);
    let [one, other] = [run.events.get(first)?, run.events.get(second)?];
    let is_access = one.kind.is_access() && other.kind.is_access();
    (is_access && one.location == other.location).then_some((first, second))
}

fn row(projection: &projections::Dsp, at: u32) -> Option<EventId> {
    let operation: &ThreadOperation = projection.operations.get(at as usize)?;
    operation.event
}
