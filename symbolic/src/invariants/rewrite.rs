//! Substitution of unknowns in expressions.

use crate::{ExprId, ExprNode, Exprs, SymbolId};
use rustc_hash::FxHashMap;

/// A substitution of unknowns; rewritten expressions are cached.
#[derive(Debug, Default)]
pub(super) struct Rewrite {
    known: FxHashMap<ExprId, ExprId>,
}

impl Rewrite {
    /// Translates an expression of `from` to one of `to`, with each unknown substituted. Linear in its new
    /// parts.
    pub fn import(
        &mut self,
        from: &Exprs,
        to: &mut Exprs,
        id: ExprId,
        symbol: &mut impl FnMut(&mut Exprs, SymbolId, u8) -> ExprId,
    ) -> ExprId {
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if self.known.contains_key(&next) {
                open.pop();
                continue;
            }
            let before = open.len();
            let missing = from.operands(next);
            open.extend(missing.filter(|operand| !self.known.contains_key(operand)));
            if open.len() == before {
                let made = self.node(from, to, next, symbol);
                self.known.insert(next, made);
                open.pop();
            }
        }
        self.made(id)
    }

    fn made(&self, id: ExprId) -> ExprId {
        self.known.get(&id).copied().unwrap_or(id)
    }

    fn node(
        &self,
        from: &Exprs,
        to: &mut Exprs,
        id: ExprId,
        symbol: &mut impl FnMut(&mut Exprs, SymbolId, u8) -> ExprId,
    ) -> ExprId {
        let width = from.width(id);
        match from.node(id) {
            ExprNode::Constant(bits) => to.number(bits, width),
            ExprNode::Symbol(name) => symbol(to, name, width),
            ExprNode::Unary(op, a) => to.unary(op, self.made(a), width),
            ExprNode::Binary(op, a, b) => to.binary(op, self.made(a), self.made(b)),
            ExprNode::Compare(op, a, b) => to.compare(op, self.made(a), self.made(b)),
            ExprNode::Concat(a, b) => to.concat(self.made(a), self.made(b)),
            ExprNode::If(c, a, b) => to.choose(self.made(c), self.made(a), self.made(b)),
        }
    }
}

/// The expression with unknowns substituted, in the same table. Linear in its distinct parts.
pub(super) fn replaced(
    exprs: &mut Exprs,
    id: ExprId,
    by: &impl Fn(SymbolId) -> Option<ExprId>,
) -> ExprId {
    let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut open = vec![id];
    while let Some(&next) = open.last() {
        if known.contains_key(&next) {
            open.pop();
            continue;
        }
        let before = open.len();
        open.extend(
            exprs
                .operands(next)
                .filter(|operand| !known.contains_key(operand)),
        );
        if open.len() > before {
            continue;
        }
        let at = |id: ExprId| known.get(&id).copied().unwrap_or(id);
        let width = exprs.width(next);
        let made = match exprs.node(next) {
            ExprNode::Constant(_) => next,
            ExprNode::Symbol(name) => by(name).unwrap_or(next),
            ExprNode::Unary(op, a) => exprs.unary(op, at(a), width),
            ExprNode::Binary(op, a, b) => exprs.binary(op, at(a), at(b)),
            ExprNode::Compare(op, a, b) => exprs.compare(op, at(a), at(b)),
            ExprNode::Concat(a, b) => exprs.concat(at(a), at(b)),
            ExprNode::If(c, a, b) => exprs.choose(at(c), at(a), at(b)),
        };
        known.insert(next, made);
        open.pop();
    }
    known.get(&id).copied().unwrap_or(id)
}
