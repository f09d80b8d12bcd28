//! A local variable in place of one that other threads see, until what it points to is complete.

use super::{
    change::{Change, line_after},
    guard::every,
    locks::{callee, calls, same},
    move_behind::names,
    source::{ParsedSource, children, descendants},
    watch,
};
use std::collections::BTreeSet;
use tree_sitter::Node;

/// Stores the new object of an assignment in a local variable, uses that in the statements that follow, and assigns after
/// the last of them; `None` where the text does not show that this means the same to them. `target` is the name of the
/// assigned variable.
pub fn made_first(
    source: &ParsedSource,
    assignment: Node<'_>,
    (target, following): (&str, &[Node<'_>]),
) -> Option<Vec<Change>> {
    let set = children(assignment).into_iter().next()?;
    let (left, right) = (
        set.child_by_field_name("left")?,
        set.child_by_field_name("right")?,
    );
    let is_plain = set.kind() == "assignment_expression"
        && source.slice(left.end_byte(), right.start_byte()).trim() == "=";
    let last = *following.last()?;
    let uses = uses(source, left, (target, following)).filter(|_| is_plain)?;
    let name = free_name(source)?;
    let declared = declared(source, right, target)?;
    let mut changes = vec![Change {
        start: left.start_byte(),
        end: left.end_byte(),
        text: format!("{declared}{name}"),
    }];
    changes.extend(uses.into_iter().map(|node| Change {
        start: node.start_byte(),
        end: node.end_byte(),
        text: name.to_owned(),
    }));
    let stored = format!("{} = {name};", source.str(left));
    let (start, end) = (last.start_byte(), last.end_byte());
    changes.push(line_after(source, start, end, &stored));
    Some(changes)
}

/// The expressions in these statements that are the assigned one; `None` if the variable is used in another way there, or
/// by a function that they call, or what selects its element changes.
fn uses<'t>(
    source: &ParsedSource,
    left: Node<'t>,
    (target, following): (&str, &[Node<'t>]),
) -> Option<Vec<Node<'t>>> {
    let all: Vec<Node<'t>> = following
        .iter()
        .flat_map(|node| descendants(*node))
        .collect();
    let is_it =
        |node: &Node<'_>| node.kind() == left.kind() && same(source.str(*node), source.str(left));
    let own: Vec<Node<'t>> = all.iter().copied().filter(is_it).collect();
    let is_name = |node: &&Node<'_>| {
        matches!(node.kind(), "identifier" | "field_identifier") && source.str(**node) == target
    };
    let mut named = all.iter().filter(is_name);
    let is_own = |node: &Node<'_>| {
        let mut own = own.iter();
        own.any(|known| known.byte_range().contains(&node.start_byte()))
    };
    let selects = descendants(left).into_iter();
    let selects: BTreeSet<&str> = (selects.filter(|node| node.kind() == "identifier"))
        .map(|node| source.str(node))
        .collect();
    let changes = all.iter().any(|node| {
        let field = match node.kind() {
            "assignment_expression" => "left",
            "update_expression" | "pointer_expression" => "argument",
            _ => return false,
        };
        let changed = node.child_by_field_name(field);
        changed.is_some_and(|it| is_it(&it) || selects.contains(source.str(it)))
    });
    let is_seen = following
        .iter()
        .any(|node| calls_look(source, *node, target));
    (named.all(is_own) && !changes && !is_seen).then_some(own)
}

/// Returns whether a function of this file that a statement calls, itself or through others, names the variable.
fn calls_look(source: &ParsedSource, node: Node<'_>, target: &str) -> bool {
    let functions = every(source).into_iter();
    let functions: Vec<Node<'_>> = functions
        .filter(|node| node.kind() == "function_definition")
        .collect();
    let (mut seen, mut stack) = (BTreeSet::new(), vec![node]);
    while let Some(node) = stack.pop() {
        for call in calls(node) {
            let name = callee(source, call);
            let is_called = |one: &&Node<'_>| watch::name(source, **one) == Some(name);
            let Some(function) = functions
                .iter()
                .find(is_called)
                .filter(|_| seen.insert(name))
            else {
                continue;
            };
            if names(source, *function, target) {
                return true;
            }
            stack.push(*function);
        }
    }
    false
}

/// The beginning of a declaration of a pointer to what `right` makes.
fn declared(source: &ParsedSource, right: Node<'_>, target: &str) -> Option<String> {
    if source.is_cpp() {
        return (right.kind() == "new_expression").then(|| "auto *".to_owned());
    }
    let declares = |node: &Node<'_>| matches!(node.kind(), "declaration" | "field_declaration");
    let all = every(source).into_iter().filter(declares);
    let mut types = all.filter_map(|node| {
        let declarator = pointer(node.child_by_field_name("declarator")?)?;
        let kind = source.str(node.child_by_field_name("type")?);
        names(source, declarator, target).then(|| format!("{kind} *"))
    });
    let found = types.next()?;
    let is_call = descendants(right)
        .iter()
        .any(|node| node.kind() == "call_expression");
    (is_call && types.all(|other| other == found)).then_some(found)
}

/// The declarator of a pointer, with or without a first value, that is none to another pointer.
fn pointer(declarator: Node<'_>) -> Option<Node<'_>> {
    let inner = match declarator.kind() {
        "init_declarator" => declarator.child_by_field_name("declarator")?,
        _ => declarator,
    };
    let next = inner.child_by_field_name("declarator")?;
    (inner.kind() == "pointer_declarator" && next.kind() != "pointer_declarator").then_some(inner)
}

/// A name that the file does not use.
fn free_name(source: &ParsedSource) -> Option<&'static str> {
    let all = every(source).into_iter();
    let kinds = ["identifier", "field_identifier", "type_identifier"];
    let names = all.filter(|node| kinds.contains(&node.kind()));
    let used: BTreeSet<&str> = names.map(|node| source.str(node)).collect();
    let names = ["made", "fresh", "made_object"].into_iter();
    names.into_iter().find(|name| !used.contains(name))
}
