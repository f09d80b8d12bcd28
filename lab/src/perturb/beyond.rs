//! Steps that a failing run does not have any more: other schedules may come to them, and what is read then says nothing
//! about the run.

use std::collections::{BTreeSet, HashMap};
use unsnarl_symbolic::invariants::{ThreadPlace, thread_place};
use unsnarl_trace::{Event, EventId, Outcome, Run};

/// A thread and a location, by their names.
type ThreadLocation<'a> = (&'a str, &'a str);

/// The reads of a slice, and how far each thread came in the run.
pub(super) struct RunExtent<'a> {
    /// The reads, each by its place and its number among the thread's accesses there.
    reads: BTreeSet<(ThreadPlace<'a>, u32)>,
    /// Numbers of the threads' writes to each location.
    writes: HashMap<ThreadLocation<'a>, u32>,
    /// Of a run that hangs, the objects of the slice that threads take or wait for: what a thread waits for at its end it has
    /// not got.
    objects: BTreeSet<&'a str>,
    /// Numbers of the threads' steps on these.
    steps: HashMap<ThreadLocation<'a>, u32>,
}

impl<'a> RunExtent<'a> {
    /// The extent of a run with these rows as its slice. Linear in the run.
    pub fn of(run: &'a Run, slice: &[EventId]) -> RunExtent<'a> {
        let slice: BTreeSet<EventId> = slice.iter().copied().collect();
        let mut extent = RunExtent {
            reads: BTreeSet::new(),
            writes: HashMap::new(),
            objects: objects(run, &slice),
            steps: HashMap::new(),
        };
        for (_, event) in extent.steps_of(run) {
            *extent
                .steps
                .entry(thread_location(run, &event))
                .or_default() += 1;
        }
        let mut seen: HashMap<ThreadPlace<'a>, u32> = HashMap::new();
        for (id, event) in run
            .events
            .iter()
            .filter(|(_, event)| event.kind.is_access())
        {
            let place = thread_place(run, &event);
            let number = seen.entry(place).or_default();
            *number += 1;
            if slice.contains(&id) && event.kind.reads() {
                extent.reads.insert((place, *number));
            }
            if event.kind.writes() {
                *extent
                    .writes
                    .entry(thread_location(run, &event))
                    .or_default() += 1;
            }
        }
        extent
    }

    /// Returns whether one of the reads found what was written by a step that the run had not come to, or a thread got what
    /// it waited for in vain. Linear in `other`.
    pub fn is_exceeded_by(&self, other: &Run) -> bool {
        self.reads_beyond(other) || self.steps_beyond(other)
    }

    /// The steps of a run on the objects of the slice.
    fn steps_of(&self, run: &Run) -> Vec<(EventId, Event)> {
        if self.objects.is_empty() {
            return Vec::new();
        }
        let all = run.events.iter();
        let steps = all.filter(|(_, event)| event.kind.role().obtains());
        let own = steps.filter(|(_, event)| self.objects.contains(run.location(event.location)));
        own.collect()
    }

    fn steps_beyond(&self, other: &Run) -> bool {
        let mut steps: HashMap<ThreadLocation<'_>, u32> = HashMap::new();
        self.steps_of(other).into_iter().any(|(_, event)| {
            let key = thread_location(other, &event);
            let number = steps.entry(key).or_default();
            *number += 1;
            *number > self.steps.get(&key).copied().unwrap_or(0)
        })
    }

    fn reads_beyond(&self, other: &Run) -> bool {
        let mut seen: HashMap<ThreadPlace<'_>, u32> = HashMap::new();
        let mut writes: HashMap<ThreadLocation<'_>, u32> = HashMap::new();
        let mut beyond: HashMap<&str, bool> = HashMap::new();
        for (_, event) in other
            .events
            .iter()
            .filter(|(_, event)| event.kind.is_access())
        {
            let place = thread_place(other, &event);
            let number = seen.entry(place).or_default();
            *number += 1;
            let location = other.location(event.location);
            let is_beyond = beyond.get(location).copied().unwrap_or_default();
            if event.kind.reads() && is_beyond && self.reads.contains(&(place, *number)) {
                return true;
            }
            if event.kind.writes() {
                let key = thread_location(other, &event);
                let number = writes.entry(key).or_default();
                *number += 1;
                beyond.insert(
                    location,
                    *number > self.writes.get(&key).copied().unwrap_or(0),
                );
            }
        }
        false
    }
}

/// The objects that the slice of a run that hangs is about.
fn objects<'r>(run: &'r Run, slice: &BTreeSet<EventId>) -> BTreeSet<&'r str> {
    if !matches!(run.meta.outcome, Outcome::Deadlocked | Outcome::TimedOut) {
        return BTreeSet::new();
    }
    let events = slice.iter().filter_map(|row| run.events.get(*row));
    let own = events.filter(|event| !event.kind.is_access());
    own.map(|event| run.location(event.location))
        .filter(|name| !name.is_empty())
        .collect()
}

fn thread_location<'r>(run: &'r Run, event: &Event) -> ThreadLocation<'r> {
    let thread = run.meta.thread(event.thread).name.as_str();
    (thread, run.location(event.location))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::script;

    /// `main.1` sets two variables; `main` reads the second one.
    const EARLY: &str = "main fork main.1 @1\nmain.1 W log =2 @27\nmain R position =120 @51\nmain fails @54 wrong position";
    const LATE: &str = "main fork main.1 @1\nmain.1 W log =2 @27\nmain.1 W position =4 @28\nmain R position =4 @51";

    #[test]
    fn what_the_run_had_not_come_to_is_no_part_of_it() {
        let early = script::parse(EARLY).unwrap();
        let late = script::parse(LATE).unwrap();
        let read = [EventId(2)];
        assert!(RunExtent::of(&early, &read).is_exceeded_by(&late));
        assert!(!RunExtent::of(&early, &read).is_exceeded_by(&early));
        assert!(!RunExtent::of(&early, &[]).is_exceeded_by(&late));
        // Both have all that the later one has.
        assert!(!RunExtent::of(&late, &[EventId(3)]).is_exceeded_by(&early));
    }

    /// Each thread takes a lock and waits for that of the other; or one takes both first.
    const STUCK: &str = "main fork main.1 @1\nmain lock a @2\nmain.1 lock b @3\nmain blocked lock b @4\n\
        main.1 blocked lock a @5\ndeadlocks";
    const IN_TURN: &str = "main fork main.1 @1\nmain lock a @2\nmain lock b @4\nmain unlock b @4\nmain unlock a @4\nmain.1 lock b @3";

    #[test]
    fn who_waits_for_a_lock_has_not_got_it() {
        let stuck = script::parse(STUCK).unwrap();
        let in_turn = script::parse(IN_TURN).unwrap();
        let taken = [EventId(1), EventId(2)];
        assert!(RunExtent::of(&stuck, &taken).is_exceeded_by(&in_turn));
        assert!(!RunExtent::of(&stuck, &taken).is_exceeded_by(&stuck));
    }
}
