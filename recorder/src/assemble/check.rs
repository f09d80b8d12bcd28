//! The place of a failed check of a test framework, which did not end the program: its line, and the last step there, or
//! in what it called, that was about data of several threads. What follows in the check puts its message together.

use super::{names, program::ProgramDebugInfo, walk::LogWalk};
use crate::launch::check::FailedCheck;
use unsnarl_trace::{EventColumns, EventKind, SiteId, SiteRow};

/// Site of the check, and the row of the last step at its line or in a function that the line called: if there is one, of
/// those about data that several threads access. Takes time linear in the run.
pub(super) fn place(
    check: &FailedCheck,
    program: &ProgramDebugInfo,
    walk: &mut LogWalk<'_>,
    rows: &EventColumns,
) -> (SiteId, Option<usize>) {
    let tail = tail(&check.file);
    let is_there = |row: &SiteRow| row.line == check.line && is_file(&row.file, tail);
    let at_line: Vec<bool> = walk.sites.rows.iter().map(is_there).collect();
    let is_at_line = |site: SiteId| at_line.get(site.index()).copied().unwrap_or(false);
    // A caller's row stands before those of what it called.
    let mut within = Vec::with_capacity(walk.stacks.rows.len());
    for frame in &walk.stacks.rows {
        let around: Option<&bool> = within.get(frame.0.index());
        within.push(around.copied().unwrap_or(false) || is_at_line(frame.1));
    }
    let is_within = |stack: u32| within.get(stack as usize).copied().unwrap_or(false);
    let steps = || rows.sites().iter().zip(rows.stacks());
    let is_step = |(site, stack): (&u32, &u32)| is_at_line(SiteId(*site)) || is_within(*stack);
    let shared = shared(rows);
    let is_shared =
        |location: &u32| shared.get(*location as usize) == Some(&AccessingThreads::BySeveral);
    let of_several = steps()
        .zip(rows.locations())
        .rposition(|(step, location)| is_step(step) && is_shared(location));
    let event = of_several.or_else(|| steps().rposition(is_step));
    let site = event
        .and_then(|event| site_of(rows, event, &is_at_line, walk))
        .unwrap_or_else(|| new_site(check, program, walk));
    (site, event)
}

/// The threads that access a location.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessingThreads {
    Never,
    By(u16),
    BySeveral,
}

/// The threads that access each location.
fn shared(rows: &EventColumns) -> Vec<AccessingThreads> {
    let most = rows.locations().iter().max();
    let mut shared = vec![AccessingThreads::Never; most.map_or(0, |most| *most as usize + 1)];
    let steps = rows
        .locations()
        .iter()
        .zip(rows.threads())
        .zip(rows.kinds());
    for ((&location, &thread), &kind) in steps {
        let is_access = EventKind::from_u8(kind).is_some_and(EventKind::is_access);
        if let Some(entry) = shared.get_mut(location as usize).filter(|_| is_access) {
            *entry = match *entry {
                AccessingThreads::Never => AccessingThreads::By(thread),
                AccessingThreads::By(known) if known == thread => AccessingThreads::By(known),
                _ => AccessingThreads::BySeveral,
            };
        }
    }
    shared
}

/// The site of the check on the way to a step: the step's own, or the innermost call at that line.
fn site_of(
    rows: &EventColumns,
    event: usize,
    is_at_line: &dyn Fn(SiteId) -> bool,
    walk: &LogWalk<'_>,
) -> Option<SiteId> {
    let own = SiteId(*rows.sites().get(event)?);
    if is_at_line(own) {
        return Some(own);
    }
    let mut stack = *rows.stacks().get(event)? as usize;
    while stack != 0 {
        let frame = walk.stacks.rows.get(stack)?;
        if is_at_line(frame.1) {
            return Some(frame.1);
        }
        stack = frame.0.index();
    }
    None
}

/// A site for a check that no step of the run belongs to.
fn new_site(check: &FailedCheck, program: &ProgramDebugInfo, walk: &mut LogWalk<'_>) -> SiteId {
    let tail = tail(&check.file);
    let mut known = walk.sites.rows.iter().map(|row| &row.file);
    let file = known.find(|file| is_file(file, tail)).cloned();
    let file = file.unwrap_or_else(|| names::path(&check.file));
    let text = program.sources.line(&file, check.line);
    walk.sites.id(&SiteRow {
        file,
        line: check.line,
        column: 0,
        function: String::new(),
        text,
    })
}

/// The path without the steps up that it begins with.
fn tail(path: &str) -> &str {
    let up = path.rfind("../").map_or(0, |at| at + 3);
    let path = path.get(up..).unwrap_or(path);
    path.trim_start_matches("./")
}

/// Returns whether the file has this path, or ends with it.
fn is_file(file: &str, tail: &str) -> bool {
    file.strip_suffix(tail)
        .is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}
