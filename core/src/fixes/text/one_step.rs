//! A load and a store of an atomic variable as one atomic step.

use super::{
    EditRefusal,
    change::{Change, remove_statement},
    exchange::asked_and_set,
    locks::{callee, calls, same},
    source::{ParsedSource, children, descendants, lines},
};
use tree_sitter::Node;

/// Operators with the names of the operations that do them in one step.
const OPERATIONS: [(&str, &str); 5] = [
    ("+", "add"),
    ("-", "sub"),
    ("&", "and"),
    ("|", "or"),
    ("^", "xor"),
];

/// Form in which the text names an atomic variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AtomicForm {
    /// `count.` or `p->count.` of `count.load()`.
    Method(String),
    /// `&count` of `atomic_load(&count)`.
    Function(String),
    /// `count`, read and assigned like any other variable.
    Plain(String),
}

impl AtomicForm {
    /// Returns whether both name one variable in one form.
    pub(super) fn is(&self, other: &AtomicForm) -> bool {
        match (self, other) {
            (AtomicForm::Method(a), AtomicForm::Method(b))
            | (AtomicForm::Function(a), AtomicForm::Function(b))
            | (AtomicForm::Plain(a), AtomicForm::Plain(b)) => same(a, b),
            _ => false,
        }
    }

    /// The expression that changes the variable in one step, and has the value from before; of a plain variable
    /// the one from after.
    fn changed(&self, (sign, name): (&str, &str), operand: &str) -> String {
        match self {
            AtomicForm::Method(object) => format!("{object}fetch_{name}({operand})"),
            AtomicForm::Function(address) => format!("atomic_fetch_{name}({address}, {operand})"),
            AtomicForm::Plain(variable) => format!("{variable} {sign}= {operand}"),
        }
    }

    /// The expression that stores `value` if the variable still has the value of `seen`, and loads it there else.
    fn exchanged(&self, seen: &str, value: &str, is_cpp: bool) -> String {
        match self {
            AtomicForm::Method(object) => format!("{object}compare_exchange_weak({seen}, {value})"),
            AtomicForm::Function(address) => {
                format!("atomic_compare_exchange_weak({address}, &{seen}, {value})")
            }
            AtomicForm::Plain(variable) if is_cpp => {
                format!("{variable}.compare_exchange_weak({seen}, {value})")
            }
            AtomicForm::Plain(variable) => {
                format!("atomic_compare_exchange_weak(&{variable}, &{seen}, {value})")
            }
        }
    }
}

/// A store of a value into an atomic variable.
pub(super) struct AtomicStore<'t> {
    pub node: Node<'t>,
    pub form: AtomicForm,
    pub value: Node<'t>,
}

/// Makes one atomic step of the load of line `reads` and the store of line `writes`.
///
/// # Errors
/// An error when the text does not load and store one atomic variable there, or when code between the two uses
/// what was loaded.
pub fn in_one_step(
    source: &ParsedSource,
    reads: u32,
    writes: u32,
) -> Result<Vec<Change>, EditRefusal> {
    let unseen =
        || format!("how line {writes} stores what line {reads} has loaded is not understood");
    let function = source.function(writes).ok_or_else(unseen)?;
    let stores = descendants(function).into_iter();
    let mut stores = stores
        .filter(|node| lines(*node).contains(&writes))
        .filter_map(|node| store(source, node));
    let changes = stores.find_map(|store| {
        changed_at_once(source, &store)
            .or_else(|| changed_later(source, function, &store, reads))
            .or_else(|| asked_and_set(source, &store, reads))
            .or_else(|| checked_and_changed(source, &store, reads))
    });
    changes.ok_or_else(unseen)
}

/// `count.store(count.load() + n)` and `count = count + n`.
fn changed_at_once(source: &ParsedSource, store: &AtomicStore<'_>) -> Option<Vec<Change>> {
    let (sides, operation) = operands(source, store.value)?;
    let is_own = |node: Node<'_>| loaded(source, node).is_some_and(|form| form.is(&store.form));
    let operand = other_than(&sides, operation, is_own)?;
    if descendants(operand).into_iter().any(is_own) {
        return None;
    }
    let text = store.form.changed(operation, source.str(operand));
    Some(vec![replaced(store.node, text)])
}

/// `seen = count.load(); count.store(f(seen));`, the store in an `if` on what was seen, too.
fn changed_later(
    source: &ParsedSource,
    function: Node<'_>,
    store: &AtomicStore<'_>,
    reads: u32,
) -> Option<Vec<Change>> {
    let statement = statement_of(store.node)?;
    let condition = alone_in_if(statement);
    let whole = condition.map_or(statement, |(whole, _)| whole);
    let declared = before(whole).filter(|node| lines(*node).contains(&reads))?;
    let (name, load) = initialized(source, declared)?;
    if !loaded(source, load)?.is(&store.form) || !mentions(source, store, whole, name) {
        return None;
    }
    let is_it = |node: Node<'_>| node.kind() == "identifier" && source.str(node) == name;
    let once = operands(source, store.value).filter(|_| condition.is_none());
    let operand = once.and_then(|(sides, operation)| {
        let operand = other_than(&sides, operation, is_it)?;
        let is_free = !descendants(operand).into_iter().any(is_it);
        is_free.then(|| store.form.changed(operation, source.str(operand)))
    });
    if let Some(text) = operand.filter(|_| !matches!(store.form, AtomicForm::Plain(_))) {
        let uses = descendants(function)
            .into_iter()
            .filter(|node| is_it(*node));
        let later = uses.filter(|node| node.start_byte() >= whole.end_byte());
        let first = match later.count() {
            0 => replaced(declared, format!("{text};")),
            _ => replaced(load, text),
        };
        return Some(vec![first, remove_statement(source, statement)]);
    }
    let is_fixed = source
        .str(declared)
        .split_whitespace()
        .any(|word| word == "const");
    if is_fixed {
        return None;
    }
    let exchanged = store
        .form
        .exchanged(name, source.str(store.value), source.is_cpp());
    let check = condition.map_or(String::new(), |(_, node)| {
        format!("{} && ", source.str(node))
    });
    Some(vec![replaced(
        whole,
        format!(
            "while ({check}!{exchanged}) {{\n{}}}",
            source.indent(whole.start_byte())
        ),
    )])
}

/// `seen = count.load(); if (seen < n) return; count.store(f(seen));`: the checks are made again until nobody has come between.
fn checked_and_changed(
    source: &ParsedSource,
    store: &AtomicStore<'_>,
    reads: u32,
) -> Option<Vec<Change>> {
    let statement = statement_of(store.node)?;
    let siblings = std::iter::successors(statement.prev_named_sibling(), Node::prev_named_sibling);
    let mut before = siblings.filter(|node| node.kind() != "comment");
    let checks: Vec<Node<'_>> = before
        .by_ref()
        .take_while(|node| only_leaves(*node))
        .collect();
    let (last, first) = (checks.first()?, checks.last()?);
    let mut declared = std::iter::successors(first.prev_named_sibling(), Node::prev_named_sibling);
    let declared = declared.find(|node| node.kind() != "comment")?;
    let is_read = declared.kind() == "declaration" && lines(declared).contains(&reads);
    let (name, load) = initialized(source, declared).filter(|_| is_read)?;
    let is_fixed = source
        .str(declared)
        .split_whitespace()
        .any(|word| word == "const");
    if is_fixed || !loaded(source, load)?.is(&store.form) || !mentions(source, store, *first, name)
    {
        return None;
    }
    let indent = source.indent(statement.start_byte());
    let unit = if indent.contains('\t') { "\t" } else { "    " };
    let checked = source.slice(first.start_byte(), last.end_byte());
    let checked = checked.replace('\n', &format!("\n{unit}"));
    let exchanged = store
        .form
        .exchanged(name, source.str(store.value), source.is_cpp());
    Some(vec![
        Change {
            start: first.start_byte(),
            end: last.end_byte(),
            text: format!("do {{\n{indent}{unit}{checked}"),
        },
        replaced(statement, format!("}} while (!{exchanged});")),
    ])
}

/// Returns whether this is an `if` that does nothing but leave the function in the end.
fn only_leaves(node: Node<'_>) -> bool {
    let is_if = node.kind() == "if_statement" && node.child_by_field_name("alternative").is_none();
    let done = node.child_by_field_name("consequence").filter(|_| is_if);
    let last = done.and_then(|done| match done.kind() {
        "compound_statement" => children(done).last().copied(),
        _ => Some(done),
    });
    last.is_some_and(|last| matches!(last.kind(), "return_statement" | "throw_statement"))
}

pub(super) fn replaced(node: Node<'_>, text: String) -> Change {
    Change {
        start: node.start_byte(),
        end: node.end_byte(),
        text,
    }
}

/// Returns whether the value, or the statement around it, uses the variable of this name.
fn mentions(source: &ParsedSource, store: &AtomicStore<'_>, whole: Node<'_>, name: &str) -> bool {
    let is_it = |node: &Node<'_>| node.kind() == "identifier" && source.str(*node) == name;
    let within = descendants(store.value)
        .into_iter()
        .chain(descendants(whole));
    within.into_iter().any(|node| is_it(&node))
}

/// The operands of `a + b`, with the operation.
fn operands<'t>(
    source: &ParsedSource,
    value: Node<'t>,
) -> Option<([Node<'t>; 2], (&'static str, &'static str))> {
    if value.kind() == "parenthesized_expression" {
        return operands(source, *children(value).first()?);
    }
    let is_binary = value.kind() == "binary_expression";
    let sign = value
        .child_by_field_name("operator")
        .filter(|_| is_binary)?;
    let operation = OPERATIONS
        .iter()
        .find(|(own, _)| *own == source.str(sign))?;
    let side = |name| value.child_by_field_name(name);
    Some(([side("left")?, side("right")?], *operation))
}

/// The operand that is not the variable itself.
fn other_than<'t>(
    [left, right]: &[Node<'t>; 2],
    (sign, _): (&str, &str),
    is_own: impl Fn(Node<'_>) -> bool,
) -> Option<Node<'t>> {
    match (is_own(*left), is_own(*right)) {
        (true, false) => Some(*right),
        (false, true) if sign != "-" => Some(*left),
        _ => None,
    }
}

/// The statement that an expression is.
pub(super) fn statement_of(node: Node<'_>) -> Option<Node<'_>> {
    node.parent()
        .filter(|node| node.kind() == "expression_statement")
}

/// The `if` of which the statement is all that it does, with its condition in parentheses.
fn alone_in_if(statement: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let parent = statement.parent()?;
    let around = match parent.kind() {
        "compound_statement" if children(parent).len() == 1 => parent.parent()?,
        _ => parent,
    };
    let is_if =
        around.kind() == "if_statement" && around.child_by_field_name("alternative").is_none();
    let condition = around.child_by_field_name("condition").filter(|_| is_if)?;
    Some((around, condition))
}

/// The statement right before another one of the same block.
fn before(statement: Node<'_>) -> Option<Node<'_>> {
    let mut before = statement.prev_named_sibling()?;
    while before.kind() == "comment" {
        before = before.prev_named_sibling()?;
    }
    (before.kind() == "declaration").then_some(before)
}

/// The name and the value of a declaration of one variable.
fn initialized<'s, 't>(
    source: &'s ParsedSource,
    declaration: Node<'t>,
) -> Option<(&'s str, Node<'t>)> {
    let declarator = declaration.child_by_field_name("declarator")?;
    let name = declarator.child_by_field_name("declarator")?;
    let is_plain = name.kind() == "identifier";
    let value = declarator
        .child_by_field_name("value")
        .filter(|_| is_plain)?;
    Some((source.str(name), value))
}

/// The atomic variable that an expression loads.
pub(super) fn loaded(source: &ParsedSource, node: Node<'_>) -> Option<AtomicForm> {
    if matches!(
        node.kind(),
        "identifier" | "field_expression" | "subscript_expression"
    ) {
        return Some(AtomicForm::Plain(source.str(node).to_owned()));
    }
    called(source, node, "load").map(|(form, _)| form)
}

pub(super) fn store<'t>(source: &ParsedSource, node: Node<'t>) -> Option<AtomicStore<'t>> {
    if node.kind() == "assignment_expression" {
        let is_plain = node
            .child_by_field_name("operator")
            .is_none_or(|operator| source.str(operator) == "=");
        let variable = node.child_by_field_name("left").filter(|_| is_plain)?;
        return Some(AtomicStore {
            node,
            form: AtomicForm::Plain(source.str(variable).to_owned()),
            value: node.child_by_field_name("right")?,
        });
    }
    let (form, arguments) = called(source, node, "store")?;
    let at = usize::from(matches!(form, AtomicForm::Function(_)));
    Some(AtomicStore {
        node,
        form,
        value: *arguments.get(at)?,
    })
}

/// The atomic variable and the arguments of a call of `load` or `store` in either form.
pub(super) fn called<'t>(
    source: &ParsedSource,
    node: Node<'t>,
    wanted: &str,
) -> Option<(AtomicForm, Vec<Node<'t>>)> {
    let call = calls(node).next().filter(|call| *call == node)?;
    let arguments = children(call.child_by_field_name("arguments")?);
    let function = call.child_by_field_name("function")?;
    let name = callee(source, call);
    if let Some(field) = function
        .child_by_field_name("field")
        .filter(|_| name == wanted)
    {
        let object = source.slice(function.start_byte(), field.start_byte());
        return Some((AtomicForm::Method(object.to_owned()), arguments));
    }
    let plain = name.strip_prefix("std::").unwrap_or(name);
    let plain = plain.strip_suffix("_explicit").unwrap_or(plain);
    let address = arguments
        .first()
        .filter(|_| plain.strip_prefix("atomic_") == Some(wanted))?;
    Some((
        AtomicForm::Function(source.str(*address).to_owned()),
        arguments,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;

    fn edited(file: &str, body: &str, reads: u32, writes: u32) -> Result<String, EditRefusal> {
        let text = format!("void f(int n)\n{{\n{body}\n}}\n");
        let source = ParsedSource::parse(file, &text).unwrap();
        let changes = in_one_step(&source, reads, writes)?;
        let edited = apply(&text, &changes).unwrap();
        let body = edited.strip_prefix("void f(int n)\n{\n").unwrap();
        Ok(body.strip_suffix("\n}\n").unwrap().to_owned())
    }

    #[test]
    fn a_sum_of_what_was_loaded_is_an_atomic_addition() {
        let methods = edited("a.cpp", "    hits.store(hits.load() + n);", 3, 3);
        assert_eq!(methods.as_deref(), Ok("    hits.fetch_add(n);"));
        let functions = "    atomic_store_explicit(&p->hits, atomic_load_explicit(&p->hits, memory_order_relaxed) - 1, memory_order_relaxed);";
        let functions = edited("a.c", functions, 3, 3);
        assert_eq!(
            functions.as_deref(),
            Ok("    atomic_fetch_sub(&p->hits, 1);")
        );
        let plain = edited("a.c", "    hits = n + hits;", 3, 3);
        assert_eq!(plain.as_deref(), Ok("    hits += n;"));
        // The difference the other way round is none.
        assert!(edited("a.cpp", "    hits.store(n - hits.load());", 3, 3).is_err());
    }

    #[test]
    fn the_value_from_before_is_still_known() {
        let body = "    const auto seen = left.load();\n    left.store(seen - 1);\n    if (seen == 1) done();";
        let expected = "    const auto seen = left.fetch_sub(1);\n    if (seen == 1) done();";
        assert_eq!(edited("a.cpp", body, 3, 4).as_deref(), Ok(expected));
        let unused = "    int seen = atomic_load(&left);\n    atomic_store(&left, seen | n);";
        let expected = "    atomic_fetch_or(&left, n);";
        assert_eq!(
            edited("a.c", unused, 3, 4).as_deref().map(str::trim_end),
            Ok(expected)
        );
    }

    #[test]
    fn other_values_are_exchanged_until_nobody_came_in_between() {
        let body = "    long seen = top.load();\n    if (seen < n)\n        top.store(n);";
        let expected = "    long seen = top.load();\n    while ((seen < n) && !top.compare_exchange_weak(seen, n)) {\n    }";
        assert_eq!(edited("a.cpp", body, 3, 5).as_deref(), Ok(expected));
        let body = "    int seen = atomic_load(&top);\n    atomic_store(&top, twice(seen));";
        let expected = "    int seen = atomic_load(&top);\n    while (!atomic_compare_exchange_weak(&top, &seen, twice(seen))) {\n    }";
        assert_eq!(edited("a.c", body, 3, 4).as_deref(), Ok(expected));
    }

    #[test]
    fn checks_that_leave_are_made_again() {
        let body = "    long have = left.load(std::memory_order_acquire);\n    if (have < n) {\n        refused++;\n        return;\n    }\n    left.store(have - n);\n    given += n;";
        let expected = "    long have = left.load(std::memory_order_acquire);\n    do {\n        if (have < n) {\n            refused++;\n            return;\n        }\n    } while (!left.compare_exchange_weak(have, have - n));\n    given += n;";
        assert_eq!(edited("a.cpp", body, 3, 8).as_deref(), Ok(expected));
        let goes_on = body.replace("        return;\n", "");
        assert!(edited("a.cpp", &goes_on, 3, 7).is_err());
        assert!(edited("a.cpp", &body.replace("long", "const long"), 3, 8).is_err());
    }

    #[test]
    fn another_variable_is_no_step_of_it() {
        assert!(edited("a.cpp", "    hits.store(misses.load() + n);", 3, 3).is_err());
        let between = "    int seen = hits.load();\n    log(seen);\n    hits.store(seen + 1);";
        assert!(edited("a.cpp", between, 3, 5).is_err());
    }
}
