//! A flag that is looked at and set only later, set where it is looked at.

use super::{
    EditRefusal,
    change::{Change, line_after, remove_statement},
    exchange::{asked, exchanged, leaves, truth},
    one_step::{AtomicForm, AtomicStore, loaded, replaced, statement_of, store},
    source::{ParsedSource, descendants, lines},
};
use tree_sitter::Node;

/// Sets the flag that the `if` of line `reads` asks for as soon as it is found unset, by an exchange if it is atomic, and no
/// longer where the function sets it below. The flag is the one that is set on line `writes`, perhaps of another function.
///
/// # Errors
/// An error when the text does not leave there for the value that it sets below, or sets none.
pub fn set_where_asked(
    source: &ParsedSource,
    reads: u32,
    writes: u32,
    is_atomic: bool,
) -> Result<Vec<Change>, EditRefusal> {
    let unseen = || format!("how line {reads} asks for what is set later is not understood");
    let flag = source.function(writes).and_then(|function| {
        let mut stores = stores(source, function);
        stores.find(|store| lines(store.node).contains(&writes))
    });
    let flag = flag.ok_or_else(unseen)?;
    let function = source.function(reads).ok_or_else(unseen)?;
    let ifs = descendants(function).into_iter();
    let mut ifs = ifs.filter(|node| node.kind() == "if_statement" && leaves(*node));
    let asks = ifs.find(|node| {
        let condition = node.child_by_field_name("condition");
        condition.is_some_and(|condition| lines(condition).contains(&reads))
    });
    let asks = asks.ok_or_else(unseen)?;
    let below = stores(source, function);
    let mut below = below.filter(|store| store.node.start_byte() > asks.end_byte());
    let set = below.find(|store| store.form.is(&flag.form));
    let set = set.ok_or_else(unseen)?;
    claimed(source, asks, &set, is_atomic).ok_or_else(unseen)
}

fn claimed(
    source: &ParsedSource,
    asks: Node<'_>,
    set: &AtomicStore<'_>,
    is_atomic: bool,
) -> Option<Vec<Change>> {
    let value = source.str(set.value);
    let statement = statement_of(set.node)?;
    let (look, is_negated) = asked(source, asks)?;
    let is_it = loaded(source, look)?.is(&set.form);
    // It leaves where the flag has the value already that is set below.
    let leaves_for_it = truth(value)? != is_negated;
    if !is_it || !leaves_for_it {
        return None;
    }
    let claims = match is_atomic {
        true => replaced(look, exchanged(&set.form, value, source.is_cpp())),
        false => {
            let (start, end) = (asks.start_byte(), asks.end_byte());
            line_after(source, start, end, source.str(statement))
        }
    };
    let is_plain = matches!(set.form, AtomicForm::Plain(_));
    (is_atomic || is_plain).then(|| vec![claims, remove_statement(source, statement)])
}

fn stores<'t>(
    source: &'t ParsedSource,
    function: Node<'t>,
) -> impl Iterator<Item = AtomicStore<'t>> {
    let nodes = descendants(function).into_iter();
    nodes.filter_map(|node| store(source, node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;

    fn edited(text: &str, reads: u32, writes: u32, is_atomic: bool) -> Option<String> {
        let source = ParsedSource::parse("a.cpp", text)?;
        apply(
            text,
            &set_where_asked(&source, reads, writes, is_atomic).ok()?,
        )
    }

    #[test]
    fn an_atomic_flag_is_exchanged_before_the_work() {
        let text = "void complete()\n{\n    if (done_.load(std::memory_order_acquire)) return;\n    promise_.set_value(1);\n    done_.store(true);\n}\nvoid expire()\n{\n    if (done_.load()) return;\n    drop();\n    done_.store(true);\n}\n";
        let expected = "void complete()\n{\n    if (done_.exchange(true)) return;\n    promise_.set_value(1);\n}\nvoid expire()\n{\n    if (done_.load()) return;\n    drop();\n    done_.store(true);\n}\n";
        assert_eq!(edited(text, 3, 11, true).as_deref(), Some(expected));
        let other = text.replace("if (done_", "if (!done_");
        assert_eq!(edited(&other, 3, 11, true), None);
    }

    #[test]
    fn a_flag_under_a_lock_is_set_in_the_section_of_the_look() {
        let text = "void stop()\n{\n    {\n        Guard g(m);\n        if (!running_) return;\n        quit_ = true;\n    }\n    close();\n    running_ = false;\n}\n";
        let expected = "void stop()\n{\n    {\n        Guard g(m);\n        if (!running_) return;\n        running_ = false;\n        quit_ = true;\n    }\n    close();\n}\n";
        assert_eq!(edited(text, 5, 9, false).as_deref(), Some(expected));
    }
}
