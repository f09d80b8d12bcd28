//! Lines that should be atomic according to an explanation.

use super::{
    FixInput,
    seen::{At, SeenAccess, frames},
    text::hold::{AtomicLines, loop_around},
};
use crate::{
    callers::parting,
    explanation::{BugKind, Explanation, Place, Role, SiteMark, Step},
    facts::{element_of_map, family},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, Location, Outcome, Run, ThreadId};

/// Lines of a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FunctionLines {
    pub file: String,
    pub function: String,
    pub first: u32,
    pub last: u32,
}

impl FunctionLines {
    /// One line.
    pub fn of(at: &At) -> FunctionLines {
        FunctionLines {
            file: at.file.clone(),
            function: at.function.clone(),
            first: at.line,
            last: at.line,
        }
    }

    pub fn holds(&self, at: &At) -> bool {
        at.file == self.file
            && at.function == self.function
            && (self.first..=self.last).contains(&at.line)
    }
}

/// Lines that should be atomic, with their data.
#[derive(Clone, Debug)]
pub(super) struct WantedLines {
    pub places: Vec<FunctionLines>,
    /// The lock held at both ends.
    pub lock: Option<String>,
    /// Display name of the variable.
    pub data: String,
}

impl WantedLines {
    /// The first of the access's frames within the lines.
    pub fn covering(&self, access: &SeenAccess) -> Option<usize> {
        access
            .frames
            .iter()
            .position(|frame| self.places.iter().any(|place| place.holds(frame)))
    }
}

/// The locations that an explanation blames: those of causes and interference.
pub(super) fn families(explanation: &Explanation) -> BTreeSet<String> {
    let blamed = explanation.sites.iter().filter(|mark| matters(mark));
    blamed.map(|mark| family(&mark.location)).collect()
}

fn matters(mark: &SiteMark) -> bool {
    let accesses = [
        "read",
        "write",
        "rmw",
        "atomic-read",
        "atomic-write",
        "free",
    ];
    mark.role.is_blamed() && accesses.contains(&mark.access.as_str())
}

/// The lines that should be atomic, if the explanation is of that kind.
pub(super) fn wanted(case: &FixInput<'_>) -> Option<WantedLines> {
    let (explanation, run) = (case.explanation, case.run);
    let causes: Vec<&SiteMark> = explanation
        .sites
        .iter()
        .filter(|mark| mark.role == Role::Cause && matters(mark))
        .collect();
    let lock = explanation
        .region
        .as_ref()
        .and_then(|region| region.lock.clone());
    let region = match &explanation.region {
        Some(region) => FunctionLines {
            file: region.file.clone(),
            function: region.function.clone(),
            first: region.first,
            last: region.last,
        },
        None => together(&causes).or_else(|| half_done(case, &causes))?,
    };
    let mut places = vec![region];
    places.extend(interfering(explanation, run, &places));
    let data = causes.first().map_or(String::new(), |mark| data_of(mark));
    let places = by_function(places).into_iter();
    Some(WantedLines {
        places: places.map(|place| all_rounds(case, place)).collect(),
        lock: lock.filter(|lock| !lock.contains("->")),
        data,
    })
}

/// The same where the other thread comes to its two steps by two calls of one function, each with its own lines: the steps need
/// not belong together, and whoever else calls these functions is to keep out as well.
pub(super) fn wanted_apart(case: &FixInput<'_>, wanted: &WantedLines) -> Option<WantedLines> {
    let other = other_steps(case.explanation);
    let [first, .., last] = other.as_slice() else {
        return None;
    };
    let [first, last] = [first, last].map(|step| frames(case.run, EventId(step.event)));
    let mut outer = first.iter().rev().zip(last.iter().rev());
    let (at, other) = outer.find(|(one, other)| one != other)?;
    let are_calls = Some(at) != first.first() && Some(other) != last.first();
    let line = other.line;
    if !are_calls || at.line == line {
        return None;
    }
    let is_span = |place: &&FunctionLines| {
        let ends = (at.line.min(line), at.line.max(line));
        place.function == at.function && (place.first, place.last) == ends
    };
    let span = wanted.places.iter().position(|place| is_span(&place))?;
    let mut places = wanted.places.clone();
    places.remove(span);
    places.extend([first.first()?, last.first()?].map(FunctionLines::of));
    Some(WantedLines {
        places: by_function(places),
        ..wanted.clone()
    })
}

/// Lines that should be atomic where the explanation names only one access of each thread: the accesses of
/// the one to data that the other one's function reads or changes, and that function's part. With the
/// locations of these.
pub(super) fn both_sides(case: &FixInput<'_>) -> Option<(WantedLines, BTreeSet<String>)> {
    let explanation = case.explanation;
    if explanation.kind == BugKind::UseAfterFree {
        return None;
    }
    let mark = |role: Role| {
        explanation
            .sites
            .iter()
            .filter(move |mark| mark.role == role)
    };
    let mut marks = mark(Role::Interference).chain(mark(Role::Cause));
    let whole = marks.find_map(|mark| Some((mark, step_row(explanation, mark)?)));
    let (whole, row) = whole?;
    let parts = match whole.role {
        Role::Cause => mark(Role::Interference).next()?,
        _ => mark(Role::Cause).next()?,
    };
    let one = own_accesses(case.run, row);
    let (run, thread) = reaching(case, parts)?;
    let other = accesses_of(run, thread);
    let data = shared(case.run, &one, run, &other);
    let sides = [span(case.run, &one, &data)?, span(run, &other, &data)?];
    let sides = by_function(sides.to_vec()).into_iter();
    let wanted = WantedLines {
        places: sides.map(|place| all_rounds(case, place)).collect(),
        lock: None,
        data: Location::variable(&parts.location).to_owned(),
    };
    Some((wanted, data))
}

/// The loop around lines at which a thread reads or changes what is blamed in several rounds: in between others come.
fn all_rounds(case: &FixInput<'_>, place: FunctionLines) -> FunctionLines {
    let families = families(case.explanation);
    let is_there = |step: &&Step| {
        let at = frames(case.run, EventId(step.event)).into_iter().next();
        families.contains(&family(&step.location)) && at.is_some_and(|at| place.holds(&at))
    };
    let steps: Vec<&Step> = case.explanation.steps.iter().filter(is_there).collect();
    let again = |one: &&Step| {
        let mut others = steps.iter();
        others.any(|other| {
            (&one.thread, one.place.line) == (&other.thread, other.place.line)
                && one.event != other.event
                && one.access == other.access
        })
    };
    let lines = AtomicLines {
        first: place.first,
        last: place.last,
    };
    let source = case.files.get(&place.file).ok();
    let around = source.filter(|_| steps.iter().any(again));
    match around.and_then(|source| loop_around(source, &lines)) {
        Some(AtomicLines { first, last }) => FunctionLines {
            first,
            last,
            ..place
        },
        None => place,
    }
}

fn step_row(explanation: &Explanation, mark: &SiteMark) -> Option<EventId> {
    Some(EventId(explanation.step_of(mark)?.event))
}

/// A run that reaches the place of a mark, one that passed if possible, and the thread that does.
fn reaching<'c>(case: &'c FixInput<'_>, mark: &SiteMark) -> Option<(&'c Run, ThreadId)> {
    let thread = |run: &Run| {
        let mut events = run.events.iter();
        let found = events.find(|(_, event)| {
            let site = run.meta.site(event.site);
            event.kind.is_access()
                && (&site.file, site.line) == (&mark.place.file, mark.place.line)
                && run.location(event.location) == mark.location
        });
        found.map(|(_, event)| event.thread)
    };
    let passed = |run: &Run| run.meta.outcome == Outcome::Passed;
    let first = case.runs.iter().filter(|(_, run)| passed(run));
    let rest = case.runs.iter().filter(|(_, run)| !passed(run));
    first
        .chain(rest)
        .find_map(|(_, run)| Some((&**run, thread(run)?)))
}

/// Accesses of a row's thread in the function of the row.
fn own_accesses(run: &Run, row: EventId) -> Vec<EventId> {
    let function = |row: EventId| frames(run, row).into_iter().next().map(|at| at.function);
    let own = function(row);
    let Some(event) = run.events.get(row) else {
        return Vec::new();
    };
    let all = accesses_of(run, event.thread).into_iter();
    all.filter(|&row| function(row) == own).collect()
}

fn accesses_of(run: &Run, thread: ThreadId) -> Vec<EventId> {
    let own = run
        .events
        .iter()
        .filter(|(_, event)| event.thread == thread && event.kind.is_access());
    own.map(|(row, _)| row).collect()
}

fn family_of(run: &Run, row: EventId) -> Option<String> {
    let event = run.events.get(row)?;
    Some(family(run.location(event.location)))
}

/// The locations that both access.
fn shared(run: &Run, one: &[EventId], other_run: &Run, other: &[EventId]) -> BTreeSet<String> {
    let of = |run: &Run, rows: &[EventId]| -> BTreeSet<String> {
        rows.iter().filter_map(|&row| family_of(run, row)).collect()
    };
    let (one, other) = (of(run, one), of(other_run, other));
    one.intersection(&other).cloned().collect()
}

/// The lines of the function that contains all of these accesses to the data, from the first to the last.
fn span(run: &Run, rows: &[EventId], data: &BTreeSet<String>) -> Option<FunctionLines> {
    let is_data = |row: &&EventId| family_of(run, **row).is_some_and(|name| data.contains(&name));
    let mut rows = rows.iter().filter(is_data);
    let first = *rows.next()?;
    let last = rows.next_back().copied().unwrap_or(first);
    lines(run, first, last)
}

fn lines(run: &Run, first: EventId, last: EventId) -> Option<FunctionLines> {
    let (a, b) = parting(run, first, last)?;
    let (a, b) = (run.meta.site(a), run.meta.site(b));
    (a.function == b.function && a.file == b.file && a.line != 0).then(|| FunctionLines {
        file: a.file.clone(),
        function: a.function.clone(),
        first: a.line.min(b.line),
        last: a.line.max(b.line),
    })
}

/// Two causes in one function, as one place.
fn together(causes: &[&SiteMark]) -> Option<FunctionLines> {
    let [one, other, ..] = causes else {
        return None;
    };
    let same = one.place.file == other.place.file && one.place.function == other.place.function;
    (same && one.place.line != other.place.line).then(|| FunctionLines {
        file: one.place.file.clone(),
        function: one.place.function.clone(),
        first: one.place.line.min(other.place.line),
        last: one.place.line.max(other.place.line),
    })
}

/// Two changes of one thread, the second of which had not come, as lines of the function that leads to both.
fn half_done(case: &FixInput<'_>, causes: &[&SiteMark]) -> Option<FunctionLines> {
    let is_couple = case.explanation.kind == BugKind::MultiVariableAtomicityViolation;
    let [first, late] = causes else {
        return None;
    };
    let at = first.step.filter(|_| is_couple)?.checked_sub(1)?;
    let store = case.explanation.steps.get(at as usize)?;
    let (at, line) = meeting(case, store, late)?;
    Some(FunctionLines {
        first: at.line.min(line),
        last: at.line.max(line),
        ..FunctionLines::of(&at)
    })
}

/// Name of what a mark is about, as its line has it where that lies in a node of a map.
fn data_of(mark: &SiteMark) -> String {
    let of_map = match Location::of(&mark.location) {
        Location::Heap { path, .. } => {
            let writes = mark.access != EventKind::Read.name();
            element_of_map(&mark.place.text, path, writes)
        }
        _ => None,
    };
    of_map.unwrap_or_else(|| Location::variable(&mark.location).to_owned())
}

/// The line that stores, or calls a function that does, and the line of the same function that sets the late data, or calls
/// one that does: of the innermost function that leads to both.
pub(super) fn meeting(case: &FixInput<'_>, store: &Step, setter: &SiteMark) -> Option<(At, u32)> {
    let stores = frames(case.run, EventId(store.event));
    let sets = match step_row(case.explanation, setter) {
        Some(row) => vec![frames(case.run, row)],
        None => all_frames(case, &setter.place),
    };
    stores.into_iter().find_map(|at| {
        let is_here = |one: &&At| {
            (&one.function, &one.file) == (&at.function, &at.file) && one.line != at.line
        };
        let line = sets.iter().find_map(|set| set.iter().find(is_here))?.line;
        Some((at, line))
    })
}

/// The places that lead to writes of a line in any run.
fn all_frames(case: &FixInput<'_>, place: &Place) -> Vec<Vec<At>> {
    let found = case.runs.iter().flat_map(|(_, run)| {
        let rows = run.events.iter().filter(|(_, event)| {
            let site = run.meta.site(event.site);
            event.kind.writes() && (&site.file, site.line) == (&place.file, place.line)
        });
        rows.map(|(row, _)| frames(run, row))
    });
    let all: BTreeSet<Vec<At>> = found.collect();
    all.into_iter().collect()
}

/// Returns whether a step is one of the causes of an explanation.
fn is_cause(explanation: &Explanation, step: &Step) -> bool {
    explanation.sites.iter().any(|mark| {
        mark.role == Role::Cause
            && mark.place.line == step.place.line
            && mark.thread.contains(&step.thread)
    })
}

/// The other thread's accesses to the data.
fn other_steps(explanation: &Explanation) -> Vec<&Step> {
    let families = families(explanation);
    let mut sites = explanation.sites.iter();
    let other = sites.find(|mark| mark.role == Role::Interference && !mark.thread.is_empty());
    let Some(other) = other else {
        return Vec::new();
    };
    let is_own = |step: &&Step| {
        other.thread == step.thread || other.thread.contains(&format!("({})", step.thread))
    };
    let is_of_data = |step: &&Step| {
        families.contains(&family(&step.location))
            && !is_cause(explanation, step)
            && step.access != EventKind::Failure.name()
    };
    let steps = explanation.steps.iter();
    steps.filter(is_own).filter(is_of_data).collect()
}

/// Lines of the other thread's accesses to the data, from its first step to its last one.
fn interfering(
    explanation: &Explanation,
    run: &Run,
    known: &[FunctionLines],
) -> Option<FunctionLines> {
    let steps = other_steps(explanation);
    let (first, last) = (steps.first()?, steps.last()?);
    let within = |row: u32| {
        frames(run, EventId(row))
            .iter()
            .any(|at| known.iter().any(|place| place.holds(at)))
    };
    if within(first.event) && within(last.event) {
        return None;
    }
    let causes = explanation.steps.iter();
    let causes = causes.filter(|step| is_cause(explanation, step));
    let inner = called_within(run, causes.map(|step| EventId(step.event)), known);
    lines_outside(run, EventId(first.event), EventId(last.event), &inner)
}

/// The functions by which rows were reached from these lines.
fn called_within(
    run: &Run,
    rows: impl Iterator<Item = EventId>,
    known: &[FunctionLines],
) -> BTreeSet<String> {
    let inner = rows.flat_map(|row| {
        let frames = frames(run, row);
        let at = frames
            .iter()
            .position(|at| known.iter().any(|place| place.holds(at)));
        frames.into_iter().take(at.unwrap_or(0))
    });
    inner.map(|at| at.function).collect()
}

/// As [`lines`], but in a function that is not among these: what is called within atomic lines needs none of its own.
fn lines_outside(
    run: &Run,
    first: EventId,
    last: EventId,
    inner: &BTreeSet<String>,
) -> Option<FunctionLines> {
    let outside = |row: EventId| {
        let mut frames = frames(run, row).into_iter();
        frames.find(|at| !inner.contains(&at.function))
    };
    let found = lines(run, first, last)?;
    if !inner.contains(&found.function) {
        return Some(found);
    }
    let (a, b) = (outside(first)?, outside(last)?);
    (a.function == b.function && a.file == b.file).then(|| FunctionLines {
        file: a.file,
        function: a.function,
        first: a.line.min(b.line),
        last: a.line.max(b.line),
    })
}

/// Merges the places of each function: from its first line to its last.
pub(super) fn by_function(places: Vec<FunctionLines>) -> Vec<FunctionLines> {
    let mut merged: BTreeMap<(String, String), FunctionLines> = BTreeMap::new();
    let mut order = Vec::new();
    for place in places {
        let key = (place.file.clone(), place.function.clone());
        match merged.get_mut(&key) {
            Some(known) => {
                known.first = known.first.min(place.first);
                known.last = known.last.max(place.last);
            }
            None => {
                order.push(key.clone());
                merged.insert(key, place);
            }
        }
    }
    order
        .into_iter()
        .filter_map(|key| merged.remove(&key))
        .collect()
}
