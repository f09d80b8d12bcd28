//! The last step of lifting a function: operations that nothing needs are left out, the others get their numbers.

use super::{body::Node, unit::row};
use rustc_hash::FxHashMap;
use unsnarl_trace::program::{BinaryOp, Block, Instruction, Op, Operand, ValueId};

/// A function's operations in order, with the machine instruction of each.
#[derive(Default)]
pub(super) struct Layout {
    pub blocks: Vec<Block>,
    pub instructions: Vec<Instruction>,
    /// Addresses of the machine instructions, beside `instructions`.
    pub addresses: Vec<u64>,
    /// Number of values.
    pub values: u32,
    /// New numbers of values.
    renamed: FxHashMap<ValueId, ValueId>,
}

/// The operands of an operation, as far as lifting makes such operations.
fn operands(op: &mut Op) -> Vec<&mut Operand> {
    match op {
        Op::Alloca { count, .. } => vec![count],
        Op::Load { address, .. } => vec![address],
        Op::Store { value, address, .. } => vec![value, address],
        Op::Address { base, scaled, .. } => {
            let scaled = scaled.iter_mut().map(|part| &mut part.index);
            [base].into_iter().chain(scaled).collect()
        }
        Op::Binary { a, b, .. } | Op::Compare { a, b, .. } => vec![a, b],
        Op::Cast { of, .. } | Op::Extract { of, .. } => vec![of],
        Op::Select { condition, yes, no } => vec![condition, yes, no],
        Op::Phi(ways) => ways.iter_mut().map(|(_, operand)| operand).collect(),
        Op::Branch { condition, .. } => vec![condition],
        Op::Switch { value, .. } => vec![value],
        Op::Return(Some(value)) => vec![value],
        Op::Insert { into, value, .. } => vec![into, value],
        Op::Call {
            callee, arguments, ..
        } => [callee].into_iter().chain(arguments).collect(),
        _ => Vec::new(),
    }
}

/// Returns whether an operation does nothing but make its result.
fn only_computes(op: &Op) -> bool {
    match op {
        Op::Binary { op, .. } => !matches!(
            op,
            BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem
        ),
        Op::Alloca { .. }
        | Op::Load { .. }
        | Op::Address { .. }
        | Op::Compare { .. }
        | Op::Cast { .. }
        | Op::Extract { .. }
        | Op::Insert { .. }
        | Op::Select { .. }
        | Op::Phi(_) => true,
        _ => false,
    }
}

/// Puts the callback of a copy's write behind that of its read, as the runtime does: gcc calls back for the write
/// first, then for the read, and copies behind both.
pub(super) fn order_copies(nodes: &mut [Node], is_access: &dyn Fn(&Op, &str) -> bool) {
    for write in 0..nodes.len() {
        if !nodes
            .get(write)
            .is_some_and(|node| is_access(&node.op, "write"))
        {
            continue;
        }
        let next = nodes.iter().enumerate().skip(write + 1);
        let mut next = next.filter(|(_, node)| !only_computes(&node.op));
        let read = next.next().filter(|(_, node)| is_access(&node.op, "read"));
        if let Some((read, _)) = read
            && let Some(between) = nodes.get_mut(write..=read)
        {
            between.rotate_left(1);
        }
    }
}

impl Layout {
    /// Orders the nodes of blocks; `kept` are values that stay although nothing needs them.
    pub fn new(mut blocks: Vec<Vec<Node>>, parameters: usize, kept: &[ValueId]) -> Layout {
        let needed = needed(&mut blocks, kept);
        let mut layout = Layout {
            values: row(parameters),
            ..Layout::default()
        };
        for value in 0..parameters {
            let value = ValueId(row(value));
            layout.renamed.insert(value, value);
        }
        for (number, nodes) in blocks.into_iter().enumerate() {
            let from = row(layout.instructions.len());
            for node in nodes {
                let is_needed = node
                    .result
                    .is_some_and(|result| needed.contains_key(&result));
                if is_needed || !only_computes(&node.op) {
                    layout.add(node);
                }
            }
            layout.blocks.push(Block {
                label: number.to_string(),
                from,
                to: row(layout.instructions.len()),
            });
        }
        layout.rename();
        layout
    }

    fn add(&mut self, node: Node) {
        let result = node.result.map(|old| {
            let new = ValueId(self.values);
            self.values = self.values.saturating_add(1);
            self.renamed.insert(old, new);
            new
        });
        self.addresses.push(node.address);
        self.instructions.push(Instruction {
            op: node.op,
            result,
            ty: node.ty,
            place: unsnarl_trace::program::PlaceId(0),
        });
    }

    fn rename(&mut self) {
        let renamed = &self.renamed;
        for instruction in &mut self.instructions {
            for operand in operands(&mut instruction.op) {
                if let Operand::Value(value) = operand {
                    *value = renamed.get(value).copied().unwrap_or(*value);
                }
            }
        }
    }

    /// The new number of a value.
    pub fn renamed(&self, value: ValueId) -> Option<ValueId> {
        self.renamed.get(&value).copied()
    }
}

/// The values that operations with effects need, directly or by others.
fn needed(blocks: &mut [Vec<Node>], kept: &[ValueId]) -> FxHashMap<ValueId, ()> {
    let mut made: FxHashMap<ValueId, Vec<ValueId>> = FxHashMap::default();
    let mut open: Vec<ValueId> = kept.to_vec();
    for node in blocks.iter_mut().flatten() {
        let computes = only_computes(&node.op);
        let uses = operands(&mut node.op).into_iter();
        let uses: Vec<ValueId> = uses
            .filter_map(|operand| match operand {
                Operand::Value(value) => Some(*value),
                Operand::Constant(_) => None,
            })
            .collect();
        match node.result.filter(|_| computes) {
            Some(result) => {
                made.insert(result, uses);
            }
            None => open.extend(uses),
        }
    }
    let mut needed = FxHashMap::default();
    while let Some(value) = open.pop() {
        if needed.insert(value, ()).is_none() {
            open.extend(made.get(&value).into_iter().flatten());
        }
    }
    needed
}
