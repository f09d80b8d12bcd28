//! Writes a run as STD.

use super::SITE;
use crate::{
    meta::{OrderMode, RunMeta},
    model::{EventId, EventKind, LocationId, SiteId, ThreadId, Value},
    run::Run,
};
use std::collections::BTreeMap;

/// A run as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exported {
    /// The lines.
    pub text: String,
    /// Events that the text has no word for and that order nothing, by kind.
    pub left_out: BTreeMap<&'static str, usize>,
    /// Events that were written as a lock that is taken and given back at once, by kind: the text has no
    /// word for them, and so at least their order stays. There may be more order than in the run.
    pub as_locks: BTreeMap<&'static str, usize>,
}

/// Writes the run as RAPID's STD.
///
/// Places are numbers, since RAPID wants them so: those of an imported run, or else rows of the run
/// file's table of sites. Names get `%20` for a space, and likewise for whatever else would end them.
pub fn export(run: &Run) -> Exported {
    let sites = ExportedSites::of(run);
    let mut out = Exported::default();
    for row in 0..run.events.len() as u32 {
        if let Some(event) = run.events.get(EventId(row)) {
            let line = LineFields {
                thread: thread_name(run, event.thread),
                site: sites.name(event.site),
            };
            out.event(run, &line, &event);
        }
    }
    out
}

/// The first and last field of a line.
struct LineFields {
    thread: String,
    site: String,
}

impl Exported {
    fn event(&mut self, run: &Run, line: &LineFields, event: &crate::Event) {
        use EventKind::*;
        let kind = event.kind;
        let known = event.location != LocationId(0);
        let name = escape(run.location(event.location));
        match kind {
            Read if known => self.line(line, "r", &name),
            Write if known => self.line(line, "w", &name),
            Lock if known => self.line(line, "acq", &name),
            Unlock if known => self.line(line, "rel", &name),
            Fork | Join => {
                let other = match event.value {
                    Some(Value::Bits(bits)) => bits,
                    _ => 0,
                };
                let other = ThreadId(other as u16);
                let word = if kind == Fork { "fork" } else { "join" };
                self.line(line, word, &thread_name(run, other));
            }
            AtomicRead | AtomicWrite | Rmw if known => self.atomic(line, kind, &name),
            _ if known && (kind.role().publishes() || kind.role().obtains()) => {
                self.line(line, "acq", &name);
                self.line(line, "rel", &name);
                *self.as_locks.entry(kind.name()).or_default() += 1;
            }
            _ => *self.left_out.entry(kind.name()).or_default() += 1,
        }
    }

    /// Adds an access under a lock of its own: atomic accesses order each other and do not race.
    fn atomic(&mut self, line: &LineFields, kind: EventKind, name: &str) {
        let lock = format!("atomic:{name}");
        self.line(line, "acq", &lock);
        if kind.reads() {
            self.line(line, "r", name);
        }
        if kind.writes() {
            self.line(line, "w", name);
        }
        self.line(line, "rel", &lock);
        *self.as_locks.entry(kind.name()).or_default() += 1;
    }

    fn line(&mut self, line: &LineFields, word: &str, operand: &str) {
        let LineFields { thread, site } = line;
        for part in [thread, "|", word, "(", operand, ")|", site, "\n"] {
            self.text.push_str(part);
        }
    }
}

/// Returns whether the character would end a name and is therefore escaped.
pub(super) fn is_escaped(c: char) -> bool {
    c.is_ascii_whitespace() || c.is_ascii_control() || matches!(c, '|' | '%')
}

fn escape(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match is_escaped(c) {
            true => text.push_str(&format!("%{:02X}", u32::from(c))),
            false => text.push(c),
        }
    }
    text
}

fn thread_name(run: &Run, thread: ThreadId) -> String {
    match escape(&run.meta.thread(thread).name) {
        name if name.is_empty() => format!("thread-{}", thread.0),
        name => name,
    }
}

/// Names of places.
struct ExportedSites<'a> {
    meta: &'a RunMeta,
    imported: bool,
}

impl ExportedSites<'_> {
    fn of(run: &Run) -> ExportedSites<'_> {
        ExportedSites {
            meta: &run.meta,
            imported: run.meta.mode == OrderMode::Imported,
        }
    }

    fn name(&self, site: SiteId) -> String {
        let row = self.meta.site(site);
        match row.file.strip_prefix(SITE).filter(|_| row.line == 0) {
            _ if !self.imported => site.0.to_string(),
            _ if row.file.is_empty() => "0".to_owned(),
            Some(place) => place.to_owned(),
            None if row.column == 0 => format!("{}:{}", row.file, row.line),
            None => format!("{}:{}:{}", row.file, row.line, row.column),
        }
    }
}
