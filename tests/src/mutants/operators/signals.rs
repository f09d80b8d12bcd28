//! Mistakes in signals: to one waiter instead of all, too early, never.

use super::MutantDraft;
use crate::mutants::{
    edits::Edits,
    model::{BaseProgram, SIGNALS, last_name},
    syntax::{SyntaxCall, before, behind, descendants, statement_in_block},
};
use std::ops::Range;
use tree_sitter::Node;
use unsnarl_core::BugKind;

/// Calls that wake all, and those that wake one.
const WAKES: [(&str, &str); 3] = [
    ("pthread_cond_broadcast", "pthread_cond_signal"),
    ("cnd_broadcast", "cnd_signal"),
    ("notify_all", "notify_one"),
];

/// Wakes one of the waiters instead of all.
pub fn signal_one(program: &BaseProgram) -> Vec<MutantDraft> {
    let signals = signals(program).into_iter();
    signals
        .filter_map(|signal| {
            let (all, one) = WAKES.iter().find(|(all, _)| signal.name == *all)?;
            let text = program.source.text(signal.node).replacen(all, one, 1);
            let mut edits = Edits::default();
            edits.replace(signal.node.byte_range(), &text);
            Some(draft(program, &signal, edits))
        })
        .collect()
}

/// Wakes nobody, or wakes before there is a change to see.
pub fn drop_signal(program: &BaseProgram) -> Vec<MutantDraft> {
    let mut drafts = Vec::new();
    for signal in signals(program) {
        let Some(statement) = statement_in_block(signal.node) else {
            continue;
        };
        let mut edits = Edits::default();
        edits.remove(program.source, statement);
        drafts.push(draft(program, &signal, edits));
        if let Some(begin) = begin_of_change(program, statement) {
            let mut edits = Edits::default();
            edits.move_before(program.source, statement, begin);
            drafts.push(draft(program, &signal, edits));
        }
    }
    drafts
}

/// Beginning of a signal's section: the one around it or the one before it.
fn begin_of_change<'s>(program: &BaseProgram<'s>, signal: Node<'s>) -> Option<Node<'s>> {
    let sections = program.sections();
    let same_block = |node: Node| node.parent() == signal.parent();
    let around = sections
        .iter()
        .find(|section| same_block(section.acquire.statement) && section.body.contains(&signal));
    let previous = before(signal).first().copied();
    let ended = sections
        .iter()
        .find(|section| section.release.is_some() && section.release == previous);
    let scope = previous.filter(|one| one.kind() == "compound_statement");
    let found = around.or(ended).map(|section| section.acquire.statement);
    found.or(scope)
}

/// Calls that wake threads; posts to semaphores, too.
fn signals<'s>(program: &BaseProgram<'s>) -> Vec<SyntaxCall<'s>> {
    let nodes = descendants(program.source.root()).into_iter();
    let calls = nodes.filter_map(|one| program.source.call(one));
    calls.filter(|call| SIGNALS.contains(&call.name)).collect()
}

fn draft<'s>(program: &BaseProgram<'s>, signal: &SyntaxCall<'s>, edits: Edits) -> MutantDraft {
    let mut region = vec![signal.node.byte_range()];
    if let Some(statement) = statement_in_block(signal.node) {
        let section = program.section_of(statement).or_else(|| {
            let ended = |one: &Node| before(statement).first() == Some(one);
            program
                .sections()
                .into_iter()
                .find(|section| section.release.as_ref().is_some_and(ended))
        });
        region.extend(section.iter().flat_map(|section| program.guarded(section)));
        let scope = before(statement).first().copied();
        region.extend(
            scope
                .filter(|one| one.kind() == "compound_statement")
                .map(|one| one.byte_range()),
        );
        region.extend(behind(statement).first().map(|one| one.byte_range()));
    }
    region.extend(waits_for(program, signal));
    MutantDraft {
        edits,
        region,
        classes: vec![BugKind::LostWakeup],
    }
}

/// Statements that wait for the object that a call signals.
fn waits_for<'s>(program: &BaseProgram<'s>, signal: &SyntaxCall<'s>) -> Vec<Range<usize>> {
    let name = |call: &SyntaxCall<'s>| {
        let first = call.arguments.first().map(|one| program.source.text(*one));
        last_name(call.receiver.or(first).unwrap_or("")).to_owned()
    };
    let nodes = descendants(program.source.root()).into_iter();
    let calls = nodes.filter_map(|one| program.source.call(one));
    let waits = calls.filter(|call| call.name.contains("wait") && name(call) == name(signal));
    let statements = waits.filter_map(|call| statement_in_block(call.node));
    statements.map(|one| one.byte_range()).collect()
}
