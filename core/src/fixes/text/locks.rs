//! How a file locks a mutex, and which statements do.

use super::source::{Source, children, descendants};
use std::collections::BTreeSet;
use tree_sitter::Node;

/// What a statement does to a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Takes it.
    Lock,
    /// Gives it back.
    Unlock,
}

/// How a mutex is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// `pthread_mutex_lock(&m)`
    Pthread,
    /// `pthread_spin_lock(&m)`
    Spin,
    /// `pthread_rwlock_wrlock(&m)`
    ReadWrite,
    /// `mtx_lock(&m)`
    C11,
    /// `m.lock()`
    Method,
    /// `std::lock_guard<std::mutex> guard(m)`
    Guard,
    /// `take_lock(&m)`: a pair of the program's own functions, by its index in [`LockCalls::pairs`].
    Wrapper(u16),
}

/// A mutex as one function names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutex {
    /// The object: `account.lock`, `queue->lock`; `*lock` when only a pointer to it has a name.
    pub object: String,
    /// How it is locked.
    pub style: Style,
}

/// Functions, macros and classes of the program that take a lock and return with it held, or give one back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LockCalls {
    /// Functions that belong together.
    pub pairs: Vec<LockPair>,
    /// Names of classes whose objects hold a lock as long as they live.
    pub guards: BTreeSet<String>,
    /// Names of functions that return such an object: `const auto held = hold(m)`.
    pub holders: BTreeSet<String>,
}

/// Two functions or macros that belong together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockPair {
    /// Takes a lock.
    pub lock: String,
    /// Gives it back.
    pub unlock: String,
    /// They are given the lock itself (a macro, a reference), and not where it is.
    pub by_name: bool,
}

impl LockCalls {
    /// Is this the name of one of the functions?
    pub fn is_one(&self, name: &str) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|pair| pair.lock == name || pair.unlock == name)
    }

    fn operation(&self, name: &str) -> Option<(Style, Operation, bool)> {
        (0u16..).zip(&self.pairs).find_map(|(at, pair)| {
            let what = match (name == pair.lock, name == pair.unlock) {
                (true, _) => Operation::Lock,
                (_, true) => Operation::Unlock,
                _ => return None,
            };
            Some((Style::Wrapper(at), what, pair.by_name))
        })
    }
}

/// Functions that take and give back a mutex that is their first argument.
const CALLS: [(&str, Style, Operation); 10] = [
    ("pthread_mutex_lock", Style::Pthread, Operation::Lock),
    ("pthread_mutex_unlock", Style::Pthread, Operation::Unlock),
    ("pthread_spin_lock", Style::Spin, Operation::Lock),
    ("pthread_spin_unlock", Style::Spin, Operation::Unlock),
    ("pthread_rwlock_wrlock", Style::ReadWrite, Operation::Lock),
    ("pthread_rwlock_rdlock", Style::ReadWrite, Operation::Lock),
    ("pthread_rwlock_unlock", Style::ReadWrite, Operation::Unlock),
    ("mtx_lock", Style::C11, Operation::Lock),
    ("mtx_unlock", Style::C11, Operation::Unlock),
    ("pthread_mutex_trylock", Style::Pthread, Operation::Lock),
];

/// Class templates whose objects hold a mutex as long as they live.
const GUARDS: [&str; 4] = ["lock_guard", "scoped_lock", "unique_lock", "shared_lock"];

impl Mutex {
    /// The statement that takes it.
    pub fn lock(&self, source: &Source) -> String {
        self.call(source, Operation::Lock)
    }

    /// The statement that gives it back; empty where its scope does.
    pub fn unlock(&self, source: &Source) -> String {
        self.call(source, Operation::Unlock)
    }

    fn call(&self, source: &Source, wanted: Operation) -> String {
        match self.style {
            Style::Guard => match wanted {
                Operation::Lock => format!("std::lock_guard<std::mutex> guard({});", self.object),
                Operation::Unlock => String::new(),
            },
            Style::Method => {
                let name = if wanted == Operation::Lock {
                    "lock"
                } else {
                    "unlock"
                };
                match self.object.strip_prefix('*') {
                    Some(pointer) => format!("{pointer}->{name}();"),
                    None => format!("{}.{name}();", self.object),
                }
            }
            Style::Wrapper(at) => {
                let pair = source.lock_calls().pairs.get(usize::from(at));
                let name = pair.map_or("", |pair| match wanted {
                    Operation::Lock => &pair.lock,
                    Operation::Unlock => &pair.unlock,
                });
                let given = |object: &str| match pair.is_some_and(|pair| pair.by_name) {
                    true => object.to_owned(),
                    false => argument(object),
                };
                match self.object.split_once(RECEIVER) {
                    Some((receiver, object)) => format!("{receiver}{name}({});", given(object)),
                    None => format!("{name}({});", given(&self.object)),
                }
            }
            style => {
                let mut calls = CALLS.iter();
                let call = calls.find(|(_, of, what)| *of == style && *what == wanted);
                let name = call.map_or("pthread_mutex_lock", |(name, ..)| name);
                format!("{name}({});", argument(&self.object))
            }
        }
    }

    /// Does a local variable that the object is named by begin in these lines, behind the first statement?
    pub fn is_declared_within(&self, source: &Source, first: u32, last: u32) -> bool {
        let Some(function) = source.function(first) else {
            return false;
        };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = self.name().split(|c: char| !is_word(c));
        let root = words.find(|word| !word.is_empty()).unwrap_or("");
        let all = descendants(function);
        let declarations = all.iter().filter(|node| node.kind() == "declaration");
        let mut lines = declarations.filter_map(|node| {
            let declarator = node.child_by_field_name("declarator")?;
            let names = descendants(declarator).into_iter();
            let mut names = names.filter(|inner| inner.kind() == "identifier");
            let is_it = names.next().is_some_and(|name| source.str(name) == root);
            is_it.then(|| *super::source::lines(*node).start())
        });
        lines.any(|line| (first..=last).contains(&line))
    }

    /// Is the lock itself what the call is given, as far as the text tells?
    pub fn has_address(&self) -> bool {
        !self.object.is_empty() && !self.object.contains(RECEIVER) && !self.object.contains(',')
    }

    /// The object without what it is called by.
    pub fn name(&self) -> &str {
        let object = self.object.rsplit(RECEIVER).next().unwrap_or("");
        object.trim_start_matches('*')
    }

    /// What a statement does to this mutex, if that is all that it does.
    pub fn operation(&self, source: &Source, statement: Node<'_>) -> Option<Operation> {
        let call = children(statement).first().copied()?;
        (statement.kind() == "expression_statement" && call.kind() == "call_expression")
            .then(|| operation(source, call))?
            .filter(|found| same(&found.object, &self.object))
            .map(|found| found.what)
    }
}

/// Are the two the same object, written with other white space?
pub fn same(a: &str, b: &str) -> bool {
    let squeezed = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    squeezed(a) == squeezed(b)
}

/// A call that locks or unlocks.
pub struct Found {
    /// What.
    pub object: String,
    /// How.
    pub style: Style,
    /// Takes it or gives it back.
    pub what: Operation,
}

/// Stands between `account.` and the arguments in the object of a method of the program's own.
const RECEIVER: char = '\u{1f}';

/// `m` as an argument is `&m`, `*lock` is `lock`; nothing stays nothing.
fn argument(object: &str) -> String {
    match object.strip_prefix('*') {
        Some(pointer) => pointer.to_owned(),
        None if object.is_empty() => String::new(),
        None => format!("&{object}"),
    }
}

/// What a call of one of the program's own lock functions does: the arguments together are the object.
fn own_operation(source: &Source, call: Node<'_>) -> Option<Found> {
    let (style, what, by_name) = source.lock_calls().operation(callee(source, call))?;
    let function = call.child_by_field_name("function")?;
    let arguments = children(call.child_by_field_name("arguments")?);
    let all = match (arguments.first(), arguments.last()) {
        (Some(first), Some(last)) => {
            let given = source.slice(first.start_byte(), last.end_byte());
            match by_name {
                true => given.trim().to_owned(),
                false => object(given),
            }
        }
        _ => String::new(),
    };
    let receiver = function.child_by_field_name("field").map(|field| {
        let receiver = source.slice(function.start_byte(), field.start_byte());
        format!("{receiver}{RECEIVER}{all}")
    });
    Some(Found {
        object: receiver.unwrap_or(all),
        style,
        what,
    })
}

/// What a call does to a mutex.
pub fn operation(source: &Source, call: Node<'_>) -> Option<Found> {
    if let Some(found) = own_operation(source, call) {
        return Some(found);
    }
    let function = call.child_by_field_name("function")?;
    let arguments = children(call.child_by_field_name("arguments")?);
    if let Some((_, style, what)) = CALLS
        .iter()
        .find(|(name, ..)| source.str(function) == *name)
    {
        let object = object(source.str(*arguments.first()?));
        return Some(Found {
            object,
            style: *style,
            what: *what,
        });
    }
    if function.kind() != "field_expression" || !arguments.is_empty() || !source.is_cpp() {
        return None;
    }
    let what = match source.str(function.child_by_field_name("field")?) {
        "lock" => Operation::Lock,
        "unlock" => Operation::Unlock,
        _ => return None,
    };
    let owner = function.child_by_field_name("argument")?;
    let is_pointer = source
        .slice(owner.end_byte(), function.end_byte())
        .starts_with("->");
    Some(Found {
        object: format!("{}{}", if is_pointer { "*" } else { "" }, source.str(owner)),
        style: Style::Method,
        what,
    })
}

/// `&account.lock` is `account.lock`, `lock` is `*lock`.
fn object(argument: &str) -> String {
    match argument.trim().strip_prefix('&') {
        Some(object) => object.trim().to_owned(),
        None => format!("*{}", argument.trim()),
    }
}

/// A declaration whose object holds mutexes as long as it lives.
pub struct Guard<'t> {
    /// The whole declaration.
    pub statement: Node<'t>,
    /// What it is given: the mutexes.
    pub held: Vec<Node<'t>>,
    /// Its name.
    pub name: Node<'t>,
}

impl Guard<'_> {
    /// The same declaration with another name and one mutex, which it may change things under.
    pub fn with(&self, source: &Source, name: &str, mutex: &str) -> String {
        let (Some(first), Some(last)) = (self.held.first(), self.held.last()) else {
            return source.str(self.statement).to_owned();
        };
        let (start, end) = (self.statement.start_byte(), self.statement.end_byte());
        let text = format!(
            "{}{name}{}{mutex}{}",
            source.slice(start, self.name.start_byte()),
            source.slice(self.name.end_byte(), first.start_byte()),
            source.slice(last.end_byte(), end)
        );
        // A guard that only reads becomes one that writes.
        text.replace("shared_lock", "unique_lock")
    }
}

/// The mutexes that a declaration such as `std::lock_guard<std::mutex> guard(m)` holds, and the guard's name.
pub fn guarded<'s>(source: &'s Source, statement: Node<'_>) -> Option<(Vec<&'s str>, &'s str)> {
    let guard = guard(source, statement)?;
    let held = guard.held.into_iter().map(|node| source.str(node));
    Some((held.collect(), source.str(guard.name)))
}

/// The declaration of a guard.
pub fn guard<'t>(source: &Source, statement: Node<'t>) -> Option<Guard<'t>> {
    if statement.kind() != "declaration" {
        return None;
    }
    by_call(source, statement).or_else(|| by_class(source, statement))
}

/// `std::lock_guard<std::mutex> guard(m)`
fn by_class<'t>(source: &Source, statement: Node<'t>) -> Option<Guard<'t>> {
    let class = source.str(statement.child_by_field_name("type")?);
    let own = &source.lock_calls().guards;
    if !GUARDS.iter().any(|name| class.contains(name)) && !own.contains(last_name_of_type(class)) {
        return None;
    }
    let inner = descendants(statement).into_iter();
    let mut lists = inner.filter(|node| {
        matches!(
            node.kind(),
            "argument_list" | "initializer_list" | "parameter_list"
        )
    });
    let list = lists.next()?;
    let names = descendants(statement)
        .into_iter()
        .filter(|node| node.kind() == "identifier");
    let before = names.filter(|node| node.end_byte() <= list.start_byte());
    let name = before.max_by_key(|node| node.start_byte())?;
    Some(Guard {
        statement,
        held: children(list),
        name,
    })
}

/// `const auto held = hold(m)`
fn by_call<'t>(source: &Source, statement: Node<'t>) -> Option<Guard<'t>> {
    let declarator = statement.child_by_field_name("declarator")?;
    let call = declarator.child_by_field_name("value")?;
    let is_call = call.kind() == "call_expression";
    if !is_call || !source.lock_calls().holders.contains(callee(source, call)) {
        return None;
    }
    Some(Guard {
        statement,
        held: children(call.child_by_field_name("arguments")?),
        name: declarator.child_by_field_name("declarator")?,
    })
}

/// `Holder` of `base::Holder<std::mutex>`.
pub fn last_name_of_type(class: &str) -> &str {
    let plain = class.split('<').next().unwrap_or(class).trim();
    plain.rsplit("::").next().unwrap_or(plain)
}

/// Calls within a node, those of functions in it left out.
pub fn calls<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let all = descendants(node).into_iter();
    all.filter(|node| node.kind() == "call_expression")
}

/// The name of the function that a call calls: `f` of `f(x)`, `get` of `list.get(i)`.
pub fn callee<'s>(source: &'s Source, call: Node<'_>) -> &'s str {
    let Some(function) = call.child_by_field_name("function") else {
        return "";
    };
    let mut named = function
        .child_by_field_name("field")
        .or_else(|| function.child_by_field_name("name"))
        .unwrap_or(function);
    // Of `std::this_thread::yield` the last part.
    while named.kind() == "qualified_identifier"
        && let Some(inner) = named.child_by_field_name("name")
    {
        named = inner;
    }
    source.str(named)
}

/// The last part of an object's name: `lock` of `queue->lock`.
pub fn last_name(object: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    object
        .rsplit(|c| !is_word(c))
        .find(|part| !part.is_empty())
        .unwrap_or(object)
}
