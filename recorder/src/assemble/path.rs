//! Path mode: from what each thread wrote for itself to a run.
//!
//! The steps of synchronization become events, in an order in which they may have happened: that of
//! each thread, that on each object, threads after their creation and before their join. The blocks
//! become the threads' paths.

use super::{
    raw_log::{LogChunk, RawLog},
    walk::Walk,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unsnarl_trace::{
    BlockRow, PathRow, ThreadId,
    path::FIRST_BLOCK,
    raw::{
        RecordKind,
        pack::{self, Table, unpack},
        path::{ChunkKind, PathStep, SYNC},
    },
};

/// What one thread wrote.
#[derive(Default)]
struct Written {
    packed: Vec<u8>,
    /// Units that are whole.
    units: u32,
    words: Vec<u32>,
    steps: Vec<PathStep>,
    /// Where each step stands in its path: the last block of the user's before it.
    places: Vec<u64>,
}

/// Blocks by the words that the callback wrote.
#[derive(Default)]
struct Known {
    /// The word in the run's paths, and the callback's return address if the block is the user's.
    words: FxHashMap<u32, (u32, Option<u64>)>,
    lost: u64,
}

impl Walk<'_> {
    /// Reads all of path mode's log: events become drafts, paths rows.
    pub fn run_paths(&mut self, log: &RawLog<'_>) -> Vec<PathRow> {
        let mut threads = read(log, self.calls.len());
        let mut known = Known::default();
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

    /// The path of one thread; notes in passing where its steps stand.
    fn path(&mut self, thread: ThreadId, written: &mut Written, known: &mut Known) -> PathRow {
        let mut table: Table = [0; size_of::<Table>() / 2];
        let (mut packed, mut blocks, mut place) = (Vec::new(), 0, 0);
        let mut rest = &*std::mem::take(&mut written.packed);
        let mut words = Vec::new();
        let last = std::mem::take(&mut written.words);
        let mut units = (0..written.units)
            .map_while(|_| {
                words.clear();
                unpack(&mut rest, &mut words)?;
                Some(words.clone())
            })
            .chain([last]);
        for mut unit in &mut units {
            unit.retain(|word| *word != 0);
            for word in &mut unit {
                if *word == SYNC {
                    written.places.push(place);
                    continue;
                }
                let (number, user) = self.known_block(*word, known);
                *word = number;
                blocks += 1;
                place = user.unwrap_or(place);
            }
            pack::pack(&unit, &mut table, |byte| packed.push(byte));
        }
        PathRow::new(thread, blocks, &packed)
    }

    fn known_block(&mut self, word: u32, known: &mut Known) -> (u32, Option<u64>) {
        if let Some(found) = known.words.get(&word) {
            return *found;
        }
        let candidates = self.memory.modules.callers(word);
        let pc = candidates.first().copied();
        if candidates.len() != 1 {
            known.lost += 1;
        }
        let user = pc.filter(|pc| self.user_site(*pc).is_some());
        let number = self.blocks.rows.len() as u32 + FIRST_BLOCK;
        let row = pc.and_then(|pc| self.block_row(pc));
        self.blocks.rows.push(row.unwrap_or(BlockRow {
            id: word.into(),
            ..BlockRow::default()
        }));
        known.words.insert(word, (number, user));
        (number, user)
    }
}

fn read(log: &RawLog<'_>, threads: usize) -> Vec<Written> {
    let mut written: Vec<Written> = Vec::new();
    written.resize_with(threads, Written::default);
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
            ChunkKind::Words => {
                written.units = chunk.used;
                written.words.extend(chunk.words());
            }
            ChunkKind::Steps => written.steps.extend(chunk.steps()),
        }
    }
    written
}

/// All steps, as thread and number, in an order in which they may have happened. A thread goes on as
/// long as it can, then the first one that can.
fn ordered(threads: &[Written], unordered: &mut u64) -> Vec<(usize, usize)> {
    let mut graph = Graph::of(threads);
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

type Step = (usize, usize);

/// Which step has to wait for which.
#[derive(Default)]
struct Graph {
    after: FxHashMap<Step, Vec<Step>>,
    /// Steps that wait, by how many they wait for.
    rest: FxHashMap<Step, usize>,
}

impl Graph {
    fn of(threads: &[Written]) -> Graph {
        let mut graph = Graph::default();
        let mut objects: FxHashMap<u64, Vec<(u64, Step)>> = FxHashMap::default();
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

    fn creation(&mut self, threads: &[Written], step: &PathStep, this: Step) {
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

    fn edge(&mut self, first: Step, second: Step) {
        self.after.entry(first).or_default().push(second);
        *self.rest.entry(second).or_default() += 1;
    }

    fn free(&mut self) -> BTreeSet<Step> {
        let free = self.rest.iter().filter(|(_, waits)| **waits == 0);
        free.map(|(step, _)| *step).collect()
    }

    /// The steps that waited for this one only.
    fn done(&mut self, step: Step) -> Vec<Step> {
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

    fn step(kind: RecordKind, addr: u64, order: u64, value: u64) -> PathStep {
        PathStep {
            order,
            record: Record {
                kind: kind as u8,
                addr,
                value,
                ..Record::default()
            },
        }
    }

    fn thread(steps: &[PathStep]) -> Written {
        Written {
            steps: steps.to_vec(),
            ..Written::default()
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
