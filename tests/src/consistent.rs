//! Check that a run's values fit its order: every read has the value of the last write before it.

use anyhow::{Result, bail};
use std::collections::HashMap;
use unsnarl_trace::{Event, EventKind, LocationId, Run, Value, model::flags};

/// Counts of a run's reads by the result of the check.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Reads with the value of the last write.
    pub agree: u64,
    /// First reads of memory without a known write, and values that are not known.
    pub unknown: u64,
    /// Reads of stack memory: it serves one call after the other, and new variables begin with what the compiler put
    /// there without a callback.
    pub stack: u64,
    /// Reads of memory that code without instrumentation writes.
    pub excepted: u64,
}

impl std::ops::AddAssign for Reads {
    fn add_assign(&mut self, other: Reads) {
        self.agree += other.agree;
        self.unknown += other.unknown;
        self.stack += other.stack;
        self.excepted += other.excepted;
    }
}

/// Locations that code without instrumentation writes, by program under `tests/programs`: the C library notes in
/// `__libc_single_threaded`, which `std::shared_ptr` reads, that there is a second thread.
const WRITTEN_UNSEEN: [(&str, &str); 3] = [
    ("cpp_weak_session", "__libc_single_threaded"),
    ("cpp_weak_session", ".bss"),
    ("cpp_weak_session", "libc.so.6:__libc_single_threaded"),
];

/// Returns whether code without instrumentation writes a location of a program under `tests/programs`.
#[must_use]
pub fn is_written_unseen(program: &str, location: &str) -> bool {
    let is_it = |(of, start): &(&str, &str)| *of == program && location.starts_with(start);
    WRITTEN_UNSEEN.iter().any(is_it)
}

/// Checks all reads of a run; `is_excepted` names the locations that code without instrumentation
/// writes. The first other read that contradicts the order is an error.
pub fn check(run: &Run, is_excepted: impl Fn(&str) -> bool) -> Result<Reads> {
    let mut reads = Reads::default();
    let mut known: HashMap<LocationId, (u32, Value)> = HashMap::new();
    for (id, event) in run.events.iter() {
        if event.kind == EventKind::Free {
            // The runtime fills what was freed with a pattern.
            let block = run.location(event.location);
            known.retain(|location, _| !run.location(*location).starts_with(block));
        }
        if !event.kind.is_access() {
            continue;
        }
        let read = if event.kind.writes() {
            event.old.map(Value::Bits)
        } else {
            event.value
        };
        if event.kind.reads() {
            let last = known
                .get(&event.location)
                .filter(|(size, _)| *size == event.size);
            match (last, read) {
                _ if is_stack(run.location(event.location)) => reads.stack += 1,
                _ if is_excepted(run.location(event.location)) => reads.excepted += 1,
                (Some((_, last)), Some(read)) if *last == read => reads.agree += 1,
                (Some((_, last)), Some(read)) => bail!(
                    "event {} of {} read {read:?} from `{}` where {last:?} was last seen: {:?}",
                    id.0,
                    run.meta.thread(event.thread).name,
                    run.location(event.location),
                    run.meta.site(event.site),
                ),
                _ => reads.unknown += 1,
            }
        }
        remember(&mut known, &event, read);
    }
    Ok(reads)
}

fn remember(known: &mut HashMap<LocationId, (u32, Value)>, event: &Event, read: Option<Value>) {
    let left = if event.kind.writes() {
        event.value
    } else {
        read
    };
    let is_done = event.flags & flags::UNFINISHED == 0;
    match left.filter(|_| is_done) {
        Some(value) => known.insert(event.location, (event.size, value)),
        None => known.remove(&event.location),
    };
}

/// Returns whether the location is on a stack: `main.1:worker.buf`.
fn is_stack(location: &str) -> bool {
    location.starts_with("main") && location.contains(':')
}
