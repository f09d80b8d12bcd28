//! Failing paths as text, with private variables and branches: one statement a line, in the order of
//! execution. The first word is the thread.
//!
//! ```text
//! shared balance = 100
//! main bal := balance @3        a read of what is shared, then an assignment
//! main [ bal < 8 @4             a branch that was taken; what follows is decided by it, up to `main ]`
//! main balance = bal - 8 @5     a write
//! main ]
//! main lock m                   also unlock, fork main.1, join main.1
//! main fails bal <= 0 @9
//! main free p                   then `main uses x`: an access of the freed block
//! main blocked m                then `main deadlocks`; also wait c, signal c, arrive b, post s, take s
//! ```

use crate::{
    Action, Binary, Bug, CellId, Comparison, ExprId, Local, LocalId, PathAction, PathNode,
    PrivateVariable, SharedCell, SourcePlace, StepId, SymbolId, SymbolOrigin, SymbolicStep,
    SymbolicTrace, ThreadTrace, UnknownValue, expr::Values,
};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, EventKind, LocationId, Run, SiteId, ThreadId, script};

/// Number of the first lock, condition or other object among the locations: there are fewer variables.
const FIRST_OBJECT: usize = 32;

/// The kind of a step on an object.
fn kind_of(what: &str) -> EventKind {
    match what {
        "wait" => EventKind::Wait,
        "signal" => EventKind::Signal,
        "arrive" => EventKind::BarrierArrive,
        "post" => EventKind::SemPost,
        "take" => EventKind::SemWait,
        _ => EventKind::Blocked,
    }
}

/// The trace of a path, with its run.
pub fn path(text: &str) -> (SymbolicTrace, Run) {
    let mut build = PathBuild::default();
    for line in text.lines().map(str::trim) {
        if !line.is_empty() {
            build.line(line);
        }
    }
    build.finish()
}

#[derive(Default)]
struct PathBuild {
    trace: SymbolicTrace,
    script: String,
    cells: BTreeMap<String, (CellId, u128)>,
    locals: BTreeMap<(usize, String), (ExprId, u32)>,
    scopes: BTreeMap<usize, Vec<u32>>,
    threads: Vec<String>,
    objects: Vec<String>,
    events: u32,
    freed: Option<StepId>,
}

const WIDTH: u8 = 32;

impl PathBuild {
    fn thread(&mut self, name: &str) -> usize {
        let at = self.threads.iter().position(|known| known == name);
        at.unwrap_or_else(|| {
            self.threads.push(name.into());
            self.trace.threads.push(ThreadTrace::default());
            self.threads.len() - 1
        })
    }

    fn line(&mut self, line: &str) {
        let (what, place) = match line.split_once(" @") {
            Some((what, place)) => (what.trim(), place.parse().unwrap()),
            None => (line, 0),
        };
        let words: Vec<&str> = what.split_whitespace().collect();
        if let ["shared", name, "=", value] = words.as_slice() {
            let id = CellId(self.trace.cells.len() as u32);
            let value: i64 = value.parse().unwrap();
            let bits = u128::from(value as u32);
            self.trace.cells.push(SharedCell {
                name: (*name).into(),
                location: LocationId(0),
                address: (u64::from(id.0) + 1) << 40,
                size: 4,
                initial: Some(bits),
            });
            self.cells.insert((*name).into(), (id, bits));
            return;
        }
        if self.trace.places.is_empty() {
            self.trace.places.push(SourcePlace::default());
        }
        let row = self.thread(words[0]);
        self.trace.places.push(SourcePlace {
            file: "path.c".into(),
            line: place,
            column: 1,
            function: "run".into(),
        });
        match &words[1..] {
            ["]"] => {
                self.scopes.get_mut(&row).unwrap().pop();
            }
            ["[", condition @ ..] => {
                let condition = self.expression(row, condition);
                let node = PathAction::Branch(condition);
                let at = self.node(row, node);
                self.scopes.entry(row).or_default().push(at);
            }
            ["fails", condition @ ..] => {
                let condition = self.expression(row, condition);
                self.script += &format!("{} fails @{place}\n", words[0]);
                let step = self.step(row, Action::Assume(condition), Some(condition), None);
                self.trace.bug = Bug::Condition { step, condition };
            }
            [sync @ ("lock" | "unlock" | "fork" | "join"), other] => self.sync(row, sync, other),
            [
                what @ ("blocked" | "wait" | "signal" | "arrive" | "post" | "take"),
                object,
            ] => {
                self.bare(row, kind_of(what), object);
            }
            ["deadlocks"] => {
                self.script += &format!("{} fails @{place}\n", words[0]);
                self.trace.bug = Bug::Deadlock;
            }
            ["free", block] => self.freed = Some(self.bare(row, EventKind::Free, block)),
            ["uses", name] => {
                self.operand(row, name);
                self.script += &format!("{} fails @{place}\n", words[0]);
                let step = *self.trace.order.last().unwrap();
                let freed = self.freed.unwrap();
                self.trace.bug = Bug::AfterFree { step, freed };
            }
            [name, ":=", value @ ..] => {
                let value = self.expression(row, value);
                self.assign(row, name, value);
            }
            [name, "=", value @ ..] => {
                let value = self.expression(row, value);
                let bits = self.value(value);
                let (cell, _) = self.cells[*name];
                self.cells.insert((*name).into(), (cell, bits));
                self.script += &format!("{} W {name} ={bits} @{place}\n", words[0]);
                let event = self.event();
                self.step(row, Action::Write { cell, value }, Some(value), event);
            }
            other => panic!("no statement: {other:?}"),
        }
    }

    fn event(&mut self) -> Option<EventId> {
        self.events += 1;
        Some(EventId(self.events - 1))
    }

    /// Adds a step without an event in the run's text.
    fn object(&mut self, name: &str) -> LocationId {
        let known = self.objects.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.objects.push(name.into());
            self.objects.len() - 1
        });
        LocationId((FIRST_OBJECT + at) as u32)
    }

    fn bare(&mut self, row: usize, kind: EventKind, object: &str) -> StepId {
        let object = self.object(object);
        let value = 0;
        let action = Action::Sync {
            kind,
            object,
            value,
        };
        self.step(row, action, None, None)
    }

    fn sync(&mut self, row: usize, what: &str, other: &str) {
        let (kind, value) = match what {
            "lock" => (EventKind::Lock, 0),
            "unlock" => (EventKind::Unlock, 0),
            "fork" => (EventKind::Fork, self.thread(other)),
            _ => (EventKind::Join, self.thread(other)),
        };
        self.script += &format!("{} {what} {other} @1\n", self.threads[row]);
        let event = self.event();
        let object = self.object(other);
        let value = value as u64;
        self.step(
            row,
            Action::Sync {
                kind,
                object,
                value,
            },
            None,
            event,
        );
    }

    fn assign(&mut self, row: usize, name: &str, value: ExprId) {
        let local = LocalId(self.trace.locals.len() as u32);
        let next = self.trace.variables.len() as u32;
        let known = self.locals.get(&(row, name.to_owned()));
        let variable = known.map_or(next, |known| known.1);
        if variable == next {
            self.trace.variables.push(PrivateVariable {
                name: name.into(),
                thread: ThreadId(row as u16),
                address: 1 << 50 | u64::from(next) << 8,
                size: 4,
            });
        }
        let recorded = Some(self.value(value));
        self.trace.locals.push(Local {
            variable,
            width: WIDTH,
            recorded,
        });
        self.node(row, PathAction::Assign { local, value });
        let symbol = self.trace.exprs.symbol(local.symbol(), WIDTH);
        self.locals.insert((row, name.into()), (symbol, variable));
    }

    fn node(&mut self, row: usize, what: PathAction) -> u32 {
        let place = self.trace.places.len() as u32 - 1;
        let guard = self
            .scopes
            .get(&row)
            .and_then(|scopes| scopes.last().copied());
        let path = &mut self.trace.threads[row].path;
        path.push(PathNode { what, place, guard });
        path.len() as u32 - 1
    }

    fn step(
        &mut self,
        row: usize,
        action: Action,
        said: Option<ExprId>,
        event: Option<EventId>,
    ) -> StepId {
        let id = StepId {
            thread: ThreadId(row as u16),
            index: self.trace.threads[row].steps.len() as u32,
        };
        self.trace.threads[row].steps.push(SymbolicStep {
            event,
            site: SiteId(0),
            action,
        });
        let index = id.index;
        self.node(row, PathAction::Step { index, said });
        self.trace.order.push(id);
        id
    }

    /// Parses operands and operators from left to right, with one comparison at most.
    fn expression(&mut self, row: usize, words: &[&str]) -> ExprId {
        let at = words
            .iter()
            .position(|word| ["<", "<=", ">", ">=", "==", "!="].contains(word));
        let Some(at) = at else {
            return self.sum(row, words);
        };
        let (a, b) = (self.sum(row, &words[..at]), self.sum(row, &words[at + 1..]));
        let exprs = &mut self.trace.exprs;
        match words[at] {
            "<" => exprs.compare(Comparison::Slt, a, b),
            "<=" => exprs.compare(Comparison::Sle, a, b),
            ">" => exprs.compare(Comparison::Slt, b, a),
            ">=" => exprs.compare(Comparison::Sle, b, a),
            "==" => exprs.compare(Comparison::Eq, a, b),
            _ => {
                let same = exprs.compare(Comparison::Eq, a, b);
                exprs.not(same)
            }
        }
    }

    fn sum(&mut self, row: usize, words: &[&str]) -> ExprId {
        let mut value = self.operand(row, words[0]);
        for pair in words[1..].chunks(2) {
            let other = self.operand(row, pair[1]);
            let op = match pair[0] {
                "+" => Binary::Add,
                "-" => Binary::Sub,
                "*" => Binary::Mul,
                "&" => Binary::And,
                word => panic!("no operator: {word}"),
            };
            value = self.trace.exprs.binary(op, value, other);
        }
        value
    }

    fn operand(&mut self, row: usize, word: &str) -> ExprId {
        if let Ok(number) = word.parse::<i64>() {
            return self.trace.exprs.number(number as u128, WIDTH);
        }
        if let Some(&(symbol, _)) = self.locals.get(&(row, word.to_owned())) {
            return symbol;
        }
        let (cell, bits) = self.cells[word];
        self.script += &format!("{} R {word} ={bits} @1\n", self.threads[row]);
        let symbol = SymbolId(self.trace.symbols.len() as u32);
        let event = self.event();
        let step = self.step(row, Action::Read { cell, symbol }, None, event);
        self.trace.symbols.push(UnknownValue {
            width: WIDTH,
            recorded: Some(bits),
            origin: SymbolOrigin::Read(step),
            name: word.into(),
        });
        self.trace.exprs.symbol(symbol, WIDTH)
    }

    /// Recorded value of an expression.
    pub fn value(&self, id: ExprId) -> u128 {
        let trace = &self.trace;
        let symbol = |symbol: SymbolId| match symbol.local() {
            Some(local) => trace.locals[local.index()].recorded,
            None => trace.symbols[symbol.index()].recorded,
        };
        let value = trace.exprs.value(id, &mut Values::new(), &symbol);
        value.unwrap()
    }

    fn finish(self) -> (SymbolicTrace, Run) {
        let starts: String = self
            .threads
            .iter()
            .filter(|name| *name != "main")
            .map(|name| format!("start {name} run\n"))
            .collect();
        let text = format!("file path.c\nstart main run\n{starts}{}", self.script);
        let mut run = script::parse(&text).unwrap();
        // The rows of threads here are those of the run, whatever order they came in.
        for (thread, name) in run.meta.threads.iter_mut().zip(&self.threads) {
            thread.name.clone_from(name);
        }
        let unnamed = FIRST_OBJECT - run.locations.len();
        run.locations
            .extend(std::iter::repeat_n(String::new(), unnamed));
        run.locations.extend(self.objects);
        (self.trace, run)
    }
}
