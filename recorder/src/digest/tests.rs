//! Comparison of the digest with its definition, evaluated in full on all pairs of steps and on the run that is
//! assembled from the same log.

use super::{CampaignPlaces, Digest, PlaceMeeting};
use crate::assemble::{
    Launch, ProgramDebugInfo, RawLog, assemble,
    tests::{
        log_writer::LogWriter,
        programs::{Compiled, compile, compilers},
    },
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};
use unsnarl_trace::{
    Event, EventKind, Run, Value,
    raw::{Record, RecordKind as K},
};

const SOURCE: &str = "
long cell[8];
struct mixed { int number; char text[4]; long total; } mixed;
int work(int n) {
    cell[0] = n;    /* one */
    cell[1] = n;    /* two */
    mixed.total += cell[0];    /* three */
    return n;
}
int main(void) { return work(3); }
";

static PROGRAM: LazyLock<Compiled> = LazyLock::new(|| {
    let all = compilers("cells.c");
    let compiler = all.first().expect("neither gcc nor clang is there");
    compile(compiler, "cells.c", SOURCE, &["-g", "-O0"])
});

const MARKS: [&str; 3] = ["/* one */", "/* two */", "/* three */"];
static COUNTERS: LazyLock<[u64; 3]> =
    LazyLock::new(|| MARKS.map(|mark| PROGRAM.on_line("work", mark)));

/// Addresses at which the loader and the allocator put things.
#[derive(Clone, Copy)]
struct Placed {
    bias: u64,
    heap: u64,
    stacks: u64,
}

const HERE: Placed = Placed {
    bias: 0x5600_0000_0000,
    heap: 0x5600_1000_0000,
    stacks: 0x7f00_0000_0000,
};
const THERE: Placed = Placed {
    bias: 0x5700_0123_4000,
    heap: 0x5700_5000_8000,
    stacks: 0x7e00_0010_0000,
};
const STACK: u64 = 0x10_0000;

impl Placed {
    /// Writes a log of three threads, of which the first has created the others, and a block of the heap.
    fn log(self) -> LogWriter {
        let mut log = LogWriter::default();
        log.module(self.bias, self.bias, self.bias + 0x10_0000, "");
        for number in 0..3 {
            let low = self.stacks + number * STACK;
            log.thread(0, number, 0, (low, low + STACK));
        }
        log.push(0, K::Alloc, self.pc(0), self.heap, 0x4000);
        log.push(0, K::Fork, self.pc(0), 0, 1);
        log.push(0, K::Fork, self.pc(0), 0, 2);
        log
    }

    fn pc(self, place: usize) -> u64 {
        self.bias + COUNTERS[place]
    }

    fn cell(self, slot: usize) -> u64 {
        self.bias + PROGRAM.symbol("cell") + 8 * slot as u64
    }
}

fn digest(log: &LogWriter, places: &mut CampaignPlaces) -> Digest {
    let bytes = log.bytes();
    Digest::of(&RawLog::new(&bytes).unwrap(), program(), places)
}

fn order(log: &LogWriter) -> String {
    digest(log, &mut CampaignPlaces::default()).order
}

fn program() -> &'static ProgramDebugInfo {
    &PROGRAM.program
}

/// Thread, kind, slot and place of a step.
type StepIdentity = (u16, usize, usize, usize);

const KINDS: [K; 8] = [
    K::Read,
    K::Write,
    K::Rmw,
    K::ReadRange,
    K::WriteRange,
    K::Lock,
    K::SharedLock,
    K::Yield,
];

/// Bytes of the block that steps touch: parts of words, across words, across pages, whole pages.
const SLOTS: [(u64, u64); 10] = [
    (0, 8),
    (0, 4),
    (4, 4),
    (3, 2),
    (6, 4),
    (0xffe, 4),
    (0x1000, 8),
    (0x1008, 1),
    (0, 0x2000),
    (0x1004, 0x1ffc),
];

fn record(at: Placed, (thread, kind, slot, place): &StepIdentity) -> Record {
    let (from, bytes) = SLOTS[*slot];
    let kind = KINDS[*kind];
    let is_range = matches!(kind, K::ReadRange | K::WriteRange);
    Record {
        kind: kind as u8,
        thread: *thread,
        size: if is_range { 0 } else { bytes as u32 },
        pc: at.pc(*place),
        addr: at.heap + from,
        value: if is_range { bytes } else { 0 },
        ..Record::default()
    }
}

fn written(at: Placed, steps: &[StepIdentity]) -> LogWriter {
    let mut log = at.log();
    for step in steps {
        log.record(record(at, step));
    }
    log
}

/// Makes a step sensible: objects are used as such, data is accessed in pieces of bounded size.
fn sensible((thread, kind, slot, place): StepIdentity) -> StepIdentity {
    match KINDS[kind] {
        K::Lock | K::SharedLock => (thread, kind, 1, place),
        K::ReadRange | K::WriteRange => (thread, kind, slot, place),
        _ => (thread, kind, slot % 8, place),
    }
}

/// The steps of each thread and all pairs of conflicting steps, by the definition.
#[derive(PartialEq, Eq, Debug)]
struct Naive {
    paths: Vec<Vec<(usize, usize, usize)>>,
    before: BTreeSet<((u16, usize), (u16, usize))>,
}

fn conflict(a: &StepIdentity, b: &StepIdentity) -> bool {
    let looks =
        |step: &StepIdentity| matches!(KINDS[step.1], K::Read | K::ReadRange | K::SharedLock);
    let range = |step: &StepIdentity| {
        let (from, bytes) = SLOTS[step.2];
        let is_object = matches!(KINDS[step.1], K::Lock | K::SharedLock);
        from..from + if is_object { 4 } else { bytes }
    };
    let (one, other) = (range(a), range(b));
    !(looks(a) && looks(b)) && one.start < other.end && other.start < one.end
}

fn naive(steps: &[StepIdentity]) -> Naive {
    let mut paths = vec![Vec::new(); 3];
    let mut named = Vec::new();
    for step in steps.iter().filter(|step| KINDS[step.1] != K::Yield) {
        let path: &mut Vec<_> = &mut paths[usize::from(step.0)];
        named.push(((step.0, path.len()), step));
        path.push((step.1, step.2, step.3));
    }
    let mut before = BTreeSet::new();
    for (i, (a, first)) in named.iter().enumerate() {
        for (b, second) in &named[i + 1..] {
            if a.0 != b.0 && conflict(first, second) {
                before.insert((*a, *b));
            }
        }
    }
    Naive { paths, before }
}

fn steps() -> impl Strategy<Value = Vec<StepIdentity>> {
    let step = (0u16..3, 0..KINDS.len(), 0..SLOTS.len(), 0..MARKS.len());
    proptest::collection::vec(step.prop_map(sensible), 1..14)
}

/// Exchanges some neighbouring steps.
fn exchanged(mut steps: Vec<StepIdentity>, swaps: &[prop::sample::Index]) -> Vec<StepIdentity> {
    for swap in swaps {
        let at = swap.index(steps.len());
        if at > 0 && steps[at].0 != steps[at - 1].0 {
            steps.swap(at, at - 1);
        }
    }
    steps
}

proptest! {
    /// Equal orders have equal hashes and others have not; about half of the samples are the same order.
    #[test]
    fn equal_hashes_for_equal_orders_only(
        steps in steps(),
        swaps in proptest::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let other = exchanged(steps.clone(), &swaps);
        let is_same = order(&written(HERE, &steps)) == order(&written(HERE, &other));
        prop_assert_eq!(is_same, naive(&steps) == naive(&other));
    }

    /// The hash does not depend on where things lie.
    #[test]
    fn equal_hashes_at_other_addresses(steps in steps()) {
        prop_assert_eq!(order(&written(HERE, &steps)), order(&written(THERE, &steps)));
    }
}

/// Accesses to the elements of an array, which are the same in the log and in the run.
fn elements(steps: &[StepIdentity]) -> LogWriter {
    let mut log = HERE.log();
    for (thread, kind, slot, place) in steps {
        let kind = [K::Read, K::Write, K::AtomicRead, K::Rmw][kind % 4];
        log.access(*thread, kind, (HERE.pc(*place), HERE.cell(slot % 3)), 8, 1);
    }
    log
}

fn run(log: &LogWriter) -> Run {
    let bytes = log.bytes();
    assemble(&RawLog::new(&bytes).unwrap(), program(), &Launch::default())
}

/// Meetings of two threads on one location according to the run: lines, and `true` if the elder thread came first. A
/// repetition by a thread from the same place, with nobody in between, is no new meeting.
fn met(run: &Run) -> BTreeMap<(u32, u32, bool), u64> {
    let looks = |event: &Event| matches!(event.kind, EventKind::Read | EventKind::AtomicRead);
    let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
    let forked = |child: u16| {
        let is_fork = |row: &Event| {
            row.kind == EventKind::Fork && row.value == Some(Value::Bits(child.into()))
        };
        rows.iter().position(is_fork).unwrap_or(0)
    };
    let mut met = BTreeMap::new();
    for (at, later) in rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.kind.is_access())
    {
        let is_alike = |row: &Event| {
            looks(row) == looks(later) && (row.thread, row.site) == (later.thread, later.site)
        };
        let mut earlier = rows[..at].iter().rev();
        let last = earlier.find(|row| row.kind.is_access() && row.location == later.location);
        if last.is_some_and(is_alike) {
            continue;
        }
        let mut looked = BTreeSet::new();
        for (before, earlier) in rows[..at].iter().enumerate().rev() {
            if !earlier.kind.is_access() || earlier.location != later.location {
                continue;
            }
            let is_open = earlier.thread != later.thread && before > forked(later.thread.0);
            // Of the looks of one thread only the last one counts, and none beside a look.
            let counts = !looks(earlier) || !looks(later) && looked.insert(earlier.thread.0);
            if is_open && counts {
                let line = |event: &Event| run.meta.site(event.site).line;
                let key = (line(earlier), line(later), earlier.thread < later.thread);
                *met.entry(key).or_insert(0) += 1;
            }
            if !looks(earlier) {
                break;
            }
        }
    }
    met
}

/// The lines whose accesses touch locations that threads met on.
fn lines_that_meet(run: &Run, steps: &[StepIdentity]) -> BTreeSet<u32> {
    let mut lines = BTreeSet::new();
    for slot in 0..3 {
        let own: Vec<StepIdentity> = steps
            .iter()
            .copied()
            .filter(|step| step.2 % 3 == slot)
            .collect();
        if !met(&self::run(&elements(&own))).is_empty() {
            let name = format!("cell[{slot}]");
            let rows = run.events.iter().map(|(_, event)| event);
            let rows =
                rows.filter(|row| row.kind.is_access() && run.location(row.location) == name);
            lines.extend(rows.map(|row| run.meta.site(row.site).line));
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Coverage and filter learn from the log what the run shows.
    #[test]
    fn meetings_are_those_of_the_run(steps in steps()) {
        let (log, mut places) = (elements(&steps), CampaignPlaces::default());
        let (digest, run) = (digest(&log, &mut places), run(&log));
        let line = |place: u32| places.rows().get(place).unwrap().site.line;
        let mut meetings = BTreeMap::new();
        for (PlaceMeeting { earlier, later, is_elder_first }, met) in &digest.meetings {
            *meetings.entry((line(*earlier), line(*later), *is_elder_first)).or_insert(0) += met.times;
        }
        prop_assert_eq!(meetings, met(&run));
        let met = digest.accesses.iter().filter(|(_, met)| *met);
        let met: BTreeSet<u32> = met.map(|(place, _)| line(*place)).collect();
        prop_assert_eq!(met, lines_that_meet(&run, &steps));
        prop_assert_eq!(digest.events, run.events.sequence().last().unwrap() + 1);
    }

    /// Runs are alike by their logs if and only if they are by the order of the steps on each of the run's locations.
    #[test]
    fn orders_are_those_of_the_run(
        steps in steps(),
        swaps in proptest::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let other = exchanged(steps.clone(), &swaps);
        let (one, two) = (elements(&steps), elements(&other));
        prop_assert_eq!(order(&one) == order(&two), of_run(&run(&one)) == of_run(&run(&two)));
    }
}

/// The steps of each thread, and the changes of each location with the looks between them.
type StepsOfRun = (
    BTreeMap<u16, Vec<String>>,
    BTreeMap<String, Vec<BTreeSet<String>>>,
);

fn of_run(run: &Run) -> StepsOfRun {
    let mut of_run = StepsOfRun::default();
    for (_, event) in run
        .events
        .iter()
        .filter(|(_, event)| event.kind.is_access())
    {
        let name = run.location(event.location).to_owned();
        let path = of_run.0.entry(event.thread.0).or_default();
        path.push(format!(
            "{} {name} {}",
            event.kind.name(),
            run.meta.site(event.site).line
        ));
        let id = format!("{} {}", event.thread.0, path.len());
        let chain = of_run.1.entry(name).or_default();
        let looks = matches!(event.kind, EventKind::Read | EventKind::AtomicRead);
        if !looks || chain.len().is_multiple_of(2) {
            chain.resize(
                chain.len().next_multiple_of(2) + usize::from(looks),
                BTreeSet::new(),
            );
        }
        match (looks, chain.last_mut()) {
            (true, Some(looks)) => {
                looks.insert(id);
            }
            _ => chain.extend([BTreeSet::new(), BTreeSet::from([id])]),
        }
    }
    of_run
}

#[test]
fn blocks_are_told_apart_by_who_allocated_them() {
    let log = |first: u16, blocks: [u64; 2]| {
        let mut log = HERE.log();
        for thread in [first, 3 - first] {
            let at = HERE.heap + 0x10_0000 + blocks[usize::from(thread) - 1];
            log.push(thread, K::Alloc, HERE.pc(0), at, 64);
            log.access(thread, K::Write, (HERE.pc(1), at + 8), 8, 1);
        }
        log
    };
    assert_eq!(order(&log(1, [0, 64])), order(&log(2, [64, 0])));
}

#[test]
fn memory_that_is_given_out_again_is_other_memory() {
    let log = |last: u16| {
        let mut log = HERE.log();
        let at = HERE.heap + 0x10_0000;
        for (thread, from) in [(1, 0), (last, 1)] {
            log.push(thread, K::Alloc, HERE.pc(from), at, 64);
            log.access(thread, K::Write, (HERE.pc(1), at), 8, 1);
            log.push(thread, K::Free, HERE.pc(2), at, 0);
        }
        digest(&log, &mut CampaignPlaces::default())
    };
    assert!(log(1).meetings.is_empty() && log(2).meetings.is_empty());
    assert_ne!(log(1).order, log(2).order);
}

#[test]
fn a_free_meets_the_last_accesses_to_its_block() {
    let mut log = HERE.log();
    let at = HERE.heap + 0x10_0000;
    log.push(1, K::Alloc, HERE.pc(0), at, 64);
    for offset in [0, 8, 16] {
        log.access(2, K::Write, (HERE.pc(1), at + offset), 8, 1);
    }
    log.push(1, K::Free, HERE.pc(2), at, 0);
    let mut places = CampaignPlaces::default();
    let times: Vec<u64> = digest(&log, &mut places)
        .meetings
        .values()
        .map(|met| met.times)
        .collect();
    assert_eq!(times, [1]);
}

#[test]
fn a_use_after_free_is_another_order() {
    let log = |free_first: bool| {
        let mut log = HERE.log();
        let at = HERE.heap + 0x10_0000;
        log.push(1, K::Alloc, HERE.pc(0), at, 64);
        let free = |log: &mut LogWriter, now| {
            if now {
                log.push(1, K::Free, HERE.pc(2), at, 0);
            }
        };
        free(&mut log, free_first);
        log.access(2, K::Read, (HERE.pc(1), at + 8), 8, 1);
        free(&mut log, !free_first);
        log
    };
    assert_ne!(order(&log(true)), order(&log(false)));
}

#[test]
fn clearing_much_memory_takes_a_step_for_each_page() {
    let mut log = HERE.log();
    let at = HERE.heap + 0x1_0000_0000;
    log.push(0, K::Alloc, HERE.pc(0), at, 3 << 30);
    let clear = Record {
        kind: K::WriteRange as u8,
        pc: HERE.pc(1),
        addr: at,
        value: 3 << 30,
        ..Record::default()
    };
    log.record(clear);
    assert_eq!(digest(&log, &mut CampaignPlaces::default()).events, 5);
}

#[test]
fn a_log_of_nonsense_has_an_order() {
    let mut log = LogWriter::default();
    assert_eq!(order(&log).len(), 16);
    for kind in 0..=u8::MAX {
        log.record(Record {
            kind,
            thread: u16::from(kind) % 5,
            size: u32::MAX,
            addr: u64::MAX - 3,
            value: u64::MAX,
            ..Record::default()
        });
    }
    assert_eq!(order(&log).len(), 16);
}
