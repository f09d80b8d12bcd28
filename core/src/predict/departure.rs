//! Departures of threads from the recorded run, with the reads that caused them.
//!
//! A predicted order assumes that moving events changes no thread's path. When an execution of the schedule
//! shows that it did, the anomaly was not real, and the value that differed is the reason.

use crate::facts::{old_value, place, short, thread_in_words, value, variable};
use rustc_hash::FxHashMap;
use unsnarl_trace::{Event, EventId, EventKind, IndexVec, Run, SiteId, ThreadId};

/// A thread's first step that differs from the recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The thread's name.
    pub thread: String,
    /// The recorded step; `None` when the thread had ended there.
    pub recorded: Option<EventId>,
    /// The step taken instead; `None` when the thread did nothing more.
    pub instead: Option<EventId>,
    /// Its last read before that with a different value: in the recorded run and in this one.
    pub decided_by: Option<(EventId, EventId)>,
}

/// Finds the first departure of the thread with this name. Linear in the events of both runs.
pub fn departure(recorded: &Run, tried: &Run, thread: &str) -> Option<Departure> {
    let (before, after) = (named(recorded, thread)?, named(tried, thread)?);
    let same = sites(recorded, tried);
    let (mut old, mut new) = (steps(recorded, before), steps(tried, after));
    let mut decided_by = None;
    loop {
        let (then, now) = (old.next(), new.next());
        match (then, now) {
            (None, None) => return None,
            (Some(then), Some(now)) if is_same(&same, &then.1, &now.1) => {
                if then.1.kind.reads() && found(recorded, &then.1) != found(tried, &now.1) {
                    decided_by = Some((then.0, now.0));
                }
            }
            _ => {
                return Some(Departure {
                    thread: thread.to_owned(),
                    recorded: then.map(|(row, _)| row),
                    instead: now.map(|(row, _)| row),
                    decided_by,
                });
            }
        }
    }
}

impl Departure {
    /// The departure in words, e.g. ``the read of `ready` at a.c:31 decides what main.1 does: it found 0, not
    /// 1, and the write at a.c:33 did not come``.
    pub fn words(&self, recorded: &Run, tried: &Run) -> String {
        let then = self.recorded.and_then(|row| recorded.events.get(row));
        let now = self.instead.and_then(|row| tried.events.get(row));
        let missing = match then {
            Some(event) => format!("the {} did not come", at(recorded, &event)),
            None => "it went on where it had ended".to_owned(),
        };
        let instead = match (&now, &then) {
            (Some(now), Some(_)) => format!(", but the {}", at(tried, now)),
            _ => String::new(),
        };
        let rows = self.decided_by.and_then(|(old, new)| {
            let old = recorded.events.get(old)?;
            Some((old, tried.events.get(new)?))
        });
        match rows {
            Some((old, new)) => {
                let thread = thread_in_words(recorded, old.thread);
                let values = values((recorded, &old), (tried, &new));
                format!(
                    "the read of `{}` at {} decides what {thread} does: {values}{missing}{instead}",
                    variable(recorded, &old),
                    short(&place(recorded, old.site)),
                )
            }
            None => format!("{} took another path: {missing}{instead}", self.thread),
        }
    }
}

/// Text such as `it found 0, not 1, and `, as far as the values are known and informative.
fn values(old: (&Run, &Event), new: (&Run, &Event)) -> String {
    let word = |(run, event): (&Run, &Event)| match (event.kind, event.old) {
        (EventKind::Rmw, Some(_)) => old_value(run, event),
        _ => value(run, event, event.size == 8),
    };
    match (word(old), word(new)) {
        (Some(old), Some(new)) if old != new => format!("it found {new}, not {old}, and "),
        _ => "it found something else, and ".to_owned(),
    }
}

/// `write of x at a.c:33`
fn at(run: &Run, event: &Event) -> String {
    let name = variable(run, event);
    let of = if name.is_empty() {
        String::new()
    } else {
        format!(" of `{name}`")
    };
    let place = short(&place(run, event.site));
    format!("{}{of} at {place}", event.kind.name())
}

fn named(run: &Run, name: &str) -> Option<ThreadId> {
    let mut threads = run.meta.threads.iter_enumerated();
    threads.find(|(_, row)| row.name == name).map(|(id, _)| id)
}

/// Events of a thread by its own code, each step once. Waiting, and ends caused by other threads, are not
/// among them.
fn steps(run: &Run, thread: ThreadId) -> impl Iterator<Item = (EventId, Event)> + '_ {
    use EventKind::{Blocked, Branch, Failure, LockWait, Yield};
    let mut last = None;
    run.events.iter().filter(move |(_, event)| {
        let is_own = event.thread == thread
            && !matches!(event.kind, Blocked | Branch | Failure | LockWait | Yield);
        is_own && last.replace(event.seq) != Some(event.seq)
    })
}

/// Matching sites of the recorded run, indexed by the other run's sites.
fn sites(recorded: &Run, tried: &Run) -> IndexVec<SiteId, Option<SiteId>> {
    let known: FxHashMap<_, SiteId> = recorded
        .meta
        .sites
        .iter_enumerated()
        .map(|(id, row)| ((&row.file, row.line, row.column, &row.function), id))
        .collect();
    let rows = tried.meta.sites.iter();
    rows.map(|row| {
        known
            .get(&(&row.file, row.line, row.column, &row.function))
            .copied()
    })
    .collect()
}

fn is_same(sites: &IndexVec<SiteId, Option<SiteId>>, then: &Event, now: &Event) -> bool {
    then.kind == now.kind && sites[now.site] == Some(then.site)
}

/// Value of a read, with pointers given by their target.
fn found<'r>(run: &'r Run, event: &Event) -> (Option<u64>, &'r str) {
    use unsnarl_trace::Value;
    match (event.kind, event.value) {
        (EventKind::Rmw, _) => (event.old, ""),
        (_, Some(Value::Bits(bits))) => (Some(bits), ""),
        (_, Some(Value::Address(location))) => (None, run.location(location)),
        (_, None) => (None, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    const RECORDED: &str = "
        file flag.c
        main   fork main.1       @10
        main   W ready =1        @11
        main.1 R ready =1        @31 \"if (ready)\"
        main.1 W data =5         @33
    ";

    fn told(recorded: &str, tried: &str, thread: &str) -> Option<String> {
        let (recorded, tried) = (run(recorded), run(tried));
        let departure = departure(&recorded, &tried, thread)?;
        Some(departure.words(&recorded, &tried))
    }

    #[test]
    fn the_read_that_decides_is_named() {
        let tried = "
            file flag.c
            main   fork main.1   @10
            main.1 R ready =0    @31
            main.1 R other =0    @36
            main   W ready =1    @11
        ";
        assert_eq!(
            told(RECORDED, tried, "main.1").unwrap(),
            "the read of `ready` at flag.c:31 decides what main.1 does: it found 0, not 1, and the write of \
             `data` at flag.c:33 did not come, but the read of `other` at flag.c:36"
        );
        assert_eq!(told(RECORDED, tried, "main"), None);
    }

    #[test]
    fn a_path_without_another_value_is_told_without_a_reason() {
        let tried = "
            file flag.c
            main   fork main.1   @10
            main   W ready =1    @11
            main.1 R ready =1    @31
        ";
        assert_eq!(
            told(RECORDED, tried, "main.1").unwrap(),
            "main.1 took another path: the write of `data` at flag.c:33 did not come"
        );
    }

    #[test]
    fn waiting_is_no_other_path() {
        let tried = RECORDED.replace(
            "main.1 R ready",
            "main.1 lock-wait m @30\n        main.1 yield @30\n        main.1 R ready",
        );
        assert_eq!(told(RECORDED, &tried, "main.1"), None);
    }
}
