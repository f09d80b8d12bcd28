//! Claims about two accesses.

use super::{Operation, Visit};
use crate::{
    mining::{EventIdentity, Trace},
    pairs::{AccessClass, Fnv},
};
use rustc_hash::FxHashMap;

/// For each kind of a trace, whether it is the operation.
pub(super) fn is(run: &Trace, operation: &Operation) -> Vec<bool> {
    let line = operation.line();
    let same = |kind: &EventIdentity| kind.line == line && kind.access == operation.access;
    run.kinds.iter().map(same).collect()
}

pub(super) fn flag(flags: &[bool], kind: u32) -> bool {
    flags.get(kind as usize).copied().unwrap_or(false)
}

/// Returns whether the first `early` on the location, by any thread, or the given visit of it, comes before the first `late`,
/// or before the visit.
pub(super) fn before(
    run: &Trace,
    (early, by): (&Operation, Option<&Visit>),
    late: &Operation,
    location: &str,
    visit: Option<&Visit>,
) -> bool {
    let (wanted, by) = (
        by.map_or(1, |by| by.number),
        by.map(|by| Fnv::of(&by.thread)),
    );
    let location = Fnv::of(location);
    let visitor = visit.map(|visit| Fnv::of(&visit.thread));
    let here = |kind: u32| {
        run.kinds
            .get(kind as usize)
            .filter(|kind| kind.location == location)
    };
    let (early, late) = (is(run, early), is(run, late));
    let (mut done, mut visits) = (0, 0);
    for &kind in &run.events {
        let Some(seen) = here(kind) else { continue };
        if flag(&late, kind) && visitor.is_none_or(|thread| thread == seen.thread) {
            visits += 1;
            if visit.is_none_or(|visit| visit.number == visits) {
                return done >= wanted;
            }
        }
        done += u32::from(flag(&early, kind) && by.is_none_or(|thread| thread == seen.thread));
    }
    false
}

/// Returns whether a `late` on the location comes after an `early` of another thread.
pub(super) fn after(run: &Trace, early: &Operation, late: &Operation, location: &str) -> bool {
    let location = Fnv::of(location);
    let (early, late) = (is(run, early), is(run, late));
    let mut by: Vec<u64> = Vec::new();
    for &kind in &run.events {
        let seen = run.kinds.get(kind as usize);
        let Some(seen) = seen.filter(|seen| seen.location == location) else {
            continue;
        };
        if flag(&late, kind) && by.iter().any(|thread| *thread != seen.thread) {
            return true;
        }
        if flag(&early, kind) && !by.contains(&seen.thread) {
            by.push(seen.thread);
        }
    }
    false
}

/// Number of times a line reads a value that another thread's line has written.
pub(super) fn reads_from(run: &Trace, write: &Operation, read: &Operation) -> u32 {
    let (writes, reads) = (is(run, write), is(run, read));
    let mut last: FxHashMap<u64, (u64, bool)> = FxHashMap::default();
    let mut times = 0;
    for &kind in &run.events {
        let Some(seen) = run.kinds.get(kind as usize) else {
            continue;
        };
        let of_other = |(thread, is_write): &(u64, bool)| *is_write && *thread != seen.thread;
        if flag(&reads, kind) && last.get(&seen.location).is_some_and(of_other) {
            times += 1;
        }
        if seen.access != AccessClass::Read {
            last.insert(seen.location, (seen.thread, flag(&writes, kind)));
        }
    }
    times
}

/// The value of a location: its writer, and the threads that have read it at the line of the head.
#[derive(Default)]
struct Version {
    writer: Option<(u64, bool)>,
    readers: Vec<u64>,
}

/// Returns whether `tail` reads or overwrites a value that another thread's `head` has written, or overwrites
/// one that it has read.
pub(super) fn follows(run: &Trace, head: &Operation, tail: &Operation) -> bool {
    let (heads, tails) = (is(run, head), is(run, tail));
    let mut versions: FxHashMap<u64, Version> = FxHashMap::default();
    for &kind in &run.events {
        let Some(seen) = run.kinds.get(kind as usize) else {
            continue;
        };
        let version = versions.entry(seen.location).or_default();
        let writes = seen.access != AccessClass::Read;
        if flag(&tails, kind) {
            let writer = version.writer;
            let of_writer = writer.is_some_and(|(by, is_head)| is_head && by != seen.thread);
            let of_reader = writes && version.readers.iter().any(|by| *by != seen.thread);
            if of_writer || of_reader {
                return true;
            }
        }
        if writes {
            version.writer = Some((seen.thread, flag(&heads, kind)));
            version.readers.clear();
        } else if flag(&heads, kind) && !version.readers.contains(&seen.thread) {
            version.readers.push(seen.thread);
        }
    }
    false
}
