//! The statements of a function that use an object, for a lock that guards all of it.

use super::{
    hold::AtomicLines,
    source::{ParsedSource, descendants, lines, statements},
};
use std::collections::BTreeSet;
use tree_sitter::Node;

/// The names by which a function's text shows that it uses the data of a lock.
pub struct DataNames<'a> {
    /// The variable through which the function reaches the lock, if the lock is a member: `c` of `c->lock`.
    pub object: Option<&'a str>,
    /// Names of the members.
    pub members: &'a BTreeSet<String>,
}

/// The statements around a line from the first to the last that uses the data, in the block of the line and in
/// those around it up to a loop; `None` when the line itself does not show a use.
pub fn around(source: &ParsedSource, line: u32, names: &DataNames<'_>) -> Option<AtomicLines> {
    let function = source.function(line)?;
    let body = function.child_by_field_name("body")?;
    let mut block = outermost(body, line)?;
    let mut found = within(source, block, line, names);
    while found.is_none() && block != body {
        block = block.parent()?;
        found = within(source, block, line, names);
    }
    found
}

/// The outermost block that contains the line and no loop around it.
fn outermost(body: Node<'_>, line: u32) -> Option<Node<'_>> {
    let mut block = body;
    loop {
        let list = statements(block);
        let at = list.iter().find(|node| lines(**node).contains(&line))?;
        let inner = descendants(*at).into_iter();
        let loops = inner.filter(|node| is_loop(*node) && lines(*node).contains(&line));
        let bodies = loops.filter_map(|node| node.child_by_field_name("body"));
        let around = bodies
            .filter(|body| body.kind() == "compound_statement" && lines(*body).contains(&line));
        match around.min_by_key(|body| body.end_byte() - body.start_byte()) {
            Some(body) if body != block => block = body,
            _ => return Some(block),
        }
    }
}

fn is_loop(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "while_statement" | "for_statement" | "do_statement" | "for_range_loop"
    )
}

fn within(
    source: &ParsedSource,
    block: Node<'_>,
    line: u32,
    names: &DataNames<'_>,
) -> Option<AtomicLines> {
    let list = statements(block);
    let uses: Vec<&Node<'_>> = list
        .iter()
        .filter(|node| is_use(source, **node, names))
        .collect();
    let (first, last) = (uses.first()?, uses.last()?);
    let found = AtomicLines {
        first: *lines(**first).start(),
        last: *lines(**last).end(),
    };
    (found.first..=found.last).contains(&line).then_some(found)
}

fn is_use(source: &ParsedSource, statement: Node<'_>, names: &DataNames<'_>) -> bool {
    let declares = statement.kind() == "declaration";
    descendants(statement).into_iter().any(|node| {
        let text = source.str(node);
        match node.kind() {
            "field_identifier" => names.members.contains(text),
            "identifier" => {
                names.members.contains(text)
                    || names.object == Some(text) && !(declares && is_declared(node))
            }
            _ => false,
        }
    })
}

/// Returns whether an identifier is the name of the variable that a declaration declares.
fn is_declared(name: Node<'_>) -> bool {
    let mut node = name;
    while let Some(parent) = node.parent() {
        if parent.child_by_field_name("declarator") != Some(node) {
            return false;
        }
        if parent.kind() == "declaration" {
            return true;
        }
        node = parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &str, body: &str, line: u32, object: Option<&str>, members: &[&str]) -> (u32, u32) {
        let source =
            ParsedSource::parse(file, &format!("void f(int i)\n{{\n{body}\n}}\n")).unwrap();
        let members = members.iter().map(|name| (*name).to_owned()).collect();
        let names = DataNames {
            object,
            members: &members,
        };
        let lines = around(&source, line, &names).unwrap();
        (lines.first, lines.last)
    }

    #[test]
    fn all_uses_of_the_object_are_covered() {
        let body = "    box *c = &boxes[i];\n    int n = 0;\n    c->frees++;\n    if (n) {\n        n++;\n    } else {\n        push(c, n);\n    }\n    done(n);";
        assert_eq!(of("a.c", body, 5, Some("c"), &["frees"]), (5, 10));
    }

    #[test]
    fn a_branch_belongs_to_the_statements_around_it() {
        let body = "    if (i) {\n        open_--;\n    } else {\n        idle_.push_back(i);\n    }\n    wake();";
        assert_eq!(of("a.cpp", body, 6, None, &["open_", "idle_"]), (3, 7));
    }

    #[test]
    fn a_loop_is_not_locked_as_a_whole() {
        let body = "    start();\n    for (int k = 0; k < i; k++) {\n        work(k);\n        hits++;\n        last = k;\n    }\n    hits = 0;";
        assert_eq!(of("a.c", body, 6, None, &["hits", "last"]), (6, 7));
    }
}
