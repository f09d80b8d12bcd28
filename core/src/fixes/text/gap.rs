//! The statements between which a function has given up a lock.

use super::{
    EditRefusal,
    change::{Change, remove, remove_statement},
    guard::every,
    locks::{LockCallText, LockOperation, Mutex, callee, calls, operation, same},
    source::{ParsedSource, children, descendants, lines},
    watch::FileFunctions,
};
use std::ops::Range;
use tree_sitter::Node;

/// A release of a lock, or an acquisition, that is a statement of its own.
struct LockStatement<'t> {
    statement: Node<'t>,
    found: LockCallText,
}

/// Removes the release of line `gives` and the acquisition of line `takes`, so that the statements between them
/// run with the lock held; `None` when the two are not statements of one block.
///
/// # Errors
/// An error when what lies between must not run with the lock held.
pub fn close(
    source: &ParsedSource,
    gives: u32,
    takes: u32,
) -> Option<Result<Vec<Change>, EditRefusal>> {
    let function = source.function(gives)?;
    let releases = on_line(source, function, gives, LockOperation::Unlock);
    let acquires = on_line(source, function, takes, LockOperation::Lock);
    let pairs = releases
        .iter()
        .flat_map(|one| acquires.iter().map(move |other| (one, other)));
    let mut fitting = pairs.filter(|(one, other)| {
        one.statement.end_byte() <= other.statement.start_byte()
            && one.statement.parent() == other.statement.parent()
            && same(&one.found.object, &other.found.object)
    });
    let (release, acquire) = fitting.next()?;
    Some(without(source, release, acquire))
}

/// The members that calls on these lines call: `callback` of `timer.callback()`.
pub fn called_members(source: &ParsedSource, between: Range<u32>) -> Vec<&str> {
    let is_member = |call: &Node<'_>| {
        let called = call.child_by_field_name("function");
        called.is_some_and(|called| called.kind() == "field_expression")
    };
    let on_them = |call: &Node<'_>| {
        call.kind() == "call_expression" && between.contains(lines(*call).start())
    };
    let all = every(source).into_iter().filter(on_them);
    let members = all.filter(is_member);
    members.map(|call| callee(source, call)).collect()
}

/// The line on which the block that gives a lock back on line `gives` takes it again.
pub fn taken_again(source: &ParsedSource, gives: u32) -> Option<u32> {
    let function = source.function(gives)?;
    let releases = on_line(source, function, gives, LockOperation::Unlock);
    let block = releases.first()?.statement.parent()?;
    let mut after = lines(block).filter(|line| *line >= gives);
    after.find(|line| close(source, gives, *line).is_some())
}

/// Removes the two statements.
fn without(
    source: &ParsedSource,
    release: &LockStatement<'_>,
    acquire: &LockStatement<'_>,
) -> Result<Vec<Change>, EditRefusal> {
    let within = between(release.statement, acquire.statement);
    let mutex = Mutex {
        object: release.found.object.clone(),
        style: release.found.style,
    };
    let watch = FileFunctions::new(source, &mutex);
    for node in &within {
        watch.refuses(*node, true)?;
        stays(*node)?;
    }
    Ok(match within.is_empty() {
        true => vec![remove(
            source,
            release.statement.start_byte(),
            acquire.statement.end_byte(),
        )],
        false => vec![
            remove_statement(source, release.statement),
            remove_statement(source, acquire.statement),
        ],
    })
}

fn on_line<'t>(
    source: &ParsedSource,
    function: Node<'t>,
    line: u32,
    what: LockOperation,
) -> Vec<LockStatement<'t>> {
    let on_line = calls(function).filter(|call| lines(*call).contains(&line));
    on_line
        .filter_map(|call| {
            let found = operation(source, call).filter(|found| found.what == what)?;
            let statement = call.parent()?;
            let is_alone = statement.kind() == "expression_statement";
            is_alone.then_some(LockStatement { statement, found })
        })
        .collect()
}

/// The statements between two of one block.
fn between<'t>(first: Node<'t>, last: Node<'t>) -> Vec<Node<'t>> {
    let all = first.parent().map(children).unwrap_or_default();
    all.into_iter()
        .filter(|node| node.kind() != "comment")
        .filter(|node| {
            node.start_byte() >= first.end_byte() && node.end_byte() <= last.start_byte()
        })
        .collect()
}

/// Refuses a statement that may leave the block: the lock would stay held there.
fn stays(node: Node<'_>) -> Result<(), EditRefusal> {
    const LEAVING: [&str; 6] = [
        "return_statement",
        "break_statement",
        "continue_statement",
        "goto_statement",
        "throw_statement",
        "labeled_statement",
    ];
    let mut inner = descendants(node).into_iter();
    match inner.find(|node| LEAVING.contains(&node.kind())) {
        Some(node) => Err(format!(
            "line {} may leave while the lock is given back",
            lines(node).start()
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;

    fn closed(file: &str, body: &str, gives: u32, takes: u32) -> Result<String, EditRefusal> {
        let text = format!("void f(struct box *b)\n{{\n{body}}}\n");
        let source = ParsedSource::parse(file, &text).unwrap();
        let changes = close(&source, gives, takes).unwrap_or(Err("unseen".to_owned()));
        changes.map(|changes| apply(&text, &changes).unwrap())
    }

    #[test]
    fn what_lies_between_runs_with_the_lock_held() {
        let body = "    pthread_mutex_lock(&b->m);\n    b->n++;\n    pthread_mutex_unlock(&b->m);\n    b->at = b->n;\n    pthread_mutex_lock(&b->m);\n    b->n--;\n    pthread_mutex_unlock(&b->m);\n";
        let edited = closed("a.c", body, 5, 7).unwrap();
        assert_eq!(
            edited,
            "void f(struct box *b)\n{\n    pthread_mutex_lock(&b->m);\n    b->n++;\n    b->at = b->n;\n    b->n--;\n    pthread_mutex_unlock(&b->m);\n}\n"
        );
    }

    #[test]
    fn a_lock_object_is_left_locked() {
        let body = "    std::unique_lock lock(b->m);\n    b->n++;\n    lock.unlock(); lock.lock();\n    b->n--;\n";
        let edited = closed("a.cpp", body, 5, 5).unwrap();
        assert!(edited.contains("b->n++;\n    b->n--;\n"), "{edited}");
    }

    #[test]
    fn a_way_out_or_a_wait_between_them_is_refused() {
        let around = |inner: &str| {
            format!(
                "    pthread_mutex_unlock(&b->m);\n    {inner}\n    pthread_mutex_lock(&b->m);\n"
            )
        };
        let left = closed("a.c", &around("if (b->n) return;"), 3, 5).unwrap_err();
        assert_eq!(left, "line 4 may leave while the lock is given back");
        let waits = closed("a.c", &around("usleep(3);"), 3, 5).unwrap_err();
        assert!(waits.contains("waits (`usleep`)"), "{waits}");
    }

    #[test]
    fn members_that_are_called_are_those_of_the_lines() {
        let text =
            "void f(struct box *b)\n{\n    b->first();\n    b->next(g());\n    b->last();\n}\n";
        let source = ParsedSource::parse("a.c", text).unwrap();
        assert_eq!(called_members(&source, 4..5), ["next"]);
    }

    #[test]
    fn another_lock_is_not_taken_for_it() {
        let body = "    pthread_mutex_unlock(&b->m);\n    pthread_mutex_lock(&b->other);\n";
        assert!(closed("a.c", body, 3, 4).is_err());
    }
}
