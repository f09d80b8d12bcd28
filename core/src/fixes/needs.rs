//! Needs of a thread that is to be joined earlier: if it waits for an event after the join, the join waits
//! for ever.

use super::{Ordered, seen::frames};
use crate::orders::{Locks, other_thread};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{Event, EventId, EventKind, LocationId, Run, ThreadId, kinds::EventRole};

/// The line on which the thread of `order` waits for an event that comes only after the line that is to wait
/// for the thread, if this run has it so. Linear in the run.
pub(super) fn needs_later(run: &Run, order: &Ordered) -> Option<u32> {
    let Ordered::EndsBefore { thread, file, line } = order else {
        return None;
    };
    let mut threads = (0..).map(ThreadId).zip(&run.meta.threads);
    let (own, row) = threads.find(|(_, row)| row.name == *thread)?;
    let parent = row.parent?;
    let from = reached(run, own, parent, (file, *line))?;
    let mut later = Later::new(run, own, parent, from);
    let mut events = run.events.iter().skip_while(|(at, _)| *at < from);
    let (_, event) = events.find(|(_, event)| later.reaches(event))?;
    Some(run.meta.site(event.site).line)
}

/// The first event of the parent on the line after the thread was created.
pub(super) fn reached(
    run: &Run,
    own: ThreadId,
    parent: ThreadId,
    (file, line): (&str, u32),
) -> Option<EventId> {
    let mut known: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    let mut is_created = false;
    let mut events = run.events.iter();
    let found = events.find(|(at, event)| {
        is_created |= event.kind == EventKind::Fork && other_thread(event.value) == Some(own.0);
        let key = (event.site.0, event.stack.0);
        is_created
            && event.kind != EventKind::Fork
            && event.thread == parent
            && *known.entry(key).or_insert_with(|| {
                let mut all = frames(run, *at).into_iter();
                all.any(|at| (at.file.as_str(), at.line) == (file, line))
            })
    });
    found.map(|(at, _)| at)
}

/// State of the parent's later progress, and what depends on it.
struct Later<'a> {
    own: ThreadId,
    /// Threads that depend on the parent's later steps.
    threads: BTreeSet<ThreadId>,
    /// The last thread that signalled, posted or arrived, by condition, semaphore or barrier.
    given: BTreeMap<LocationId, ThreadId>,
    /// Locations written later, and not seen by the thread yet.
    written: BTreeSet<LocationId>,
    /// Locations that the thread has read since, with their lines.
    looked: BTreeSet<(LocationId, u32)>,
    /// Locks that the parent holds while it waits.
    held: BTreeSet<LocationId>,
    run: &'a Run,
}

impl<'a> Later<'a> {
    fn new(run: &'a Run, own: ThreadId, parent: ThreadId, from: EventId) -> Later<'a> {
        let locks = Locks::new(run, &mut Vec::new());
        // A lock that the line itself takes is not held before it.
        let held = locks
            .held_at(parent, from)
            .filter(|section| section.acquired < from);
        let held = held.filter_map(|section| Some(run.events.get(section.acquired)?.location));
        Later {
            own,
            threads: BTreeSet::from([parent]),
            given: BTreeMap::new(),
            written: BTreeSet::new(),
            looked: BTreeSet::new(),
            held: held.collect(),
            run,
        }
    }

    /// Processes the next event; returns whether the thread gets an object with it that it waited for.
    fn reaches(&mut self, event: &Event) -> bool {
        let is_later = self.threads.contains(&event.thread);
        let given = self.given.get(&event.location).copied();
        let role = event.kind.role();
        let gets = match role {
            EventRole::Join => {
                other_thread(event.value).is_some_and(|id| self.threads.contains(&ThreadId(id)))
            }
            EventRole::Acquire { .. } => self.held.contains(&event.location),
            EventRole::Access => self.spins(event),
            role => role.obtains() && given.is_some_and(|by| self.threads.contains(&by)),
        };
        match role {
            EventRole::Notify { .. } | EventRole::PostUnit | EventRole::Open => {
                self.given.insert(event.location, event.thread);
            }
            // All threads wait for the last one to arrive.
            EventRole::Arrive => {
                let last = match given {
                    Some(by) if self.threads.contains(&by) => by,
                    _ => event.thread,
                };
                self.given.insert(event.location, last);
            }
            EventRole::Fork if is_later => {
                let other = other_thread(event.value).map(ThreadId);
                self.threads.extend(other);
            }
            EventRole::Access if event.kind.writes() && is_later => {
                self.written.insert(event.location);
            }
            _ => {}
        }
        if gets && !is_later {
            self.threads.insert(event.thread);
        }
        gets && event.thread == self.own
    }

    /// Returns whether the thread spins: it has read here before, has done nothing else since, and now finds
    /// a later write.
    fn spins(&mut self, event: &Event) -> bool {
        if event.thread != self.own {
            return false;
        }
        if event.kind.writes() {
            self.looked.clear();
            return false;
        }
        let line = self.run.meta.site(event.site).line;
        let is_again = !self.looked.insert((event.location, line));
        is_again && self.written.remove(&event.location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::script;

    fn check(text: &str, expected: Option<u32>) {
        let run = script::parse(&format!("main fork main.1 @1 main\n{text}")).unwrap();
        let order = Ordered::EndsBefore {
            thread: "main.1".to_owned(),
            file: "test.c".to_owned(),
            line: 9,
        };
        assert_eq!(needs_later(&run, &order), expected, "{text}");
    }

    #[test]
    fn a_thread_that_is_woken_later_is_not_to_be_waited_for() {
        let waits = "main.1 lock m @20 f\nmain.1 wait c @21\nmain.1 unlock m @21\n";
        let woken = "main.1 lock m @21 f\nmain.1 wake c @21\n";
        let reached = "main W x @9 main\n";
        let signals = "main signal c @10 main\n";
        check(&format!("{waits}{reached}{signals}{woken}"), Some(21));
        check(&format!("{waits}{signals}{reached}{woken}"), None);
        // Another thread does it.
        check(
            &format!("{waits}{reached}main.2 signal c @40 g\n{woken}"),
            None,
        );
    }

    #[test]
    fn a_lock_that_is_held_meanwhile_is_not_given_back() {
        check(
            "main lock m @8 main\nmain W x @9\nmain unlock m @10\nmain.1 lock m @20 f\n",
            Some(20),
        );
        check(
            "main lock m @7 main\nmain unlock m @8\nmain W x @9\nmain.1 lock m @20 f\n",
            None,
        );
        check(
            "main lock m @9 main\nmain W x @10\nmain unlock m @11\nmain.1 lock m @20 f\n",
            None,
        );
    }

    #[test]
    fn a_thread_that_looks_again_and_again() {
        let first = "main.1 R flag @20 f\nmain W x @9 main\nmain.1 R flag @20 f\n";
        check(
            &format!("{first}main W flag @10 main\nmain.1 R flag @20 f\n"),
            Some(20),
        );
        check(
            &format!("{first}main W other @10 main\nmain.1 R flag @20 f\n"),
            None,
        );
        // It makes progress in between.
        let works = "main.1 W sum @21 f\n";
        check(
            &format!("{first}main W flag @10 main\n{works}main.1 R flag @20 f\n"),
            None,
        );
    }
}
