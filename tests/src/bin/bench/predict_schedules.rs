//! Cost of making schedules, by the size of the run, beside a scan of its columns.

use crate::{
    docs,
    measure::{scan, timed},
    synthetic::{SplitMix, event, from_rows},
    table::PrintedTable,
};
use anyhow::{Context, Result, ensure};
use std::{collections::BTreeMap, time::Duration};
use unsnarl_core::{
    Budget,
    predict::{
        AnomalyCandidate, ForcedOrder, Patterns, SearchOptions,
        feasible::Checker,
        schedule::{NoOrder, Scheduler},
        search,
    },
};
use unsnarl_trace::{Event, EventKind, Run, ThreadRow, Value};

/// Candidates of a run for which a schedule is made.
const CANDIDATES: usize = 100;
/// Threads of a run.
const THREADS: u16 = 4;
/// Locations that they share.
const LOCATIONS: u32 = 100;
/// Locks; each guards ten locations.
const LOCKS: u32 = 10;

/// Prints the table and writes it into the docs.
pub fn run() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "events",
        "candidates",
        "schedules",
        "impossible",
        "gave up",
        "infeasible",
        "median",
        "mean",
        "longest",
        "once a run",
        "check",
        "scan",
        "median beside a scan",
    ]);
    for events in [56_250, 112_500, 225_000, 450_000] {
        eprintln!("schedules of {events} events");
        table.row(measure(events)?);
    }
    let text = format!(
        "{table}\nSynthetic runs of {THREADS} threads, {LOCATIONS} locations and {LOCKS} locks, some nested; a tenth of the \
         accesses forget their lock. Up to {CANDIDATES} candidates of the built-in patterns, taken evenly from all. \
         Times are the processor's. *Median*, *mean*, *longest*: of one candidate, the check by the independent \
         checker included; *once a run*: what all candidates of a run share; *scan*: adding up the run's columns."
    );
    println!("{text}");
    docs::replace("engines/predict.md", "schedules", &text)
}

fn measure(events: usize) -> Result<Vec<String>> {
    let run = synthetic(events);
    let graph = ForcedOrder::new(&run);
    let found = search(
        &graph,
        &Patterns::built_in(),
        &SearchOptions::default(),
        &Budget::unlimited(),
    );
    let every = found.findings.len().div_ceil(CANDIDATES).max(1);
    let candidates: Vec<&AnomalyCandidate> = found.findings.iter().step_by(every).collect();
    let (scheduler, once) = timed(|| Scheduler::new(&run))?;
    let mut times = Vec::new();
    let mut ended: BTreeMap<&str, usize> = BTreeMap::new();
    for candidate in &candidates {
        let (order, time) = timed(|| scheduler.order(candidate))?;
        times.push(time);
        *ended.entry(word(&order)).or_default() += 1;
    }
    times.sort();
    let median = *times.get(times.len() / 2).context("no candidates")?;
    let mean = times.iter().sum::<Duration>() / times.len().try_into()?;
    let longest = *times.last().context("no candidates")?;
    let checker = Checker::new(&run);
    let all: Vec<_> = (0..run.events.len() as u32)
        .map(unsnarl_trace::EventId)
        .collect();
    let (checked, check) = timed(|| checker.check(&all))?;
    ensure!(
        checked.is_ok(),
        "the recorded order is not feasible: {checked:?}"
    );
    let (_, plain) = timed(|| scan(&run))?;
    let count = |word: &str| ended.get(word).copied().unwrap_or(0).to_string();
    Ok(vec![
        run.events.len().to_string(),
        candidates.len().to_string(),
        count("made"),
        count("impossible"),
        count("gave up"),
        count("infeasible"),
        milliseconds(median),
        milliseconds(mean),
        milliseconds(longest),
        milliseconds(once),
        milliseconds(check),
        milliseconds(plain),
        format!(
            "{:.1}",
            median.as_secs_f64() / plain.as_secs_f64().max(1e-9)
        ),
    ])
}

fn word<T>(order: &Result<T, NoOrder>) -> &'static str {
    match order {
        Ok(_) => "made",
        Err(NoOrder::GaveUp { .. }) => "gave up",
        Err(NoOrder::Infeasible(_)) => "infeasible",
        Err(_) => "impossible",
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// A thread's way through a few accesses under a lock, perhaps with a second lock inside.
struct Plan(Vec<(EventKind, u32, u32)>);

impl Plan {
    /// A stretch of a thread; its rows are taken from the end.
    fn draw(random: &mut SplitMix) -> Plan {
        let (lock, length) = (random.below(LOCKS), 4 + random.below(12));
        let forgets = random.below(10) == 0;
        let inner = (random.below(8) == 0 && lock + 1 < LOCKS)
            .then(|| lock + 1 + random.below(LOCKS - lock - 1));
        let mut rows = Vec::new();
        for _ in 0..length {
            let location = 1 + lock + LOCKS * random.below(LOCATIONS / LOCKS);
            let kind = if random.below(3) == 0 {
                EventKind::Write
            } else {
                EventKind::Read
            };
            rows.push((kind, location, location * 4 + random.below(4)));
        }
        let object = |lock: u32| LOCATIONS + 1 + lock;
        if let Some(inner) = inner {
            rows.insert(1, (EventKind::Unlock, object(inner), 0));
            rows.insert(3, (EventKind::Lock, object(inner), 0));
        }
        if !forgets {
            rows.insert(0, (EventKind::Unlock, object(lock), 0));
            rows.push((EventKind::Lock, object(lock), 0));
        }
        Plan(rows)
    }
}

/// A run of about that many events.
fn synthetic(events: usize) -> Run {
    let mut random = SplitMix(7);
    let mut rows: Vec<Event> = Vec::with_capacity(events);
    let mut push = |thread: u16, kind, location, site, value| {
        rows.push(Event {
            value: Some(Value::Bits(value)),
            ..event(thread, kind, location, site)
        });
        rows.len()
    };
    for child in 1..THREADS {
        push(0, EventKind::Fork, 0, 0, u64::from(child));
    }
    let mut plans: Vec<Plan> = (0..THREADS).map(|_| Plan::draw(&mut random)).collect();
    let mut held: BTreeMap<u32, u16> = BTreeMap::new();
    loop {
        let thread = random.below(u32::from(THREADS)) as u16;
        for _ in 0..=random.below(6) {
            let Some(plan) = plans.get_mut(usize::from(thread)) else {
                break;
            };
            let Some(&(kind, object, site)) = plan.0.last() else {
                *plan = Plan::draw(&mut random);
                continue;
            };
            if kind == EventKind::Lock && held.contains_key(&object) {
                break;
            }
            match kind {
                EventKind::Lock => drop(held.insert(object, thread)),
                EventKind::Unlock => drop(held.remove(&object)),
                _ => {}
            }
            plan.0.pop();
            if push(thread, kind, object, site, 0) >= events {
                return of_rows(rows);
            }
        }
    }
}

fn of_rows(rows: Vec<Event>) -> Run {
    let mut run = from_rows(rows, |_| String::new());
    let thread = |i| ThreadRow {
        name: format!("t{i}"),
        ..ThreadRow::default()
    };
    run.meta.threads = (0..THREADS).map(thread).collect();
    run
}
