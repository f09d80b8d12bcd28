//! Small random traces with all their orders, for tests. Shares no code with the search or the checker.

use super::fixture::{Fixture, fixture};
use crate::{Action, Bug, StepId, SymbolId, SymbolOrigin, SymbolicTrace, expr::Values};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventKind, LocationId, ThreadId};

/// A random trace of two threads that main creates, and joins before it checks; or one of them checks.
pub(crate) fn trace() -> impl Strategy<Value = Fixture> {
    let step = (1u8..3, 0u8..8, 0u8..2, 0u32..3);
    (prop::collection::vec(step, 2..11), any::<bool>(), 0u8..2)
        .prop_map(|(steps, main_checks, checked)| fixture(&text(&steps, main_checks, checked)))
}

#[derive(Default)]
struct Writer {
    text: String,
    memory: BTreeMap<u8, u32>,
    last: BTreeMap<u8, (usize, u32)>,
    holder: Option<u8>,
    symbols: usize,
    lines: usize,
}

impl Writer {
    fn line(&mut self, thread: &str, what: &str) {
        self.lines += 1;
        self.text += &format!("{thread} {what} @{}\n", self.lines);
    }

    fn read(&mut self, thread: &str, number: u8, cell: u8) -> (usize, u32) {
        let symbol = (self.symbols, self.memory.get(&cell).copied().unwrap_or(0));
        self.symbols += 1;
        self.last.insert(number, symbol);
        self.line(thread, &format!("R v{cell} -> s{}", symbol.0));
        symbol
    }

    fn step(&mut self, (number, op, cell, constant): (u8, u8, u8, u32)) {
        let thread = format!("main.{number}");
        let last = self.last.get(&number).copied();
        match (op, last) {
            (0 | 1, _) => {
                self.read(&thread, number, cell);
            }
            (2, _) | (3, None) => {
                self.memory.insert(cell, constant);
                self.line(&thread, &format!("W v{cell} = {constant}"));
            }
            (3 | 4, Some((symbol, value))) => {
                self.memory.insert(cell, value + 1);
                self.line(&thread, &format!("W v{cell} = s{symbol} + 1"));
            }
            (5, _) if self.holder.is_none() => {
                self.holder = Some(number);
                self.line(&thread, "lock m");
            }
            (6, _) if self.holder == Some(number) => self.unlock(),
            (7, Some((symbol, value))) => {
                let condition = match constant {
                    0 => format!("assume s{symbol} == {value}"),
                    _ => format!("assume s{symbol} <= {}", value + 1),
                };
                self.line(&thread, &condition);
            }
            _ => {}
        }
    }

    fn unlock(&mut self) {
        if let Some(number) = self.holder.take() {
            self.line(&format!("main.{number}"), "unlock m");
        }
    }

    fn check(&mut self, thread: &str, number: u8, cell: u8) {
        let (symbol, value) = self.read(thread, number, cell);
        self.line(thread, &format!("bug s{symbol} == {value}"));
    }
}

fn text(steps: &[(u8, u8, u8, u32)], main_checks: bool, checked: u8) -> String {
    let mut writer = Writer::default();
    writer.line("main", "fork main.1");
    writer.line("main", "fork main.2");
    for &step in steps {
        writer.step(step);
    }
    if main_checks {
        writer.unlock();
        for child in ["main.1", "main.2"] {
            writer.line(child, "end");
        }
        writer.line("main", "join main.1");
        writer.line("main", "join main.2");
        writer.check("main", 0, checked);
    } else {
        let holder = writer.holder;
        writer.check("main.1", 1, checked);
        if let Some(number) = holder {
            writer.text += &format!("main.{number} release m\n");
        }
    }
    writer.text
}

/// All orders that do not fail: complete ones, and those without the steps behind a departure after the
/// check.
pub(crate) fn passing_orders(trace: &SymbolicTrace) -> Vec<Vec<StepId>> {
    let mut all = Vec::new();
    let state = BruteState {
        next: vec![0; trace.threads.len()],
        memory: trace.cells.iter().map(|cell| cell.initial).collect(),
        symbols: BTreeMap::new(),
        holder: BTreeMap::new(),
        gone: BTreeSet::new(),
        passed: false,
        order: Vec::new(),
    };
    explore(trace, state, &mut all);
    all
}

#[derive(Clone)]
struct BruteState {
    next: Vec<usize>,
    memory: Vec<Option<u128>>,
    symbols: BTreeMap<SymbolId, u128>,
    holder: BTreeMap<LocationId, ThreadId>,
    gone: BTreeSet<ThreadId>,
    passed: bool,
    order: Vec<StepId>,
}

fn explore(trace: &SymbolicTrace, state: BruteState, all: &mut Vec<Vec<StepId>>) {
    let mut any = false;
    let mut is_complete = true;
    for thread in (0..trace.threads.len() as u16).map(ThreadId) {
        let at = state.next[thread.index()];
        if state.gone.contains(&thread) || at == trace.threads[thread.index()].steps.len() {
            continue;
        }
        is_complete = false;
        if let Some(next) = take(trace, &state, thread, at) {
            any = true;
            explore(trace, next, all);
        }
    }
    let ended = is_complete || (!any && !state.gone.is_empty());
    if ended && state.passed {
        all.push(state.order);
    }
}

/// The state after the step; none when the step cannot happen, or fails.
fn take(
    trace: &SymbolicTrace,
    state: &BruteState,
    thread: ThreadId,
    at: usize,
) -> Option<BruteState> {
    let mut next = state.clone();
    let id = StepId {
        thread,
        index: at as u32,
    };
    let fork = trace.steps().find(|(_, step)| {
        matches!(step.action, Action::Sync { kind: EventKind::Fork, value, .. } if value == u64::from(thread.0))
    });
    if fork.is_some_and(|(fork, _)| next.next[fork.thread.index()] <= fork.index as usize) {
        return None;
    }
    next.next[thread.index()] += 1;
    next.order.push(id);
    let value = |of, state: &BruteState| {
        let symbol = |id: SymbolId| state.symbols.get(&id).copied();
        trace.exprs.value(of, &mut Values::new(), &symbol).unwrap()
    };
    match trace.threads[thread.index()].steps[at].action {
        Action::Read { cell, symbol } => {
            assert_eq!(trace.symbols[symbol.index()].origin, SymbolOrigin::Read(id));
            next.symbols
                .insert(symbol, state.memory[cell.index()].unwrap());
        }
        Action::Write { cell, value: of } => next.memory[cell.index()] = Some(value(of, state)),
        Action::Assume(condition) => {
            let is_bug = matches!(trace.bug, Bug::Condition { step, .. } if step == id);
            match (is_bug, value(condition, state)) {
                (true, 0) => next.passed = true,
                (true, _) => return None,
                (false, 1) => {}
                (false, _) if state.passed => {
                    next = state.clone();
                    next.gone.insert(thread);
                }
                (false, _) => return None,
            }
        }
        Action::Sync {
            kind: EventKind::Lock,
            object,
            ..
        } => {
            if next.holder.insert(object, thread).is_some() {
                return None;
            }
        }
        Action::Sync {
            kind: EventKind::Unlock,
            object,
            ..
        } => {
            next.holder.remove(&object);
        }
        // A thread's later use of a lock that it held at the end is unknown before the check.
        Action::Release { .. } if !state.passed => return None,
        Action::Release { object, .. } => {
            next.holder.remove(&object);
        }
        Action::Sync {
            kind: EventKind::Join,
            value,
            ..
        } => {
            let joined = &trace.threads[value as usize];
            if state.next[value as usize] < joined.steps.len() {
                return None;
            }
        }
        Action::Sync { .. } => {}
    }
    Some(next)
}
