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
    /// The other thread's first step after the function had returned, or its last one before where it did nothing else until the
    /// use.
    pub since: EventId,
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
        let first = own.iter().find(|row| **row >= ended);
        Some(ReturnedUse {
            used,
            since: first.or(own.last()).copied()?,
            local,
        })
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
    draft.set().gone = Some(GoneLocal {
        variable: variable.clone(),
        function: function.clone(),
    });
    if let Some(last) = last_within(view, &found) {
        draft.step(last, format!("in {function}"));
    }
    let is_after = view.event(found.since).seq >= found.local.ended;
    if is_after {
        draft.step(found.since, format!("after {function}"));
    }
    if let Some(write) = overwriting.filter(|write| *write != found.since) {
        draft.step(write, "in its place");
    }
    draft.step(used, format!("`{variable}` is gone"));
    draft.mark(found.since, Role::Cause);
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

/// The other thread's last step within that call of its function.
fn last_within(view: &View, found: &ReturnedUse) -> Option<EventId> {
    let own = view.rows.before(found.local.owner, found.used).iter();
    let mut before = own
        .rev()
        .copied()
        .filter(|row| view.event(*row).seq < found.local.ended);
    let last = before.next()?;
    // Rows refer to earlier ones: this ends.
    let caller = |stack: &StackId| (*stack != StackId(0)).then(|| view.run.meta.frame(*stack).0);
    let mut stacks = std::iter::successors(Some(view.event(last).stack), caller);
    stacks
        .any(|stack| stack == found.local.stack)
        .then_some(last)
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

    /// The job of `start` lies where `shares` has its parts when the thread reads it.
    fn told(writes: &str) -> Vec<String> {
        let begin = "main fork main.1 @36 start \"pthread_create(&thread, NULL, work, &job);\"\n";
        let fine = [begin, "main.1 R main:start.job.weight =20 @26 work"].concat();
        let read = "main.1 R main:shares.part[1] =4 @26 work \"total += job->weight;\"\n";
        let text = [begin, writes, read, "main.1 fails @27 work"].concat();
        let mut failed = run(&text);
        failed.meta.frames = vec![FrameRow::default(), FrameRow(StackId(0), SiteId(1))].into();
        let used = failed.events.len() as u64 - 2;
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
