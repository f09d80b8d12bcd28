//! Livelocks that the program detects itself: threads that give way to each other until one gives up.

use super::{draft::Draft, locking::lock_name, view::View};
use crate::{
    claims::{in_runs, line},
    explanation::{BugKind, Explanation, Place, Role},
    orders::Section,
};
use unsnarl_trace::{EventId, EventKind};

/// The failed lock attempts of the failing thread just before it failed, each with the place where another
/// thread had acquired the lock.
pub(super) fn attempts(view: &View) -> Vec<(EventId, EventId)> {
    const JUST_BEFORE: usize = 60;
    let Some(thread) = view.failed else {
        return Vec::new();
    };
    let before = view.rows.before(thread, view.failure);
    let rows = before.iter().rev().take(JUST_BEFORE).copied();
    let tries = rows.filter(|&row| view.event(row).kind == EventKind::TryLockFailed);
    let held = |row: EventId| holder(view, row).map(|section| (section.acquired, row));
    let mut attempts: Vec<_> = tries.filter_map(held).collect();
    attempts.reverse();
    attempts
}

/// The critical section that held the lock during an attempt that failed.
pub(super) fn holder<'v>(view: &'v View, attempt: EventId) -> Option<&'v Section> {
    let (lock, thread) = (view.event(attempt).location, view.thread(attempt));
    let sections = view.orders.locks().sections().iter();
    let mut others = sections.filter(|section| section.lock == lock && section.thread != thread);
    others.find(|section| {
        section.acquired < attempt && section.released.is_none_or(|released| released > attempt)
    })
}

/// Explains that a thread gave up because the lock was held at every attempt, or that it went on without the lock.
pub(super) fn refused(view: &View, held: EventId, attempt: EventId) -> Explanation {
    let is_last = attempts(view).iter().any(|&(_, tried)| tried == attempt);
    if let Some(section) = holder(view, attempt).filter(|_| !is_last) {
        return turned_away(view, section, attempt);
    }
    let lock_of = |row| view.event(row).location;
    let mut attempts = attempts(view);
    attempts.retain(|&(other, tried)| {
        lock_of(tried) == lock_of(attempt) && view.thread(other) == view.thread(held)
    });
    let (who, other) = (view.words(attempt), view.name(held));
    let lock = holder(view, attempt).map_or_else(
        || view.variable(attempt),
        |section| lock_name(view, section),
    );
    let headline = format!("{who} gave up: it did not get `{lock}`");
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    draft.detail(format!(
        "{} tried to lock it at {} {};\n{other} had locked it, the last time at {}.",
        view.name(attempt),
        view.at(attempt),
        times(attempts.len()),
        line(&view.place(held), &view.place(attempt)),
    ));
    draft.set().remark = back_off(view, attempt, held);
    for &(held, attempt) in attempts.iter().rev().take(2).rev() {
        draft.step(held, "");
        draft.step(attempt, "in vain");
    }
    draft.mark(attempt, Role::Cause);
    draft.mark(held, Role::Interference);
    draft.fail();
    draft.finish()
}

/// Shared data that a thread changed in the critical section in which it then tried another lock in vain, and
/// that it left so: it released the lock without another write.
pub(super) fn changed_before(view: &View, attempt: EventId) -> Vec<EventId> {
    let thread = view.thread(attempt);
    let held = view.orders.locks_held(attempt);
    let Some((section, released)) = held
        .iter()
        .find_map(|section| Some((section, section.released?)))
    else {
        return Vec::new();
    };
    let rows = view.rows.before(thread, released);
    let writes = |row: &EventId| view.event(*row).kind.writes();
    let later = |row: EventId| {
        let mut after = rows.iter().filter(|later| **later > attempt);
        after.any(|later| writes(later) && view.event(*later).location == view.event(row).location)
    };
    let shared = |row: EventId| view.orders.accesses().is_shared(view.event(row).location);
    let own = rows
        .iter()
        .copied()
        .filter(|row| *row > section.acquired && *row < attempt);
    own.filter(|row| writes(row) && shared(*row) && !later(*row))
        .collect()
}

/// Explains that a thread gave up with its work half done, because it did not get the lock for the rest.
pub(super) fn half_way(view: &View, write: EventId, attempt: EventId) -> Explanation {
    let (name, who) = (view.variable(write), view.words(attempt));
    let holder = holder(view, attempt);
    let lock = holder.map_or_else(
        || view.variable(attempt),
        |section| lock_name(view, section),
    );
    let headline =
        format!("{who} had changed `{name}` when it did not get `{lock}`, and left it so");
    let mut draft = Draft::new(view, BugKind::AtomicityViolation, headline);
    let at = view.place(write);
    let by = holder.map_or(String::new(), |section| {
        let taken = section.acquired;
        format!(
            ",\nwhich {} had taken at {}",
            view.words(taken),
            line(&view.place(taken), &at)
        )
    });
    draft.detail(format!(
        "{} wrote {name}{} at {} and tried `{lock}` at {} in vain{by}.",
        view.name(write),
        view.equals(write),
        view.at(write),
        line(&view.place(attempt), &at),
    ));
    draft.set().remark = format!(
        "What {} has done is not undone where the attempt fails: change nothing before both locks are held.",
        line(&at, &at)
    );
    draft.set().contrast = never_in_vain(view, attempt, &at);
    if let Some(section) = holder {
        draft.step(section.acquired, "");
        draft.mark(section.acquired, Role::Interference);
    }
    draft.step(write, "");
    draft.step(attempt, "in vain");
    draft.mark(write, Role::Cause);
    draft.mark(attempt, Role::Cause);
    draft.fail();
    draft.finish()
}

/// Explains that a thread did not get a lock while another thread held it, and went on.
fn turned_away(view: &View, section: &Section, attempt: EventId) -> Explanation {
    let (lock, at) = (lock_name(view, section), view.place(attempt));
    let other = view.words(section.acquired);
    let headline = format!(
        "{} did not get `{lock}`, which {other} held",
        view.words(attempt)
    );
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let until = section.released.map_or(String::new(), |released| {
        let released = view.place(released);
        format!(" until {}", line(&released, &at))
    });
    draft.detail(format!(
        "{} tried to lock it at {} in vain and went on;\n{} had locked it at {} and held it{until}.",
        view.name(attempt),
        view.at(attempt),
        view.name(section.acquired),
        line(&view.place(section.acquired), &at),
    ));
    draft.set().contrast = never_in_vain(view, attempt, &at);
    draft.step(section.acquired, "");
    draft.step(attempt, "in vain");
    draft.mark(attempt, Role::Cause);
    for row in [Some(section.acquired), section.released]
        .into_iter()
        .flatten()
    {
        draft.step(row, "");
        draft.mark(row, Role::Interference);
    }
    draft.fail();
    draft.finish()
}

/// The sentence that no passing run has tried in vain there, if it is so.
fn never_in_vain(view: &View, attempt: EventId, told: &Place) -> String {
    let (of, tried) = (view.corpus.counts().passing(), view.place(attempt));
    let place = (tried.file.clone(), tried.line);
    let mut passing = view.corpus.passing();
    match of > 0 && passing.all(|run| !run.refusals.contains(&place)) {
        true => format!(
            "{} the attempt at {} never failed.",
            in_runs(of, of),
            line(&tried, told)
        ),
        false => String::new(),
    }
}

fn times(number: usize) -> String {
    match number {
        1 => "in vain".to_owned(),
        number => format!("{number} times in vain"),
    }
}

/// Sentence about the other thread, if it released its lock as well because of this one.
fn back_off(view: &View, attempt: EventId, held: EventId) -> String {
    let other = view.thread(held);
    let before = view.rows.before(other, view.failure).iter();
    let mut tries = before.filter(|&&row| view.event(row).kind == EventKind::TryLockFailed);
    let by_us = |row: &EventId| {
        holder(view, *row).is_some_and(|section| section.thread == view.thread(attempt))
    };
    match tries.any(by_us) {
        true => format!(
            "{} and {} keep giving way to each other: a livelock.",
            view.name(attempt),
            view.name(held)
        ),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, explain, fixture::corpus, render};
    use expect_test::expect;

    const TAKES: &str = "
        file stock.c
        start main.1 south
        start main.2 north
        main fork main.1 @50 main
        main fork main.2 @51 main
        main.1 lock a @10 move
        main.1 R a.n =10 @12 move
        main.1 W a.n =8 @12 move \"from->n -= n;\"";
    const OTHER: &str = "
        main.2 lock b @10 move
        main.2 R b.n =10 @12 move
        main.2 unlock b @20 move";

    #[test]
    fn what_was_changed_before_a_lock_was_tried_in_vain_stays_changed() {
        let gives = "
            main.1 lock b @13 move
            main.1 R b.n =10 @15 move
            main.1 W b.n =12 @15 move
            main.1 unlock b @16 move
            main.1 unlock a @17 move";
        let ends = "
            main join main.1 @60 main
            main join main.2 @61 main
            main R a.n =8 @62 main \"assert(a.n + b.n == 20);\"
            main R b.n =B @62 main \"assert(a.n + b.n == 20);\"";
        let fine = format!("{TAKES}{gives}{OTHER}{}", ends.replace("=B", "=12"));
        let fails = format!(
            "{TAKES}
            main.2 lock b @10 move
            main.1 trylock-failed b @13 move \"if (pthread_mutex_trylock(&to->lock) != 0)\"
            main.1 unlock a @14 move
            main.2 R b.n =10 @12 move
            main.2 unlock b @20 move{}
            main fails @62",
            ends.replace("=B", "=10")
        );
        let corpus = corpus(&[fine.as_str(); 6], &[&fails]);
        let told = explain(&corpus, &Budget::unlimited());
        let text: String = told.findings.iter().map(render::text).collect();
        expect![[r#"
            error: south (main.1) had changed `a.n` when it did not get `b`, and left it so
              main.1 wrote a.n = 8 at stock.c:12 and tried `b` at line 13 in vain,
              which north (main.2) had taken at line 10.

               main.1  stock.c:12  from->n -= n;                               writes 8
               main.2  stock.c:10                                              locks b
               main.1  stock.c:13  if (pthread_mutex_trylock(&to->lock) != 0)  cannot lock b  in vain
               main    stock.c:62  assert(a.n + b.n == 20);                    reads a.n = 8 and b.n = 10, fails

              What line 12 has done is not undone where the attempt fails: change nothing before both locks are
              held.
              In all 6 passing runs the attempt at line 13 never failed.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]].assert_eq(&text);
    }

    #[test]
    fn what_a_thread_leaves_out_without_the_lock_is_told_by_who_held_it() {
        let text = |tried: &str| {
            format!(
                "
                file event.c
                start main.1 poll
                start main.2 poll
                main fork main.1 @50 main
                main fork main.2 @51 main
                main.2 lock m @10 poll
                main.2 W b =1 @12 poll
                {tried}
                main join main.1 @60 main
                main join main.2 @61 main"
            )
        };
        let check = "\n main R a.n =A @62 main \"assert(a.n);\"";
        let fine = text(
            "main.2 unlock m @14 poll\n main.1 lock m @10 poll\n main.1 W a.n =1 @12 poll\n main.1 unlock m @14 poll",
        ) + &check.replace("=A", "=1");
        let fails = text(
            "main.1 trylock-failed m @10 poll \"if (pthread_mutex_trylock(&m) != 0)\"\n main.2 unlock m @14 poll",
        ) + &check.replace("=A", "=0")
            + "\n main fails @62";
        let corpus = corpus(&[fine.as_str(); 6], &[&fails]);
        let told = explain(&corpus, &Budget::unlimited());
        let text: String = told.findings.iter().map(render::text).collect();
        expect![[r#"
            error: poll (main.1) did not get `m`, which poll (main.2) held
              main.1 tried to lock it at event.c:10 in vain and went on;
              main.2 had locked it at line 10 and held it until line 14.

               main.2  event.c:10                                       locks m
               main.1  event.c:10  if (pthread_mutex_trylock(&m) != 0)  cannot lock m         in vain
               main.2  event.c:14                                       unlocks m
               main    event.c:62  assert(a.n);                         reads a.n = 0, fails

              In all 6 passing runs the attempt at line 10 never failed.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]].assert_eq(&text);
    }
}
