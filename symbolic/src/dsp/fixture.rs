//! Symbolic traces as text, for tests: one step a line, in the order in which they ran.
//!
//! ```text
//! init filled = 0
//! main   W filled = 0           @2
//! main.1 R filled -> f          @10 get "if (filled == 0)"
//! main.1 assume f > 0           @10
//! main.1 W filled = f - 1       @20
//! main.2 bug g <= 0             @19
//! main.2 release m
//! ```
//!
//! Other lines are those of [`unsnarl_trace::script`]. Values have 32 bits; those of reads are computed.

use crate::{
    Action, Binary, Bug, CellId, Comparison, ExprId, Exprs, MemoryObject, SharedCell, StepId,
    SymbolId, SymbolOrigin, SymbolicStep, SymbolicTrace, ThreadTrace, UnknownValue, expr::Values,
};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, EventKind, LocationId, Run, SiteId, ThreadId, Value, script};

/// A trace with its run.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub trace: SymbolicTrace,
    pub run: Run,
}

#[derive(Default)]
struct FixtureBuild {
    exprs: Exprs,
    symbols: Vec<(String, u128)>,
    names: BTreeMap<String, SymbolId>,
    memory: BTreeMap<String, u128>,
    initial: BTreeMap<String, u128>,
    script: String,
    lines: Vec<FixtureLine>,
}

enum FixtureLine {
    Read(String, SymbolId),
    Write(String, ExprId),
    Assume(ExprId, String, u32),
    Bug(ExprId),
    Release(String, String),
    Other,
}

/// Parses a trace.
pub(crate) fn fixture(text: &str) -> Fixture {
    let mut build = FixtureBuild::default();
    for line in text.lines().map(str::trim) {
        if !line.is_empty() && !line.starts_with('#') {
            build.line(line);
        }
    }
    build.finish()
}

impl FixtureBuild {
    fn line(&mut self, line: &str) {
        // Callers are given with the place.
        let ends = [line.find(" via="), line.find(" @")];
        let (what, site) = match ends.into_iter().flatten().min() {
            Some(at) => (line[..at].trim(), line[at..].trim()),
            None => (line, ""),
        };
        let words: Vec<&str> = what.split_whitespace().collect();
        match words.as_slice() {
            ["init", name, "=", value] => {
                self.initial.insert((*name).into(), value.parse().unwrap());
                self.memory.insert((*name).into(), value.parse().unwrap());
            }
            [thread, "R", name, "->", symbol] => self.read(thread, name, symbol, site),
            [thread, "W", name, "=", expression @ ..] => {
                let value = self.expression(expression);
                let bits = self.value(value);
                self.memory.insert((*name).into(), bits);
                self.script += &format!("{thread} W {name} ={bits} {site}\n");
                self.lines.push(FixtureLine::Write((*name).into(), value));
            }
            [thread, "assume", expression @ ..] => {
                let condition = self.expression(expression);
                let number = site.trim_start_matches('@').split_whitespace().next();
                let number = number.map_or(0, |number| number.parse().unwrap());
                self.lines
                    .push(FixtureLine::Assume(condition, (*thread).into(), number));
            }
            [thread, "bug", expression @ ..] => {
                let condition = self.expression(expression);
                self.script += &format!("{thread} fails {site}\n");
                self.lines.push(FixtureLine::Bug(condition));
            }
            [thread, "release", lock] => self
                .lines
                .push(FixtureLine::Release((*thread).into(), (*lock).into())),
            _ => {
                self.script += &format!("{line}\n");
                if !["file", "start", "deadlocks"].contains(&words[0]) {
                    self.lines.push(FixtureLine::Other);
                }
            }
        }
    }

    fn read(&mut self, thread: &str, name: &str, symbol: &str, site: &str) {
        let value = self.memory.get(name).copied().unwrap_or(0);
        self.initial.entry(name.into()).or_insert(0);
        let id = SymbolId(self.symbols.len() as u32);
        self.symbols.push((symbol.into(), value));
        self.names.insert(symbol.into(), id);
        self.script += &format!("{thread} R {name} ={value} {site}\n");
        self.lines.push(FixtureLine::Read(name.into(), id));
    }

    /// Parses operands and operators from left to right, with one comparison at most.
    fn expression(&mut self, words: &[&str]) -> ExprId {
        let is_comparison = |word: &&str| ["<", "<=", ">", ">=", "==", "!="].contains(word);
        let Some(at) = words.iter().position(is_comparison) else {
            return self.sum(words);
        };
        let (a, b) = (self.sum(&words[..at]), self.sum(&words[at + 1..]));
        let exprs = &mut self.exprs;
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

    fn sum(&mut self, words: &[&str]) -> ExprId {
        let mut value = self.operand(words[0]);
        for pair in words[1..].chunks(2) {
            let other = self.operand(pair[1]);
            let op = match pair[0] {
                "+" => Binary::Add,
                "-" => Binary::Sub,
                "*" => Binary::Mul,
                word => panic!("no operator: {word}"),
            };
            value = self.exprs.binary(op, value, other);
        }
        value
    }

    fn operand(&mut self, word: &str) -> ExprId {
        match word.parse::<u128>() {
            Ok(number) => self.exprs.number(number, 32),
            Err(_) => self.exprs.symbol(self.names[word], 32),
        }
    }

    fn value(&self, of: ExprId) -> u128 {
        let symbol = |id: SymbolId| Some(self.symbols[id.index()].1);
        self.exprs.value(of, &mut Values::new(), &symbol).unwrap()
    }

    fn finish(self) -> Fixture {
        let run = script::parse(&self.script).unwrap();
        let mut trace = SymbolicTrace {
            threads: vec![ThreadTrace::default(); run.meta.threads.len()],
            ..SymbolicTrace::default()
        };
        self.cells(&run, &mut trace);
        let mut row = 0;
        for line in &self.lines {
            let event = match line {
                FixtureLine::Assume(..) | FixtureLine::Release(..) => None,
                _ => Some(EventId(row)),
            };
            row += u32::from(event.is_some());
            self.step(&run, &mut trace, line, event);
        }
        trace.exprs = self.exprs;
        Fixture { trace, run }
    }

    fn cells(&self, run: &Run, trace: &mut SymbolicTrace) {
        let names = self.lines.iter().filter_map(|line| match line {
            FixtureLine::Read(name, _) | FixtureLine::Write(name, _) => Some(name),
            _ => None,
        });
        let names: std::collections::BTreeSet<_> = names.collect();
        for (i, name) in names.into_iter().enumerate() {
            let base = (i as u64 + 1) << 32;
            trace.objects.push(MemoryObject {
                name: name.clone(),
                base,
                size: 4,
            });
            trace.cells.push(SharedCell {
                name: name.clone(),
                location: location(run, name),
                address: base,
                size: 4,
                initial: Some(self.initial.get(name).copied().unwrap_or(0)),
            });
        }
    }

    fn step(
        &self,
        run: &Run,
        trace: &mut SymbolicTrace,
        line: &FixtureLine,
        event: Option<EventId>,
    ) {
        let happened = event.and_then(|event| run.events.get(event));
        let cell = |name: &String| {
            let at = trace.cells.iter().position(|cell| &cell.name == name);
            CellId(at.unwrap() as u32)
        };
        let named = |name: &str| {
            let at = run.meta.threads.iter().position(|row| row.name == name);
            ThreadId(at.unwrap() as u16)
        };
        let thread = match line {
            FixtureLine::Assume(_, thread, _) | FixtureLine::Release(thread, _) => named(thread),
            _ => happened.unwrap().thread,
        };
        let id = StepId {
            thread,
            index: trace.threads[thread.index()].steps.len() as u32,
        };
        let mut site = happened.map_or(SiteId(0), |event| event.site);
        let action = match line {
            FixtureLine::Read(name, symbol) => {
                let (name_of_symbol, recorded) = self.symbols[symbol.index()].clone();
                trace.symbols.push(UnknownValue {
                    width: 32,
                    recorded: Some(recorded),
                    origin: SymbolOrigin::Read(id),
                    name: name_of_symbol,
                });
                Action::Read {
                    cell: cell(name),
                    symbol: *symbol,
                }
            }
            FixtureLine::Write(name, value) => Action::Write {
                cell: cell(name),
                value: *value,
            },
            FixtureLine::Assume(condition, _, line) => {
                let at = run.meta.sites.iter().position(|row| row.line == *line);
                site = SiteId(at.unwrap_or(0) as u32);
                Action::Assume(*condition)
            }
            FixtureLine::Bug(condition) => {
                trace.bug = Bug::Condition {
                    step: id,
                    condition: *condition,
                };
                Action::Assume(*condition)
            }
            FixtureLine::Release(_, lock) => Action::Release {
                object: location(run, lock),
                is_shared: false,
            },
            FixtureLine::Other => {
                let event = happened.unwrap();
                Action::Sync {
                    kind: event.kind,
                    object: event.location,
                    value: match event.value {
                        Some(Value::Bits(bits)) => bits,
                        _ => 0,
                    },
                }
            }
        };
        let event = event.filter(|_| !matches!(line, FixtureLine::Bug(_)));
        assert_ne!(happened.map(|event| event.kind), Some(EventKind::Branch));
        trace.threads[thread.index()].steps.push(SymbolicStep {
            event,
            site,
            action,
        });
        trace.order.push(id);
    }
}

fn location(run: &Run, name: &str) -> LocationId {
    let at = run.locations.iter().position(|known| known == name);
    LocationId(at.unwrap_or(0) as u32)
}

/// Figure 2 of the paper: pfscan's queue, where two consumers take the last element.
pub(crate) const PFSCAN: &str = r#"
    file pfscan.c
    start main put
    start main.1 get
    start main.2 get
    main   fork main.1      @30
    main   fork main.2      @31
    main   W filled = 0     @2  put "filled = 0;"
    main   lock m           @3
    main   R filled -> f04  @4  put "filled++;"
    main   W filled = f04 + 1 @4 put "filled++;"
    main   unlock m         @6
    main.1 lock m           @9 get "lock(m);"
    main.1 R filled -> f110 @10 get "if (filled == 0)"
    main.1 assume f110 > 0  @10
    main.1 unlock m         @14
    main.2 lock m           @9 get "lock(m);"
    main.2 R filled -> f210 @10 get "if (filled == 0)"
    main.2 assume f210 > 0  @10
    main.2 unlock m         @14
    main.1 lock m           @18 get "lock(m);"
    main.1 R filled -> f119 @19 get "assert(filled > 0);"
    main.1 assume f119 > 0  @19
    main.1 R filled -> f120 @20 get "filled--;"
    main.1 W filled = f120 - 1 @20 get "filled--;"
    main.1 unlock m         @22
    main.2 lock m           @18 get "lock(m);"
    main.2 R filled -> f219 @19 get "assert(filled > 0);"
    main.2 bug f219 <= 0    @19 get "assert(filled > 0);"
    main.2 release m
"#;
