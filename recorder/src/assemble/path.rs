//! Path mode: from the notes of each thread to a run.
//!
//! The steps of synchronization become events, in an order in which they may have happened: it respects the order of
//! each thread and on each object, threads run after their creation and before their join. The notes of their ways
//! become the threads' paths.

use super::{
    course::{CodeStretches, PassedStep, ThreadCourse},
    raw_log::{LogChunk, RawLog},
    walk::LogWalk,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unsnarl_trace::{
    BlockRow, PathRow, ThreadId,
    path::{EVENT, FIRST_BLOCK},
    raw::{
        RecordKind,
        marks::notes,
        pack::{self, LastOccurrences, MOST_WORDS, unpack_plain},
        path::{ChunkKind, RawPathStep},
    },
};

/// The notes and steps of one thread.
#[derive(Default)]
struct WrittenPath {
    packed: Vec<u8>,
    /// Units that are whole.
    units: u32,
    words: Vec<u32>,
    steps: Vec<RawPathStep>,
    /// Address of each step: the innermost call in the user's code, else the last block before it.
    places: Vec<u64>,
}

/// Facts that the paths of all threads share.
#[derive(Default)]
struct SharedFacts {
    code: CodeStretches,
    /// Words of blocks in the run's paths, by address, with `true` for the user's.
    blocks: FxHashMap<u64, (u32, bool)>,
    lost: u64,
}

impl LogWalk<'_> {
    /// Reads the whole log of path mode: events become drafts, paths rows.
    pub fn run_paths(&mut self, log: &RawLog<'_>) -> Vec<PathRow> {
        let mut threads = read(log, self.calls.len());
        let mut known = SharedFacts::default();
        let mut rows = Vec::new();
        for (thread, written) in (0u16..).zip(&mut threads) {
            let row = self.path(ThreadId(thread), written, &mut known);
            rows.extend((row.blocks > 0).then_some(row));
        }
        self.problems.lost_blocks = known.lost;
        for (thread, step) in ordered(&threads, &mut self.problems.unordered) {
            let Some(written) = threads.get(thread) else {
                continue;
            };
            let Some(found) = written.steps.get(step) else {
                continue;
            };
            let mut record = found.record;
            record.thread = thread as u16;
            let is_user = self.user_site(record.pc).is_some();
            let place = written.places.get(step).copied().unwrap_or(0);
            if !is_user && record.kind != RecordKind::Begin as u8 && place != 0 {
                record.pc = place;
            }
            self.record(&record);
        }
        rows
    }

    /// The path of one thread; notes the places of its steps in passing.
    fn path(
        &mut self,
        thread: ThreadId,
        written: &mut WrittenPath,
        known: &mut SharedFacts,
    ) -> PathRow {
        let notes = notes(written.unpacked());
        let mut path = Packed::default();
        let mut code = std::mem::take(&mut known.code);
        let mut course = ThreadCourse::new();
        let mut place = 0;
        course.follow(&mut code, self, notes, |walk, passed| match passed {
            PassedStep::Block(address) => {
                let (word, is_user) = walk.known_block(address, known);
                path.push(word);
                path.blocks += 1;
                if is_user {
                    place = address.wrapping_add(1);
                }
            }
            PassedStep::Step(course) => {
                let call = course
                    .callers()
                    .find(|back| walk.user_site(*back).is_some());
                written.places.push(call.unwrap_or(place));
                path.push(EVENT);
            }
            PassedStep::Lost => known.lost += 1,
        });
        known.code = code;
        path.row(thread)
    }

    fn known_block(&mut self, address: u64, known: &mut SharedFacts) -> (u32, bool) {
        if let Some(found) = known.blocks.get(&address) {
            return *found;
        }
        let number = self.blocks.rows.len() as u32 + FIRST_BLOCK;
        let row = self.block_at(address).unwrap_or(BlockRow {
            id: address,
            ..BlockRow::default()
        });
        self.blocks.rows.push(row);
        let is_user = self.user_site(address.wrapping_add(1)).is_some();
        known.blocks.insert(address, (number, is_user));
        (number, is_user)
    }
}

impl WrittenPath {
    /// The words of its notes, all together.
    fn unpacked(&mut self) -> Vec<u32> {
        let packed = std::mem::take(&mut self.packed);
        let mut rest = &*packed;
        let mut words = Vec::new();
        for _ in 0..self.units {
            if unpack_plain(&mut rest, &mut words).is_none() {
                break;
            }
        }
        words.append(&mut self.words);
        words
    }
}

/// A path that is being packed.
#[derive(Default)]
struct Packed {
    bytes: Vec<u8>,
    words: Vec<u32>,
    blocks: u64,
}

impl Packed {
    fn push(&mut self, word: u32) {
        self.words.push(word);
        if self.words.len() == MOST_WORDS {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let mut table: LastOccurrences = [0; size_of::<LastOccurrences>() / 2];
        pack::pack(&self.words, &mut table, |byte| self.bytes.push(byte));
        self.words.clear();
    }

    fn row(mut self, thread: ThreadId) -> PathRow {
        self.pack();
        PathRow::new(thread, self.blocks, &self.bytes)
    }
}

fn read(log: &RawLog<'_>, threads: usize) -> Vec<WrittenPath> {
    let mut written: Vec<WrittenPath> = Vec::new();
    written.resize_with(threads, WrittenPath::default);
    let mut chunks: Vec<LogChunk<'_>> = log.chunks().collect();
    chunks.sort_by_key(|chunk| (chunk.thread, chunk.nth));
    for chunk in chunks {
        let Some(written) = written.get_mut(chunk.thread as usize) else {
            continue;
        };
        match chunk.kind {
            ChunkKind::Packed => {
                let used = chunk.body.get(..chunk.used as usize).unwrap_or(chunk.body);
                written.packed.extend_from_slice(used);
            }
            ChunkKind::Notes => {
                written.units = chunk.used / 2;
                written.words.extend(chunk.words());
            }
            ChunkKind::Steps => written.steps.extend(chunk.steps()),
        }
    }
    written
}

/// All steps, as thread and number, in an order in which they may have happened. A thread goes on as
/// long as it can, then the first one that can.
fn ordered(threads: &[WrittenPath], unordered: &mut u64) -> Vec<(usize, usize)> {
    let mut graph = ConstraintGraph::of(threads);
    let mut order = Vec::new();
    let mut ready: BTreeSet<(usize, usize)> = graph.free();
    let mut thread = 0;
    loop {
        let of_thread = ready.range((thread, 0)..=(thread, usize::MAX)).next();
        let Some(step) = of_thread.or_else(|| ready.first()).copied() else {
            break;
        };
        ready.remove(&step);
        thread = step.0;
        ready.extend(graph.done(step));
        order.push(step);
    }
    // Only a spoiled log has circles.
    *unordered += graph.rest.len() as u64;
    let mut rest: Vec<_> = graph.rest.into_keys().collect();
    rest.sort_unstable();
    order.extend(rest);
    order
}

type NotedStep = (usize, usize);

/// The order constraints between steps.
#[derive(Default)]
struct ConstraintGraph {
    after: FxHashMap<NotedStep, Vec<NotedStep>>,
    /// Waiting steps, with the number of steps that they wait for.
    rest: FxHashMap<NotedStep, usize>,
}

impl ConstraintGraph {
    fn of(threads: &[WrittenPath]) -> ConstraintGraph {
        let mut graph = ConstraintGraph::default();
        let mut objects: FxHashMap<u64, Vec<(u64, NotedStep)>> = FxHashMap::default();
        for (thread, written) in threads.iter().enumerate() {
            for (number, step) in written.steps.iter().enumerate() {
                let this = (thread, number);
                graph.rest.entry(this).or_default();
                if number > 0 {
                    graph.edge((thread, number - 1), this);
                }
                if step.record.addr != 0 {
                    let object = objects.entry(step.record.addr).or_default();
                    object.push((step.order, this));
                }
                graph.creation(threads, step, this);
            }
        }
        for (_, mut steps) in objects {
            steps.sort_unstable();
            for two in steps.windows(2) {
                if let [(_, first), (_, second)] = two {
                    graph.edge(*first, *second);
                }
            }
        }
        graph
    }

    fn creation(&mut self, threads: &[WrittenPath], step: &RawPathStep, this: NotedStep) {
        let other = step.record.value as usize;
        let steps = threads.get(other).map_or(0, |other| other.steps.len());
        if steps == 0 {
            return;
        }
        if step.record.kind == RecordKind::Fork as u8 {
            self.edge(this, (other, 0));
        } else if step.record.kind == RecordKind::Join as u8 {
            self.edge((other, steps - 1), this);
        }
    }

    fn edge(&mut self, first: NotedStep, second: NotedStep) {
        self.after.entry(first).or_default().push(second);
        *self.rest.entry(second).or_default() += 1;
    }

    fn free(&mut self) -> BTreeSet<NotedStep> {
        let free = self.rest.iter().filter(|(_, waits)| **waits == 0);
        free.map(|(step, _)| *step).collect()
    }

    /// The steps that waited for this one only.
    fn done(&mut self, step: NotedStep) -> Vec<NotedStep> {
        self.rest.remove(&step);
        let mut free = Vec::new();
        for next in self.after.remove(&step).unwrap_or_default() {
            if let Some(waits) = self.rest.get_mut(&next) {
                *waits -= 1;
                free.extend((*waits == 0).then_some(next));
            }
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::raw::Record;

    fn step(kind: RecordKind, addr: u64, order: u64, value: u64) -> RawPathStep {
        RawPathStep {
            order,
            record: Record {
                kind: kind as u8,
                addr,
                value,
                ..Record::default()
            },
        }
    }

    fn thread(steps: &[RawPathStep]) -> WrittenPath {
        WrittenPath {
            steps: steps.to_vec(),
            ..WrittenPath::default()
        }
    }

    #[test]
    fn threads_objects_and_creation_order_the_steps() {
        use RecordKind as K;
        let main = [
            step(K::Begin, 0, 0, 0),
            step(K::Fork, 8, 0, 1),
            step(K::Lock, 64, 5, 0),
            step(K::Unlock, 64, 6, 0),
            step(K::Join, 0, 0, 1),
        ];
        let other = [
            step(K::Begin, 0, 0, 0),
            step(K::Lock, 64, 3, 0),
            step(K::Unlock, 64, 4, 0),
            step(K::End, 0, 0, 0),
        ];
        let mut unordered = 0;
        let order = ordered(&[thread(&main), thread(&other)], &mut unordered);
        let expected = [
            (0, 0),
            (0, 1),
            (1, 0),
            (1, 1),
            (1, 2),
            (1, 3),
            (0, 2),
            (0, 3),
            (0, 4),
        ];
        assert_eq!((order.as_slice(), unordered), (expected.as_slice(), 0));
    }

    #[test]
    fn a_spoiled_log_loses_no_step() {
        use RecordKind as K;
        let one = [step(K::Lock, 8, 2, 0), step(K::Lock, 16, 1, 0)];
        let two = [step(K::Lock, 16, 2, 0), step(K::Lock, 8, 1, 0)];
        let mut unordered = 0;
        let order = ordered(&[thread(&one), thread(&two)], &mut unordered);
        assert_eq!((order.len(), unordered), (4, 4));
    }
}
