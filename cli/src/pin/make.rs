//! Makes the test of a failing run: the fewest events in whose order the program still fails.

use super::{Pin, Pinned, PinnedLine, lines};
use crate::record::stop_flag;
use anyhow::{Context, Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Component, Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};
use unsnarl_core::{Explanation, facts};
use unsnarl_lab::executable::{Executable, listed};
use unsnarl_lab::sources::is_other;
use unsnarl_trace::files::read_text;
use unsnarl_trace::{Event, EventId, EventKind, Proposal, Run, RunMeta, Wanted};

/// Bound for the executions that the reduction of the order may take.
const TRIALS: usize = 400;
/// Number of executions that have to fail in the end.
const SURE: usize = 3;

/// The test of a run that failed. Executes the program some hundred times; fails with the next step in words when the
/// order cannot be pinned.
pub fn make(run: &Run, explanation: Option<&Explanation>, program: &Executable) -> Result<Pinned> {
    let important = important(run, explanation);
    let mut trials = PinTrials {
        lines: ByLine::of(run),
        program,
        stop: stop_flag()?,
        left: TRIALS,
    };
    let order: Vec<EventId> = run.events.iter().map(|(id, _)| id).collect();
    let full = listed(run, &important, &order);
    let mut events = None;
    for start in [important.clone(), nameable(run, full)] {
        if trials.fails(&start)? {
            events = Some(start);
            break;
        }
    }
    let Some(mut events) = events else {
        bail!(
            "the program does not fail by the order of this run's events: it needs more than the order of threads (docs/schedule.md, Limits)\n  next: export another failing run"
        );
    };
    trials.shrink(&mut events, &important)?;
    trials.left = SURE;
    for _ in 0..SURE {
        if !trials.fails(&events)? {
            bail!(
                "the order of this run fails at one time and passes at another: the program depends on more than that\n  next: export another failing run"
            );
        }
    }
    pinned(run, trials.lines.schedule(&events))
}

/// The steps of an explanation, except for the one that fails: that one is the test's result.
fn important(run: &Run, explanation: Option<&Explanation>) -> Vec<EventId> {
    let Some(explanation) = explanation else {
        return Vec::new();
    };
    let failed = explanation.failure.site.as_ref();
    let steps = explanation.steps.iter();
    let steps = steps.filter(|step| {
        failed.is_none_or(|failed| failed.line != step.place.line || failed.file != step.place.file)
    });
    let rows: BTreeSet<EventId> = steps.map(|step| EventId(step.event)).collect();
    let can_be_held = |row: &EventId| {
        let event = run.events.get(*row);
        event.is_some_and(|event| {
            event.kind.is_access()
                || matches!(
                    event.kind,
                    EventKind::Lock | EventKind::Free | EventKind::Signal | EventKind::Broadcast
                )
        })
    };
    nameable(run, rows.into_iter().filter(can_be_held).collect())
}

/// Leaves out events outside the user's code, such as the `free` by which the C++ library ends a thread: a schedule
/// cannot name their place, and a test could not find it again.
fn nameable(run: &Run, mut events: Vec<EventId>) -> Vec<EventId> {
    let has_line = |row: &EventId| {
        let event = run.events.get(*row);
        event.is_some_and(|event| run.meta.site(event.site).is_of_user())
    };
    events.retain(has_line);
    events
}

/// Executes orders.
struct PinTrials<'a> {
    lines: ByLine<'a>,
    program: &'a Executable,
    stop: Arc<AtomicBool>,
    left: usize,
}

impl PinTrials<'_> {
    /// Returns whether the program fails by this order, as the run did.
    fn fails(&mut self, events: &[EventId]) -> Result<bool> {
        self.left = self.left.saturating_sub(1);
        let verdict = self.program.run(&self.lines.schedule(events), &self.stop)?;
        if verdict.stopped {
            bail!("stopped");
        }
        let (then, now) = (&self.lines.run.meta, &verdict.run.meta);
        let message = |meta: &RunMeta| meta.failure.as_ref().map(|failure| failure.message.clone());
        Ok(now.outcome == then.outcome && message(now) == message(then))
    }

    /// Removes events that the failure does not need, larger pieces first. Those in `kept` stay: the failure is about
    /// them, and a shorter order that fails for another reason would be another test.
    fn shrink(&mut self, events: &mut Vec<EventId>, kept: &[EventId]) -> Result<()> {
        let mut piece = events.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < events.len() && self.left > 0 {
                let end = (at + piece).min(events.len());
                let inside = events.get(at..end).unwrap_or(&[]);
                let (stay, goes): (Vec<EventId>, Vec<EventId>) =
                    inside.iter().partition(|event| kept.contains(event));
                let fewer: Vec<EventId> = events
                    .get(..at)
                    .into_iter()
                    .flatten()
                    .chain(&stay)
                    .chain(events.get(end..).into_iter().flatten())
                    .copied()
                    .collect();
                match !goes.is_empty() && self.fails(&fewer)? {
                    true => {
                        *events = fewer;
                        at += stay.len();
                    }
                    false => at = end,
                }
            }
            if piece == 1 || self.left == 0 {
                return Ok(());
            }
            piece = piece.div_ceil(2);
        }
    }
}

/// Steps of each thread at each line, so that an order becomes a schedule of lines: columns shift too easily.
struct ByLine<'a> {
    run: &'a Run,
    /// Number of each site; sites of one line and function share it.
    line_of: Vec<u32>,
    /// Times of each thread's events of a kind at a line.
    times: BTreeMap<(u16, EventKind, u32), Vec<u64>>,
}

impl ByLine<'_> {
    fn of(run: &Run) -> ByLine<'_> {
        let mut numbers = BTreeMap::new();
        let mut line_of = Vec::new();
        for site in &run.meta.sites {
            let next = numbers.len() as u32;
            let number = numbers.entry((&site.file, site.line, &site.function));
            line_of.push(*number.or_insert(next));
        }
        let mut by_line = ByLine {
            run,
            line_of,
            times: BTreeMap::new(),
        };
        for (_, event) in run.events.iter() {
            let key = by_line.key(&event);
            let times = by_line.times.entry(key).or_default();
            if times.last() != Some(&event.seq) {
                times.push(event.seq);
            }
        }
        by_line
    }

    fn key(&self, event: &Event) -> (u16, EventKind, u32) {
        let line = self.line_of.get(event.site.index()).copied();
        (event.thread.0, event.kind, line.unwrap_or(u32::MAX))
    }

    fn schedule(&self, events: &[EventId]) -> Proposal {
        let mut before: BTreeMap<u16, u64> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut schedule = Proposal::on(&self.run.meta);
        for event in events.iter().filter_map(|row| self.run.events.get(*row)) {
            // The rows of one access to several locations are one event.
            if seen.insert(event.seq) {
                let after = before.insert(event.thread.0, event.seq);
                schedule.events.push(self.wanted(&event, after));
            }
        }
        schedule
    }

    fn wanted(&self, event: &Event, after: Option<u64>) -> Wanted {
        let times = self.times.get(&self.key(event));
        let times = times.map_or(&[][..], Vec::as_slice).iter();
        let since =
            times.filter(|time| after.is_none_or(|after| **time > after) && **time <= event.seq);
        let site = self.run.meta.site(event.site);
        let thread = facts::thread_name(self.run, event.thread);
        Wanted {
            column: 0,
            nth: u32::try_from(since.count().max(1)).unwrap_or(u32::MAX),
            location: self.run.location(event.location).to_owned(),
            ..Wanted::at(thread, event.kind, site)
        }
    }
}

/// The test in its stored form: nothing of this build, and no path outside the folder if that can be avoided.
fn pinned(run: &Run, mut schedule: Proposal) -> Result<Pinned> {
    let here = env::current_dir().context("the current folder cannot be found")?;
    let mut found: Vec<PinnedLine> = Vec::new();
    for wanted in &mut schedule.events {
        let recorded = std::mem::take(&mut wanted.file);
        wanted.file = inside(Path::new(&recorded), &here);
        let line = line(run, &recorded, wanted)?;
        if !found.contains(&line) {
            found.push(line);
        }
    }
    schedule.build_id.clear();
    schedule.input_hash.clear();
    let directory = PathBuf::from(&schedule.directory);
    if schedule.program.contains('/') {
        let program = inside(&directory.join(&schedule.program), &directory);
        schedule.program = match Path::new(&program).is_absolute() {
            true => program,
            false => format!("./{program}"),
        };
    }
    schedule.directory = inside(&directory, &here);
    let failure = run.meta.failure.as_ref();
    let failure = failure.map_or_else(
        || run.meta.outcome.name().to_owned(),
        |failure| failure.message.clone(),
    );
    Ok(Pinned {
        schedule,
        pinned: Pin {
            failure,
            lines: found,
        },
    })
}

/// The text of a line with its surroundings.
fn line(run: &Run, recorded: &str, wanted: &Wanted) -> Result<PinnedLine> {
    if wanted.line == 0 {
        bail!(
            "an event of this order has no line in the source: {wanted}\n  next: build with -g and record again"
        );
    }
    let mut sources = run.meta.sources.iter();
    let source = sources.find(|source| source.file == recorded);
    if source.is_some_and(|source| is_other(recorded, &source.sha256)) {
        bail!(
            "{recorded} has changed since this run was recorded\n  next: build and record again, and export before you edit"
        );
    }
    let content = read_text(recorded.as_ref())
        .with_context(|| format!("cannot read {recorded}, whose lines the test names"))?;
    lines::anchor(&wanted.file, &content, wanted.line)
        .with_context(|| format!("{recorded} has no line {}", wanted.line))
}

/// The path relative to the folder, `src/bank.c`, if it lies in it, otherwise the whole path; empty for the folder
/// itself.
fn inside(path: &Path, folder: &Path) -> String {
    let parts = path.components();
    let clean: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
    let inside = clean.strip_prefix(folder).unwrap_or(&clean);
    inside.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::script;

    #[test]
    fn events_of_libraries_are_not_named() {
        let run = script::parse(
            "main fork main.1 @3 main\nmain.1 W n =1 @9 add\n\
             main.1 free h @/usr/include/c++/12/bits/std_thread.h:200 ~_State_impl\n\
             main join main.1 @4 main",
        )
        .expect("a run");
        let all = run.events.iter().map(|(id, _)| id).collect();
        let named = nameable(&run, all);
        let kinds: Vec<EventKind> = named
            .iter()
            .filter_map(|id| Some(run.events.get(*id)?.kind))
            .collect();
        assert_eq!(kinds, [EventKind::Fork, EventKind::Write, EventKind::Join]);
    }
}
