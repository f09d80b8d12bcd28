//! Hash-consed expressions over integers of fixed width.
//!
//! Addresses are 64-bit integers as well: the base of an object ([`Object`](super::Object)) plus an offset, so
//! that comparing, subtracting and testing for null need nothing of their own. Truth values have one bit.

use super::fold;
use rustc_hash::FxHashMap;

/// An expression: index into [`Exprs`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprId(pub u32);

/// An unknown value: index into [`SymbolicTrace::symbols`](super::SymbolicTrace::symbols).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolId(pub u32);

impl SymbolId {
    /// The id as an index into its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Binary operations with operands and result of one width; arithmetic wraps around.
///
/// Division by zero gives all ones (unsigned), as in SMT-LIB; a path that divides holds that the divisor is not zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of the intermediate code")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
}

/// Comparisons of two operands of one width, with a one-bit result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of the intermediate code")]
pub enum Comparison {
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

/// Unary operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// Bitwise complement; logical negation for one bit.
    Not,
    /// Zero extension.
    ZExt,
    /// Sign extension.
    SExt,
    /// The bits from this index on, as many as the result is wide.
    Extract(u8),
}

/// Operator and operands of an expression. [`Exprs::width`] gives its width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExprNode {
    /// A number, zero-extended.
    Constant(u128),
    /// An unknown value.
    Symbol(SymbolId),
    /// See [`Unary`].
    Unary(Unary, ExprId),
    /// See [`Binary`].
    Binary(Binary, ExprId, ExprId),
    /// See [`Compare`].
    Compare(Comparison, ExprId, ExprId),
    /// Concatenation: the first operand holds the high bits.
    Concat(ExprId, ExprId),
    /// If-then-else: a one-bit condition, the value when it is 1, the value when it is 0.
    If(ExprId, ExprId, ExprId),
}

/// The table of expressions. Operands precede the expressions that use them.
#[derive(Clone, Debug, Default)]
pub struct Exprs {
    nodes: Vec<(ExprNode, u8)>,
    known: FxHashMap<(ExprNode, u8), ExprId>,
}

impl Exprs {
    /// Returns the expression's node; a one-bit zero for an id that is not in the table.
    pub fn node(&self, id: ExprId) -> ExprNode {
        self.nodes
            .get(id.0 as usize)
            .map_or(ExprNode::Constant(0), |(node, _)| *node)
    }

    /// Width of the expression in bits, 1 to 128.
    pub fn width(&self, id: ExprId) -> u8 {
        self.nodes.get(id.0 as usize).map_or(1, |(_, width)| *width)
    }

    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// `true` if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The constant, if the expression is one.
    pub fn constant(&self, id: ExprId) -> Option<u128> {
        match self.node(id) {
            ExprNode::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// Makes a constant; bits beyond the width are cut off.
    pub fn number(&mut self, bits: u128, width: u8) -> ExprId {
        self.intern(ExprNode::Constant(bits & fold::mask(width)), width)
    }

    /// Makes an unknown value.
    pub fn symbol(&mut self, symbol: SymbolId, width: u8) -> ExprId {
        self.intern(ExprNode::Symbol(symbol), width)
    }

    /// Applies a [`Unary`]; `width` is the result's.
    pub fn unary(&mut self, op: Unary, of: ExprId, width: u8) -> ExprId {
        fold::unary(self, op, of, width)
    }

    /// Applies a [`Binary`]. Both operands have one width.
    pub fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        fold::binary(self, op, a, b)
    }

    /// Applies a [`Compare`]. Both operands have one width.
    pub fn compare(&mut self, op: Comparison, a: ExprId, b: ExprId) -> ExprId {
        fold::compare(self, op, a, b)
    }

    /// Concatenates two values: `high`'s bits above `low`'s.
    pub fn concat(&mut self, high: ExprId, low: ExprId) -> ExprId {
        fold::concat(self, high, low)
    }

    /// `yes` where `condition` is 1, `no` elsewhere.
    pub fn choose(&mut self, condition: ExprId, yes: ExprId, no: ExprId) -> ExprId {
        fold::choose(self, condition, yes, no)
    }

    /// Negates a condition.
    pub fn not(&mut self, condition: ExprId) -> ExprId {
        self.unary(Unary::Not, condition, 1)
    }

    /// Returns the node's id, with a new row if there is none. Nothing is simplified.
    pub(super) fn intern(&mut self, node: ExprNode, width: u8) -> ExprId {
        if let Some(&id) = self.known.get(&(node, width)) {
            return id;
        }
        let id = ExprId(self.nodes.len() as u32);
        self.nodes.push((node, width));
        self.known.insert((node, width), id);
        id
    }

    /// The operands of an expression.
    pub fn operands(&self, id: ExprId) -> impl Iterator<Item = ExprId> {
        let operands = match self.node(id) {
            ExprNode::Constant(_) | ExprNode::Symbol(_) => [None; 3],
            ExprNode::Unary(_, a) => [Some(a), None, None],
            ExprNode::Binary(_, a, b) | ExprNode::Compare(_, a, b) | ExprNode::Concat(a, b) => {
                [Some(a), Some(b), None]
            }
            ExprNode::If(c, a, b) => [Some(c), Some(a), Some(b)],
        };
        operands.into_iter().flatten()
    }

    /// The numbers in an expression, each once, in ascending order. Linear in the expression's distinct parts.
    pub fn numbers(&self, id: ExprId) -> Vec<u128> {
        let mut seen = rustc_hash::FxHashSet::default();
        let (mut open, mut numbers) = (vec![id], Vec::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.node(id) {
                ExprNode::Constant(bits) => numbers.push(bits),
                _ => open.extend(self.operands(id)),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The symbols in an expression, each once, in ascending order. Linear in the expression's distinct parts.
    pub fn symbols(&self, id: ExprId) -> Vec<SymbolId> {
        let mut seen = rustc_hash::FxHashSet::default();
        let (mut open, mut symbols) = (vec![id], Vec::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.node(id) {
                ExprNode::Symbol(symbol) => symbols.push(symbol),
                _ => open.extend(self.operands(id)),
            }
        }
        symbols.sort_unstable();
        symbols
    }

    /// Evaluates the expression under an assignment of all symbols; the expression has no value if the
    /// assignment returns `None` for a symbol that matters. `values` caches results; use a new [`Values`] for
    /// each assignment.
    pub fn value(
        &self,
        id: ExprId,
        values: &mut Values,
        symbol: &impl Fn(SymbolId) -> Option<u128>,
    ) -> Option<u128> {
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if values.known(next) {
                open.pop();
                continue;
            }
            let before = open.len();
            open.extend(
                self.operands(next)
                    .filter(|&operand| !values.known(operand)),
            );
            if open.len() == before {
                let value = self.step(next, values, symbol);
                values.set(next, value);
                open.pop();
            }
        }
        values.get(id)
    }

    fn step(
        &self,
        id: ExprId,
        values: &Values,
        symbol: &impl Fn(SymbolId) -> Option<u128>,
    ) -> Option<u128> {
        self.evaluate(id, |operand| values.get(operand), symbol)
    }

    /// Evaluates one node from the values of its operands. `None` when one that matters is unknown.
    pub(crate) fn evaluate(
        &self,
        id: ExprId,
        operand: impl Fn(ExprId) -> Option<u128>,
        symbol: impl Fn(SymbolId) -> Option<u128>,
    ) -> Option<u128> {
        let width = self.width(id);
        let bits = match self.node(id) {
            ExprNode::Constant(bits) => bits,
            ExprNode::Symbol(name) => symbol(name)?,
            ExprNode::Unary(op, a) => fold::unary_bits(op, operand(a)?, self.width(a), width),
            ExprNode::Binary(op, a, b) => fold::binary_bits(op, operand(a)?, operand(b)?, width),
            ExprNode::Compare(op, a, b) => u128::from(fold::compare_bits(
                op,
                operand(a)?,
                operand(b)?,
                self.width(a),
            )),
            ExprNode::Concat(a, b) => operand(a)? << self.width(b) | operand(b)?,
            ExprNode::If(c, a, b) => operand(if operand(c)? == 1 { a } else { b })?,
        };
        Some(bits & fold::mask(width))
    }
}

/// Values of expressions under one assignment.
#[derive(Clone, Debug, Default)]
pub struct Values {
    known: FxHashMap<ExprId, Option<u128>>,
}

impl Values {
    /// An empty cache.
    pub fn new() -> Values {
        Values::default()
    }

    fn known(&self, id: ExprId) -> bool {
        self.known.contains_key(&id)
    }

    fn get(&self, id: ExprId) -> Option<u128> {
        self.known.get(&id).copied().flatten()
    }

    fn set(&mut self, id: ExprId, value: Option<u128>) {
        self.known.insert(id, value);
    }
}
