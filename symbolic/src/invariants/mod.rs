//! Error invariants: conditions that had to hold along a failing run for it to fail ([error-invariants]).
//!
//! [`explain()`] takes a failing run's symbolic trace, finds the statements that together make it fail (the
//! *slice*), and for each position of the path the condition that has to hold there for the rest to fail (the
//! *error invariant*). The [`Level`] says which dependencies are kept beyond the data flow. [`check()`]
//! verifies all of it independently.
//!
//! `encode` makes formulas of the path, `minimal` the slice, `sequence` the invariants, `hazards` the
//! dependencies on other threads' accesses, `words` the sentences.
//!
//! [error-invariants]: Holzer, Schwartz-Narbonne, Tabaei Befrouei, Weissenbacher and Wies, *Error Invariants
//! for Concurrent Traces*, FM 2016.

mod beside;
mod check;
mod encode;
mod hazards;
mod linear;
mod minimal;
mod model;
mod prepared;
mod range;
mod rewrite;
mod sequence;
mod solve;
#[cfg(test)]
mod tests;
mod told;
mod trial;
mod usual;
mod words;

pub use beside::add_to;
pub(crate) use beside::{SAYS, TIME, beside, in_brief};
pub use check::{Violation, check};
pub use model::{
    Fact, Hazard, InvariantOptions, Kind, Level, Minimality, PathExplanation, Reach, SliceCounts,
    Statement, Unexplained, Var, VarKind,
};

pub use prepared::PreparedPaths;
pub use told::{SliceSizes, ToldInvariant, ToldInvariants, ToldLine, told};
pub use usual::{ThreadPlace, thread_place, without_usual};

use crate::{StepId, SymbolicTrace};
use encode::EncodedPath;
use hazards::{ForcedReach, Hazards, absences, hazards, meets};
use minimal::Core;
use solve::SatisfiabilityQuery;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};
use unsnarl_core::{Budget, StopReason};
use unsnarl_trace::Run;

/// A failing path that can be explained at several levels.
#[derive(Clone, Debug)]
pub struct PreparedPath {
    encoding: EncodedPath,
    forced: ForcedReach,
    /// What was found without being cut short: a path is asked about more than once.
    known: RefCell<BTreeMap<InvariantOptions, PathExplanation>>,
}

/// Reads a failing path: the steps of `order` up to the failure. Linear.
pub fn prepare(
    trace: &SymbolicTrace,
    run: &Run,
    order: &[StepId],
) -> Result<PreparedPath, Unexplained> {
    let encoding = EncodedPath::new(trace, run, order)?;
    let forced = ForcedReach::new(&encoding);
    Ok(PreparedPath {
        encoding,
        forced,
        known: RefCell::default(),
    })
}

/// Computes the slice and the error invariants of a failing run. See [`PreparedPath::explain`].
pub fn explain(
    trace: &SymbolicTrace,
    run: &Run,
    order: &[StepId],
    options: &InvariantOptions,
    budget: &Budget,
) -> Result<PathExplanation, Unexplained> {
    prepare(trace, run, order)?.explain(options, budget)
}

/// Words for a slice of one thread alone.
const NONE: &str = "no level contains a step between threads whose order timing decided: this does not look like a concurrency bug";
/// Words for a slice that steps of other threads would have changed.
const ABSENT: &str = "no level contains a step between threads: what another thread could have changed in time was not changed";

/// A slice at a level.
struct Sliced {
    level: Level,
    core: Core,
    hazards: Hazards,
    why: &'static str,
}

impl Sliced {
    fn rows(&self) -> BTreeSet<usize> {
        self.core.rows.union(&self.hazards.rows).copied().collect()
    }
}

impl PreparedPath {
    /// Computes the slice and the invariants, at the requested level or at the lightest one that contains an
    /// inter-thread step. Quadratic in the slice at worst, linear in the path; the budget is polled between
    /// statements, and a result that it cut short is marked partial.
    pub fn explain(
        &self,
        options: &InvariantOptions,
        budget: &Budget,
    ) -> Result<PathExplanation, Unexplained> {
        if let Some(known) = self.known.borrow().get(options) {
            return Ok(known.clone());
        }
        let explanation = self.work_out(options, budget)?;
        if explanation.stopped == StopReason::Complete && budget.stop().is_none() {
            self.known
                .borrow_mut()
                .insert(options.clone(), explanation.clone());
        }
        Ok(explanation)
    }

    fn work_out(
        &self,
        options: &InvariantOptions,
        budget: &Budget,
    ) -> Result<PathExplanation, Unexplained> {
        let mut encoding = self.encoding.clone();
        let mut asker = SatisfiabilityQuery::new(budget);
        let mut sliced = match options.level {
            Some(level) => self.at(&mut encoding, level, options, &mut asker, budget)?,
            None => self.lightest(&mut encoding, options, &mut asker, budget)?,
        };
        let is_control = sliced.level.cs;
        let found = sequence::sequence(
            &mut encoding,
            &mut sliced.core,
            is_control,
            &mut asker,
            budget,
        );
        // The sequence may have needed more statements, whose reads have hazards of their own.
        let rows = &sliced.core.rows;
        sliced.hazards = hazards(
            &encoding,
            &self.forced,
            rows,
            sliced.level,
            options.every_write,
        );
        let rows = sliced.rows();
        if sliced.hazards.reaches.is_empty() && !meets(&encoding, &self.forced, &rows) {
            sliced.hazards.reaches = absences(&encoding, &rows);
            if sliced.why == NONE && !sliced.hazards.reaches.is_empty() {
                sliced.why = ABSENT;
            }
        }
        let mut explanation = made(encoding, sliced, found);
        explanation.counts.questions = asker.questions;
        Ok(explanation)
    }

    fn core(
        encoding: &mut EncodedPath,
        is_control: bool,
        asker: &mut SatisfiabilityQuery,
        budget: &Budget,
    ) -> Result<Core, Unexplained> {
        if let Some(stopped) = budget.stop() {
            return Err(Unexplained::Stopped(stopped));
        }
        let core = minimal::core(encoding, is_control, asker, budget);
        core.ok_or_else(|| match budget.stop() {
            Some(stopped) => Unexplained::Stopped(stopped),
            None => Unexplained::Contradiction(
                "with what is known of the path the run could have passed\n  next: look at what was taken as recorded, and at the gaps of the walk".into(),
            ),
        })
    }

    fn at(
        &self,
        encoding: &mut EncodedPath,
        level: Level,
        options: &InvariantOptions,
        asker: &mut SatisfiabilityQuery,
        budget: &Budget,
    ) -> Result<Sliced, Unexplained> {
        let core = PreparedPath::core(encoding, level.cs, asker, budget)?;
        let hazards = hazards(
            encoding,
            &self.forced,
            &core.rows,
            level,
            options.every_write,
        );
        Ok(Sliced {
            level,
            core,
            hazards,
            why: "it was asked for",
        })
    }

    /// The lightest level whose slice has accesses of several threads in an order that timing decided,
    /// including every access that overwrote another of them.
    fn lightest(
        &self,
        encoding: &mut EncodedPath,
        options: &InvariantOptions,
        asker: &mut SatisfiabilityQuery,
        budget: &Budget,
    ) -> Result<Sliced, Unexplained> {
        const FLOW: &str = "the flow of data alone contains all steps between threads";
        const HAZARDS: &str = "the lightest that contains a step between threads: an access that another thread's came in between";
        let mut first = None;
        // A wait without its reason says nothing.
        let waits = encoding.vars.iter().any(|var| var.kind == VarKind::Waiting);
        let lights = [Level::DS, Level::CS]
            .into_iter()
            .filter(|light| light.cs || !waits);
        for light in lights {
            let mut sliced = self.at(encoding, light, options, asker, budget)?;
            let level = Level {
                cs: light.cs,
                ..Level::HS
            };
            let with = hazards(
                encoding,
                &self.forced,
                &sliced.core.rows,
                level,
                options.every_write,
            );
            let adds = !with.rows.is_subset(&sliced.core.rows);
            if adds || meets(encoding, &self.forced, &sliced.core.rows) {
                sliced.why = if adds { HAZARDS } else { FLOW };
                if adds {
                    (sliced.level, sliced.hazards) = (level, with);
                }
                return Ok(sliced);
            }
            first.get_or_insert(sliced);
        }
        let mut sliced = first.ok_or(Unexplained::Stopped(StopReason::Complete))?;
        sliced.why = NONE;
        Ok(sliced)
    }
}

fn made(encoding: EncodedPath, sliced: Sliced, found: sequence::Sequence) -> PathExplanation {
    let rows = sliced.rows();
    let mut invariants = found.reaches;
    invariants.extend(sliced.hazards.reaches);
    invariants.sort();
    let variables = |row: usize| -> Vec<u32> {
        let Some(one) = encoding.statement(row) else {
            return Vec::new();
        };
        let used = [one.value, one.condition].into_iter().flatten();
        let used = used.flat_map(|used| encoding.exprs.symbols(used));
        let all = used.chain(one.makes);
        all.filter_map(|symbol| encoding.var(symbol)?.variable)
            .collect()
    };
    let all: BTreeSet<u32> = (0..encoding.statements.len()).flat_map(variables).collect();
    let kept: BTreeSet<u32> = rows.iter().copied().flat_map(variables).collect();
    let counts = SliceCounts {
        instructions: encoding.statements.len(),
        kept: rows.len(),
        variables: all.len(),
        kept_variables: kept.len(),
        questions: 0,
    };
    PathExplanation {
        exprs: encoding.exprs,
        vars: encoding.vars,
        variables: encoding.variables,
        threads: encoding.threads,
        objects: encoding.objects,
        statements: encoding.statements,
        slice: rows.into_iter().collect(),
        invariants,
        level: sliced.level,
        why: sliced.why.into(),
        minimality: sliced.core.minimality,
        stopped: found.stopped,
        is_concrete: encoding.is_concrete,
        taken_as_recorded: encoding.taken_as_recorded,
        counts,
    }
}
