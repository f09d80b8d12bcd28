//! The projection of two recorded runs: a failing run, and the executed alternate.
//!
//! Events correspond when thread, kind, place and name of the accessed object are the same and each is the
//! n-th of its kind in its run. Events that the failing run did not reach are in the alternate only.

use super::{
    ProjectionSource, describe, projection,
    side::{OperationNumber, OrderSide, SideOperation, ValueTarget, lock_of, waits},
    waiting::wanted,
};
use crate::{
    Bug, StepId, SymbolicTrace,
    dsp::{
        model::{Dsp, ThreadOperation},
        slice::{Matters, Slice},
    },
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_core::explanation::Place;
use unsnarl_trace::{Event, EventId, EventKind, Location, Run, Value, kinds::EventRole};

/// Facts about two runs beyond their events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hints {
    /// The flipped events: the first came first in the failing run.
    pub pair: Option<(EventId, EventId)>,
    /// Events of the failing run that the failure was computed from.
    pub matters: BTreeSet<EventId>,
}

/// Facts that a symbolic trace gives about the executed alternate of a pair of its steps.
pub fn hints(trace: &SymbolicTrace, failing: &[StepId], pair: (StepId, StepId)) -> Hints {
    let event = |id: StepId| trace.step(id).and_then(|step| step.event);
    let slice = Slice::new(trace, failing);
    let known = !matches!(trace.bug, Bug::Unknown(_) | Bug::Deadlock);
    let matters = failing
        .iter()
        .filter(|id| known && slice.of(**id) == Matters::Data);
    Hints {
        pair: event(pair.0).zip(event(pair.1)),
        matters: matters.filter_map(|&id| event(id)).collect(),
    }
}

/// Projects a failing run and one that did not fail. Linear in the runs.
pub fn project_runs(failing: &Run, alternate: &Run, hints: &Hints) -> Dsp {
    let (mut source, sides, keys) = keyed(failing, alternate);
    let key = |event: EventId| keys.get(&event).copied();
    source.cone = source.cone(&sides[0]);
    source
        .cone
        .extend(hints.matters.iter().filter_map(|&event| key(event)));
    let [first, second] = &sides;
    source.deciding = source.departure(first, second).into_iter().collect();
    let pair = hints.pair.and_then(|(a, b)| Some((key(a)?, key(b)?)));
    projection(&source, first, second, pair)
}

/// Matches two runs' operations; also returns the operations by event of the failing run.
pub(super) fn keyed<'r>(
    failing: &'r Run,
    alternate: &'r Run,
) -> (
    TwoRuns<'r>,
    [OrderSide; 2],
    FxHashMap<EventId, OperationNumber>,
) {
    let mut match_up = MatchUp::default();
    let sides = [failing, alternate].map(|run| match_up.side(run));
    let source = TwoRuns {
        failing,
        alternate,
        events: match_up.events,
        cells: match_up.cells,
        cone: FxHashSet::default(),
        deciding: FxHashSet::default(),
        stuck: FxHashSet::default(),
    };
    let keys = (0..)
        .zip(&source.events)
        .filter_map(|(key, events)| Some((events[0]?, key)))
        .collect();
    (source, sides, keys)
}

/// Identity of an event in both runs.
#[derive(Clone, PartialEq, Eq, Hash)]
struct EventName {
    thread: String,
    kind: EventKind,
    file: String,
    line: u32,
    column: u32,
    location: String,
    nth: u32,
}

#[derive(Default)]
struct MatchUp {
    keys: FxHashMap<EventName, OperationNumber>,
    /// By key: the event in each run.
    events: Vec<[Option<EventId>; 2]>,
    numbers: FxHashMap<String, u32>,
    cells: Vec<String>,
    runs: usize,
}

impl MatchUp {
    fn side(&mut self, run: &Run) -> OrderSide {
        let mut seen: FxHashMap<EventName, u32> = FxHashMap::default();
        let mut ops = Vec::new();
        for (id, mut event) in run.events.iter() {
            let is_blocked = wanted(&event).map(|kind| event.kind = kind).is_some();
            let role = event.kind.role();
            let is_named = role.acquires_lock()
                || role.releases_lock()
                || matches!(role, EventRole::Notify { .. })
                || event.kind == EventKind::Failure;
            if is_blocked || is_named || event.kind.is_access() || waits(event.kind) {
                let key = self.key(run, id, &event, &mut seen);
                ops.push(self.op(run, key, &event));
            }
        }
        self.runs += 1;
        OrderSide::new(ops)
    }

    fn key(
        &mut self,
        run: &Run,
        id: EventId,
        event: &Event,
        seen: &mut FxHashMap<EventName, u32>,
    ) -> OperationNumber {
        let site = run.meta.site(event.site);
        let mut name = EventName {
            thread: run.meta.thread(event.thread).name.clone(),
            kind: event.kind,
            file: site.file.clone(),
            line: site.line,
            column: site.column,
            location: run.location(event.location).to_owned(),
            nth: 0,
        };
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        name.nth = *count;
        let next = self.events.len() as OperationNumber;
        let key = *self.keys.entry(name).or_insert(next);
        if key == next {
            self.events.push([None; 2]);
        }
        if let Some(event) = self
            .events
            .get_mut(key as usize)
            .and_then(|events| events.get_mut(self.runs))
        {
            *event = Some(id);
        }
        key
    }

    fn op(&mut self, run: &Run, key: OperationNumber, event: &Event) -> SideOperation {
        let next = self.cells.len() as u32;
        let name = run.location(event.location);
        let cell = *self.numbers.entry(name.to_owned()).or_insert(next);
        if cell == next {
            self.cells.push(name.to_owned());
        }
        let cells = |wanted: bool| if wanted { vec![cell] } else { Vec::new() };
        SideOperation {
            key,
            thread: event.thread.0,
            reads: cells(event.kind.reads()),
            writes: cells(event.kind.writes()),
            lock: lock_of(event.kind, cell),
        }
    }
}

pub(super) struct TwoRuns<'r> {
    failing: &'r Run,
    alternate: &'r Run,
    events: Vec<[Option<EventId>; 2]>,
    cells: Vec<String>,
    cone: FxHashSet<OperationNumber>,
    deciding: FxHashSet<OperationNumber>,
    /// Operations at which threads block for ever in the failing run.
    pub(super) stuck: FxHashSet<OperationNumber>,
}

impl TwoRuns<'_> {
    fn event(&self, key: OperationNumber, failing: bool) -> Option<(&Run, EventId)> {
        let [first, second] = *self.events.get(key as usize)?;
        match failing {
            true => Some((self.failing, first?)),
            false => Some((self.alternate, second?)),
        }
    }

    /// The data cone without expressions: the values that the failing thread read at the place of the
    /// failure, and the writes they came from.
    fn cone(&self, side: &OrderSide) -> FxHashSet<OperationNumber> {
        let mut cone = FxHashSet::default();
        let failure = self.failing.meta.failure.as_ref();
        let thread = failure.and_then(|failure| failure.thread);
        let site = failure.and_then(|failure| failure.site);
        let (Some(thread), Some(site)) = (thread, site) else {
            return cone;
        };
        let site = self.failing.meta.site(site);
        let flows = side.flows();
        for op in side.ops.iter().filter(|op| op.thread == thread.0) {
            let event = self.event(op.key, true);
            let event = event.and_then(|(run, id)| run.events.get(id));
            let here = event.map(|event| self.failing.meta.site(event.site));
            if here.is_some_and(|here| here.file == site.file && here.line == site.line) {
                cone.insert(op.key);
                let from = |cell: &u32| {
                    flows
                        .get(&ValueTarget::Read(op.key, *cell))
                        .copied()
                        .flatten()
                };
                cone.extend(op.reads.iter().filter_map(from));
            }
        }
        cone
    }

    /// The read that makes a thread depart in the alternate: of each departing thread, the last read before
    /// its departure with another value; of several threads, the first.
    fn departure(&self, failing: &OrderSide, alternate: &OrderSide) -> Option<OperationNumber> {
        let of = |side: &OrderSide| -> BTreeMap<u16, Vec<OperationNumber>> {
            let mut threads: BTreeMap<u16, Vec<OperationNumber>> = BTreeMap::new();
            for op in &side.ops {
                threads.entry(op.thread).or_default().push(op.key);
            }
            threads
        };
        let (first, second) = (of(failing), of(alternate));
        let departures = first.iter().filter_map(|(thread, keys)| {
            let others = second.get(thread)?;
            let same = keys.iter().zip(others).take_while(|(a, b)| a == b).count();
            // A thread that the failure cut off did not depart; one that leaves early in the alternate did.
            (same < keys.len()).then_some(())?;
            let before = keys.get(..same)?.iter().rev().copied();
            let mut reads =
                before.filter(|&key| failing.op(key).is_some_and(|op| !op.reads.is_empty()));
            reads.find(|&key| self.raw(key, true) != self.raw(key, false))
        });
        departures.min_by_key(|&key| alternate.place(key))
    }

    fn raw(&self, key: OperationNumber, failing: bool) -> Option<Value> {
        let (run, id) = self.event(key, failing)?;
        let event = run.events.event(id);
        match event.old {
            Some(old) => Some(Value::Bits(old)),
            None => event.value,
        }
    }

    fn name(&self, number: u32) -> String {
        let name = self.cells.get(number as usize);
        name.map_or_else(String::new, |name| {
            unsnarl_core::facts::in_block(Location::variable(name))
        })
    }
}

impl ProjectionSource for TwoRuns<'_> {
    fn describe(&self, key: OperationNumber) -> ThreadOperation {
        let seen = self.event(key, true).or_else(|| self.event(key, false));
        let (run, id) = seen.unwrap_or((self.failing, EventId(u32::MAX)));
        let mut operation = describe::of_event(run, id);
        if self.event(key, true).is_none() {
            operation.event = None;
        }
        operation.alternate_event = self.event(key, false).map(|(_, id)| id);
        operation.is_stuck = self.stuck.contains(&key);
        operation
    }

    fn calls(&self, key: OperationNumber) -> Vec<Place> {
        let seen = self.event(key, true).or_else(|| self.event(key, false));
        let event = seen.and_then(|(run, id)| Some((run, run.events.get(id)?)));
        event.map_or_else(Vec::new, |(run, event)| describe::calls(run, &event))
    }

    fn value(&self, key: OperationNumber, failing: bool) -> Option<String> {
        let (run, id) = self.event(key, failing)?;
        describe::value_of(run, &run.events.get(id)?)
    }

    fn cell(&self, cell: u32) -> String {
        self.name(cell)
    }

    fn lock(&self, lock: u32) -> String {
        self.name(lock)
    }

    /// Returns whether the operation matters; of threads that wait, any may.
    fn matters(&self, key: OperationNumber) -> bool {
        !self.stuck.is_empty() || self.cone.contains(&key)
    }

    fn decides(&self, key: OperationNumber) -> bool {
        self.deciding.contains(&key)
    }

    /// Always `false`, since only expressions could tell.
    fn fails_all_the_same(&self, _: OperationNumber, _: OperationNumber) -> bool {
        false
    }

    fn failure(&self) -> Option<OperationNumber> {
        let at = self.failing.meta.failure.as_ref()?.event?;
        let key = self
            .events
            .iter()
            .position(|events| events[0] == Some(at))?;
        Some(key as OperationNumber)
    }

    fn events(&self) -> usize {
        self.failing.events.len()
    }
}
