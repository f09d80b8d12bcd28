//! Waits behind functions of the program's own, as `cv_wait(&queue->filled)`, with those by which it wakes who waits.

use super::{
    EditRefusal,
    guard::every,
    locks::{callee, calls, last_name},
    signals::{WaitText, WakeCall, loop_around, of_call, wakes_all},
    source::{ParsedSource, descendants, lines, parameters},
    watch::name,
};
use tree_sitter::Node;

/// The wait on a line that calls a function of the program's own, which waits on `inner`.
///
/// # Errors
/// An error when the line does not call it, nothing checks again after it, or no other function wakes who waits so.
pub fn waiting_through(
    source: &ParsedSource,
    line: u32,
    (own, inner): (&ParsedSource, u32),
) -> Result<WaitText, EditRefusal> {
    let unseen = || format!("no wait is seen on line {line}");
    let wrapper = own.function(inner).ok_or_else(unseen)?;
    let called = name(own, wrapper).ok_or_else(unseen)?;
    let mut on_line = calls(source.function(line).ok_or_else(unseen)?)
        .filter(|call| lines(*call).contains(&line) && callee(source, *call) == called);
    let call = on_line.next().ok_or_else(unseen)?;
    let condition = of_call(source, call).ok_or_else(unseen)?;
    let around = loop_around(call)
        .ok_or_else(|| format!("nothing looks again after the wait on line {line}"))?;
    let sibling = waking(own, wrapper, inner)
        .ok_or_else(|| format!("no function is seen that wakes who waits by `{called}`"))?;
    let is_method = call
        .child_by_field_name("function")
        .is_some_and(|function| function.child_by_field_name("field").is_some());
    Ok(WaitText {
        name: last_name(&condition).to_owned(),
        looks: lines(around),
        wakes: match is_method {
            true => WakeCall::Method(sibling),
            false => WakeCall::Function(sibling),
        },
    })
}

/// The name of the function that does nothing but wake all who wait on the condition that `wrapper` waits on.
fn waking(source: &ParsedSource, wrapper: Node<'_>, line: u32) -> Option<String> {
    let mut waits = calls(wrapper).filter(|call| lines(*call).contains(&line));
    let condition = waits.find_map(|call| of_call(source, call))?;
    let own = parameters(source, wrapper);
    let functions = every(source).into_iter();
    let mut functions = functions.filter(|node| node.kind() == "function_definition");
    let found = functions.find(|function| {
        let taken = parameters(source, *function);
        let is_like = taken.len() <= 1 && taken.iter().zip(&own).all(|(a, b)| a == b);
        is_like && wakes_only(source, *function, &condition)
    })?;
    name(source, found).map(str::to_owned)
}

fn wakes_only(source: &ParsedSource, function: Node<'_>, condition: &str) -> bool {
    let changes = ["assignment_expression", "update_expression"];
    let body = function.child_by_field_name("body");
    let mut inner = body.map(descendants).unwrap_or_default().into_iter();
    let wakes = |call: Node<'_>| {
        wakes_all(source, call) && of_call(source, call).as_deref() == Some(condition)
    };
    calls(function).any(wakes) && !inner.any(|node| changes.contains(&node.kind()))
}
