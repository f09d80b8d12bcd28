//! Runs a recorded run again, with its schedule, and compares event by event; or under a debugger.

pub mod debug;
pub mod registers;
mod verbs;

use crate::{
    launch::{LaunchError, Output, Starter},
    log::Limits,
    record::{Attempt, Executed, Job, RecordError, execute, input_hash},
    target::{self, Target, TargetError},
};
use std::{
    ffi::OsString,
    fmt,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use unsnarl_trace::{Event, EventId, EventKind, Mode, Outcome, Run, RunMeta, Value};

/// How a run is run again.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often.
    pub times: u64,
    /// File for standard input, if the run had one.
    pub stdin: Option<PathBuf>,
    /// Time that each may take.
    pub timeout: Duration,
    /// What becomes of the program's output.
    pub output: Output,
    /// Record the branches that are taken, too.
    pub branches: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Runs that were the recorded one again.
    pub same: u64,
    /// Where the first of the others left it; replaying ended there.
    pub difference: Option<Difference>,
    /// What the last run has to say that the recorded one has not, such as other input.
    pub notes: Vec<String>,
    /// The user stopped it.
    pub stopped: bool,
    /// The outcome that the recorded run had.
    pub outcome: Outcome,
    /// The recorded run with its branches, when they were asked for and a run repeated it.
    pub with_branches: Option<Run>,
}

/// Where a run left the recorded one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Number of the event, from 0; the number of events when only the endings differ.
    pub event: usize,
    /// What the recorded run did.
    pub recorded: String,
    /// What this one did.
    pub replayed: String,
}

/// Why a run cannot be run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The program is not what was recorded.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Another build.
    #[error(
        "{program} is another build than the one that was recorded\n  next: build it as it was then, or record the new build: unsnarl record -- {command}"
    )]
    OtherBuild {
        /// The program.
        program: String,
        /// The command that was recorded.
        command: String,
    },
    /// Other input.
    #[error("the run had another standard input\n  next: name the file with --stdin")]
    OtherInput,
    /// No schedule.
    #[error(
        "the run has no schedule to follow: it was {0}\n  next: record with a controlled strategy, such as the default"
    )]
    NoSchedule(&'static str),
    /// The folder that it ran in is gone.
    #[error(
        "the folder that the program ran in is gone: {0}\n  next: make it again, or record again"
    )]
    NoDirectory(String),
    /// It did not run.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl From<LaunchError> for ReplayError {
    fn from(error: LaunchError) -> Self {
        ReplayError::Record(error.into())
    }
}

/// Runs `recorded` again. `watcher` hears of every run that repeated it.
pub fn replay(
    recorded: &Run,
    options: &Options,
    stop: &AtomicBool,
    mut watcher: impl FnMut(u64),
) -> Result<Replayed, ReplayError> {
    let (target, job) = prepare(recorded, options)?;
    let attempt = Attempt {
        branches: options.branches,
        ..attempt(recorded)
    };
    let mut replayed = Replayed {
        same: 0,
        difference: None,
        notes: Vec::new(),
        stopped: false,
        outcome: recorded.meta.outcome,
        with_branches: None,
    };
    while replayed.same < options.times {
        let Executed { run, finished, .. } = execute(&job, &target.program, &attempt, stop)?;
        if finished.stopped || stop.load(Ordering::Relaxed) {
            replayed.stopped = true;
            break;
        }
        let is_new = |note: &&String| !recorded.meta.problems.contains(note);
        replayed.notes = run.meta.problems.iter().filter(is_new).cloned().collect();
        replayed.difference = compare(recorded, &run);
        if replayed.difference.is_some() {
            break;
        }
        replayed.same += 1;
        if options.branches && replayed.with_branches.is_none() {
            replayed.with_branches = Some(as_recorded(run, &recorded.meta));
        }
        watcher(replayed.same);
    }
    Ok(replayed)
}

/// A repetition is the same run: it says how that came about, not that it was repeated.
fn as_recorded(run: Run, recorded: &RunMeta) -> Run {
    let meta = RunMeta {
        strategy: recorded.strategy.clone(),
        seed: recorded.seed,
        depth: recorded.depth,
        expected_steps: recorded.expected_steps,
        ..run.meta
    };
    Run { meta, ..run }
}

/// Its schedule once more.
fn attempt(recorded: &Run) -> Attempt {
    Attempt {
        name: "replay",
        seed: recorded.meta.seed,
        depth: recorded.meta.depth,
        expected_steps: recorded.meta.expected_steps,
        prefix: recorded.meta.schedule.choices.clone(),
        chances: recorded.meta.chances,
        ..Attempt::default()
    }
    .with_input_of(&recorded.meta)
}

/// Checks that this is what was recorded.
fn prepare(recorded: &Run, options: &Options) -> Result<(Target, Job), ReplayError> {
    let meta = &recorded.meta;
    match meta.mode {
        Mode::Controlled => {}
        Mode::Free => return Err(ReplayError::NoSchedule("recorded in free mode")),
        Mode::Path => return Err(ReplayError::NoSchedule("recorded in path mode")),
        Mode::Imported => return Err(ReplayError::NoSchedule("imported from another tool")),
    }
    let directory = PathBuf::from(&meta.directory);
    if !directory.is_dir() {
        return Err(ReplayError::NoDirectory(meta.directory.clone()));
    }
    let target = target::open(meta.program.as_ref(), &directory)?;
    if target.program.build_id() != meta.build_id {
        let (program, command) = (meta.program.clone(), meta.command.join(" "));
        return Err(ReplayError::OtherBuild { program, command });
    }
    let job = Job {
        command: meta.command.iter().map(OsString::from).collect(),
        directory,
        stdin: options.stdin.clone(),
        output: options.output,
        timeout: options.timeout,
        limits: limits(recorded, options.branches),
        starter: Starter::default(),
    };
    if input_hash(&job)? != meta.input_hash {
        return Err(ReplayError::OtherInput);
    }
    Ok((target, job))
}

/// Branches are events too: with them the same run needs more room. A run that did not end is followed
/// beyond where it was ended, but not much.
fn limits(recorded: &Run, with_branches: bool) -> Limits {
    const BRANCHES_PER_EVENT: u64 = 7;
    let usual = Limits::default();
    Limits {
        events: usual.events
            * if with_branches {
                1 + BRANCHES_PER_EVENT
            } else {
                1
            },
        steps: match recorded.meta.outcome {
            Outcome::TimedOut => usual.steps.min(1000 + 2 * steps_of(recorded)),
            _ => usual.steps,
        },
        ..usual
    }
}

/// Steps that a run took at most: decisions with one thread only are not counted, but most leave an event.
fn steps_of(run: &Run) -> u64 {
    run.meta.steps.max(run.events.len() as u64)
}

/// The first difference between two runs in what they did; what the launcher noted on the side,
/// such as the strategy, does not count. Branches count when both runs have them.
pub fn compare(recorded: &Run, replayed: &Run) -> Option<Difference> {
    let skips = recorded.meta.blocks.is_empty() != replayed.meta.blocks.is_empty();
    // Where the clock or the room ended the run, the point of the end means nothing.
    let cut = matches!(recorded.meta.outcome, Outcome::TimedOut | Outcome::CutShort);
    let (left, right) = (
        Steps::of(recorded, skips, cut),
        Steps::of(replayed, skips, cut),
    );
    let common = left.rows.len().min(right.rows.len());
    let differs = |at: &usize| !same_event(&left, &right, *at);
    if let Some(step) = (0..common).find(differs) {
        return Some(difference(&left, &right, step));
    }
    let same_end = recorded.meta.outcome == replayed.meta.outcome
        && (cut || left.rows.len() == right.rows.len() && message(recorded) == message(replayed));
    (!same_end).then(|| difference(&left, &right, common))
}

fn difference(recorded: &Steps<'_>, replayed: &Steps<'_>, step: usize) -> Difference {
    Difference {
        event: recorded
            .rows
            .get(step)
            .map_or(recorded.run.events.len(), |row| row.index()),
        recorded: Step(recorded.run, recorded.row(step)).to_string(),
        replayed: Step(replayed.run, replayed.row(step)).to_string(),
    }
}

/// The events of a run that are compared.
struct Steps<'a> {
    run: &'a Run,
    rows: Vec<EventId>,
}

impl<'a> Steps<'a> {
    fn of(run: &'a Run, skips_branches: bool, skips_end: bool) -> Steps<'a> {
        let counts = |row: &EventId| match run.events.get(*row).map(|event| event.kind) {
            Some(EventKind::Branch) => !skips_branches,
            Some(EventKind::Failure) => !skips_end,
            _ => true,
        };
        let rows = (0..run.events.len() as u32).map(EventId).filter(counts);
        Steps {
            run,
            rows: rows.collect(),
        }
    }

    fn row(&self, step: usize) -> Option<Event> {
        self.run.events.get(*self.rows.get(step)?)
    }
}

fn message(run: &Run) -> Option<&str> {
    run.meta
        .failure
        .as_ref()
        .map(|failure| failure.message.as_str())
}

/// The same thread did the same at the same place to the same thing with the same value. Ids are
/// compared by what they stand for: each run has its own tables.
fn same_event(a: &Steps<'_>, b: &Steps<'_>, step: usize) -> bool {
    let (Some(x), Some(y)) = (a.row(step), b.row(step)) else {
        return false;
    };
    let (a, b) = (a.run, b.run);
    let plain = |event: &Event| (event.kind, event.size, event.flags, event.old);
    let same_value = match (x.value, y.value) {
        (Some(Value::Address(p)), Some(Value::Address(q))) => a.location(p) == b.location(q),
        (p, q) => p == q,
    };
    plain(&x) == plain(&y)
        && same_value
        && a.meta.thread(x.thread).name == b.meta.thread(y.thread).name
        && a.meta.site(x.site) == b.meta.site(y.site)
        && a.location(x.location) == b.location(y.location)
}

/// An event as a person reads it, or the end of the run.
struct Step<'a>(&'a Run, Option<Event>);

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step(run, event) = *self;
        let Some(event) = event else {
            let how = message(run).unwrap_or(run.meta.outcome.name());
            return write!(f, "the run ended: {how}");
        };
        write!(
            f,
            "{}: {}",
            run.meta.thread(event.thread).name,
            event.kind.name()
        )?;
        let location = run.location(event.location);
        if !location.is_empty() {
            write!(f, " {location}")?;
        }
        match event.value {
            Some(Value::Bits(bits)) => write!(f, " = {bits}")?,
            Some(Value::Address(place)) => write!(f, " = &{}", run.location(place))?,
            None => {}
        }
        let site = run.meta.site(event.site);
        if site.line != 0 {
            write!(f, " at {}:{} in {}", site.file, site.line, site.function)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::{
        EventKind, Events, LocationId, PointId, RunMeta, SiteId, StackId, ThreadId, ThreadRow,
    };

    /// A run of one thread that reads these values of `x`.
    fn run(values: &[u64], outcome: Outcome) -> Run {
        let event = |value: u64| Event {
            seq: 0,
            thread: ThreadId(0),
            kind: EventKind::Read,
            site: SiteId(0),
            location: LocationId(1),
            size: 4,
            flags: 0,
            value: Some(Value::Bits(value)),
            old: None,
            stack: StackId(0),
            point: PointId(0),
        };
        let rows: Vec<Event> = values.iter().copied().map(event).collect();
        Run {
            meta: RunMeta {
                outcome,
                threads: vec![ThreadRow {
                    name: "main".into(),
                    ..ThreadRow::default()
                }],
                ..RunMeta::default()
            },
            locations: vec![String::new(), "x".into()],
            events: Events::from_rows(&rows),
            damage: Vec::new(),
        }
    }

    #[test]
    fn equal_runs_do_not_differ() {
        assert_eq!(
            compare(
                &run(&[1, 2], Outcome::Passed),
                &run(&[1, 2], Outcome::Passed)
            ),
            None
        );
    }

    #[test]
    fn the_first_difference_names_both_sides() {
        let found = compare(
            &run(&[1, 2, 3], Outcome::Passed),
            &run(&[1, 5, 6], Outcome::Passed),
        )
        .unwrap();
        assert_eq!(
            (
                found.event,
                found.recorded.as_str(),
                found.replayed.as_str()
            ),
            (1, "main: read x = 2", "main: read x = 5")
        );
    }

    #[test]
    fn one_goes_on_where_the_other_ends() {
        let found = compare(&run(&[1], Outcome::Passed), &run(&[1, 2], Outcome::Passed)).unwrap();
        assert_eq!(
            (found.event, found.recorded.as_str()),
            (1, "the run ended: passed")
        );
        let found = compare(&run(&[1], Outcome::Passed), &run(&[1], Outcome::Failed)).unwrap();
        assert_eq!(found.replayed, "the run ended: failed");
    }

    #[test]
    fn where_the_clock_ended_the_run_the_prefix_counts() {
        assert_eq!(
            compare(
                &run(&[1, 2], Outcome::TimedOut),
                &run(&[1, 2, 3], Outcome::TimedOut)
            ),
            None
        );
        assert!(
            compare(
                &run(&[1, 2], Outcome::TimedOut),
                &run(&[1, 2, 3], Outcome::Passed)
            )
            .is_some()
        );
    }
}
