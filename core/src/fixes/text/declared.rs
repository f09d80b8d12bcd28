//! Declarations of mutexes: their types, in this file or in another, and whether a `const` function can lock them.

use super::{
    EditRefusal,
    change::Change,
    guard::every,
    locks::Mutex,
    source::{ParsedSource, children, descendants},
};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// The mutexes that the files of a program declare, by name.
#[derive(Default)]
pub struct DeclaredMutexes {
    /// `None` where declarations of one name differ.
    by_name: BTreeMap<String, Option<DeclaredMutex>>,
    /// The structs and classes with a member of the name.
    owners: BTreeMap<String, BTreeSet<String>>,
    /// Names of types by the struct that they stand for.
    aliases: BTreeMap<String, BTreeSet<String>>,
}

/// Types of locks that are no mutexes by their name.
const OTHER_LOCKS: [&str; 6] = [
    "pthread_rwlock_t",
    "pthread_spinlock_t",
    "mtx_t",
    "GMutex",
    "GRecMutex",
    "GRWLock",
];

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
            for node in every(source) {
                match node.kind() {
                    "type_definition" => found.name_type(source, node),
                    _ if is_declaration(node) => found.declare(source, node),
                    _ => {}
                }
            }
        }
        found
    }

    fn declare(&mut self, source: &ParsedSource, node: Node<'_>) {
        let kind = node.child_by_field_name("type");
        let is_lock = |kind: &str| kind.contains("mutex") || OTHER_LOCKS.contains(&kind);
        let Some(kind) = kind.filter(|kind| is_lock(source.str(*kind))) else {
            return;
        };
        let owner = owner(source, node);
        let one = DeclaredMutex {
            kind: source.str(kind).to_owned(),
            can_be_locked_in_const: node.kind() == "declaration"
                || can_be_locked_in_const(source, node),
        };
        for name in names(node).filter(|name| name.start_byte() >= kind.end_byte()) {
            let name = source.str(name);
            if let Some(owner) = &owner {
                let owners = self.owners.entry(name.to_owned()).or_default();
                owners.insert(owner.clone());
            }
            let known = self.by_name.entry(name.to_owned());
            let known = known.or_insert_with(|| Some(one.clone()));
            if known.as_ref().is_some_and(|known| *known != one) {
                *known = None;
            }
        }
    }

    /// Notes `typedef struct peer peer_t`.
    fn name_type(&mut self, source: &ParsedSource, node: Node<'_>) {
        let kind = node.child_by_field_name("type");
        let tag = kind.and_then(|kind| kind.child_by_field_name("name"));
        let alias = node.child_by_field_name("declarator");
        let is_name = |node: &Node<'_>| node.kind() == "type_identifier";
        if let (Some(tag), Some(alias)) = (tag, alias.filter(is_name)) {
            let aliases = self.aliases.entry(source.str(tag).to_owned()).or_default();
            aliases.insert(source.str(alias).to_owned());
        }
    }

    /// The names of the only struct or class that has a mutex of this name as its member; empty where several have.
    pub fn owner(&self, name: &str) -> Vec<&str> {
        let mut owners = self.owners.get(name).into_iter().flatten();
        match (owners.next(), owners.next()) {
            (Some(owner), None) => self.names_of(owner),
            _ => Vec::new(),
        }
    }

    /// The names of all structs and classes that have a mutex of this name as their member.
    pub fn owners(&self, name: &str) -> Vec<&str> {
        let owners = self.owners.get(name).into_iter().flatten();
        owners.flat_map(|owner| self.names_of(owner)).collect()
    }

    /// The names of a struct or class: its own, and those that stand for it.
    pub fn names_of<'d>(&'d self, owner: &'d str) -> Vec<&'d str> {
        let aliases = self.aliases.get(owner).into_iter().flatten();
        std::iter::once(owner)
            .chain(aliases.map(String::as_str))
            .collect()
    }

    /// The declaration of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&DeclaredMutex> {
        self.by_name.get(name)?.as_ref()
    }
}

/// The struct or class that a member is declared in: its tag, or the name of the type that is made of it.
fn owner(source: &ParsedSource, member: Node<'_>) -> Option<String> {
    let own = (member.kind() == "field_declaration").then(|| member.parent()?.parent())??;
    let made = own
        .parent()
        .filter(|outer| outer.kind() == "type_definition");
    let name = own
        .child_by_field_name("name")
        .or_else(|| made?.child_by_field_name("declarator"))?;
    Some(source.str(name).to_owned())
}

/// A variable or a parameter of a function: no array, function or pointer to a pointer.
pub struct DeclaredVariable<'s> {
    /// Its type, without `struct` and what makes a pointer of it: `peer`.
    pub kind: &'s str,
    /// The type is written with `struct`: the name stands for nothing else.
    pub is_struct: bool,
    /// Leads to a member: `->`.
    pub leads: &'static str,
}

/// The variables and parameters of a function by their names.
pub fn variables<'s>(
    source: &'s ParsedSource,
    function: Node<'_>,
) -> BTreeMap<&'s str, DeclaredVariable<'s>> {
    let all = descendants(function).into_iter();
    let declared =
        all.filter(|node| matches!(node.kind(), "declaration" | "parameter_declaration"));
    let mut found = BTreeMap::new();
    for node in declared {
        let Some(kind) = node.child_by_field_name("type") else {
            continue;
        };
        let is_struct = kind.kind() == "struct_specifier";
        let kind = source.str(kind.child_by_field_name("name").unwrap_or(kind));
        let mut cursor = node.walk();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            if let Some((name, leads)) = variable(source, declarator) {
                let variable = DeclaredVariable {
                    kind,
                    is_struct,
                    leads,
                };
                found.insert(name, variable);
            }
        }
    }
    found
}

/// A declared variable, with what leads to its members; `None` for arrays, functions and pointers to pointers.
fn variable<'s>(
    source: &'s ParsedSource,
    mut declarator: Node<'_>,
) -> Option<(&'s str, &'static str)> {
    let mut leads = ".";
    loop {
        declarator = match declarator.kind() {
            "identifier" => return Some((source.str(declarator), leads)),
            "init_declarator" => declarator.child_by_field_name("declarator")?,
            "reference_declarator" => children(declarator).last().copied()?,
            "pointer_declarator" if leads == "." => {
                leads = "->";
                declarator.child_by_field_name("declarator")?
            }
            _ => return None,
        };
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
    let is_recursive = |kind: &str| kind.contains("recursive") || kind == "GRecMutex";
    declared_type(source, name).is_some_and(is_recursive)
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

/// Returns whether a file declares a member of this name that holds a function: a pointer to one, or an object like
/// `std::function`. Its methods are no such members.
pub fn declares_callable(source: &ParsedSource, name: &str) -> bool {
    let is_named = |node: &Node<'_>| node.kind() == "field_identifier" && source.str(*node) == name;
    let is_method = |node: &Node<'_>| {
        let named = node.child_by_field_name("declarator");
        node.kind() == "function_declarator" && named.is_some_and(|named| is_named(&named))
    };
    let is_it = |node: &Node<'_>| {
        let inner = node
            .child_by_field_name("declarator")
            .map(descendants)
            .unwrap_or_default();
        node.kind() == "field_declaration"
            && inner.iter().any(is_named)
            && !inner.iter().any(is_method)
    };
    every(source).iter().any(is_it)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_lead_to_the_locks_of_their_types() {
        let header = "typedef struct peer peer_t;\nstruct peer { int id; pthread_mutex_t io_lock; };\ntypedef struct { pthread_rwlock_t lock; } cache_t;\nstruct other { pthread_mutex_t own; };\nstruct third { pthread_mutex_t own; };\n";
        let text = "void f(peer_t *p, struct peer **all)\n{\n    const struct peer *best = all[0], one;\n    cache_t *c;\n}\n";
        let [header, source] = [header, text].map(|text| ParsedSource::parse("a.c", text).unwrap());
        let known = DeclaredMutexes::of([&header].into_iter());
        let function = source.function(3).unwrap();
        let of = |lock: &str| {
            let types = known.owner(lock);
            let all = variables(&source, function).into_iter();
            let own = all.filter(|(_, variable)| types.contains(&variable.kind));
            own.map(|(name, variable)| (name, variable.leads))
                .collect::<BTreeMap<_, _>>()
        };
        let peers = [("best", "->"), ("one", "."), ("p", "->")];
        assert_eq!(of("io_lock"), BTreeMap::from(peers));
        assert_eq!(of("lock"), BTreeMap::from([("c", "->")]));
        assert!(of("own").is_empty());
    }

    #[test]
    fn members_that_hold_functions_are_no_methods() {
        let text = "struct timer {\n    std::function<void()> callback;\n    void (*ended)(struct timer *);\n    void start();\n    int *first() const;\n};\n";
        let source = ParsedSource::parse("a.cpp", text).unwrap();
        let holds = |name: &str| declares_callable(&source, name);
        assert!(holds("callback") && holds("ended"));
        assert!(!holds("start") && !holds("first") && !holds("other"));
    }
}
