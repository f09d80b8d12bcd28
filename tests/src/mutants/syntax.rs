//! The syntax of one source file: nodes, statements and calls.

use anyhow::{Context, Result};
use tree_sitter::{Node, Parser, Tree};

/// A parsed source file.
pub struct MutatedSource {
    /// Its text.
    pub text: String,
    /// `true` if it is written in C++.
    pub is_cpp: bool,
    tree: Tree,
}

impl MutatedSource {
    /// Parses a text.
    pub fn parse(text: &str, is_cpp: bool) -> Result<MutatedSource> {
        let language = match is_cpp {
            true => tree_sitter_cpp::LANGUAGE,
            false => tree_sitter_c::LANGUAGE,
        };
        let mut parser = Parser::new();
        parser.set_language(&language.into())?;
        let tree = parser.parse(text, None).context("the parser gave up")?;
        Ok(MutatedSource {
            text: text.to_owned(),
            is_cpp,
            tree,
        })
    }

    /// The whole file.
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// Text of a node.
    pub fn text(&self, node: Node) -> &str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// The call that a node is.
    pub fn call<'s>(&'s self, node: Node<'s>) -> Option<SyntaxCall<'s>> {
        let function = (node.kind() == "call_expression")
            .then(|| node.child_by_field_name("function"))
            .flatten()?;
        let list = node.child_by_field_name("arguments")?;
        let (receiver, name) = match function.kind() {
            "field_expression" => (
                function.child_by_field_name("argument"),
                function.child_by_field_name("field")?,
            ),
            _ => (None, function),
        };
        Some(SyntaxCall {
            node,
            name: self.text(name),
            receiver: receiver.map(|receiver| self.text(receiver)),
            arguments: children(list),
        })
    }

    /// The call that a statement consists of.
    pub fn statement_call<'s>(&'s self, statement: Node<'s>) -> Option<SyntaxCall<'s>> {
        let inner = (statement.kind() == "expression_statement")
            .then(|| statement.named_child(0))
            .flatten()?;
        self.call(inner)
    }

    /// All calls in a node, from its beginning to its end.
    pub fn calls<'s>(&'s self, node: Node<'s>) -> Vec<SyntaxCall<'s>> {
        let nodes = descendants(node);
        nodes.into_iter().filter_map(|one| self.call(one)).collect()
    }

    /// Every name in a node: variables, functions and fields.
    pub fn names<'s>(&'s self, node: Node<'s>) -> Vec<&'s str> {
        let nodes = descendants(node).into_iter();
        let names = nodes.filter(|one| matches!(one.kind(), "identifier" | "field_identifier"));
        names.map(|name| self.text(name)).collect()
    }
}

/// A call.
pub struct SyntaxCall<'s> {
    /// The expression.
    pub node: Node<'s>,
    /// Name of the function or method, as it is written.
    pub name: &'s str,
    /// The object that the method is called on.
    pub receiver: Option<&'s str>,
    /// The arguments.
    pub arguments: Vec<Node<'s>>,
}

/// A node and all that is in it, in the order of the text, without comments.
pub fn descendants(node: Node) -> Vec<Node> {
    let mut found = Vec::new();
    let mut cursor = node.walk();
    let mut depth = 0u32;
    loop {
        if cursor.node().is_named() && cursor.node().kind() != "comment" {
            found.push(cursor.node());
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while depth > 0 && !cursor.goto_next_sibling() {
            cursor.goto_parent();
            depth -= 1;
        }
        if depth == 0 {
            return found;
        }
    }
}

/// The named children without comments.
pub fn children(node: Node) -> Vec<Node> {
    let mut cursor = node.walk();
    let children = node.named_children(&mut cursor);
    children.filter(|child| child.kind() != "comment").collect()
}

/// All nodes of a kind.
pub fn of_kind<'t>(node: Node<'t>, kind: &str) -> Vec<Node<'t>> {
    let nodes = descendants(node).into_iter();
    nodes.filter(|one| one.kind() == kind).collect()
}

/// The nodes around this one, innermost first.
pub fn ancestors(node: Node) -> impl Iterator<Item = Node> {
    std::iter::successors(node.parent(), Node::parent)
}

/// The statement that a node belongs to: its ancestor, or itself, that stands directly in a block.
pub fn statement_in_block(node: Node) -> Option<Node> {
    let mut chain = std::iter::once(node).chain(ancestors(node));
    chain.find(|one| one.parent().is_some_and(|parent| is_block(parent)))
}

/// Statements of the same block before this one, the nearest first.
pub fn before(statement: Node) -> Vec<Node> {
    let all = statement.parent().map(children).unwrap_or_default();
    let mut earlier: Vec<Node> = all
        .into_iter()
        .take_while(|one| *one != statement)
        .collect();
    earlier.reverse();
    earlier
}

/// Statements of the same block behind this one.
pub fn behind(statement: Node) -> Vec<Node> {
    let all = statement.parent().map(children).unwrap_or_default();
    let mut later = all.into_iter().skip_while(|one| *one != statement);
    later.next();
    later.collect()
}

/// Returns whether the node is a list of statements in braces.
pub fn is_block(node: Node) -> bool {
    node.kind() == "compound_statement"
}

/// Returns whether the node leaves the statements around it: a return, a break and the like.
pub fn is_jump(node: Node) -> bool {
    matches!(
        node.kind(),
        "return_statement" | "break_statement" | "continue_statement" | "goto_statement"
    )
}

/// Returns whether a node contains a jump.
pub fn jumps(node: Node) -> bool {
    descendants(node).into_iter().any(is_jump)
}
