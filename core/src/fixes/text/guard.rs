//! Holds a mutex by C++ guard objects: every way out of their scope releases it.

use super::{
    EditRefusal,
    change::{Change, line_before, remove},
    declared::{declared_type, mutable},
    hold::{HoldResult, parts},
    locks::{self, LockOperation, Mutex, callee, calls, same},
    source::{ParsedSource, Range, descendants, lines},
    watch::FileFunctions,
};
use tree_sitter::Node;

/// Holds the mutex over the statements by one guard.
pub(super) fn hold(
    source: &ParsedSource,
    mutex: &Mutex,
    watch: &FileFunctions<'_>,
    function: Node<'_>,
    at: Range<'_>,
) -> Result<HoldResult, EditRefusal> {
    if let Some((_, name)) = around_all(source, mutex, function, &at) {
        stays_held(source, name, at.statements())?;
        return Ok(kept(source, &at, at.last, Vec::new(), 1));
    }
    let braces = !holds_on(source, mutex, &at) && needs_braces(source, &at)?;
    let last = if braces {
        at.last
    } else {
        at.list.len().saturating_sub(1)
    };
    let within = at.list.get(at.first..=last).unwrap_or(&[]);
    let inner = guards(source, mutex, within);
    let mut by_hand = Vec::new();
    for &(node, name) in &inner {
        let own = given_by_hand(source, node, name);
        only_holds(source, function, node, name, &own)?;
        by_hand.extend(own);
    }
    let is_guarded = |node: &Node<'_>| inner.iter().any(|(guard, _)| guard.parent() == Some(*node));
    for node in within.iter().filter(|node| !is_guarded(node)) {
        if !inner.iter().any(|(guard, _)| guard == node) && !by_hand.contains(node) {
            watch.refuses(*node, true)?;
        }
    }
    let (Some(first), Some(end)) = (within.first(), within.last()) else {
        return Err("there is no statement".to_owned());
    };
    let lock = match inner.first() {
        Some((guard, name)) => declared(source, *guard, name, mutex),
        None => new_guard(source, mutex)?,
    };
    // A guard that begins the lines stays, and is held to the end of its scope.
    let opens = !braces
        && inner
            .first()
            .is_some_and(|(guard, _)| guard == first && source.str(*guard) == lock);
    let mut changes: Vec<Change> = inner
        .iter()
        .skip(usize::from(opens))
        .map(|(node, _)| node)
        .chain(&by_hand)
        .map(|node| remove(source, node.start_byte(), node.end_byte()))
        .collect();
    if inner.is_empty() {
        changes.extend(mutable(source, function, mutex)?);
    }
    if braces {
        around(source, *first, *end, &lock, &mut changes);
    } else if !opens {
        changes.push(line_before(source, first.start_byte(), &lock));
    }
    let is_shared = |(node, _): &(Node<'_>, &str)| {
        locks::guard(source, *node).is_some_and(|guard| guard.is_shared(source))
    };
    Ok(HoldResult {
        opens,
        for_writing: inner.iter().any(is_shared),
        ..kept(source, &at, last, changes, inner.len() as u32)
    })
}

/// The declaration of an existing guard, for this mutex alone.
fn declared(source: &ParsedSource, guard: Node<'_>, name: &str, mutex: &Mutex) -> String {
    let guard = locks::guard(source, guard);
    guard.map_or(String::new(), |guard| {
        guard.with(source, name, &mutex.object)
    })
}

/// A guard as used elsewhere in the file for a mutex of this name, or one that fits the mutex's declared
/// type.
fn new_guard(source: &ParsedSource, mutex: &Mutex) -> Result<String, EditRefusal> {
    let own = locks::last_name(&mutex.object);
    let all = every(source);
    let mut guards = all.iter().filter_map(|node| locks::guard(source, *node));
    let is_it = |guard: &locks::Guard<'_>| match guard.held.as_slice() {
        [held] => locks::last_name(source.str(*held)) == own,
        _ => false,
    };
    let name = free_name(source);
    if let Some(guard) = guards.find(is_it) {
        return Ok(guard.with(source, &name, &mutex.object));
    }
    let class = match declared_type(source, own) {
        None => "std::lock_guard<std::mutex>".to_owned(),
        Some(kind) if is_mutex(kind) => format!("std::lock_guard<{kind}>"),
        Some(kind) => {
            return Err(format!(
                "`{own}` is a `{kind}`, which `std::lock_guard` does not take"
            ));
        }
    };
    Ok(format!("{class} {name}({});", mutex.object))
}

fn is_mutex(kind: &str) -> bool {
    kind.contains("mutex") && !kind.contains("pthread") && !kind.contains('*')
}

/// All nodes of a file, including those in functions.
pub fn every(source: &ParsedSource) -> Vec<Node<'_>> {
    let (mut all, mut stack) = (Vec::new(), vec![source.root()]);
    while let Some(node) = stack.pop() {
        all.push(node);
        stack.extend(super::source::children(node));
    }
    all.sort_by_key(Node::start_byte);
    all
}

fn kept(
    source: &ParsedSource,
    at: &Range<'_>,
    last: usize,
    changes: Vec<Change>,
    joined: u32,
) -> HoldResult {
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
    HoldResult {
        changes,
        first: line(at.first, false),
        last: line(last, true),
        joined,
        opens: false,
        for_writing: false,
        ends: *lines(at.block).end(),
        parts: parts(source, at.list.get(at.first..=last).unwrap_or(&[])),
    }
}

/// Declarations of guards of the mutex in these statements, with their names.
fn guards<'t, 's>(
    source: &'s ParsedSource,
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

/// The guard before the statements whose scope they are in, with its name.
fn around_all<'t, 's>(
    source: &'s ParsedSource,
    mutex: &Mutex,
    function: Node<'t>,
    at: &Range<'t>,
) -> Option<(Node<'t>, &'s str)> {
    let before = at.list.get(..=at.first).unwrap_or(&[]);
    let own: Vec<Node<'t>> = before
        .iter()
        .filter(|node| node.kind() == "declaration")
        .copied()
        .collect();
    let mut here = guards(source, mutex, &own).into_iter();
    let is_whole =
        |(guard, name): &(Node<'_>, &str)| given_by_hand(source, *guard, name).is_empty();
    here.find(is_whole).or_else(|| {
        let outer = at.outer(function)?;
        around_all(source, mutex, function, &outer)
    })
}

/// Refuses statements in which a guard gives its mutex up for a moment.
fn stays_held(source: &ParsedSource, name: &str, within: &[Node<'_>]) -> Result<(), EditRefusal> {
    let mut all = within.iter().flat_map(|node| calls(*node));
    let gives = all.find(|call| {
        let found = locks::operation(source, *call);
        found.is_some_and(|it| it.what == LockOperation::Unlock && same(&it.object, name))
    });
    match gives {
        Some(call) => Err(format!(
            "`{name}` gives the lock back on line {}",
            lines(call).start()
        )),
        None => Ok(()),
    }
}

/// Statements of a guard's own block that release its mutex before the scope ends, or reacquire it.
fn given_by_hand<'t>(source: &ParsedSource, guard: Node<'t>, name: &str) -> Vec<Node<'t>> {
    let operates = |node: &Node<'t>| {
        let call = super::source::children(*node).first().copied();
        let found = call
            .filter(|call| call.kind() == "call_expression")
            .and_then(|call| locks::operation(source, call));
        node.kind() == "expression_statement" && found.is_some_and(|it| same(&it.object, name))
    };
    let block = guard.parent().map(super::source::statements);
    block
        .unwrap_or_default()
        .into_iter()
        .filter(operates)
        .collect()
}

/// Checks that a guard is not used after its declaration: a guard that is waited with, or released in a
/// nested block, is more than a scope.
fn only_holds(
    source: &ParsedSource,
    function: Node<'_>,
    guard: Node<'_>,
    name: &str,
    by_hand: &[Node<'_>],
) -> Result<(), EditRefusal> {
    let line = *lines(guard).start();
    let uses = descendants(function)
        .into_iter()
        .filter(|node| node.kind() == "identifier" && source.str(*node) == name);
    let used = uses.into_iter().find(|node| {
        let is_by_hand = by_hand
            .iter()
            .any(|own| own.byte_range().contains(&node.start_byte()));
        node.start_byte() > guard.end_byte()
            && !is_by_hand
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

/// Returns whether a guard among the statements holds the mutex to the end of their scope: what follows there needs it, too.
fn holds_on(source: &ParsedSource, mutex: &Mutex, at: &Range<'_>) -> bool {
    let own = guards(source, mutex, at.statements()).into_iter();
    let mut own = own.filter(|(guard, _)| at.statements().contains(guard));
    own.any(|(guard, name)| {
        let mut by_hand = given_by_hand(source, guard, name).into_iter();
        by_hand.all(|node| !at.statements().contains(&node))
    })
}

/// Returns whether the guard must end before the scope does. Declarations in between would end with it.
fn needs_braces(source: &ParsedSource, at: &Range<'_>) -> Result<bool, EditRefusal> {
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

/// A name that is unused in the file, since the name of a member would hide that.
fn free_name(source: &ParsedSource) -> String {
    let all = every(source).into_iter();
    let names = all.filter(|node| node.kind().ends_with("identifier"));
    let used: Vec<&str> = names.map(|node| source.str(node)).collect();
    let plain = ["guard", "holding", "step_guard"]
        .map(str::to_owned)
        .into_iter();
    let numbered = (2..).map(|number| format!("step_guard_{number}"));
    let mut free = plain
        .chain(numbered)
        .filter(|name| !used.contains(&name.as_str()));
    free.next().unwrap_or_default()
}

/// Puts braces around the statements, which are indented by one more step.
fn around(
    source: &ParsedSource,
    first: Node<'_>,
    last: Node<'_>,
    lock: &str,
    changes: &mut Vec<Change>,
) {
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

#[cfg(test)]
mod tests {
    use crate::fixes::text::{
        change::apply,
        hold::{AtomicLines, hold},
        locks::{LockStyle, Mutex},
        source::ParsedSource,
    };

    #[test]
    fn a_guard_that_is_given_back_in_a_loop_does_not_hold() {
        let text = "void tell(int n)\n{\n    std::unique_lock<std::mutex> hold(mutex_);\n    for (auto &one : all_) {\n        hold.unlock();\n        one.tell(n);\n        hold.lock();\n    }\n}\n";
        let source = ParsedSource::parse("a.cpp", text).unwrap();
        let mutex = Mutex {
            object: "mutex_".to_owned(),
            style: LockStyle::Guard,
        };
        let over = |first, last| hold(&source, &mutex, &AtomicLines { first, last });
        let gives = over(4, 6).unwrap_err();
        assert_eq!(gives, "`hold` gives the lock back on line 5");
    }

    #[test]
    fn a_guard_that_is_given_back_by_hand_is_kept() {
        let text = "void note(int n)\n{\n    std::unique_lock<std::mutex> hold(mutex_);\n    last_ = n;\n    hold.unlock();\n    writes_++;\n}\n";
        let source = ParsedSource::parse("a.cpp", text).unwrap();
        let mutex = Mutex {
            object: "mutex_".to_owned(),
            style: LockStyle::Guard,
        };
        let kept = hold(&source, &mutex, &AtomicLines { first: 3, last: 6 }).unwrap();
        let expected = text.replace("    hold.unlock();\n", "");
        assert_eq!(apply(text, &kept.changes), Some(expected));
        assert!(kept.opens);
        let text = text.replace("hold.unlock();", "changed_.wait(hold);");
        let source = ParsedSource::parse("a.cpp", &text).unwrap();
        let waits = hold(&source, &mutex, &AtomicLines { first: 3, last: 6 });
        assert!(waits.unwrap().changes.is_empty());
    }

    /// One guard reads, and the next one writes: held all the time, it writes.
    #[test]
    fn a_guard_that_reads_is_kept_for_writing() {
        let text = "int get(int id)\n{\n    Iterator at;\n    {\n        std::shared_lock<std::shared_mutex> lock(mutex_);\n        at = find(id);\n    }\n    std::unique_lock<std::shared_mutex> lock(mutex_);\n    return take(at);\n}\n";
        let mutex = Mutex {
            object: "mutex_".to_owned(),
            style: LockStyle::Guard,
        };
        let over = |text: &str| {
            let source = ParsedSource::parse("a.cpp", text).unwrap();
            hold(&source, &mutex, &AtomicLines { first: 4, last: 9 }).unwrap()
        };
        assert!(over(text).for_writing);
        let only_writes = text.replace("shared_lock", "unique_lock");
        assert!(!over(&only_writes).for_writing);
    }
}
