//! The expression at a recorded line and column.

use super::source::ParsedSource;
use std::ops::Range;
use tree_sitter::{Node, Point};

/// Parents of an access's operator or last name: debug info has the place of the name or the operator, a
/// person means the whole access.
const ACCESSES: [&str; 13] = [
    "assignment_expression",
    "binary_expression",
    "call_expression",
    "delete_expression",
    "field_expression",
    "init_declarator",
    "new_expression",
    "pointer_expression",
    "qualified_identifier",
    "subscript_expression",
    "template_function",
    "unary_expression",
    "update_expression",
];

impl ParsedSource {
    /// The bytes of the smallest expression at a line and a column in bytes (both from 0): for a name the
    /// whole of `a->b.c`, for an operator its operands as well, for a function's name the call. `None`
    /// outside of code. Logarithmic in the size of the file for trees of usual shape.
    pub fn expression(&self, line: usize, column: usize) -> Option<Range<usize>> {
        let at = Point::new(line, column);
        let leaf = self.root().descendant_for_point_range(at, at)?;
        let is_there = leaf.start_position() <= at && at < leaf.end_position();
        // The space between tokens belongs to the surrounding node.
        if !is_there
            || leaf.child_count() > 0
            || leaf.kind() == "comment"
            || leaf.kind().starts_with("preproc")
        {
            return None;
        }
        if !leaf.is_named() && !is_operator(leaf) {
            return None;
        }
        let mut node = leaf;
        while let Some(parent) = node.parent().filter(|parent| stands_for(*parent, node)) {
            node = parent;
        }
        Some(node.start_byte()..node.end_byte())
    }
}

/// Returns whether a leaf is punctuation between the parts of an expression, not around statements.
fn is_operator(leaf: Node<'_>) -> bool {
    let parent = leaf.parent();
    parent.is_some_and(|parent| ACCESSES.contains(&parent.kind()))
}

/// Returns whether this part of an expression stands for the whole of it.
fn stands_for(parent: Node<'_>, part: Node<'_>) -> bool {
    if !ACCESSES.contains(&parent.kind()) {
        return false;
    }
    let is = |field: &str| parent.child_by_field_name(field) == Some(part);
    match parent.kind() {
        // The place of an operator or bracket stands for the whole expression.
        _ if !part.is_named() => true,
        "field_expression" => is("field"),
        "subscript_expression" => is("argument"),
        "call_expression" => is("function"),
        "pointer_expression" | "update_expression" => true,
        "qualified_identifier" | "template_function" => is("name"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
void f(struct account *account, int *list, int n) {
    account->balance = account->balance + n; // pay
    list[n]++;
    if (*list == 3 && check(n))
        account->owner.name = 0;
    CHECK(list[0] < list[1]);
    int copy = n;
}
";

    #[test]
    fn names_operators_and_calls() {
        let source = ParsedSource::parse("a.c", SOURCE).unwrap();
        let check = |line: usize, before: &str, expected: Option<&str>| {
            let text = SOURCE.lines().nth(line).unwrap();
            let column = text.find(before).unwrap();
            let found = source.expression(line, column);
            assert_eq!(found.map(|range| &SOURCE[range]), expected, "{before}");
        };
        check(1, "balance = ", Some("account->balance"));
        check(
            1,
            "= account",
            Some("account->balance = account->balance + n"),
        );
        check(1, "n;", Some("n"));
        check(1, "; //", None);
        check(1, "pay", None);
        check(2, "list", Some("list[n]++"));
        check(2, "++", Some("list[n]++"));
        check(2, "n]", Some("n"));
        check(3, "*list", Some("*list"));
        check(3, "check", Some("check(n)"));
        check(3, "&&", Some("*list == 3 && check(n)"));
        check(4, "name", Some("account->owner.name"));
        check(5, "CHECK", Some("CHECK(list[0] < list[1])"));
        check(6, "= n", Some("copy = n"));
        assert_eq!(source.expression(1, 400), None);
        assert_eq!(source.expression(40, 0), None);
    }

    #[test]
    fn members_in_cpp() {
        let text = "void g() { std::lock_guard<std::mutex> hold(m); queue_.items.push_back(v); }\n";
        let source = ParsedSource::parse("a.cpp", text).unwrap();
        let at = |part: &str| {
            source
                .expression(0, text.find(part).unwrap())
                .map(|range| &text[range])
        };
        assert_eq!(at("push_back"), Some("queue_.items.push_back(v)"));
        assert_eq!(at("items"), Some("queue_.items"));
    }
}
