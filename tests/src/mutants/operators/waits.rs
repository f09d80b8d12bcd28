//! Mistakes in waits: checked once only, or not waited at all.

use super::MutantDraft;
use crate::mutants::{
    edits::Edits,
    model::BaseProgram,
    syntax::{
        SyntaxCall, ancestors, behind, children, descendants, is_block, of_kind, statement_in_block,
    },
};
use tree_sitter::Node;
use unsnarl_core::BugKind;

/// Calls that wait for a condition.
const CONDITIONS: [&str; 3] = ["pthread_cond_wait", "cnd_wait", "wait"];
/// Calls that wait for an object that keeps earlier signals.
const OTHERS: [&str; 5] = [
    "sem_wait",
    "pthread_barrier_wait",
    "arrive_and_wait",
    "acquire",
    "wait",
];

/// Removes the repeated check of the condition after a wait.
pub fn look_once(program: &BaseProgram) -> Vec<MutantDraft> {
    let waits = waits(program).into_iter();
    waits.filter_map(|wait| once(program, &wait)).collect()
}

fn once<'s>(program: &BaseProgram<'s>, wait: &SyntaxCall<'s>) -> Option<MutantDraft> {
    let source = program.source;
    let statement = statement_in_block(wait.node)?;
    let mut edits = Edits::default();
    let place = match waiting_loop(wait.node) {
        Some(whole) => {
            let begin = whole.start_byte();
            edits.replace(begin..begin + "while".len(), "if");
            whole
        }
        None => {
            let text = source.text(wait.node);
            let test = predicate(program, wait)?;
            let (lock, condition) = (source.text(*wait.arguments.first()?), wait.receiver?);
            let dots = if text.contains("->wait(") { "->" } else { "." };
            let new = format!("if (!({test})) {condition}{dots}wait({lock});");
            edits.replace(statement.byte_range(), &new);
            statement
        }
    };
    Some(MutantDraft {
        edits,
        region: around(program, place),
        classes: vec![
            BugKind::AtomicityViolation,
            BugKind::MultiVariableAtomicityViolation,
            BugKind::OrderViolation,
        ],
    })
}

/// Removes a wait altogether.
pub fn drop_wait(program: &BaseProgram) -> Vec<MutantDraft> {
    let nodes = descendants(program.source.root()).into_iter();
    let calls = nodes.filter_map(|one| program.source.call(one));
    let kept = calls.filter(|call| OTHERS.contains(&call.name) && is_kept(call));
    let all = waits(program).into_iter().chain(kept);
    all.filter_map(|wait| {
        let statement = statement_in_block(wait.node)?;
        let place = waiting_loop(wait.node).unwrap_or(statement);
        let mut edits = Edits::default();
        edits.remove(program.source, place);
        let mut region = around(program, place);
        region.extend(program.reach(&program.after(place)));
        let mut classes = vec![BugKind::OrderViolation, BugKind::UseAfterFree];
        if matches!(wait.name, "sem_wait" | "acquire") {
            // A semaphore may be a lock.
            classes.push(BugKind::AtomicityViolation);
            classes.push(BugKind::MultiVariableAtomicityViolation);
        }
        Some(MutantDraft {
            edits,
            region,
            classes,
        })
    })
    .collect()
}

/// Returns whether the call is one of semaphores, barriers or latches, which need no condition.
fn is_kept(call: &SyntaxCall) -> bool {
    call.arguments.is_empty() || matches!(call.name, "sem_wait" | "pthread_barrier_wait")
}

/// Calls that wait for a condition variable.
fn waits<'s>(program: &BaseProgram<'s>) -> Vec<SyntaxCall<'s>> {
    let nodes = descendants(program.source.root()).into_iter();
    let calls = nodes.filter_map(|one| program.source.call(one));
    calls
        .filter(|call| CONDITIONS.contains(&call.name) && !is_kept(call))
        .filter(|call| call.name != "wait" || call.receiver.is_some())
        .collect()
}

/// The loop that does nothing but wait.
fn waiting_loop(wait: Node) -> Option<Node> {
    let whole =
        ancestors(wait).find(|one| !is_block(*one) && one.kind() != "expression_statement")?;
    let body = (whole.kind() == "while_statement").then(|| whole.child_by_field_name("body"))??;
    let alone = !is_block(body) || children(body).len() == 1;
    alone.then_some(whole)
}

/// The expression that the predicate of a wait returns, if it is one.
fn predicate<'s>(program: &BaseProgram<'s>, wait: &SyntaxCall<'s>) -> Option<&'s str> {
    let lambda = wait
        .arguments
        .get(1)
        .filter(|one| one.kind() == "lambda_expression")?;
    let returns = of_kind(*lambda, "return_statement");
    let [only] = returns.as_slice() else {
        return None;
    };
    Some(program.source.text(only.named_child(0)?))
}

/// The wait, the code behind it in its block, and the section around it.
fn around<'s>(program: &BaseProgram<'s>, place: Node<'s>) -> Vec<std::ops::Range<usize>> {
    let mut nodes = behind(place);
    nodes.push(place);
    let mut region = program.reach(&nodes);
    region.extend(
        program
            .section_of(place)
            .iter()
            .flat_map(|section| program.guarded(section)),
    );
    region
}
