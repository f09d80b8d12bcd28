//! Events at a line, as places to go to: forwards, or backwards by starting over.

use super::{Served, Session, body};
use crate::{bodies::TargetBody, requests::GotoTargetsArguments, subject::Provider};
use std::{io::Write, path::Path};
use unsnarl_recorder::replay::debug::event_in_words;

/// Events that are offered for one line: those that are nearest to the current one.
const OFFERED: usize = 30;

impl<P: Provider, W: Write> Session<P, W> {
    pub(super) fn goto_targets(&mut self, of: &GotoTargetsArguments) -> Served {
        let active = self.active()?;
        let (run, here) = (&active.subject.run, active.position.row);
        let directory = Path::new(&run.meta.directory);
        let path = Path::new(&of.source.path);
        let is_there = |file: &str| directory.join(file) == path || Path::new(file) == path;
        let mut rows: Vec<u32> = Vec::new();
        let mut last = None;
        for (row, event) in run.events.iter() {
            let site = run.meta.site(event.site);
            // The rows of one step of the program are one event.
            if site.line == of.line && is_there(&site.file) && last != Some(event.seq) {
                rows.push(row.0);
            }
            last = Some(event.seq);
        }
        rows.sort_by_key(|row| row.abs_diff(here));
        rows.truncate(OFFERED);
        rows.sort_unstable();
        let targets = rows.into_iter().map(|row| TargetBody {
            id: row,
            label: format!("event {row}: {}", event_in_words(run, row)),
            line: of.line,
        });
        body(serde_json::json!({ "targets": targets.collect::<Vec<_>>() }))
    }
}
