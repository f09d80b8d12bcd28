//! Mistakes at the end of threads and of memory: not waited for, too early.

use super::MutantDraft;
use crate::mutants::{
    edits::Edits,
    model::BaseProgram,
    syntax::{
        SyntaxCall, ancestors, before, behind, descendants, is_block, jumps, of_kind,
        statement_in_block,
    },
};
use tree_sitter::Node;
use unsnarl_core::BugKind;

/// Calls that wait for the end of a thread.
const JOINS: [&str; 3] = ["pthread_join", "thrd_join", "join"];
/// Calls that end the life of their argument.
const ENDS: [&str; 1] = ["free"];

/// Removes the wait for the end of a thread.
pub fn drop_join(program: &BaseProgram) -> Vec<MutantDraft> {
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
            Some(MutantDraft {
                edits,
                region: program.reach(&program.after(place)),
                classes: vec![BugKind::OrderViolation, BugKind::UseAfterFree],
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

/// Frees memory before the last statement that made sure that nobody uses it.
pub fn free_early(program: &BaseProgram) -> Vec<MutantDraft> {
    let nodes = descendants(program.source.root()).into_iter();
    let statements = nodes.filter(|one| one.parent().is_some_and(is_block));
    statements
        .filter_map(|end| {
            let ended = ended(program, end)?;
            let earlier = before(end);
            let last = earlier.iter().position(|one| orders(program, *one))?;
            let barrier = earlier.get(last).copied()?;
            let over = earlier.get(..last)?;
            if jumps(barrier) || over.iter().any(|one| needs(program, ended, *one)) {
                return None;
            }
            let mut edits = Edits::default();
            edits.move_before(program.source, end, barrier);
            let passed: Vec<Node> = over.iter().copied().chain([barrier, end]).collect();
            Some(MutantDraft {
                edits,
                region: program.reach(&passed),
                classes: vec![BugKind::UseAfterFree, BugKind::OrderViolation],
            })
        })
        .collect()
}

/// The object that a statement ends: `p` of `free(p);`, `delete p;`, `p.reset();`, `page_free(cache, p);`
fn ended<'s>(program: &BaseProgram<'s>, statement: Node<'s>) -> Option<&'s str> {
    let source = program.source;
    let inner = statement
        .named_child(0)
        .filter(|_| statement.kind() == "expression_statement")?;
    if inner.kind() == "delete_expression" {
        return source.names(inner).last().copied();
    }
    let call = source.call(inner)?;
    let given = match (call.name, call.receiver) {
        ("reset", Some(receiver)) if call.arguments.is_empty() => return Some(receiver),
        (name, None) if ENDS.contains(&name) => call.arguments.first().copied(),
        _ => freed_argument(program, &call),
    };
    source.names(given?).last().copied()
}

/// The argument whose memory a function of the program frees.
fn freed_argument<'s>(program: &BaseProgram<'s>, call: &SyntaxCall<'s>) -> Option<Node<'s>> {
    let source = program.source;
    let function = program.functions.iter().find(|one| one.name == call.name)?;
    let definition = function.body.parent()?;
    let parameters = of_kind(definition, "parameter_declaration");
    let names: Vec<&str> = parameters
        .iter()
        .filter_map(|one| source.names(*one).last().copied())
        .collect();
    let calls = source.calls(function.body);
    let mut freed = calls
        .iter()
        .filter(|one| ENDS.contains(&one.name))
        .filter_map(|free| free.arguments.first());
    let at = freed.find_map(|freed| names.iter().position(|name| *name == source.text(*freed)))?;
    call.arguments.get(at).copied()
}

/// Returns whether the statement joins, waits, takes a lock or releases one.
fn orders(program: &BaseProgram, statement: Node) -> bool {
    let calls = program.source.calls(statement);
    let waits = calls
        .iter()
        .any(|call| JOINS.contains(&call.name) || call.name.contains("wait"));
    waits || program.locks(statement)
}

/// Returns whether a statement sets or uses the object that another one ends.
fn needs(program: &BaseProgram, ended: &str, other: Node) -> bool {
    program.source.names(other).contains(&ended) || other.kind() == "declaration"
}
