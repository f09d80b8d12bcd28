//! Hazards, which hsenc adds to a slice: for each read in it the writes of other threads that came before the
//! write it read from (WAW), and after the read (WAR), with the order that gives the read its value (DEP,
//! Formula 7).
//!
//! In the full formula those writes and edges discharge the premise of the read's arbiter node, and nothing
//! else in the formula mentions them; so they can be added to the slice of the values instead of being
//! searched for by the solver. Accesses that thread creation and joining order in every execution are no
//! hazards.

use super::{
    encode::EncodedPath,
    model::{Fact, Hazard, Kind, Level, Reach, VarKind},
};
use crate::ExprNode;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventKind, ThreadId};

/// The order that thread creation and joining force in every execution.
#[derive(Clone, Debug)]
pub(super) struct ForcedReach {
    /// Per statement, a snapshot: for each thread the first statement not known to have come before.
    known: Vec<usize>,
    snapshots: Vec<Vec<usize>>,
}

impl ForcedReach {
    /// Linear in the path, and in the threads for each that is created or joined.
    pub fn new(encoding: &EncodedPath) -> ForcedReach {
        let threads = encoding.statements.iter().map(|one| one.thread.index());
        let threads = threads.max().map_or(0, |most| most + 1);
        let mut forced = ForcedReach {
            known: Vec::with_capacity(encoding.statements.len()),
            snapshots: vec![vec![0; threads]],
        };
        let mut current = vec![0; threads];
        for (row, statement) in encoding.statements.iter().enumerate() {
            let own = statement.thread.index();
            forced.known.push(current.get(own).copied().unwrap_or(0));
            let Some(other) = statement.other.map(ThreadId::index) else {
                continue;
            };
            let (from, to) = match statement.kind {
                Kind::Sync(EventKind::Fork) => (own, other),
                _ => (other, own),
            };
            let joined = forced.joined(&current, from, to, row);
            forced.snapshots.push(joined);
            if let Some(slot) = current.get_mut(to) {
                *slot = forced.snapshots.len() - 1;
            }
        }
        forced
    }

    /// The knowledge of `to` after it learns all that `from` has done.
    fn joined(&self, current: &[usize], from: usize, to: usize, row: usize) -> Vec<usize> {
        let of = |thread: usize| current.get(thread).and_then(|at| self.snapshots.get(*at));
        let mut joined = of(to).cloned().unwrap_or_default();
        for (slot, known) in joined.iter_mut().zip(of(from).into_iter().flatten()) {
            *slot = (*slot).max(*known);
        }
        if let Some(slot) = joined.get_mut(from) {
            *slot = (*slot).max(row + 1);
        }
        joined
    }

    /// Returns whether the earlier statement comes first in every execution.
    pub fn orders(&self, encoding: &EncodedPath, before: usize, after: usize) -> bool {
        let thread = encoding.statement(before).map(|one| one.thread);
        let later = encoding.statement(after).map(|one| one.thread);
        if thread == later {
            return true;
        }
        let snapshot = self.known.get(after).and_then(|at| self.snapshots.get(*at));
        let known = snapshot
            .zip(thread)
            .and_then(|(known, of)| known.get(of.index()));
        known.is_some_and(|known| before < *known)
    }
}

/// The hazards of a slice.
#[derive(Clone, Debug, Default)]
pub(super) struct Hazards {
    /// Statements that the hazards add.
    pub rows: BTreeSet<usize>,
    /// Order facts of the hazards.
    pub reaches: Vec<Reach>,
}

/// The hazards of the reads among `rows`. Linear in the writes to each variable read, for each read.
pub(super) fn hazards(
    encoding: &EncodedPath,
    forced: &ForcedReach,
    rows: &BTreeSet<usize>,
    level: Level,
    every_write: bool,
) -> Hazards {
    let mut writes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (row, statement) in encoding.statements.iter().enumerate() {
        if statement.kind == Kind::Write
            && let Some(variable) = accessed(encoding, row)
        {
            writes.entry(variable).or_default().push(row);
        }
    }
    let mut found = FoundHazards {
        encoding,
        forced,
        rows,
        every_write,
        pairs: BTreeSet::new(),
        hazards: Hazards::default(),
    };
    for &read in rows {
        let writes = accessed(encoding, read).and_then(|variable| writes.get(&variable));
        if let Some(writes) = writes.filter(|_| is_read(encoding, read)) {
            found.of_read(read, writes, level);
        }
        if level.war && waits(encoding, read) {
            found.of_wait(read);
        }
    }
    found.hazards.reaches.sort();
    found.hazards
}

/// The variable that a read or a write accesses.
pub(super) fn accessed(encoding: &EncodedPath, row: usize) -> Option<u32> {
    let statement = encoding.statement(row)?;
    let is_access = matches!(statement.kind, Kind::Read | Kind::Write);
    encoding
        .var(statement.makes.filter(|_| is_access)?)?
        .variable
}

fn is_read(encoding: &EncodedPath, row: usize) -> bool {
    encoding
        .statement(row)
        .is_some_and(|one| one.kind == Kind::Read)
}

/// The write that a read reads from.
pub(super) fn source(encoding: &EncodedPath, read: usize) -> Option<usize> {
    match encoding.exprs.node(encoding.statement(read)?.value?) {
        ExprNode::Symbol(symbol) => encoding.var(symbol)?.made_by,
        _ => None,
    }
}

struct FoundHazards<'a> {
    encoding: &'a EncodedPath,
    forced: &'a ForcedReach,
    rows: &'a BTreeSet<usize>,
    every_write: bool,
    pairs: BTreeSet<(usize, usize, Hazard)>,
    hazards: Hazards,
}

impl FoundHazards<'_> {
    fn of_read(&mut self, read: usize, writes: &[usize], level: Level) {
        let source = source(self.encoding, read);
        if let Some(source) = source.filter(|_| level.waw) {
            let before = writes.iter().rev().filter(|write| **write < source);
            for write in self.nearest(source, before) {
                self.pair((write, source, Hazard::Waw), read);
            }
        }
        if level.war {
            let after = writes.iter().filter(|write| **write > read);
            for write in self.nearest(read, after) {
                self.pair((read, write, Hazard::War), self.resumed(read, write));
            }
        }
    }

    /// The last signal of each other thread that came before a wait and woke nobody.
    fn of_wait(&mut self, wait: usize) {
        let is_lost = |row: &usize| {
            let statement = self.encoding.statement(*row);
            statement.is_some_and(|one| one.recorded == Some(0))
                && signals(self.encoding, *row, wait)
        };
        let before: Vec<usize> = (0..wait).rev().filter(is_lost).collect();
        for signal in self.nearest(wait, before.iter()) {
            self.pair((signal, wait, Hazard::Missed), self.encoding.failure());
        }
    }

    /// The nearest write of each other thread that is not ordered with `of` in every execution; all writes of
    /// other threads if the options ask for them.
    fn nearest<'w>(&self, of: usize, writes: impl Iterator<Item = &'w usize>) -> Vec<usize> {
        let own = self.thread(of);
        let mut seen = BTreeSet::new();
        let mut nearest = Vec::new();
        for &write in writes {
            let thread = self.thread(write);
            if thread == own {
                continue;
            }
            let is_forced = self
                .forced
                .orders(self.encoding, write.min(of), write.max(of));
            if self.every_write || (!is_forced && seen.insert(thread)) {
                nearest.push(write);
            }
        }
        nearest
    }

    fn thread(&self, row: usize) -> Option<ThreadId> {
        self.encoding.statement(row).map(|one| one.thread)
    }

    /// The next statement in the slice of the reading thread after a write of another thread.
    fn resumed(&self, read: usize, write: usize) -> usize {
        let own = self.thread(read);
        let mut later = self.rows.range(write + 1..).copied();
        let resumed = later.find(|row| self.thread(*row) == own);
        resumed.unwrap_or_else(|| self.encoding.failure())
    }

    fn pair(&mut self, (before, after, hazard): (usize, usize, Hazard), to: usize) {
        self.hazards.rows.extend([before, after]);
        if !self.pairs.insert((before, after, hazard)) {
            // Several reads of one write: the fact holds until the last of them.
            let same = self.hazards.reaches.iter_mut().find(|reach| {
                matches!(reach.fact, Fact::Order { before: b, after: a, hazard: h } if (b, a, h) == (before, after, hazard))
            });
            if let Some(reach) = same {
                reach.to = reach.to.max(to);
            }
            return;
        }
        let fact = Fact::Order {
            before,
            after,
            hazard,
        };
        let from = after + 1;
        if from <= to {
            self.hazards.reaches.push(Reach { from, to, fact });
        }
    }
}

/// Returns whether a statement begins a wait that nothing ended.
fn waits(encoding: &EncodedPath, row: usize) -> bool {
    let made = encoding.statement(row).and_then(|one| one.makes);
    let made = made.and_then(|made| encoding.var(made));
    made.is_some_and(|var| var.kind == VarKind::Waiting)
}

/// Returns whether a statement signals what another one waits for.
fn signals(encoding: &EncodedPath, row: usize, wait: usize) -> bool {
    let is_same = encoding
        .statement(row)
        .zip(encoding.statement(wait))
        .is_some_and(|(signal, wait)| signal.name == wait.name);
    is_same
        && encoding.statement(row).is_some_and(|one| {
            matches!(
                one.kind,
                Kind::Sync(EventKind::Signal | EventKind::Broadcast)
            )
        })
}

/// Steps that no other thread made, where that made a slice without steps of several threads fail: reads that found the
/// first value or one of their own thread, and waits on conditions that nobody signalled.
pub(super) fn absences(encoding: &EncodedPath, rows: &BTreeSet<usize>) -> Vec<Reach> {
    let reads = rows.iter().filter(|row| is_read(encoding, **row));
    let reads = reads.filter_map(|&until| {
        let since = source(encoding, until);
        is_alone(encoding, since, until).then_some((since, until))
    });
    let until = encoding.failure();
    let open = rows.iter().filter(|row| {
        let kind = encoding.statement(**row).map(|one| one.kind);
        let is_open = kind == Some(Kind::Sync(EventKind::Wait)) && waits(encoding, **row);
        is_open && !(**row..until).any(|signal| signals(encoding, signal, **row))
    });
    let open = open.map(|&wait| (Some(wait), until));
    let reach = |(since, until): (Option<usize>, usize)| Reach {
        from: since.map_or(0, |since| since + 1),
        to: until,
        fact: Fact::Untouched { since, until },
    };
    reads.chain(open).map(reach).collect()
}

/// Returns whether no other thread writes the variable of a read between two statements.
fn is_alone(encoding: &EncodedPath, since: Option<usize>, until: usize) -> bool {
    let variable = accessed(encoding, until);
    let own = encoding.statement(until).map(|one| one.thread);
    let from = since.unwrap_or(0);
    (from..until).all(|row| {
        let statement = encoding.statement(row);
        let is_other = statement.is_some_and(|one| {
            one.kind == Kind::Write && (since.is_none() || Some(one.thread) != own)
        });
        !is_other || accessed(encoding, row) != variable
    })
}

/// `true` if a slice has accesses of one variable by two threads, one of them a write, that no
/// synchronization orders in every execution, or locks that threads of a deadlock hold.
pub(super) fn meets(encoding: &EncodedPath, forced: &ForcedReach, rows: &BTreeSet<usize>) -> bool {
    let mut by_variable: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &row in rows {
        if let Some(variable) = accessed(encoding, row) {
            by_variable.entry(variable).or_default().push(row);
        }
    }
    let locks = rows.iter().filter_map(|row| encoding.statement(*row));
    let locks = locks.filter(|one| one.kind == Kind::Lock);
    let lockers: BTreeSet<ThreadId> = locks.map(|one| one.thread).collect();
    let is_circle = encoding.is_deadlock && lockers.len() > 1;
    is_circle
        || by_variable.values().any(|accesses| {
            let pairs = accesses
                .iter()
                .enumerate()
                .flat_map(|(at, a)| accesses.iter().skip(at + 1).map(move |b| (*a, *b)));
            let mut pairs = pairs.filter(|(a, b)| !is_read(encoding, *a) || !is_read(encoding, *b));
            pairs.any(|(a, b)| !forced.orders(encoding, a, b))
        })
}
