//! Changes that a thread has gone on without: in runs that pass, whoever comes to a place changes a value after that, and in
//! a run that hangs one thread has not, as an error path that skips its turn does.

use super::view::View;
use crate::{
    explanation::Place,
    mining::{
        Trace,
        trace::{LineAccess, line_hash, others_may_access},
    },
    pairs::{AccessClass, Fnv},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeSet, hash_map::Entry};
use unsnarl_trace::{EventId, EventKind, LocationId, ThreadId};

/// Passing runs that tell what always follows a place.
const ENOUGH: u32 = 3;

/// Of so many passing runs one may be without: nobody waits for the last of all changes.
const ONE_OF: u32 = 5;

/// A change that a thread has gone on without.
pub(super) struct SkippedChange {
    /// The last row of the thread that the change follows in passing runs.
    pub last: EventId,
    /// The row with which it has gone on, or ended.
    pub on: EventId,
    /// Place of the change in passing runs.
    pub next: Place,
    /// Number of passing runs in which it follows each time.
    pub runs: u32,
    /// Number of passing runs that come to the place.
    pub of: u32,
}

/// The visits of a place that a change follows in passing runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Followed {
    /// Each of them, before the thread comes there again.
    Each,
    /// The last one of each thread, before it ends, as where it tries one thing after the other.
    Last,
}

/// The first change of a location that a thread of the run has gone on without. Linear in the passing runs.
pub(super) fn skipped(view: &View, location: LocationId) -> Option<SkippedChange> {
    let mut followed = [Followed::Each, Followed::Last].into_iter();
    followed.find_map(|visits| skipped_after(view, location, visits))
}

fn skipped_after(view: &View, location: LocationId, visits: Followed) -> Option<SkippedChange> {
    let changes = LocationChanges(Fnv::of(view.run.location(location)));
    let mut counted: FxHashMap<LineAccess, (u32, u32)> = FxHashMap::default();
    for run in view.corpus.passing() {
        for (line, follows) in changes.follow(&run.accesses, visits) {
            let (runs, of) = counted.entry(line).or_default();
            *of += 1;
            *runs += u32::from(follows);
        }
    }
    counted.retain(|_, (runs, of)| *runs >= ENOUGH && (*of - *runs) * ONE_OF <= *of);
    let lines = Lines::new(view);
    let skips = |is_exact: bool| {
        let is_rule = |line: LineAccess| {
            let known = counted.get(&line);
            known.is_some_and(|(runs, of)| !is_exact || runs == of)
        };
        match gone_on(&lines, location, visits, is_rule) {
            Ok(found) => Some(found),
            Err(open) if visits == Followed::Each => elsewhere(&lines, &changes, open),
            Err(_) => None,
        }
    };
    // What all passing runs do comes before what most of them do.
    let (last, on) = skips(true).or_else(|| skips(false))?;
    let line = lines.of(last)?;
    let (runs, of) = *counted.get(&line)?;
    let passing = view.corpus.passing();
    let next: BTreeSet<LineAccess> = passing
        .flat_map(|run| changes.after(&run.accesses, line))
        .collect();
    let (change, access) = next.first().copied().filter(|_| next.len() == 1)?;
    let counts = view.corpus.counts();
    let next = counts.site(counts.key_at(change, access)?)?.place.clone();
    Some(SkippedChange {
        last,
        on,
        next,
        runs,
        of,
    })
}

/// The lines of a run's accesses.
struct Lines<'v> {
    view: &'v View<'v>,
    /// Hash of each site's line.
    of_sites: Vec<u64>,
}

impl<'v> Lines<'v> {
    fn new(view: &'v View<'v>) -> Lines<'v> {
        let sites = view.run.meta.sites.iter();
        Lines {
            view,
            of_sites: sites.map(|site| line_hash(&site.file, site.line)).collect(),
        }
    }

    /// The line of an access, where traces have one.
    fn of(&self, row: EventId) -> Option<LineAccess> {
        let (view, event) = (self.view, self.view.event(row));
        let access = AccessClass::of(event.kind)?;
        let accesses = view.orders.accesses();
        let is_traced = others_may_access(&view.run, accesses, row, event.location);
        let line = self.of_sites.get(event.site.index())?;
        is_traced.then_some((*line, access))
    }
}

/// The lines to which a thread has come since its last change. What it does at one line without leaving it is one visit.
#[derive(Default)]
struct LineVisits {
    /// Positions in the run at which it came there.
    lines: FxHashMap<LineAccess, u32>,
    /// Hash of the line at which it is.
    at: u64,
}

impl LineVisits {
    /// Comes to a line; returns whether it has been there before, where each visit counts.
    fn come(&mut self, line: LineAccess, row: u32, visits: Followed) -> bool {
        let stays = self.goes(line);
        match self.lines.entry(line) {
            Entry::Occupied(mut last) if visits == Followed::Last => {
                last.insert(row);
                false
            }
            Entry::Occupied(_) => !stays,
            Entry::Vacant(new) => {
                new.insert(row);
                false
            }
        }
    }

    /// Goes to a line; returns whether it is there already.
    fn goes(&mut self, (line, _): LineAccess) -> bool {
        std::mem::replace(&mut self.at, line) == line
    }

    /// Makes a change at a line.
    fn change(&mut self, line: LineAccess) {
        self.goes(line);
        self.lines.clear();
    }

    /// The line to which it has come last, and where in the run.
    fn last(&self) -> Option<(LineAccess, EventId)> {
        let last = self.lines.iter().max_by_key(|(_, row)| **row);
        last.map(|(line, row)| (*line, EventId(*row)))
    }
}

/// The visits of each thread.
type Open = FxHashMap<ThreadId, LineVisits>;

/// The first thread of the run that comes to one of these lines again, or ends, without a change since it came there: its last
/// such row, and the row with which it has gone on. Else what is open at the end.
fn gone_on(
    lines: &Lines<'_>,
    location: LocationId,
    visits: Followed,
    is_rule: impl Fn(LineAccess) -> bool,
) -> Result<(EventId, EventId), Open> {
    let mut open = Open::default();
    for (row, event) in lines.view.run.events.iter() {
        let own = open.entry(event.thread).or_default();
        let line = lines.of(row);
        let is_over = match line {
            None => event.kind == EventKind::End,
            Some(line) if event.location == location && line.1 != AccessClass::Read => {
                own.change(line);
                false
            }
            Some(line) if is_rule(line) => own.come(line, row.0, visits),
            Some(line) => {
                own.goes(line);
                false
            }
        };
        if is_over && let Some((_, last)) = own.last() {
            return Ok((last, row));
        }
    }
    Err(open)
}

/// A thread that waits where passing runs come only with the change made: the last row that the change follows there, and the
/// first one after it to which they come only then.
fn elsewhere(
    lines: &Lines<'_>,
    changes: &LocationChanges,
    open: Open,
) -> Option<(EventId, EventId)> {
    let view = lines.view;
    let last = open.into_iter();
    let last: Vec<_> = last
        .filter_map(|(thread, own)| Some((thread, own.last()?)))
        .collect();
    let own = last.iter();
    let own = own.map(|(_, (line, _))| (*line, FxHashSet::default()));
    let mut between: LinesBetween = own.collect();
    for run in view.corpus.passing() {
        changes.between(&run.accesses, &mut between);
    }
    let found = last.into_iter().filter_map(|(thread, (line, last))| {
        let before_change = between.get(&line)?;
        let is_after = |row: &EventId| {
            let line = lines.of(*row);
            line.is_some_and(|line| !before_change.contains(&line))
        };
        let rows = view.rows.before(thread, view.failure).iter().copied();
        let rows = rows.filter(|row| *row > last && lines.of(*row).is_some());
        let waits = rows.clone().next_back().filter(is_after)?;
        let on = rows
            .clone()
            .find(is_after)
            .filter(|_| is_known(lines, waits))?;
        Some((last, on))
    });
    found.min()
}

/// Does a passing run come to the line of a row?
fn is_known(lines: &Lines<'_>, row: EventId) -> bool {
    let line = lines.of(row);
    line.is_some_and(|(line, access)| lines.view.corpus.counts().key_at(line, access).is_some())
}

/// For each line those to which threads come between it and their next change.
type LinesBetween = FxHashMap<LineAccess, FxHashSet<LineAccess>>;

/// The changes of a location, by its hash.
struct LocationChanges(u64);

impl LocationChanges {
    /// The accesses of a run, with the thread and whether each is a change.
    fn walk<'r>(&self, run: &'r Trace) -> impl Iterator<Item = (u64, LineAccess, bool)> + use<'r> {
        let location = self.0;
        let kinds = run.events.iter();
        let kinds = kinds.filter_map(|event| run.kinds.get(*event as usize));
        kinds.map(move |kind| {
            let is_change = kind.location == location && kind.access != AccessClass::Read;
            (kind.thread, (kind.line, kind.access), is_change)
        })
    }

    /// The lines of a run, and whether each thread that comes there makes a change after these visits.
    fn follow(&self, run: &Trace, visits: Followed) -> FxHashMap<LineAccess, bool> {
        let mut open: FxHashMap<u64, LineVisits> = FxHashMap::default();
        let mut lines: FxHashMap<LineAccess, bool> = FxHashMap::default();
        for (thread, line, is_change) in self.walk(run) {
            let own = open.entry(thread).or_default();
            if is_change {
                own.change(line);
            } else {
                let again = own.come(line, 0, visits);
                *lines.entry(line).or_insert(true) &= !again;
            }
        }
        for line in open.into_values().flat_map(|own| own.lines.into_keys()) {
            lines.insert(line, false);
        }
        lines
    }

    /// The lines at which a thread makes its next change after it came to this one.
    fn after(&self, run: &Trace, from: LineAccess) -> BTreeSet<LineAccess> {
        let mut open: FxHashSet<u64> = FxHashSet::default();
        let mut next = BTreeSet::new();
        for (thread, line, is_change) in self.walk(run) {
            if line == from {
                open.insert(thread);
            } else if is_change && open.remove(&thread) {
                next.insert(line);
            }
        }
        next
    }

    /// Adds the lines to which a thread comes between each of these and its next change.
    fn between(&self, run: &Trace, lines: &mut LinesBetween) {
        let mut open: FxHashMap<u64, FxHashSet<LineAccess>> = FxHashMap::default();
        for (thread, line, is_change) in self.walk(run) {
            let own = open.entry(thread).or_default();
            if is_change {
                own.clear();
            }
            for from in &*own {
                lines.entry(*from).or_default().insert(line);
            }
            if lines.contains_key(&line) {
                own.insert(line);
            }
        }
    }
}
