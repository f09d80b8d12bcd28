//! Control flow of a function: successors of blocks, post-dominators and control dependence.

use super::{BlockId, Function, Op};

/// Successors of a block, each once.
pub fn successors(function: &Function, block: BlockId) -> Vec<BlockId> {
    let mut next = match function.block(block).last().map(|last| &last.op) {
        Some(Op::Jump(to)) => vec![*to],
        Some(Op::Branch { yes, no, .. }) => vec![*yes, *no],
        Some(Op::Switch { cases, default, .. }) => {
            let cases = cases.iter().map(|case| case.to);
            cases.chain([*default]).collect()
        }
        Some(Op::IndirectJump { to, .. }) => to.clone(),
        Some(Op::Call { normal, unwind, .. }) => normal.iter().chain(unwind).copied().collect(),
        _ => Vec::new(),
    };
    next.retain(|to| to.index() < function.blocks.len());
    next.sort_unstable();
    next.dedup();
    next
}

/// Post-dominators and control dependence of a function's blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ControlFlow {
    after: Vec<Option<BlockId>>,
    deciders: Vec<Vec<BlockId>>,
}

impl ControlFlow {
    /// Reads a function's blocks. Post-dominators are those of Cooper, Harvey and Kennedy ("A Simple, Fast
    /// Dominance Algorithm") on the reversed graph, control dependence is that of Ferrante, Ottenstein and Warren:
    /// linear in the edges for code as compilers make it, and in the dependences found.
    pub fn new(function: &Function) -> ControlFlow {
        let blocks = 0..function.blocks.len();
        let successors = |block| successors(function, id(block)).into_iter();
        let next: Vec<Vec<usize>> = blocks
            .map(|block| successors(block).map(BlockId::index).collect())
            .collect();
        ControlFlow::of(&next)
    }

    /// Like [`ControlFlow::new`], but only for paths that return: a block that ends the program (a failed assertion,
    /// a call that does not come back) has no edge to the function's end, so the code behind an assertion does not
    /// depend on it.
    pub fn of_what_returns(function: &Function) -> ControlFlow {
        let ways = |block| {
            let block = id(block);
            match function.block(block).last().map(|last| &last.op) {
                Some(Op::Unreachable) => vec![block.index()],
                _ => successors(function, block)
                    .into_iter()
                    .map(BlockId::index)
                    .collect(),
            }
        };
        let next: Vec<Vec<usize>> = (0..function.blocks.len()).map(ways).collect();
        ControlFlow::of(&next)
    }

    fn of(next: &[Vec<usize>]) -> ControlFlow {
        let end = next.len();
        let after = post_dominators(next);
        let follows = |block: usize| after.get(block).copied().flatten();
        let mut deciders: Vec<Vec<BlockId>> = vec![Vec::new(); end];
        for (block, ways) in next.iter().enumerate().filter(|(_, ways)| ways.len() > 1) {
            for &way in ways {
                // All that must follow on this way, up to what follows on all of them.
                let mut at = Some(way);
                while let Some(here) = at.filter(|here| Some(*here) != follows(block)) {
                    if let Some(list) = deciders
                        .get_mut(here)
                        .filter(|list| list.last() != Some(&id(block)))
                    {
                        list.push(id(block));
                    }
                    at = follows(here);
                }
            }
        }
        let is_block = |at: &Option<usize>| at.filter(|at| *at < end).map(id);
        ControlFlow {
            after: after.iter().map(is_block).collect(),
            deciders,
        }
    }

    /// The nearest other block that every way from this one to the function's end passes; `None` if there is none, or
    /// no such way.
    pub fn post_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.after.get(block.index()).copied().flatten()
    }

    /// The blocks whose last instruction decides whether this one runs, in ascending order.
    pub fn deciders(&self, block: BlockId) -> &[BlockId] {
        self.deciders.get(block.index()).map_or(&[], Vec::as_slice)
    }
}

fn id(block: usize) -> BlockId {
    BlockId(u32::try_from(block).unwrap_or(u32::MAX))
}

/// Computes the nearest post-dominator of each block; the function's end has the number behind the last block's.
/// `None` for blocks from which no path leads to the end, and for the end itself.
fn post_dominators(next: &[Vec<usize>]) -> Vec<Option<usize>> {
    let end = next.len();
    let leaves = [end];
    let before = reversed(next);
    let (order, rank) = from_the_end(&before);
    let mut after: Vec<Option<usize>> = vec![None; end + 1];
    set(&mut after, end, end);
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &block in order.iter().filter(|block| **block != end) {
            let ways = next.get(block).filter(|ways| !ways.is_empty());
            let ways = ways.map_or(&leaves[..], Vec::as_slice);
            let known = ways
                .iter()
                .copied()
                .filter(|way| after.get(*way).copied().flatten().is_some());
            let nearest = known.reduce(|a, b| meet(&after, &rank, a, b));
            if let Some(nearest) =
                nearest.filter(|nearest| after.get(block) != Some(&Some(*nearest)))
            {
                set(&mut after, block, nearest);
                has_changed = true;
            }
        }
    }
    if let Some(own) = after.get_mut(end) {
        *own = None;
    }
    after
}

fn set(after: &mut [Option<usize>], block: usize, to: usize) {
    if let Some(place) = after.get_mut(block) {
        *place = Some(to);
    }
}

/// Block at which two paths meet: the path that is further from the end advances until both are at the same block.
fn meet(after: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    let rank_of = |block: usize| rank.get(block).copied().unwrap_or(0);
    let follow = |block: usize| after.get(block).copied().flatten().unwrap_or(block);
    while a != b {
        if rank_of(a) > rank_of(b) {
            a = follow(a);
        } else {
            b = follow(b);
        }
    }
    a
}

/// Returns the predecessors of each block and of the end.
fn reversed(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let end = next.len();
    let (leaves, mut before) = ([end], vec![Vec::new(); end + 1]);
    for (block, ways) in next.iter().enumerate() {
        let ways = if ways.is_empty() {
            &leaves
        } else {
            ways.as_slice()
        };
        for &way in ways {
            if let Some(list) = before.get_mut(way) {
                list.push(block);
            }
        }
    }
    before
}

/// Nodes of a graph in reverse postorder: those that can be reached from `start`, each behind one of those that lead to it,
/// and behind all of them where there is no loop. `ways` has the next nodes of each. Linear in the graph.
pub fn reverse_postorder(start: usize, ways: &[Vec<usize>]) -> Vec<usize> {
    let mut is_seen = vec![false; ways.len()];
    let mut order = Vec::new();
    let mut open = vec![(start, 0)];
    while let Some((node, way)) = open.last_mut() {
        if let Some(seen) = is_seen.get_mut(*node) {
            *seen = true;
        }
        match ways.get(*node).and_then(|ways| ways.get(*way)).copied() {
            Some(to) => {
                *way += 1;
                if is_seen.get(to) == Some(&false) {
                    open.push((to, 0));
                }
            }
            None => {
                order.push(*node);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The blocks from which the end can be reached, each behind one that it leads to (reverse postorder from the end),
/// and each block's rank among them.
fn from_the_end(before: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let end = before.len().saturating_sub(1);
    let order = reverse_postorder(end, before);
    let mut rank = vec![0; before.len()];
    for (number, block) in order.iter().enumerate() {
        if let Some(place) = rank.get_mut(*block) {
            *place = number;
        }
    }
    (order, rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Block, Instruction, Operand, PlaceId, SwitchCase, TypeId};
    use proptest::prelude::*;

    /// A function whose blocks have these successors.
    fn function(next: &[Vec<usize>]) -> Function {
        let value = Operand::Value(Default::default());
        let op = |ways: &Vec<usize>| match ways.as_slice() {
            [] => Op::Return(None),
            [to] => Op::Jump(id(*to)),
            [yes, no] => Op::Branch {
                condition: value,
                yes: id(*yes),
                no: id(*no),
            },
            [default, cases @ ..] => {
                let case = |to: &usize| SwitchCase {
                    bits: 0,
                    to: id(*to),
                };
                Op::Switch {
                    value,
                    cases: cases.iter().map(case).collect(),
                    default: id(*default),
                }
            }
        };
        let instruction = |ways| Instruction {
            op: op(ways),
            result: None,
            ty: TypeId(0),
            place: PlaceId(0),
        };
        let block = |at| Block {
            label: String::new(),
            from: at,
            to: at + 1,
        };
        Function {
            instructions: next.iter().map(instruction).collect(),
            blocks: (0..next.len() as u32).map(block).collect(),
            ..Function::default()
        }
    }

    /// Returns whether some path leads from `from` to the end without passing `without`.
    fn ends_without(next: &[Vec<usize>], from: usize, without: Option<usize>) -> bool {
        let (mut open, mut seen) = (vec![from], vec![false; next.len()]);
        while let Some(at) = open.pop() {
            if Some(at) == without || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if next[at].is_empty() {
                return true;
            }
            open.extend(&next[at]);
        }
        false
    }

    /// Post-dominance by its definition: every path to the end passes the block, and there is one.
    fn must_follow(next: &[Vec<usize>], from: usize, block: usize) -> bool {
        from == block || (ends_without(next, from, None) && !ends_without(next, from, Some(block)))
    }

    fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
        (1..9usize).prop_flat_map(|count| {
            let ways = proptest::collection::btree_set(0..count, 0..4);
            let ways = ways.prop_map(|ways| ways.into_iter().collect::<Vec<_>>());
            proptest::collection::vec(ways, count)
        })
    }

    proptest! {
        #[test]
        fn facts_are_those_of_the_definitions(next in graphs()) {
            let flow = ControlFlow::new(&function(&next));
            let blocks = 0..next.len();
            for block in blocks.clone() {
                let mut known = Vec::new();
                let mut at = flow.post_dominator(id(block));
                while let Some(here) = at {
                    known.push(here.index());
                    at = flow.post_dominator(here);
                }
                known.sort_unstable();
                let others = blocks.clone().filter(|other| *other != block);
                let wanted: Vec<usize> = others.filter(|other| must_follow(&next, block, *other)).collect();
                prop_assert_eq!(known, wanted, "behind {}", block);
                let decides = |branch: &usize| {
                    let ways = &next[*branch];
                    let is_decided = ways.iter().any(|way| must_follow(&next, *way, block));
                    let is_certain = *branch != block && must_follow(&next, *branch, block);
                    ways.len() > 1 && is_decided && !is_certain
                };
                let wanted: Vec<BlockId> = blocks.clone().filter(decides).map(id).collect();
                prop_assert_eq!(flow.deciders(id(block)), &wanted[..], "of {}", block);
            }
        }
    }

    #[test]
    fn what_stands_behind_an_assertion_is_not_decided_by_it() {
        let mut asserts = function(&[vec![1, 2], vec![], vec![]]);
        asserts.instructions[1].op = Op::Unreachable;
        let flow = ControlFlow::of_what_returns(&asserts);
        assert!(flow.deciders(BlockId(2)).is_empty());
        assert_eq!(flow.deciders(BlockId(1)), [BlockId(0)]);
        assert_eq!(
            ControlFlow::new(&asserts).deciders(BlockId(2)),
            [BlockId(0)]
        );
    }

    #[test]
    fn a_loop_with_a_way_out() {
        let flow = ControlFlow::new(&function(&[vec![1], vec![2, 3], vec![1], vec![]]));
        assert_eq!(flow.post_dominator(BlockId(2)), Some(BlockId(1)));
        assert_eq!(flow.deciders(BlockId(2)), [BlockId(1)]);
        assert_eq!(flow.deciders(BlockId(1)), [BlockId(1)]);
        assert!(flow.deciders(BlockId(3)).is_empty());
    }
}
