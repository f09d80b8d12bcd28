//! Declarations of mutexes: their types, in this file or in another, and whether a `const` function can lock them.

use super::{
    EditRefusal,
    change::Change,
    guard::every,
    locks::Mutex,
    source::{ParsedSource, children, descendants},
};
use std::collections::BTreeMap;
use tree_sitter::Node;

/// The mutexes that the files of a program declare, by name.
#[derive(Default)]
pub struct DeclaredMutexes {
    /// `None` where declarations of one name differ.
    by_name: BTreeMap<String, Option<DeclaredMutex>>,
}

/// A declaration of a mutex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredMutex {
    /// Its type, as it is written: `std::recursive_mutex`.
    pub kind: String,
    /// It is `mutable`, or belongs to no object.
    pub can_be_locked_in_const: bool,
}

impl DeclaredMutexes {
    /// Collects the declarations whose type is that of a mutex; linear in the texts.
    pub fn of<'s>(sources: impl Iterator<Item = &'s ParsedSource>) -> DeclaredMutexes {
        let mut found = DeclaredMutexes::default();
        for source in sources {
            let all = every(source).into_iter();
            for node in all.filter(|node| is_declaration(*node)) {
                found.declare(source, node);
            }
        }
        found
    }

    fn declare(&mut self, source: &ParsedSource, node: Node<'_>) {
        let kind = node.child_by_field_name("type");
        let Some(kind) = kind.filter(|kind| source.str(*kind).contains("mutex")) else {
            return;
        };
        let one = DeclaredMutex {
            kind: source.str(kind).to_owned(),
            can_be_locked_in_const: node.kind() == "declaration"
                || can_be_locked_in_const(source, node),
        };
        for name in names(node).filter(|name| name.start_byte() >= kind.end_byte()) {
            let known = self.by_name.entry(source.str(name).to_owned());
            let known = known.or_insert_with(|| Some(one.clone()));
            if known.as_ref().is_some_and(|known| *known != one) {
                *known = None;
            }
        }
    }

    /// The declaration of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&DeclaredMutex> {
        self.by_name.get(name)?.as_ref()
    }
}

fn is_declaration(node: Node<'_>) -> bool {
    matches!(node.kind(), "declaration" | "field_declaration")
}

/// The names that a declaration declares.
fn names<'t>(declaration: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    descendants(declaration).into_iter().filter(|inner| {
        matches!(inner.kind(), "identifier" | "field_identifier")
            && inner
                .parent()
                .is_some_and(|parent| parent.kind() != "argument_list")
    })
}

/// Returns whether the member that is declared here is not constant in a constant object: `mutable`, or of the class.
fn can_be_locked_in_const(source: &ParsedSource, declaration: Node<'_>) -> bool {
    let mut words = children(declaration).into_iter();
    words.any(|word| ["mutable", "static"].contains(&source.str(word)))
}

/// Returns whether the mutex of this name is declared so that a thread which holds it may take it again.
pub fn is_recursive(source: &ParsedSource, name: &str) -> bool {
    declared_type(source, name).is_some_and(|kind| kind.contains("recursive"))
}

/// The declared type of a variable or a member of this name; where the file has none, of a mutex in other files.
pub fn declared_type<'s>(source: &'s ParsedSource, name: &str) -> Option<&'s str> {
    let declares = |node: &Node<'_>| {
        is_declaration(*node) && names(*node).any(|inner| source.str(inner) == name)
    };
    let all = every(source);
    let nearest = all
        .into_iter()
        .filter(declares)
        .min_by_key(|node| node.byte_range().len());
    match nearest {
        Some(node) => Some(source.str(node.child_by_field_name("type")?)),
        None => Some(&source.mutexes().get(name)?.kind),
    }
}

/// Makes a member `mutable` for a `const` function, which can lock no other.
pub(super) fn mutable(
    source: &ParsedSource,
    function: Node<'_>,
    mutex: &Mutex,
) -> Result<Option<Change>, EditRefusal> {
    let name = mutex.object.trim_start_matches("this->");
    let is_member = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_member || !is_const(source, function) {
        return Ok(None);
    }
    let mut stack = vec![source.root()];
    while let Some(node) = stack.pop() {
        let declarator = node.child_by_field_name("declarator");
        let declares = declarator.is_some_and(|it| source.str(it) == name);
        if declares && node.kind() == "field_declaration" {
            let change = Change::insert(node.start_byte(), "mutable ".to_owned());
            return Ok((!can_be_locked_in_const(source, node)).then_some(change));
        }
        if declares && node.kind() == "declaration" {
            return Ok(None);
        }
        stack.extend(children(node));
    }
    // A member would be declared in the class.
    if function
        .parent()
        .is_some_and(|it| it.kind() == "field_declaration_list")
    {
        return Ok(None);
    }
    // What no file declares is to be declared beside the functions, and belongs to no object.
    match source.mutexes().get(name) {
        Some(elsewhere) if !elsewhere.can_be_locked_in_const => Err(format!(
            "`{name}` would have to be `mutable`, and is declared in another file"
        )),
        _ => Ok(None),
    }
}

/// Returns whether a member function is `const`.
fn is_const(source: &ParsedSource, function: Node<'_>) -> bool {
    let mut declarator = function.child_by_field_name("declarator");
    while let Some(node) = declarator {
        if node.kind() == "function_declarator" {
            let mut parts = children(node).into_iter();
            return parts.any(|it| it.kind() == "type_qualifier" && source.str(it) == "const");
        }
        let inner = node.child_by_field_name("declarator");
        declarator = inner.or_else(|| children(node).last().copied());
    }
    false
}
