//! Costs of a trace of one million events, as ratios to a plain scan of the same columns.

use anyhow::{Context, Result};
use std::{
    fs,
    hint::black_box,
    io::BufWriter,
    path::Path,
    time::{Duration, Instant},
};
use unsnarl_core::{
    Orders,
    orders::{HappensBefore, Locks},
};
use unsnarl_trace::{
    Event, EventKind, Events, LocationId, PointId, Run, RunMeta, SiteId, SiteRow, StackId,
    ThreadId, ThreadRow, Value, read_run, write_run,
};

const EVENTS: usize = 1_000_000;
const THREADS: u16 = 4;
const LOCKS: u32 = 16;
const LOCATIONS: u32 = 10_000;
const SITES: u32 = 200;
/// Number of measurements of which each figure is the best.
const REPEATS: usize = 5;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.arrow");
    let run = run();
    let scan = best(|| scan(&run.events));
    let mut rows = vec![("plain scan of all columns", scan)];
    rows.push(("write the run file", try_best(|| write(&run, &path))?));
    rows.push((
        "read the run file",
        try_best(|| Ok(black_box(read_run(&path)).map(drop)?))?,
    ));
    rows.push((
        "happens-before",
        best(|| drop(black_box(HappensBefore::new(&run, &mut Vec::new())))),
    ));
    rows.push((
        "locksets",
        best(|| drop(black_box(Locks::new(&run, &mut Vec::new())))),
    ));
    rows.push(("all orders", best(|| drop(black_box(Orders::new(&run))))));
    let bytes = fs::metadata(&path)?.len();
    println!(
        "## One million events: {THREADS} threads, {LOCKS} locks, {LOCATIONS} locations, {bytes} bytes\n"
    );
    println!("| what | ms | million events/s | times the scan |");
    println!("|---|---:|---:|---:|");
    for (what, time) in rows {
        let (ms, ratio) = (
            time.as_secs_f64() * 1e3,
            time.as_secs_f64() / scan.as_secs_f64(),
        );
        println!(
            "| {what} | {ms:.2} | {:.0} | {ratio:.1} |",
            EVENTS as f64 / 1e3 / ms
        );
    }
    Ok(())
}

fn best(mut what: impl FnMut()) -> Duration {
    let once = |_| {
        let start = Instant::now();
        what();
        start.elapsed()
    };
    (0..REPEATS).map(once).min().unwrap_or_default()
}

fn try_best(mut what: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut result = Ok(());
    let time = best(|| {
        if let Err(error) = what() {
            result = Err(error);
        }
    });
    result.map(|()| time)
}

fn write(run: &Run, path: &Path) -> Result<()> {
    let file = fs::File::create(path).context("the temporary folder cannot be written")?;
    Ok(write_run(run, &mut BufWriter::new(file))?)
}

/// Touches every number of every column once.
fn scan(events: &Events) {
    let wide = |column: &[u64]| column.iter().fold(0u64, |sum, n| sum.wrapping_add(*n));
    let narrow = |column: &[u32]| column.iter().fold(0u32, |sum, n| sum.wrapping_add(*n));
    black_box(wide(events.sequence()) ^ wide(events.values()));
    black_box(narrow(events.sites()) ^ narrow(events.locations()));
    black_box(narrow(events.sizes()) ^ narrow(events.stacks()) ^ narrow(events.pointees()));
    black_box(
        events
            .threads()
            .iter()
            .fold(0u16, |sum, n| sum.wrapping_add(*n)),
    );
    black_box(
        events
            .flags()
            .iter()
            .fold(0u16, |sum, n| sum.wrapping_add(*n)),
    );
    black_box(
        events
            .kinds()
            .iter()
            .fold(0u8, |sum, n| sum.wrapping_add(*n)),
    );
}

/// A run of threads that take a lock, read and write a little, and release it, in turns.
fn run() -> Run {
    let mut rows = Vec::with_capacity(EVENTS);
    let mut random = Random(1);
    let thread_events = (1..THREADS).map(|child| (ThreadId(0), EventKind::Fork, u64::from(child)));
    let begins = (1..THREADS).map(|child| (ThreadId(child), EventKind::Begin, 0));
    for (thread, kind, value) in thread_events.chain(begins) {
        rows.push(Event {
            thread,
            value: Some(Value::Bits(value)),
            ..event(&rows, kind, 0, 0)
        });
    }
    while rows.len() < EVENTS {
        section(&mut rows, &mut random);
    }
    rows.truncate(EVENTS);
    let locations = std::iter::once(String::new())
        .chain((1..=LOCATIONS).map(|n| format!("table[{}].entry[{}]", n / 100, n % 100)))
        .collect();
    Run {
        meta: meta(),
        locations,
        events: Events::from_rows(&rows),
        damage: Vec::new(),
    }
}

fn section(rows: &mut Vec<Event>, random: &mut Random) {
    let thread = ThreadId(random.below(u32::from(THREADS)) as u16);
    let lock = 1 + random.below(LOCKS);
    let site = 1 + random.below(SITES - 1);
    rows.push(Event {
        thread,
        ..event(rows, EventKind::Lock, lock, site)
    });
    for _ in 0..random.below(12) {
        let location = 1 + LOCKS + random.below(LOCATIONS - LOCKS);
        let kind = if random.below(3) == 0 {
            EventKind::Write
        } else {
            EventKind::Read
        };
        let value = Some(Value::Bits(u64::from(random.below(1000))));
        rows.push(Event {
            thread,
            value,
            size: 4,
            ..event(rows, kind, location, 1 + random.below(SITES - 1))
        });
    }
    rows.push(Event {
        thread,
        ..event(rows, EventKind::Unlock, lock, site)
    });
}

fn event(rows: &[Event], kind: EventKind, location: u32, site: u32) -> Event {
    Event {
        seq: rows.len() as u64,
        thread: ThreadId(0),
        kind,
        site: SiteId(site),
        location: LocationId(location),
        size: 0,
        flags: 0,
        value: None,
        old: None,
        stack: StackId(0),
        point: PointId(0),
    }
}

fn meta() -> RunMeta {
    let thread = |n: u16| ThreadRow {
        name: if n == 0 {
            "main".to_owned()
        } else {
            format!("main.{n}")
        },
        parent: (n > 0).then_some(ThreadId(0)),
        ..ThreadRow::default()
    };
    let site = |n: u32| SiteRow {
        file: "table.c".to_owned(),
        line: n,
        column: 5,
        ..SiteRow::default()
    };
    RunMeta {
        threads: (0..THREADS).map(thread).collect(),
        sites: std::iter::once(SiteRow::default())
            .chain((1..SITES).map(site))
            .collect(),
        locks: (1..=LOCKS).map(LocationId).collect(),
        ..RunMeta::default()
    }
}

/// A random generator with the same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}
