//! Definition 12, taken literally.

use super::{Check, Violation};
use crate::invariants::model::{Fact, Kind, PathExplanation};
use std::collections::BTreeSet;
use unsnarl_trace::EventKind;

impl Check<'_> {
    /// Checks Definition 12 for the dependencies of the level: each thread's nearest conflicting write is in
    /// the slice, and the stated orders are those of the path.
    pub(super) fn hazards(&mut self) {
        let of = self.of;
        for reach in &of.invariants {
            if let Fact::Order { before, after, .. } = reach.fact {
                let threads =
                    [before, after].map(|row| of.statements.get(row).map(|one| one.thread));
                let [first, then] = threads;
                if before >= after || after >= reach.from || first == then {
                    self.broken.push(Violation::Order(before, after));
                }
            }
            if let Fact::Untouched { since, until } = reach.fact
                && is_touched(of, since, until)
            {
                self.broken.push(Violation::Touched(until));
            }
        }
        for &read in &of.slice {
            let is_read = of
                .statements
                .get(read)
                .is_some_and(|one| one.kind == Kind::Read);
            let missing = if is_read {
                self.missing(read)
            } else {
                Vec::new()
            };
            for missing in missing {
                self.broken.push(Violation::Hazard { read, missing });
            }
        }
    }

    /// Statements that conflict with a read at the level and are not in the slice.
    fn missing(&self, read: usize) -> Vec<usize> {
        let of = self.of;
        let variable = |row: usize| {
            let statement = of.statements.get(row)?;
            of.vars.get(statement.makes?.index())?.variable
        };
        let writes = |row: &usize| {
            let statement = of.statements.get(*row);
            statement.is_some_and(|one| one.kind == Kind::Write) && variable(*row) == variable(read)
        };
        let thread = |row: usize| of.statements.get(row).map(|one| one.thread);
        let concurrent = |a: usize, b: usize| thread(a) != thread(b) && !is_forced(of, a, b);
        let mut wanted = Vec::new();
        if let Some(source) = (0..read).rev().find(writes).filter(|_| of.level.waw) {
            for who in 0..of.threads.len() {
                let mut own = (0..source)
                    .rev()
                    .filter(|row| thread(*row).is_some_and(|thread| thread.index() == who));
                wanted.extend(own.find(|row| writes(row) && concurrent(*row, source)));
            }
        }
        for who in (0..of.threads.len()).filter(|_| of.level.war) {
            let mut own = (read + 1..of.statements.len())
                .filter(|row| thread(*row).is_some_and(|thread| thread.index() == who));
            wanted.extend(own.find(|row| writes(row) && concurrent(read, *row)));
        }
        wanted.retain(|row| !of.slice.contains(row));
        wanted
    }
}

/// `true` if a thread that is not the later statement's own changes the object of either statement between them.
fn is_touched(of: &PathExplanation, since: Option<usize>, until: usize) -> bool {
    let statement = |row: usize| of.statements.get(row);
    let waits = since
        .and_then(statement)
        .filter(|one| matches!(one.kind, Kind::Sync(_)));
    let Some(about) = waits.or_else(|| statement(until)) else {
        return true;
    };
    let from = since.map_or(0, |since| since + 1);
    let between = of.statements.get(from..until).unwrap_or_default();
    between.iter().any(|one| {
        let changes = match waits {
            Some(_) => matches!(
                one.kind,
                Kind::Sync(EventKind::Signal | EventKind::Broadcast)
            ),
            None => one.kind == Kind::Write,
        };
        let is_own = since.is_some() && one.thread == about.thread;
        changes && !is_own && one.name == about.name
    })
}

/// `true` if creation and joining of threads order two statements in every execution: backwards from the
/// later statement, the threads it waited for and those that must have preceded it.
fn is_forced(of: &PathExplanation, before: usize, after: usize) -> bool {
    let rows = of.statements.get(..=after).unwrap_or_default();
    let mut known = BTreeSet::from_iter(rows.last().map(|one| one.thread));
    for statement in rows.get(before + 1..).unwrap_or_default().iter().rev() {
        let Some(other) = statement.other else {
            continue;
        };
        if statement.kind == Kind::Sync(EventKind::Join) && known.contains(&statement.thread) {
            known.insert(other);
        }
        if statement.kind == Kind::Sync(EventKind::Fork) && known.contains(&other) {
            known.insert(statement.thread);
        }
    }
    rows.get(before)
        .is_some_and(|one| known.contains(&one.thread))
}
