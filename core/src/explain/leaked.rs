//! Locks and units of semaphores that a function takes and gives back, but for one way out of it, after which nobody can have
//! them any more.

use super::{
    LOOKED_AT,
    deadlock::{Hang, add_wait},
    draft::Draft,
    view::View,
    waiting::{WaitingThread, holder, object_name, request, units},
};
use crate::{
    callers::call_sites,
    claims::line,
    explanation::{BugKind, Certainty, Place, Role},
    facts,
    orders::{Locks, Section, UnitStep, taken_at},
};
use unsnarl_trace::{EventId, EventKind, Run, SiteId, SiteRow, raw::WaitsFor};

/// A lock, or a unit, that a thread has kept when it left the function in which it took it.
struct Leak<'w> {
    /// A thread that waits for it.
    waiter: &'w WaitingThread,
    held: EventId,
    /// Last row of the thread in that function.
    last: EventId,
    function: String,
    /// The number of calls that lead to the function.
    depth: usize,
    /// Place at which the function gives the lock back on another way.
    released: Place,
}

/// Explains the first wait for such a lock.
pub(super) fn leaked(view: &View, waiting: &[WaitingThread]) -> Option<Hang> {
    let mut taken = waiting.iter().flat_map(|one| {
        let held = match one.waits_for {
            WaitsFor::Semaphore => units(view, one.object).into_values().flatten().collect(),
            WaitsFor::Futex if view.orders.locks().is_spin_lock(one.object) => {
                let keeper = holder(view, one.object, one.thread);
                keeper
                    .and_then(|keeper| keeper.held())
                    .into_iter()
                    .collect()
            }
            _ => Vec::from_iter(one.owner().map(|(_, held)| held)),
        };
        held.into_iter().map(move |held| (one, held))
    });
    taken.find_map(|(waiter, held)| Some(explain(view, &leak(view, waiter, held)?)))
}

/// The leak of a lock that is held at the end, by what the same function does with its locks in the failing runs.
fn leak<'w>(view: &View, waiter: &'w WaitingThread, held: EventId) -> Option<Leak<'w>> {
    let path = path(&view.run, held);
    let runs = view.corpus.failing().filter_map(|run| run.run.as_deref());
    let others = runs.filter(|run| !std::ptr::eq(*run, &*view.run));
    let runs = std::iter::once(&*view.run).chain(others.take(LOOKED_AT));
    let ways: Vec<Way> = runs.flat_map(|run| ways(run, &path)).collect();
    let (depth, released) = (0..path.len()).rev().find_map(|depth| {
        let calls = path.get(depth..)?;
        let mut alike = ways.iter().filter(|way| way.begins(calls));
        let released = alike.next()?.within(calls)?;
        // A function that gives the lock back to its caller, as a wrapper of `pthread_mutex_lock`, need not unlock it.
        let is_own = alike.all(|way| way.within(calls).is_some());
        is_own.then_some((depth, released))
    })?;
    Some(Leak {
        waiter,
        held,
        last: last_within(view, held, depth)?,
        function: path.get(depth)?.function.clone(),
        depth,
        released: facts::place_of(released),
    })
}

/// The calls that led to a row, outermost first.
fn path(run: &Run, row: EventId) -> Vec<SiteRow> {
    let sites = call_sites(run, row).into_iter();
    sites.map(|site| run.meta.site(site).clone()).collect()
}

/// A critical section that was given back: the calls that led to its beginning and to its end.
struct Way {
    taken: Vec<SiteRow>,
    given: Vec<SiteRow>,
    /// The number of calls, outermost first, that its thread left none of in between.
    stays: usize,
}

/// The sections of a run that begin at the last of these places.
fn ways(run: &Run, path: &[SiteRow]) -> Vec<Way> {
    let Some(last) = path.last() else {
        return Vec::new();
    };
    let locks = Locks::with_semaphores(run, &taken_at(run, last), &mut Vec::new());
    let begins_there = |section: &&Section| {
        let site = run.meta.site(run.events.site(section.acquired));
        last.is_same_line(site)
    };
    let sections = locks.sections().iter().filter(begins_there);
    let way = |section: &Section| {
        let released = section.released?;
        Some(Way {
            taken: self::path(run, section.acquired),
            given: self::path(run, released),
            stays: stays(run, section.acquired, released),
        })
    };
    sections.filter_map(way).collect()
}

/// Returns whether a thread takes and gives in one visit of a function: then it gives back what it has taken.
pub(super) fn gives_back(run: &Run, taken: EventId, given: EventId) -> bool {
    let way = Way {
        taken: path(run, taken),
        given: path(run, given),
        stays: stays(run, taken, given),
    };
    let depths = 0..way.taken.len();
    let mut calls = depths.filter_map(|depth| way.taken.get(depth..));
    calls.any(|calls| way.within(calls).is_some())
}

/// The number of calls, outermost first, that a section's thread did not leave from its beginning to its end: a later call of
/// the same function is another one, and the rows of its caller in between say so. Linear in the rows in between.
fn stays(run: &Run, acquired: EventId, released: EventId) -> usize {
    let taken = path(run, acquired);
    let thread = run.events.event(acquired).thread;
    let between = (acquired.0 + 1..released.0).map(EventId);
    let own = between.filter(|row| run.events.event(*row).thread == thread);
    let kept = own.map(|row| {
        let calls = path(run, row);
        let both = calls.iter().zip(&taken);
        let outer = both.take_while(|(a, b)| a.is_same_line(b)).count();
        let here = calls.get(outer).zip(taken.get(outer));
        let is_in = here.is_some_and(|(a, b)| (&a.file, &a.function) == (&b.file, &b.function));
        outer + usize::from(is_in)
    });
    kept.min().unwrap_or(taken.len())
}

impl Way {
    /// Returns whether the section begins by these calls, whoever makes the first of them.
    fn begins(&self, calls: &[SiteRow]) -> bool {
        let mut both = self.taken.iter().rev().zip(calls.iter().rev());
        self.taken.len() >= calls.len() && both.all(|(a, b)| a.is_same_line(b))
    }

    /// The line by which the function of the first of these calls gives the lock back; `None` where it has left before that, or
    /// where that is a later visit of the line that takes it: a call of another function, which takes and gives by turns.
    fn within(&self, calls: &[SiteRow]) -> Option<&SiteRow> {
        let depth = self.taken.len().checked_sub(calls.len())?;
        (depth < self.stays).then_some(())?;
        let outer = (self.taken.get(..depth)?, self.given.get(..depth)?);
        let is_called_alike = outer.0.iter().zip(outer.1).all(|(a, b)| a.is_same_line(b));
        let line = self.given.get(depth).filter(|_| is_called_alike)?;
        let first = calls.first()?;
        let is_own = (&line.file, &line.function) == (&first.file, &first.function);
        let is_one_visit = line.line != first.line || depth + 1 < self.stays;
        (is_own && is_one_visit).then_some(line)
    }
}

/// The last row of a thread in the function at a depth of the calls that led to a row, before the thread has left it or asks
/// for the same lock by the same line again; `None` where it is still there. A thread that takes one more unit of a semaphore
/// may take several.
fn last_within(view: &View, held: EventId, depth: usize) -> Option<EventId> {
    let calls = call_sites(&view.run, held);
    let location = view.event(held).location;
    let is_unit = UnitStep::of(&view.event(held)) == Some(UnitStep::Taken);
    let function = |site: SiteId| &view.run.meta.site(site).function;
    let mut has_gone_on = false;
    let is_within = |row: &EventId| {
        let (own, event) = (call_sites(&view.run, *row), view.event(*row));
        let is_called_alike = own.get(..depth) == calls.get(..depth);
        let (here, there) = (own.get(depth), calls.get(depth));
        // What a function of the program's own does first when it is called once more is of the next visit, too.
        has_gone_on |= here != there;
        let asks_again = here == there && (has_gone_on || event.location == location) && !is_unit;
        is_called_alike
            && here.map(|site| function(*site)) == there.map(|site| function(*site))
            && !asks_again
            && event.kind != EventKind::End
    };
    let thread = view.thread(held);
    let after = view.rows.after(thread, held);
    let within = after
        .iter()
        .copied()
        .filter(|row| *row > held)
        .take_while(is_within);
    let last = within.last().unwrap_or(held);
    let goes_on = after.last().is_some_and(|row| *row > last);
    goes_on.then_some(last)
}

fn explain(view: &View, leak: &Leak<'_>) -> Hang {
    let (held, last) = (leak.held, leak.last);
    let (name, function) = (object_name(view, held), &leak.function);
    let words = LeakWords::of(leak.waiter);
    let headline = format!(
        "`{name}` {}: {function} is left without {} it",
        words.stays, words.giving
    );
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let wait = request(view, leak.waiter);
    draft.detail(format!(
        "{} {} at {} and did not {} it: its last step in {function} is at {};\n{} waits for it at {}.",
        view.words(held),
        words.took,
        leak.called_at(view, held),
        words.give,
        leak.called_at(view, last),
        facts::thread_in_words(&view.run, leak.waiter.thread),
        view.at(wait),
    ));
    draft.set().certainty = Certainty::Likely;
    draft.set().remark = format!(
        "On another way {function} {} it, on {}.",
        words.gives,
        line(&leak.released, &view.place(last))
    );
    draft.step(held, words.never);
    draft.mark(held, Role::Cause);
    if last != held {
        draft.step(last, format!("last step in {function}"));
        draft.mark(last, Role::Cause);
    }
    add_wait(view, &mut draft, leak.waiter);
    Hang::of(draft.finish(), wait)
}

/// The words for what is taken and given back.
struct LeakWords {
    stays: &'static str,
    giving: &'static str,
    took: &'static str,
    give: &'static str,
    gives: &'static str,
    never: &'static str,
}

impl LeakWords {
    fn of(waiter: &WaitingThread) -> LeakWords {
        match waiter.waits_for {
            WaitsFor::Semaphore => LeakWords {
                stays: "lacks a unit",
                giving: "posting",
                took: "took a unit of it",
                give: "post",
                gives: "posts",
                never: "never posted",
            },
            _ => LeakWords {
                stays: "stays locked",
                giving: "unlocking",
                took: "locked it",
                give: "unlock",
                gives: "unlocks",
                never: "never unlocked",
            },
        }
    }
}

impl Leak<'_> {
    /// The line of the function that leads to a row, as `gate.c:16`.
    fn called_at(&self, view: &View, row: EventId) -> String {
        let calls = path(&view.run, row);
        let of_function = calls.get(self.depth);
        of_function.map_or_else(|| view.at(row), |site| facts::short(&facts::place_of(site)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Explanation, explain, fixture::corpus};

    fn told(text: &str) -> Explanation {
        let found = explain(&corpus(&[], &[text]), &Budget::unlimited()).findings;
        found.into_iter().next().expect("an explanation")
    }

    /// Two visits of a function that locks by a wrapper: one gives the lock back, the other one does not. `then` is what the
    /// thread does after that.
    fn visits(then: &str) -> String {
        format!(
            "start main.1 teller
            main fork main.1 @50 main
            main.1 lock m via=16@withdraw,36@teller @8 enter
            main.1 R balance =40 via=36@teller @21 withdraw
            main.1 unlock m via=24@withdraw,36@teller @9 leave
            main.1 lock m via=16@withdraw,36@teller @8 enter
            main.1 R balance =10 via=36@teller @21 withdraw
            {then}
            main lock-wait m via=52@main @8 enter
            main blocked lock m via=52@main @8 enter
            deadlocks"
        )
    }

    #[test]
    fn the_way_on_which_a_lock_is_kept_is_told() {
        let told = told(&visits("main.1 W sum =1 @40 teller\nmain.1 end"));
        assert_eq!(
            told.headline,
            "`m` stays locked: withdraw is left without unlocking it"
        );
        assert_eq!(
            told.detail,
            "teller (main.1) locked it at test.c:16 and did not unlock it: its last step in withdraw is at test.c:21;\nmain \
             waits for it at test.c:8."
        );
        assert_eq!(
            told.remark,
            "On another way withdraw unlocks it, on line 24."
        );
    }

    #[test]
    fn who_comes_to_its_own_lock_again_has_left() {
        let again = "main.1 lock-wait m via=16@withdraw,36@teller @8 enter\nmain.1 blocked lock m via=16@withdraw,36@teller @8 enter";
        assert!(
            told(&visits(again))
                .headline
                .ends_with("is left without unlocking it")
        );
    }

    /// Two visits that take a unit of a semaphore, of which the second one keeps it.
    fn kept_unit() -> String {
        visits("main.1 W failed =1 via=36@teller @22 withdraw\nmain.1 end")
            .replace("unlock", "sem-post")
            .replace(
                "lock-wait m via=52@main @8 enter",
                "R x via=52@main @7 enter",
            )
            .replace("blocked lock", "blocked semaphore")
            .replace("lock m", "sem-wait m")
    }

    #[test]
    fn a_unit_that_is_kept_is_told() {
        let told = told(&kept_unit());
        assert_eq!(
            told.headline,
            "`m` lacks a unit: withdraw is left without posting it"
        );
        assert_eq!(told.remark, "On another way withdraw posts it, on line 24.");
    }

    #[test]
    fn threads_that_wait_for_each_other_there_are_told_apart() {
        let kept = kept_unit();
        let take = "main.1 sem-wait m via=16@withdraw,36@teller @8 enter\nmain sem-wait m via=52@main @8 enter";
        let circle = format!(
            "start main.1 teller\nmain fork main.1 @50 main\n{take}\n{}\ndeadlocks",
            take.replace("sem-wait", "blocked semaphore")
        );
        let found = explain(&corpus(&[], &[&kept, &circle]), &Budget::unlimited()).findings;
        let told: Vec<&str> = found.iter().map(|told| told.headline.as_str()).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told.iter()
                .any(|told| told.ends_with("wait for each other")),
            "{told:?}"
        );
        assert!(
            told.iter()
                .any(|told| told.ends_with("is left without posting it")),
            "{told:?}"
        );
    }

    /// `std::counting_semaphore` counts its units in a word, and waits for it by futex.
    #[test]
    fn a_unit_that_a_word_counts_is_told() {
        let text = visits("main.1 W failed =1 via=36@teller @22 withdraw\nmain.1 end")
            .replace("unlock m", "rmw m 0->1")
            .replace("main lock-wait m", "main atomic-read m =0")
            .replace("main blocked lock", "main blocked futex")
            .replace("lock m", "rmw m 1->0");
        assert_eq!(
            told(&text).headline,
            "`m` lacks a unit: withdraw is left without posting it"
        );
        // Who waits for the last unit to be taken waits for something else.
        let latch = text.replace("=0 via=52", "=1 via=52");
        assert!(!told(&latch).headline.contains("lacks a unit"));
    }

    #[test]
    fn a_lock_of_the_programs_own_is_told_in_a_run_that_does_not_end() {
        let take = |thread: &str| format!("{thread} rmw l 0->1 via=12@push @7 spin_lock\n");
        let looks = "main.2 rmw l 1->1 via=21@pop @7 spin_lock\n".repeat(100);
        let text = format!(
            "start main.1 prod
            start main.2 cons
            main W l =0 @3 main
            main fork main.1 @40 main
            main fork main.2 @41 main
            {}main.1 W head =1 @15 push
            main.1 W l =0 via=16@push @8 spin_unlock
            {}main.1 R head =1 @13 push
            main.1 end
            {looks}times-out nothing changes",
            take("main.1"),
            take("main.1"),
        );
        assert_eq!(
            told(&text).headline,
            "`l` stays locked: push is left without unlocking it"
        );
    }

    #[test]
    fn who_waits_within_the_function_has_not_left_it() {
        let within = "main.1 lock-wait n via=22@withdraw,36@teller @8 enter\nmain.1 blocked lock n via=22@withdraw,36@teller @8 enter";
        assert!(!told(&visits(within)).headline.contains("is left"));
    }

    /// A barrier of one gate: who comes last posts what the other one waits for, and takes it itself in the next phase.
    #[test]
    fn a_unit_that_is_posted_in_a_later_call_is_none_to_give_back() {
        let waits = |thread: &str| format!("{thread} sem-wait gate via=47@work @32 barrier\n");
        let posts = |thread: &str| format!("{thread} sem-post gate via=47@work @30 barrier\n");
        let works = |thread: &str, n: u32| format!("{thread} W cell =1 @{n} work\n");
        let text = format!(
            "start main.1 work\nstart main.2 work\nmain fork main.1 @60 main\nmain fork main.2 @60 main\n{}{}{}{}{}{}{}{}deadlocks",
            posts("main.1"),
            waits("main.2"),
            works("main.2", 46),
            posts("main.2"),
            works("main.2", 46),
            waits("main.2"),
            works("main.2", 46),
            "main.1 blocked semaphore gate via=47@work @32 barrier\n",
        );
        assert!(
            !told(&text).headline.contains("lacks a unit"),
            "{}",
            told(&text).headline
        );
    }

    /// Two units, one after the other, before both are given back.
    #[test]
    fn who_takes_several_units_has_not_left() {
        let take = |thread: &str| {
            format!(
                "{thread} sem-wait free via=6@run,14@take @12 take_one\n{thread} W used =1 via=6@run,14@take @14 take_one\n"
            )
        };
        let (one, other) = (take("main.1"), take("main.2"));
        let blocked = |thread: &str| {
            format!("{thread} blocked semaphore free via=6@run,14@take @12 take_one\n")
        };
        let gives = "main.1 sem-post free via=12@run @30 give\n".repeat(2);
        let text = format!(
            "start main.1 mover\nstart main.2 mover\nmain fork main.1 @50 main\nmain fork main.2 @50 main\n{one}{one}{gives}{one}{other}{}{}deadlocks",
            blocked("main.1"),
            blocked("main.2"),
        );
        assert!(
            !told(&text).headline.contains("is left"),
            "{}",
            told(&text).headline
        );
    }

    /// A loop that unlocks at its beginning what it has locked at its end.
    #[test]
    fn who_has_come_back_to_the_beginning_of_a_loop_has_not_left_it() {
        let round = "main.1 unlock m @20 loop\nmain.1 W n =1 @21 loop\nmain.1 lock m @22 loop\nmain.1 R run =1 @11 loop\n";
        let text = format!(
            "start main.1 loop\nmain fork main.1 @50 main\nmain.1 lock m @10 loop\nmain.1 R run =1 @11 loop\n{round}{round}main.1 lock-wait n @16 loop\nmain.1 blocked lock n @16 loop\nmain lock-wait m @52 main\nmain blocked lock m @52 main\ndeadlocks"
        );
        assert!(!told(&text).headline.contains("is left"));
    }

    /// `begin` unlocks when it fails; what it has locked otherwise is for its caller to unlock.
    #[test]
    fn a_function_that_hands_its_lock_over_has_not_kept_it() {
        let text = "start main.1 serve
            main fork main.1 @50 main
            main.1 lock m via=30@serve @10 begin
            main.1 R closed =1 via=30@serve @11 begin
            main.1 unlock m via=30@serve @12 begin
            main.1 lock m via=30@serve @10 begin
            main.1 W sum =1 @31 serve
            main.1 unlock m via=32@serve @20 end
            main.1 lock m via=30@serve @10 begin
            main.1 W sum =2 @31 serve
            main.1 end
            main lock-wait m @52 main
            main blocked lock m @52 main
            deadlocks";
        assert_eq!(
            told(text).headline,
            "`m` stays locked: serve is left without unlocking it"
        );
    }
}
