//! Brings two steps into the order that was meant: joins a thread earlier, or creates it later.

use super::{
    Case,
    atomic::Changes,
    model::{Fix, FixKind, Ordered},
    seen::{At, frames},
    text::{Refusal, move_statement},
};
use crate::{
    explanation::{BugKind, Role, SiteMark},
    facts::basename,
};
use unsnarl_trace::{EventId, Run, SiteRow};

/// Orders for what happened too early or too late; empty when the explanation is of another kind.
pub(super) fn ordered(case: &Case<'_>) -> Vec<Result<Fix, Refusal>> {
    let explanation = case.explanation;
    if !matches!(
        explanation.kind,
        BugKind::OrderViolation | BugKind::UseAfterFree
    ) {
        return Vec::new();
    }
    let mark = |role: Role| {
        explanation
            .sites
            .iter()
            .filter(move |mark| mark.role == role)
    };
    let causes: Vec<&SiteMark> = mark(Role::Cause).collect();
    let ([early], Some(late)) = (causes.as_slice(), mark(Role::Interference).next()) else {
        return Vec::new();
    };
    // What came too early goes by the thread that should have been first.
    let Some(frames) = reached(case, early) else {
        return Vec::new();
    };
    let other = thread_of(case, late);
    let mut fixes = Vec::new();
    let joined = other.as_ref().and_then(|(name, created)| {
        let mut known = frames.iter();
        let at = known.find(|at| at.function == created.function && at.file == created.file);
        at.map(|at| join(case, name, created, at, late, early))
    });
    let starts = thread_of(case, early).filter(|(_, own)| own.function == late.place.function);
    match (joined, starts, other) {
        (Some(fix), ..) => fixes.push(fix),
        (None, Some((_, own)), _) => fixes.push(set(case, &own, late, early)),
        (None, None, Some((name, created))) => fixes.push(Err(format!(
            "{} created {name} on line {}, and its handle is not known on line {}",
            created.function, created.line, early.place.line
        ))),
        (None, None, None) => {}
    }
    fixes
}

/// Where the early step is, with its calls.
fn reached(case: &Case<'_>, mark: &SiteMark) -> Option<Vec<At>> {
    let step = case
        .explanation
        .steps
        .get(mark.step?.checked_sub(1)? as usize)?;
    Some(frames(case.run, EventId(step.event)))
}

/// The thread of a mark and where it is created: from the mark, or from a run in which the line was reached.
fn thread_of(case: &Case<'_>, mark: &SiteMark) -> Option<(String, SiteRow)> {
    let named = mark
        .thread
        .rsplit('(')
        .next()
        .unwrap_or("")
        .trim_end_matches(')');
    if let Some(site) = created_at(case.run, named) {
        return Some((named.to_owned(), site));
    }
    case.runs.iter().find_map(|(_, run)| {
        let at = run.events.iter().find(|(_, event)| {
            let site = run.meta.site(event.site);
            event.kind.is_access()
                && site.line == mark.place.line
                && site.file == mark.place.file
                && run.location(event.location) == mark.location
        });
        let name = &run.meta.thread(at?.1.thread).name;
        created_at(run, name).map(|site| (name.clone(), site))
    })
}

fn created_at(run: &Run, thread: &str) -> Option<SiteRow> {
    let row = run
        .meta
        .threads
        .iter()
        .find(|row| row.name == thread && row.parent.is_some())?;
    Some(run.meta.site(row.created_at).clone()).filter(|site| site.line != 0)
}

fn join(
    case: &Case<'_>,
    thread: &str,
    created: &SiteRow,
    at: &At,
    late: &SiteMark,
    early: &SiteMark,
) -> Result<Fix, Refusal> {
    let changes = move_statement::join_before(case.files.get(&at.file)?, created.line, at.line)?;
    Ok(fix(
        FixKind::JoinBefore,
        format!("join {thread} before line {}", at.line),
        case.files
            .edits(&Changes::from([(at.file.clone(), changes)]))?,
        format!(
            "line {} of {} waits until {thread} has ended",
            at.line,
            basename(&at.file)
        ),
        (late, early),
    ))
}

fn set(
    case: &Case<'_>,
    created: &SiteRow,
    late: &SiteMark,
    early: &SiteMark,
) -> Result<Fix, Refusal> {
    let changes = move_statement::set_before(
        case.files.get(&created.file)?,
        late.place.line,
        created.line,
    )?;
    Ok(fix(
        FixKind::SetBefore,
        format!(
            "move line {} before line {}, which starts the thread",
            late.place.line, created.line
        ),
        case.files
            .edits(&Changes::from([(created.file.clone(), changes)]))?,
        "none".to_owned(),
        (late, early),
    ))
}

fn fix(
    kind: FixKind,
    title: String,
    edits: Vec<super::Edit>,
    cost: String,
    (first, then): (&SiteMark, &SiteMark),
) -> Fix {
    let at = |mark: &SiteMark| (mark.place.file.clone(), mark.place.line);
    Fix {
        kind,
        title,
        edits,
        assumes: Vec::new(),
        cost,
        exclusive: Vec::new(),
        lock: None,
        ordered: vec![Ordered {
            first: at(first),
            then: at(then),
        }],
    }
}
