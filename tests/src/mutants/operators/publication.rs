//! Publications: another thread may look before everything is there.

use super::MutantDraft;
use crate::mutants::{
    edits::Edits,
    model::BaseProgram,
    syntax::{before, behind, descendants, is_block, jumps, of_kind},
};
use std::collections::BTreeSet;
use tree_sitter::Node;
use unsnarl_core::BugKind;

/// Publishes one statement too early.
pub fn swap(program: &BaseProgram) -> Vec<MutantDraft> {
    let publications = publications(program).into_iter();
    publications
        .filter_map(|publication| {
            let over = passed_over(program, publication);
            moved_up(program, publication, over.first().copied()?)
        })
        .collect()
}

/// Publishes several statements too early.
pub fn early(program: &BaseProgram) -> Vec<MutantDraft> {
    let publications = publications(program).into_iter();
    publications
        .filter_map(|publication| {
            let over = passed_over(program, publication);
            let target = over.last().copied().filter(|_| over.len() > 1)?;
            moved_up(program, publication, target)
        })
        .collect()
}

fn moved_up(program: &BaseProgram, publication: Node, target: Node) -> Option<MutantDraft> {
    let mut edits = Edits::default();
    edits.move_before(program.source, publication, target);
    let between = behind(target)
        .into_iter()
        .take_while(|one| *one != publication);
    let nodes: Vec<Node> = between.chain([target, publication]).collect();
    (target != publication).then(|| draft(program, edits, target, &nodes))
}

pub(super) fn draft<'s>(
    program: &BaseProgram<'s>,
    edits: Edits,
    init: Node<'s>,
    nodes: &[Node<'s>],
) -> MutantDraft {
    let mut region = program.reach(nodes);
    // The other side of a publication is wherever the same things are used.
    let parts = std::iter::once(init).chain(program.called(&[init]));
    let set: BTreeSet<&str> = parts.flat_map(|part| set_in(program, part)).collect();
    let names = descendants(program.source.root()).into_iter();
    let names = names.filter(|one| matches!(one.kind(), "identifier" | "field_identifier"));
    let uses = names.filter(|one| set.contains(program.source.text(*one)));
    region.extend(uses.map(|one| one.byte_range()));
    MutantDraft {
        edits,
        region,
        classes: vec![BugKind::OrderViolation, BugKind::UseAfterFree],
    }
}

/// Names of the fields and variables that a node sets; for a call, of what it is given.
fn set_in<'s>(program: &BaseProgram<'s>, node: Node<'s>) -> Vec<&'s str> {
    let mut set = Vec::new();
    for part in descendants(node) {
        let target = match part.kind() {
            "assignment_expression" => part.child_by_field_name("left"),
            "update_expression" => part.child_by_field_name("argument"),
            "call_expression" if part.parent() == Some(node) => {
                part.child_by_field_name("arguments")
            }
            _ => None,
        };
        let Some(target) = target else { continue };
        let fields = of_kind(target, "field_identifier");
        match fields.last() {
            Some(field) => set.push(program.source.text(*field)),
            None => set.extend(program.source.names(target).first()),
        }
    }
    set.retain(|name| !is_common(name));
    set
}

/// Names of constants and counters say nothing about what is set.
fn is_common(name: &str) -> bool {
    name.len() < 2
        || matches!(name, "NULL" | "nullptr" | "true" | "false")
        || name
            .chars()
            .all(|c| c.is_uppercase() || c == '_' || c.is_ascii_digit())
}

/// Statements that let other threads see what came before.
fn publications<'s>(program: &BaseProgram<'s>) -> Vec<Node<'s>> {
    let nodes = descendants(program.source.root()).into_iter();
    let statements = nodes.filter(|one| one.parent().is_some_and(is_block));
    statements
        .filter(|one| one.kind() == "expression_statement" || starts_thread(program, *one))
        .filter(|one| is_publication(program, *one))
        .collect()
}

fn is_publication(program: &BaseProgram, statement: Node) -> bool {
    starts_thread(program, statement)
        || stores_atomic(program, statement)
        || hands_over(program, statement)
}

/// Starts a thread, in its condition or in its expression; not in a block of its own.
pub(super) fn starts_thread(program: &BaseProgram, statement: Node) -> bool {
    let source = program.source;
    let text = source.text(statement);
    let makes = match statement.kind() {
        "if_statement" => statement.child_by_field_name("condition"),
        "expression_statement" | "declaration" => Some(statement),
        _ => None,
    };
    let calls = |node: Node| {
        let names = ["pthread_create", "thrd_create"];
        source
            .calls(node)
            .iter()
            .any(|call| names.contains(&call.name))
    };
    let by_class = statement.kind() == "declaration" && text.starts_with("std::thread ")
        || statement.kind() == "expression_statement"
            && (text.contains("= std::thread(") || text.contains("threads.emplace_back("))
        || statement.kind() == "expression_statement" && text.contains("emplace_back([");
    makes.is_some_and(calls) || by_class
}

fn stores_atomic(program: &BaseProgram, statement: Node) -> bool {
    let call = program.source.statement_call(statement);
    call.is_some_and(|call| {
        call.name.starts_with("atomic_store") || call.name == "store" && call.receiver.is_some()
    })
}

/// Gives something that was just set to a function that takes a lock: a queue, a list, a table.
fn hands_over(program: &BaseProgram, statement: Node) -> bool {
    let Some(call) = program.source.statement_call(statement) else {
        return false;
    };
    let functions = program.functions.iter().filter(|one| one.name == call.name);
    let locks = |body: Node| {
        descendants(body)
            .into_iter()
            .any(|one| program.locking(one).is_some())
    };
    let takes_lock =
        functions.into_iter().any(|one| locks(one.body)) && !program.is_wrapper(call.name);
    let given = call
        .arguments
        .iter()
        .flat_map(|one| program.source.names(*one));
    let mut given = given.filter(|name| !is_common(name) || name.len() == 1);
    let before = before(statement).first().copied();
    let set = before.and_then(|one| assigned(program, one));
    takes_lock && set.is_some_and(|set| given.any(|name| name == set))
}

/// The variable at the beginning of what an assignment sets: `job` of `job->size = 3;`.
fn assigned<'s>(program: &BaseProgram<'s>, statement: Node<'s>) -> Option<&'s str> {
    let inner =
        (statement.kind() == "expression_statement").then(|| statement.named_child(0))??;
    let target = match inner.kind() {
        "assignment_expression" => inner.child_by_field_name("left")?,
        "update_expression" => inner.child_by_field_name("argument")?,
        "call_expression" if !program.source.text(inner).starts_with("assert") => {
            inner.child_by_field_name("arguments")?
        }
        _ => return None,
    };
    program.source.names(target).first().copied()
}

/// Statements before a publication, the nearest first, that could come after it.
pub(super) fn passed_over<'s>(program: &BaseProgram<'s>, publication: Node<'s>) -> Vec<Node<'s>> {
    let plain = |one: &Node<'s>| {
        let kinds = ["expression_statement", "for_statement"];
        let fits = kinds.contains(&one.kind()) && !jumps(*one);
        let calls = program.source.calls(*one);
        let syncs = calls.iter().any(|call| {
            [
                "lock",
                "join",
                "wait",
                "pthread_create",
                "thrd_create",
                "init",
                "free",
            ]
            .iter()
            .any(|word| call.name.contains(word))
        });
        fits && !syncs && !starts_thread(program, *one) && program.locking(*one).is_none()
    };
    before(publication).into_iter().take_while(plain).collect()
}
