//! Conditions of waits that nothing ended: what each thread of a deadlock waits for.

use super::{build::FormulaBuild, recorded};
use crate::{
    Comparison, ExprId,
    expr::Values,
    invariants::model::{Kind, VarKind},
};
use unsnarl_trace::{EventKind, LocationId, ThreadId};

/// Width of a number of units in bits.
const UNITS: u8 = 32;

impl FormulaBuild<'_> {
    /// The condition that keeps a thread waiting for an object; none where it is not known.
    pub(super) fn waits(&mut self, thread: ThreadId, object: LocationId) -> Option<ExprId> {
        let name = self.run.location(object).to_owned();
        self.lock_is_held(object)
            .or_else(|| self.wait_is_open(thread, &name))
            .or_else(|| self.units_are_gone(&name))
    }

    fn lock_is_held(&mut self, object: LocationId) -> Option<ExprId> {
        let held = self.lock(object);
        let holder = recorded(&self.exprs, &self.vars, held, &mut Values::new());
        let holder = holder.filter(|holder| *holder != 0)?;
        let number = self.exprs.number(holder, self.exprs.width(held));
        Some(self.exprs.compare(Comparison::Eq, held, number))
    }

    /// A condition variable without a signal, or a barrier without the others: the wait itself is the condition.
    fn wait_is_open(&mut self, thread: ThreadId, name: &str) -> Option<ExprId> {
        let is_wait = |kind| {
            use EventKind::{BarrierArrive, Wait};
            matches!(kind, Kind::Sync(Wait | BarrierArrive))
        };
        let mut own = self.statements.iter();
        let row =
            own.rposition(|one| one.thread == thread && is_wait(one.kind) && one.name == name)?;
        let made = self.make(name, (VarKind::Waiting, Some(thread)), 1, Some(1));
        let value = self.exprs.number(1, 1);
        self.gives(row, (made, value), 1);
        Some(self.exprs.symbol(made, 1))
    }

    /// A semaphore without a unit: each step that takes or gives one makes a version of their number.
    fn units_are_gone(&mut self, name: &str) -> Option<ExprId> {
        let change = |kind| match kind {
            Kind::Sync(EventKind::SemWait) => Some(-1),
            Kind::Sync(EventKind::SemPost) => Some(1),
            _ => None,
        };
        let steps = self.statements.iter().enumerate();
        let steps = steps.filter(|(_, one)| one.name == name);
        let steps: Vec<(usize, i64)> = steps
            .filter_map(|(row, one)| Some((row, change(one.kind)?)))
            .collect();
        let is_counted = |row: usize| self.statements.get(row)?.makes;
        if steps.iter().any(|(row, _)| is_counted(*row).is_some()) {
            return None;
        }
        // A thread waits, so that no unit is left: the first number follows.
        let mut left = -steps.iter().map(|(_, by)| by).sum::<i64>();
        let mut units = self.exprs.number(u128::try_from(left).ok()?, UNITS);
        let said = format!("units of {name}");
        for (row, by) in &steps {
            left += by;
            let bits = u128::try_from(left).ok()?;
            let one = self.exprs.number(by.unsigned_abs().into(), UNITS);
            let operation = match by {
                1 => crate::Binary::Add,
                _ => crate::Binary::Sub,
            };
            let value = self.exprs.binary(operation, units, one);
            let made = self.make(&said, (VarKind::Units, None), UNITS, Some(bits));
            self.gives(*row, (made, value), bits);
            units = self.exprs.symbol(made, UNITS);
        }
        let none = self.exprs.number(0, UNITS);
        (!steps.is_empty()).then(|| self.exprs.compare(Comparison::Sle, units, none))
    }

    /// Lets a statement make a version.
    fn gives(&mut self, row: usize, (made, value): (crate::SymbolId, ExprId), bits: u128) {
        if let Some(statement) = self.statements.get_mut(row) {
            statement.makes = Some(made);
            statement.value = Some(value);
            statement.recorded = Some(bits);
        }
        if let Some(var) = self.vars.get_mut(made.index()) {
            var.made_by = Some(row);
        }
    }
}
