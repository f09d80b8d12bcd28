//! `while` instead of `if` around a wait.

use super::{
    EditRefusal,
    change::Change,
    signals,
    source::{ParsedSource, bodies, lines},
};

/// Replaces `if` by `while` around the wait on `line`.
///
/// # Errors
/// An error when the wait is not the body of an `if` without `else`, or the `if` does more after it.
pub fn look_again(source: &ParsedSource, line: u32) -> Result<(Vec<Change>, u32), EditRefusal> {
    let wait = signals::call_on(source, line)?;
    if wait.has_predicate {
        return Err(format!(
            "the wait on line {line} looks at its predicate again already"
        ));
    }
    let mut node = wait.call;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            "while_statement" | "do_statement" | "for_statement" => {
                return Err(format!("the wait on line {line} is in a loop already"));
            }
            "if_statement" => break,
            _ => node = parent,
        }
    }
    let around = node
        .parent()
        .ok_or_else(|| format!("the wait on line {line} is not in an `if`"))?;
    let at = *lines(around).start();
    if around.child_by_field_name("alternative").is_some() {
        return Err(format!("the `if` on line {at} has an `else`"));
    }
    // What comes before the wait is done again with each look; what comes after it was to be done once.
    let is_last = |body: tree_sitter::Node<'_>| {
        let last = super::source::statements(body).into_iter().next_back();
        last.is_some_and(|node| lines(node).contains(&line))
    };
    if !bodies(around).into_iter().all(is_last) {
        return Err(format!("the `if` on line {at} does more after the wait"));
    }
    let keyword = Change {
        start: around.start_byte(),
        end: around.start_byte() + "if".len(),
        text: "while".to_owned(),
    };
    Ok((vec![keyword], at))
}
