//! Follows all paths through statements and keeps a mutex held on each of them until it ends or leaves.
//!
//! The walk tracks the state before the edit (`was`: held here) and after it (`is`: held here). Where the two
//! differ at an exit, the mutex is released there.

use super::{
    EditRefusal,
    change::{self, Change},
    locks::{LockOperation, Mutex},
    source::{ParsedSource, bodies, children, descendants, is_label, lines, statements},
    watch::FileFunctions,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use tree_sitter::Node;

/// State of the mutex at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutexState {
    /// `true` if it was held in the original text.
    pub was: bool,
    /// `true` if it is held in the edited text.
    pub is: bool,
}

impl MutexState {
    const FREE: MutexState = MutexState {
        was: false,
        is: false,
    };
}

/// The walk through one range of statements.
pub struct FlowWalk<'s> {
    /// The file.
    pub source: &'s ParsedSource,
    /// The mutex to hold.
    pub mutex: &'s Mutex,
    /// Checks for operations that must not happen while it is held.
    pub watch: &'s FileFunctions<'s>,
    /// Bytes of the statements: a jump out of them is an exit.
    pub bytes: Range<usize>,
    /// Lines that should be atomic: their return values are computed before the mutex is released.
    pub region: std::ops::RangeInclusive<u32>,
    /// Return type of the function.
    pub returns: Option<String>,
    /// Releases it on ways out that leave with it held, too.
    pub releases: bool,
    /// State of the mutex at the labels that are still ahead and jumped to.
    pub ahead: BTreeMap<&'s str, MutexState>,
    /// Labels to which no jump may bring the mutex held, as where others come there without it.
    pub free_at: BTreeSet<&'s str>,
    /// The label at which the walk has ended because it is held on one way there and not on another.
    pub parted_at: Option<&'s str>,
    /// Changes so far.
    pub changes: Vec<Change>,
}

impl<'s> FlowWalk<'s> {
    /// Follows the statements of the range one after the other; `None` when no path reaches the end.
    ///
    /// # Errors
    /// A statement that is not followed, or a lock that is held on one way to a place and not on another.
    pub fn follow(
        &mut self,
        list: &[Node<'s>],
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        let end = self.list(list, held)?;
        match self.ahead.keys().next() {
            Some(label) => Err(format!(
                "the label `{label}` is in a part that is not followed"
            )),
            None => Ok(end),
        }
    }

    fn list(
        &mut self,
        list: &[Node<'s>],
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        let mut held = Some(held);
        for (at, &statement) in list.iter().enumerate() {
            let rest = list.get(at + 1..).unwrap_or(&[]);
            held = match held {
                _ if is_label(statement) => self.label(statement, held)?,
                Some(now) => self.statement(statement, rest, now)?,
                None => None,
            };
        }
        Ok(held)
    }

    /// Joins the paths that go on at a label: those before it and the jumps to it.
    fn label(
        &mut self,
        node: Node<'s>,
        held: Option<MutexState>,
    ) -> Result<Option<MutexState>, EditRefusal> {
        let (line, name) = (*lines(node).start(), self.source.str(node));
        let jumps = self.source.function(line).map(descendants);
        let mut jumps = jumps.unwrap_or_default().into_iter();
        let is_from_outside =
            |jump: Node<'_>| self.jumps_to(jump, name) && !self.bytes.contains(&jump.start_byte());
        if jumps.any(is_from_outside) {
            return Err(format!("line {line} has a label that can be jumped to"));
        }
        let jumped = self.ahead.remove(name);
        self.at_label(node, vec![held, jumped])
    }

    fn at_label(
        &mut self,
        label: Node<'s>,
        ways: Vec<Option<MutexState>>,
    ) -> Result<Option<MutexState>, EditRefusal> {
        let joined = self.joined(label, ways);
        if joined.is_err() {
            self.parted_at = Some(self.source.str(label));
        }
        joined
    }

    fn jumps_to(&self, node: Node<'_>, name: &str) -> bool {
        let label = node.child_by_field_name("label");
        node.kind() == "goto_statement" && label.is_some_and(|label| self.source.str(label) == name)
    }

    /// Keeps the state of a jump for its label, which must be ahead.
    fn jump(
        &mut self,
        node: Node<'s>,
        label: Node<'s>,
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        if label.start_byte() < node.start_byte() {
            let line = *lines(node).start();
            return Err(format!("line {line} jumps back to a label within"));
        }
        let name = self.source.str(label);
        let forgets = self.free_at.contains(name) && held.was;
        if forgets {
            self.before(node, &self.mutex.unlock(self.source));
        }
        let held = match forgets {
            true => MutexState::FREE,
            false => held,
        };
        let known = self.ahead.insert(name, held);
        self.at_label(label, vec![known, Some(held)])?;
        Ok(None)
    }

    fn statement(
        &mut self,
        node: Node<'s>,
        rest: &[Node<'s>],
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        if let Some(operation) = self.mutex.operation(self.source, node) {
            return self.operation(node, operation, rest, held).map(Some);
        }
        let line = *lines(node).start();
        match node.kind() {
            "expression_statement" | "declaration" | "type_definition" | "using_declaration" => {
                let throws = children(node)
                    .first()
                    .is_some_and(|it| it.kind() == "throw_expression");
                self.watch.refuses(node, self.is_new(held))?;
                if throws {
                    self.leave(node, held)
                } else {
                    Ok(Some(held))
                }
            }
            "compound_statement" => self.list(&statements(node), held),
            "if_statement" => self.condition(node, held),
            "while_statement" | "for_statement" | "do_statement" | "for_range_loop" => {
                self.repeat(node, held)
            }
            "switch_statement" => self.switch(node, held),
            "return_statement" | "throw_statement" => self.leave(node, held),
            "break_statement" | "continue_statement" => match self.stays(node) {
                true => self.as_at_begin(node, held),
                false => self.leave(node, held),
            },
            "goto_statement" => match self.label_inside(node) {
                Some(label) => self.jump(node, label, held),
                None => self.leave(node, held),
            },
            "ERROR" => Err(format!("the syntax of line {line} is not understood")),
            kind if kind.starts_with("preproc") => {
                Err(format!("line {line} has preprocessor conditions within"))
            }
            kind => Err(format!(
                "line {line} is a {}, which is not followed",
                kind.replace('_', " ")
            )),
        }
    }

    /// Returns whether the mutex is held only in the edited text: a wait here would keep other threads out.
    fn is_new(&self, held: MutexState) -> bool {
        held.is && !held.was
    }

    fn operation(
        &mut self,
        node: Node<'s>,
        what: LockOperation,
        rest: &[Node<'s>],
        held: MutexState,
    ) -> Result<MutexState, EditRefusal> {
        let line = *lines(node).start();
        match (what, held.was) {
            (LockOperation::Lock, true) => {
                return Err(format!("line {line} takes the lock that is held already"));
            }
            (LockOperation::Unlock, false) => {
                return Err(format!(
                    "line {line} gives back a lock that is not held there"
                ));
            }
            _ => {}
        }
        let was = what == LockOperation::Lock;
        let keeps = match what {
            LockOperation::Lock => !held.is,
            LockOperation::Unlock => self.releases || self.ends_in_exit(rest),
        };
        if !keeps {
            let removed = change::remove_statement(self.source, node);
            self.changes.push(removed);
        }
        Ok(MutexState {
            was,
            is: if keeps { was } else { held.is },
        })
    }

    /// Returns whether these statements leave on every path, without acquiring the lock again, and do nothing before that which
    /// is to be atomic.
    fn ends_in_exit(&self, rest: &[Node<'s>]) -> bool {
        let again = |node: &Node<'s>| {
            let mut inner = descendants(*node).into_iter();
            inner.any(|node| self.mutex.operation(self.source, node) == Some(LockOperation::Lock))
        };
        let Some(last) = rest.last() else {
            return false;
        };
        let leaves = match last.kind() {
            "return_statement" | "throw_statement" => true,
            "break_statement" | "continue_statement" => !self.stays(*last),
            "goto_statement" => self.label_inside(*last).is_none(),
            _ => false,
        };
        let is_wanted = |node: &Node<'s>| {
            let value = children(*node).first().copied();
            let is_plain = value.is_none_or(is_simple);
            self.region.contains(lines(*node).start()) && !is_plain
        };
        leaves && !rest.iter().any(again) && !rest.iter().any(is_wanted)
    }

    fn condition(
        &mut self,
        node: Node<'s>,
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        self.head(node, held)?;
        let mut ends = Vec::new();
        for body in bodies(node) {
            ends.push(self.list(&statements(body), held)?);
        }
        if node.child_by_field_name("alternative").is_none() {
            ends.push(Some(held));
        }
        self.joined(node, ends)
    }

    /// Joins the paths that meet here, which must agree.
    fn joined(
        &self,
        node: Node<'s>,
        ends: Vec<Option<MutexState>>,
    ) -> Result<Option<MutexState>, EditRefusal> {
        let mut through = ends.into_iter().flatten();
        let Some(first) = through.next() else {
            return Ok(None);
        };
        match through.all(|end| end == first) {
            true => Ok(Some(first)),
            false => Err(format!(
                "after line {} the lock is held on one way and not on another",
                lines(node).end()
            )),
        }
    }

    fn repeat(
        &mut self,
        node: Node<'s>,
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        self.head(node, held)?;
        if self.is_new(held) {
            self.watch.spin(node)?;
        }
        for body in bodies(node) {
            let end = self.list(&statements(body), held)?;
            self.joined(node, vec![Some(held), end])?;
        }
        Ok(Some(held))
    }

    fn switch(
        &mut self,
        node: Node<'s>,
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        self.head(node, held)?;
        let mut ends = vec![Some(held)];
        for case in bodies(node) {
            ends.push(self.list(&statements(case), held)?);
        }
        self.joined(node, ends)
    }

    /// Checks the expressions that a condition or a loop evaluates before its bodies.
    fn head(&self, node: Node<'s>, held: MutexState) -> Result<(), EditRefusal> {
        let inner = bodies(node);
        let is_body = |part: &Node<'s>| {
            inner.iter().any(|body| {
                part.byte_range().end >= body.end_byte() && part.start_byte() <= body.start_byte()
            })
        };
        let parts = children(node).into_iter().filter(|part| !is_body(part));
        for part in parts {
            if part.kind() != "else_clause" {
                self.watch.refuses(part, self.is_new(held))?;
            }
        }
        Ok(())
    }

    /// Checks that a jump to the end or the beginning of a loop has the state of the loop's beginning.
    fn as_at_begin(
        &self,
        node: Node<'s>,
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        match held.was == held.is || !held.was {
            true => Ok(None),
            false => Err(format!(
                "line {} leaves a loop in another state",
                lines(node).start()
            )),
        }
    }

    /// Returns whether `break` or `continue` stays within the range.
    fn stays(&self, node: Node<'s>) -> bool {
        let ends: &[&str] = match node.kind() {
            "break_statement" => &[
                "while_statement",
                "for_statement",
                "do_statement",
                "for_range_loop",
                "switch_statement",
            ],
            _ => &[
                "while_statement",
                "for_statement",
                "do_statement",
                "for_range_loop",
            ],
        };
        let mut around = node.parent();
        while let Some(node) = around {
            if ends.contains(&node.kind()) {
                return self.bytes.start <= node.start_byte() && node.end_byte() <= self.bytes.end;
            }
            around = node.parent();
        }
        false
    }

    /// The label in the range to which a statement jumps.
    fn label_inside(&self, goto: Node<'s>) -> Option<Node<'s>> {
        let name = self.source.str(goto.child_by_field_name("label")?);
        let function = self.source.function(*lines(goto).start())?;
        descendants(function).into_iter().find(|node| {
            let is_it = is_label(*node) && self.source.str(*node) == name;
            let is_own = node
                .parent()
                .is_some_and(|around| around.kind() == "labeled_statement");
            is_it && is_own && self.bytes.contains(&node.start_byte())
        })
    }

    /// A statement that leaves the range.
    fn leave(
        &mut self,
        node: Node<'s>,
        held: MutexState,
    ) -> Result<Option<MutexState>, EditRefusal> {
        self.watch.refuses(node, self.is_new(held))?;
        let forgets = self.releases && held.was;
        if held.is == held.was && !forgets {
            return Ok(None);
        }
        if held.was && !forgets {
            return Err(format!(
                "line {} leaves with the lock held",
                lines(node).start()
            ));
        }
        let value = children(node)
            .first()
            .copied()
            .filter(|_| node.kind() == "return_statement");
        let reads =
            value.filter(|value| !is_simple(*value) && self.region.contains(lines(node).start()));
        match reads {
            Some(value) => self.return_later(node, value)?,
            None => self.before(node, &self.mutex.unlock(self.source)),
        }
        Ok(None)
    }

    /// Turns `return balance;` into `long result = balance; unlock; return result;`.
    fn return_later(&mut self, node: Node<'s>, value: Node<'s>) -> Result<(), EditRefusal> {
        let line = *lines(node).start();
        let Some(kind) = self.returns.clone() else {
            return Err(format!(
                "what line {line} returns has a type that cannot be written here"
            ));
        };
        let name = ["result", "returned", "outcome"]
            .into_iter()
            .find(|name| !self.source.text().contains(name));
        let name = name.ok_or_else(|| format!("no name is free for what line {line} returns"))?;
        let gap = if kind.ends_with('*') { "" } else { " " };
        let first = format!("{kind}{gap}{name} = {};", self.source.str(value));
        let indent = self.inner_indent(node);
        self.before(
            node,
            &format!("{first}\n{indent}{}", self.mutex.unlock(self.source)),
        );
        self.changes.push(Change {
            start: value.start_byte(),
            end: value.end_byte(),
            text: name.to_owned(),
        });
        Ok(())
    }

    fn inner_indent(&self, node: Node<'s>) -> String {
        let own = self.source.indent(node.start_byte());
        let line = self.source.line_start(node.start_byte());
        match self.source.slice(line, node.start_byte()).trim().is_empty() {
            true => own.to_owned(),
            false => format!("{own}{}", self.source.unit()),
        }
    }

    /// Inserts a statement before another one, in new braces where there are none.
    fn before(&mut self, node: Node<'s>, statement: &str) {
        let parent = node.parent().map_or("", |parent| parent.kind());
        if matches!(
            parent,
            "compound_statement" | "case_statement" | "labeled_statement"
        ) {
            self.changes.push(change::line_before(
                self.source,
                node.start_byte(),
                statement,
            ));
            return;
        }
        let (begin, inner) = (
            self.source.slice(0, node.start_byte()).trim_end().len(),
            self.inner_indent(node),
        );
        self.changes.push(Change {
            start: begin,
            end: node.start_byte(),
            text: format!(" {{\n{inner}{statement}\n{inner}"),
        });
        let outer = self.source.indent(begin).to_owned();
        self.changes
            .push(Change::insert(node.end_byte(), format!("\n{outer}}}")));
    }
}

/// Returns whether a value does not depend on the guarded data: a number, a constant, a variable.
fn is_simple(value: Node<'_>) -> bool {
    let simple = [
        "number_literal",
        "identifier",
        "true",
        "false",
        "null",
        "string_literal",
        "char_literal",
        "nullptr",
    ];
    match value.kind() {
        "unary_expression" | "parenthesized_expression" => {
            children(value).into_iter().all(is_simple)
        }
        kind => simple.contains(&kind),
    }
}
