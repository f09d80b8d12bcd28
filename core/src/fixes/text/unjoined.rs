//! Threads that are never joined: detached ones, and those of a loop whose handles are stored.

use super::{
    change::Change,
    guard::every,
    locks::{callee, calls, last_name},
    move_statement::{Joined, argument, family, is_loop},
    source::{ParsedSource, children, descendants, lines},
};
use tree_sitter::Node;

/// Replaces the detaching of threads created on line `created` by a join before line `before`.
pub fn instead_of_detach(source: &ParsedSource, created: u32, before: u32) -> Option<Joined> {
    let function = source.function(created)?;
    let handle = handle(source, function, created)?;
    let is_it = |call: &Node<'_>| {
        let line = *lines(*call).start();
        let is_between = created < line && line < before;
        is_between
            && detached(source, *call).is_some_and(|name| names(source, *call, name, &handle))
    };
    let call = calls(function).find(is_it)?;
    let around = loop_around(call, function);
    // In the loop that creates them they would run one after the other.
    if around.is_some_and(|around| lines(around).contains(&created)) {
        return None;
    }
    let is_loop = around.is_some();
    let next = next_statement(call).map(|next| *lines(next).start());
    Some(Joined {
        changes: joined(source, call)?,
        at: Some(*lines(call).start()),
        before: next.filter(|_| !is_loop).unwrap_or(before),
        is_loop,
    })
}

/// The statement behind that of a call, in the same block.
fn next_statement(call: Node<'_>) -> Option<Node<'_>> {
    let statement = call.parent()?;
    let next = std::iter::successors(statement.next_named_sibling(), Node::next_named_sibling);
    next.into_iter().find(|node| node.kind() != "comment")
}

/// The calls of a file that detach the thread whose handle is the member or the global `handle`, as changes to a join, by
/// line.
pub fn detaches(source: &ParsedSource, handle: &str) -> Vec<(u32, Vec<Change>)> {
    let all = every(source).into_iter();
    let calls = all.filter(|node| node.kind() == "call_expression");
    let own = calls.filter(|call| {
        let name = detached(source, *call);
        name.is_some_and(|name| last_name(name) == handle)
    });
    own.filter_map(|call| Some((*lines(call).start(), joined(source, call)?)))
        .collect()
}

/// The member or the global that gets the handle of the thread that is created on a line: its last name.
pub fn stored_handle(source: &ParsedSource, created: u32) -> Option<&str> {
    let all = every(source);
    let on_line = |node: &&Node<'_>| lines(**node).contains(&created);
    let is_thread = |node: &&Node<'_>| {
        let right = node.child_by_field_name("right");
        let made = right.and_then(|right| right.child_by_field_name("function"));
        let is_made = made.is_some_and(|made| source.str(made).ends_with("thread"));
        node.kind() == "assignment_expression" && is_made
    };
    let names = ["pthread_create", "thrd_create"];
    let creates = |node: &&Node<'_>| {
        node.kind() == "call_expression" && names.contains(&callee(source, **node))
    };
    let (node, handle) = match all.iter().filter(on_line).find(is_thread) {
        Some(node) => (node, source.str(node.child_by_field_name("left")?)),
        None => {
            let call = all.iter().filter(on_line).find(creates)?;
            (call, argument(source, *call, 0)?)
        }
    };
    let name = last_name(handle.trim_start_matches('&'));
    // The innermost function of the line may be a lambda in the call.
    let is_around = |one: &&Node<'_>| {
        one.kind() == "function_definition" && one.byte_range().contains(&node.start_byte())
    };
    let function = all.iter().find(is_around)?;
    let is_local = descendants(*function).into_iter().any(|node| {
        let declarator = node.child_by_field_name("declarator");
        node.kind() == "declaration" && declarator.is_some_and(|it| source.str(it) == name)
    });
    (!is_local).then_some(name)
}

/// Turns a call that detaches a thread into one that joins it.
fn joined(source: &ParsedSource, call: Node<'_>) -> Option<Vec<Change>> {
    let name = call.child_by_field_name("function")?;
    let place = name.child_by_field_name("field").unwrap_or(name);
    let mut changes = vec![Change {
        start: place.start_byte(),
        end: place.end_byte(),
        text: source.str(place).replace("detach", "join"),
    }];
    if place == name {
        let last = argument_node(call)?;
        changes.push(Change::insert(last.end_byte(), ", NULL".to_owned()));
    }
    Some(changes)
}

/// The loop that joins the threads that the loop around a call creates: with the same head, for indexed
/// handles.
pub fn joining_loop(source: &ParsedSource, call: Node<'_>, handle: &str) -> Option<String> {
    let function = source.function(*lines(call).start())?;
    let around = loop_around(call, function).filter(|node| node.kind() == "for_statement")?;
    let body = around.child_by_field_name("body")?;
    let head = source.slice(around.start_byte(), body.start_byte()).trim();
    let declared = around.child_by_field_name("initializer")?;
    let mut names = descendants(declared).into_iter();
    let counter = names.find(|node| node.kind() == "identifier")?;
    let counts = handle
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == source.str(counter));
    let leaves = ["break_statement", "continue_statement", "goto_statement"];
    let is_whole = descendants(body)
        .iter()
        .all(|node| !leaves.contains(&node.kind()));
    let is_outermost = loop_around(around, function).is_none();
    if !counts || !is_whole || !is_outermost || declared.kind() != "declaration" {
        return None;
    }
    let name = callee(source, call).replace("create", "join");
    Some(format!("{head} {name}({handle}, NULL);"))
}

/// The handle of a thread that is created on a line: a variable, or a container of threads.
fn handle(source: &ParsedSource, function: Node<'_>, created: u32) -> Option<String> {
    let on_line = |node: &Node<'_>| lines(*node).contains(&created);
    let creating = calls(function).find(|call| {
        let names = ["emplace_back", "push_back", "pthread_create", "thrd_create"];
        on_line(call) && names.contains(&callee(source, *call))
    });
    if let Some(call) = creating {
        let owner = call.child_by_field_name("function")?;
        let owner = owner.child_by_field_name("argument");
        let given = || argument(source, call, 0).map(str::to_owned);
        return owner.map_or_else(given, |owner| Some(source.str(owner).to_owned()));
    }
    let all = descendants(function).into_iter();
    let mut declared = all.filter(|node| node.kind() == "declaration" && on_line(node));
    let declaration = declared.find(|node| {
        let kind = node.child_by_field_name("type");
        kind.is_some_and(|kind| source.str(kind).ends_with("thread"))
    })?;
    let mut names = descendants(declaration.child_by_field_name("declarator")?).into_iter();
    let name = names.find(|node| node.kind() == "identifier")?;
    Some(source.str(name).to_owned())
}

/// The handle that a call detaches.
pub(super) fn detached<'s>(source: &'s ParsedSource, call: Node<'_>) -> Option<&'s str> {
    match callee(source, call) {
        "pthread_detach" | "thrd_detach" => argument(source, call, 0),
        "detach" => {
            let function = call.child_by_field_name("function")?;
            Some(source.str(function.child_by_field_name("argument")?))
        }
        _ => None,
    }
}

/// Returns whether a name is the handle, an element of it, or the element variable of a loop over it.
fn names(source: &ParsedSource, call: Node<'_>, name: &str, handle: &str) -> bool {
    if family(name) == family(handle) {
        return true;
    }
    let mut around = call.parent();
    while let Some(node) = around {
        let field = |field| node.child_by_field_name(field);
        if let (Some(element), Some(all)) = (field("declarator"), field("right")) {
            let mut own = descendants(element).into_iter();
            let is_it = own.any(|it| it.kind() == "identifier" && source.str(it) == name);
            return is_it && source.str(all) == handle;
        }
        around = node.parent();
    }
    false
}

fn argument_node(call: Node<'_>) -> Option<Node<'_>> {
    let arguments = children(call.child_by_field_name("arguments")?);
    arguments.first().copied()
}

fn loop_around<'t>(node: Node<'t>, function: Node<'t>) -> Option<Node<'t>> {
    let mut around = node.parent();
    while let Some(node) = around.filter(|node| *node != function) {
        if is_loop(node) {
            return Some(node);
        }
        around = node.parent();
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::fixes::text::{change::apply, move_statement::join_before, source::ParsedSource};

    fn joined(file: &str, text: &str, created: u32, before: u32) -> Result<String, String> {
        let source = ParsedSource::parse(file, text).unwrap();
        let joined = join_before(&source, created, before)?;
        Ok(apply(text, &joined.changes).unwrap())
    }

    #[test]
    fn detached_threads_are_joined_instead() {
        let text = "void run()\n{\n    std::vector<std::thread> all;\n    for (int i = 0; i < 2; i++)\n        all.emplace_back(work, i);\n    for (std::thread &one : all)\n        one.detach();\n    check();\n}\n";
        let expected = text.replace("one.detach()", "one.join()");
        assert_eq!(joined("a.cpp", text, 5, 8), Ok(expected));
        let text = "void run(void)\n{\n    pthread_t t;\n    pthread_create(&t, NULL, work, NULL);\n    pthread_detach(t);\n    check();\n}\n";
        let expected = text.replace("pthread_detach(t)", "pthread_join(t, NULL)");
        assert_eq!(joined("a.c", text, 4, 6), Ok(expected));
        // Another thread's handle.
        let text = "void run(void)\n{\n    for (int i = 0; i < 2; i++) {\n        pthread_t t;\n        pthread_create(&t, NULL, work, NULL);\n        pthread_detach(t);\n    }\n    check();\n}\n";
        // One after the other they would share nothing.
        assert!(joined("a.c", text, 5, 8).is_err());
        let text = "void run()\n{\n    std::thread one(work), other(work);\n    other.detach();\n    check();\n    one.join();\n}\n";
        assert!(joined("a.cpp", text, 3, 5).is_err());
    }

    #[test]
    fn threads_of_a_loop_are_joined_by_the_same_loop() {
        let text = |body: &str| {
            format!(
                "void run(void)\n{{\n    pthread_t t[2];\n    for (int i = 0; i < 2; i++) {{\n        pthread_create(&t[i], NULL, work, NULL);\n        {body}\n    }}\n    for (int i = 0; i < 2; i++) {{\n        check(i);\n    }}\n}}\n"
            )
        };
        let whole = text("started++;");
        let expected = whole.replace(
            "    for (int i = 0; i < 2; i++) {\n        check",
            "    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);\n    for (int i = 0; i < 2; i++) {\n        check",
        );
        assert_eq!(joined("a.c", &whole, 5, 9), Ok(expected));
        // It may have ended before all threads were there.
        assert!(joined("a.c", &text("if (full()) break;"), 5, 9).is_err());
    }
}
