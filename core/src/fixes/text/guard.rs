//! Keeps a mutex by the guard objects of C++: every way out of their scope gives it back.

use super::{
    Refusal,
    change::{Change, line_before, remove},
    hold::Kept,
    locks::{self, Mutex, callee, calls, same},
    source::{Range, Source, descendants, lines},
    watch::Watch,
};
use tree_sitter::Node;

/// Keeps the mutex over the statements by one guard.
pub(super) fn hold(
    source: &Source,
    mutex: &Mutex,
    watch: &Watch<'_>,
    function: Node<'_>,
    at: Range<'_>,
) -> Result<Kept, Refusal> {
    if is_held(source, mutex, function, &at) {
        return Ok(kept(source, &at, at.last, Vec::new(), 1));
    }
    let braces = needs_braces(source, &at)?;
    let last = if braces {
        at.last
    } else {
        at.list.len().saturating_sub(1)
    };
    let within = at.list.get(at.first..=last).unwrap_or(&[]);
    let inner = guards(source, mutex, within);
    for &(node, name) in &inner {
        only_holds(source, function, node, name)?;
    }
    let is_guarded = |node: &Node<'_>| inner.iter().any(|(guard, _)| guard.parent() == Some(*node));
    for node in within.iter().filter(|node| !is_guarded(node)) {
        if !inner.iter().any(|(guard, _)| guard == node) {
            watch.refuses(*node, true)?;
        }
    }
    let (Some(first), Some(end)) = (within.first(), within.last()) else {
        return Err("there is no statement".to_owned());
    };
    let mut changes: Vec<Change> = inner
        .iter()
        .map(|(node, _)| remove(source, node.start_byte(), node.end_byte()))
        .collect();
    let class = inner
        .first()
        .and_then(|(node, _)| node.child_by_field_name("type"));
    let class = class.map_or("std::lock_guard<std::mutex>", |node| source.str(node));
    let lock = format!(
        "{class} {}({});",
        free_name(source, function, &inner),
        mutex.object
    );
    if inner.is_empty() {
        changes.extend(mutable(source, function, mutex)?);
    }
    if braces {
        around(source, *first, *end, &lock, &mut changes);
    } else {
        changes.push(line_before(source, first.start_byte(), &lock));
    }
    Ok(kept(source, &at, last, changes, inner.len() as u32))
}

/// A function that promises to change nothing can lock only a member that is `mutable`.
fn mutable(source: &Source, function: Node<'_>, mutex: &Mutex) -> Result<Option<Change>, Refusal> {
    let name = mutex.object.trim_start_matches("this->");
    let is_member = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_member || !is_const(source, function) {
        return Ok(None);
    }
    let mut stack = vec![source.root()];
    while let Some(node) = stack.pop() {
        let declarator = node.child_by_field_name("declarator");
        let declares = declarator.is_some_and(|it| source.str(it) == name);
        if declares && node.kind() == "field_declaration" {
            let is_mutable = source.str(node).starts_with("mutable");
            let change = Change::insert(node.start_byte(), "mutable ".to_owned());
            return Ok((!is_mutable).then_some(change));
        }
        if declares && node.kind() == "declaration" {
            return Ok(None);
        }
        stack.extend(super::source::children(node));
    }
    Err(format!(
        "`{name}` would have to be `mutable`, and is declared in another file"
    ))
}

/// Does a member function promise to change nothing?
fn is_const(source: &Source, function: Node<'_>) -> bool {
    let mut declarator = function.child_by_field_name("declarator");
    while let Some(node) = declarator {
        if node.kind() == "function_declarator" {
            let mut parts = super::source::children(node).into_iter();
            return parts.any(|it| it.kind() == "type_qualifier" && source.str(it) == "const");
        }
        let inner = node.child_by_field_name("declarator");
        declarator = inner.or_else(|| super::source::children(node).last().copied());
    }
    false
}

fn kept(source: &Source, at: &Range<'_>, last: usize, changes: Vec<Change>, joined: u32) -> Kept {
    let line = |index: usize, end: bool| {
        let node = at.list.get(index);
        node.map_or(0, |node| {
            source.line(if end {
                node.end_byte()
            } else {
                node.start_byte()
            })
        })
    };
    Kept {
        changes,
        first: line(at.first, false),
        last: line(last, true),
        joined,
    }
}

/// Declarations of guards of the mutex in these statements, with their names.
fn guards<'t, 's>(
    source: &'s Source,
    mutex: &Mutex,
    list: &[Node<'t>],
) -> Vec<(Node<'t>, &'s str)> {
    let all = list.iter().flat_map(|node| descendants(*node));
    all.filter_map(|node| {
        let (held, name) = locks::guarded(source, node)?;
        held.iter()
            .any(|object| same(object, &mutex.object))
            .then_some((node, name))
    })
    .collect()
}

/// Does a guard before the statements hold the mutex over all of them?
fn is_held(source: &Source, mutex: &Mutex, function: Node<'_>, at: &Range<'_>) -> bool {
    let before = at.list.get(..=at.first).unwrap_or(&[]);
    let own: Vec<Node<'_>> = before
        .iter()
        .filter(|node| node.kind() == "declaration")
        .copied()
        .collect();
    let here = !guards(source, mutex, &own).is_empty();
    here || at
        .outer(function)
        .is_some_and(|outer| is_held(source, mutex, function, &outer))
}

/// A guard that is waited with, or given back by hand, is more than a scope.
fn only_holds(
    source: &Source,
    function: Node<'_>,
    guard: Node<'_>,
    name: &str,
) -> Result<(), Refusal> {
    let line = *lines(guard).start();
    let uses = descendants(function)
        .into_iter()
        .filter(|node| node.kind() == "identifier" && source.str(*node) == name);
    let used = uses.into_iter().find(|node| {
        node.start_byte() > guard.end_byte()
            && guard
                .parent()
                .is_some_and(|scope| scope.end_byte() >= node.end_byte())
    });
    match used {
        Some(node) => Err(format!(
            "`{name}` of line {line} is used again on line {}",
            lines(node).start()
        )),
        None => Ok(()),
    }
}

/// Must the guard end before the scope does? What is declared in between would end with it.
fn needs_braces(source: &Source, at: &Range<'_>) -> Result<bool, Refusal> {
    if !matches!(at.block.kind(), "compound_statement" | "case_statement") {
        return Ok(true);
    }
    let rest = at.list.get(at.last + 1..).unwrap_or(&[]);
    let is_short = rest.len() <= 2
        && rest
            .iter()
            .all(|node| calls(*node).all(|call| callee(source, call).starts_with("assert")));
    if is_short {
        return Ok(false);
    }
    let names = at
        .statements()
        .iter()
        .filter(|node| node.kind() == "declaration")
        .flat_map(|node| descendants(*node));
    let names = names
        .filter(|node| node.kind() == "identifier")
        .map(|node| source.str(node));
    let later: Vec<&str> = rest
        .iter()
        .flat_map(|node| descendants(*node))
        .filter(|node| node.kind() == "identifier")
        .map(|node| source.str(node))
        .collect();
    let mut needed = names.filter(|name| later.contains(name));
    Ok(needed.next().is_none())
}

fn free_name(source: &Source, function: Node<'_>, inner: &[(Node<'_>, &str)]) -> String {
    if let Some((_, name)) = inner.first() {
        return (*name).to_owned();
    }
    let names = descendants(function)
        .into_iter()
        .filter(|node| node.kind() == "identifier");
    let used: Vec<&str> = names.map(|node| source.str(node)).collect();
    let free = ["guard", "holding", "step_guard"]
        .into_iter()
        .find(|name| !used.contains(name));
    free.unwrap_or("whole_step_guard").to_owned()
}

/// Braces around the statements, which are indented by one step more.
fn around(source: &Source, first: Node<'_>, last: Node<'_>, lock: &str, changes: &mut Vec<Change>) {
    let (outer, unit) = (source.indent(first.start_byte()).to_owned(), source.unit());
    let is_first_on_line = source
        .slice(source.line_start(first.start_byte()), first.start_byte())
        .trim()
        .is_empty();
    changes.push(Change::insert(
        first.start_byte(),
        match is_first_on_line {
            true => format!("{{\n{outer}{unit}{lock}\n{outer}{unit}"),
            false => format!("{{ {lock} "),
        },
    ));
    let mut at = source.line_end(first.start_byte()) + 1;
    while is_first_on_line && at < last.end_byte() {
        let end = source.line_end(at);
        let is_removed = changes
            .iter()
            .any(|change| change.start <= at && at < change.end);
        if end > at && !is_removed {
            changes.push(Change::insert(at, unit.clone()));
        }
        at = end + 1;
    }
    changes.push(Change::insert(
        last.end_byte(),
        match is_first_on_line {
            true => format!("\n{outer}}}"),
            false => " }".to_owned(),
        },
    ));
}
