//! Inference of values that were not recorded from later evidence: a branch taken, an address accessed, a
//! number written.

use super::{
    machine::PathMachine,
    value::{Scalar, Val},
};
use crate::{
    expr::{Binary, Comparison, ExprId, ExprNode, SymbolId, Unary, Values},
    fold,
};
use unsnarl_trace::ThreadId;

impl PathMachine<'_> {
    /// Learns that the value had this number in the run, and what follows for the unknowns that it
    /// determines.
    pub fn learn(&mut self, id: ThreadId, value: Scalar, bits: u128) {
        let mut open = vec![(value.expr, bits)];
        while let Some((expr, bits)) = open.pop() {
            match self.exprs.node(expr) {
                ExprNode::Symbol(symbol) => self.learned(id, symbol, bits),
                _ => open.extend(self.determined(expr, bits)),
            }
        }
    }

    /// The operand and its number that follow from the value of an expression, where it determines them
    /// uniquely.
    fn determined(&self, expr: ExprId, bits: u128) -> Option<(ExprId, u128)> {
        let width = self.exprs.width(expr);
        match self.exprs.node(expr) {
            ExprNode::Unary(Unary::ZExt | Unary::SExt, inner) => {
                Some((inner, bits & fold::mask(self.exprs.width(inner))))
            }
            ExprNode::Unary(Unary::Not, inner) => Some((inner, !bits & fold::mask(width))),
            ExprNode::Binary(op @ (Binary::Add | Binary::Xor), a, b) => {
                let (of, number) = match (self.exprs.constant(a), self.exprs.constant(b)) {
                    (None, Some(number)) => (a, number),
                    (Some(number), None) => (b, number),
                    _ => return None,
                };
                let back = if op == Binary::Add { Binary::Sub } else { op };
                Some((of, fold::binary_bits(back, bits, number, width)))
            }
            ExprNode::Binary(Binary::Sub, a, b) => {
                let number = self.exprs.constant(b)?;
                Some((a, fold::binary_bits(Binary::Add, bits, number, width)))
            }
            ExprNode::Compare(Comparison::Eq, a, b) if bits == 1 => {
                match (self.exprs.constant(a), self.exprs.constant(b)) {
                    (None, Some(number)) => Some((a, number)),
                    (Some(number), None) => Some((b, number)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn learned(&mut self, id: ThreadId, symbol: SymbolId, bits: u128) {
        let Some(slot) = self.symbols.get_mut(symbol.index()) else {
            return;
        };
        if slot.recorded.is_some() {
            return;
        }
        let before = slot.recorded.replace(bits);
        self.has_learned = true;
        if let Some(thread) = self.thread_mut(id).filter(|it| !it.choices.is_empty()) {
            thread.learned.push((symbol, before));
        }
    }

    /// The value, updated with the facts learned since it was made.
    pub fn as_known(&self, value: Scalar) -> Scalar {
        let is_worked_out = self.has_learned || self.has_partial;
        if value.bits.is_some() || !is_worked_out || self.paths.is_some() {
            return value;
        }
        let recorded = |symbol: SymbolId| self.symbols.get(symbol.index())?.recorded;
        let bits = match self.exprs.node(value.expr) {
            ExprNode::Symbol(symbol) => recorded(symbol),
            _ => self.exprs.value(value.expr, &mut Values::new(), &recorded),
        };
        Scalar { bits, ..value }
    }

    /// As [`Machine::as_known`], for the whole result of an instruction.
    pub fn all_known(&self, value: Val) -> Val {
        match value {
            Val::Scalar(scalar) => self.as_known(scalar).into(),
            Val::List(_) => value,
        }
    }
}
