//! Breakpoints. The client names all of a file each time; the list outlives the gdb that they are set in.

use super::{Failure, Served, Session, body};
use crate::{
    bodies::{BreakpointBody, Source},
    mi::{Results, quoted},
    requests::{
        FunctionBreakpoint, LineBreakpoint, SetBreakpointsArguments,
        SetFunctionBreakpointsArguments,
    },
    subject::Provider,
};
use std::{collections::BTreeMap, io::Write};

/// The breakpoints that the client wants, and their numbers in gdb.
#[derive(Default)]
pub struct WantedBreakpoints {
    by_file: BTreeMap<String, Vec<LineBreakpoint>>,
    functions: Vec<FunctionBreakpoint>,
    /// Numbers by file; those of functions have an empty one.
    numbers: BTreeMap<String, Vec<u32>>,
}

/// Place and condition of a breakpoint, as options of the command.
struct Insertion<'a> {
    place: String,
    condition: Option<&'a str>,
    hits: Option<&'a str>,
}

impl<P: Provider, W: Write> Session<P, W> {
    pub(super) fn set_breakpoints(&mut self, of: SetBreakpointsArguments) -> Served {
        let file = of.source.path;
        let set = self.set_lines(&file, &of.breakpoints)?;
        self.wanted.by_file.insert(file, of.breakpoints);
        body(serde_json::json!({ "breakpoints": set }))
    }

    pub(super) fn set_function_breakpoints(
        &mut self,
        of: SetFunctionBreakpointsArguments,
    ) -> Served {
        let set = self.set_functions(&of.breakpoints)?;
        self.wanted.functions = of.breakpoints;
        body(serde_json::json!({ "breakpoints": set }))
    }

    /// Sets all of them in a gdb that was just started.
    pub(super) fn set_all_breakpoints(&mut self) -> Result<(), Failure> {
        self.wanted.numbers.clear();
        for (file, lines) in self.wanted.by_file.clone() {
            self.set_lines(&file, &lines)?;
        }
        let functions = self.wanted.functions.clone();
        self.set_functions(&functions)?;
        Ok(())
    }

    fn set_lines(
        &mut self,
        file: &str,
        lines: &[LineBreakpoint],
    ) -> Result<Vec<BreakpointBody>, Failure> {
        let insertions = lines.iter().map(|point| Insertion {
            place: format!("--source {} --line {}", quoted(file), point.line),
            condition: point.condition.as_deref(),
            hits: point.hit_condition.as_deref(),
        });
        self.replace(file, insertions.collect())
    }

    fn set_functions(
        &mut self,
        functions: &[FunctionBreakpoint],
    ) -> Result<Vec<BreakpointBody>, Failure> {
        let insertions = functions.iter().map(|point| Insertion {
            place: format!("--function {}", quoted(&point.name)),
            condition: point.condition.as_deref(),
            hits: point.hit_condition.as_deref(),
        });
        self.replace("", insertions.collect())
    }

    /// Sets breakpoints in the place of those of a file.
    fn replace(
        &mut self,
        file: &str,
        insertions: Vec<Insertion<'_>>,
    ) -> Result<Vec<BreakpointBody>, Failure> {
        for number in self.wanted.numbers.remove(file).unwrap_or_default() {
            self.ask(&format!("-break-delete {number}"))?;
        }
        let mut all = Vec::new();
        for insertion in insertions {
            let set = self.insert(&insertion)?;
            let numbers = self.wanted.numbers.entry(file.to_owned()).or_default();
            numbers.extend(set.id);
            all.push(set);
        }
        Ok(all)
    }

    fn insert(&mut self, insertion: &Insertion<'_>) -> Result<BreakpointBody, Failure> {
        let mut command = "-break-insert".to_owned();
        if let Some(condition) = insertion.condition.filter(|text| !text.trim().is_empty()) {
            command.push_str(&format!(" -c {}", quoted(condition)));
        }
        if let Some(hits) = insertion.hits.filter(|text| !text.trim().is_empty()) {
            let Ok(hits) = hits.trim().parse::<u32>() else {
                let message = "the hit condition has to be a number: that of the hit to stop at";
                return Ok(refused(message));
            };
            command.push_str(&format!(" -i {}", hits.saturating_sub(1)));
        }
        command.push_str(&format!(" {}", insertion.place));
        match self.ask(&command) {
            Ok(answer) => Ok(answer.tuple("bkpt").map_or_else(Default::default, set)),
            Err(Failure::Refused(message)) => Ok(refused(&message)),
            Err(other) => Err(other),
        }
    }
}

fn refused(message: &str) -> BreakpointBody {
    BreakpointBody {
        message: Some(message.to_owned()),
        ..BreakpointBody::default()
    }
}

/// A breakpoint at one place, or at several, of which the first is shown.
fn set(of: &Results) -> BreakpointBody {
    let at = of.tuples("locations").next().unwrap_or(of);
    BreakpointBody {
        id: of.number("number"),
        verified: true,
        message: None,
        line: at.number("line"),
        source: match at.text("fullname") {
            "" => None,
            path => Some(Source::of(path)),
        },
    }
}
