//! Values for whose change a thread waits for ever, since the thread that set them has ended without changing them again, as
//! it does in runs that pass: an error path that gives nothing back, a loop that ends too early.

use super::{
    deadlock::{Hang, add_wait},
    draft::Draft,
    missing::{absent, end_of, learned, tell_learned},
    view::View,
    waiting::{Keeps, WaitingThread, request, waiting},
};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Place, Role},
    mining::{
        Trace,
        trace::{LineAccess, line_hash},
    },
    pairs::{AccessClass, Fnv},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::EventId;

/// Passing runs that tell what a thread always does.
const ENOUGH: u32 = 3;

/// A value that stays as it is.
pub(super) struct UnfinishedChange {
    /// The thread that waits for its change.
    waiter: WaitingThread,
    /// Row that set it.
    write: EventId,
    /// Row at which the waiting thread read it.
    read: EventId,
    /// Place at which passing runs change it next.
    next: Place,
    /// Number of passing runs that do so.
    runs: u32,
}

/// The first such value of a run.
pub(super) fn unfinished(view: &View) -> Option<UnfinishedChange> {
    waiting(view).into_iter().find_map(|waiter| {
        let mut keepers = waiter.keepers.iter();
        let (write, read) = keepers.find_map(|keeper| match keeper.by {
            Keeps::Value { write, read } => Some((write, read)),
            _ => None,
        })?;
        let has_ended = end_of(view, view.thread(write)) < view.failure.max(waiter.row);
        let (next, runs) = next_change(view, write, read).filter(|_| has_ended)?;
        Some(UnfinishedChange {
            waiter,
            write,
            read,
            next,
            runs,
        })
    })
}

/// Explains the wait by the value that stays as it is.
pub(super) fn explain_unfinished(view: &View, of: &UnfinishedChange) -> Hang {
    let (wait, name) = (request(view, &of.waiter), view.variable(of.write));
    let (who, setter) = (view.words(wait), view.words(of.write));
    let headline =
        format!("{who} waits for `{name}` to change, but {setter} has ended without doing that");
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let mut detail = format!(
        "{setter} set {name}{} at {} and {who} read that at {}",
        view.equals(of.write),
        view.at(of.write),
        view.at(of.read),
    );
    draft.step(of.write, "not changed again");
    draft.mark(of.write, Role::Cause);
    let seen = learned(view, view.thread(of.write), of.waiter.row);
    if let Some(last) = seen.filter(|(_, seen)| *seen > of.write) {
        let learned = tell_learned(&mut draft, view, last);
        detail.push_str(&format!(";\nbefore {setter} ended, it {learned}"));
        draft.mark(last.0, Role::Interference);
    }
    draft.detail(format!("{detail}."));
    draft.set().certainty = Certainty::Likely;
    draft.set().remark = of.in_passing(view);
    draft.step(of.read, "");
    draft.mark(of.read, Role::Cause);
    draft.absent(wait, view.name(of.write), of.next.clone());
    draft.mark_place(absent(view, of.read, of.next.clone()));
    add_wait(view, &mut draft, &of.waiter);
    Hang {
        explanation: draft.finish(),
        wait,
        condition: Some(of.read),
        never_signalled: true,
    }
}

/// The value in two sentences: `` `flags` stays 3: uploader (main.1) set it at line 26 and has ended. In all 90 passing runs in
/// which another thread comes there after that, the one that set it changes it again, at line 56.``
pub(super) fn in_words(view: &View, of: &UnfinishedChange) -> String {
    let value = view.value(of.write).map(|value| value.to_string());
    format!(
        "`{}` stays {}: {} set it at {} and has ended. {}",
        view.variable(of.write),
        value.unwrap_or_else(|| "as it is".to_owned()),
        view.words(of.write),
        view.at(of.write),
        of.in_passing(view),
    )
}

impl UnfinishedChange {
    fn in_passing(&self, view: &View) -> String {
        format!(
            "In all {} passing runs in which another thread comes there after that, the one that set it changes it again, at {}.",
            self.runs,
            line(&self.next, &view.place(self.write)),
        )
    }
}

/// The place of a thread's next change of what a row wrote, where another thread has looked as the waiting one did: the same
/// in all of the passing runs that have that; with their number. Linear in these runs.
fn next_change(view: &View, write: EventId, read: EventId) -> Option<(Place, u32)> {
    let line = |row: EventId| {
        let place = view.place(row);
        Some((
            line_hash(&place.file, place.line),
            AccessClass::of(view.event(row).kind)?,
        ))
    };
    let written = Written {
        by: line(write)?,
        look: line(read)?,
        location: Fnv::of(view.run.location(view.event(write).location)),
    };
    let mut next = BTreeSet::new();
    let mut runs = 0;
    for run in view.corpus.passing() {
        let changes = written.next_changes(&run.accesses)?;
        runs += u32::from(!changes.is_empty());
        next.extend(changes);
    }
    let mut next = next.into_iter();
    let (line, access) = next.next().filter(|_| runs >= ENOUGH)?;
    let counts = view.corpus.counts();
    let key = counts
        .key_at(line, access)
        .filter(|_| next.next().is_none())?;
    Some((counts.site(key)?.place.clone(), runs))
}

/// A write and a look at what it wrote, whichever threads do that.
struct Written {
    by: LineAccess,
    look: LineAccess,
    location: u64,
}

impl Written {
    /// The lines at which the threads that write so change the location next, where another thread has looked by then; none
    /// where a thread does not, though another one has looked.
    fn next_changes(&self, run: &Trace) -> Option<BTreeSet<LineAccess>> {
        // The threads that have written so, and whether another one has looked since.
        let mut open: BTreeMap<u64, bool> = BTreeMap::new();
        let mut changes = BTreeSet::new();
        let kinds = run.events.iter();
        let kinds = kinds.filter_map(|event| run.kinds.get(*event as usize));
        for kind in kinds.filter(|kind| kind.location == self.location) {
            let access = (kind.line, kind.access);
            if access == self.look {
                let others = open
                    .iter_mut()
                    .filter(|(thread, _)| **thread != kind.thread);
                others.for_each(|(_, has_looked)| *has_looked = true);
            }
            if kind.access == AccessClass::Read {
                continue;
            }
            if open.remove(&kind.thread) == Some(true) {
                changes.insert(access);
            }
            if access == self.by {
                open.insert(kind.thread, false);
            }
        }
        let is_left = open.into_values().any(|has_looked| has_looked);
        (!is_left).then_some(changes)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Explanation, explain, fixture::corpus};

    const BEGIN: &str = "
        start main.1 upload
        start main.2 forget
        main fork main.1 @40 main
        main fork main.2 @41 main
        main W removed =0 @3 main
        main.1 lock m @10 upload
        main.1 W busy =1 @11 upload
        main.1 unlock m @12 upload";
    const REMOVES: &str = "
        main.2 W removed =1 @20 forget";
    const LOOKS: &str = "
        main.2 lock m @21 forget
        main.2 R busy =1 @22 forget \"while (busy)\"
        main.2 wait idle @23 forget
        main.2 unlock m @23 forget";
    const GIVES_BACK: &str = "
        main.1 R removed =0 @13 upload
        main.1 lock m @14 upload
        main.1 W busy =0 @15 upload
        main.1 signal idle =1 @16 upload
        main.1 unlock m @17 upload
        main.1 end @18 upload";
    const FINDS_IT_IDLE: &str = "
        main.2 lock m @23 forget
        main.2 wake idle =0 @23 forget
        main.2 R busy =0 @22 forget \"while (busy)\"
        main.2 unlock m @24 forget";
    const LEAVES: &str = "
        main.1 R removed =1 @13 upload
        main.1 end @18 upload";
    const HANGS: &str = "
        main.2 blocked condition idle @23 forget
        deadlocks";

    fn told(passing: &[&str], failing: &[&str]) -> Explanation {
        let passing = passing.concat();
        let corpus = corpus(&[passing.as_str(); 4], &[&failing.concat()]);
        explain(&corpus, &Budget::unlimited()).findings.remove(0)
    }

    #[test]
    fn a_thread_that_ends_without_the_change_that_another_one_waits_for() {
        let told = told(
            &[BEGIN, LOOKS, GIVES_BACK, REMOVES, FINDS_IT_IDLE],
            &[BEGIN, REMOVES, LOOKS, LEAVES, HANGS],
        );
        assert_eq!(
            told.headline,
            "forget (main.2) waits for `busy` to change, but upload (main.1) has ended without doing that"
        );
        assert_eq!(
            told.remark,
            "In all 4 passing runs in which another thread comes there after that, the one that set it changes it again, at line 15."
        );
        assert!(
            told.detail
                .contains("before upload (main.1) ended, it had read removed = 1 at test.c:13, written by forget (main.2) at line 20"),
            "{}",
            told.detail
        );
    }

    /// Nobody waits for what a passing run leaves so.
    #[test]
    fn passing_runs_in_which_nobody_looks_say_nothing() {
        let looked = [BEGIN, LOOKS, GIVES_BACK, REMOVES, FINDS_IT_IDLE].concat();
        let unseen = [BEGIN, REMOVES, LEAVES].concat();
        let failing = [BEGIN, REMOVES, LOOKS, LEAVES, HANGS].concat();
        let told = |passing: &[&str]| {
            let corpus = corpus(passing, &[&failing]);
            let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
            told.headline.contains("without doing that")
        };
        let [looked, unseen] = [&looked, &unseen].map(String::as_str);
        assert!(told(&[looked, looked, looked, unseen]));
        assert!(!told(&[looked, looked, unseen, unseen]));
    }
}
