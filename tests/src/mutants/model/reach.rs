//! Reach of a statement: the code that it calls, and the code that comes after it.

use super::{BaseFunction, BaseProgram};
use crate::mutants::syntax::{ancestors, behind, descendants, statement_in_block};
use std::{collections::BTreeSet, ops::Range};
use tree_sitter::Node;

impl<'s> BaseProgram<'s> {
    /// Bodies of the program's functions that these nodes call, and what those call.
    pub fn called(&self, nodes: &[Node<'s>]) -> Vec<Node<'s>> {
        let calls = nodes.iter().flat_map(|node| self.source.calls(*node));
        let mut open: Vec<&str> = calls.map(|call| call.name).collect();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while let Some(name) = open.pop() {
            if self.is_wrapper(name) || !seen.insert(name) {
                continue;
            }
            for function in self.functions.iter().filter(|one| one.name == name) {
                found.push(function.body);
                open.extend(&function.calls);
            }
        }
        found
    }

    /// Ranges of these nodes and of all that they call.
    pub fn reach(&self, nodes: &[Node<'s>]) -> Vec<Range<usize>> {
        let called = self.called(nodes);
        let all = nodes.iter().copied().chain(called);
        all.map(|node| node.byte_range()).collect()
    }

    /// Returns whether a node takes a lock, in itself or in a function that it calls.
    pub fn locks(&self, node: Node<'s>) -> bool {
        let all = std::iter::once(node).chain(self.called(&[node]));
        let mut parts = all.flat_map(descendants);
        parts.any(|one| self.locking(one).is_some())
    }

    /// Code that runs after a statement, in its function and in those that call it.
    pub fn after(&self, statement: Node<'s>) -> Vec<Node<'s>> {
        self.after_within(statement, 2)
    }

    fn after_within(&self, statement: Node<'s>, callers: u32) -> Vec<Node<'s>> {
        let Some(function) = self.function_of(statement) else {
            return Vec::new();
        };
        let chain = std::iter::once(statement).chain(ancestors(statement));
        let inside = chain.take_while(|one| *one != function.body);
        let mut found: Vec<Node> = inside.flat_map(behind).collect();
        found.extend(
            function
                .body
                .child(function.body.child_count().saturating_sub(1)),
        );
        if callers > 0 {
            for place in self.places_of_calls(function) {
                found.extend(self.after_within(place, callers - 1));
            }
        }
        found
    }

    /// Statements that call a function; for a destructor those behind which its objects end.
    fn places_of_calls(&self, function: &BaseFunction<'s>) -> Vec<Node<'s>> {
        let nodes = descendants(self.source.root()).into_iter();
        let class = function.name.strip_prefix('~');
        let is_place = |node: &Node<'s>| match class {
            None => self
                .source
                .call(*node)
                .is_some_and(|call| call.name == function.name),
            Some(class) => {
                let kind = node.child_by_field_name("type");
                node.kind() == "declaration"
                    && kind.is_some_and(|kind| self.source.text(kind) == class)
            }
        };
        let found = nodes.filter(is_place).filter_map(statement_in_block);
        match class {
            None => found.collect(),
            Some(_) => found.filter_map(|one| one.parent()).collect(),
        }
    }
}
