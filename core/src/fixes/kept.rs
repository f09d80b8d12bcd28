//! Keeps the lock under which a thread has read a pointer until it has used what the pointer leads to: whoever frees that
//! takes the pointer away under the same lock first.

use super::{
    Fix, FixInput, atomic,
    places::FunctionLines,
    seen::{self, RunEvidence},
    text::EditRefusal,
};
use crate::{
    callers::parting,
    explanation::{BugKind, Role, Step},
    facts::family,
    orders::Locks,
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, LocationId, Run, SiteId};

/// A pointer that was read under a lock and used after that.
struct FollowedPointer<'a> {
    run: &'a Run,
    /// The read of the pointer.
    read: EventId,
    /// The use of the block.
    used: EventId,
    /// The end of the block.
    freed: EventId,
}

/// The fix for a block that was freed between the two; `None` where no lock is held over both the read and the change of the
/// pointer.
pub(super) fn until_used(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let pointer = FollowedPointer::of(case)?;
    let lock = pointer.run.location(pointer.lock()?).to_owned();
    let place = pointer.place()?;
    let families = BTreeSet::from([family(
        pointer
            .run
            .location(pointer.run.events.location(pointer.read)),
    )]);
    let seen: RunEvidence = seen::look(case.runs, &families, case.budget);
    Some(atomic::widened(vec![place], &seen, case.files, &lock))
}

impl<'a> FollowedPointer<'a> {
    fn of(case: &FixInput<'a>) -> Option<FollowedPointer<'a>> {
        let explanation = case.explanation;
        if explanation.kind != BugKind::UseAfterFree {
            return None;
        }
        let step = |role: Role| -> Option<&Step> {
            let mut marks = explanation.sites.iter();
            explanation.step_of(marks.find(|mark| mark.role == role)?)
        };
        let (freed, used) = (step(Role::Cause)?, step(Role::Interference)?);
        let is_read = |one: &&Step| {
            let reads = one.access_kind().is_some_and(EventKind::reads);
            one.thread == used.thread && one.event < freed.event && reads
        };
        let read = explanation.steps.iter().find(is_read)?;
        let [read, used, freed] = [read, used, freed].map(|step| EventId(step.event));
        Some(FollowedPointer {
            run: case.run,
            read,
            used,
            freed,
        })
    }

    /// A lock that is held where the pointer is read, and where whoever frees the block changes the pointer before that.
    fn lock(&self) -> Option<LocationId> {
        let events = &self.run.events;
        let locks = Locks::new(self.run, &mut Vec::new());
        let held = |row: EventId| -> BTreeSet<LocationId> {
            let sections = locks.held_at(events.thread(row), row);
            sections.map(|section| section.lock).collect()
        };
        let own = held(self.read);
        let between = (self.read.0 + 1..self.freed.0).map(EventId);
        let mut changes = between.filter(|row| {
            let event = events.event(*row);
            event.thread == events.thread(self.freed)
                && event.kind.writes()
                && event.location == events.location(self.read)
        });
        changes.find_map(|row| held(row).intersection(&own).next().copied())
    }

    /// The lines of the function that leads to both the read and the use.
    fn place(&self) -> Option<FunctionLines> {
        let (read, used) = parting(self.run, self.read, self.used)?;
        let site = |site: SiteId| self.run.meta.site(site);
        let (first, last) = (site(read), site(used));
        (first.line != 0 && last.line >= first.line).then(|| FunctionLines {
            file: first.file.clone(),
            function: first.function.clone(),
            first: first.line,
            last: last.line,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::fixes::tests::offered_of;

    const TABLE: &str = "\
#include <pthread.h>
static struct item { int refs; } *table;
static pthread_mutex_t lock;
static struct item *find(void)
{
    pthread_mutex_lock(&lock);
    struct item *s = table;
    pthread_mutex_unlock(&lock);
    if (s)
        s->refs++;
    return s;
}
static void *remove_it(void *arg)
{
    pthread_mutex_lock(&lock);
    struct item *s = table;
    table = 0;
    pthread_mutex_unlock(&lock);
    free(s);
    return arg;
}
";

    /// The titles of the fixes where the table is emptied under this lock.
    fn titles(emptied_under: &str) -> Vec<String> {
        let block = "heap(test.c:30 by main #0)";
        let begin = format!(
            "start main.1 remove_it\nmain alloc `{block}` =16 @30 main\nmain W table =&`{block}` @31 main\n\
             main fork main.1 @32 main\n"
        );
        let found = format!(
            "main lock lock via=33@main @6 find\n\
             main R table =&`{block}` via=33@main @7 find \"struct item *s = table;\"\n\
             main unlock lock via=33@main @8 find\n"
        );
        let used = format!("main R `{block}.refs` =1 via=33@main @10 find \"s->refs++;\"\n");
        let removed = format!(
            "main.1 lock {emptied_under} @15 remove_it\nmain.1 R table =&`{block}` @16 remove_it\n\
             main.1 W table =0 @17 remove_it\nmain.1 unlock {emptied_under} @18 remove_it\n\
             main.1 free `{block}` @19 remove_it\n"
        );
        let fine = [&*begin, &found, &used, &removed].concat();
        let bad = [&*begin, &found, &removed, &used, "main fails @10 find\n"].concat();
        let runs = [
            ("failed-1", &*bad),
            ("passed-1", &*fine),
            ("passed-2", &*fine),
        ];
        let fixes = offered_of(&runs, TABLE).fixes.into_iter();
        fixes.map(|fix| fix.title).collect()
    }

    #[test]
    fn who_has_found_a_block_keeps_the_lock_until_it_is_used() {
        let wanted = "keep `lock` from line 6 to line 10";
        let offered = titles("lock");
        assert!(offered.iter().any(|title| title == wanted), "{offered:?}");
        let offered = titles("other");
        assert!(!offered.iter().any(|title| title == wanted), "{offered:?}");
    }
}
