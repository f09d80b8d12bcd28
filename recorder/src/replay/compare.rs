//! Compares a repetition with the recorded run, event by event.
//!
//! Events are compared by what they are: thread, kind, place, location. Texts do not count, since a source may have
//! been saved in the meantime; a different value is reported, and ends nothing as long as the steps are the same.

use std::fmt;
use unsnarl_trace::{
    Event, EventId, EventKind, FailureKind, Outcome, Run, SiteRow, Value, model::flags,
};

/// The result of comparing a repetition with the recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The first step that differs, or the end if only that differs.
    pub difference: Option<Departure>,
    /// Values that differ, up to that step.
    pub values: Option<DifferingValues>,
    /// `true` if it failed as the recorded run did; or, if that passed, if it took the same steps to its end.
    pub is_reproduced: bool,
}

impl Comparison {
    /// Returns whether steps, values and end are the recorded ones.
    pub fn is_same(&self) -> bool {
        self.difference.is_none() && self.values.is_none()
    }
}

/// Values that differ from the recorded ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DifferingValues {
    /// Number of such values.
    pub count: usize,
    /// The first of them.
    pub first: Departure,
}

/// The point at which a run left the recorded one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Number of the event, from 0; the number of events when only the endings differ.
    pub event: usize,
    /// Event of the recorded run.
    pub recorded: String,
    /// Event of this run.
    pub replayed: String,
}

/// Compares the events of two runs; the launcher's metadata, such as the strategy, does not count. Branches count
/// when both runs have them.
pub fn compare(recorded: &Run, replayed: &Run) -> Comparison {
    let skips = recorded.meta.blocks.is_empty() != replayed.meta.blocks.is_empty();
    // Where the clock or the room ended the run, the point of the end means nothing.
    let cut = matches!(recorded.meta.outcome, Outcome::TimedOut | Outcome::CutShort);
    let (left, right) = (
        ComparedEvents::of(recorded, skips, cut),
        ComparedEvents::of(replayed, skips, cut),
    );
    let common = left.rows.len().min(right.rows.len());
    let other = (0..common).find(|&step| !same_step(&left, &right, step));
    let same_end = same_end(recorded, replayed);
    let ends_elsewhere = !same_end || !cut && left.rows.len() != right.rows.len();
    let step = other.or_else(|| ends_elsewhere.then_some(common));
    let fails_alike = same_end && recorded.meta.outcome.is_failure() && !cut;
    Comparison {
        difference: step.map(|step| difference(&left, &right, step)),
        values: values(&left, &right, other.unwrap_or(common)),
        is_reproduced: step.is_none() || fails_alike,
    }
}

fn values(
    left: &ComparedEvents<'_>,
    right: &ComparedEvents<'_>,
    end: usize,
) -> Option<DifferingValues> {
    let mut others = (0..end).filter(|&step| !same_value(left, right, step));
    let first = others.next()?;
    Some(DifferingValues {
        count: 1 + others.count(),
        first: difference(left, right, first),
    })
}

/// Returns whether both ended alike: the same failure of the same thread at the same place, or none.
fn same_end(recorded: &Run, replayed: &Run) -> bool {
    let (a, b) = (&recorded.meta, &replayed.meta);
    let same_failure = match (&a.failure, &b.failure) {
        (Some(x), Some(y)) => {
            // Words, thread and place depend on how far a run got until its time was over.
            let is_late = x.kind == FailureKind::Timeout;
            let same_words = is_late || x.message == y.message;
            let same_thread = match (x.thread, y.thread) {
                _ if is_late => true,
                (Some(p), Some(q)) => a.thread(p).name == b.thread(q).name,
                (p, q) => p == q,
            };
            let site = |run: &Run, failure: &unsnarl_trace::Failure| {
                let site = failure.site?;
                let row = failure.event.and_then(|event| run.events.get(event));
                Some((site, row.is_some_and(|row| row.flags & flags::MOVED != 0)))
            };
            let same_site = match (site(recorded, x), site(replayed, y)) {
                _ if is_late => true,
                (Some((p, was_moved)), Some((q, is_moved))) => {
                    same_site(a.site(p), b.site(q), was_moved != is_moved)
                }
                (p, q) => p == q,
            };
            x.kind == y.kind && same_words && same_thread && same_site
        }
        (x, y) => x.is_none() && y.is_none(),
    };
    a.outcome == b.outcome && same_failure
}

fn difference(
    recorded: &ComparedEvents<'_>,
    replayed: &ComparedEvents<'_>,
    step: usize,
) -> Departure {
    Departure {
        event: recorded
            .rows
            .get(step)
            .map_or(recorded.run.events.len(), |row| row.index()),
        recorded: ComparedStep(recorded.run, recorded.row(step)).to_string(),
        replayed: ComparedStep(replayed.run, replayed.row(step)).to_string(),
    }
}

/// The events of a run that are compared.
struct ComparedEvents<'a> {
    run: &'a Run,
    rows: Vec<EventId>,
}

impl<'a> ComparedEvents<'a> {
    fn of(run: &'a Run, skips_branches: bool, skips_end: bool) -> ComparedEvents<'a> {
        let counts = |row: &EventId| match run.events.get(*row).map(|event| event.kind) {
            Some(EventKind::Branch) => !skips_branches,
            Some(EventKind::Failure) => !skips_end,
            _ => true,
        };
        let rows = (0..run.events.len() as u32).map(EventId).filter(counts);
        ComparedEvents {
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

/// Returns whether the same thread did the same at the same place to the same location. Ids are compared by what they
/// stand for: each run has its own tables.
fn same_step(a: &ComparedEvents<'_>, b: &ComparedEvents<'_>, step: usize) -> bool {
    let (Some(x), Some(y)) = (a.row(step), b.row(step)) else {
        return false;
    };
    let (a, b) = (a.run, b.run);
    let plain = |event: &Event| (event.kind, event.size, event.flags & !flags::MOVED);
    // A moved access is found by the text of its line, which only one of the runs may have seen.
    let is_moved = (x.flags ^ y.flags) & flags::MOVED != 0;
    plain(&x) == plain(&y)
        && (is_plain_data(x.kind) || x.value == y.value)
        && a.meta.thread(x.thread).name == b.meta.thread(y.thread).name
        && same_site(a.meta.site(x.site), b.meta.site(y.site), is_moved)
        && a.location(x.location) == b.location(y.location)
}

/// Returns whether the value is data of the program; that of other events describes the event.
fn is_plain_data(kind: EventKind) -> bool {
    kind.is_access() || kind == EventKind::Alloc
}

/// Returns whether two sites are the same place in the source, whatever its text is; of a moved access only the
/// function is known.
fn same_site(a: &SiteRow, b: &SiteRow, is_moved: bool) -> bool {
    let place = |row: &SiteRow| (!is_moved).then_some((row.line, row.column));
    place(a) == place(b) && a.file == b.file && a.function == b.function
}

fn same_value(a: &ComparedEvents<'_>, b: &ComparedEvents<'_>, step: usize) -> bool {
    let (Some(x), Some(y)) = (a.row(step), b.row(step)) else {
        return false;
    };
    let same = match (x.value, y.value) {
        (Some(Value::Address(p)), Some(Value::Address(q))) => {
            a.run.location(p) == b.run.location(q)
        }
        (p, q) => p == q,
    };
    same && x.old == y.old
}

/// An event as a person reads it, or the end of the run.
struct ComparedStep<'a>(&'a Run, Option<Event>);

impl fmt::Display for ComparedStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ComparedStep(run, event) = *self;
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
        Events, Failure, LocationId, PointId, RunMeta, SiteId, StackId, ThreadId, ThreadRow,
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
                }]
                .into(),
                ..RunMeta::default()
            },
            locations: vec![String::new(), "x".into()].into(),
            events: Events::from_rows(&rows),
            damage: Vec::new(),
        }
    }

    fn with_text(mut run: Run, text: &str) -> Run {
        let site = SiteRow {
            file: "a.c".into(),
            line: 3,
            text: text.into(),
            ..SiteRow::default()
        };
        run.meta.sites = vec![site].into();
        run
    }

    fn failing(mut run: Run, message: &str) -> Run {
        run.meta.outcome = Outcome::Failed;
        run.meta.failure = Some(Failure {
            kind: FailureKind::Assert,
            message: message.into(),
            thread: Some(ThreadId(0)),
            site: Some(SiteId(0)),
            event: None,
        });
        run
    }

    #[test]
    fn equal_runs_do_not_differ() {
        let found = compare(
            &run(&[1, 2], Outcome::Passed),
            &run(&[1, 2], Outcome::Passed),
        );
        assert!(found.is_same() && found.is_reproduced);
    }

    #[test]
    fn the_text_of_a_line_is_no_step() {
        let recorded = with_text(run(&[1], Outcome::Passed), "x++;");
        let replayed = with_text(run(&[1], Outcome::Passed), "");
        assert!(compare(&recorded, &replayed).is_same());
    }

    #[test]
    fn another_value_is_told_and_ends_nothing() {
        let found = compare(
            &run(&[1, 2, 3], Outcome::Passed),
            &run(&[1, 5, 6], Outcome::Passed),
        );
        assert!(found.is_reproduced && found.difference.is_none());
        let values = found.values.unwrap();
        assert_eq!(values.count, 2);
        let first = values.first;
        assert_eq!(
            (
                first.event,
                first.recorded.as_str(),
                first.replayed.as_str()
            ),
            (1, "main: read x = 2", "main: read x = 5")
        );
    }

    #[test]
    fn the_same_failure_after_other_steps_is_reproduced() {
        let recorded = failing(run(&[1], Outcome::Failed), "assertion `x` failed");
        let longer = failing(run(&[1, 2], Outcome::Failed), "assertion `x` failed");
        let found = compare(&recorded, &longer);
        assert!(found.is_reproduced);
        assert_eq!(found.difference.unwrap().event, 1);
        let other = failing(run(&[1, 2], Outcome::Failed), "assertion `y` failed");
        assert!(!compare(&recorded, &other).is_reproduced);
    }

    #[test]
    fn one_goes_on_where_the_other_ends() {
        let found = compare(&run(&[1], Outcome::Passed), &run(&[1, 2], Outcome::Passed));
        assert!(!found.is_reproduced);
        let found = found.difference.unwrap();
        assert_eq!(
            (found.event, found.recorded.as_str()),
            (1, "the run ended: passed")
        );
        let found = compare(&run(&[1], Outcome::Passed), &run(&[1], Outcome::Failed));
        assert_eq!(found.difference.unwrap().replayed, "the run ended: failed");
    }

    #[test]
    fn where_the_clock_ended_the_run_the_prefix_counts() {
        let recorded = run(&[1, 2], Outcome::TimedOut);
        let longer = compare(&recorded, &run(&[1, 2, 3], Outcome::TimedOut));
        assert!(longer.is_same() && longer.is_reproduced);
        let other = compare(&recorded, &run(&[1, 2, 3], Outcome::Passed));
        assert!(!other.is_reproduced);
    }
}
