//! Construction of a run from the lines of a script.

use super::{
    event::VIA,
    words::{self, LineWords, ScriptPlace},
};
use crate::{
    index::{Id, IndexVec},
    meta::{
        FORMAT, Failure, FailureKind, FrameRow, OrderMode, Outcome, RunMeta, SiteRow, ThreadRow,
    },
    model::{Event, EventId, EventKind, LocationId, PointId, SiteId, StackId, ThreadId},
    run::{Events, Run},
};
use std::collections::HashMap;

/// The run so far.
pub(super) struct ScriptedRun {
    meta: RunMeta,
    pub(super) locations: IndexVec<LocationId, String>,
    pub(super) rows: Vec<Event>,
    threads: HashMap<String, ThreadId>,
    sites: HashMap<SiteRow, SiteId>,
    location_ids: HashMap<String, LocationId>,
    /// The file of sites that name none.
    file: String,
    /// The function that each thread is in.
    functions: HashMap<ThreadId, String>,
    last_thread: Option<ThreadId>,
}

impl Default for ScriptedRun {
    fn default() -> Self {
        let meta = RunMeta {
            format: FORMAT,
            mode: OrderMode::Controlled,
            exact: true,
            strategy: "random".to_owned(),
            sites: vec![SiteRow::default()].into(),
            ..RunMeta::default()
        };
        ScriptedRun {
            meta,
            locations: vec![String::new()].into(),
            rows: Vec::new(),
            threads: HashMap::new(),
            sites: HashMap::from([(SiteRow::default(), SiteId(0))]),
            location_ids: HashMap::from([(String::new(), LocationId(0))]),
            file: "test.c".to_owned(),
            functions: HashMap::new(),
            last_thread: None,
        }
    }
}

impl ScriptedRun {
    /// Reads one line.
    pub(super) fn line(&mut self, line: &str) -> Result<(), String> {
        let mut words = LineWords::of(line);
        let first = words.take().ok_or("expected a thread")?;
        match first {
            "file" => self.file = words.rest().to_owned(),
            "seed" => {
                self.meta.seed = words.rest().parse().map_err(|_| "expected `seed NUMBER`")?
            }
            "unseen-locks" => self.meta.unseen_locks.push(words.rest().to_owned()),
            "start" => self.start(&mut words)?,
            "fails" => self.fails(self.last_thread, &mut words)?,
            "failed" => self.ends(Outcome::Failed, kind_of(words.rest()), words.rest()),
            "deadlocks" => self.ends(Outcome::Deadlocked, FailureKind::Deadlock, words.rest()),
            "times-out" => self.ends(Outcome::TimedOut, FailureKind::Timeout, words.rest()),
            "cut-short" => self.meta.outcome = Outcome::CutShort,
            name => {
                let thread = self.thread(words::name(name))?;
                self.last_thread = Some(thread);
                match words.take_if(|word| word == "fails") {
                    Some(_) => self.fails(Some(thread), &mut words)?,
                    None => self.event(thread, &mut words)?,
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, words: &mut LineWords<'_>) -> Result<(), String> {
        let name = words.take().ok_or("expected `start THREAD FUNCTION`")?;
        let thread = self.thread(words::name(name))?;
        self.meta.threads[thread].start = words.rest().to_owned();
        Ok(())
    }

    fn fails(&mut self, thread: Option<ThreadId>, words: &mut LineWords<'_>) -> Result<(), String> {
        let thread = thread.ok_or("nobody failed: write `THREAD fails ...`")?;
        let calls = words.take_if(|word| word.starts_with(VIA));
        let stack = match calls.and_then(|word| word.strip_prefix(VIA)) {
            Some(calls) => self.stack(calls)?,
            None => StackId::default(),
        };
        let site = match words.take_if(|word| word.starts_with('@')) {
            Some(word) => Some(self.site(thread, word, None, "")?),
            None => None,
        };
        let event = EventId(u32::try_from(self.rows.len()).map_err(|_| "too many events")?);
        self.push(Event {
            site: site.unwrap_or_default(),
            stack,
            ..blank(thread, EventKind::Failure)
        });
        let message = if words.rest().is_empty() {
            "failed"
        } else {
            words.rest()
        };
        self.meta.outcome = Outcome::Failed;
        self.meta.failure = Some(Failure {
            kind: kind_of(message),
            message: message.to_owned(),
            thread: Some(thread),
            site,
            event: Some(event),
        });
        Ok(())
    }

    fn ends(&mut self, outcome: Outcome, kind: FailureKind, message: &str) {
        let message = match (message, kind) {
            ("", FailureKind::Deadlock) => "deadlock: all threads wait",
            ("", FailureKind::Timeout) => "timed out",
            ("", _) => "failed",
            (message, _) => message,
        };
        let message = message.to_owned();
        self.meta.outcome = outcome;
        self.meta.failure = Some(Failure {
            kind,
            message,
            thread: None,
            site: None,
            event: None,
        });
    }

    /// Adds an event.
    pub(super) fn push(&mut self, event: Event) {
        self.rows.push(Event {
            seq: self.rows.len() as u64,
            ..event
        });
    }

    /// The thread with this name.
    pub(super) fn thread(&mut self, name: &str) -> Result<ThreadId, String> {
        if let Some(id) = self.threads.get(name) {
            return Ok(*id);
        }
        let parent = name
            .rsplit_once('.')
            .map(|(parent, _)| self.thread(parent))
            .transpose()?;
        let id = ThreadId::of_number(self.meta.threads.len()).ok_or("too many threads")?;
        self.meta.threads.push(ThreadRow {
            name: name.to_owned(),
            parent,
            ..ThreadRow::default()
        });
        self.threads.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Returns whether there is a thread with this id.
    pub(super) fn has(&self, thread: ThreadId) -> bool {
        self.meta.threads.checked(thread).is_some()
    }

    /// Notes where a thread was created.
    pub(super) fn created(&mut self, thread: ThreadId, site: SiteId) {
        self.meta.threads[thread].created_at = site;
    }

    /// The location with this name.
    pub(super) fn location(&mut self, name: &str) -> LocationId {
        let new = || self.locations.push(name.to_owned());
        *self.location_ids.entry(name.to_owned()).or_insert_with(new)
    }

    /// The site of `@...`.
    pub(super) fn site(
        &mut self,
        thread: ThreadId,
        word: &str,
        function: Option<&str>,
        text: &str,
    ) -> Result<SiteId, String> {
        let place = word.strip_prefix('@').and_then(words::place);
        let ScriptPlace { file, line, column } = place
            .ok_or_else(|| format!("`{word}` is no site: write @LINE or @FILE:LINE:COLUMN"))?;
        let file = file.unwrap_or(&self.file).to_owned();
        let function = self.function(thread, function);
        let site = SiteRow {
            file,
            line,
            column,
            function,
            text: text.to_owned(),
        };
        Ok(self.site_row(site))
    }

    fn site_row(&mut self, site: SiteRow) -> SiteId {
        let new = || self.meta.sites.push(site.clone());
        *self.sites.entry(site.clone()).or_insert_with(new)
    }

    /// The stack of the calls `LINE@FUNCTION,FILE:LINE@FUNCTION`, innermost first.
    pub(super) fn stack(&mut self, calls: &str) -> Result<StackId, String> {
        let mut stack = StackId(0);
        for call in calls.rsplit(',') {
            let wrong =
                || format!("`{call}` is no call: write LINE@FUNCTION or FILE:LINE@FUNCTION");
            let (place, function) = call.split_once('@').ok_or_else(wrong)?;
            let ScriptPlace { file, line, column } = words::place(place).ok_or_else(wrong)?;
            let file = file.unwrap_or(&self.file).to_owned();
            let function = function.to_owned();
            let site = self.site_row(SiteRow {
                file,
                line,
                column,
                function,
                text: String::new(),
            });
            stack = self.frame(FrameRow(stack, site));
        }
        Ok(stack)
    }

    fn frame(&mut self, frame: FrameRow) -> StackId {
        let frames = &mut self.meta.frames;
        if frames.is_empty() {
            frames.push(FrameRow::default());
        }
        let known = frames
            .iter_enumerated()
            .skip(1)
            .find(|(_, known)| **known == frame)
            .map(|(id, _)| id);
        known.unwrap_or_else(|| frames.push(frame))
    }

    fn function(&mut self, thread: ThreadId, named: Option<&str>) -> String {
        let current = self.functions.entry(thread).or_default();
        if let Some(named) = named {
            *current = if named == "-" {
                String::new()
            } else {
                named.to_owned()
            };
        }
        let row = &mut self.meta.threads[thread];
        if row.start.is_empty() {
            row.start.clone_from(current);
        }
        current.clone()
    }

    /// The whole run.
    pub(super) fn finish(mut self) -> Run {
        let is_lock = |event: &&Event| {
            matches!(
                event.kind,
                EventKind::Lock | EventKind::SharedLock | EventKind::LockWait
            )
        };
        let mut locks: Vec<_> = self
            .rows
            .iter()
            .filter(is_lock)
            .map(|event| event.location)
            .collect();
        locks.sort();
        locks.dedup();
        self.meta.locks = locks;
        Run {
            meta: self.meta,
            locations: self.locations,
            events: Events::from_rows(&self.rows),
            damage: Vec::new(),
        }
    }
}

/// An event of which only thread and kind are known.
pub(super) fn blank(thread: ThreadId, kind: EventKind) -> Event {
    Event {
        seq: 0,
        thread,
        kind,
        site: SiteId(0),
        location: LocationId(0),
        size: 0,
        flags: 0,
        value: None,
        old: None,
        stack: StackId(0),
        point: PointId(0),
    }
}

/// The recorder's messages tell the kind of failure.
fn kind_of(message: &str) -> FailureKind {
    match message {
        m if m.contains("abort") || m.contains("terminate") => FailureKind::Abort,
        m if m.contains("segmentation fault") || m.contains("signal") => FailureKind::Signal,
        m if m.contains("exit") => FailureKind::Exit,
        m if m.contains("after it was freed") => FailureKind::UseAfterFree,
        m if m.contains("unlock of a lock") => FailureKind::UnlockNotHeld,
        m if m.contains("freed twice") || m.contains("double free") => FailureKind::DoubleFree,
        _ => FailureKind::Assert,
    }
}
