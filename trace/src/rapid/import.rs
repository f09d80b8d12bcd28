//! Makes a run from the text of a trace, in one pass.

use super::{
    Format, SITE,
    columns::{Columns, MOST_ROWS},
    line::{self, Expected, LineOperation},
    names::NumberedNames,
};
use crate::{
    meta::{FORMAT, OrderMode, RunMeta, SiteRow, ThreadRow},
    model::{EventKind, LocationId, SiteId, ThreadId},
    run::Run,
};
use std::fmt;

/// Places with numbers below this are found without hashing.
const NUMBERED: usize = 1 << 16;
/// Bad lines that are kept; the others are counted.
const KEPT_BAD: usize = 100;
/// Characters of a bad line that are shown.
const SHOWN: usize = 80;
/// Bytes of a short line, to guess how many there are.
const SHORT_LINE: usize = 14;

/// A run that was made from a trace.
#[derive(Debug)]
pub struct Imported {
    /// The run: mode `imported`, outcome `passed`, no values; [`RunMeta::problems`] say what it lacks.
    pub run: Run,
    /// The first lines that could not be read, at most 100.
    pub bad: Vec<BadLine>,
    /// Number of lines that could not be read; the run holds the others.
    pub bad_lines: usize,
}

/// A line that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Its number, from 1.
    pub number: u64,
    /// Text of the line, or its beginning.
    pub text: String,
    /// The form that was expected.
    pub expected: &'static str,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadLine {
            number,
            text,
            expected,
        } = self;
        write!(f, "line {number}, `{text}`: expected {expected}")
    }
}

/// An error that keeps a trace from becoming a run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text holds no events.
    #[error("there are no events in it")]
    Empty,
    /// More lines that cannot be read than lines that can.
    #[error("{bad} of its {lines} lines are no events; the first is {first}")]
    NotATrace {
        /// Lines that cannot be read.
        bad: usize,
        /// All lines that are not empty.
        lines: usize,
        /// The first bad one.
        first: BadLine,
    },
    /// More than a run can hold.
    #[error("it has too many {0} for a run")]
    TooMany(&'static str),
}

/// Reads a trace. Lines that cannot be read are left out and reported. Linear in the text.
///
/// # Errors
///
/// Fails if there is nothing to read, or if more lines are bad than good.
pub fn import(text: &[u8], format: Format) -> Result<Imported, ImportError> {
    let names = match format {
        Format::Std => Vec::new(),
        Format::Csv => column_names(text),
    };
    let mut import = Import::new(text.len(), &names);
    let (mut start, mut number) = (0, 0);
    while start < text.len() {
        let end = line::find(text, start, text.len(), b'\n').unwrap_or(text.len());
        let next = end + 1;
        let end = end - usize::from(end > start && text.get(end - 1) == Some(&b'\r'));
        number += 1;
        let done = match format {
            _ if start == end => Ok(()),
            Format::Std => import.std_line(text, start, end),
            Format::Csv => import.csv_line(text.get(start..end).unwrap_or(&[])),
        };
        if let Err(problem) = done {
            import.note(number, text.get(start..end).unwrap_or(&[]), problem)?;
        }
        start = next;
    }
    import.finish(format)
}

/// `T0`, `T1`, ...: one for each column.
fn column_names(text: &[u8]) -> Vec<String> {
    let lines = text.split(|&byte| byte == b'\n');
    let commas = |line: &[u8]| line.iter().filter(|&&byte| byte == b',').count();
    let columns = lines.map(commas).max().map_or(0, |commas| commas + 1);
    (0..columns).map(|column| format!("T{column}")).collect()
}

/// The defect of one line.
enum LineProblem {
    Line(Expected),
    Trace(ImportError),
}

impl From<Expected> for LineProblem {
    fn from(expected: Expected) -> LineProblem {
        LineProblem::Line(expected)
    }
}

struct Import<'a> {
    column_names: &'a [String],
    threads: NumberedNames<'a>,
    rows: Vec<ImportedThread>,
    locations: NumberedNames<'a>,
    /// Locations that were locked.
    is_lock: Vec<bool>,
    sites: ImportedSites<'a>,
    columns: Columns,
    /// Number of lines that have no event.
    silent: usize,
    bad: Vec<BadLine>,
    bad_lines: usize,
}

#[derive(Clone, Copy, Default)]
struct ImportedThread {
    ran: bool,
    parent: Option<ThreadId>,
    created_at: SiteId,
}

impl<'a> Import<'a> {
    fn new(bytes: usize, column_names: &'a [String]) -> Import<'a> {
        Import {
            column_names,
            threads: NumberedNames::new(plain),
            rows: Vec::new(),
            locations: NumberedNames::new(plain),
            is_lock: Vec::new(),
            sites: ImportedSites::new(),
            columns: Columns::with_room(bytes / SHORT_LINE),
            silent: 0,
            bad: Vec::new(),
            bad_lines: 0,
        }
    }

    #[inline]
    fn std_line(&mut self, text: &'a [u8], start: usize, end: usize) -> Result<(), LineProblem> {
        let [thread, operation, place] = line::of_std(text, start, end)?;
        let (word, operand) = line::operation(operation, false)?;
        self.event(thread, word, operand, place)
    }

    fn csv_line(&mut self, line: &'a [u8]) -> Result<(), LineProblem> {
        let (column, operation) = line::of_csv(line)?;
        let (word, operand) = line::operation(operation, true)?;
        let names = self.column_names;
        let name = names.get(column).ok_or(line::ONE_COLUMN)?;
        self.event(name.as_bytes(), word, operand, &[])
    }

    /// Adds an event. The place is resolved first and the thread last, so that a bad line leaves no thread or
    /// location behind.
    #[inline]
    fn event(
        &mut self,
        thread: &'a [u8],
        word: LineOperation,
        operand: &'a [u8],
        place: &'a [u8],
    ) -> Result<(), LineProblem> {
        if self.columns.len() == MOST_ROWS {
            return Err(LineProblem::Trace(ImportError::TooMany("events")));
        }
        let site = self.sites.id(place)?;
        let kind = match word {
            LineOperation::Read => EventKind::Read,
            LineOperation::Write => EventKind::Write,
            LineOperation::Sync => EventKind::Rmw,
            LineOperation::Acquire => EventKind::Lock,
            LineOperation::Release => EventKind::Unlock,
            _ => return self.other_event(thread, word, operand, site),
        };
        let location = self.location(operand, kind)?;
        let thread = self.running(thread)?;
        self.columns.push(thread, kind, location, site);
        Ok(())
    }

    fn other_event(
        &mut self,
        thread: &'a [u8],
        word: LineOperation,
        operand: &'a [u8],
        site: u32,
    ) -> Result<(), LineProblem> {
        let kind = match word {
            LineOperation::Fork => EventKind::Fork,
            LineOperation::Join => EventKind::Join,
            LineOperation::Begin => EventKind::Begin,
            LineOperation::End => EventKind::End,
            _ => {
                self.silent += 1;
                return Ok(());
            }
        };
        if matches!(word, LineOperation::Begin | LineOperation::End) {
            let thread = self.running(thread)?;
            self.columns.push(thread, kind, 0, site);
            return Ok(());
        }
        line::is_name(operand)?;
        let thread = self.running(thread)?;
        let other = self.thread(operand)?;
        if kind == EventKind::Fork {
            self.adopt(thread, other, site);
        }
        self.columns.push(thread, kind, 0, site);
        self.columns.value(u64::from(other));
        Ok(())
    }

    /// The number of a thread that executes an event.
    #[inline]
    fn running(&mut self, name: &'a [u8]) -> Result<u16, LineProblem> {
        let thread = self.thread(name)?;
        if let Some(row) = self.rows.get_mut(usize::from(thread)) {
            row.ran = true;
        }
        Ok(thread)
    }

    #[inline]
    fn thread(&mut self, name: &'a [u8]) -> Result<u16, LineProblem> {
        let (number, new) = self.threads.number(name, |_| Ok(()))?;
        if new {
            self.rows.push(ImportedThread::default());
        }
        u16::try_from(number).map_err(|_| LineProblem::Trace(ImportError::TooMany("threads")))
    }

    /// The location of a name. Variables and locks of one name are one location, as they are in recorded runs.
    #[inline]
    fn location(&mut self, name: &'a [u8], kind: EventKind) -> Result<u32, Expected> {
        let (number, new) = self.locations.number(name, line::is_name)?;
        if new {
            self.is_lock.push(false);
        }
        if kind == EventKind::Lock
            && let Some(is_lock) = self.is_lock.get_mut(number as usize)
        {
            *is_lock = true;
        }
        Ok(number + 1)
    }

    /// Sets the parent of a thread. Parents stand before their children, and children do nothing before they are
    /// created.
    fn adopt(&mut self, parent: u16, child: u16, site: u32) {
        if let Some(row) = self.rows.get_mut(usize::from(child))
            && !row.ran
            && row.parent.is_none()
            && parent < child
        {
            row.parent = Some(ThreadId(parent));
            row.created_at = SiteId(site);
        }
    }

    #[cold]
    fn note(&mut self, number: u64, line: &[u8], problem: LineProblem) -> Result<(), ImportError> {
        let expected = match problem {
            LineProblem::Line(expected) => expected,
            LineProblem::Trace(error) => return Err(error),
        };
        self.bad_lines += 1;
        if self.bad.len() < KEPT_BAD {
            let text: String = String::from_utf8_lossy(line).chars().take(SHOWN).collect();
            self.bad.push(BadLine {
                number,
                text,
                expected,
            });
        }
        Ok(())
    }

    fn finish(mut self, format: Format) -> Result<Imported, ImportError> {
        let good = self.columns.len() + self.silent;
        match self.bad.first() {
            Some(first) if self.bad_lines > good => {
                return Err(ImportError::NotATrace {
                    bad: self.bad_lines,
                    lines: self.bad_lines + good,
                    first: first.clone(),
                });
            }
            _ if good == 0 => return Err(ImportError::Empty),
            _ => {}
        }
        let blocks = self.take_blocks();
        let problems = self.problems(format, blocks);
        let locks = self
            .is_lock
            .iter()
            .zip(1..)
            .filter(|(is_lock, _)| **is_lock);
        let locks = locks.map(|(_, id)| LocationId(id)).collect();
        let locations = self.locations.all().iter().map(|name| plain(name));
        let run = Run {
            locations: std::iter::once(String::new()).chain(locations).collect(),
            meta: RunMeta {
                format: FORMAT,
                mode: OrderMode::Imported,
                strategy: "imported".to_owned(),
                threads: self.thread_rows().into(),
                sites: self.sites.rows.into(),
                locks,
                problems,
                ..RunMeta::default()
            },
            events: self.columns.finish(),
            damage: Vec::new(),
        };
        Ok(Imported {
            run,
            bad: self.bad,
            bad_lines: self.bad_lines,
        })
    }

    /// Takes out `begin` and `end` unless they are first and last steps of threads, and says how many.
    fn take_blocks(&mut self) -> usize {
        let (begin, end) = (EventKind::Begin as u8, EventKind::End as u8);
        let mut ran = vec![false; self.rows.len()];
        let mut ended = vec![false; self.rows.len()];
        let (mut marks, mut are_steps) = (0, true);
        for (&thread, &kind) in self.columns.threads().iter().zip(self.columns.kinds()) {
            let thread = usize::from(thread);
            let (Some(ran), Some(ended)) = (ran.get_mut(thread), ended.get_mut(thread)) else {
                continue;
            };
            marks += usize::from(kind == begin || kind == end);
            are_steps &= !(*ended || *ran && kind == begin);
            *ran = true;
            *ended = kind == end;
        }
        if are_steps {
            return 0;
        }
        let columns = std::mem::take(&mut self.columns);
        self.columns = columns.without(&[EventKind::Begin, EventKind::End]);
        marks
    }

    fn problems(&self, format: Format, blocks: usize) -> Vec<String> {
        let format = format.name();
        let mut problems = vec![format!(
            "imported from {format} text, which holds no values, no sources, no stacks and no outcome"
        )];
        if let Some(first) = self.bad.first() {
            let bad = lines(self.bad_lines);
            problems.push(format!("{bad} could not be read, the first is {first}"));
        }
        if blocks > 0 {
            let blocks = lines(blocks);
            problems.push(format!(
                "{blocks} that begin or end a block that should be atomic were left out"
            ));
        }
        if self.silent > 0 {
            let silent = lines(self.silent);
            problems.push(format!(
                "{silent} without effect (branch, dummy) were left out"
            ));
        }
        problems
    }

    fn thread_rows(&self) -> Vec<ThreadRow> {
        let named = self.threads.all().iter().zip(&self.rows);
        let row = |(name, thread): (&&[u8], &ImportedThread)| ThreadRow {
            name: plain(name),
            start: String::new(),
            parent: thread.parent,
            created_at: thread.created_at,
        };
        named.map(row).collect()
    }
}

fn lines(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} line{s}")
}

/// Places of the trace as sites.
struct ImportedSites<'a> {
    /// Ids of places that are small numbers; 0 is none yet.
    numbered: Vec<u32>,
    named: NumberedNames<'a>,
    ids: Vec<u32>,
    rows: Vec<SiteRow>,
}

impl<'a> ImportedSites<'a> {
    fn new() -> ImportedSites<'a> {
        ImportedSites {
            numbered: vec![0; NUMBERED],
            named: NumberedNames::new(|place| String::from_utf8_lossy(place).into_owned()),
            ids: Vec::new(),
            rows: vec![SiteRow::default()],
        }
    }

    #[inline]
    fn id(&mut self, place: &'a [u8]) -> Result<u32, Expected> {
        let Some(number) = line::number(place, NUMBERED) else {
            return self.named(place);
        };
        match self.numbered.get(number) {
            Some(0) | None => {
                let id = self.add(place);
                if let Some(slot) = self.numbered.get_mut(number) {
                    *slot = id;
                }
                Ok(id)
            }
            Some(&id) => Ok(id),
        }
    }

    fn named(&mut self, place: &'a [u8]) -> Result<u32, Expected> {
        if place.is_empty() {
            return Ok(0);
        }
        let (number, new) = self.named.number(place, line::is_place)?;
        if new {
            let id = self.add(place);
            self.ids.push(id);
        }
        Ok(self.ids.get(number as usize).copied().unwrap_or(0))
    }

    #[cold]
    fn add(&mut self, place: &[u8]) -> u32 {
        self.rows.push(site(&String::from_utf8_lossy(place)));
        self.rows.len() as u32 - 1
    }
}

/// `Bank.java:23` and `bank.c:23:7` are lines of files; everything else stands as it is.
fn site(place: &str) -> SiteRow {
    let split = |text: &str| -> Option<(String, u32)> {
        let (before, number) = text.rsplit_once(':')?;
        let number = number.parse().ok().filter(|&number| number > 0)?;
        (!before.is_empty()).then(|| (before.to_owned(), number))
    };
    let row = |file, line, column| SiteRow {
        file,
        line,
        column,
        ..SiteRow::default()
    };
    match split(place) {
        None => row(format!("{SITE}{place}"), 0, 0),
        Some((before, last)) => match split(&before) {
            Some((file, line)) => row(file, line, last),
            None => row(before, last, 0),
        },
    }
}

/// Decodes a name that [`export`](super::export()) has escaped.
fn plain(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut parts = text.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let escaped = part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped.filter(|&byte| super::export::is_escaped(char::from(byte))) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(part.get(2..).unwrap_or_default());
            }
            None => {
                plain.push('%');
                plain.push_str(part);
            }
        }
    }
    plain
}
