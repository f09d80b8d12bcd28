//! A flag that is looked at and then set, as one atomic exchange.

use super::{
    change::{Change, remove_statement},
    locks::calls,
    one_step::{AtomicForm, AtomicStore, loaded, replaced, statement_of},
    source::{ParsedSource, children, lines},
};
use tree_sitter::Node;

/// `if (flag.load()) return; flag.store(true);` and `if (!flag.load()) { flag.store(true); ... }`: who sets the flag learns
/// whether it was set before. `reads` is the line of the load.
pub(super) fn asked_and_set(
    source: &ParsedSource,
    store: &AtomicStore<'_>,
    reads: u32,
) -> Option<Vec<Change>> {
    let sets = truth(source.str(store.value))?;
    let statement = statement_of(store.node)?;
    let (asks, leaves) = asked_before(source, statement).map_or_else(
        || asked_around(statement).map(|asks| (asks, false)),
        |asks| Some((asks, true)),
    )?;
    let (load, is_negated) = asked(source, asks)?;
    let is_it = loaded(source, load)?.is(&store.form) && lines(load).contains(&reads);
    // The branch that leaves is that of the value which is stored, the one that stores that of the other value.
    let goes_there = is_negated != sets;
    (is_it && goes_there == leaves).then(|| {
        let text = exchanged(&store.form, source.str(store.value), source.is_cpp());
        vec![replaced(load, text), remove_statement(source, statement)]
    })
}

pub(super) fn truth(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The `if` before a statement, without `else`, if it leaves the block where its condition holds. Nothing but local variables
/// that are set without a call lies in between: what is done there may be what the flag stands for.
fn asked_before<'t>(source: &ParsedSource, statement: Node<'t>) -> Option<Node<'t>> {
    let is_local = |node: &Node<'_>| {
        let mut loads = calls(*node).map(|call| loaded(source, call));
        node.kind() == "declaration" && loads.all(|load| load.is_some()) || node.kind() == "comment"
    };
    let mut before =
        std::iter::successors(statement.prev_named_sibling(), Node::prev_named_sibling);
    let asks = before.find(|node| !is_local(node))?;
    leaves(asks).then_some(asks)
}

/// Returns whether a statement is an `if` without `else` that leaves the block where its condition holds.
pub(super) fn leaves(asks: Node<'_>) -> bool {
    const LEAVES: [&str; 5] = [
        "return_statement",
        "break_statement",
        "continue_statement",
        "goto_statement",
        "throw_statement",
    ];
    let is_if = asks.kind() == "if_statement" && asks.child_by_field_name("alternative").is_none();
    let then = asks.child_by_field_name("consequence").filter(|_| is_if);
    let last = then.and_then(|then| match then.kind() {
        "compound_statement" => children(then).last().copied(),
        _ => Some(then),
    });
    last.is_some_and(|last| LEAVES.contains(&last.kind()))
}

/// The `if` whose branch a statement begins.
fn asked_around(statement: Node<'_>) -> Option<Node<'_>> {
    let parent = statement.parent()?;
    let (asks, branch) = match parent.kind() {
        "compound_statement" if children(parent).first() == Some(&statement) => {
            (parent.parent()?, parent)
        }
        _ => (parent, statement),
    };
    let is_then = asks.child_by_field_name("consequence") == Some(branch);
    (asks.kind() == "if_statement" && is_then).then_some(asks)
}

/// The expression that an `if` asks for, if that is all, and whether it is negated.
pub(super) fn asked<'t>(source: &ParsedSource, asks: Node<'t>) -> Option<(Node<'t>, bool)> {
    let condition = asks.child_by_field_name("condition")?;
    let mut inner = condition.child_by_field_name("value").unwrap_or(condition);
    let mut is_negated = false;
    loop {
        inner = match inner.kind() {
            "parenthesized_expression" => *children(inner).first()?,
            "unary_expression" if source.str(inner).starts_with('!') => {
                is_negated = !is_negated;
                inner.child_by_field_name("argument")?
            }
            _ => return Some((inner, is_negated)),
        };
    }
}

/// The expression that stores a value and has the one from before.
pub(super) fn exchanged(form: &AtomicForm, value: &str, is_cpp: bool) -> String {
    match form {
        AtomicForm::Method(object) => format!("{object}exchange({value})"),
        AtomicForm::Function(address) => format!("atomic_exchange({address}, {value})"),
        AtomicForm::Plain(variable) if is_cpp => format!("{variable}.exchange({value})"),
        AtomicForm::Plain(variable) => format!("atomic_exchange(&{variable}, {value})"),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixes::text::{change::apply, one_step::in_one_step, source::ParsedSource};

    fn edited(file: &str, text: &str, reads: u32, writes: u32) -> Option<String> {
        let source = ParsedSource::parse(file, text).unwrap();
        let changes = in_one_step(&source, reads, writes).ok()?;
        apply(text, &changes)
    }

    #[test]
    fn a_flag_that_lets_one_through_is_exchanged() {
        let text = "bool first()\n{\n    if (done_.load(std::memory_order_acquire))\n        return false;\n    done_.store(true);\n    return true;\n}\n";
        let expected = "bool first()\n{\n    if (done_.exchange(true))\n        return false;\n    return true;\n}\n";
        assert_eq!(edited("a.cpp", text, 3, 5).as_deref(), Some(expected));
        let text = "void f(void)\n{\n    if (!atomic_load(&p->busy)) {\n        atomic_store(&p->busy, 1);\n        work();\n    }\n}\n";
        let expected = "void f(void)\n{\n    if (!atomic_exchange(&p->busy, 1)) {\n        work();\n    }\n}\n";
        assert_eq!(edited("a.c", text, 3, 4).as_deref(), Some(expected));
    }

    #[test]
    fn local_variables_may_be_set_in_between() {
        let text = "bool f()\n{\n    if (!open_.load())\n        return false;\n    // taken over\n    Handle *h = native_.load();\n    open_.store(false);\n    delete h;\n    return true;\n}\n";
        let expected = "bool f()\n{\n    if (!open_.exchange(false))\n        return false;\n    // taken over\n    Handle *h = native_.load();\n    delete h;\n    return true;\n}\n";
        assert_eq!(edited("a.cpp", text, 3, 7).as_deref(), Some(expected));
        let done = text.replace("native_.load()", "open_one()");
        assert_eq!(edited("a.cpp", &done, 3, 7), None);
    }

    #[test]
    fn where_the_value_means_something_else_nothing_is_exchanged() {
        // It leaves where the flag is not set: the exchange would set it there.
        let text = "bool f()\n{\n    if (!ready.load())\n        return false;\n    ready.store(true);\n    return true;\n}\n";
        assert_eq!(edited("a.cpp", text, 3, 5), None);
        let other = "bool f()\n{\n    if (ready.load())\n        return false;\n    done.store(true);\n    return true;\n}\n";
        assert_eq!(edited("a.cpp", other, 3, 5), None);
        let stays = "bool f()\n{\n    if (ready.load())\n        count++;\n    ready.store(true);\n    return true;\n}\n";
        assert_eq!(edited("a.cpp", stays, 3, 5), None);
    }
}
