//! Translation of expressions to terms of the solver: bit-vectors of their own width, so that overflow wraps
//! around.

use crate::{Binary, Comparison, ExprId, ExprNode, Exprs, Unary};
use rustc_hash::FxHashMap;
use z3::ast::{BV, Bool};

/// The terms of one solver, each expression translated once.
#[derive(Default)]
pub(crate) struct SolverTerms {
    known: FxHashMap<ExprId, BV>,
    /// Conditions as truth values, which need no bit-vector of one bit.
    truths: FxHashMap<ExprId, Bool>,
}

impl SolverTerms {
    /// Translates an expression to a term. Linear in its new parts; deep expressions need no stack.
    pub fn term(&mut self, exprs: &Exprs, id: ExprId) -> BV {
        self.prepare(exprs, id);
        self.bits(exprs, id)
    }

    /// Translates a condition (one bit) to a truth value.
    pub fn truth(&mut self, exprs: &Exprs, id: ExprId) -> Bool {
        self.prepare(exprs, id);
        self.condition(exprs, id)
    }

    /// Translates operands first.
    fn prepare(&mut self, exprs: &Exprs, id: ExprId) {
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if self.is_known(next) {
                open.pop();
                continue;
            }
            let before = open.len();
            open.extend(
                exprs
                    .operands(next)
                    .filter(|&operand| !self.is_known(operand)),
            );
            if open.len() == before {
                self.make(exprs, next);
                open.pop();
            }
        }
    }

    fn is_known(&self, id: ExprId) -> bool {
        self.known.contains_key(&id) || self.truths.contains_key(&id)
    }

    fn make(&mut self, exprs: &Exprs, id: ExprId) {
        let width = exprs.width(id);
        match exprs.node(id) {
            ExprNode::Compare(op, a, b) => {
                let truth = compare(op, &self.bits(exprs, a), &self.bits(exprs, b));
                self.truths.insert(id, truth);
            }
            ExprNode::Unary(Unary::Not, a) if width == 1 => {
                let truth = self.condition(exprs, a).not();
                self.truths.insert(id, truth);
            }
            ExprNode::Binary(op @ (Binary::And | Binary::Or), a, b) if width == 1 => {
                let parts = [self.condition(exprs, a), self.condition(exprs, b)];
                let truth = match op {
                    Binary::And => Bool::and(&parts),
                    _ => Bool::or(&parts),
                };
                self.truths.insert(id, truth);
            }
            node => {
                let term = self.node(exprs, node, width);
                self.known.insert(id, term);
            }
        }
    }

    fn node(&mut self, exprs: &Exprs, node: ExprNode, width: u8) -> BV {
        match node {
            ExprNode::Constant(bits) => number(bits, width),
            ExprNode::Symbol(symbol) => BV::new_const(symbol.0, u32::from(width)),
            ExprNode::Unary(op, a) => {
                let wider = width.saturating_sub(exprs.width(a));
                let a = self.bits(exprs, a);
                match op {
                    Unary::Not => a.bvnot(),
                    Unary::ZExt => a.zero_ext(u32::from(wider)),
                    Unary::SExt => a.sign_ext(u32::from(wider)),
                    Unary::Extract(low) => {
                        let low = u32::from(low);
                        a.extract(low + u32::from(width) - 1, low)
                    }
                }
            }
            ExprNode::Binary(op, a, b) => binary(op, &self.bits(exprs, a), &self.bits(exprs, b)),
            ExprNode::Concat(a, b) => self.bits(exprs, a).concat(self.bits(exprs, b)),
            ExprNode::If(c, a, b) => {
                let (a, b) = (self.bits(exprs, a), self.bits(exprs, b));
                self.condition(exprs, c).ite(&a, &b)
            }
            ExprNode::Compare(op, a, b) => {
                as_bit(&compare(op, &self.bits(exprs, a), &self.bits(exprs, b)))
            }
        }
    }

    fn bits(&self, exprs: &Exprs, id: ExprId) -> BV {
        match (self.known.get(&id), self.truths.get(&id)) {
            (Some(term), _) => term.clone(),
            (None, Some(truth)) => as_bit(truth),
            (None, None) => number(0, exprs.width(id)),
        }
    }

    fn condition(&self, exprs: &Exprs, id: ExprId) -> Bool {
        match self.truths.get(&id) {
            Some(truth) => truth.clone(),
            None => self.bits(exprs, id).eq(number(1, 1)),
        }
    }
}

/// Makes a number of up to 128 bits.
pub(super) fn number(bits: u128, width: u8) -> BV {
    let low = BV::from_u64(bits as u64, u32::from(width.min(64)));
    match width.checked_sub(64) {
        None | Some(0) => low,
        Some(above) => BV::from_u64((bits >> 64) as u64, u32::from(above)).concat(low),
    }
}

fn as_bit(truth: &Bool) -> BV {
    truth.ite(&number(1, 1), &number(0, 1))
}

fn compare(op: Comparison, a: &BV, b: &BV) -> Bool {
    match op {
        Comparison::Eq => a.eq(b),
        Comparison::Ult => a.bvult(b),
        Comparison::Ule => a.bvule(b),
        Comparison::Slt => a.bvslt(b),
        Comparison::Sle => a.bvsle(b),
    }
}

fn binary(op: Binary, a: &BV, b: &BV) -> BV {
    match op {
        Binary::Add => a.bvadd(b),
        Binary::Sub => a.bvsub(b),
        Binary::Mul => a.bvmul(b),
        Binary::UDiv => a.bvudiv(b),
        Binary::SDiv => a.bvsdiv(b),
        Binary::URem => a.bvurem(b),
        Binary::SRem => a.bvsrem(b),
        Binary::Shl => a.bvshl(b),
        Binary::LShr => a.bvlshr(b),
        Binary::AShr => a.bvashr(b),
        Binary::And => a.bvand(b),
        Binary::Or => a.bvor(b),
        Binary::Xor => a.bvxor(b),
    }
}
