//! Effects of statements on shared memory, locks and blocks, as new versions.

use super::{build::FormulaBuild, recorded};
use crate::{
    CellId, Comparison, ExprId, SymbolId,
    invariants::model::{Kind, Statement, VarKind},
};
use unsnarl_trace::{EventKind, LocationId};

/// Width of a lock in bits; it holds the number of a thread.
const LOCK: u8 = 16;

impl FormulaBuild<'_> {
    pub(super) fn read(
        &mut self,
        statement: &mut Statement,
        cell: CellId,
        symbol: SymbolId,
    ) -> Option<()> {
        let read = self.trace.symbol(symbol)?;
        let name = self.trace.cell(cell)?.name.clone();
        let held = self.held(cell, read.recorded);
        let bits = recorded(&self.exprs, &self.vars, held, &mut self.values).or(read.recorded);
        let kind = (VarKind::Read, Some(statement.thread));
        let made = self.make(&name, kind, read.width, read.recorded.or(bits));
        self.name_values(made, self.trace.value_names.cells.get(&cell));
        let term = self.exprs.symbol(made, read.width);
        self.symbols.insert(symbol, term);
        statement.kind = Kind::Read;
        statement.name = name;
        statement.makes = Some(made);
        statement.value = Some(held);
        statement.recorded = read.recorded.or(bits);
        Some(())
    }

    /// The current content of a cell: its last version, or its initial value.
    fn held(&mut self, cell: CellId, read: Option<u128>) -> ExprId {
        if let Some(&held) = self.held.get(&cell) {
            return held;
        }
        let row = self.trace.cell(cell);
        let width = row.map_or(8, |row| row.size.saturating_mul(8));
        let initial = row.and_then(|row| row.initial).or(read);
        let held = match initial {
            Some(bits) => self.exprs.number(bits, width),
            None => {
                let name = row.map_or(String::new(), |row| row.name.clone());
                let made = self.make(&name, (VarKind::Shared, None), width, None);
                self.exprs.symbol(made, width)
            }
        };
        self.held.insert(cell, held);
        held
    }

    pub(super) fn write(
        &mut self,
        statement: &mut Statement,
        cell: CellId,
        value: ExprId,
    ) -> Option<()> {
        let row = self.trace.cell(cell)?;
        let width = row.size.saturating_mul(8);
        let name = row.name.clone();
        let value = self.import(value);
        let bits = recorded(&self.exprs, &self.vars, value, &mut self.values);
        let made = self.make(&name, (VarKind::Shared, None), width, bits);
        self.name_values(made, self.trace.value_names.cells.get(&cell));
        let held = self.exprs.symbol(made, width);
        self.held.insert(cell, held);
        statement.kind = Kind::Write;
        statement.name = name;
        statement.makes = Some(made);
        statement.value = Some(value);
        statement.recorded = bits;
        Some(())
    }

    pub(super) fn sync(&mut self, statement: &mut Statement, kind: EventKind, object: LocationId) {
        statement.kind = Kind::Sync(kind);
        statement.name = self.run.location(object).to_owned();
        let holder = u128::from(statement.thread.0).saturating_add(1);
        match kind {
            EventKind::Lock => {
                let (held, zero) = (self.lock(object), self.exprs.number(0, LOCK));
                statement.condition = Some(self.exprs.compare(Comparison::Eq, held, zero));
                statement.kind = Kind::Lock;
                self.set_lock(statement, object, holder);
            }
            EventKind::Unlock => {
                statement.kind = Kind::Unlock;
                // The section ends here: the release is no part of it.
                let thread = statement.thread.index();
                let held = self.threads.get(thread).map_or(&[][..], |t| &t.held);
                let own: Vec<usize> = held
                    .iter()
                    .filter(|(lock, _)| *lock == object)
                    .map(|(_, row)| *row)
                    .collect();
                statement.guards.retain(|guard| !own.contains(guard));
                self.set_lock(statement, object, 0);
            }
            EventKind::Free => {
                statement.kind = Kind::Free;
                let made = self.make(&statement.name, (VarKind::Freed, None), 1, Some(1));
                statement.makes = Some(made);
                statement.value = Some(self.exprs.number(1, 1));
                statement.recorded = Some(1);
                self.freed.extend(statement.step.map(|step| (step, made)));
            }
            _ => {}
        }
    }

    /// The current version of a lock.
    pub(super) fn lock(&mut self, object: LocationId) -> ExprId {
        match self.locks.get(&object) {
            Some(&held) => held,
            None => self.exprs.number(0, LOCK),
        }
    }

    fn set_lock(&mut self, statement: &mut Statement, object: LocationId, holder: u128) {
        let name = statement.name.clone();
        let made = self.make(&name, (VarKind::Lock, None), LOCK, Some(holder));
        statement.makes = Some(made);
        statement.value = Some(self.exprs.number(holder, LOCK));
        statement.recorded = Some(holder);
        let held = self.exprs.symbol(made, LOCK);
        self.locks.insert(object, held);
    }
}
