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
/// An error when the wait is not the body of an `if` without `else`, or the `if` does more than waiting.
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
    let only = bodies(around)
        .into_iter()
        .all(|body| super::source::statements(body).len() == 1);
    if !only {
        return Err(format!("the `if` on line {at} does more than wait"));
    }
    let keyword = Change {
        start: around.start_byte(),
        end: around.start_byte() + "if".len(),
        text: "while".to_owned(),
    };
    Ok((vec![keyword], at))
}
