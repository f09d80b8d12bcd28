//! Invariants as sentences: source names, the thread where it matters, one short condition each.

use super::model::{Fact, Hazard, Kind, PathExplanation, Reach, Statement, Var, VarKind};
use crate::{Binary, Comparison, ExprId, ExprNode, SymbolId, Unary};
use std::collections::BTreeSet;
use unsnarl_trace::ThreadId;

impl PathExplanation {
    /// The conjunct as a sentence: `main.2: bal <= 300`, `main.1 stored balance at line 74 after ...`.
    /// Versions whose variable has been overwritten by the end of `reach` are distinguished.
    pub fn say(&self, reach: &Reach) -> String {
        let said = Said::at(self, reach.to);
        match reach.fact {
            Fact::Value(id) => said.value(id),
            Fact::Order {
                before,
                after,
                hazard,
            } => said.order((before, after), hazard),
            Fact::Untouched { since, until } => said.untouched(since, until),
        }
    }

    /// The conjuncts that begin to hold at a position.
    pub fn begins_at(&self, position: usize) -> impl Iterator<Item = &Reach> {
        self.invariants
            .iter()
            .filter(move |reach| reach.from == position)
    }

    /// The recorded values of the versions in a conjunct: `available is 300`. Empty where the sentence states
    /// them itself.
    pub fn values(&self, reach: &Reach) -> Vec<String> {
        let Fact::Value(id) = reach.fact else {
            return Vec::new();
        };
        let said = Said::at(self, reach.to);
        if said.special(id).is_some() || self.equation(id).is_some() {
            return Vec::new();
        }
        if said.truth(id).is_some() {
            return Vec::new();
        }
        let verb = match said.earlier(id) {
            Some(_) => "was",
            None => "is",
        };
        let said = Said {
            is_plain: verb == "was",
            ..said
        };
        let mut values: Vec<String> = Vec::new();
        for symbol in self.exprs.symbols(id) {
            let var = self.vars.get(symbol.index());
            let recorded = var.and_then(|var| Some((var.recorded?, var.width)));
            if let Some((bits, width)) = recorded {
                let number = || self.number(bits, width);
                let value = self
                    .value_name(symbol, bits)
                    .map_or_else(number, str::to_owned);
                let value = format!("{} {verb} {value}", said.name(symbol));
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        values
    }

    /// The source's name for a value of a version.
    pub(super) fn value_name(&self, symbol: SymbolId, bits: u128) -> Option<&str> {
        let names = self.vars.get(symbol.index())?.names.as_ref()?;
        let found = names.iter().find(|(value, _)| *value == bits);
        found.map(|(_, name)| name.as_str())
    }

    /// The variable and the number, if the conjunct is an equality of them.
    fn equation(&self, id: ExprId) -> Option<(SymbolId, u128)> {
        let ExprNode::Compare(Comparison::Eq, a, b) = self.exprs.node(id) else {
            return None;
        };
        match self.exprs.node(a) {
            ExprNode::Symbol(symbol) => Some((symbol, self.exprs.constant(b)?)),
            _ => None,
        }
    }

    /// Returns whether the conjunct compares versions that have the same name for people: it would read as if it were about
    /// one variable.
    pub fn is_ambiguous(&self, reach: &Reach) -> bool {
        let Fact::Value(id) = reach.fact else {
            return false;
        };
        let said = Said {
            is_mixed: true,
            ..Said::at(self, reach.to)
        };
        let mut names = BTreeSet::new();
        let symbols = self.exprs.symbols(id);
        !symbols
            .into_iter()
            .all(|symbol| names.insert(said.name(symbol)))
    }

    /// Returns whether the conjunct bounds a value, as it is by then: that a value is just the one that a step has read or
    /// written says no more than the step.
    pub fn is_bound(&self, reach: &Reach) -> bool {
        let Fact::Value(id) = reach.fact else {
            return false;
        };
        let said = Said::at(self, reach.to);
        let symbols = self.exprs.symbols(id);
        let is_now = |symbol: &SymbolId| {
            let var = self.vars.get(symbol.index());
            var.is_some_and(|var| !said.is_overwritten(var))
        };
        self.compares(id) && (symbols.len() == 1 || symbols.iter().all(is_now))
    }

    /// `true` for a comparison by size, and for two that make a range.
    fn compares(&self, id: ExprId) -> bool {
        match self.exprs.node(id) {
            ExprNode::Compare(comparison, ..) => comparison != Comparison::Eq,
            ExprNode::Unary(Unary::Not, of) => self.compares(of),
            ExprNode::Binary(Binary::And, low, high) => self.compares(low) && self.compares(high),
            _ => false,
        }
    }

    /// The thread whose variables the conjunct mentions, if it is only one.
    pub fn thread_of(&self, fact: &Fact) -> Option<ThreadId> {
        let Fact::Value(id) = fact else {
            return None;
        };
        let symbols = self.exprs.symbols(*id);
        let mut threads = symbols
            .into_iter()
            .filter_map(|symbol| self.vars.get(symbol.index())?.thread);
        let first = threads.next()?;
        threads.all(|thread| thread == first).then_some(first)
    }

    fn thread(&self, thread: ThreadId) -> &str {
        self.threads.get(thread.index()).map_or("?", String::as_str)
    }

    /// The action of a statement, with its value: `main.2 read balance = 300`.
    pub fn did(&self, row: usize) -> String {
        let Some(statement) = self.statements.get(row) else {
            return String::new();
        };
        let thread = self.thread(statement.thread);
        let name = &statement.name;
        let value = self.value_of(statement);
        let then = Said::at(self, row);
        match statement.kind {
            Kind::Read => format!("{thread} read {name}{value}"),
            Kind::Write => format!("{thread} stored {name}{value}"),
            Kind::Assign => format!("{thread} set {name}{value}"),
            Kind::Branch => match statement.condition {
                Some(condition) => format!("{thread} went on with {}", then.expression(condition)),
                None => format!("{thread} went on"),
            },
            Kind::Lock => format!("{thread} took {name}"),
            Kind::Unlock => format!("{thread} gave {name} back"),
            Kind::Free => format!("{thread} freed {name}"),
            Kind::Sync(kind) => format!("{thread}: {} {name}", kind.name()),
            Kind::Failure => match statement.condition {
                Some(condition) => format!("{thread} failed: {}", then.expression(condition)),
                None => format!("{thread} failed"),
            },
        }
    }

    fn value_of(&self, statement: &Statement) -> String {
        let width = statement
            .makes
            .and_then(|made| Some(self.vars.get(made.index())?.width));
        match statement.recorded.zip(width) {
            Some((bits, width)) => format!(" = {}", self.number(bits, width)),
            None => String::new(),
        }
    }

    /// Formats a recorded value.
    pub fn number(&self, bits: u128, width: u8) -> String {
        let mut exprs = crate::Exprs::default();
        let id = exprs.number(bits, width);
        exprs.show(id, &|_| String::new(), &|bits| self.address(bits))
    }

    /// `true` for a number that only overflows come near.
    fn is_far(&self, id: ExprId) -> bool {
        let width = self.exprs.width(id);
        let signed = self.exprs.constant(id).map(|bits| match width {
            32 => i64::from(bits as u32 as i32),
            _ => bits as u64 as i64,
        });
        let far = match width {
            32 => 1 << 24,
            64 => 1 << 48,
            _ => return false,
        };
        signed.is_some_and(|number| number.unsigned_abs() >= far)
    }

    /// The object and offset that an address points to.
    fn address(&self, bits: u128) -> Option<String> {
        let bits = u64::try_from(bits).ok()?;
        let behind = self.objects.partition_point(|object| object.base <= bits);
        let object = self.objects.get(behind.checked_sub(1)?)?;
        let offset = bits - object.base;
        let is_within = offset <= object.size.max(1 << 16);
        is_within.then(|| match offset {
            0 => format!("&{}", object.name),
            _ => format!("&{} + {offset}", object.name),
        })
    }
}

/// Sentences about an explanation, at a position of the path.
#[derive(Clone, Copy)]
struct Said<'a> {
    of: &'a PathExplanation,
    until: usize,
    /// `true` if names stand alone, since the sentence says which version it is about.
    is_plain: bool,
    /// `true` if variables of several threads are private, and each is told with its thread.
    is_mixed: bool,
}

impl<'a> Said<'a> {
    fn at(of: &'a PathExplanation, until: usize) -> Said<'a> {
        Said {
            of,
            until,
            is_plain: false,
            is_mixed: false,
        }
    }
}

impl Said<'_> {
    fn value(&self, id: ExprId) -> String {
        if let Some(text) = self.special(id) {
            return text;
        }
        if let Some(read) = self.earlier(id) {
            return self.read(read, id);
        }
        match self.of.thread_of(&Fact::Value(id)) {
            Some(thread) => format!("{}: {}", self.of.thread(thread), self.predicate(id)),
            None => Said {
                is_mixed: true,
                ..*self
            }
            .predicate(id),
        }
    }

    /// The statement that read the only version of a condition, if its variable has been overwritten since.
    fn earlier(&self, id: ExprId) -> Option<&Statement> {
        let (var, made_by) = self.only_read(id)?;
        self.is_overwritten(var).then_some(made_by)
    }

    /// The only version of a condition, if a statement read it.
    fn only_read(&self, id: ExprId) -> Option<(&Var, &Statement)> {
        let symbols = self.of.exprs.symbols(id);
        let [symbol] = symbols.as_slice() else {
            return None;
        };
        let var = self.of.vars.get(symbol.index())?;
        let read = self.of.statements.get(var.made_by?)?;
        (var.kind == VarKind::Read).then_some((var, read))
    }

    /// `main.2 read users == 1 at line 29`.
    fn read(&self, read: &Statement, id: ExprId) -> String {
        let plain = Said {
            is_plain: true,
            ..*self
        };
        let (who, line) = (self.of.thread(read.thread), read.place.line);
        format!("{who} read {} at line {line}", plain.expression(id))
    }

    /// A condition as a sentence: truth values and results of functions are not written as arithmetic.
    fn predicate(&self, id: ExprId) -> String {
        let truth = self
            .truth(id)
            .map(|(symbol, is_so)| (symbol, is_so.to_string()));
        let number = || {
            let (symbol, bits) = self.of.equation(id)?;
            let width = self.of.vars.get(symbol.index())?.width;
            Some((symbol, self.of.number(bits, width)))
        };
        let result = truth.clone().or_else(number).and_then(|(symbol, value)| {
            let name = self.name(symbol);
            let function = name.strip_prefix("result of ")?;
            Some(format!("{function} returned {value}"))
        });
        let truth = || truth.map(|(symbol, is_so)| format!("{} is {is_so}", self.name(symbol)));
        let said = result.or_else(|| self.named(id)).or_else(truth);
        said.unwrap_or_else(|| self.expression(id))
    }

    /// The truth value that code has turned round to look at it: `b` of `(b ^ 1) == 0`, where it was 0 or 1.
    fn turned(&self, id: ExprId) -> Option<SymbolId> {
        let exprs = &self.of.exprs;
        let ExprNode::Compare(Comparison::Eq, turned, zero) = exprs.node(id) else {
            return None;
        };
        let ExprNode::Binary(Binary::Xor, byte, one) = exprs.node(turned) else {
            return None;
        };
        let ExprNode::Symbol(symbol) = exprs.node(byte) else {
            return None;
        };
        let recorded = self.of.vars.get(symbol.index())?.recorded?;
        let numbers = (exprs.constant(one), exprs.constant(zero));
        (recorded <= 1 && numbers == (Some(1), Some(0))).then_some(symbol)
    }

    /// The truth value that a condition consists of, and its sign.
    fn truth(&self, id: ExprId) -> Option<(SymbolId, bool)> {
        let exprs = &self.of.exprs;
        let (of, is_so) = match exprs.node(id) {
            ExprNode::Unary(Unary::Not, of) => (of, false),
            _ => (id, true),
        };
        if let Some(turned) = self.turned(of) {
            return Some((turned, is_so));
        }
        // A truth value in memory has a byte.
        let bit = match exprs.node(of) {
            ExprNode::Unary(Unary::Extract(0), byte) => byte,
            _ => of,
        };
        match exprs.node(bit) {
            ExprNode::Symbol(symbol) if exprs.width(of) == 1 => Some((symbol, is_so)),
            _ => None,
        }
    }

    /// A comparison with a value that has a name: `state == Closed`, `entry != NULL`, `is_open is true`.
    fn named(&self, id: ExprId) -> Option<String> {
        let exprs = &self.of.exprs;
        let (of, is_so) = match exprs.node(id) {
            ExprNode::Unary(Unary::Not, of) => (of, false),
            _ => (id, true),
        };
        let ExprNode::Compare(comparison, a, b) = exprs.node(of) else {
            return None;
        };
        let (symbol, number, is_turned) = match (exprs.node(a), exprs.node(b)) {
            (ExprNode::Symbol(symbol), _) => (symbol, b, false),
            (_, ExprNode::Symbol(symbol)) => (symbol, a, true),
            _ => return None,
        };
        let value = self.of.value_name(symbol, exprs.constant(number)?)?;
        let sign = match (comparison, is_so, is_turned) {
            (Comparison::Eq, true, _) => "==",
            (Comparison::Eq, false, _) => "!=",
            (Comparison::Ule | Comparison::Sle, true, false) => "<=",
            (Comparison::Ule | Comparison::Sle, true, true) => ">=",
            (Comparison::Ult | Comparison::Slt, true, false) => "<",
            (Comparison::Ult | Comparison::Slt, true, true) => ">",
            _ => return None,
        };
        let name = self.name(symbol);
        Some(match (sign, value) {
            ("==", "true") | ("!=", "false") => format!("{name} is true"),
            ("==", "false") | ("!=", "true") => format!("{name} is false"),
            _ => format!("{name} {sign} {value}"),
        })
    }

    fn expression(&self, id: ExprId) -> String {
        if let Some(named) = self.named(id) {
            return named;
        }
        let exprs = &self.of.exprs;
        // A range that ends near its type's smallest number only says that nothing overflows.
        if let ExprNode::Binary(Binary::And, least, most) = exprs.node(id)
            && let ExprNode::Compare(Comparison::Sle, low, version) = exprs.node(least)
            && let ExprNode::Compare(Comparison::Sle, same, high) = exprs.node(most)
            && version == same
        {
            return match (self.of.is_far(low), self.of.is_far(high)) {
                (true, _) => self.expression(most),
                (_, true) => self.expression(least),
                _ => format!("{} <= {}", self.expression(low), self.expression(most)),
            };
        }
        exprs.show(id, &|symbol| self.name(symbol), &|bits| {
            self.of.address(bits)
        })
    }

    /// A sentence for locks, freed blocks and branches, which are not written as arithmetic.
    fn special(&self, id: ExprId) -> Option<String> {
        let (symbol, is_so) = match self.of.exprs.node(id) {
            ExprNode::Symbol(symbol) => (symbol, None),
            _ => {
                let (symbol, bits) = self.of.equation(id)?;
                (symbol, Some(bits))
            }
        };
        let var = self.of.vars.get(symbol.index())?;
        match (var.kind, is_so) {
            (VarKind::Lock, Some(0)) => Some(format!("{} is free", var.name)),
            (VarKind::Lock, Some(holder)) => {
                let holder = ThreadId(u16::try_from(holder.saturating_sub(1)).ok()?);
                Some(format!(
                    "{} is held by {}",
                    var.name,
                    self.of.thread(holder)
                ))
            }
            (VarKind::Freed, None) => Some(format!("{} is freed", var.name)),
            (VarKind::Waiting, None) => {
                let waiter = self.of.thread(var.thread?);
                Some(format!("{waiter} waits for {}", var.name))
            }
            (VarKind::Taken, None) => self.taken(var.made_by?),
            _ => None,
        }
    }

    /// Reason why a branch was taken: `main.2 found bal >= 50 at line 52`.
    fn taken(&self, row: usize) -> Option<String> {
        let statement = self.of.statements.get(row)?;
        let thread = self.of.thread(statement.thread);
        let line = statement.place.line;
        if statement.kind == Kind::Lock {
            return Some(format!("{thread} took {} at line {line}", statement.name));
        }
        // The value then needs no place, since the line is named.
        let then = Said::at(self.of, row);
        let condition = statement.condition?;
        let read = self.only_read(condition).map(|(_, read)| read);
        let is_here =
            |read: &&Statement| read.thread == statement.thread && read.place.line == line;
        if let Some(read) = read
            .filter(is_here)
            .filter(|_| then.earlier(condition).is_some())
        {
            return Some(then.read(read, condition));
        }
        let said = then.predicate(condition);
        let that = match then.truth(condition).is_some() || said.contains(" returned ") {
            true => "that ",
            false => "",
        };
        Some(format!("{thread} found {that}{said} at line {line}"))
    }

    fn order(&self, (before, after): (usize, usize), hazard: Hazard) -> String {
        let statements = &self.of.statements;
        let (Some(first), Some(then)) = (statements.get(before), statements.get(after)) else {
            return String::new();
        };
        let (a, b) = (self.of.thread(first.thread), self.of.thread(then.thread));
        let (name, early, late) = (&first.name, first.place.line, then.place.line);
        match hazard {
            Hazard::Waw => {
                format!("{b} overwrote {name} at line {late} after {a} stored it at line {early}")
            }
            Hazard::War => {
                format!("{b} stored {name} at line {late} after {a} read it at line {early}")
            }
            Hazard::Missed => format!(
                "{b} waited for {name} at line {late} after {a} had signalled it at line {early}, when no thread waited"
            ),
        }
    }

    /// `no thread stored saved before main read it at line 83`.
    fn untouched(&self, since: Option<usize>, until: usize) -> String {
        let statements = &self.of.statements;
        let Some(then) = statements.get(until) else {
            return String::new();
        };
        let line = then.place.line;
        let Some(first) = since.and_then(|since| statements.get(since)) else {
            let (name, who) = (&then.name, self.of.thread(then.thread));
            return format!("no thread stored {name} before {who} read it at line {line}");
        };
        let (name, who, from) = (&first.name, self.of.thread(first.thread), first.place.line);
        match first.kind {
            Kind::Sync(_) => {
                format!("no thread signalled {name} after {who} waited at line {from}")
            }
            _ => format!(
                "no other thread stored {name} after {who} stored it at line {from} and before it read it at line {line}"
            ),
        }
    }

    /// The source's name of a version, with its origin when the variable holds another one by then.
    fn name(&self, symbol: SymbolId) -> String {
        let Some(var) = self.of.vars.get(symbol.index()) else {
            return "?".into();
        };
        let row = var.made_by.and_then(|row| self.of.statements.get(row));
        match (var.kind, row) {
            (VarKind::Taken, Some(_)) => var
                .made_by
                .and_then(|row| self.taken(row))
                .unwrap_or_default(),
            _ if self.is_plain || !self.is_overwritten(var) => self.plain_name(var),
            (VarKind::Read, Some(read)) => {
                let (who, line) = (self.of.thread(read.thread), read.place.line);
                format!("{} as {who} read it at line {line}", var.name)
            }
            (_, Some(made)) => {
                let (who, line) = (self.of.thread(made.thread), made.place.line);
                format!("{} as {who} set it at line {line}", var.name)
            }
            (_, None) => format!("{} at first", var.name),
        }
    }

    /// `count`, or `main.1's count` beside a private variable of another thread.
    fn plain_name(&self, var: &Var) -> String {
        let own = var
            .thread
            .filter(|_| self.is_mixed && var.kind == VarKind::Local);
        match own {
            Some(thread) => format!("{}'s {}", self.of.thread(thread), var.name),
            None => var.name.clone(),
        }
    }

    /// `true` if the variable of a version has been overwritten.
    fn is_overwritten(&self, var: &Var) -> bool {
        let Some(variable) = var.variable else {
            return false;
        };
        let from = var.made_by.map_or(0, |by| by + 1);
        let since = self.of.statements.get(from..self.until).unwrap_or_default();
        // Other functions have variables of the same name.
        let made_by = var.made_by.and_then(|row| self.of.statements.get(row));
        let function = made_by
            .filter(|_| var.kind == VarKind::Local)
            .map(|made| made.place.function.as_str());
        let is_own = |one: &&Statement| function.is_none_or(|own| own == one.place.function);
        since.iter().filter(is_own).any(|statement| {
            let made = statement
                .makes
                .and_then(|made| self.of.vars.get(made.index()));
            made.is_some_and(|made| made.variable == Some(variable) && made.kind != VarKind::Read)
        })
    }
}
