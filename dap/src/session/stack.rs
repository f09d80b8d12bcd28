//! Threads, stacks and scopes.

use super::{Served, Session, body, references::Holder};
use crate::{
    bodies::{FrameBody, ScopeBody, Source, ThreadBody},
    mi::Results,
    requests::{ScopesArguments, StackTraceArguments},
    subject::Provider,
};
use std::{io::Write, path::Path};

/// Folders whose sources are not the user's: `commands.py` knows the same.
const FOREIGN: [&str; 3] = ["/usr/", "./nptl", "../sysdeps"];

impl<P: Provider, W: Write> Session<P, W> {
    pub(super) fn threads(&mut self) -> Served {
        if !self
            .active
            .as_ref()
            .is_some_and(|active| active.position.is_alive)
        {
            // Clients ask for them before the program starts.
            return body(serde_json::json!({ "threads": [] }));
        }
        let answer = self.ask("-thread-info")?;
        let mut threads: Vec<ThreadBody> = answer.tuples("threads").filter_map(thread).collect();
        threads.sort_by_key(|thread| thread.id);
        body(serde_json::json!({ "threads": threads }))
    }

    /// The stack from the innermost function with source of the user's: what is inside of it belongs to the runtime or
    /// the C library, which the user has not asked for.
    pub(super) fn stack_trace(&mut self, of: StackTraceArguments) -> Served {
        let command = format!("-stack-list-frames --thread {}", of.thread_id);
        let answer = self.ask(&command)?;
        let all: Vec<&Results> = answer.tuples("stack").collect();
        let inner = all.iter().position(|frame| is_users(frame)).unwrap_or(0);
        let total = all.len().saturating_sub(inner);
        let most = if of.levels == 0 {
            usize::MAX
        } else {
            of.levels
        };
        let asked = all.iter().skip(inner).skip(of.start_frame).take(most);
        let frames: Vec<FrameBody> = asked.map(|frame| self.frame(of.thread_id, frame)).collect();
        body(serde_json::json!({ "stackFrames": frames, "totalFrames": total }))
    }

    fn frame(&mut self, thread: u32, frame: &Results) -> FrameBody {
        let level = frame.number("level").unwrap_or(0);
        let is_users = is_users(frame);
        let id = match &mut self.active {
            Some(active) => active.references.frame(thread, level),
            None => 0,
        };
        let function = frame.text("func");
        FrameBody {
            id,
            name: match function {
                "" => frame.text("addr").to_owned(),
                name => name.to_owned(),
            },
            source: is_users.then(|| Source::of(frame.text("fullname"))),
            line: frame.number("line").filter(|_| is_users).unwrap_or(0),
            column: 0,
            presentation_hint: if is_users { "normal" } else { "subtle" },
        }
    }

    pub(super) fn scopes(&mut self, of: ScopesArguments) -> Served {
        let active = self.active.as_mut().ok_or_else(super::nothing_runs)?;
        let frame = active.references.known_frame(of.frame_id)?;
        let mut scope = |name, hint, arguments| ScopeBody {
            name,
            presentation_hint: hint,
            variables_reference: active.references.hold(Holder::Scope { frame, arguments }),
            expensive: false,
        };
        let scopes = [
            scope("Arguments", "arguments", true),
            scope("Locals", "locals", false),
        ];
        body(serde_json::json!({ "scopes": scopes }))
    }
}

fn thread(of: &Results) -> Option<ThreadBody> {
    let id = of.number("id")?;
    let name = match of.text("name") {
        "" => of.text("target-id"),
        name => name,
    };
    Some(ThreadBody {
        id,
        name: name.to_owned(),
    })
}

fn is_users(frame: &Results) -> bool {
    let path = frame.text("fullname");
    let is_foreign = |of: &str| FOREIGN.iter().any(|start| of.starts_with(start));
    let is_known = !path.is_empty() && !is_foreign(path) && !is_foreign(frame.text("file"));
    is_known && Path::new(path).is_file()
}
