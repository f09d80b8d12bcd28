//! Conditions that hold in passing runs as well: they are needed for the failure and do not tell it from success, as that a
//! pointer is set which always is.

use super::model::{Fact, PathExplanation, Reach, VarKind};
use crate::expr::{ExprId, SymbolId, Values};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{Event, EventId, Run, Value};

/// Bound on the assignments that are followed back from a condition.
const DEEPEST: usize = 64;

/// The number that stands for an address of another run: not NULL, and no address that the failing run's model has.
const ELSEWHERE: u64 = 1 << 62;

/// A place of a thread by names, which mean the same in another run: thread, file, line and column.
pub type ThreadPlace<'a> = (&'a str, &'a str, u32, u32);

/// The place of an event.
pub fn thread_place<'r>(run: &'r Run, event: &Event) -> ThreadPlace<'r> {
    let site = run.meta.site(event.site);
    let thread = run.meta.thread(event.thread).name.as_str();
    (thread, site.file.as_str(), site.line, site.column)
}

/// A read of the failing run: its place, and its number among the thread's reads there.
type NumberedRead<'a> = (ThreadPlace<'a>, u32);

/// The explanation without the conditions on values that hold in all of these passing runs, as far as their reads of the same
/// number at the same places tell. Without passing runs nothing changes. Linear in the events of all runs.
pub fn without_usual(
    explanation: &PathExplanation,
    run: &Run,
    passing: &[&Run],
) -> PathExplanation {
    let mut kept = explanation.clone();
    if passing.is_empty() {
        return kept;
    }
    let reads = reads_of(explanation, run);
    let places: FxHashSet<ThreadPlace<'_>> = reads.values().map(|(place, _)| *place).collect();
    let seen: Vec<FxHashMap<NumberedRead<'_>, u128>> = passing
        .iter()
        .map(|other| values_at(other, &places))
        .collect();
    kept.invariants.retain(|reach| {
        let holds = |values: &FxHashMap<NumberedRead<'_>, u128>| {
            holds(explanation, reach, &|event| {
                values.get(reads.get(&event)?).copied()
            })
        };
        let mut told = seen.iter().filter_map(holds).peekable();
        told.peek().is_none() || !told.all(|holds| holds)
    });
    kept
}

/// The reads of the path, with their places and numbers.
fn reads_of<'a>(
    explanation: &PathExplanation,
    run: &'a Run,
) -> FxHashMap<EventId, NumberedRead<'a>> {
    let statements = explanation.statements.iter();
    let events: FxHashSet<EventId> = statements.filter_map(|one| one.event).collect();
    let mut numbers: FxHashMap<ThreadPlace<'a>, u32> = FxHashMap::default();
    let mut reads = FxHashMap::default();
    for (id, event) in run.events.iter().filter(|(_, event)| event.kind.reads()) {
        let place = thread_place(run, &event);
        let number = numbers.entry(place).or_default();
        *number += 1;
        if events.contains(&id) {
            reads.insert(id, (place, *number));
        }
    }
    reads
}

/// What a run read at these places.
fn values_at<'r>(
    run: &'r Run,
    places: &FxHashSet<ThreadPlace<'_>>,
) -> FxHashMap<NumberedRead<'r>, u128> {
    let mut numbers: FxHashMap<ThreadPlace<'r>, u32> = FxHashMap::default();
    let mut values = FxHashMap::default();
    for (_, event) in run.events.iter().filter(|(_, event)| event.kind.reads()) {
        let place = thread_place(run, &event);
        if !places.contains(&place) {
            continue;
        }
        let number = numbers.entry(place).or_default();
        *number += 1;
        let bits = event.old.or(match event.value {
            Some(Value::Bits(bits)) => Some(bits),
            Some(Value::Address(_)) => Some(ELSEWHERE),
            None => None,
        });
        values.extend(bits.map(|bits| ((place, *number), u128::from(bits))));
    }
    values
}

/// Whether a condition holds with these values of reads, and those of the failing run for what is not read; `None` for facts
/// of order, and where a read is not there.
fn holds(
    explanation: &PathExplanation,
    reach: &Reach,
    read: &impl Fn(EventId) -> Option<u128>,
) -> Option<bool> {
    let Fact::Value(id) = reach.fact else {
        return None;
    };
    value(explanation, id, read, DEEPEST).map(|bits| bits == 1)
}

fn value(
    explanation: &PathExplanation,
    id: ExprId,
    read: &impl Fn(EventId) -> Option<u128>,
    left: usize,
) -> Option<u128> {
    let symbols = explanation.exprs.symbols(id);
    let mut known: FxHashMap<SymbolId, u128> = FxHashMap::default();
    for symbol in symbols {
        known.insert(symbol, version(explanation, symbol, read, left)?);
    }
    let mut values = Values::default();
    explanation
        .exprs
        .value(id, &mut values, &|symbol| known.get(&symbol).copied())
}

fn version(
    explanation: &PathExplanation,
    symbol: SymbolId,
    read: &impl Fn(EventId) -> Option<u128>,
    left: usize,
) -> Option<u128> {
    let left = left.checked_sub(1)?;
    let var = explanation.vars.get(symbol.index())?;
    let made_by = var.made_by.and_then(|row| explanation.statements.get(row));
    match (var.kind, made_by) {
        (VarKind::Read, Some(made)) => {
            let bits = read(made.event?)?;
            Some(bits & crate::fold::mask(var.width))
        }
        (VarKind::Shared | VarKind::Local, Some(made)) if made.value.is_some() => {
            value(explanation, made.value?, read, left)
        }
        _ => var.recorded,
    }
}
