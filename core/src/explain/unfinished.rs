//! Values for whose change a thread waits for ever, since another one has ended or gone on without making it, as it does in
//! runs that pass: an error path that gives nothing back or skips its turn, a loop that ends too early.

use super::{
    deadlock::{Hang, add_wait},
    draft::Draft,
    lost_wakeup::{checked_before, looks_since_locked},
    missing::{absent, end_of, learned, tell_learned},
    skipped::skipped,
    view::View,
    waiting::{Keeps, WaitingThread, changed_since, request, waiting},
};
use crate::{
    callers::call_sites,
    claims::line,
    explanation::{BugKind, Certainty, Place, Role},
    mining::{
        Trace,
        trace::{LineAccess, line_hash},
    },
    pairs::{AccessClass, Fnv},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, raw::WaitsFor};

/// Passing runs that tell what a thread always does.
const ENOUGH: u32 = 3;

/// A value that stays as it is.
pub(super) struct UnfinishedChange {
    /// The thread that waits for its change.
    waiter: WaitingThread,
    /// Row at which the waiting thread read it.
    read: EventId,
    /// Row of another thread, or of its own, after which it is changed in passing runs.
    last: EventId,
    /// Row with which that thread has gone on; none where it set the value itself and has ended.
    on: Option<EventId>,
    /// Place at which passing runs change it next.
    next: Place,
    /// Number of passing runs that do so.
    runs: u32,
    /// Number of passing runs that come there.
    of: u32,
}

/// The first such value of a run.
pub(super) fn unfinished(view: &View) -> Option<UnfinishedChange> {
    let waiters = waiting(view);
    let ended = waiters.iter().find_map(|waiter| ended(view, waiter));
    let ended = ended.or_else(|| waiters.iter().find_map(|waiter| set_itself(view, waiter)));
    let gone_on = || waiters.iter().find_map(|waiter| gone_on(view, waiter));
    ended.or_else(|| gone_on().filter(|of| !is_still_there(view, &waiters, of.last)))
}

/// Returns whether the thread of a row waits in a call that the row's line makes: it has not gone on from there.
fn is_still_there(view: &View, waiters: &[WaitingThread], row: EventId) -> bool {
    let thread = view.thread(row);
    let mut own = waiters.iter().filter(|waiter| waiter.thread == thread);
    let at = view.place(row);
    own.any(|waiter| {
        let calls = call_sites(&view.run, request(view, waiter)).into_iter();
        let mut calls = calls.map(|site| view.run.meta.site(site));
        calls.any(|call| (&call.file, call.line) == (&at.file, at.line))
    })
}

fn ended(view: &View, waiter: &WaitingThread) -> Option<UnfinishedChange> {
    let mut keepers = waiter.keepers.iter();
    let (last, read) = keepers.find_map(|keeper| match keeper.by {
        Keeps::Value { write, read } => Some((write, read)),
        _ => None,
    })?;
    let has_ended = end_of(view, view.thread(last)) < view.failure.max(waiter.row);
    let written = Written::of(view, last, read).filter(|_| has_ended)?;
    let (next, runs) = written.next_of(view, Written::next_changes)?;
    Some(UnfinishedChange {
        waiter: waiter.clone(),
        read,
        last,
        on: None,
        next,
        runs,
        of: runs,
    })
}

/// A thread that waits for what it has set itself, and did not change again, as it does in passing runs: an exception led past
/// that.
fn set_itself(view: &View, waiter: &WaitingThread) -> Option<UnfinishedChange> {
    let wait = request(view, waiter);
    let mut looks = looks_since_locked(view, wait).into_iter();
    let (read, last, next, runs) = looks.find_map(|read| {
        let location = view.event(read).location;
        let last = view.orders.last_write_before(location, read)?;
        let is_own = view.thread(last) == waiter.thread && changed_since(view, read).is_none();
        let written = Written::of(view, last, read).filter(|_| is_own)?;
        let (next, runs) = written.next_of(view, Written::own_changes)?;
        Some((read, last, next, runs))
    })?;
    let is_condition = waiter.waits_for == WaitsFor::Condition;
    is_condition.then(|| UnfinishedChange {
        waiter: waiter.clone(),
        read,
        last,
        on: Some(read),
        next,
        runs,
        of: runs,
    })
}

fn gone_on(view: &View, waiter: &WaitingThread) -> Option<UnfinishedChange> {
    let wait = request(view, waiter);
    let read = match waiter.waits_for {
        WaitsFor::Condition => checked_before(view, wait)?,
        WaitsFor::Futex => last_look(view, waiter, wait)?,
        _ => return None,
    };
    let skipped = skipped(view, view.event(read).location)?;
    Some(UnfinishedChange {
        waiter: waiter.clone(),
        read,
        last: skipped.last,
        on: Some(skipped.on),
        next: skipped.next,
        runs: skipped.runs,
        of: skipped.of,
    })
}

/// The last read by a thread of the word for whose change it waits.
fn last_look(view: &View, waiter: &WaitingThread, wait: EventId) -> Option<EventId> {
    let mut own = view.own_before(wait);
    own.find(|row| {
        let event = view.event(*row);
        event.location == waiter.object && event.kind.reads()
    })
}

/// Explains the wait by the value that stays as it is.
pub(super) fn explain_unfinished(view: &View, of: &UnfinishedChange) -> Hang {
    let (wait, name) = (request(view, &of.waiter), view.variable(of.read));
    let setter = match view.thread(of.last) == of.waiter.thread {
        true => "it".to_owned(),
        false => view.words(of.last),
    };
    let headline = format!(
        "{} waits for `{name}` to change, but {setter} has {} without doing that",
        view.words(wait),
        of.end(view)
    );
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let detail = of.tell(view, &mut draft);
    draft.detail(detail);
    draft.set().certainty = Certainty::Likely;
    draft.set().remark = of.in_passing(view);
    draft.step(of.read, "");
    draft.mark(of.read, Role::Cause);
    draft.absent(of.on.unwrap_or(wait), view.name(of.last), of.next.clone());
    draft.mark_place(absent(view, of.read, of.next.clone()));
    add_wait(view, &mut draft, &of.waiter);
    Hang {
        condition: Some(of.read),
        ..Hang::of(draft.finish(), wait)
    }
}

/// The value in two sentences: `` `flags` stays 3: uploader (main.1) set it at line 26 and has ended. In all 90 passing runs in
/// which another thread comes there after that, the one that set it changes it again, at line 56.``
pub(super) fn in_words(view: &View, of: &UnfinishedChange) -> String {
    let location = view.event(of.read).location;
    let written = view.orders.last_write_before(location, view.failure);
    let value = written.map_or_else(|| view.read_value(of.read), |write| view.value(write));
    let value = value.map(|value| value.to_string());
    let (came, without) = match of.on {
        None => ("set it at", ""),
        Some(_) if of.is_own(view) => ("set it at", " without changing it again"),
        Some(_) => ("came to", " without changing it"),
    };
    format!(
        "`{}` stays {}: {} {came} {} and has {}{without}. {}",
        view.variable(of.read),
        value.unwrap_or_else(|| "as it is".to_owned()),
        view.words(of.last),
        view.at(of.last),
        of.end(view),
        of.in_passing(view),
    )
}

impl UnfinishedChange {
    /// Returns whether nobody has changed the value since the waiting thread looked.
    pub(super) fn stays(&self, view: &View) -> bool {
        changed_since(view, self.read).is_none()
    }

    /// Returns whether the thread that waits has set the value itself.
    pub(super) fn is_own(&self, view: &View) -> bool {
        let (set, read) = (view.event(self.last), view.event(self.read));
        set.thread == self.waiter.thread && set.kind.writes() && set.location == read.location
    }

    /// Returns whether another thread than the one that waits has gone on without the change.
    pub(super) fn is_skipped(&self, view: &View) -> bool {
        self.on.is_some() && view.thread(self.last) != self.waiter.thread
    }

    /// Returns whether the thread has ended or gone on without changing the value, in words.
    fn end(&self, view: &View) -> &'static str {
        match self.on {
            Some(on) if view.event(on).kind != EventKind::End => "gone on",
            _ => "ended",
        }
    }

    /// Sentences of how the value came to stay, with the step of what the thread had learned last.
    fn tell(&self, view: &View, draft: &mut Draft) -> String {
        let (name, setter) = (view.variable(self.read), view.words(self.last));
        let (who, read) = (view.words(self.waiter.row), view.at(self.read));
        let until = self.on.unwrap_or(self.waiter.row);
        let seen = learned(view, view.thread(self.last), until);
        // A value that it set says nothing of why it has ended.
        let seen =
            seen.filter(|(_, seen)| *seen > self.last || self.on.is_some() && *seen == self.last);
        draft.mark(self.last, Role::Cause);
        if seen.is_none_or(|(_, seen)| seen != self.last) {
            draft.step(self.last, "not changed again");
        }
        let learned = seen.map(|seen| {
            draft.mark(seen.0, Role::Interference);
            tell_learned(draft, view, seen)
        });
        match self.on {
            None => {
                let learned = learned.map(|told| format!(";\nbefore {setter} ended, it {told}"));
                format!(
                    "{setter} set {name}{} at {} and {who} read that at {read}{}.",
                    view.equals(self.last),
                    view.at(self.last),
                    learned.unwrap_or_default()
                )
            }
            Some(on) if self.is_own(view) => format!(
                "{setter} set {name}{} at {} and came to {} without changing it again.",
                view.equals(self.last),
                view.at(self.last),
                line(&view.place(on), &view.place(self.last)),
            ),
            Some(on) => {
                let came = || format!("came to {} and", view.at(self.last));
                let went = match self.end(view) {
                    "ended" => "ended".to_owned(),
                    _ => format!("went on at {}", view.at(on)),
                };
                format!(
                    "{setter} {} {went} without changing `{name}`;\n{who} read {name}{} at {read}.",
                    learned.map_or_else(came, |told| format!("{told}, and")),
                    view.equals_read(self.read),
                )
            }
        }
    }

    fn in_passing(&self, view: &View) -> String {
        let next = line(&self.next, &view.place(self.last));
        match self.on {
            None => format!(
                "In all {} passing runs in which another thread comes there after that, the one that set it changes it again, at {next}.",
                self.runs
            ),
            Some(_) => {
                let runs = match self.runs == self.of {
                    true => format!("all {}", self.of),
                    false => format!("{} of {}", self.runs, self.of),
                };
                format!(
                    "In {runs} passing runs that come to {}, each thread that does changes it after that, at {next}.",
                    view.at(self.last)
                )
            }
        }
    }
}

/// The lines at which threads make their next changes in a run; none where one does not.
type ChangesOfRun = fn(&Written, &Trace) -> Option<BTreeSet<LineAccess>>;

/// A write and a look at what it wrote, whichever threads do that.
struct Written {
    by: LineAccess,
    look: LineAccess,
    location: u64,
}

impl Written {
    fn of(view: &View, write: EventId, read: EventId) -> Option<Written> {
        let line = |row: EventId| {
            let place = view.place(row);
            let access = AccessClass::of(view.event(row).kind)?;
            Some((line_hash(&place.file, place.line), access))
        };
        Some(Written {
            by: line(write)?,
            look: line(read)?,
            location: Fnv::of(view.run.location(view.event(write).location)),
        })
    }

    /// The place of the next changes in passing runs, the same in all that have any, with their number. Linear in these runs.
    fn next_of(&self, view: &View, changes: ChangesOfRun) -> Option<(Place, u32)> {
        let mut next = BTreeSet::new();
        let mut runs = 0;
        for run in view.corpus.passing() {
            let changes = changes(self, &run.accesses)?;
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

    /// The accesses of a run to the location, with their threads.
    fn walk<'r>(&self, run: &'r Trace) -> impl Iterator<Item = (u64, LineAccess)> + use<'r> {
        let location = self.location;
        let kinds = run.events.iter();
        let kinds = kinds.filter_map(|event| run.kinds.get(*event as usize));
        let own = kinds.filter(move |kind| kind.location == location);
        own.map(|kind| (kind.thread, (kind.line, kind.access)))
    }

    /// The lines at which the threads that write so change the location themselves, after they have done so for the last time before
    /// that; none where one does not, or another one changes it meanwhile, as in a count of all. Compilers give the line of the write
    /// to an initialization, too.
    fn own_changes(&self, run: &Trace) -> Option<BTreeSet<LineAccess>> {
        let mut open: BTreeSet<u64> = BTreeSet::new();
        let mut changes = BTreeSet::new();
        for (thread, access) in self.walk(run) {
            if access.1 != AccessClass::Read && open.iter().any(|other| *other != thread) {
                return None;
            }
            if access == self.by {
                open.insert(thread);
            } else if access.1 != AccessClass::Read && open.remove(&thread) {
                changes.insert(access);
            }
        }
        open.is_empty().then_some(changes)
    }

    /// The lines at which the threads that write so change the location next, where another thread has looked by then; none
    /// where a thread does not, though another one has looked.
    fn next_changes(&self, run: &Trace) -> Option<BTreeSet<LineAccess>> {
        // The threads that have written so, and whether another one has looked since.
        let mut open: BTreeMap<u64, bool> = BTreeMap::new();
        let mut changes = BTreeSet::new();
        for (thread, access) in self.walk(run) {
            if access == self.look {
                let others = open.iter_mut().filter(|(other, _)| **other != thread);
                others.for_each(|(_, has_looked)| *has_looked = true);
            }
            if access.1 == AccessClass::Read {
                continue;
            }
            if open.remove(&thread) == Some(true) {
                changes.insert(access);
            }
            if access == self.by {
                open.insert(thread, false);
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

    /// A service claims a port, and another one where that is taken, before it counts the latch down.
    #[test]
    fn a_thread_that_tries_twice_and_gives_up() {
        let forks = "start main.1 serve\nstart main.2 serve\nmain fork main.1 @40 main\nmain fork main.2 @41 main\n";
        let first = "main.1 R used =0 @12 claim\nmain.1 W used =1 @12 claim\nmain.1 rmw up 2->1 @24 serve\nmain.1 end @25 serve\n";
        let tries = "main.2 R used =1 @12 claim\nmain.2 R other =5 @20 serve\n".repeat(2);
        let other = "main.1 R other =5 @20 serve\nmain.1 W other =5 @20 serve\n";
        let counts =
            "main.2 rmw up 1->0 @24 serve\nmain.2 end @25 serve\nmain atomic-read up =0 @37 main\n";
        let gives_up = "main.2 end @22 serve\nmain atomic-read up =1 @37 main\nmain blocked futex up @37 main\ndeadlocks";
        let told = told(
            &[forks, other, first, &tries, counts],
            &[forks, other, first, &tries, gives_up],
        );
        assert_eq!(
            told.headline,
            "main waits for `up` to change, but serve (main.2) has ended without doing that"
        );
        assert_eq!(
            told.remark,
            "In all 4 passing runs that come to test.c:20, each thread that does changes it after that, at line 24."
        );
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

    /// A latch: main waits by its word, and one of two threads does not count it down.
    #[test]
    fn a_word_that_a_thread_does_not_change_before_it_ends() {
        let begin = "
            start main.1 run
            main W up =2 @3 main
            main W port =0 @4 main
            main fork main.1 @40 main
            main fork main.2 @41 main
            main.2 W port =1 @20 claim";
        let counts = "
            main.1 R port =1 @21 run
            main.1 rmw up 2->1 @24 run
            main.1 end @26 run";
        let gives_up = "
            main.1 R port =1 @21 run
            main.1 end @26 run";
        let fine = "
            main.2 rmw up 1->0 @34 other
            main R up =0 @50 main";
        let hangs = "
            main.2 rmw up 2->1 @34 other
            main R up =1 @50 main
            main blocked futex up @50 main
            deadlocks";
        let told = told(&[begin, counts, fine], &[begin, gives_up, hangs]);
        assert_eq!(
            told.headline,
            "main waits for `up` to change, but run (main.1) has ended without doing that"
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

    const TURNS: &str = "
        start main.1 emit
        start main.2 emit
        main W free =1 @3 main
        main W turn =0 @4 main
        main fork main.1 @40 main
        main fork main.2 @41 main
        main.1 R free =1 @11 emit
        main.1 W free =0 @12 emit";
    const FIRST: &str = "
        main.1 lock m @24 emit
        main.1 W turn =1 @29 emit
        main.1 signal changed =0 @30 emit
        main.1 unlock m @31 emit
        main.1 W free =1 @32 emit
        main.1 end @33 emit";
    const SECOND: &str = "
        main.2 R free =1 @11 emit
        main.2 W free =0 @12 emit
        main.2 lock m @24 emit
        main.2 W turn =2 @29 emit
        main.2 signal changed =0 @30 emit
        main.2 unlock m @31 emit
        main.2 W free =1 @32 emit
        main.2 end @33 emit";
    const ALL_OUT: &str = "
        main lock m @50 main
        main R turn =2 @51 main \"while (turn < 2)\"
        main unlock m @53 main";
    const SKIPS: &str = "
        main.2 R free =0 @11 emit
        main.2 end @33 emit";
    const NOT_ALL_OUT: &str = "
        main lock m @50 main
        main R turn =1 @51 main \"while (turn < 2)\"
        main wait changed @52 main
        main unlock m @52 main
        main blocked condition changed @52 main
        deadlocks";

    #[test]
    fn a_thread_that_skips_its_turn() {
        let told = told(
            &[TURNS, FIRST, SECOND, ALL_OUT],
            &[TURNS, SKIPS, FIRST, NOT_ALL_OUT],
        );
        assert_eq!(
            told.headline,
            "main waits for `turn` to change, but emit (main.2) has ended without doing that"
        );
        assert_eq!(
            told.detail,
            "emit (main.2) had read free = 0 at test.c:11, written by emit (main.1) at line 12, and ended without changing `turn`;\n\
             main read turn = 1 at test.c:51."
        );
        assert_eq!(
            told.remark,
            "In all 4 passing runs that come to test.c:11, each thread that does changes it after that, at line 29."
        );
    }

    /// One thread skips its turn, but the change of the other one came after the look, and was not heard.
    #[test]
    fn a_value_that_was_changed_after_the_look_does_not_stay() {
        let (looks, waits) = NOT_ALL_OUT.split_once("main wait changed").unwrap();
        let unlocked: Vec<&str> = FIRST
            .lines()
            .filter(|line| !line.contains("lock m"))
            .collect();
        let looks = looks.replace("turn =1", "turn =0");
        let waits = format!("\nmain wait changed{waits}");
        let told = told(
            &[TURNS, FIRST, SECOND, ALL_OUT],
            &[TURNS, SKIPS, &looks, &unlocked.join("\n"), &waits],
        );
        assert_eq!(
            told.headline,
            "main waits for a signal that was already sent"
        );
        assert!(!told.remark.contains("stays"), "{}", told.remark);
    }

    /// The thread waits where it comes in passing runs once its turn is over.
    #[test]
    fn a_thread_that_skips_its_turn_and_waits_for_work() {
        const IDLES: &str = "
            main.2 lock m @60 emit
            main.2 R jobs =0 @61 emit \"while (jobs == 0)\"
            main.2 wait work @62 emit
            main.2 unlock m @62 emit";
        const GETS_WORK: &str = "
            main W jobs =1 @70 main
            main signal work =1 @71 main
            main.2 lock m @62 emit
            main.2 wake work =0 @62 emit
            main.2 R jobs =1 @61 emit
            main.2 unlock m @62 emit";
        const TURNS_OFF: &str = "
            main.2 R free =0 @11 emit
            main.2 W dropped =1 @14 emit";
        const HANGS: &str = "
            main.2 blocked condition work @62 emit
            deadlocks";
        let second = SECOND.replace("main.2 end @33 emit", "");
        let not_all_out = NOT_ALL_OUT.replace("deadlocks", "");
        let told = told(
            &[TURNS, FIRST, &second, IDLES, ALL_OUT, GETS_WORK],
            &[TURNS, TURNS_OFF, IDLES, FIRST, &not_all_out, HANGS],
        );
        assert_eq!(
            told.headline,
            "main waits for `turn` to change, but emit (main.2) has gone on without doing that"
        );
        assert!(
            told.detail
                .contains("and went on at test.c:14 without changing `turn`"),
            "{}",
            told.detail
        );
    }

    /// The last turn of all is nobody's loss, and what is changed after all is not skipped.
    #[test]
    fn most_passing_runs_have_the_change() {
        let kept = [TURNS, FIRST, SECOND, ALL_OUT].concat();
        let skipped = [TURNS, SKIPS, FIRST].concat();
        let failing = [TURNS, SKIPS, FIRST, NOT_ALL_OUT].concat();
        let told = |kept_by: usize, of: usize| {
            let passing = (0..of).map(|at| {
                if at < kept_by {
                    kept.as_str()
                } else {
                    &skipped
                }
            });
            let passing: Vec<&str> = passing.collect();
            let corpus = corpus(&passing, &[&failing]);
            explain(&corpus, &Budget::unlimited())
                .findings
                .remove(0)
                .remark
        };
        let says = "In 4 of 5 passing runs that come to test.c:11, each thread that does changes it after that, at line 29.";
        assert!(told(4, 5).contains(says), "{}", told(4, 5));
        assert!(!told(3, 5).contains("each thread that does"));
        assert!(!told(2, 2).contains("each thread that does"));
    }
    /// A loader fails by an exception, which leads past the line that takes the mark of the load back, and its thread tries again.
    #[test]
    fn a_thread_that_waits_for_what_it_has_left_set_itself() {
        let begin = "start main.1 get\nstart main.2 get\nmain fork main.1 @40 main\nmain fork main.2 @41 main\n\
            main W loading =0 @3 main\n";
        let marks = |by: u32| {
            format!(
                "main.{by} lock m @10 get\nmain.{by} R loading =0 @11 get\nmain.{by} W loading =1 @12 get\nmain.{by} unlock m @13 get\n"
            )
        };
        let takes_back = |by: u32| {
            format!(
                "main.{by} lock m @15 get\nmain.{by} W loading =0 @16 get\nmain.{by} broadcast ready =0 @17 get\nmain.{by} unlock m @18 get\n"
            )
        };
        let fine = [begin, &marks(1), &takes_back(1), &marks(2), &takes_back(2)].concat();
        let waits = |by: u32| {
            format!(
                "main.{by} lock m @10 get\nmain.{by} R loading =1 @11 get\nmain.{by} wait ready @11 get\nmain.{by} unlock m @11 get\n"
            )
        };
        let hangs = "main.1 blocked condition ready @11 get\nmain.2 blocked condition ready @11 get\ndeadlocks";
        let left = [begin, &marks(1), &waits(1), &waits(2), hangs].concat();
        let told = |passing: &str| {
            let found = explain(&corpus(&[passing; 6], &[&left]), &Budget::unlimited()).findings;
            let first = found.into_iter().next().unwrap();
            (first.headline, first.detail, first.remark)
        };
        let (headline, detail, remark) = told(&fine);
        assert_eq!(
            headline,
            "get (main.1) waits for `loading` to change, but it has gone on without doing that"
        );
        assert_eq!(
            detail,
            "get (main.1) set loading = 1 at test.c:12 and came to line 11 without changing it again."
        );
        assert!(
            remark.contains("In all 6 passing runs") && remark.contains("at line 16"),
            "{remark}"
        );
        // Where others take it back, the thread need not.
        let by_another = [begin, &marks(1), &takes_back(2)].concat();
        assert!(
            !told(&by_another).0.contains("gone on"),
            "{:?}",
            told(&by_another)
        );
    }
}
