//! The ends of threads and of memory: not waited for, too early.

use super::Draft;
use crate::mutants::{
    edits::Edits,
    model::Program,
    syntax::{ancestors, before, behind, descendants, is_block, jumps, statement_in_block},
};
use tree_sitter::Node;
use unsnarl_core::BugKind;

/// Calls that wait for the end of a thread.
const JOINS: [&str; 3] = ["pthread_join", "thrd_join", "join"];
/// Calls that end the life of what they are given.
const ENDS: [&str; 1] = ["free"];

/// Does not wait for a thread.
pub fn drop_join(program: &Program) -> Vec<Draft> {
    let nodes = descendants(program.source.root()).into_iter();
    let calls = nodes.filter_map(|one| program.source.call(one));
    let joins = calls.filter(|call| JOINS.contains(&call.name));
    joins
        .filter_map(|join| {
            let source = program.source;
            let statement = statement_in_block(join.node)?;
            let mut edits = Edits::default();
            let place = match join.receiver {
                Some(receiver) => {
                    let dots = if source.text(join.node).contains("->") {
                        "->"
                    } else {
                        "."
                    };
                    edits.replace(join.node.byte_range(), &format!("{receiver}{dots}detach()"));
                    statement
                }
                None => {
                    let whole = whole_loop(statement).unwrap_or(statement);
                    edits.remove(source, whole);
                    whole
                }
            };
            Some(Draft {
                edits,
                region: program.reach(&program.after(place)),
                classes: vec![
                    BugKind::OrderViolation,
                    BugKind::DataRace,
                    BugKind::UseAfterFree,
                ],
            })
        })
        .collect()
}

/// The loop that does nothing but this.
fn whole_loop(statement: Node) -> Option<Node> {
    let parent = ancestors(statement).find(|one| !is_block(*one))?;
    let is_loop = matches!(parent.kind(), "for_statement" | "for_range_loop");
    let alone = before(statement).is_empty() && behind(statement).is_empty();
    (is_loop && alone).then_some(parent)
}

/// Gives memory back before the last thing that made sure that nobody uses it.
pub fn free_early(program: &Program) -> Vec<Draft> {
    let nodes = descendants(program.source.root()).into_iter();
    let statements = nodes.filter(|one| one.parent().is_some_and(is_block));
    statements
        .filter(|one| ends_life(program, *one))
        .filter_map(|end| {
            let earlier = before(end);
            let last = earlier.iter().position(|one| orders(program, *one))?;
            let barrier = earlier.get(last).copied()?;
            let over = earlier.get(..last)?;
            if jumps(barrier) || over.iter().any(|one| needs(program, end, *one)) {
                return None;
            }
            let mut edits = Edits::default();
            edits.move_before(program.source, end, barrier);
            let passed: Vec<Node> = over.iter().copied().chain([barrier, end]).collect();
            Some(Draft {
                edits,
                region: program.reach(&passed),
                classes: vec![BugKind::UseAfterFree, BugKind::OrderViolation],
            })
        })
        .collect()
}

/// `free(p);`, `delete p;`, `p.reset();`
fn ends_life(program: &Program, statement: Node) -> bool {
    let source = program.source;
    let inner = statement.named_child(0);
    let deletes = inner.is_some_and(|one| one.kind() == "delete_expression");
    let call = source.statement_call(statement);
    let frees = call.is_some_and(|call| {
        ENDS.contains(&call.name)
            || call.name == "reset" && call.arguments.is_empty() && call.receiver.is_some()
    });
    statement.kind() == "expression_statement" && (deletes || frees)
}

/// Joins, waits, takes a lock or gives one back.
fn orders(program: &Program, statement: Node) -> bool {
    let calls = program.source.calls(statement);
    let waits = calls
        .iter()
        .any(|call| JOINS.contains(&call.name) || call.name.contains("wait"));
    waits
        || descendants(statement)
            .into_iter()
            .any(|one| program.locking(one).is_some())
}

/// Does a statement set or use what another one ends?
fn needs(program: &Program, end: Node, other: Node) -> bool {
    let names = program.source.names(end);
    let ended = names
        .iter()
        .rev()
        .find(|name| !ENDS.contains(name) && **name != "reset");
    let used = program.source.names(other);
    ended.is_none_or(|ended| used.contains(ended)) || other.kind() == "declaration"
}
