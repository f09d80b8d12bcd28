//! Critical sections: smaller, in two pieces, with the check before them.

use super::{MutantDraft, broken_section};
use crate::mutants::{
    edits::Edits,
    model::{BaseProgram, Effect, LockedStatements, contains},
    syntax::{is_jump, jumps, of_kind},
};
use tree_sitter::Node;
use unsnarl_core::BugKind;

/// Leaves the first statement, or the last one, out of a section.
pub fn shrink(program: &BaseProgram) -> Vec<MutantDraft> {
    let mut drafts = Vec::new();
    for section in program.sections() {
        drafts.extend(without_first(program, &section));
        drafts.extend(without_last(program, &section));
    }
    drafts
}

fn without_first(program: &BaseProgram, section: &LockedStatements) -> Option<MutantDraft> {
    let first = section.body.first().copied()?;
    // The only statement, outside, is a section without anything in it: what dropping the lock does, too.
    let fits = section.body.len() > 1 && is_movable(program, section, first);
    let mut edits = Edits::default();
    edits.move_before(program.source, first, section.acquire.statement);
    fits.then(|| draft(program, section, edits))
}

fn without_last(program: &BaseProgram, section: &LockedStatements) -> Option<MutantDraft> {
    let last = section.body.last().copied()?;
    let mut edits = Edits::default();
    match section.release {
        Some(release) => {
            let fits = section.body.len() > 1 && is_movable(program, section, last);
            edits.move_behind(program.source, last, release);
            fits.then(|| draft(program, section, edits))
        }
        None => {
            let fits = section.body.len() > 1 && !uses_lock(program, section, last);
            release_before(program, section, last, &mut edits, "")?;
            fits.then(|| draft(program, section, edits))
        }
    }
}

/// Gives the lock back between two statements and takes it again.
pub fn split(program: &BaseProgram) -> Vec<MutantDraft> {
    let mut drafts = Vec::new();
    for section in program.sections() {
        let inner = section.body.iter().skip(1).copied();
        for next in inner.filter(|next| !is_jump(*next)) {
            let mut edits = Edits::default();
            if interrupt(program, &section, next, &mut edits).is_some() {
                let mut made = draft(program, &section, edits);
                if holds_another(program, &section, next) {
                    made.classes.push(BugKind::Deadlock);
                }
                drafts.push(made);
            }
        }
    }
    drafts
}

/// Returns whether a lock that was taken within the section is held before a statement. Taking the section's lock
/// again is then taking the two in the other order.
fn holds_another(program: &BaseProgram, section: &LockedStatements, next: Node) -> bool {
    let before = section.body.iter().take_while(|one| **one != next);
    let inner: Vec<Effect> = before
        .filter_map(|one| program.locking(*one))
        .map(|one| one.effect)
        .collect();
    let count = |effect: Effect| inner.iter().filter(|one| **one == effect).count();
    count(Effect::Acquire) > count(Effect::Release)
}

fn interrupt(
    program: &BaseProgram,
    section: &LockedStatements,
    next: Node,
    edits: &mut Edits,
) -> Option<()> {
    let source = program.source;
    match (&section.acquire.guard, section.release) {
        (Some(guard), _) => {
            let again = format!(" {guard}.lock();");
            release_before(program, section, next, edits, &again)
        }
        (None, Some(release)) => {
            let acquire = source.text(section.acquire.statement);
            let text = format!("{} {acquire}", source.text(release));
            edits.insert_before(source, next, &text);
            Some(())
        }
        (None, None) => None,
    }
}

/// Looks before the lock is taken, and acts on that behind it.
pub fn check_outside(program: &BaseProgram) -> Vec<MutantDraft> {
    let sections = program.sections().into_iter();
    sections
        .filter_map(|section| checked_before(program, &section))
        .collect()
}

fn checked_before(program: &BaseProgram, section: &LockedStatements) -> Option<MutantDraft> {
    let source = program.source;
    let first = section.body.first().copied()?;
    let check =
        (first.kind() == "if_statement").then(|| first.child_by_field_name("condition"))??;
    let is_plain =
        of_kind(check, "declaration").is_empty() && of_kind(check, "init_statement").is_empty();
    let inner = source.text(check).strip_prefix('(')?.strip_suffix(')')?;
    let kind = if source.is_cpp { "const bool" } else { "int" };
    let mut edits = Edits::default();
    edits.insert_before(
        source,
        section.acquire.statement,
        &format!("{kind} seen = {inner};"),
    );
    edits.replace(check.byte_range(), "(seen)");
    is_plain.then(|| draft(program, section, edits))
}

/// Returns whether a statement can stand outside of its section.
fn is_movable(program: &BaseProgram, section: &LockedStatements, statement: Node) -> bool {
    let ends = section
        .early
        .iter()
        .any(|early| contains(statement, *early));
    !ends && !jumps(statement) && !uses_lock(program, section, statement)
}

fn uses_lock(program: &BaseProgram, section: &LockedStatements, statement: Node) -> bool {
    let part = LockedStatements {
        body: vec![statement],
        ..section.clone()
    };
    part.uses_lock(program.source)
}

/// Lets a guard give its lock back before a statement; `more` stands on the same line.
fn release_before(
    program: &BaseProgram,
    section: &LockedStatements,
    statement: Node,
    edits: &mut Edits,
    more: &str,
) -> Option<()> {
    let source = program.source;
    let guard = section.acquire.guard.as_ref()?;
    let declaration = section.acquire.statement;
    let text = source.text(declaration);
    let movable = ["lock_guard", "scoped_lock"]
        .iter()
        .find(|kind| text.contains(*kind));
    match movable {
        Some(kind) => {
            let text = text.strip_prefix("const ").unwrap_or(text);
            edits.replace(declaration.byte_range(), &text.replace(kind, "unique_lock"));
        }
        None if text.contains("unique_lock") || text.contains("shared_lock") => {}
        None => return None,
    }
    edits.insert_before(source, statement, &format!("{guard}.unlock();{more}"));
    Some(())
}

fn draft(program: &BaseProgram, section: &LockedStatements, edits: Edits) -> MutantDraft {
    MutantDraft {
        edits,
        region: program.guarded(section),
        classes: broken_section(program, section),
    }
}
