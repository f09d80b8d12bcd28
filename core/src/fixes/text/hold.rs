//! Holds a mutex from one line to another of a function: locks around them, widens the critical section that
//! contains one of them, or merges several.

use super::{
    EditRefusal,
    change::{Change, line_after, line_before},
    flow::{FlowWalk, MutexState},
    guard,
    locks::{
        LockOperation, LockStyle, Mutex, callee, calls, exclusive_call, guarded, is_exclusive_call,
        operation, same, statement_operation,
    },
    source::{ParsedSource, Range, bodies, descendants, lines, range, statements},
    watch::FileFunctions,
};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Lines of a function that should be atomic.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AtomicLines {
    /// First line.
    pub first: u32,
    /// Last line.
    pub last: u32,
}

/// One of the statements over which a mutex is held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldStatement {
    /// Its first line.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// `true` if it contains a loop.
    pub is_loop: bool,
    /// Names of the functions that it calls.
    pub calls: Vec<String>,
}

/// Result of holding the mutex.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HoldResult {
    /// The changes; none when it is held already.
    pub changes: Vec<Change>,
    /// The first line, in the original text, on which it is held.
    pub first: u32,
    /// The last line.
    pub last: u32,
    /// Number of critical sections of the mutex that are merged.
    pub joined: u32,
    /// `true` if the first statement acquires it already.
    pub opens: bool,
    /// `true` if the first statement acquired it for reading, and does for writing after the changes.
    pub for_writing: bool,
    /// The line on which the scope ends until whose end an object holds it: objects of these lines are destroyed there. 0
    /// where no object holds it.
    pub ends: u32,
    /// The statements over which it is held.
    pub parts: Vec<HeldStatement>,
}

/// Holds the mutex over the lines.
///
/// # Errors
/// The reason why it cannot be right: an exit that is not understood, a wait, a lock that is held on one path
/// only.
pub fn hold(
    source: &ParsedSource,
    mutex: &Mutex,
    wanted: &AtomicLines,
) -> Result<HoldResult, EditRefusal> {
    let function = source.body_around(wanted.first)?;
    let watch = FileFunctions::new(source, mutex);
    let at = range(function, wanted.first, wanted.last)?;
    if mutex.style == LockStyle::Guard {
        return guard::hold(source, mutex, &watch, function, at);
    }
    let at = widened(source, mutex, function, at)?;
    if is_one_section(source, mutex, &at) {
        return Ok(kept(source, &at, Vec::new(), 1));
    }
    let Some((first, last)) = ends(&at) else {
        return Err(source.outside(wanted.first));
    };
    let mut flow = FlowWalk {
        source,
        mutex,
        watch: &watch,
        bytes: first.start_byte()..last.end_byte(),
        region: wanted.first..=wanted.last,
        returns: returned(source, function),
        releases: false,
        ahead: BTreeMap::new(),
        free_at: BTreeSet::new(),
        parted_at: None,
        changes: Vec::new(),
    };
    let opens = mutex.operation(source, first) == Some(LockOperation::Lock);
    let closes =
        mutex.operation(source, last) == Some(LockOperation::Unlock) && at.first != at.last;
    let inner = at
        .list
        .get(at.first + usize::from(opens)..at.last + usize::from(!closes));
    let begin = MutexState {
        was: opens,
        is: true,
    };
    let end = flow.follow(inner.unwrap_or(&[]), begin)?;
    let mut changes = flow.changes;
    let writing = for_writing(source, mutex, &at).filter(|_| opens);
    let for_writing = writing.is_some();
    changes.extend(writing);
    if let Some(end) = end
        && (!end.is || end.was != closes)
    {
        return Err(format!(
            "at line {} the lock is not held on every way",
            lines(last).end()
        ));
    }
    put_around(
        source,
        mutex,
        &at,
        (!opens, !closes && end.is_some()),
        &mut changes,
    );
    let sections = sections(source, mutex, &at);
    Ok(HoldResult {
        opens,
        for_writing,
        ..kept(source, &at, changes, sections)
    })
}

/// The lines extended by the critical sections of other mutexes that contain them: a mutex acquired outside
/// of these can nowhere be waited for with one of them held.
pub fn around_others(source: &ParsedSource, wanted: &AtomicLines) -> AtomicLines {
    let mut grown = wanted.clone();
    while let Some(next) = once_around(source, &grown).filter(|next| *next != grown) {
        grown = next;
    }
    grown
}

fn once_around(source: &ParsedSource, wanted: &AtomicLines) -> Option<AtomicLines> {
    let function = source.function(wanted.first)?;
    let mut at = range(function, wanted.first, wanted.last).ok()?;
    loop {
        let mut before = at.list.get(..at.first)?.iter().rev();
        if let Some(guard) = before.find(|node| guarded(source, **node).is_some()) {
            return Some(AtomicLines {
                first: *lines(*guard).start(),
                last: wanted.last,
            });
        }
        let inner = at.list.get(..at.first)?.iter().rev();
        let mut taken = inner.filter_map(|node| Some((node, statement_operation(source, *node)?)));
        if let Some((node, found)) = taken
            .next()
            .filter(|(_, found)| found.what == LockOperation::Lock)
        {
            let mutex = Mutex {
                object: found.object,
                style: found.style,
            };
            let rest = at.list.get(at.last + 1..)?;
            let end = rest
                .iter()
                .find(|node| mutex.operation(source, **node) == Some(LockOperation::Unlock));
            let last = end.map_or(wanted.last, |node| *lines(*node).end());
            return Some(AtomicLines {
                first: *lines(*node).start(),
                last,
            });
        }
        at = at.outer(function)?;
    }
}

fn ends<'t>(at: &Range<'t>) -> Option<(Node<'t>, Node<'t>)> {
    Some((*at.statements().first()?, *at.statements().last()?))
}

fn kept(source: &ParsedSource, at: &Range<'_>, changes: Vec<Change>, joined: u32) -> HoldResult {
    let (first, last) = ends(at).map_or((0, 0), |(first, last)| {
        (first.start_byte(), last.end_byte())
    });
    HoldResult {
        changes,
        first: source.line(first),
        last: source.line(last),
        joined,
        opens: false,
        for_writing: false,
        ends: 0,
        parts: parts(source, at.statements()),
    }
}

/// Attributes of statements.
pub(super) fn parts(source: &ParsedSource, statements: &[Node<'_>]) -> Vec<HeldStatement> {
    let part = |node: &Node<'_>| {
        let lines = lines(*node);
        HeldStatement {
            first: *lines.start(),
            last: *lines.end(),
            is_loop: goes_round(*node),
            calls: calls(*node)
                .map(|call| callee(source, call).to_owned())
                .collect(),
        }
    };
    statements.iter().map(part).collect()
}

const LOOPS: [&str; 4] = [
    "while_statement",
    "for_statement",
    "do_statement",
    "for_range_loop",
];

/// Returns whether a node contains a loop.
pub fn goes_round(node: Node<'_>) -> bool {
    descendants(node)
        .iter()
        .any(|node| LOOPS.contains(&node.kind()))
}

/// The lines of the innermost loop that goes round these lines of a function.
pub fn loop_around(source: &ParsedSource, wanted: &AtomicLines) -> Option<AtomicLines> {
    let all = descendants(source.function(wanted.first)?).into_iter();
    let around = all.filter(|node| {
        let own = lines(*node);
        LOOPS.contains(&node.kind()) && own.contains(&wanted.first) && own.contains(&wanted.last)
    });
    let inner = around.min_by_key(|node| node.byte_range().len())?;
    Some(AtomicLines {
        first: *lines(inner).start(),
        last: *lines(inner).end(),
    })
}

/// Turns a reader's section that takes in a writer's into a writer's.
fn for_writing(source: &ParsedSource, mutex: &Mutex, at: &Range<'_>) -> Option<Change> {
    let is_own = |node: &Node<'_>| {
        let found = operation(source, *node);
        found.is_some_and(|found| same(&found.object, &mutex.object))
    };
    let (first, rest) = at.statements().split_first()?;
    let mut rest = rest.iter().flat_map(|node| descendants(*node));
    rest.find(|node| is_own(node) && is_exclusive_call(source, *node))?;
    let mut begins = descendants(*first).into_iter().filter(is_own);
    begins.find_map(|node| exclusive_call(source, node))
}

/// Inserts lock and unlock, in braces where the statement stands alone.
fn put_around(
    source: &ParsedSource,
    mutex: &Mutex,
    at: &Range<'_>,
    (before, after): (bool, bool),
    changes: &mut Vec<Change>,
) {
    let Some((first, last)) = ends(at) else {
        return;
    };
    let in_block = matches!(at.block.kind(), "compound_statement" | "case_statement");
    if in_block {
        if before {
            changes.insert(
                0,
                line_before(source, first.start_byte(), &mutex.lock(source)),
            );
        }
        if after {
            changes.push(line_after(
                source,
                last.start_byte(),
                last.end_byte(),
                &mutex.unlock(source),
            ));
        }
        return;
    }
    let begin = source.slice(0, first.start_byte()).trim_end().len();
    let outer = source.indent(begin).to_owned();
    let inner = format!("{outer}{}", source.unit());
    changes.insert(
        0,
        Change {
            start: begin,
            end: first.start_byte(),
            text: format!(" {{\n{inner}{}\n{inner}", mutex.lock(source)),
        },
    );
    changes.push(Change::insert(
        last.end_byte(),
        format!("\n{inner}{}\n{outer}}}", mutex.unlock(source)),
    ));
}

/// The range extended by the critical sections that begin or end in it.
fn widened<'t>(
    source: &ParsedSource,
    mutex: &Mutex,
    function: Node<'t>,
    at: Range<'t>,
) -> Result<Range<'t>, EditRefusal> {
    let mut at = at;
    loop {
        let mut grown = at.clone();
        let held = |index: usize| held_before(source, mutex, function, &at, index);
        if held(at.first) {
            let list = at.list.get(..at.first).unwrap_or(&[]);
            match list
                .iter()
                .rposition(|node| mutex.operation(source, *node) == Some(LockOperation::Lock))
            {
                Some(begin) => grown.first = begin,
                None => grown = outer(source, mutex, &at, function)?,
            }
        }
        if grown.block == at.block && held(at.last + 1) {
            let rest = at.list.get(at.last + 1..).unwrap_or(&[]);
            match rest
                .iter()
                .position(|node| gives_back(source, mutex, *node))
            {
                Some(more) => grown.last = at.last + 1 + more,
                None if ends_by_leaving(&at) => {}
                None => grown = outer(source, mutex, &at, function)?,
            }
        }
        let same = grown.block == at.block && (grown.first, grown.last) == (at.first, at.last);
        if same {
            return Ok(at);
        }
        at = grown;
    }
}

/// Returns whether a statement releases the mutex on every path that continues after it.
fn gives_back(source: &ParsedSource, mutex: &Mutex, node: Node<'_>) -> bool {
    if mutex.operation(source, node) == Some(LockOperation::Unlock) {
        return true;
    }
    let ends = |body: Node<'_>| {
        let list = statements(body);
        let mut own = list.iter().rev();
        let last = own.find_map(|node| mutex.operation(source, *node));
        last == Some(LockOperation::Unlock)
            || list.iter().any(|node| gives_back(source, mutex, *node))
    };
    match node.kind() {
        "compound_statement" => ends(node),
        "if_statement" => {
            let both = bodies(node);
            both.len() == 2 && both.into_iter().all(ends)
        }
        _ => false,
    }
}

fn ends_by_leaving(at: &Range<'_>) -> bool {
    let last = at.statements().last().map_or("", |node| node.kind());
    matches!(
        last,
        "return_statement"
            | "throw_statement"
            | "break_statement"
            | "continue_statement"
            | "goto_statement"
    )
}

fn outer<'t>(
    source: &ParsedSource,
    mutex: &Mutex,
    at: &Range<'t>,
    function: Node<'t>,
) -> Result<Range<'t>, EditRefusal> {
    let line = at
        .statements()
        .first()
        .map_or(0, |node| *lines(*node).start());
    at.outer(function).ok_or_else(|| {
        let inner = descendants(function).into_iter();
        let gives =
            inner.filter(|node| mutex.operation(source, *node) == Some(LockOperation::Unlock));
        let gives: Vec<String> = gives.map(|node| lines(node).start().to_string()).collect();
        match gives.as_slice() {
            [] => format!(
                "the critical section around line {line} begins or ends outside of its function"
            ),
            all => format!(
                "the critical section around line {line} also ends in a nested block (line {})",
                all.join(", line ")
            ),
        }
    })
}

/// Returns whether the mutex was held before the statement `index` of the list.
fn held_before(
    source: &ParsedSource,
    mutex: &Mutex,
    function: Node<'_>,
    at: &Range<'_>,
    index: usize,
) -> bool {
    let before = at.list.get(..index).unwrap_or(&[]).iter().rev();
    let mut operations = before.filter_map(|node| {
        let given = || gives_back(source, mutex, *node).then_some(LockOperation::Unlock);
        mutex.operation(source, *node).or_else(given)
    });
    match (operations.next(), at.outer(function)) {
        (Some(operation), _) => operation == LockOperation::Lock,
        (None, Some(outer)) => held_before(source, mutex, function, &outer, outer.first),
        (None, None) => false,
    }
}

/// Number of critical sections that begin in the range.
fn sections(source: &ParsedSource, mutex: &Mutex, at: &Range<'_>) -> u32 {
    let all = at.statements().iter().flat_map(|node| descendants(*node));
    all.filter(|node| mutex.operation(source, *node) == Some(LockOperation::Lock))
        .count() as u32
}

/// Returns whether the range goes from one lock statement to its unlock statement.
fn is_one_section(source: &ParsedSource, mutex: &Mutex, at: &Range<'_>) -> bool {
    let operations = at
        .statements()
        .iter()
        .filter_map(|node| mutex.operation(source, *node));
    let operations: Vec<LockOperation> = operations.collect();
    let begins = ends(at)
        .is_some_and(|(first, _)| mutex.operation(source, first) == Some(LockOperation::Lock));
    let ends = ends(at)
        .is_some_and(|(_, last)| mutex.operation(source, last) == Some(LockOperation::Unlock));
    begins && ends && operations.len() == 2
}

/// The return type of a function, as its definition writes it.
pub(super) fn returned(source: &ParsedSource, function: Node<'_>) -> Option<String> {
    let kind = source.str(function.child_by_field_name("type")?).to_owned();
    let mut declarator = function.child_by_field_name("declarator")?;
    let mut stars = String::new();
    while declarator.kind() == "pointer_declarator" {
        stars.push('*');
        declarator = declarator.child_by_field_name("declarator")?;
    }
    match stars.is_empty() {
        true => Some(kind),
        false => Some(format!("{kind} {stars}")),
    }
}
