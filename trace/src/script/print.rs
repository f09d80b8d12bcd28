//! A run as a script.

use super::{FLAGS, ORDERS, event::VIA};
use crate::{
    meta::{FrameRow, Outcome, SiteRow},
    model::{Event, EventId, EventKind, LocationId, SiteId, StackId, ThreadId, Value, flags},
    raw::WaitsFor,
    run::Run,
};
use std::{collections::HashMap, fmt::Write};

/// The script of a run; what a script cannot say (the recorder's settings) is left out.
pub fn print(run: &Run) -> String {
    let mut printer = Printer {
        run,
        functions: HashMap::new(),
        started: HashMap::new(),
        failed: false,
        text: String::new(),
    };
    if run.meta.seed != 0 {
        printer.line(&format!("seed {}", run.meta.seed));
    }
    for library in &run.meta.unseen_locks {
        printer.line(&format!("unseen-locks {}", one_line(library)));
    }
    for (id, event) in run.events.iter() {
        printer.event(id, &event);
    }
    printer.starts();
    printer.outcome();
    printer.text
}

struct Printer<'a> {
    run: &'a Run,
    /// The function that each thread is in, as a reader of the script knows it.
    functions: HashMap<ThreadId, String>,
    /// The first function of each thread, as a reader of the script knows it.
    started: HashMap<ThreadId, String>,
    /// A `fails` has been printed.
    failed: bool,
    text: String,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn event(&mut self, id: EventId, event: &Event) {
        let thread = name(&self.run.meta.thread(event.thread).name);
        let failure = self.run.meta.failure.as_ref();
        let failure = failure.filter(|_| event.kind == EventKind::Failure);
        let line = match failure.filter(|failure| failure.event == Some(id)) {
            Some(failure) => {
                self.failed = true;
                let site = place(self.run.meta.site(event.site))
                    .map_or(String::new(), |place| format!(" {place}"));
                let via = self.via(event);
                format!("{thread} fails{via}{site} {}", one_line(&failure.message))
            }
            None => {
                let what = [
                    self.operand(event),
                    modifiers(event),
                    self.via(event),
                    self.value(event),
                    self.site(event),
                ];
                format!("{thread} {}{}", short(event.kind), what.concat())
            }
        };
        self.line(&line);
    }

    fn operand(&self, event: &Event) -> String {
        let thread = event.other_thread().map_or(String::new(), |other| {
            format!(" {}", name(&self.run.meta.thread(other).name))
        });
        match event.kind {
            EventKind::Fork | EventKind::Join => thread,
            EventKind::Blocked => {
                let waits = WaitsFor::from_u32(event.size).unwrap_or(WaitsFor::Nothing);
                let object = self.location(event.location);
                format!(" {}{thread}{object}", waits.name())
            }
            _ => self.location(event.location),
        }
    }

    /// The calls that led to an event.
    fn via(&self, event: &Event) -> String {
        let mut calls = Vec::new();
        let mut stack = event.stack;
        while stack.0 != 0 {
            let FrameRow(caller, site) = self.run.meta.frame(stack);
            let site = self.run.meta.site(site);
            let place = place(site).unwrap_or_else(|| "@0".to_owned());
            calls.push(format!(
                "{}@{}",
                place.trim_start_matches('@'),
                site.function
            ));
            // Rows refer to earlier ones.
            stack = if caller < stack { caller } else { StackId(0) };
        }
        match calls.as_slice() {
            [] => String::new(),
            calls => format!(" {VIA}{}", calls.join(",")),
        }
    }

    fn location(&self, location: LocationId) -> String {
        match self.run.location(location) {
            "" => String::new(),
            text => format!(" {}", name(text)),
        }
    }

    fn value(&self, event: &Event) -> String {
        if matches!(
            event.kind,
            EventKind::Fork | EventKind::Join | EventKind::Blocked
        ) {
            return String::new();
        }
        match (event.old, event.value) {
            (Some(old), Some(Value::Bits(new))) => format!(" {old}->{new}"),
            (_, Some(Value::Bits(bits))) => format!(" ={bits}"),
            (_, Some(Value::Address(location))) => {
                format!(" =&{}", name(self.run.location(location)))
            }
            (_, None) => String::new(),
        }
    }

    fn site(&mut self, event: &Event) -> String {
        let site = self.run.meta.site(event.site);
        let Some(mut text) = place(site)
            .filter(|_| event.site != SiteId(0))
            .map(|place| format!(" {place}"))
        else {
            return String::new();
        };
        let known = self.functions.entry(event.thread).or_default();
        if *known != site.function {
            known.clone_from(&site.function);
            let function = if site.function.is_empty() {
                "-"
            } else {
                &site.function
            };
            let _ = write!(text, " {}", name(function));
        }
        if !site.function.is_empty() {
            self.started
                .entry(event.thread)
                .or_insert_with(|| site.function.clone());
        }
        if !site.text.is_empty() {
            let _ = write!(text, " \"{}\"", one_line(&site.text));
        }
        text
    }

    /// Start routines that the events do not tell.
    fn starts(&mut self) {
        for (id, row) in self.run.meta.threads.iter_enumerated() {
            let told = self.started.get(&id);
            if told.map_or("", String::as_str) != row.start {
                self.line(&format!("start {} {}", name(&row.name), row.start));
            }
        }
    }

    fn outcome(&mut self) {
        let failure = self.run.meta.failure.as_ref();
        let message = failure.map_or(String::new(), |failure| one_line(&failure.message));
        match self.run.meta.outcome {
            Outcome::Failed if !self.failed => self.line(&format!("failed {message}")),
            Outcome::Passed | Outcome::Failed => {}
            Outcome::Deadlocked => self.line(&format!("deadlocks {message}")),
            Outcome::TimedOut => self.line(&format!("times-out {message}")),
            Outcome::CutShort => self.line("cut-short"),
        }
    }
}

fn short(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Read => "R",
        EventKind::Write => "W",
        other => other.name(),
    }
}

fn modifiers(event: &Event) -> String {
    let mut text = String::new();
    let usual = if matches!(event.value, Some(Value::Address(_))) {
        8
    } else {
        4
    };
    if event.kind.is_access() && event.size != usual {
        let _ = write!(text, " size={}", event.size);
    }
    let order = usize::from(event.flags >> flags::ORDER_SHIFT & 7);
    if order != ORDERS.len()
        && let Some(name) = order.checked_sub(1).and_then(|n| ORDERS.get(n))
    {
        let _ = write!(text, " {name}");
    }
    for (name, _) in FLAGS.iter().filter(|(_, bit)| event.flags & bit != 0) {
        let _ = write!(text, " {name}");
    }
    text
}

fn place(site: &SiteRow) -> Option<String> {
    if site.file.is_empty() && site.line == 0 {
        return None;
    }
    let place = match site.column {
        0 => format!("{}:{}", site.file, site.line),
        column => format!("{}:{}:{column}", site.file, site.line),
    };
    Some(format!("@{}", name(&place)))
}

/// Quotes a name in backticks if it has spaces.
fn name(text: &str) -> String {
    if text.contains(char::is_whitespace) {
        format!("`{text}`")
    } else {
        text.to_owned()
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
