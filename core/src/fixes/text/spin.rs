//! Loops that wait for another thread: nothing in them changes the data they depend on.

use super::{
    locks::callee,
    source::{ParsedSource, children, descendants},
};
use tree_sitter::Node;

/// Calls that change no data that a loop depends on, or only once another thread has let go.
const LOOKING: [&str; 24] = [
    "load",
    "test",
    "test_and_set",
    "exchange",
    "try_lock",
    "atomic_load",
    "atomic_load_explicit",
    "atomic_exchange",
    "atomic_exchange_explicit",
    "atomic_flag_test_and_set",
    "atomic_flag_test_and_set_explicit",
    "__atomic_load_n",
    "__atomic_exchange_n",
    "__atomic_test_and_set",
    "__sync_lock_test_and_set",
    "pthread_mutex_trylock",
    "pthread_spin_trylock",
    "sleep",
    "usleep",
    "nanosleep",
    "sleep_for",
    "sched_yield",
    "thrd_yield",
    "yield",
];

/// Returns whether a loop only reads and yields until another thread changes something.
pub fn spins(source: &ParsedSource, node: Node<'_>) -> bool {
    let is_loop = matches!(
        node.kind(),
        "while_statement" | "do_statement" | "for_statement"
    );
    let goes_on = |inner: &Node<'_>| match inner.kind() {
        "assignment_expression" | "update_expression" | "co_await_expression" => true,
        "call_expression" => !only_looks(source, *inner),
        _ => false,
    };
    is_loop && !descendants(node).iter().any(goes_on) && !leaves_at_once(node)
}

/// Returns whether a call reads or yields. One without arguments that is no member's, as `cpu_relax()`, can
/// only yield for the loop.
fn only_looks(source: &ParsedSource, call: Node<'_>) -> bool {
    let function = call.child_by_field_name("function");
    let is_member = function.is_some_and(|function| function.kind() == "field_expression");
    let arguments = call.child_by_field_name("arguments").map(children);
    let is_alone = arguments.is_none_or(|arguments| arguments.is_empty());
    LOOKING.contains(&callee(source, call)) || is_alone && !is_member && is_pause(source, call)
}

fn is_pause(source: &ParsedSource, call: Node<'_>) -> bool {
    let name = callee(source, call);
    ["pause", "relax", "yield", "nop"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns whether the body ends in an exit, whatever it reads.
fn leaves_at_once(node: Node<'_>) -> bool {
    let body = node
        .child_by_field_name("body")
        .map(|body| match body.kind() {
            "compound_statement" => children(body).last().copied(),
            _ => Some(body),
        });
    let last = body.flatten();
    last.is_some_and(|last| {
        matches!(
            last.kind(),
            "return_statement" | "break_statement" | "goto_statement" | "throw_statement"
        )
    })
}
