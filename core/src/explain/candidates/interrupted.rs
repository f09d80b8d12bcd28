//! Two accesses of a thread with another thread's access in between.

use super::{
    Candidate, NOT_NEW, Story, UNRELATED, add, apart, candidate, distance, keep_best, seen, usual,
};
use crate::{
    Budget,
    budget::Poll,
    explain::view::View,
    facts::{self, ValueKind},
    pairs::{PairKey, Triple, TripleKey, triples},
};
use rustc_hash::FxHashSet;
use unsnarl_trace::{EventId, EventKind, FailureKind};

/// Unserializable triples of the failing run. A triple that passing runs also have may still be the cause,
/// with other values, when the failure itself read the location; then it has to be near.
///
/// Stops when the time is over; of many triples only the best are kept.
pub(super) fn interrupted(view: &View, budget: &Budget) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    let (mut found, mut poll) = (Vec::new(), Poll::new(budget));
    triples(&view.run, view.orders.accesses(), |triple| {
        if poll.is_over() {
            return;
        }
        let is_over = view.is_forced(triple.remote, triple.second);
        if is_over && (view.is_first(triple.first, triple.remote) || looks_again(view, &triple)) {
            return;
        }
        if is_release(view, &triple) {
            return;
        }
        let key = view.triple_key(&triple);
        let runs = counts.triple_runs(key);
        let story = match classify(view, triple, key) {
            Story::Atomicity(triple) => Story::Atomicity(stored(view, triple)),
            other => other,
        };
        let contrast = seen(runs, counts.passing())
            + harmless(view, &triple, runs)
            + match story {
                Story::Atomicity(_) => apart(view, triple.first, triple.second),
                _ => 0,
            };
        let mut rows = vec![triple.second, triple.remote];
        if distance(view, &rows) == UNRELATED {
            rows.push(triple.first);
        }
        let mut one = candidate(
            view,
            story,
            &rows,
            contrast.saturating_sub(freed_twice(view, &triple)),
            runs == 0 && counts.passing() > 0,
        );
        let rows = [triple.first, triple.remote, triple.second];
        let atomic = rows.iter().all(|row| view.event(*row).kind.is_atomic());
        one.is_usual = atomic && usual(runs, counts.passing()) || is_noticed(view, &triple);
        add(&mut found, one);
    });
    keep_best(found)
}

/// Returns whether a thread only comes to read on a line once more: behind the end of the other thread it is to see what that has
/// changed.
fn looks_again(view: &View, triple: &Triple) -> bool {
    let (first, second) = (triple.first, triple.second);
    let reads = [first, second].map(|row| !view.event(row).kind.writes());
    reads == [true, true] && view.key(first) == view.key(second)
}

/// Returns whether a smart pointer looks at its use count and then takes itself off, as it does by its own code wherever it ends: it
/// is right whatever others do in between. Only a line that asks for the count makes something of it.
fn is_release(view: &View, triple: &Triple) -> bool {
    const ASKS: [&str; 3] = ["use_count", "unique", "expired"];
    let (first, second) = (triple.first, triple.second);
    let (look, of) = (view.place(first), view.place(second));
    facts::is_use_count(view.run.location(view.event(first).location))
        && !view.event(first).kind.writes()
        && view.event(second).kind == EventKind::Rmw
        && (&look.file, look.line) == (&of.file, of.line)
        && !ASKS.iter().any(|asked| look.text.contains(asked))
}

/// The triple with the write that its second access belongs to: a smart pointer reads what it holds before it takes what is
/// assigned to it, and the line only sets it.
fn stored(view: &View, triple: Triple) -> Triple {
    let event = view.event(triple.second);
    let (name, at) = (view.variable(triple.second), view.place(triple.second));
    let location = view.run.location(event.location);
    let is_inner = facts::own_part(location) != location;
    let mut after = view
        .orders
        .accesses()
        .after(event.location, triple.second)
        .iter();
    let next = after.find(|row| view.thread(**row) == event.thread);
    let write = next.copied().filter(|row| {
        let place = view.place(*row);
        view.event(*row).kind == EventKind::Write
            && (&place.file, place.line) == (&at.file, at.line)
    });
    let is_read = event.kind == EventKind::Read && is_inner && facts::assigns_to(&at.text, &name);
    let second = write.filter(|_| is_read).unwrap_or(triple.second);
    Triple { second, ..triple }
}

/// The pairs that interruptions consist of, which are explained as interruptions, not as order violations.
pub(super) fn pairs_of(view: &View, interruptions: &[Candidate]) -> FxHashSet<PairKey> {
    let triples = interruptions
        .iter()
        .filter_map(|candidate| match candidate.story {
            Story::Atomicity(triple) => Some(triple),
            _ => None,
        });
    let pairs = triples.flat_map(|triple| {
        let [first, remote, second] =
            [triple.first, triple.remote, triple.second].map(|row| view.key(row));
        [
            PairKey {
                head: first,
                tail: remote,
            },
            PairKey {
                head: remote,
                tail: second,
            },
        ]
    });
    pairs.collect()
}

/// Cost of a likely harmless triple: a thread that writes, lets another write, and reads the new value is
/// mostly fine with it (a shared counter); one that reads the same value twice has noticed nothing.
fn harmless(view: &View, triple: &Triple, runs: u32) -> u32 {
    let (first, second) = (view.event(triple.first), view.event(triple.second));
    let unchanged = first.value.is_some() && first.value == second.value;
    match (first.kind.reads(), second.kind.reads()) {
        (true, true) if unchanged => NOT_NEW,
        (true, true) if waits_between(view, triple) => 2 * NOT_NEW,
        (false, true) if distance(view, &[triple.second]) <= 3 => NOT_NEW / 4,
        (false, true) if runs > 0 || apart(view, triple.first, triple.second) > 0 => 2 * NOT_NEW,
        (false, true) => NOT_NEW / 4,
        _ => 0,
    }
}

/// Returns whether the thread looks for the change by itself: `if (seen != generation)` compares what it read before with
/// what it reads now, and the two differ.
fn is_noticed(view: &View, triple: &Triple) -> bool {
    let (first, second) = (view.event(triple.first), view.event(triple.second));
    let only_reads = |kind: EventKind| kind.reads() && !kind.writes();
    let (then, now) = (view.place(triple.first), view.place(triple.second));
    only_reads(first.kind)
        && only_reads(second.kind)
        && first.value.is_some()
        && first.value != second.value
        && ["==", "!="]
            .iter()
            .any(|compares| now.text.contains(compares))
        && facts::carries(&then.text, &now.text)
}

/// Returns whether the thread waits for another one between two reads of a variable, and so expects a change.
fn waits_between(view: &View, triple: &Triple) -> bool {
    let waits = view.rows.waits(view.thread(triple.second));
    let after = waits.partition_point(|row| *row <= triple.first);
    waits.get(after).is_some_and(|row| *row < triple.second)
}

/// Bonus after a double free for an interruption in that block, or of the data that the thread read just
/// before, which is most likely its reference count.
fn freed_twice(view: &View, triple: &Triple) -> u32 {
    const JUST_BEFORE: usize = 8;
    let block = |location| view.run.block(location);
    let twice = view.summary.failure_kind == Some(FailureKind::DoubleFree);
    let rows = view.rows.before(view.thread(view.failure), view.failure);
    let looked_at = rows
        .iter()
        .rev()
        .take(JUST_BEFORE)
        .any(|row| *row == triple.second);
    let same = block(triple.location) == block(view.event(view.failure).location);
    if twice && (same || looked_at) {
        2 * NOT_NEW
    } else {
        0
    }
}

/// Classifies a triple as an atomicity violation, or as an order violation of two of its accesses. When
/// passing runs have the other thread's access on both sides, each order alone is fine; when only ever on one
/// side, the order was intended.
fn classify(view: &View, triple: Triple, key: TripleKey) -> Story {
    const ENOUGH: u32 = 3;
    let counts = view.corpus.counts();
    let runs = |head, tail| counts.ordered(PairKey { head, tail });
    let remote_first = runs(key.remote, key.first).max(runs(key.remote, key.second));
    let remote_last = runs(key.second, key.remote).max(runs(key.first, key.remote));
    let (first, second) = (
        view.event(triple.first).kind,
        view.event(triple.second).kind,
    );
    let symmetric = view.place(triple.remote).function == view.place(triple.second).function;
    let carried = first == EventKind::Rmw || second == EventKind::Rmw || symmetric;
    let updates = first.reads() && (second.writes() || is_updated(view, triple.second));
    // An access that comes first in every schedule, such as the variable's initialization, is no part of the
    // failure.
    if first.writes() && view.is_first(triple.first, triple.remote) {
        return Story::Order {
            early: triple.remote,
            late: triple.second,
        };
    }
    match (remote_first, remote_last) {
        _ if updates || carried => Story::Atomicity(triple),
        (0, last) if last >= ENOUGH => Story::Order {
            early: triple.remote,
            late: triple.second,
        },
        (first, 0) if first >= ENOUGH => Story::Order {
            early: triple.first,
            late: triple.remote,
        },
        _ if counts.passing() < ENOUGH && tears_down(view, triple.remote) => Story::Order {
            early: triple.remote,
            late: triple.second,
        },
        _ => Story::Atomicity(triple),
    }
}

/// Returns whether the thread goes on to write what it has read, as `n++` does: on the same line, or in the same critical
/// section, since optimized code has reads at other lines.
fn is_updated(view: &View, read: EventId) -> bool {
    let event = view.event(read);
    let line = |row| (view.place(row).file, view.place(row).line);
    let section = |row| {
        let held = view.orders.locks_held(row);
        held.first().map(|section| section.acquired)
    };
    let after = view.orders.accesses().after(event.location, read);
    let own = after.iter().find(|row| view.thread(**row) == event.thread);
    own.filter(|row| view.event(**row).kind.writes())
        .is_some_and(|write| {
            let inside = section(read);
            line(*write) == line(read) || inside.is_some() && inside == section(*write)
        })
}

/// Returns whether the row sets a pointer to NULL.
fn tears_down(view: &View, row: EventId) -> bool {
    view.value(row)
        .is_some_and(|value| value.kind == ValueKind::Null)
}

#[cfg(test)]
mod tests {
    use super::{Story, interrupted};
    use crate::{Budget, explain::view::View, fixture::corpus};

    /// A statement at the end reads again what an audit has read, behind the end of the thread that has changed it since.
    #[test]
    fn a_look_behind_the_end_of_the_other_thread_is_no_second_step() {
        let found = |joins: &str| {
            let text = format!(
                "main fork main.1 @40 main\nmain R n =1 via=58@main @14 get\nmain.1 W n =2 @20 set\n\
                 {joins}main R n =2 via=66@main @14 get\nmain fails @68 main"
            );
            let corpus = corpus(&[], &[&text]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            let found = interrupted(&view, &Budget::unlimited());
            let is_interruption = |story: &Story| matches!(story, Story::Atomicity(_));
            found
                .iter()
                .filter(|one| is_interruption(&one.story))
                .count()
        };
        assert_eq!(found(""), 1);
        assert_eq!(found("main.1 end\nmain join main.1 @64 main\n"), 0);
    }
    /// The pointer of a drawn sprite ends after a cache has dropped its own.
    #[test]
    fn a_pointer_that_takes_itself_off_is_not_interrupted() {
        let found = |text: &str, line: u32| {
            let count = "`heap(a.cc:13 by main #0)._M_use_count`";
            let text = format!(
                "main fork main.1 @40 main\nmain atomic-read {count} =2 @14 draw \"{text}\"\n\
                 main.1 rmw {count} 2->1 @24 collect\nmain rmw {count} 1->0 @{line} draw\nmain fails @68 main"
            );
            let corpus = corpus(&[], &[&text]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            interrupted(&view, &Budget::unlimited()).len()
        };
        assert_eq!(found("return texture->draw();", 14), 0);
        assert_eq!(
            found("if (texture.use_count() == 1) texture.reset();", 14),
            1
        );
        assert_eq!(found("if (texture.use_count() == 1)", 16), 1);
    }
}
