//! Declaration of a new mutex beside the data that it guards.

use super::{
    EditRefusal,
    change::Change,
    locks::{LockStyle, Mutex},
    source::{ParsedSource, children, descendants, lines},
};
use tree_sitter::Node;
use unsnarl_trace::Location;

/// Declares a mutex for the variable `data`, to be used from `line` on; returns it with the changes that
/// declare it.
///
/// # Errors
/// An error when there is no place for the declaration.
pub fn declare(
    source: &ParsedSource,
    data: &str,
    line: u32,
) -> Result<(Mutex, Vec<Change>), EditRefusal> {
    let style = style(source);
    let mutex = Mutex {
        object: free_name(source, data),
        style,
    };
    let first = outermost(source, line)
        .ok_or_else(|| format!("line {line} is in no function of this file"))?;
    let declared = siblings(first).into_iter().find(|node| {
        node.kind() == "declaration"
            && node.start_byte() < first.start_byte()
            && names(source, *node, data)
    });
    let text = declaration(source, &mutex)?;
    let mut changes = header(source, style);
    changes.push(match declared {
        Some(node) => Change::insert(source.line_end(node.end_byte()), format!("\n{text}")),
        None => Change::insert(before(source, first), format!("{text}\n\n")),
    });
    Ok((mutex, changes))
}

/// The declaration of a mutex that the whole program has once.
fn declaration(source: &ParsedSource, mutex: &Mutex) -> Result<String, EditRefusal> {
    let name = &mutex.object;
    match (mutex.style, source.is_header()) {
        (LockStyle::Guard, true) => Ok(format!("inline std::mutex {name};")),
        (LockStyle::Guard, false) => Ok(format!("static std::mutex {name};")),
        (_, true) => Err(format!(
            "`{name}` would be declared in a header, and each source file that includes it would have a mutex of its own"
        )),
        (_, false) => Ok(format!(
            "static pthread_mutex_t {name} = PTHREAD_MUTEX_INITIALIZER;"
        )),
    }
}

/// Style of a new mutex in this file.
pub fn style(source: &ParsedSource) -> LockStyle {
    match source.is_cpp() && !source.text().contains("pthread_mutex") {
        true => LockStyle::Guard,
        false => LockStyle::Pthread,
    }
}

fn free_name(source: &ParsedSource, data: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // A heap block has no name of its own, but its members have; a function's static has its name after the
    // colons.
    let (is_heap, name) = match Location::of(data) {
        Location::Heap { path, .. } => (true, path),
        _ => (false, data.rsplit_once("::").map_or(data, |(_, name)| name)),
    };
    let own = name
        .find("_M_")
        .and_then(|end| name.get(..end))
        .unwrap_or(name);
    let mut words = own
        .split(|c: char| !is_word(c))
        .filter(|word| word.chars().any(char::is_alphabetic));
    let word = match is_heap {
        true => words.next_back(),
        false => words.next(),
    };
    let base = word.map_or("step", |word| word.trim_end_matches('_'));
    let names = [
        format!("{base}_lock"),
        format!("{base}_mutex"),
        format!("{base}_step_lock"),
    ];
    let free = names
        .into_iter()
        .find(|name| !source.text().contains(name.as_str()));
    free.unwrap_or_else(|| format!("unsnarl_{base}_lock"))
}

/// The function or class at the level of the file (or of a namespace) that contains the line.
fn outermost(source: &ParsedSource, line: u32) -> Option<Node<'_>> {
    let holds = |node: &Node<'_>| lines(*node).contains(&line);
    let mut node = children(source.root()).into_iter().find(holds)?;
    while matches!(
        node.kind(),
        "namespace_definition" | "declaration_list" | "linkage_specification"
    ) {
        node = children(node).into_iter().find(holds)?;
    }
    Some(node)
}

fn siblings<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.parent().map(children).unwrap_or_default()
}

/// Returns whether a declaration declares this variable.
fn names(source: &ParsedSource, declaration: Node<'_>, data: &str) -> bool {
    let base = data.split(['.', '[', '-']).next().unwrap_or(data);
    let inner = descendants(declaration).into_iter();
    inner
        .filter(|node| node.kind() == "identifier")
        .any(|node| source.str(node) == base)
}

/// Position before a function and the comment directly above it.
fn before(source: &ParsedSource, node: Node<'_>) -> usize {
    let mut first = node;
    while let Some(comment) = first.prev_sibling()
        && comment.kind() == "comment"
        && comment.end_position().row + 1 >= first.start_position().row
    {
        first = comment;
    }
    source.line_start(first.start_byte())
}

/// Includes the header that the declaration needs, if it is missing.
fn header(source: &ParsedSource, style: LockStyle) -> Vec<Change> {
    let name = if style == LockStyle::Guard {
        "<mutex>"
    } else {
        "<pthread.h>"
    };
    let includes = children(source.root())
        .into_iter()
        .filter(|node| node.kind() == "preproc_include");
    let includes: Vec<Node<'_>> = includes.collect();
    if includes.iter().any(|node| source.str(*node).contains(name)) {
        return Vec::new();
    }
    let at = includes.first().map_or(0, |node| node.start_byte());
    vec![Change::insert(at, format!("#include {name}\n"))]
}
