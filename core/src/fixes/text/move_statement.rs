//! Moves of statements that come too early or too late: a join before data that the thread still uses is
//! destroyed, a thread created after data that it reads was set.

use super::{
    EditRefusal,
    change::{Change, line_before, remove, remove_statement},
    locks::{callee, calls},
    source::{ParsedSource, Range, descendants, lines, range},
    unjoined,
};
use tree_sitter::Node;

/// Functions that create and join threads, with the position of the handle among the arguments.
const CREATES: [&str; 2] = ["pthread_create", "thrd_create"];
const JOINS: [&str; 2] = ["pthread_join", "thrd_join"];

/// The statement on a line, in its list.
pub(super) fn at<'t>(
    source: &'t ParsedSource,
    line: u32,
) -> Result<(Node<'t>, Range<'t>), EditRefusal> {
    let function = source.body_around(line)?;
    let place = range(function, line, line)?;
    match place.statements().first() {
        Some(node) if !is_one(*node) => {
            Err(format!("line {line} has preprocessor conditions around it"))
        }
        _ => Ok((function, place)),
    }
}

/// Returns whether it is a single statement, perhaps with a condition of the preprocessor around it.
fn is_one(node: Node<'_>) -> bool {
    if !node.kind().starts_with("preproc") {
        return true;
    }
    let inside = super::source::children(node);
    let is_branch = |child: &Node<'_>| child.kind().starts_with("preproc_el");
    let statements = inside
        .iter()
        .filter(|child| child.kind().ends_with("_statement") || child.kind() == "declaration");
    !inside.iter().any(is_branch) && statements.count() == 1
}

/// A join that comes earlier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Changes to make.
    pub changes: Vec<Change>,
    /// The line of the join that is moved; none for a new one.
    pub at: Option<u32>,
    /// The line before which the thread has ended.
    pub before: u32,
    /// `true` if it is in a loop that moves with it, and joins several threads.
    pub is_loop: bool,
}

/// Joins the thread that is created on line `created` before line `before`.
///
/// # Errors
/// An error when the two are not in one function, or the handle is not known there.
pub fn join_before(
    source: &ParsedSource,
    created: u32,
    before: u32,
) -> Result<Joined, EditRefusal> {
    let (function, place) = at(source, before)?;
    let (other, _) = at(source, created)?;
    if function != other {
        return Err(format!(
            "lines {created} and {before} are in different functions: the thread's handle is not known there"
        ));
    }
    if let Some(joined) = unjoined::instead_of_detach(source, created, before) {
        return Ok(joined);
    }
    let mut creating = calls(function)
        .filter(|call| CREATES.contains(&callee(source, *call)) && lines(*call).contains(&created));
    let call = creating.next().ok_or_else(|| {
        format!("line {created} creates the thread by no call that is known here")
    })?;
    let handle = argument(source, call, 0).and_then(|handle| handle.strip_prefix('&'));
    let handle = handle
        .ok_or_else(|| format!("the handle of the thread on line {created} has no name"))?
        .trim();
    let joins = calls(function).filter(|call| {
        JOINS.contains(&callee(source, *call))
            && argument(source, *call, 0).is_some_and(|it| family(it) == family(handle))
    });
    let joins: Vec<Node<'_>> = joins.collect();
    let anchor = *place.statements().first().ok_or("there is no statement")?;
    let anchor = outside_of_loops(anchor, function, call);
    if let Some(join) = joins.iter().find(|join| *lines(**join).start() > before) {
        return moved_up(source, *join, anchor, before);
    }
    if !joins.is_empty() {
        return Err(format!(
            "`{handle}` is joined on line {} already",
            joins.first().map_or(0, |it| *lines(*it).start())
        ));
    }
    let stays = not_detached(source, function, handle);
    if in_loop(call, function) {
        let text = unjoined::joining_loop(source, call, handle).ok_or_else(|| {
            format!(
                "the threads of line {created} are created in a loop: which of them is meant is not seen"
            )
        })?;
        return Ok(Joined {
            changes: with(line_before(source, anchor.start_byte(), &text), stays),
            at: None,
            before,
            is_loop: true,
        });
    }
    let name = callee(source, call).replace("create", "join");
    let text = format!("{name}({handle}, NULL);");
    Ok(Joined {
        changes: with(line_before(source, anchor.start_byte(), &text), stays),
        at: None,
        before,
        is_loop: false,
    })
}

fn with(join: Change, other: Option<Change>) -> Vec<Change> {
    std::iter::once(join).chain(other).collect()
}

/// Removes the statement of a function that detaches the thread of a handle: it could not be joined.
fn not_detached(source: &ParsedSource, function: Node<'_>, handle: &str) -> Option<Change> {
    let is_it = |call: &Node<'_>| {
        let detached = unjoined::detached(source, *call);
        detached.is_some_and(|name| family(name) == family(handle))
    };
    let statement = calls(function).find(is_it)?.parent()?;
    let is_plain = statement.kind() == "expression_statement";
    is_plain.then(|| remove_statement(source, statement))
}

/// The outermost loop around a statement that creates no threads: they are joined once.
fn outside_of_loops<'t>(statement: Node<'t>, function: Node<'t>, creates: Node<'t>) -> Node<'t> {
    let (mut outermost, mut around) = (statement, statement.parent());
    while let Some(node) = around.filter(|node| *node != function) {
        if node.byte_range().contains(&creates.start_byte()) {
            break;
        }
        if is_loop(node) {
            outermost = node;
        }
        around = node.parent();
    }
    outermost
}

/// Moves the join (with the loop around it) before the other statement.
fn moved_up(
    source: &ParsedSource,
    join: Node<'_>,
    anchor: Node<'_>,
    before: u32,
) -> Result<Joined, EditRefusal> {
    let line = *lines(join).start();
    let (_, place) = at(source, line)?;
    let mut whole = *place.statements().first().ok_or("there is no statement")?;
    while let Some(parent) = whole.parent()
        && whole.parent() != anchor.parent()
    {
        whole = parent;
    }
    if whole.parent() != anchor.parent() {
        return Err(format!("the join on line {line} is not in the same block"));
    }
    let text = source.str(whole).to_owned();
    Ok(Joined {
        changes: vec![
            line_before(source, anchor.start_byte(), &text),
            remove(source, whole.start_byte(), whole.end_byte()),
        ],
        at: Some(line),
        before,
        is_loop: whole != *place.statements().first().ok_or("there is no statement")?,
    })
}

/// Moves the statements of these lines before that on line `created`, in their order: assignments before the creation of the
/// thread that reads them, or a join before what the joined thread still uses.
///
/// # Errors
/// An error when they are not in one block, or one uses what is declared or set between them.
pub fn set_before(
    source: &ParsedSource,
    late: &[u32],
    created: u32,
) -> Result<Vec<Change>, EditRefusal> {
    let moves = late
        .iter()
        .map(|line| one_before(source, *line, late, created));
    let moves: Vec<[Change; 2]> = moves.collect::<Result<_, _>>()?;
    Ok(moves.into_iter().flatten().collect())
}

/// Moves the statement of one line; those of the lines `along` move as well, and are no hindrance.
fn one_before(
    source: &ParsedSource,
    late: u32,
    along: &[u32],
    created: u32,
) -> Result<[Change; 2], EditRefusal> {
    let (function, setting) = at(source, late)?;
    let (other, creating) = at(source, created)?;
    if function != other {
        return Err(format!(
            "lines {created} and {late} are in different functions"
        ));
    }
    let (Some(&what), Some(&anchor)) =
        (setting.statements().first(), creating.statements().first())
    else {
        return Err("there is no statement".to_owned());
    };
    if what.parent() != anchor.parent() || what.kind() == "declaration" {
        return Err(format!(
            "line {late} cannot be moved before line {created}: they are not statements of one block"
        ));
    }
    let (first, last) = (anchor.start_byte(), what.start_byte());
    let mut between = setting.list.iter().filter(|node| {
        let moves = along.contains(lines(**node).start());
        (first..last).contains(&node.start_byte()) && !moves
    });
    if let Some(node) = between.find(|node| sets_for(source, **node, what)) {
        return Err(format!(
            "line {late} cannot be moved before line {created}: it uses what line {} sets",
            lines(*node).start()
        ));
    }
    Ok([
        line_before(source, first, source.str(what)),
        remove(source, what.start_byte(), what.end_byte()),
    ])
}

/// Returns whether a statement declares or sets what another one uses.
fn sets_for(source: &ParsedSource, node: Node<'_>, user: Node<'_>) -> bool {
    let names = descendants(node)
        .into_iter()
        .filter_map(|inner| match inner.kind() {
            "init_declarator" => inner.child_by_field_name("declarator"),
            "assignment_expression" => inner.child_by_field_name("left"),
            // What it is initialized with is only used.
            "declaration" => inner
                .child_by_field_name("declarator")
                .filter(|declarator| declarator.kind() != "init_declarator"),
            _ => None,
        });
    names.into_iter().any(|name| is_used(source, name, user))
}

/// Returns whether a statement uses what is set: the very member of an object, or any of a variable's names.
fn is_used(source: &ParsedSource, set: Node<'_>, by: Node<'_>) -> bool {
    let mut used = descendants(by).into_iter();
    match set.kind() {
        "field_expression" => used.any(|node| source.str(node) == source.str(set)),
        _ => {
            let used: Vec<&str> = words(source, by);
            words(source, set).iter().any(|word| used.contains(word))
        }
    }
}

fn words<'s>(source: &'s ParsedSource, node: Node<'_>) -> Vec<&'s str> {
    let all = descendants(node).into_iter();
    all.filter(|node| node.kind() == "identifier")
        .map(|node| source.str(node))
        .collect()
}

pub(super) fn argument<'s>(
    source: &'s ParsedSource,
    call: Node<'_>,
    nth: usize,
) -> Option<&'s str> {
    let arguments = call.child_by_field_name("arguments")?;
    super::source::children(arguments)
        .get(nth)
        .map(|node| source.str(*node))
}

/// The family of a handle, which `threads[i]` and `threads[0]` share.
pub(super) fn family(handle: &str) -> &str {
    handle
        .split('[')
        .next()
        .unwrap_or(handle)
        .trim_start_matches('&')
        .trim()
}

fn in_loop(node: Node<'_>, function: Node<'_>) -> bool {
    let mut around = node.parent();
    while let Some(parent) = around.filter(|parent| *parent != function) {
        if is_loop(parent) {
            return true;
        }
        around = parent.parent();
    }
    false
}

pub(super) fn is_loop(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "for_statement" | "while_statement" | "do_statement" | "for_range_loop"
    )
}
