//! Locks: not taken, another one, not given back, in the other order.

use super::{MutantDraft, broken_section};
use crate::mutants::{
    edits::Edits,
    model::{BaseProgram, Effect, LockedStatements, MutatedLockStatement, last_name},
    syntax::{before, behind, descendants, is_jump},
};
use unsnarl_core::BugKind;

/// Takes the lock away from a section.
pub fn drop_lock(program: &BaseProgram) -> Vec<MutantDraft> {
    let sections = program.sections().into_iter();
    let plain = sections.filter(|section| !section.uses_lock(program.source));
    plain
        .map(|section| {
            let mut edits = Edits::default();
            edits.remove(program.source, section.acquire.statement);
            for release in section.releases() {
                edits.remove(program.source, release);
            }
            about_section(program, &section, edits)
        })
        .collect()
}

/// Lets a section take a lock that nobody else takes.
pub fn other_lock(program: &BaseProgram) -> Vec<MutantDraft> {
    let sections = program.sections().into_iter();
    let plain = sections.filter(|section| !section.uses_lock(program.source));
    plain
        .filter_map(|section| {
            let (kind, initial) = mutex_type(program, &section)?;
            let other = format!(
                "{}_aux",
                last_name(&section.acquire.lock).trim_end_matches('_')
            );
            let first = program.functions.first()?.body;
            let top = std::iter::successors(Some(first), |node| node.parent())
                .find(|node| node.parent() == Some(program.source.root()))?;
            let mut edits = Edits::default();
            edits.insert_before(
                program.source,
                top,
                &format!("static {kind} {other}{initial};\n"),
            );
            let mut made = about_section(program, &section, edits);
            for statement in std::iter::once(section.acquire.statement).chain(section.releases()) {
                let text = with_lock(program, &section, statement, &other)?;
                made.edits.replace(statement.byte_range(), &text);
            }
            Some(made)
        })
        .collect()
}

/// Type and initial value of a new lock like the one of a section.
fn mutex_type(
    program: &BaseProgram,
    section: &LockedStatements,
) -> Option<(&'static str, &'static str)> {
    let text = program.source.text(section.acquire.statement);
    match &section.acquire.guard {
        _ if text.contains("pthread_mutex_lock") => {
            Some(("pthread_mutex_t", " = PTHREAD_MUTEX_INITIALIZER"))
        }
        _ if text.contains("pthread_rwlock_") => {
            Some(("pthread_rwlock_t", " = PTHREAD_RWLOCK_INITIALIZER"))
        }
        Some(_) if text.contains("shared_mutex") => Some(("std::shared_mutex", "")),
        Some(_) if text.contains("<std::mutex>") => Some(("std::mutex", "")),
        None if program.source.is_cpp && text.contains(".lock()") => Some(("std::mutex", "")),
        _ => None,
    }
}

/// The statement with another lock in the place of its own.
fn with_lock(
    program: &BaseProgram,
    section: &LockedStatements,
    statement: tree_sitter::Node,
    other: &str,
) -> Option<String> {
    let text = program.source.text(statement);
    let lock = &section.acquire.lock;
    let new = match lock.starts_with('&') {
        true => format!("&{other}"),
        false => other.to_owned(),
    };
    let at = text.rfind(lock.as_str())?;
    Some(format!(
        "{}{new}{}",
        text.get(..at)?,
        text.get(at + lock.len()..)?
    ))
}

/// Forgets to give a lock back before a jump.
pub fn leak_lock(program: &BaseProgram) -> Vec<MutantDraft> {
    let mut drafts = Vec::new();
    for section in program.sections() {
        for release in &section.early {
            if !behind(*release).first().is_some_and(|next| is_jump(*next)) {
                continue;
            }
            let mut edits = Edits::default();
            edits.remove(program.source, *release);
            let mut region = program.guarded(&section);
            region.extend(behind(*release).first().map(|next| next.byte_range()));
            drafts.push(MutantDraft {
                edits,
                region,
                classes: vec![BugKind::Deadlock],
            });
        }
    }
    drafts
}

/// Takes two locks in the other order, or without looking which of them has to come first.
pub fn reverse_locks(program: &BaseProgram) -> Vec<MutantDraft> {
    let statements = descendants(program.source.root()).into_iter();
    let acquires = statements.filter_map(|one| program.locking(one));
    acquires
        .filter_map(|second| {
            let is_next = second.effect == Effect::Acquire;
            let first = program.locking(*before(second.statement).first()?)?;
            let is_pair = is_next && first.effect == Effect::Acquire && first.lock != second.lock;
            is_pair.then(|| reversed(program, &first, &second))
        })
        .collect()
}

fn reversed(
    program: &BaseProgram,
    first: &MutatedLockStatement,
    second: &MutatedLockStatement,
) -> MutantDraft {
    let source = program.source;
    let mut edits = Edits::default();
    let mut region = vec![first.statement.byte_range(), second.statement.byte_range()];
    match before(first.statement)
        .first()
        .filter(|one| one.kind() == "if_statement")
    {
        Some(order) if source.text(*order).contains('<') || source.text(*order).contains('>') => {
            edits.remove(source, *order);
        }
        _ => {
            edits.replace(first.statement.byte_range(), source.text(second.statement));
            edits.replace(second.statement.byte_range(), source.text(first.statement));
        }
    }
    region.extend(program.reach(&behind(second.statement)));
    if let Some(function) = program
        .function_of(first.statement)
        .filter(|one| program.is_wrapper(one.name))
    {
        region.push(function.body.byte_range());
    }
    MutantDraft {
        edits,
        region,
        classes: vec![BugKind::Deadlock],
    }
}

fn about_section(program: &BaseProgram, section: &LockedStatements, edits: Edits) -> MutantDraft {
    MutantDraft {
        edits,
        region: program.guarded(section),
        classes: broken_section(program, section),
    }
}
