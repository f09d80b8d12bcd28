//! Locals that other threads used after their function had returned.

use super::{draft::Draft, view::View};
use crate::{
    claims::line,
    explanation::{BugKind, Explanation, GoneLocal, Role},
    facts,
};
use unsnarl_trace::{EventId, LeftLocal, StackId};

/// A use of a local whose function had returned.
pub(super) struct ReturnedUse<'a> {
    /// The use.
    pub used: EventId,
    /// The other thread's step that the use should have come before: its last one in the call of the function, since it returns
    /// without another one; its first one since then where it made none there, or where the use cannot come before that one.
    pub step: EventId,
    /// The other thread's last step, where it is in the call of the function.
    within: Option<EventId>,
    /// The other thread's first step after the function had returned.
    since: Option<EventId>,
    local: &'a LeftLocal,
}

impl<'a> ReturnedUse<'a> {
    /// All of a run.
    pub fn all(view: &'a View<'_>) -> impl Iterator<Item = ReturnedUse<'a>> {
        let locals = view.run.meta.left_locals.iter();
        locals.filter_map(|local| ReturnedUse::of(view, local))
    }

    fn of(view: &'a View<'_>, local: &'a LeftLocal) -> Option<ReturnedUse<'a>> {
        let used = row_of(view, local.used).filter(|row| view.event(*row).seq == local.used)?;
        let ended = row_of(view, local.ended)?;
        let own = view.rows.before(local.owner, used);
        let (before, after) = own.split_at(own.partition_point(|row| *row < ended));
        let last = before.last().copied();
        let within = last.filter(|row| is_within(view, *row, local.stack));
        let before = within.filter(|row| view.orders.concurrent(*row, used));
        let since = after.first().copied();
        Some(ReturnedUse {
            used,
            step: before.or(since).or(last)?,
            within,
            since,
            local,
        })
    }

    /// The variable and its function.
    pub fn gone(&self) -> GoneLocal {
        GoneLocal::from(self.local)
    }

    /// The write of the other thread that took the variable's place.
    fn overwriting(&self, view: &View) -> Option<EventId> {
        let location = view.event(self.used).location;
        let last = view.orders.last_write_before(location, self.used)?;
        let is_since = view.event(last).seq >= self.local.ended;
        (is_since && view.thread(last) == self.local.owner).then_some(last)
    }
}

/// The first row of an event.
fn row_of(view: &View, seq: u64) -> Option<EventId> {
    let at = view.run.events.sequence().partition_point(|it| *it < seq);
    let row = u32::try_from(at).ok().map(EventId)?;
    (at < view.run.events.len()).then_some(row)
}

/// Explains a use of a local whose function had returned, if there is one at that row.
pub(super) fn returned(view: &View, used: EventId) -> Option<Explanation> {
    let found = ReturnedUse::all(view).find(|found| found.used == used)?;
    let LeftLocal {
        variable, function, ..
    } = found.local;
    let headline = format!("`{variable}` was used after {function} had returned");
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let overwriting = found.overwriting(view);
    draft.detail(detail(view, &found, overwriting));
    draft.set().remark = format!(
        "`{variable}` is a local variable of {function}: its memory is gone with the call, whatever still points to it."
    );
    draft.set().gone = Some(found.gone());
    if let Some(within) = found.within {
        draft.step(within, format!("in {function}"));
    }
    if let Some(since) = found.since {
        draft.step(since, format!("after {function}"));
    }
    if let Some(write) = overwriting.filter(|write| Some(*write) != found.since) {
        draft.step(write, "in its place");
    }
    draft.step(used, format!("`{variable}` is gone"));
    draft.mark(found.step, Role::Cause);
    draft.mark(used, Role::Interference);
    draft.fail();
    Some(draft.finish())
}

/// Explains the use that is nearest to the failure, if one flowed into it.
pub(super) fn nearest(view: &View) -> Option<Explanation> {
    let near = ReturnedUse::all(view).filter_map(|found| {
        let distance = view.slice.distance(found.used)?;
        Some((distance, found.used))
    });
    let (_, used) = near.min()?;
    returned(view, used)
}

/// Returns whether a step is in a call of a function, or in one that it makes.
fn is_within(view: &View, row: EventId, call: StackId) -> bool {
    // Rows refer to earlier ones: this ends.
    let caller = |stack: &StackId| (*stack != StackId(0)).then(|| view.run.meta.frame(*stack).0);
    let mut stacks = std::iter::successors(Some(view.event(row).stack), caller);
    stacks.any(|stack| stack == call)
}

fn detail(view: &View, found: &ReturnedUse, overwriting: Option<EventId>) -> String {
    let (used, owner) = (found.used, found.local.owner);
    let function = &found.local.function;
    let did = match view.event(used).kind {
        kind if kind.reads() && kind.writes() => "updated",
        kind if kind.writes() => "wrote",
        kind if kind.reads() => "read",
        _ => "used",
    };
    let (here, who) = (view.place(used), facts::thread_name(&view.run, owner));
    let call = view.run.meta.frame(found.local.stack).1;
    let called = match view.run.meta.site(call) {
        site if site.line == 0 => String::new(),
        _ => format!(
            ", called at {},",
            line(&facts::place(&view.run, call), &here)
        ),
    };
    let since = overwriting.map_or_else(String::new, |write| {
        let (name, at) = (view.variable(write), line(&view.place(write), &here));
        format!(
            "\n{who} had written {name}{} in its place at {at}.",
            view.equals(write)
        )
    });
    format!(
        "{} {did} it at {} by a pointer, when {function} ({who}){called} had returned.{since}",
        view.words(used),
        view.at(used),
    )
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Corpus, CorpusKey, RunSummary, explain, fixture::run};
    use std::sync::Arc;
    use unsnarl_trace::{FrameRow, LeftLocal, SiteId, StackId, ThreadId};

    fn told(writes: &str) -> Vec<String> {
        told_where(writes, "", "main.1 fails @27 work")
    }

    /// The job of `start` lies where `shares` has its parts when the thread reads it.
    fn told_where(writes: &str, goes_on: &str, fails: &str) -> Vec<String> {
        let begin = "main fork main.1 @36 start \"pthread_create(&thread, NULL, work, &job);\"\n";
        let fine = [
            begin,
            "main.1 R main:start.job.weight =20 @26 work\n",
            goes_on,
        ]
        .concat();
        let read = "main.1 R main:shares.part[1] =4 @26 work \"total += job->weight;\"\n";
        let text = [begin, writes, read, fails].concat();
        let mut failed = run(&text);
        failed.meta.frames = vec![FrameRow::default(), FrameRow(StackId(0), SiteId(1))].into();
        let used = (failed.events.len() - fails.lines().count() - 1) as u64;
        failed.meta.left_locals = vec![LeftLocal {
            used,
            ended: 1,
            owner: ThreadId(0),
            variable: "job".to_owned(),
            function: "start".to_owned(),
            stack: StackId(1),
        }];
        let mut corpus = Corpus::new(CorpusKey::default());
        for i in 0..6 {
            corpus.insert(RunSummary::new(format!("passed-{i}"), Arc::new(run(&fine))));
        }
        corpus.insert(RunSummary::new("failed".to_owned(), Arc::new(failed)));
        let told = explain(&corpus, &Budget::unlimited()).findings;
        let told = told
            .into_iter()
            .map(|one| [one.headline, one.detail].join("\n"));
        told.collect()
    }

    #[test]
    fn a_local_is_told_by_its_name_whatever_lies_there_now() {
        let writes = "main W main:shares.part[1] =4 @48 shares \"part[i] = of[i];\"\n";
        assert_eq!(
            told(writes)[0],
            "`job` was used after start had returned\n\
             work (main.1) read it at test.c:26 by a pointer, when start (main), called at line 36, had returned.\n\
             main had written part[1] = 4 in its place at line 48."
        );
    }

    /// Only failing runs use the local then; the thread goes on elsewhere, and what it leaves undone is missed by another one.
    #[test]
    fn what_no_passing_run_uses_is_told_however_it_led_to_the_failure() {
        let whole = "main.1 W highest =70 @28 work\nmain R highest =70 @90 main\n";
        let fails = "main R highest =0 @90 main\nmain fails @90 main";
        let failing = told_where("main R count =1 @60 main\n", whole, fails);
        let headline = failing[0].lines().next();
        assert_eq!(headline, Some("`job` was used after start had returned"));
    }

    #[test]
    fn nothing_has_to_be_written_there_since() {
        let goes_on = "main R count =1 @60 main\n";
        assert_eq!(
            told(goes_on)[0],
            "`job` was used after start had returned\n\
             work (main.1) read it at test.c:26 by a pointer, when start (main), called at line 36, had returned."
        );
    }
}
