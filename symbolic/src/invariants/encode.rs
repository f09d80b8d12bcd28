//! The failing path in static single assignment form: enc, csenc and the parts that hsenc needs of
//! [error-invariants], sections 3.1 and 3.2.
//!
//! Versions of shared memory, values read, thread-private variables, locks and freed blocks are unknowns of
//! one table. Initial memory and input from outside are numbers wherever the run knows them. A statement that
//! does not fit the run's values is fixed to them, with a note.

mod bug;
mod build;
mod memory;
mod waits;

use super::model::{Kind, Statement, Unexplained, Var, VarKind};
use crate::{
    ExprId, Exprs, MemoryObject, SourcePlace, StepId, SymbolId, SymbolicTrace, expr::Values,
};
use build::FormulaBuild;
use unsnarl_trace::{EventId, Run};

/// The failing path, encoded.
#[derive(Clone, Debug)]
pub(super) struct EncodedPath {
    pub exprs: Exprs,
    pub vars: Vec<Var>,
    pub variables: Vec<String>,
    pub threads: Vec<String>,
    pub objects: Vec<MemoryObject>,
    /// The statements in order; the last one is the failure.
    pub statements: Vec<Statement>,
    /// `true` if threads wait for ever.
    pub is_deadlock: bool,
    /// Notes on values that were fixed to the recorded ones.
    pub taken_as_recorded: Vec<String>,
    pub is_concrete: bool,
}

impl EncodedPath {
    /// Reads the path up to the failure. Linear in the path and its expressions.
    pub fn new(
        trace: &SymbolicTrace,
        run: &Run,
        order: &[StepId],
    ) -> Result<EncodedPath, Unexplained> {
        if !run.meta.outcome.is_failure() {
            return Err(Unexplained::Passed);
        }
        let mut build = FormulaBuild::new(trace, run);
        build.path(order);
        build.failure(order)?;
        Ok(build.finish())
    }

    /// Index of the failure, the last statement.
    pub fn failure(&self) -> usize {
        self.statements.len().saturating_sub(1)
    }

    /// The failing condition, which was 1.
    pub fn wrong(&self) -> Option<ExprId> {
        self.statements.last()?.condition
    }

    pub fn statement(&self, row: usize) -> Option<&Statement> {
        self.statements.get(row)
    }

    pub fn var(&self, symbol: SymbolId) -> Option<&Var> {
        self.vars.get(symbol.index())
    }
}

/// Recorded value of an expression over versions.
pub(super) fn recorded(
    exprs: &Exprs,
    vars: &[Var],
    id: ExprId,
    values: &mut Values,
) -> Option<u128> {
    exprs.value(id, values, &|symbol| vars.get(symbol.index())?.recorded)
}

/// An empty statement.
fn blank(thread: unsnarl_trace::ThreadId, kind: Kind, place: SourcePlace) -> Statement {
    Statement {
        thread,
        kind,
        step: None,
        event: None::<EventId>,
        site: unsnarl_trace::SiteId(0),
        place,
        name: String::new(),
        makes: None,
        value: None,
        condition: None,
        taken: None,
        guards: Vec::new(),
        recorded: None,
        other: None,
    }
}

fn is_helper(kind: VarKind) -> bool {
    matches!(kind, VarKind::Taken)
}
