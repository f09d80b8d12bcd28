//! A weak pointer that is asked whether its object is still there, and locked only then: locking it once tells as well.

use super::{
    EditRefusal,
    change::{Change, line_before},
    locks::{calls, same},
    one_step::replaced,
    source::{ParsedSource, descendants, lines},
};
use tree_sitter::Node;

/// The member of a weak pointer that tells whether its object is gone.
const EXPIRED: &str = "expired";

/// Name of the pointer that is declared.
const NAME: &str = "locked";

/// Locks the weak pointer that the `if` of line `asks` asks before that, and uses what this gives from there on, up to the end of
/// the block; line `locks` is one on which it is locked there.
///
/// # Errors
/// An error when the text does not ask a weak pointer there and lock the same one below.
pub fn locked_once(
    source: &ParsedSource,
    asks: u32,
    locks: u32,
) -> Result<Vec<Change>, EditRefusal> {
    let unseen =
        || format!("how line {locks} locks what line {asks} has asked for is not understood");
    let function = source.function(asks).ok_or_else(unseen)?;
    let all = descendants(function);
    let is_used = all
        .iter()
        .any(|node| node.kind() == "identifier" && source.str(*node) == NAME);
    let ifs = all.into_iter().filter(|node| node.kind() == "if_statement");
    let mut asked = ifs.filter_map(|node| {
        let condition = node.child_by_field_name("condition")?;
        let mut own = calls(condition).filter(|call| lines(*call).contains(&asks));
        let (call, pointer) = own.find_map(|call| Some((call, of(source, call, EXPIRED)?)))?;
        Some((node, call, pointer))
    });
    let (statement, call, pointer) = asked.next().ok_or_else(unseen)?;
    let block = statement
        .parent()
        .filter(|block| block.kind() == "compound_statement");
    let block = block.filter(|_| !is_used).ok_or_else(unseen)?;
    let later = calls(block).filter(|call| call.start_byte() > statement.start_byte());
    let taken: Vec<Node<'_>> = later
        .filter(|call| of(source, *call, "lock").is_some_and(|other| same(other, pointer)))
        .collect();
    if !taken.iter().any(|call| lines(*call).contains(&locks)) {
        return Err(unseen());
    }
    let declared = format!("auto {NAME} = {pointer}lock();");
    let mut changes = vec![line_before(source, statement.start_byte(), &declared)];
    changes.push(match negated(source, call) {
        Some(negation) => replaced(negation, NAME.to_owned()),
        None => replaced(call, format!("!{NAME}")),
    });
    changes.extend(
        taken
            .into_iter()
            .map(|call| replaced(call, NAME.to_owned())),
    );
    Ok(changes)
}

/// Returns whether a line asks a weak pointer whether its object is gone.
pub fn asks_whether_expired(line: &str) -> bool {
    line.contains(EXPIRED)
}

/// The object of a call of this member, with the operator behind it: `it->`.
fn of<'s>(source: &'s ParsedSource, call: Node<'_>, member: &str) -> Option<&'s str> {
    let called = call.child_by_field_name("function")?;
    let name = called.child_by_field_name("field")?;
    let is_it = called.kind() == "field_expression" && source.str(name) == member;
    is_it.then(|| source.slice(called.start_byte(), name.start_byte()))
}

/// The negation of a call: `!it->expired()`.
fn negated<'t>(source: &ParsedSource, call: Node<'t>) -> Option<Node<'t>> {
    let around = call.parent()?;
    let is_negation = around.kind() == "unary_expression" && source.str(around).starts_with('!');
    is_negation.then_some(around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;

    fn edited(text: &str, asks: u32, locks: u32) -> Option<String> {
        let source = ParsedSource::parse("a.cpp", text)?;
        apply(text, &locked_once(&source, asks, locks).ok()?)
    }

    #[test]
    fn what_locking_gives_tells_whether_the_object_is_there() {
        let text = "void send(Text t)\n{\n    for (auto it = all.begin(); it != all.end();) {\n        if (it->expired()) {\n            it = all.erase(it);\n            continue;\n        }\n        it->lock()->deliver(t);\n        ++it;\n    }\n}\n";
        let expected = "void send(Text t)\n{\n    for (auto it = all.begin(); it != all.end();) {\n        auto locked = it->lock();\n        if (!locked) {\n            it = all.erase(it);\n            continue;\n        }\n        locked->deliver(t);\n        ++it;\n    }\n}\n";
        assert_eq!(edited(text, 4, 8).as_deref(), Some(expected));
        let text = "void send(Text t)\n{\n    if (!weak_.expired()) {\n        auto own = weak_.lock();\n        own->deliver(t);\n    }\n}\n";
        let expected = "void send(Text t)\n{\n    auto locked = weak_.lock();\n    if (locked) {\n        auto own = locked;\n        own->deliver(t);\n    }\n}\n";
        assert_eq!(edited(text, 3, 4).as_deref(), Some(expected));
    }

    #[test]
    fn another_pointer_is_not_the_one_that_was_asked() {
        let text = "void send(Text t)\n{\n    if (!weak_.expired())\n        other_.lock()->deliver(t);\n}\n";
        assert_eq!(edited(text, 3, 4), None);
        let named = "void send(int locked)\n{\n    if (!weak_.expired())\n        weak_.lock()->deliver(locked);\n}\n";
        assert_eq!(edited(named, 3, 4), None);
    }
}
