//! Deadlocks of the fixed program: the order of a fix's lock with all others, and waits for other threads
//! while it is held, as the recorded runs have them.

use super::{
    Fix,
    mutexes::lock_name,
    sections::{Again, LockSpan, sections},
    text::EditRefusal,
    turns,
};
use crate::{
    facts,
    orders::{Locks, other_thread},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use unsnarl_trace::{EventId, EventKind, Location, Run, ThreadId, kinds::EventRole};

/// Reason why threads of the fixed program could wait for ever, as far as the runs show it, or why that is
/// unknown. Linear in the runs.
pub(super) fn refuse<'a>(
    fix: &Fix,
    runs: impl Iterator<Item = Result<&'a Run, EditRefusal>>,
) -> Option<EditRefusal> {
    let mut order = RequestOrder::default();
    for run in runs {
        let run = match run {
            Ok(run) => run,
            Err(why) => return Some(why),
        };
        let found = sections(fix, run);
        if let Some(again) = found.again {
            return Some(in_words(fix, &again));
        }
        let new: Vec<LockSpan> = found.spans.into_iter().filter(|span| span.is_new).collect();
        if let Some(why) = waits(run, &new).or_else(|| turns::refuse(fix, run, &new)) {
            return Some(why);
        }
        order.add(fix, run, &new);
    }
    order.ring(&own_name(fix))
}

/// The name of the fix's lock in sentences.
fn own_name(fix: &Fix) -> String {
    let own = fix.lock.as_deref().map(facts::in_block);
    own.unwrap_or_else(|| NEW.to_owned())
}

const NEW: &str = "the new mutex";

fn in_words(fix: &Fix, again: &Again) -> String {
    let lock = match &fix.lock {
        Some(lock) => format!("`{}`", facts::in_block(lock)),
        None => NEW.to_owned(),
    };
    match again {
        Again::Held { line, since } => {
            format!("line {line} is reached with {lock} held already, since line {since}")
        }
        Again::Taken { line } => {
            format!("line {line} takes {lock} once more, and would wait for its own thread")
        }
    }
}

/// Finds a thread that waits in the lines for another one, which acquires the lock before the awaited event.
fn waits(run: &Run, new: &[LockSpan]) -> Option<String> {
    // Those of one thread follow each other.
    let mut of_thread: BTreeMap<u16, Vec<&LockSpan>> = BTreeMap::new();
    for span in new {
        of_thread.entry(span.thread).or_default().push(span);
    }
    let spans = |thread: u16| of_thread.get(&thread).map_or(&[][..], Vec::as_slice);
    let is_within = |thread: u16, since: EventId, row: EventId| {
        let own = spans(thread);
        let begun = own.partition_point(|span| span.first < since.0);
        let last = begun.checked_sub(1).and_then(|at| own.get(at));
        last.is_some_and(|span| row.0 < span.last)
    };
    // By object the thread that lets others go on, and the rows where a lock that it takes is in their way: who comes to an
    // initialization first does it itself, and waits only for what is done within another one's.
    let mut given: BTreeMap<u32, (u16, Range<u32>)> = BTreeMap::new();
    let mut begun: BTreeMap<u32, u32> = BTreeMap::new();
    // A wait that releases the lock has a section before it and one after it.
    let mut waiting: BTreeMap<u16, EventId> = BTreeMap::new();
    for (row, event) in run.events.iter() {
        let thread = event.thread.0;
        let role = event.kind.role();
        if matches!(
            role,
            EventRole::Notify { .. } | EventRole::PostUnit | EventRole::Arrive | EventRole::Open
        ) {
            let begun = begun
                .get(&event.location.0)
                .filter(|_| role == EventRole::Open);
            let rows = begun.map_or(0..u32::MAX, |begun| *begun..row.0);
            given.insert(event.location.0, (thread, rows));
        }
        if event.kind == EventKind::OnceBegin {
            begun.insert(event.location.0, row.0);
        }
        if role == EventRole::Sleep {
            waiting.insert(thread, row);
        }
        let since = match role {
            EventRole::Resume => waiting.get(&thread).copied().unwrap_or(row),
            _ => row,
        };
        let by = match role {
            EventRole::Join => other_thread(event.value).map(|by| (by, 0..u32::MAX)),
            EventRole::TakeUnit | EventRole::Resume | EventRole::Pass => {
                given.get(&event.location.0).cloned()
            }
            _ => None,
        };
        let is_waited_for =
            |by: &(u16, Range<u32>)| by.0 != thread && is_within(thread, since, row);
        let Some((by, rows)) = by.filter(is_waited_for) else {
            continue;
        };
        let mut theirs = spans(by).iter().filter(|span| rows.contains(&span.first));
        if let Some(span) = theirs.next().filter(|span| span.first < row.0) {
            let line = |row: EventId| {
                let event = run.events.get(row);
                event.map_or(0, |event| run.meta.site(event.site).line)
            };
            let name = facts::thread_in_words(run, ThreadId(by));
            return Some(format!(
                "line {} waits for {name} with the lock held, and {name} takes it on line {}",
                line(row),
                line(EventId(span.first))
            ));
        }
    }
    None
}

/// A lock that was requested with another one held.
#[derive(Clone, Debug)]
struct WaitsForEdge {
    /// Thread, by run and number.
    thread: (usize, u16),
    line: u32,
    /// All locks held at the request.
    held: BTreeSet<String>,
    is_new: bool,
}

/// Order of requested and held locks, over all runs.
#[derive(Default)]
struct RequestOrder {
    runs: usize,
    edges: BTreeMap<(String, String), Vec<WaitsForEdge>>,
}

/// Bound on the edges kept of one pair of locks: of different threads and of different locks around them.
const MOST: usize = 16;

impl RequestOrder {
    fn add(&mut self, fix: &Fix, run: &Run, new: &[LockSpan]) {
        self.runs += 1;
        let own = own_name(fix);
        let locks = Locks::new(run, &mut Vec::new());
        let name = |row: EventId| facts::in_block(&lock_name(run, row));
        let held = |thread: u16, row: EventId| -> BTreeSet<String> {
            let all = locks.held_at(ThreadId(thread), row);
            let own =
                all.filter(|section| !Location::of(run.location(section.lock)).is_of_library());
            own.map(|section| name(section.acquired)).collect()
        };
        for order in locks.order() {
            let around = held(order.thread.0, order.wanted_at);
            let pair = (name(order.held_at), name(order.wanted_at));
            self.edge(run, pair, (order.thread.0, order.wanted_at), around, false);
        }
        for span in new {
            let first = EventId(span.first);
            // An acquisition at the same row is that of the section itself.
            let before = EventId(span.first.saturating_sub(1));
            let around = held(span.thread, before);
            for other in around.iter().filter(|other| **other != own) {
                let pair = (other.clone(), own.clone());
                self.edge(run, pair, (span.thread, first), around.clone(), true);
            }
            for at in span.first..=span.last.min(run.events.len() as u32) {
                let Some(event) = run.events.get(EventId(at)) else {
                    continue;
                };
                let wants = event.kind.role().requests_lock();
                if event.thread.0 != span.thread || !wants {
                    continue;
                }
                let other = name(EventId(at));
                if other != own {
                    let mut around = held(span.thread, EventId(at));
                    around.insert(own.clone());
                    let pair = (own.clone(), other);
                    self.edge(run, pair, (span.thread, EventId(at)), around, true);
                }
            }
        }
    }

    fn edge(
        &mut self,
        run: &Run,
        pair: (String, String),
        (thread, row): (u16, EventId),
        held: BTreeSet<String>,
        is_new: bool,
    ) {
        let event = run.events.get(row);
        let edge = WaitsForEdge {
            thread: (self.runs, thread),
            line: event.map_or(0, |event| run.meta.site(event.site).line),
            held,
            is_new,
        };
        let known = self.edges.entry(pair).or_default();
        let is_known = known.iter().any(|one| {
            one.thread.1 == edge.thread.1 && one.line == edge.line && one.held == edge.held
        });
        if !is_known && known.len() < MOST {
            known.push(edge);
        }
    }

    /// Two locks that threads would acquire in both orders after the edit, without a common lock around both.
    fn ring(&self, own: &str) -> Option<String> {
        let after = self.edges.iter().filter(|((held, _), _)| held == own);
        for ((_, other), from) in after {
            let Some(back) = self.edges.get(&(other.clone(), own.to_owned())) else {
                continue;
            };
            let pairs = from
                .iter()
                .flat_map(|one| back.iter().map(move |two| (one, two)));
            let mut bad = pairs.filter(|(one, two)| {
                let gate = |lock: &&String| *lock != own && *lock != other;
                let is_gated = one.held.intersection(&two.held).any(|lock| gate(&lock));
                one.thread.1 != two.thread.1 && (one.is_new || two.is_new) && !is_gated
            });
            if let Some((one, two)) = bad.next() {
                let of = if own == NEW {
                    own.to_owned()
                } else {
                    format!("`{own}`")
                };
                return Some(format!(
                    "line {} takes `{other}` with {of} held, and line {} takes {of} with `{other}` held: the two threads could wait for each other",
                    one.line, two.line
                ));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{LockSpan, waits};
    use crate::fixture::run;

    fn said(steps: &str, spans: &[(u16, u32, u32)]) -> Option<String> {
        let run = run(&format!(
            "main fork main.1 @1 main\nmain fork main.2 @2 main\n{steps}"
        ));
        let spans = spans.iter().map(|(thread, first, last)| LockSpan {
            thread: *thread,
            first: *first,
            last: *last,
            lock: None,
            is_shared: false,
            is_new: true,
        });
        waits(&run, &spans.collect::<Vec<_>>())
    }

    /// An initialization that waits for the lock is in others' way; else who comes first does it itself.
    #[test]
    fn an_initialization_is_waited_for_only_where_it_takes_the_lock() {
        let before = "main.1 W a =1 @10 use\nmain.1 once-begin o @12 use\nmain.1 once-end o @12 use\nmain.2 W a =2 @10 use\nmain.2 once-pass o @12 use\nmain.2 W b =1 @13 use";
        assert_eq!(said(before, &[(1, 2, 5), (2, 5, 8)]), None);
        let again = before.replace("main.2 W a =2", "main.1 W a =3 @10 use\nmain.2 W a =2");
        assert_eq!(said(&again, &[(1, 2, 5), (1, 5, 6), (2, 6, 9)]), None);
        let within = "main.1 once-begin o @12 use\nmain.1 W a =1 @10 init\nmain.1 once-end o @12 use\nmain.2 W a =2 @10 use\nmain.2 once-pass o @12 use\nmain.2 W b =1 @13 use";
        let told = said(within, &[(1, 3, 4), (2, 5, 8)]).unwrap_or_default();
        assert!(
            told.contains("waits for use (main.1) with the lock held"),
            "{told}"
        );
    }
}
