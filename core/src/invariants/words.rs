//! Invariants as sentences: source names, the thread where it matters, one short condition each.

use super::model::{Explanation, Fact, Hazard, Kind, Reach, Statement, VarKind};
use crate::symbolic::{Binary, Compare, ExprId, Node, SymbolId};
use unsnarl_trace::ThreadId;

impl Explanation {
    /// The conjunct as a person reads it: `main.2: bal <= 300`, `after main.1 stored balance at line 74`.
    pub fn say(&self, fact: &Fact) -> String {
        match fact {
            Fact::Value(id) => self.say_value(*id),
            Fact::Order {
                before,
                after,
                hazard,
            } => self.say_order((*before, *after), *hazard),
        }
    }

    /// The conjuncts that begin to hold at a position.
    pub fn begins_at(&self, position: usize) -> impl Iterator<Item = &Reach> {
        self.invariants
            .iter()
            .filter(move |reach| reach.from == position)
    }

    /// The recorded values of the versions in a conjunct, by name.
    pub fn values(&self, fact: &Fact) -> Vec<(String, u128)> {
        let Fact::Value(id) = fact else {
            return Vec::new();
        };
        let symbols = self.exprs.symbols(*id);
        let values = symbols.into_iter().filter_map(|symbol| {
            let var = self.vars.get(symbol.index())?;
            (var.kind != VarKind::Taken).then_some(())?;
            Some((self.name(symbol), var.recorded?))
        });
        values.collect()
    }

    /// The thread whose variables the conjunct is about, if it is about one thread's.
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

    fn say_value(&self, id: ExprId) -> String {
        if let Some(text) = self.say_special(id) {
            return text;
        }
        let text = self.show(id);
        match self.thread_of(&Fact::Value(id)) {
            Some(thread) => format!("{}: {text}", self.thread(thread)),
            None => text,
        }
    }

    /// An expression over the source's names.
    pub fn show(&self, id: ExprId) -> String {
        // A range that ends near its type's smallest number only says that nothing overflows.
        if let Node::Binary(Binary::And, least, most) = self.exprs.node(id)
            && let Node::Compare(Compare::Sle, low, version) = self.exprs.node(least)
            && let Node::Compare(Compare::Sle, same, high) = self.exprs.node(most)
            && version == same
        {
            return match (self.is_far(low), self.is_far(high)) {
                (true, _) => self.show(most),
                (_, true) => self.show(least),
                _ => format!("{} <= {}", self.show(low), self.show(most)),
            };
        }
        let address = |bits: u128| {
            let bits = u64::try_from(bits).ok()?;
            let behind = self.objects.partition_point(|object| object.base <= bits);
            let object = self.objects.get(behind.checked_sub(1)?)?;
            let offset = bits - object.base;
            let is_within = offset <= object.size.max(1 << 16);
            is_within.then(|| match offset {
                0 => format!("&{}", object.name),
                _ => format!("&{} + {offset}", object.name),
            })
        };
        self.exprs.show(id, &|symbol| self.name(symbol), &address)
    }

    /// A number that only what overflows comes near.
    fn is_far(&self, id: ExprId) -> bool {
        let width = self.exprs.width(id);
        let signed = self.exprs.constant(id).map(|bits| match width {
            32 => i64::from(bits as u32 as i32),
            _ => bits as u64 as i64,
        });
        let far = match width {
            32 => 1 << 28,
            64 => 1 << 60,
            _ => return false,
        };
        signed.is_some_and(|number| number.unsigned_abs() >= far)
    }

    /// Locks, freed blocks and branches are no arithmetic.
    fn say_special(&self, id: ExprId) -> Option<String> {
        let (symbol, is_so) = match self.exprs.node(id) {
            Node::Symbol(symbol) => (symbol, None),
            Node::Compare(Compare::Eq, a, b) => match self.exprs.node(a) {
                Node::Symbol(symbol) => (symbol, self.exprs.constant(b)),
                _ => return None,
            },
            _ => return None,
        };
        let var = self.vars.get(symbol.index())?;
        match (var.kind, is_so) {
            (VarKind::Lock, Some(0)) => Some(format!("{} is free", var.name)),
            (VarKind::Lock, Some(holder)) => {
                let holder = u16::try_from(holder.saturating_sub(1)).ok()?;
                Some(format!(
                    "{} is held by {}",
                    var.name,
                    self.thread(ThreadId(holder))
                ))
            }
            (VarKind::Freed, None) => Some(format!("{} is freed", var.name)),
            (VarKind::Taken, None) => self.say_taken(var.made_by?),
            _ => None,
        }
    }

    /// Why a branch was taken: `main.2 had bal >= 50 at line 52`.
    fn say_taken(&self, row: usize) -> Option<String> {
        let statement = self.statements.get(row)?;
        let thread = self.thread(statement.thread);
        let line = statement.place.line;
        if statement.kind == Kind::Lock {
            return Some(format!("{thread} took {} at line {line}", statement.name));
        }
        let condition = self.show(statement.condition?);
        Some(format!("{thread} had {condition} at line {line}"))
    }

    fn say_order(&self, (before, after): (usize, usize), hazard: Hazard) -> String {
        let (Some(first), Some(then)) = (self.statements.get(before), self.statements.get(after))
        else {
            return String::new();
        };
        let (a, b) = (self.thread(first.thread), self.thread(then.thread));
        let (name, early, late) = (&first.name, first.place.line, then.place.line);
        match hazard {
            Hazard::Waw => {
                format!("{b} overwrote {name} at line {late} after {a} stored it at line {early}")
            }
            Hazard::War => {
                format!("{b} stored {name} at line {late} after {a} read it at line {early}")
            }
        }
    }

    /// The source's name of a version; with the place where it was read or set when the variable holds another by
    /// then.
    fn name(&self, symbol: SymbolId) -> String {
        let Some(var) = self.vars.get(symbol.index()) else {
            return "?".into();
        };
        let row = var.made_by.and_then(|row| self.statements.get(row));
        match (var.kind, row) {
            (VarKind::Read, Some(read)) => {
                format!("{} read at line {}", var.name, read.place.line)
            }
            (VarKind::Taken, Some(_)) => self
                .say_taken(var.made_by.unwrap_or_default())
                .unwrap_or_default(),
            _ => var.name.clone(),
        }
    }

    /// What a statement did, with its value: `main.2 read balance = 300`.
    pub fn did(&self, row: usize) -> String {
        let Some(statement) = self.statements.get(row) else {
            return String::new();
        };
        let thread = self.thread(statement.thread);
        let name = &statement.name;
        let value = self.value_of(statement);
        match statement.kind {
            Kind::Read => format!("{thread} read {name}{value}"),
            Kind::Write => format!("{thread} stored {name}{value}"),
            Kind::Assign => format!("{thread} set {name}{value}"),
            Kind::Branch => match statement.condition {
                Some(condition) => format!("{thread} went on with {}", self.show(condition)),
                None => format!("{thread} went on"),
            },
            Kind::Lock => format!("{thread} took {name}"),
            Kind::Unlock => format!("{thread} gave {name} back"),
            Kind::Free => format!("{thread} freed {name}"),
            Kind::Sync(kind) => format!("{thread}: {} {name}", kind.name()),
            Kind::Failure => match statement.condition {
                Some(condition) => format!("{thread} failed: {}", self.show(condition)),
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

    /// A recorded value as a person writes it.
    pub fn number(&self, bits: u128, width: u8) -> String {
        let mut exprs = crate::symbolic::Exprs::default();
        let id = exprs.number(bits, width);
        exprs.show(id, &|_| String::new(), &|bits| {
            let bits = u64::try_from(bits).ok()?;
            let object = self.objects.iter().find(|object| object.base == bits)?;
            Some(format!("&{}", object.name))
        })
    }
}
