//! Waits that are missing: a thread asserts what another thread has not brought about yet, though it signals it.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    text::{
        change::line_after,
        locks::{LockOperation, LockStyle, Mutex, callee, calls, guarded, last_name, operation},
        precondition::{self, Asserted},
        signals,
        source::{ParsedSource, descendants, lines},
    },
};
use crate::{explanation::BugKind, facts::basename};
use std::collections::BTreeMap;
use tree_sitter::Node;

/// Bound on the condition variables tried.
const MOST: usize = 3;

/// Waits for the precondition of the failing assertion, on each condition variable that threads signal after they have
/// changed its data; empty where the text does not show such a precondition. None of them is known to be right before
/// it was built.
pub(super) fn waits(case: &FixInput<'_>) -> Vec<Fix> {
    use BugKind::{AtomicityViolation, MultiVariableAtomicityViolation, OrderViolation};
    let kind = case.explanation.kind;
    let site = case.explanation.failure.site.as_ref();
    let is_kind = matches!(
        kind,
        OrderViolation | AtomicityViolation | MultiVariableAtomicityViolation
    );
    let Some(site) = site.filter(|_| is_kind) else {
        return Vec::new();
    };
    let Ok(source) = case.files.get(&site.file) else {
        return Vec::new();
    };
    let Ok(asserted) = precondition::of_assertion(source, site.line) else {
        return Vec::new();
    };
    let fixes = conditions(source, &asserted).into_iter().take(MOST);
    fixes
        .filter_map(|condition| wait(case, (&site.file, source), &asserted, &condition))
        .collect()
}

fn wait(
    case: &FixInput<'_>,
    (file, source): (&String, &ParsedSource),
    asserted: &Asserted<'_>,
    condition: &str,
) -> Option<Fix> {
    let (mutex, statement) = (&asserted.mutex, asserted.lock);
    let call = match (mutex.style, &asserted.guard) {
        (LockStyle::Pthread, _) => format!("pthread_cond_wait(&{condition}, {});", address(mutex)),
        (LockStyle::C11, _) => format!("cnd_wait(&{condition}, {});", address(mutex)),
        (LockStyle::Glib, _) => format!("g_cond_wait(&{condition}, {});", address(mutex)),
        (LockStyle::Guard, Some(guard)) => format!("{condition}.wait({guard});"),
        _ => return None,
    };
    let indent = format!("{}{}", source.indent(statement.start_byte()), source.unit());
    let text = format!("while ({})\n{indent}{call}", asserted.fails_if.join(" && "));
    let change = line_after(source, statement.start_byte(), statement.end_byte(), &text);
    let edits = case
        .files
        .edits(&Changes::from([(file.clone(), vec![change])]));
    let line = *lines(statement).end();
    Some(Fix {
        lock: Some(mutex.name().to_owned()),
        ..Fix::edit(
            FixKind::Wait,
            format!("wait on `{condition}` after line {line} until the assertion will hold"),
            edits.ok()?,
            format!("threads wait in {}", basename(file)),
        )
    })
}

fn address(mutex: &Mutex) -> String {
    match mutex.object.strip_prefix('*') {
        Some(pointer) => pointer.to_owned(),
        None => format!("&{}", mutex.object),
    }
}

/// Place of a condition variable among those that are signalled where the data of an assertion changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ConditionRank {
    /// `true` if threads wait on it elsewhere.
    is_waited: bool,
    /// `true` if no place wakes all waiters.
    wakes_one: bool,
}

/// The condition variables by their names where the lock is acquired, best first. A signal for one of several kinds of
/// waiters may be taken by another one, so those are left out.
fn conditions(source: &ParsedSource, asserted: &Asserted<'_>) -> Vec<String> {
    let names = precondition::names(&asserted.fails_if);
    let waited: Vec<String> = (every_call(source).into_iter())
        .filter(|call| callee(source, *call).contains("wait"))
        .filter_map(|call| Some(last_name(&signals::of_call(source, call)?).to_owned()))
        .collect();
    let mut found: BTreeMap<String, ConditionRank> = BTreeMap::new();
    for call in every_call(source) {
        let Some(wakes_one) = wakes(callee(source, call)) else {
            continue;
        };
        let Some(function) = source.function(*lines(call).start()) else {
            continue;
        };
        let changed = precondition::changed(source, function);
        if !changed.iter().any(|name| names.contains(name)) {
            continue;
        }
        let Some(condition) = renamed(source, function, call, &asserted.mutex) else {
            continue;
        };
        let is_waited = waited.iter().any(|one| one == last_name(&condition));
        let rank = found.entry(condition).or_insert(ConditionRank {
            is_waited,
            wakes_one,
        });
        rank.wakes_one &= wakes_one;
    }
    found.retain(|_, rank| !(rank.is_waited && rank.wakes_one));
    let mut all: Vec<(ConditionRank, String)> =
        found.into_iter().map(|(name, rank)| (rank, name)).collect();
    all.sort();
    all.into_iter().map(|(_, name)| name).collect()
}

/// Returns whether a call of this name wakes only one of those who wait; `None` for other calls.
fn wakes(name: &str) -> Option<bool> {
    match name {
        "pthread_cond_signal" | "cnd_signal" | "g_cond_signal" | "notify_one" => Some(true),
        "pthread_cond_broadcast" | "cnd_broadcast" | "g_cond_broadcast" | "notify_all" => {
            Some(false)
        }
        _ => None,
    }
}

/// The condition that a call signals, as it is called where the lock of its object has the name of `mutex`.
fn renamed(
    source: &ParsedSource,
    function: Node<'_>,
    call: Node<'_>,
    mutex: &Mutex,
) -> Option<String> {
    let written = signals::of_call(source, call)?;
    let condition = written.trim_start_matches('&').trim();
    let mut own = locked(source, function).into_iter();
    let other = own.find(|other| last_name(other) == last_name(&mutex.object))?;
    let rest = condition.strip_prefix(owner(&other))?;
    Some(format!("{}{rest}", owner(mutex.name())))
}

/// `queue->` of `queue->lock`.
fn owner(object: &str) -> &str {
    object.strip_suffix(last_name(object)).unwrap_or("")
}

/// Names of the locks that a function acquires.
fn locked(source: &ParsedSource, function: Node<'_>) -> Vec<String> {
    let by_call = calls(function).filter_map(|call| operation(source, call));
    let by_call = by_call.filter(|found| found.what == LockOperation::Lock);
    let mut all: Vec<String> = by_call.map(|found| found.object).collect();
    for node in descendants(function) {
        let held = guarded(source, node).map(|(held, _)| held);
        all.extend(held.into_iter().flatten().map(str::to_owned));
    }
    all
}

/// All calls of a file, those in nested functions as well.
fn every_call(source: &ParsedSource) -> Vec<Node<'_>> {
    let all = super::text::every(source).into_iter();
    all.filter(|node| node.kind() == "call_expression")
        .collect()
}
