//! Names in a caller for locks that its callee gets through an argument.

use super::text::{
    function_name,
    locks::{self, Mutex},
    source::{ParsedSource, children, lines, parameters},
};

/// Name in a function for the lock that one of its calls is given through an argument: `boxes[i].lock` where
/// `f(&boxes[i])` uses `box->lock`.
pub(super) fn through_call(
    (outer, line): (&ParsedSource, u32),
    (inner, used): (&ParsedSource, u32),
    mutex: &Mutex,
) -> Option<Mutex> {
    let callee = inner.function(used)?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let object = mutex.object.as_str();
    let (root, path) = object.split_at(object.find(|c| !is_word(c))?);
    let nth = parameters(inner, callee)
        .iter()
        .position(|name| *name == root)?;
    let name = function_name(inner, callee)?;
    let name = name.rsplit("::").next().unwrap_or(name);
    let mut calls = locks::calls(outer.function(line)?)
        .filter(|call| lines(*call).contains(&line) && locks::callee(outer, *call) == name);
    let arguments = children(calls.next()?.child_by_field_name("arguments")?);
    let given = outer.str(*arguments.get(nth)?);
    let object = match (given.strip_prefix('&'), path.strip_prefix("->")) {
        (Some(object), Some(field)) => format!("{object}.{field}"),
        _ => format!("{given}{path}"),
    };
    Some(Mutex {
        object,
        style: mutex.style,
    })
}
