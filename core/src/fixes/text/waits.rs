//! `while` instead of `if` around a wait.

use super::{
    Refusal,
    change::Change,
    locks::{callee, calls},
    source::{Source, bodies, lines},
};

/// Calls that wait on a condition variable.
const WAITS: [&str; 6] = [
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "cnd_wait",
    "cnd_timedwait",
    "wait",
    "wait_for",
];

/// Replaces `if` by `while` around the wait on `line`.
///
/// # Errors
/// An error when the wait is not the body of an `if` without `else`, or the `if` does more than waiting.
pub fn look_again(source: &Source, line: u32) -> Result<(Vec<Change>, u32), Refusal> {
    let function = source
        .function(line)
        .ok_or_else(|| format!("line {line} is in no function of this file"))?;
    let mut waits = calls(function)
        .filter(|call| WAITS.contains(&callee(source, *call)) && lines(*call).contains(&line));
    let mut node = waits
        .next()
        .ok_or_else(|| format!("no wait is seen on line {line}"))?;
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
