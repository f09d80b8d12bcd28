//! Signals of condition variables: the checks of a wait, the name of a condition, and one signal more.

use super::{
    EditRefusal,
    change::{Change, line_after},
    locks::{callee, calls, last_name},
    source::{ParsedSource, children, descendants, lines, range},
};
use std::ops::RangeInclusive;
use tree_sitter::Node;

/// The call that wakes all waiters of a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum WakeCall {
    /// A function with the condition as its argument.
    Function(String),
    /// A method of the condition.
    Method(String),
}

/// A wait on a condition variable, as the text has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitText {
    /// The last part of the condition's name.
    pub name: String,
    /// The lines of the loop that checks the condition's data, or those of a wait with a predicate.
    pub looks: RangeInclusive<u32>,
    pub(super) wakes: WakeCall,
}

/// Functions that wait on a condition, with those that wake all who wait.
const FUNCTIONS: [(&str, &str); 6] = [
    ("pthread_cond_wait", "pthread_cond_broadcast"),
    ("pthread_cond_timedwait", "pthread_cond_broadcast"),
    ("cnd_wait", "cnd_broadcast"),
    ("cnd_timedwait", "cnd_broadcast"),
    ("g_cond_wait", "g_cond_broadcast"),
    ("g_cond_wait_until", "g_cond_broadcast"),
];

/// Methods that wait, with the number of arguments of one that has a predicate.
const METHODS: [(&str, usize); 3] = [("wait", 2), ("wait_for", 3), ("wait_until", 3)];

/// The method that wakes all who wait.
const WAKES_ALL: &str = "notify_all";

/// The wait on a line.
///
/// # Errors
/// An error when there is none, or nothing checks again after it.
pub fn waiting(source: &ParsedSource, line: u32) -> Result<WaitText, EditRefusal> {
    let wait = call_on(source, line)?;
    let unseen = || format!("it is not seen what the wait on line {line} waits for");
    let condition = of_call(source, wait.call).ok_or_else(unseen)?;
    let looks = match wait.has_predicate {
        true => lines(wait.call),
        false => loop_around(wait.call)
            .map(lines)
            .ok_or_else(|| format!("nothing looks again after the wait on line {line}"))?,
    };
    Ok(WaitText {
        name: last_name(&condition).to_owned(),
        looks,
        wakes: wait.wakes,
    })
}

/// A call that waits on a condition.
pub(in crate::fixes) struct WaitCall<'t> {
    pub call: Node<'t>,
    wakes: WakeCall,
    /// The call looks at a predicate again and again.
    pub has_predicate: bool,
}

/// The call on a line that waits on a condition.
///
/// # Errors
/// An error when there is none.
pub(in crate::fixes) fn call_on(
    source: &ParsedSource,
    line: u32,
) -> Result<WaitCall<'_>, EditRefusal> {
    let mut around = source.function(line);
    // A predicate on the same line is a function of its own, within the call.
    while let Some(node) = around {
        let mut waits = calls(node).filter(|call| lines(*call).contains(&line));
        if let Some(found) = waits.find_map(|call| known_wait(source, call)) {
            return Ok(found);
        }
        around = node.parent();
    }
    Err(format!("no wait is seen on line {line}"))
}

fn known_wait<'t>(source: &ParsedSource, call: Node<'t>) -> Option<WaitCall<'t>> {
    let name = callee(source, call);
    if let Some((_, wakes)) = FUNCTIONS.iter().find(|(word, _)| *word == name) {
        return Some(WaitCall {
            call,
            wakes: WakeCall::Function((*wakes).to_owned()),
            has_predicate: false,
        });
    }
    let (_, predicate) = METHODS.iter().find(|(word, _)| *word == name)?;
    let arguments = call.child_by_field_name("arguments").map(children);
    Some(WaitCall {
        call,
        wakes: WakeCall::Method(WAKES_ALL.to_owned()),
        has_predicate: arguments.is_some_and(|all| all.len() >= *predicate),
    })
}

/// Returns whether a call wakes all who wait on a condition.
pub(super) fn wakes_all(source: &ParsedSource, call: Node<'_>) -> bool {
    let name = callee(source, call);
    name == WAKES_ALL || FUNCTIONS.iter().any(|(_, wakes)| *wakes == name)
}

/// The innermost loop around a node, in its function.
pub(super) fn loop_around(node: Node<'_>) -> Option<Node<'_>> {
    let mut around = node.parent();
    while let Some(node) = around {
        match node.kind() {
            "while_statement" | "do_statement" | "for_statement" => return Some(node),
            "function_definition" | "lambda_expression" => return None,
            _ => around = node.parent(),
        }
    }
    None
}

/// The condition variable that a call waits on or signals, as written: `&queue->full`, `changed_`.
pub fn of_call(source: &ParsedSource, call: Node<'_>) -> Option<String> {
    let function = call.child_by_field_name("function")?;
    if let Some(field) = function.child_by_field_name("field") {
        let owner = source.slice(function.start_byte(), field.start_byte());
        return Some(owner.trim_end_matches(['.', '>', '-']).to_owned());
    }
    let arguments = children(call.child_by_field_name("arguments")?);
    Some(source.str(*arguments.first()?).to_owned())
}

/// Name of the condition in a function that uses it: the receiver of a method, or the argument of a call.
pub fn named_in(source: &ParsedSource, line: u32, waiting: &WaitText) -> Option<String> {
    let function = source.function(line)?;
    let uses = |call: &Node<'_>| {
        let name = callee(source, *call);
        let name = name.to_ascii_lowercase();
        let words = ["signal", "broadcast", "notify", "wait", "wake"];
        words.iter().any(|word| name.contains(word))
    };
    let written = calls(function)
        .filter(uses)
        .filter_map(|call| of_call(source, call));
    let mut same = written.filter(|condition| last_name(condition) == waiting.name);
    same.next()
}

impl WaitText {
    /// The object as the argument of a call, or as a receiver.
    pub fn argument(&self, object: &str) -> String {
        match self.wakes {
            WakeCall::Method(_) => object.to_owned(),
            WakeCall::Function(_) => format!("&{object}"),
        }
    }

    /// The call that wakes all waiters, each of which checks again.
    pub fn wake_all(&self, argument: &str) -> String {
        match &self.wakes {
            WakeCall::Function(name) => format!("{name}({argument});"),
            WakeCall::Method(name) => format!("{argument}.{name}();"),
        }
    }
}

/// Inserts `statement` after the one on `line`.
///
/// # Errors
/// An error when the statement on the line may leave, or is the head of a loop or a condition.
pub fn behind(source: &ParsedSource, line: u32, statement: &str) -> Result<Change, EditRefusal> {
    let function = source.body_around(line)?;
    let place = range(function, line, line)?;
    let mut node = *place.statements().last().ok_or("there is no statement")?;
    while let Some(parent) = node.parent()
        && !matches!(parent.kind(), "compound_statement" | "case_statement")
    {
        node = parent;
    }
    let leaves = [
        "return_statement",
        "goto_statement",
        "break_statement",
        "continue_statement",
        "throw_statement",
    ];
    if descendants(node)
        .iter()
        .any(|inner| leaves.contains(&inner.kind()))
    {
        return Err(format!(
            "the statement on line {line} may leave before the signal"
        ));
    }
    Ok(line_after(
        source,
        node.start_byte(),
        node.end_byte(),
        statement,
    ))
}
