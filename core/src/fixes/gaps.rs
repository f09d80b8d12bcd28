//! Keeps a lock that a function gave up for a moment: another thread came in between, or holds it for ever now.

use super::{
    Fix, FixInput,
    atomic::Changes,
    invocation::Invocations,
    model::{FixKind, GuardedLines},
    mutexes::lock_name,
    recorded::RecordedSections,
    sections::LockSpan,
    seen::frames,
    text::{EditRefusal, change::Change, declares_callable, gap, source::ParsedSource},
};
use crate::{
    callers::call_sites,
    explanation::Role,
    facts::{basename, in_block},
    orders::Section,
};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, Run};

/// Lines of a function between which it has given a lock up: from the release to the next acquisition.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Gap {
    /// File.
    pub file: String,
    /// Function.
    pub function: String,
    /// Line of the release, or of a call that makes it.
    pub gives: u32,
    /// Line of the acquisition.
    pub takes: u32,
}

/// The gap between two sections of one lock, where one call of a function makes both ends.
pub(super) fn between(calls: &Invocations<'_>, one: &Section, other: EventId) -> Option<Gap> {
    let at = calls.together(one.released?, other)?;
    Some(Gap {
        file: at.file,
        function: at.function,
        gives: at.lines.0,
        takes: at.lines.1,
    })
}

/// The gap in which a thread was when its run ended, after its last section: its function takes the lock again, as the
/// text tells.
pub(super) fn unfinished(case: &FixInput<'_>, run: &Run, last: &Section) -> Option<Gap> {
    let mut frames = frames(run, last.released?).into_iter();
    frames.find_map(|at| {
        let source = case.files.get(&at.file).ok()?;
        let takes = gap::taken_again(source, at.line)?;
        Some(Gap {
            file: at.file,
            function: at.function,
            gives: at.line,
            takes,
        })
    })
}

/// Closes a gap; `None` when the function of the gap leaves both ends to others.
pub(super) fn closed(
    case: &FixInput<'_>,
    gap: &Gap,
    lock: &str,
) -> Option<Result<Fix, EditRefusal>> {
    let source = match case.files.get(&gap.file) {
        Ok(source) => source,
        Err(why) => return Some(Err(why)),
    };
    let changes = gap::close(source, gap.gives, gap.takes)?;
    let changes = changes.and_then(|changes| match called_back(case, source, gap) {
        Some(name) => Err(format!(
            "`{name}` is called between line {} and line {}, which may be anything and lock anything: that is what the lock is released for",
            gap.gives, gap.takes
        )),
        None => Ok(changes),
    });
    Some(changes.and_then(|changes| kept(case, gap, lock, changes)))
}

/// The member that holds a function and is called in a gap: anything may be behind it.
fn called_back<'s>(case: &FixInput<'_>, source: &'s ParsedSource, gap: &Gap) -> Option<&'s str> {
    let between = (gap.gives + 1)..gap.takes;
    let mut members = gap::called_members(source, between).into_iter();
    members.find(|name| case.files.all().any(|file| declares_callable(file, name)))
}

fn kept(
    case: &FixInput<'_>,
    gap: &Gap,
    lock: &str,
    changes: Vec<Change>,
) -> Result<Fix, EditRefusal> {
    let edits = case
        .files
        .edits(&Changes::from([(gap.file.clone(), changes)]))?;
    let object = in_block(lock);
    let lines = match gap.gives == gap.takes {
        true => format!("on line {}", gap.gives),
        false => format!("from line {} to line {}", gap.gives, gap.takes),
    };
    let cost = format!(
        "`{object}` is held for longer in {} ({})",
        gap.function,
        basename(&gap.file)
    );
    Ok(Fix {
        exclusive: vec![GuardedLines {
            file: gap.file.clone(),
            first: gap.gives,
            last: gap.takes,
            function: gap.function.clone(),
        }],
        gaps: vec![gap.clone()],
        lock: Some(lock.to_owned()),
        ..Fix::edit(
            FixKind::WidenSection,
            format!("do not release `{object}` {lines}"),
            edits,
            cost,
        )
    })
}

/// Closes the gap at whose end a thread of a deadlock waits, if it had the lock before.
pub(super) fn of_deadlock(case: &FixInput<'_>) -> Vec<Result<Fix, EditRefusal>> {
    let calls = Invocations::of(case.run);
    let marks = case.explanation.sites.iter();
    let waiting = marks.filter(|mark| mark.role == Role::Cause);
    let steps = waiting.filter_map(|mark| case.explanation.step_of(mark));
    let rows = steps.map(|step| EventId(step.event));
    rows.filter_map(|row| {
        let (gap, lock) = before(&calls, row)?;
        closed(case, &gap, &lock)
    })
    .collect()
}

/// The gap that ends at a row at which a thread waits for a lock, with the lock's name.
fn before(calls: &Invocations<'_>, row: EventId) -> Option<(Gap, String)> {
    let event = calls.run.events.get(row)?;
    let own = calls.sections_of(event.location, event.thread);
    let given = |section: &&Section| section.released.is_some_and(|at| at < row);
    let last = own.iter().rfind(given)?;
    let gap = between(calls, last, row)?;
    Some((gap, lock_name(calls.run, last.acquired)))
}

/// The sections of the fix's lock as they are with the gaps closed: those on both sides of one are one section.
pub(super) fn sections(fix: &Fix, run: &Run, recorded: &RecordedSections) -> Vec<LockSpan> {
    let mut spans: Vec<LockSpan> = recorded.spans().to_vec();
    spans.sort_by_key(|span| (span.first, span.last));
    let mut last: BTreeMap<(u16, Option<u32>), usize> = BTreeMap::new();
    let mut all: Vec<LockSpan> = Vec::new();
    for span in spans {
        let before = last.get(&(span.thread, span.lock));
        match before.and_then(|at| all.get_mut(*at)) {
            Some(before) if is_gap(fix, run, before.last, span.first) => {
                before.last = span.last;
                before.is_shared &= span.is_shared;
                before.is_new = true;
            }
            _ => {
                last.insert((span.thread, span.lock), all.len());
                all.push(span);
            }
        }
    }
    // A thread that has not reached the end of a gap, or waits there, has held the lock all the time.
    for at in last.into_values() {
        if let Some(span) = all.get_mut(at)
            && begins(fix, run, span.last)
        {
            span.last = run.events.len() as u32;
            span.is_new = true;
        }
    }
    all
}

/// Returns whether one of the fix's gaps begins with the release at a row.
fn begins(fix: &Fix, run: &Run, released: u32) -> bool {
    let sites = call_sites(run, EventId(released)).into_iter();
    let mut sites = sites.map(|site| run.meta.site(site));
    sites.any(|site| {
        fix.gaps.iter().any(|gap| {
            (&site.file, &site.function, site.line) == (&gap.file, &gap.function, gap.gives)
        })
    })
}

/// Returns whether a lock that was released at one row and wanted again at the other is in one of the fix's gaps.
fn is_gap(fix: &Fix, run: &Run, released: u32, wanted: u32) -> bool {
    let (a, b) = (
        call_sites(run, EventId(released)),
        call_sites(run, EventId(wanted)),
    );
    let depth = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    // Both may be on one line of the function, in the same call.
    (0..=depth.min(a.len().saturating_sub(1))).any(|depth| {
        let site = |path: &[unsnarl_trace::SiteId]| {
            path.get(depth).map(|site| run.meta.site(*site).clone())
        };
        let (Some(one), Some(other)) = (site(&a), site(&b)) else {
            return false;
        };
        fix.gaps.iter().any(|gap| {
            (&one.file, &one.function, one.line) == (&gap.file, &gap.function, gap.gives)
                && (&other.file, other.line) == (&gap.file, gap.takes)
        })
    })
}
