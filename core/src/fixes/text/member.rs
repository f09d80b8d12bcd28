//! Declaration of a new mutex as a member of the class whose methods use it: each object has its own.

use super::{
    change::Change,
    declare::{MutexUser, free_name, header, style},
    guard::every,
    locks::{LockStyle, Mutex},
    source::{ParsedSource, children, descendants},
};
use tree_sitter::Node;

/// A mutex as a member, with the file of its class and the changes there.
pub struct MemberMutex {
    /// The mutex, by its name in methods.
    pub mutex: Mutex,
    /// Index of the file that defines the class.
    pub home: usize,
    /// Changes in that file.
    pub changes: Vec<Change>,
}

/// Declares a mutex beside the members `data` of the class that all users are methods of, defined in one of `sources`; `None`
/// where they are functions of no class or of several ones, functions without an object, or lambdas, or where the class does
/// not have these members: then one mutex would not guard them for all objects.
pub fn declare_member<'s>(
    users: &[MutexUser<'s>],
    sources: &[&'s ParsedSource],
    data: &[&str],
    is_known: &dyn Fn(&str) -> bool,
) -> Option<MemberMutex> {
    let is_guard = |source: &ParsedSource| style(source) == LockStyle::Guard;
    if !users.iter().all(|user| is_guard(user.source)) {
        return None;
    }
    let functions: Vec<(&ParsedSource, Node<'s>)> = users
        .iter()
        .map(|user| Some((user.source, user.source.function(user.line)?)))
        .collect::<Option<_>>()?;
    let mut classes = functions
        .iter()
        .map(|(source, function)| class_name(source, *function));
    let class = classes.next()??;
    if classes.any(|other| other != Some(class)) {
        return None;
    }
    let (home, body) = defined(sources, class)?;
    let source = sources.get(home)?;
    let fields = fields(source, body);
    let beside = data.first().and_then(|first| field_of(&fields, first))?;
    // All objects share a static member.
    let is_own =
        |one: &&str| field_of(&fields, one).is_some_and(|(field, _)| !is_static(source, field));
    if !data.iter().all(is_own) {
        return None;
    }
    let (field, name) = beside;
    let is_const = functions
        .iter()
        .any(|(source, function)| is_const(source, *function));
    let mutex = Mutex {
        object: in_style_of(name, &free_name(name, is_known)),
        style: LockStyle::Guard,
    };
    let text = format!(
        "\n{}{}std::mutex {};",
        source.indent(field.start_byte()),
        if is_const { "mutable " } else { "" },
        mutex.object
    );
    let mut changes = header(source, LockStyle::Guard);
    changes.push(Change::insert(source.line_end(field.end_byte()), text));
    Some(MemberMutex {
        mutex,
        home,
        changes,
    })
}

/// The class that a function is a method of: the one around it, or the one that its name is qualified with.
fn class_name<'s>(source: &'s ParsedSource, function: Node<'s>) -> Option<&'s str> {
    if function.kind() != "function_definition" || is_static(source, function) {
        return None;
    }
    let mut around = function.parent();
    while let Some(node) = around {
        if is_class(node) {
            return Some(source.str(node.child_by_field_name("name")?));
        }
        if node.kind() == "lambda_expression" {
            return None;
        }
        around = node.parent();
    }
    let declarator = function.child_by_field_name("declarator")?;
    let mut all = descendants(declarator).into_iter();
    let name = all.find(|node| node.kind() == "qualified_identifier")?;
    let scope = source.str(name.child_by_field_name("scope")?);
    scope.split('<').next()
}

fn is_class(node: Node<'_>) -> bool {
    matches!(node.kind(), "class_specifier" | "struct_specifier")
}

fn is_static(source: &ParsedSource, node: Node<'_>) -> bool {
    let is_static = |child: &Node<'_>| {
        child.kind() == "storage_class_specifier" && source.str(*child) == "static"
    };
    children(node).iter().any(is_static)
}

/// Returns whether a method is declared `const`.
fn is_const(source: &ParsedSource, function: Node<'_>) -> bool {
    let declarator = function.child_by_field_name("declarator");
    let mut all = declarator.into_iter().flat_map(descendants);
    all.any(|node| {
        let is_of_function = node
            .parent()
            .is_some_and(|outer| outer.kind() == "function_declarator");
        node.kind() == "type_qualifier" && is_of_function && source.str(node) == "const"
    })
}

/// The body of the only class of this name, with the number of its file.
fn defined<'s>(sources: &[&'s ParsedSource], class: &str) -> Option<(usize, Node<'s>)> {
    let of_file = |(at, source): (usize, &&'s ParsedSource)| {
        let classes = every(source).into_iter().filter(|node| is_class(*node));
        let own = classes.filter(|node| {
            let name = node.child_by_field_name("name");
            name.is_some_and(|name| source.str(name) == class)
        });
        let bodies = own.filter_map(|node| Some((at, node.child_by_field_name("body")?)));
        bodies.collect::<Vec<_>>()
    };
    let mut found = sources.iter().enumerate().flat_map(of_file);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The data members of a class, each with its name.
fn fields<'s>(source: &'s ParsedSource, body: Node<'s>) -> Vec<(Node<'s>, &'s str)> {
    let all = children(body).into_iter();
    let declared = all.filter(|node| node.kind() == "field_declaration");
    let named = declared.flat_map(|field| {
        let inner = descendants(field).into_iter();
        let names = inner.filter(|node| node.kind() == "field_identifier");
        names.map(move |name| (field, source.str(name)))
    });
    let is_data = |(field, _): &(Node<'s>, &str)| {
        let mut inner = descendants(*field).into_iter();
        !inner.any(|node| node.kind() == "function_declarator")
    };
    named.filter(is_data).collect()
}

/// The member that a location is, or lies in: `inside_` of `limiter.inside_`, `archive_` of `log.archive_[0].n`.
fn field_of<'s>(fields: &[(Node<'s>, &'s str)], location: &str) -> Option<(Node<'s>, &'s str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = location.split(|c: char| !is_word(c));
    words.find_map(|word| fields.iter().find(|(_, name)| *name == word).copied())
}

/// A name like those of the other members: `m_` before it, or `_` behind it.
fn in_style_of(member: &str, name: &str) -> String {
    let name = name.trim_start_matches("m_");
    match (member.starts_with("m_"), member.ends_with('_')) {
        (true, _) => format!("m_{name}"),
        (false, true) => format!("{name}_"),
        (false, false) => name.to_owned(),
    }
}
