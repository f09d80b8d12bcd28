//! Reordering of two lock statements of a function.

use super::{
    EditRefusal,
    change::{Change, line_before, remove},
    locks::{LockOperation, Mutex, guarded, operation},
    source::{ParsedSource, Range, descendants, lines, range},
};
use tree_sitter::Node;

/// Acquires the lock of line `wanted` right before that of line `held`.
///
/// # Errors
/// An error when the two statements are not in one block, or a statement between them leaves or releases the
/// lock.
pub fn earlier(source: &ParsedSource, held: u32, wanted: u32) -> Result<Vec<Change>, EditRefusal> {
    let (at, first, second) = both(source, held, wanted)?;
    let between = at.list.get(at.first + 1..at.last).unwrap_or(&[]);
    let leaves = |node: &&Node<'_>| {
        descendants(**node).into_iter().any(|node| {
            matches!(
                node.kind(),
                "return_statement"
                    | "goto_statement"
                    | "break_statement"
                    | "continue_statement"
                    | "throw_statement"
            )
        })
    };
    if let Some(node) = between.iter().find(leaves) {
        return Err(format!(
            "line {} leaves between the two locks",
            lines(*node).start()
        ));
    }
    if let Some(mutex) = taken(source, second)
        && between.iter().any(|node| {
            descendants(*node)
                .into_iter()
                .any(|inner| mutex.operation(source, inner).is_some())
        })
    {
        return Err(format!(
            "the lock of line {wanted} is taken in between as well"
        ));
    }
    Ok(vec![
        line_before(source, first.start_byte(), source.str(second)),
        remove(source, second.start_byte(), second.end_byte()),
    ])
}

/// Acquires the two locks in the order of their addresses, or both at once by `std::scoped_lock`.
///
/// # Errors
/// An error when the two statements do not follow each other.
pub fn by_address(
    source: &ParsedSource,
    held: u32,
    wanted: u32,
) -> Result<Vec<Change>, EditRefusal> {
    let (at, first, second) = both(source, held, wanted)?;
    if at.last != at.first + 1 {
        return Err(format!(
            "something is done between the locks of lines {held} and {wanted}"
        ));
    }
    if let (Some((one, name)), Some((other, _))) = (guarded(source, first), guarded(source, second))
    {
        let text = format!(
            "std::scoped_lock {name}({}, {});",
            one.join(", "),
            other.join(", ")
        );
        let replaced = Change {
            start: first.start_byte(),
            end: first.end_byte(),
            text,
        };
        return Ok(vec![
            replaced,
            remove(source, second.start_byte(), second.end_byte()),
        ]);
    }
    let (Some(one), Some(other)) = (taken(source, first), taken(source, second)) else {
        return Err(format!("lines {held} and {wanted} are not plain locks"));
    };
    if let Some(mutex) = [&one, &other]
        .into_iter()
        .find(|mutex| !mutex.has_address())
    {
        return Err(format!(
            "`{}` is not given the lock, whose address decides",
            mutex.lock(source).trim_end_matches(';')
        ));
    }
    let address = |mutex: &Mutex| {
        mutex
            .object
            .strip_prefix('*')
            .map_or_else(|| format!("&{}", mutex.object), str::to_owned)
    };
    let (outer, unit) = (source.indent(first.start_byte()).to_owned(), source.unit());
    let inner = format!("{outer}{unit}");
    let text = format!(
        "if ({} < {}) {{\n{inner}{}\n{inner}{}\n{outer}}} else {{\n{inner}{}\n{inner}{}\n{outer}}}",
        address(&one),
        address(&other),
        one.lock(source),
        other.lock(source),
        other.lock(source),
        one.lock(source),
    );
    Ok(vec![Change {
        start: first.start_byte(),
        end: second.end_byte(),
        text,
    }])
}

fn taken(source: &ParsedSource, statement: Node<'_>) -> Option<Mutex> {
    let mut calls = super::locks::calls(statement).filter_map(|call| operation(source, call));
    let found = calls.find(|found| found.what == LockOperation::Lock)?;
    Some(Mutex {
        object: found.object,
        style: found.style,
    })
}

/// The two statements, the one on line `held` first.
fn both<'t>(
    source: &'t ParsedSource,
    held: u32,
    wanted: u32,
) -> Result<(Range<'t>, Node<'t>, Node<'t>), EditRefusal> {
    let apart = || {
        let held = source.line_in_words(held);
        format!(
            "{held} and line {wanted} there are not two statements of one block that take the locks"
        )
    };
    let function = source.function(held).ok_or_else(apart)?;
    let at = range(function, held.min(wanted), held.max(wanted))?;
    let (Some(&first), Some(&second)) = (at.list.get(at.first), at.list.get(at.last)) else {
        return Err(apart());
    };
    let is_lock = |node: Node<'_>| {
        guarded(source, node).is_some()
            || node.kind() == "expression_statement" && taken(source, node).is_some()
    };
    match held < wanted && is_lock(first) && is_lock(second) {
        true => Ok((at, first, second)),
        false => Err(apart()),
    }
}
