//! Speed and memory of the search for predicted anomalies, beside a plain scan of the same events, and their growth.

use crate::{
    docs,
    measure::{best, forget_peak, peak, scan},
    predict::PAGE,
    synthetic::{SplitMix, event, from_rows},
    table::PrintedTable,
};
use anyhow::{Result, ensure};
use std::hint::black_box;
use unsnarl_core::{
    Budget, StopReason,
    orders::{HappensBefore, Locks},
    predict::{Class, ForcedOrder, Patterns, RegionOptions, Regions, SearchOptions, search},
};
use unsnarl_trace::{Event, EventKind, Run, Value};

/// Events of the paper's largest subject, rounded; the others show the growth.
const SIZES: [usize; 4] = [450_000, 1_400_000, 4_000_000, 10_000_000];

/// Threads that work; the first one only starts them.
const THREADS: u16 = 4;

/// Number of objects; each has a lock and some fields: 100 locations.
const OBJECTS: u32 = 20;
const FIELDS: u32 = 5;

/// Prints the tables and writes them into the docs.
pub fn run() -> Result<()> {
    let text = measure()?;
    println!("{text}");
    docs::replace(PAGE, "speed", &text)
}

fn measure() -> Result<String> {
    let mut table = PrintedTable::new(&[
        "threads wait for each other",
        "events",
        "graph, s",
        "regions, s",
        "search, s",
        "million events/s",
        "times a plain scan",
        "memory per event, bytes",
        "races, AVs, ASVs",
        "happens-before and locks alone, million events/s",
    ]);
    for meets in [Meets::Never, Meets::Barriers, Meets::Flags] {
        for events in SIZES {
            eprintln!("{events} events, {}", meets.name());
            table.row(row(meets, events)?);
        }
    }
    Ok(format!(
        "{table}\nSynthetic runs: {THREADS} threads, {} locations, {OBJECTS} locks, all built-in patterns, time of the \
         processor. *Plain scan*: as many times the time that adding up kinds, threads and locations takes. *Memory* is \
         what graph, regions and search add at their peak to the run's own columns.",
        OBJECTS * FIELDS
    ))
}

/// Frequency with which threads wait for each other: the partial order consists of what they learn there.
#[derive(Clone, Copy)]
enum Meets {
    Never,
    Barriers,
    Flags,
}

impl Meets {
    fn name(self) -> &'static str {
        match self {
            Meets::Never => "at the end only",
            Meets::Barriers => "at a barrier every 10,000 events",
            Meets::Flags => "by atomic flags every 200 events",
        }
    }

    /// Steps between two meetings.
    fn every(self) -> usize {
        match self {
            Meets::Never => usize::MAX,
            Meets::Barriers => 10_000,
            Meets::Flags => 200,
        }
    }
}

fn row(meets: Meets, events: usize) -> Result<Vec<String>> {
    let run = synthetic(meets, events);
    let count = run.events.len() as f64;
    let repeats = if events < 2_000_000 { 3 } else { 1 };
    let plain = best(5, || scan(&run))?;
    // SAFETY: the call gives free memory back and touches nothing else.
    unsafe { libc::malloc_trim(0) };
    let before = forget_peak()?;
    let options = RegionOptions::default();
    let graph = ForcedOrder::new(&run);
    let regions = Regions::new(&graph, &options);
    let graph = graph.with_regions(regions);
    let found = built_in(&graph);
    let memory = peak()?.saturating_sub(before) as f64 * 1024.0;
    ensure!(
        found.stopped == StopReason::Complete,
        "the search gave up: {:?}",
        found.stopped
    );
    let of = |class| found.findings.iter().filter(|c| c.class == class).count();
    let counts = [Class::Race, Class::Atomicity, Class::AtomicSet].map(of);
    let searched = best(repeats, || {
        black_box(built_in(&graph));
    })?;
    let divided = best(repeats, || {
        black_box(Regions::new(&graph, &options));
    })?;
    drop(graph);
    let built = best(repeats, || {
        black_box(ForcedOrder::new(&run));
    })?;
    let ordered = best(repeats, || {
        let mut anomalies = Vec::new();
        black_box(HappensBefore::new(&run, &mut anomalies));
        black_box(Locks::new(&run, &mut anomalies));
    })?;
    let total = (built + divided + searched).as_secs_f64();
    let seconds = |time: std::time::Duration| format!("{:.3}", time.as_secs_f64());
    Ok(vec![
        meets.name().to_owned(),
        run.events.len().to_string(),
        seconds(built),
        seconds(divided),
        seconds(searched),
        format!("{:.1}", count / 1e6 / total),
        format!("{:.0}", total / plain.as_secs_f64()),
        format!("{:.0}", memory / count),
        counts.map(|count| count.to_string()).join(", "),
        format!("{:.1}", count / 1e6 / ordered.as_secs_f64()),
    ])
}

fn built_in(
    graph: &ForcedOrder<'_>,
) -> unsnarl_core::EngineOutcome<unsnarl_core::predict::AnomalyCandidate> {
    let patterns = Patterns::built_in();
    search(
        graph,
        &patterns,
        &SearchOptions::default(),
        &Budget::unlimited(),
    )
}

/// Locations: the fields from 1, then the locks, then the barrier and the flags.
const FIRST_LOCK: u32 = 1 + OBJECTS * FIELDS;
const BARRIER: u32 = FIRST_LOCK + OBJECTS;
const FIRST_FLAG: u32 = BARRIER + 1;

/// Kinds of operations on an object; each has lines of its own.
const OPERATIONS: u64 = 8;
/// Odds of a careless operation: one in this many goes without a lock, one under the lock of another object.
const CARELESS: u64 = 80;
/// Lines of an operation.
const LINES: u32 = 10;

/// A step of a thread that is still to come.
type ComingStep = (EventKind, u32, u32, u16);

struct TraceMachine {
    random: SplitMix,
    rows: Vec<Event>,
    /// Next steps of each thread, last first.
    next: Vec<Vec<ComingStep>>,
    owner: Vec<Option<u16>>,
}

impl TraceMachine {
    fn push(&mut self, thread: u16, (kind, location, line, order): ComingStep, value: u64) {
        self.rows.push(Event {
            flags: order << unsnarl_trace::model::flags::ORDER_SHIFT,
            value: Some(Value::Bits(value)),
            ..event(thread, kind, location, line)
        });
    }

    /// One operation: lock, some fields read and written in an order of its own, the first one written again, unlock.
    fn operation(&mut self, thread: u16) {
        let operation = self.random.below(OPERATIONS) as u32;
        let object = self.random.below(u64::from(OBJECTS)) as u32;
        let line = 1 + operation * LINES;
        let lock = match self.random.below(CARELESS) {
            0 => None,
            1 => Some((object + 1) % OBJECTS),
            _ => Some(object),
        };
        let (field, step) = (operation % FIELDS, 1 + operation % 2);
        let access = |nth: u32, kind| {
            let field = (field + nth * step) % FIELDS;
            (kind, 1 + object * FIELDS + field, line + 1 + nth, 0)
        };
        let mut steps: Vec<ComingStep> = vec![access(0, EventKind::Read)];
        for nth in 1..2 + operation % 4 {
            let write = (operation + nth).is_multiple_of(3);
            steps.push(access(
                nth,
                if write {
                    EventKind::Write
                } else {
                    EventKind::Read
                },
            ));
        }
        if operation.is_multiple_of(2) {
            steps.push((EventKind::Write, 1 + object * FIELDS + field, line + 7, 0));
        }
        if let Some(lock) = lock {
            steps.insert(0, (EventKind::Lock, FIRST_LOCK + lock, line, 0));
            steps.push((EventKind::Unlock, FIRST_LOCK + lock, line + LINES - 1, 0));
        }
        steps.reverse();
        if let Some(next) = self.next.get_mut(usize::from(thread)) {
            *next = steps;
        }
    }

    /// One step of the thread, unless another has the lock that it asks for.
    fn step(&mut self, thread: u16) {
        let index = usize::from(thread);
        if self.next.get(index).is_none_or(Vec::is_empty) {
            self.operation(thread);
        }
        let Some(&step) = self.next.get(index).and_then(|next| next.last()) else {
            return;
        };
        if let Some(owner) = step
            .1
            .checked_sub(FIRST_LOCK)
            .and_then(|lock| self.owner.get_mut(lock as usize))
        {
            if step.0 == EventKind::Lock && owner.is_some() {
                return;
            }
            *owner = (step.0 == EventKind::Lock).then_some(thread);
        }
        if let Some(next) = self.next.get_mut(index) {
            next.pop();
        }
        self.push(thread, step, 0);
    }

    fn meet(&mut self, meets: Meets) {
        const RELEASE: u16 = 4;
        const ACQUIRE: u16 = 3;
        match meets {
            Meets::Never => {}
            Meets::Barriers => {
                for kind in [EventKind::BarrierArrive, EventKind::BarrierLeave] {
                    (1..=THREADS).for_each(|thread| self.push(thread, (kind, BARRIER, 0, 0), 0));
                }
            }
            Meets::Flags => {
                let from = 1 + self.random.below(u64::from(THREADS)) as u16;
                let to = 1 + from % THREADS;
                let flag = FIRST_FLAG + u32::from(from) - 1;
                self.push(from, (EventKind::AtomicWrite, flag, 98, RELEASE), 1);
                self.push(to, (EventKind::AtomicRead, flag, 99, ACQUIRE), 1);
            }
        }
    }
}

fn synthetic(meets: Meets, events: usize) -> Run {
    let mut machine = TraceMachine {
        random: SplitMix(1),
        rows: Vec::with_capacity(events + 64),
        next: vec![Vec::new(); usize::from(THREADS) + 1],
        owner: vec![None; OBJECTS as usize],
    };
    for thread in 1..=THREADS {
        machine.push(0, (EventKind::Fork, 0, 97, 0), u64::from(thread));
    }
    let mut met = 0;
    while machine.rows.len() < events {
        let thread = 1 + machine.random.below(u64::from(THREADS)) as u16;
        for _ in 0..=machine.random.below(20) {
            machine.step(thread);
        }
        if machine.rows.len() - met >= meets.every() {
            machine.meet(meets);
            met = machine.rows.len();
        }
    }
    from_rows(machine.rows, |line| {
        format!("operation_{}", line.saturating_sub(1) / LINES)
    })
}
