//! Declaration of a new mutex beside the data that it guards.

use super::{
    EditRefusal,
    change::Change,
    function_name,
    guard::every,
    locks::{LockStyle, Mutex},
    source::{ParsedSource, children, descendants, lines},
};
use tree_sitter::Node;
use unsnarl_trace::Location;

/// A file that uses a new mutex, from the line on.
pub struct MutexUser<'s> {
    /// The file.
    pub source: &'s ParsedSource,
    /// The first line that uses it.
    pub line: u32,
}

/// Declares a mutex for the variable `data` in each of the files that use it; returns it with the changes of each. Its name is
/// one that no file of the program has: another file may define a variable for all.
///
/// # Errors
/// An error when there is no place for the declaration.
pub fn declare(
    users: &[MutexUser<'_>],
    data: &str,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<(Mutex, Vec<Vec<Change>>), EditRefusal> {
    let styles: Vec<LockStyle> = users.iter().map(|user| style(user.source)).collect();
    let is_guard = styles.iter().all(|style| *style == LockStyle::Guard);
    let mutex = Mutex {
        object: free_name(data, is_known),
        style: match is_guard {
            true => LockStyle::Guard,
            false => LockStyle::Pthread,
        },
    };
    let changes = match users {
        [only] => vec![declared_alone(only, &mutex, data)?],
        _ => declared_for_all(users, &mutex)?,
    };
    Ok((mutex, changes))
}

/// Declares the mutex beside its data, in the only file that uses it.
fn declared_alone(
    user: &MutexUser<'_>,
    mutex: &Mutex,
    data: &str,
) -> Result<Vec<Change>, EditRefusal> {
    let source = user.source;
    let first = outermost(source, user.line, &AROUND)?;
    let declared = siblings(first).into_iter().find(|node| {
        node.kind() == "declaration"
            && node.start_byte() < first.start_byte()
            && names(source, *node, data)
    });
    let text = declaration(source, mutex)?;
    let mut changes = header(source, mutex.style);
    changes.push(match declared {
        Some(node) => Change::insert(source.line_end(node.end_byte()), format!("\n{text}")),
        None => Change::insert(before(source, first), format!("{text}\n\n")),
    });
    Ok(changes)
}

/// Defines the mutex in one source file, outside of all namespaces, and declares it in the other files; or only in the header
/// that all of them include, where no source file but that with `main` is at hand.
fn declared_for_all(
    users: &[MutexUser<'_>],
    mutex: &Mutex,
) -> Result<Vec<Vec<Change>>, EditRefusal> {
    // Tests and other programs bring a `main` of their own: what others need is defined elsewhere, if that is possible.
    let is_source = |user: &MutexUser<'_>| !user.source.is_header();
    let is_library = |user: &MutexUser<'_>| is_source(user) && !has_main(user.source);
    let is_inline = mutex.style == LockStyle::Guard && !users.iter().any(is_library);
    if let Some(home) = included_by_all(users).filter(|_| is_inline) {
        let of_user = |(at, user): (usize, &MutexUser<'_>)| match at == home {
            true => in_file(user, mutex, &format!("inline std::mutex {};", mutex.object)),
            false => Ok(Vec::new()),
        };
        return users.iter().enumerate().map(of_user).collect();
    }
    let home = users
        .iter()
        .position(is_library)
        .or_else(|| users.iter().position(is_source))
        .ok_or("it would be declared in headers only, and no source file is known to define it")?;
    let declared = users
        .iter()
        .enumerate()
        .map(|(at, user)| in_file(user, mutex, &shared_declaration(mutex, at == home)));
    declared.collect()
}

/// Declares the mutex in a file, with this text.
fn in_file(user: &MutexUser<'_>, mutex: &Mutex, text: &str) -> Result<Vec<Change>, EditRefusal> {
    let first = outermost(user.source, user.line, &CONDITIONS)?;
    let mut changes = header(user.source, mutex.style);
    let place = before(user.source, first);
    changes.push(Change::insert(place, format!("{text}\n\n")));
    Ok(changes)
}

/// The header that all others of the files include.
fn included_by_all(users: &[MutexUser<'_>]) -> Option<usize> {
    let is_home = |home: &MutexUser<'_>| {
        let mut others = users.iter();
        home.source.is_header()
            && others.all(|other| {
                std::ptr::eq(other.source, home.source) || other.source.includes(home.source)
            })
    };
    users.iter().position(is_home)
}

/// Returns whether a file defines `main`.
fn has_main(source: &ParsedSource) -> bool {
    let all = every(source).into_iter();
    let mut functions = all.filter(|node| node.kind() == "function_definition");
    functions.any(|node| function_name(source, node) == Some("main"))
}

/// The declaration of a mutex that only one file knows.
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

/// The definition, or a declaration, of a mutex that several files know.
fn shared_declaration(mutex: &Mutex, is_home: bool) -> String {
    let name = &mutex.object;
    match (mutex.style, is_home) {
        (LockStyle::Guard, true) => format!("std::mutex {name};"),
        (LockStyle::Guard, false) => format!("extern std::mutex {name};"),
        (_, true) => format!("pthread_mutex_t {name} = PTHREAD_MUTEX_INITIALIZER;"),
        (_, false) => format!("extern pthread_mutex_t {name};"),
    }
}

/// Style of a new mutex in this file.
pub fn style(source: &ParsedSource) -> LockStyle {
    match source.is_cpp() && !source.text().contains("pthread_mutex") {
        true => LockStyle::Guard,
        false => LockStyle::Pthread,
    }
}

/// A name for the mutex of `data` that is not known yet.
pub(super) fn free_name(data: &str, is_known: &dyn Fn(&str) -> bool) -> String {
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
    let free = names.into_iter().find(|name| !is_known(name));
    free.unwrap_or_else(|| format!("unsnarl_{base}_lock"))
}

/// Parts of a file that a declaration of the file may stand in, as the preprocessor's guard of a header.
const CONDITIONS: [&str; 2] = ["preproc_ifdef", "preproc_if"];

/// Those, and the ones that declarations beside a function stand in as well.
const AROUND: [&str; 5] = [
    "preproc_ifdef",
    "preproc_if",
    "namespace_definition",
    "declaration_list",
    "linkage_specification",
];

/// The outermost part that contains the line and is none of these kinds: a function or a class.
///
/// # Errors
/// An error when the line is in no such part.
fn outermost<'s>(
    source: &'s ParsedSource,
    line: u32,
    around: &[&str],
) -> Result<Node<'s>, EditRefusal> {
    let holds = |node: &Node<'_>| lines(*node).contains(&line);
    let unknown = || source.outside(line);
    // A directive of the preprocessor ends where the next line begins.
    let inner = |node: Node<'s>| children(node).into_iter().rfind(holds);
    let mut node = inner(source.root()).ok_or_else(unknown)?;
    while around.contains(&node.kind()) {
        node = inner(node).ok_or_else(unknown)?;
    }
    Ok(node)
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
pub(super) fn header(source: &ParsedSource, style: LockStyle) -> Vec<Change> {
    let name = if style == LockStyle::Guard {
        "<mutex>"
    } else {
        "<pthread.h>"
    };
    let is_include = |node: &Node<'_>| node.kind() == "preproc_include";
    let mut all = descendants(source.root()).into_iter().filter(is_include);
    if all.any(|node| source.str(node).contains(name)) {
        return Vec::new();
    }
    let first = children(source.root()).into_iter().find(is_include);
    let at = first.map_or(0, |node| node.start_byte());
    vec![Change::insert(at, format!("#include {name}\n"))]
}
