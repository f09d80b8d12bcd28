//! A source file with its syntax tree.

use super::{EditRefusal, conditions, declared::DeclaredMutexes, locks::LockCalls};
use crate::facts::basename;
use std::{collections::BTreeSet, sync::Arc};
use tree_sitter::{Node, Parser, Tree};

/// A source file with its syntax tree.
#[derive(Clone)]
pub struct ParsedSource {
    /// Name of the file, without its folder.
    name: String,
    text: String,
    tree: Tree,
    is_cpp: bool,
    is_header: bool,
    lock_calls: LockCalls,
    mutexes: Arc<DeclaredMutexes>,
    left_out: Vec<std::ops::Range<usize>>,
}

fn tree(text: &str, is_cpp: bool) -> Option<Tree> {
    let language = match is_cpp {
        true => tree_sitter_cpp::LANGUAGE,
        false => tree_sitter_c::LANGUAGE,
    };
    let mut parser = Parser::new();
    parser.set_language(&language.into()).ok()?;
    parser.parse(text, None)
}

/// The tree of the language in which fewer parts of the text are errors, and whether that is C++.
fn better(text: &str) -> Option<(Tree, bool)> {
    let c = tree(text, false)?;
    if !c.root_node().has_error() {
        return Some((c, false));
    }
    let cpp = tree(text, true)?;
    match errors(&cpp) < errors(&c) {
        true => Some((cpp, true)),
        false => Some((c, false)),
    }
}

/// Number of the parts that the grammar has no rule for.
fn errors(tree: &Tree) -> usize {
    let (mut found, mut stack) = (0, vec![tree.root_node()]);
    while let Some(node) = stack.pop() {
        found += usize::from(node.is_error() || node.is_missing());
        stack.extend(children(node).into_iter().filter(Node::has_error));
    }
    found
}

/// Kinds of nodes that are functions.
const FUNCTIONS: [&str; 2] = ["function_definition", "lambda_expression"];

/// Kind of the node with the initializers of a constructor, before its body.
const INITIALIZERS: &str = "field_initializer_list";

impl ParsedSource {
    /// Parses a text in the language of the file's name, or where that leaves it open (`.h`) in the one that fits better;
    /// `None` when the grammar does not fit the library.
    pub fn parse(file: &str, text: &str) -> Option<ParsedSource> {
        let ending = file.rsplit('.').next().unwrap_or("");
        let (tree, is_cpp) = match ending {
            "c" => (tree(text, false)?, false),
            "cpp" | "cc" | "cxx" | "C" | "c++" | "hpp" | "hh" | "hxx" | "H" => {
                (tree(text, true)?, true)
            }
            _ => better(text)?,
        };
        Some(ParsedSource {
            name: basename(file).to_owned(),
            text: text.to_owned(),
            tree,
            is_cpp,
            is_header: ending.starts_with(['h', 'H']),
            lock_calls: LockCalls::default(),
            mutexes: Arc::default(),
            left_out: Vec::new(),
        })
        .map(|source| source.with_lines_that_ran(&BTreeSet::new()))
    }

    /// Returns whether the file includes another one, by its name.
    pub fn includes(&self, other: &ParsedSource) -> bool {
        let all = descendants(self.root()).into_iter();
        let mut included = all.filter(|node| node.kind() == "preproc_include");
        included.any(|node| {
            let path = node.child_by_field_name("path").map(|path| self.str(path));
            let path = path.unwrap_or("").trim_matches(['"', '<', '>']);
            basename(path) == other.name
        })
    }

    /// A line in words, with the file's name.
    pub fn line_in_words(&self, line: u32) -> String {
        format!("line {line} of {}", self.name)
    }

    /// Adds the program's own functions and classes that lock.
    pub fn with_lock_calls(self, lock_calls: LockCalls) -> ParsedSource {
        ParsedSource { lock_calls, ..self }
    }

    /// Adds what all files of the program declare as mutexes.
    pub fn with_mutexes(self, mutexes: Arc<DeclaredMutexes>) -> ParsedSource {
        ParsedSource { mutexes, ..self }
    }

    /// Adds the executed lines of the text, which show the parts that the preprocessor excludes.
    pub fn with_lines_that_ran(self, ran: &BTreeSet<u32>) -> ParsedSource {
        let left_out = conditions::left_out(&self, ran);
        ParsedSource { left_out, ..self }
    }

    /// Returns whether the preprocessor excludes this node.
    pub fn is_left_out(&self, node: Node<'_>) -> bool {
        let mut ranges = self.left_out.iter();
        ranges.any(|range| range.start <= node.start_byte() && node.end_byte() <= range.end)
    }

    /// The mutexes that all files of the program declare.
    pub fn mutexes(&self) -> &DeclaredMutexes {
        &self.mutexes
    }

    /// The program's own functions and classes that lock.
    pub fn lock_calls(&self) -> &LockCalls {
        &self.lock_calls
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it is C++.
    pub fn is_cpp(&self) -> bool {
        self.is_cpp
    }

    /// Returns whether it is a header, by its name: every source file that includes it has what it declares.
    pub fn is_header(&self) -> bool {
        self.is_header
    }

    /// The root node of the file.
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// Returns whether the whole text parses.
    pub fn is_whole(&self) -> bool {
        !self.root().has_error()
    }

    /// The text of a node.
    pub fn str(&self, node: Node<'_>) -> &str {
        self.slice(node.start_byte(), node.end_byte())
    }

    /// A part of the text.
    pub fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Start of the line that contains a byte.
    pub fn line_start(&self, at: usize) -> usize {
        self.slice(0, at).rfind('\n').map_or(0, |i| i + 1)
    }

    /// End of the line that contains a byte, before its line break.
    pub fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or("");
        rest.find('\n').map_or(self.text.len(), |i| at + i)
    }

    /// The indentation of the line that contains a byte.
    pub fn indent(&self, at: usize) -> &str {
        let start = self.line_start(at);
        let line = self.slice(start, self.line_end(at));
        let len = line.len() - line.trim_start().len();
        self.slice(start, start + len)
    }

    /// One step of indentation in the style of the file.
    pub fn unit(&self) -> String {
        let indented = |line: &&str| line.starts_with(['\t', ' ']) && !line.trim().is_empty();
        let widths = self.text.lines().filter(indented).map(|line| {
            let white = line.len() - line.trim_start().len();
            line.get(..white).unwrap_or("    ")
        });
        let narrowest = widths.filter(|white| white.starts_with('\t') || white.len() >= 2);
        let least = narrowest.min_by_key(|white| white.len());
        least
            .map_or(
                "    ",
                |white| if white.starts_with('\t') { "\t" } else { white },
            )
            .to_owned()
    }

    /// The line that contains a byte, from 1.
    pub fn line(&self, at: usize) -> u32 {
        self.slice(0, at)
            .bytes()
            .filter(|byte| *byte == b'\n')
            .count() as u32
            + 1
    }

    /// The innermost function (or lambda) whose body contains this line.
    pub fn function(&self, line: u32) -> Option<Node<'_>> {
        let mut found = None;
        let mut stack = vec![self.root()];
        while let Some(node) = stack.pop() {
            if !lines(node).contains(&line) {
                continue;
            }
            if FUNCTIONS.contains(&node.kind())
                && node
                    .child_by_field_name("body")
                    .is_some_and(|body| lines(body).contains(&line))
                && found.is_none_or(|known: Node<'_>| {
                    known.byte_range().len() > node.byte_range().len()
                })
            {
                found = Some(node);
            }
            stack.extend(children(node));
        }
        found
    }

    /// The function whose body has the line.
    ///
    /// # Errors
    /// The line is in no body of a function.
    pub fn body_around(&self, line: u32) -> Result<Node<'_>, EditRefusal> {
        self.function(line).ok_or_else(|| self.outside(line))
    }

    /// The reason why a line that is in no body of a function cannot be changed.
    pub fn outside(&self, line: u32) -> EditRefusal {
        let mut node = Some(self.root());
        while let Some(around) = node {
            if around.kind() == INITIALIZERS {
                return format!(
                    "line {line} initializes members before the body of a constructor: what comes first there is decided by the order of their declarations"
                );
            }
            let mut inside = children(around).into_iter();
            node = inside.find(|child| lines(*child).contains(&line));
        }
        format!("line {line} is in no function of this file")
    }

    /// The text of a file's line, trimmed.
    pub fn line_text(&self, line: u32) -> &str {
        self.text
            .lines()
            .nth((line as usize).saturating_sub(1))
            .unwrap_or("")
            .trim()
    }
}

/// The lines of a node, from 1.
pub fn lines(node: Node<'_>) -> std::ops::RangeInclusive<u32> {
    node.start_position().row as u32 + 1..=node.end_position().row as u32 + 1
}

/// Named children, without comments.
pub fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    // The kind is a text: it is asked for only where the node may be a comment.
    node.named_children(&mut cursor)
        .filter(|child| !(child.is_extra() && child.kind() == "comment"))
        .collect()
}

/// The node and its descendants, except for nested functions.
pub fn descendants<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let (mut all, mut stack) = (Vec::new(), vec![node]);
    while let Some(node) = stack.pop() {
        all.push(node);
        let inner = children(node).into_iter().rev();
        stack.extend(inner.filter(|child| !FUNCTIONS.contains(&child.kind())));
    }
    all
}

/// The names of a function's parameters; empty for one without a name.
pub fn parameters<'s>(source: &'s ParsedSource, function: Node<'_>) -> Vec<&'s str> {
    let all = descendants(function).into_iter();
    let list = all
        .filter(|node| node.kind() == "parameter_list")
        .min_by_key(Node::start_byte);
    let one = |parameter: Node<'_>| {
        let declarator = parameter.child_by_field_name("declarator");
        let mut names = declarator.map(descendants).unwrap_or_default().into_iter();
        let name = names.find(|node| node.kind() == "identifier");
        name.map_or("", |name| source.str(name))
    };
    list.map(children)
        .unwrap_or_default()
        .into_iter()
        .map(one)
        .collect()
}

/// The statements of a block, a `case` or a body without braces. A label is one of them, before the statement that it
/// names.
pub fn statements<'t>(block: Node<'t>) -> Vec<Node<'t>> {
    let list = match block.kind() {
        "compound_statement" => children(block),
        "case_statement" => {
            let value = block.child_by_field_name("value");
            let inner = children(block).into_iter();
            inner.filter(|child| Some(*child) != value).collect()
        }
        _ => vec![block],
    };
    list.into_iter().flat_map(with_labels).collect()
}

fn with_labels<'t>(statement: Node<'t>) -> Vec<Node<'t>> {
    match statement.kind() {
        "labeled_statement" => children(statement)
            .into_iter()
            .flat_map(with_labels)
            .collect(),
        _ => vec![statement],
    }
}

/// Returns whether one of the statements of a list is a label.
pub fn is_label(statement: Node<'_>) -> bool {
    statement.kind() == "statement_identifier"
}

/// Nested statements of a statement: the bodies of conditions and loops, the cases of a `switch`, a block
/// itself.
pub fn bodies<'t>(statement: Node<'t>) -> Vec<Node<'t>> {
    let field = |name| statement.child_by_field_name(name);
    match statement.kind() {
        "compound_statement" | "case_statement" => vec![statement],
        "if_statement" => {
            let alternative =
                field("alternative").and_then(|clause| children(clause).first().copied());
            [field("consequence"), alternative]
                .into_iter()
                .flatten()
                .collect()
        }
        "while_statement" | "for_statement" | "do_statement" | "for_range_loop" => {
            field("body").into_iter().collect()
        }
        "switch_statement" => {
            let cases = field("body").map(children).unwrap_or_default();
            cases
                .into_iter()
                .filter(|case| case.kind() == "case_statement")
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Consecutive statements of one list: `list[first..=last]`.
#[derive(Clone)]
pub struct Range<'t> {
    /// The block that contains the list, or a body without braces.
    pub block: Node<'t>,
    /// Statements of the block.
    pub list: Vec<Node<'t>>,
    /// Index of the first statement of the range.
    pub first: usize,
    /// Index of the last one.
    pub last: usize,
}

impl<'t> Range<'t> {
    /// The statements.
    pub fn statements(&self) -> &[Node<'t>] {
        self.list.get(self.first..=self.last).unwrap_or(&[])
    }

    /// The statement of the enclosing list that contains these; `None` for the body of the function.
    pub fn outer(&self, function: Node<'t>) -> Option<Range<'t>> {
        let body = function.child_by_field_name("body")?;
        let (mut inner, mut statement) = (self.block, self.block);
        while inner != body {
            if inner.kind() != "labeled_statement" {
                statement = inner;
            }
            let outer = inner.parent()?;
            if matches!(outer.kind(), "compound_statement" | "case_statement") {
                let list = statements(outer);
                let at = list.iter().position(|node| *node == statement)?;
                return Some(Range {
                    block: outer,
                    list,
                    first: at,
                    last: at,
                });
            }
            inner = outer;
        }
        None
    }
}

fn whole<'t>(block: Node<'t>) -> Option<Range<'t>> {
    let list = statements(block);
    let last = list.len().checked_sub(1)?;
    Some(Range {
        block,
        list,
        first: 0,
        last,
    })
}

fn narrower<'t>(around: &Range<'t>, is_it: impl Fn(&Node<'t>) -> bool) -> Option<Range<'t>> {
    let blocks = around.list.iter().flat_map(|statement| bodies(*statement));
    let mut inner = blocks.filter(|block| *block != around.block);
    whole(inner.find(|block| is_it(block))?)
}

/// Parts of a statement that come before its body, or decide whether it runs again.
const HEADS: [&str; 5] = ["condition", "initializer", "update", "declarator", "right"];

/// Returns whether one of the statements that a block is a body of has its head on these lines, as `if (c) return;` has: the lines
/// mean the whole statement then.
fn heads_on(block: Node<'_>, first: u32, last: u32) -> bool {
    let is_there = |node: Node<'_>| *lines(node).start() <= last && *lines(node).end() >= first;
    let mut inner = block;
    while let Some(outer) = inner.parent() {
        let is_list = matches!(outer.kind(), "compound_statement" | "case_statement");
        if is_list || FUNCTIONS.contains(&outer.kind()) {
            return false;
        }
        let mut heads = HEADS
            .iter()
            .filter_map(|name| outer.child_by_field_name(name));
        if heads.any(|head| head != inner && is_there(head)) {
            return true;
        }
        inner = outer;
    }
    false
}

/// The statements from line `first` to line `last` in the innermost block of a function that contains both.
pub fn range<'t>(function: Node<'t>, first: u32, last: u32) -> Result<Range<'t>, EditRefusal> {
    let outside = || match first == last {
        true => format!("line {first} is no statement of a function"),
        false => format!("lines {first} to {last} are not statements of one function"),
    };
    let body = function.child_by_field_name("body").ok_or_else(outside)?;
    let mut around = whole(body).ok_or_else(outside)?;
    loop {
        let holds = |block: &Node<'t>| {
            let own = statements(*block);
            let from = own.first().map(|node| *lines(*node).start());
            let to = own.last().map(|node| *lines(*node).end());
            from.is_some_and(|from| from <= first)
                && to.is_some_and(|to| to >= last)
                && !heads_on(*block, first, last)
        };
        match narrower(&around, holds) {
            Some(inner) => around = inner,
            None => break,
        }
    }
    // A line between statements, such as that of a brace, stands for the nearest statement within.
    let begin = around
        .list
        .iter()
        .position(|node| *lines(*node).end() >= first);
    let end = around
        .list
        .iter()
        .rposition(|node| *lines(*node).start() <= last);
    (around.first, around.last) = (begin.ok_or_else(outside)?, end.ok_or_else(outside)?);
    if around.first > around.last {
        return Err(outside());
    }
    Ok(around)
}
