//! Encoding of the path statement by statement.

use super::{EncodedPath, blank, is_helper, recorded};
use crate::{
    Action, Bug, CellId, ExprId, Exprs, NamedValues, PathAction, PathNode, SourcePlace, StepId,
    SymbolId, SymbolOrigin, SymbolicTrace,
    expr::Values,
    invariants::{
        model::{Kind, Statement, Var, VarKind},
        rewrite::Rewrite,
    },
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unsnarl_trace::{EventKind, LocationId, Run, SiteId, ThreadId};

pub(super) struct FormulaBuild<'a> {
    pub trace: &'a SymbolicTrace,
    pub run: &'a Run,
    pub exprs: Exprs,
    pub vars: Vec<Var>,
    variables: Vec<String>,
    rows: BTreeMap<(String, Option<ThreadId>), u32>,
    pub statements: Vec<Statement>,
    rewrite: Rewrite,
    /// The trace's unknowns as expressions of the encoding.
    pub(super) symbols: FxHashMap<SymbolId, ExprId>,
    /// Current versions of the cells.
    pub(super) held: FxHashMap<CellId, ExprId>,
    /// Current versions of the locks.
    pub(super) locks: BTreeMap<LocationId, ExprId>,
    /// Unknowns that say whether a block was freed.
    pub freed: FxHashMap<StepId, SymbolId>,
    /// Per thread: its position in its path, the statements of its nodes, the locks it holds with their
    /// statements.
    pub(super) threads: Vec<EncodingProgress>,
    /// Recorded values of the expressions.
    pub(super) values: Values,
    pub notes: Vec<String>,
    /// The statement of each step.
    pub by_step: FxHashMap<StepId, usize>,
}

#[derive(Clone, Default)]
pub(super) struct EncodingProgress {
    used: usize,
    nodes: Vec<Option<usize>>,
    pub(super) held: Vec<(LocationId, usize)>,
}

impl<'a> FormulaBuild<'a> {
    pub fn new(trace: &'a SymbolicTrace, run: &'a Run) -> FormulaBuild<'a> {
        FormulaBuild {
            trace,
            run,
            exprs: Exprs::default(),
            vars: Vec::new(),
            variables: Vec::new(),
            rows: BTreeMap::new(),
            statements: Vec::new(),
            rewrite: Rewrite::default(),
            symbols: FxHashMap::default(),
            held: FxHashMap::default(),
            locks: BTreeMap::new(),
            freed: FxHashMap::default(),
            threads: vec![EncodingProgress::default(); trace.threads.len()],
            values: Values::new(),
            notes: Vec::new(),
            by_step: FxHashMap::default(),
        }
    }

    pub fn finish(self) -> EncodedPath {
        let mut notes: Vec<String> = self.notes;
        let taken = self.trace.concretized.iter().map(|one| {
            let line = self.run.meta.site(one.site).line;
            format!("{} at line {line}", one.what)
        });
        notes.extend(taken);
        EncodedPath {
            exprs: self.exprs,
            vars: self.vars,
            variables: self.variables,
            threads: self
                .run
                .meta
                .threads
                .iter()
                .map(|row| row.name.clone())
                .collect(),
            objects: self.trace.objects.clone(),
            statements: self.statements,
            is_deadlock: self.trace.bug == Bug::Deadlock,
            taken_as_recorded: notes,
            is_concrete: self
                .trace
                .threads
                .iter()
                .all(|thread| thread.path.is_empty()),
        }
    }

    /// Encodes all steps of the order with the path nodes between them.
    pub fn path(&mut self, order: &[StepId]) {
        for &step in order {
            self.upto(step);
        }
    }

    fn upto(&mut self, step: StepId) {
        let trace = self.trace;
        let Some(thread) = trace.threads.get(step.thread.index()) else {
            return;
        };
        if thread.path.is_empty() {
            let place = self.site_place(trace.step(step).map_or(SiteId(0), |step| step.site));
            self.step(step, None, place, Vec::new());
            return;
        }
        let is_step = |node: &PathNode| matches!(node.what, PathAction::Step { .. });
        let mut has_come = false;
        loop {
            let used = self.threads.get(step.thread.index()).map_or(0, |t| t.used);
            let Some(node) = thread.path.get(used) else {
                return;
            };
            // Nodes that follow the step, before the thread's next one, go with it.
            if has_come && is_step(node) {
                return;
            }
            has_come |= matches!(node.what, PathAction::Step { index, .. } if index == step.index);
            let row = self.node(step.thread, node);
            if let Some(progress) = self.threads.get_mut(step.thread.index()) {
                progress.used += 1;
                progress.nodes.push(row);
            }
        }
    }

    /// Encodes a node; returns its statement, or the guarding branch of a node without one.
    fn node(&mut self, thread: ThreadId, node: &PathNode) -> Option<usize> {
        let guard = self.guard(thread, node.guard);
        let place = self.trace.places.get(node.place as usize);
        let place = place.cloned().unwrap_or_default();
        let guards = self.scopes(thread, guard);
        match node.what {
            PathAction::Step { index, said } => {
                let made = self.step(StepId { thread, index }, said, place, guards);
                made.or(guard)
            }
            PathAction::Branch(condition) => {
                let mut statement = blank(thread, Kind::Branch, place);
                statement.condition = Some(self.import(condition));
                statement.guards = guards;
                Some(self.push(statement))
            }
            PathAction::Assign { local, value } => {
                let row = self.trace.locals.get(local.index())?;
                let variable = self.trace.variables.get(row.variable as usize)?;
                // The reader knows no variable of a library's or of a compiler's: its value stands for it.
                if variable.name.starts_with("__") {
                    let value = self.import(value);
                    self.symbols.insert(local.symbol(), value);
                    return guard;
                }
                let mut statement = blank(thread, Kind::Assign, place);
                statement.name.clone_from(&variable.name);
                statement.recorded = row.recorded;
                statement.value = Some(self.import(value));
                statement.guards = guards;
                let kind = (VarKind::Local, Some(thread));
                let made = self.make(&variable.name.clone(), kind, row.width, row.recorded);
                let names = self.trace.value_names.variables.get(&row.variable);
                self.name_values(made, names);
                let symbol = self.exprs.symbol(made, row.width);
                self.symbols.insert(local.symbol(), symbol);
                statement.makes = Some(made);
                Some(self.push(statement))
            }
        }
    }

    fn guard(&self, thread: ThreadId, guard: Option<u32>) -> Option<usize> {
        let nodes = &self.threads.get(thread.index())?.nodes;
        *nodes.get(guard? as usize)?
    }

    /// The branch and the locks whose scope a statement is in.
    fn scopes(&self, thread: ThreadId, guard: Option<usize>) -> Vec<usize> {
        let held = self.threads.get(thread.index());
        let held = held.into_iter().flat_map(|progress| &progress.held);
        let mut scopes: Vec<usize> = guard.into_iter().chain(held.map(|held| held.1)).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// A step as a statement; `None` for one without an effect.
    fn step(
        &mut self,
        id: StepId,
        said: Option<ExprId>,
        place: SourcePlace,
        guards: Vec<usize>,
    ) -> Option<usize> {
        let trace = self.trace;
        let step = trace.step(id)?;
        let mut statement = blank(id.thread, Kind::Branch, place);
        statement.step = Some(id);
        statement.event = step.event;
        statement.site = step.site;
        statement.guards = guards;
        match step.action {
            Action::Read { cell, symbol } => self.read(&mut statement, cell, symbol)?,
            Action::Write { cell, value } => {
                self.write(&mut statement, cell, said.unwrap_or(value))?;
            }
            Action::Assume(condition) => {
                if trace.exprs.constant(condition).is_some() {
                    return None;
                }
                statement.condition = Some(self.import(said.unwrap_or(condition)));
            }
            Action::Sync {
                kind,
                object,
                value,
            } => {
                match kind {
                    EventKind::Fork | EventKind::Join => {
                        statement.other = u16::try_from(value).ok().map(ThreadId);
                    }
                    // The number of threads that it woke.
                    EventKind::Signal | EventKind::Broadcast => {
                        statement.recorded = Some(value.into());
                    }
                    _ => {}
                }
                self.sync(&mut statement, kind, object);
            }
            Action::Release { .. } => return None,
        }
        let row = self.push(statement);
        self.by_step.insert(id, row);
        if let Action::Sync { kind, object, .. } = step.action
            && let Some(progress) = self.threads.get_mut(id.thread.index())
        {
            match kind {
                EventKind::Lock => progress.held.push((object, row)),
                EventKind::Unlock => progress.held.retain(|(lock, _)| *lock != object),
                _ => {}
            }
        }
        Some(row)
    }

    /// Appends the statement; one that does not fit the run's values is fixed to them.
    pub fn push(&mut self, mut statement: Statement) -> usize {
        let row = self.statements.len();
        if let Some(value) = statement.value {
            let bits = recorded(&self.exprs, &self.vars, value, &mut self.values);
            let made = statement.makes.and_then(|made| self.vars.get(made.index()));
            let wanted = made.and_then(|made| made.recorded);
            if let Some(wanted) = wanted.filter(|wanted| bits != Some(*wanted)) {
                let width = self.exprs.width(value);
                self.note(format!("the value of `{}`", statement.name), &statement);
                statement.value = Some(self.exprs.number(wanted, width));
            }
        }
        if let Some(condition) = statement.condition
            && recorded(&self.exprs, &self.vars, condition, &mut self.values) != Some(1)
        {
            if statement.kind != Kind::Lock {
                self.note("a condition".into(), &statement);
            }
            statement.condition = None;
        }
        if statement.condition.is_some() {
            let kind = (VarKind::Taken, Some(statement.thread));
            statement.taken = Some(self.make("", kind, 1, Some(1)));
        }
        for made in [statement.makes, statement.taken].into_iter().flatten() {
            if let Some(var) = self.vars.get_mut(made.index()) {
                var.made_by = Some(row);
            }
        }
        self.statements.push(statement);
        row
    }

    fn note(&mut self, what: String, statement: &Statement) {
        let text = format!("{what} at line {}", statement.place.line);
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// A new version of a variable.
    pub fn make(
        &mut self,
        name: &str,
        (kind, thread): (VarKind, Option<ThreadId>),
        width: u8,
        recorded: Option<u128>,
    ) -> SymbolId {
        let symbol = SymbolId(u32::try_from(self.vars.len()).unwrap_or(u32::MAX));
        let owner = thread.filter(|_| kind == VarKind::Local);
        let variable = (!is_helper(kind)).then(|| self.variable(name, owner));
        self.vars.push(Var {
            name: name.to_owned(),
            thread,
            width,
            recorded,
            kind,
            names: None,
            variable,
            made_by: None,
        });
        symbol
    }

    /// Gives a version the names that the source has for its values.
    pub(super) fn name_values(&mut self, made: SymbolId, names: Option<&NamedValues>) {
        if let Some(var) = self.vars.get_mut(made.index()) {
            var.names = names.cloned();
        }
    }

    fn variable(&mut self, name: &str, thread: Option<ThreadId>) -> u32 {
        let next = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        let row = *self.rows.entry((name.to_owned(), thread)).or_insert(next);
        if row == next {
            self.variables.push(name.to_owned());
        }
        row
    }

    /// Translates an expression of the trace to the current versions.
    pub fn import(&mut self, id: ExprId) -> ExprId {
        let trace = self.trace;
        let mut rewrite = std::mem::take(&mut self.rewrite);
        let mut exprs = std::mem::take(&mut self.exprs);
        let made = rewrite.import(&trace.exprs, &mut exprs, id, &mut |exprs, symbol, width| {
            self.unknown(exprs, symbol, width)
        });
        (self.rewrite, self.exprs) = (rewrite, exprs);
        made
    }

    fn unknown(&mut self, exprs: &mut Exprs, symbol: SymbolId, width: u8) -> ExprId {
        if let Some(&known) = self.symbols.get(&symbol) {
            return known;
        }
        let row = self.trace.symbol(symbol);
        let recorded = row.and_then(|row| row.recorded);
        let made = match recorded {
            Some(bits) => exprs.number(bits, width),
            None => {
                let name = row.map_or("an unknown value", |row| row.name.as_str());
                let thread = row.map(|row| match row.origin {
                    SymbolOrigin::Outside { thread, .. } => thread,
                    SymbolOrigin::Read(step) => step.thread,
                });
                let made = self.make(name, (VarKind::Outside, thread), width, None);
                exprs.symbol(made, width)
            }
        };
        self.symbols.insert(symbol, made);
        made
    }

    pub fn site_place(&self, site: SiteId) -> SourcePlace {
        let row = self.run.meta.site(site);
        SourcePlace {
            file: row.file.clone(),
            line: row.line,
            column: row.column,
            function: row.function.clone(),
        }
    }
}
