//! Statements that lock a mutex, and the style of locking in a file.

use super::{
    change::Change,
    source::{ParsedSource, children, descendants},
};
use std::collections::BTreeSet;
use tree_sitter::Node;

/// Effect of a statement on a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockOperation {
    /// Acquires it.
    Lock,
    /// Releases it.
    Unlock,
}

/// Style of locking a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockStyle {
    /// `pthread_mutex_lock(&m)`
    Pthread,
    /// `pthread_spin_lock(&m)`
    Spin,
    /// `pthread_rwlock_wrlock(&m)`
    ReadWrite,
    /// `mtx_lock(&m)`
    C11,
    /// `g_mutex_lock(&m)`
    Glib,
    /// `g_rec_mutex_lock(&m)`
    GlibRecursive,
    /// `g_rw_lock_writer_lock(&m)`
    GlibReadWrite,
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
    /// Style of locking it.
    pub style: LockStyle,
}

/// Functions, macros and classes of the program that acquire a lock and return with it held, or release one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LockCalls {
    /// Pairs of functions.
    pub pairs: Vec<LockPair>,
    /// Names of classes whose objects hold a lock during their lifetime.
    pub guards: BTreeSet<String>,
    /// Names of functions that return such an object: `const auto held = hold(m)`.
    pub holders: BTreeSet<String>,
}

/// A pair of functions or macros.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockPair {
    /// The one that acquires a lock.
    pub lock: String,
    /// The one that releases it.
    pub unlock: String,
    /// `true` if they are given the lock itself (a macro, a reference), not its address.
    pub by_name: bool,
}

impl LockCalls {
    /// Returns whether one of the functions has this name.
    pub fn is_one(&self, name: &str) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|pair| pair.lock == name || pair.unlock == name)
    }

    fn operation(&self, name: &str) -> Option<(LockStyle, LockOperation, bool)> {
        (0u16..).zip(&self.pairs).find_map(|(at, pair)| {
            let what = match (name == pair.lock, name == pair.unlock) {
                (true, _) => LockOperation::Lock,
                (_, true) => LockOperation::Unlock,
                _ => return None,
            };
            Some((LockStyle::Wrapper(at), what, pair.by_name))
        })
    }
}

/// Functions that acquire and release a mutex that is their first argument.
const CALLS: [(&str, LockStyle, LockOperation); 18] = [
    (
        "pthread_mutex_lock",
        LockStyle::Pthread,
        LockOperation::Lock,
    ),
    (
        "pthread_mutex_unlock",
        LockStyle::Pthread,
        LockOperation::Unlock,
    ),
    ("pthread_spin_lock", LockStyle::Spin, LockOperation::Lock),
    (
        "pthread_spin_unlock",
        LockStyle::Spin,
        LockOperation::Unlock,
    ),
    (
        "pthread_rwlock_wrlock",
        LockStyle::ReadWrite,
        LockOperation::Lock,
    ),
    (
        "pthread_rwlock_rdlock",
        LockStyle::ReadWrite,
        LockOperation::Lock,
    ),
    (
        "pthread_rwlock_unlock",
        LockStyle::ReadWrite,
        LockOperation::Unlock,
    ),
    ("mtx_lock", LockStyle::C11, LockOperation::Lock),
    ("mtx_unlock", LockStyle::C11, LockOperation::Unlock),
    ("g_mutex_lock", LockStyle::Glib, LockOperation::Lock),
    ("g_mutex_unlock", LockStyle::Glib, LockOperation::Unlock),
    (
        "g_rec_mutex_lock",
        LockStyle::GlibRecursive,
        LockOperation::Lock,
    ),
    (
        "g_rec_mutex_unlock",
        LockStyle::GlibRecursive,
        LockOperation::Unlock,
    ),
    (
        "g_rw_lock_writer_lock",
        LockStyle::GlibReadWrite,
        LockOperation::Lock,
    ),
    (
        "g_rw_lock_writer_unlock",
        LockStyle::GlibReadWrite,
        LockOperation::Unlock,
    ),
    (
        "g_rw_lock_reader_lock",
        LockStyle::GlibReadWrite,
        LockOperation::Lock,
    ),
    (
        "g_rw_lock_reader_unlock",
        LockStyle::GlibReadWrite,
        LockOperation::Unlock,
    ),
    (
        "pthread_mutex_trylock",
        LockStyle::Pthread,
        LockOperation::Lock,
    ),
];

/// Class templates whose objects hold a mutex during their lifetime.
const GUARDS: [&str; 4] = ["lock_guard", "scoped_lock", "unique_lock", "shared_lock"];

/// The guard that lets others in, and the one that does not.
pub const SHARED: &str = "shared_lock";
/// See [`SHARED`].
pub const EXCLUSIVE: &str = "unique_lock";

/// Calls that acquire a lock for reading only, with those that do so for writing.
const EXCLUSIVE_LOCKS: [(&str, &str); 2] = [
    ("pthread_rwlock_rdlock", "pthread_rwlock_wrlock"),
    ("g_rw_lock_reader_lock", "g_rw_lock_writer_lock"),
];
/// The same of calls that release one.
const EXCLUSIVE_UNLOCKS: [(&str, &str); 1] =
    [("g_rw_lock_reader_unlock", "g_rw_lock_writer_unlock")];

/// The change of a call that acquires or releases a lock for reading only, so that it does for writing:
/// `pthread_rwlock_wrlock(&m)`.
pub fn exclusive_call(source: &ParsedSource, call: Node<'_>) -> Option<Change> {
    let name = callee_name(call)?;
    let mut calls = EXCLUSIVE_LOCKS.iter().chain(&EXCLUSIVE_UNLOCKS);
    let (_, exclusive) = calls.find(|(shared, _)| *shared == source.str(name))?;
    Some(Change::of(name, *exclusive))
}

/// Returns whether a call acquires a lock for reading that another call releases than for writing.
pub fn has_unlock_for_reading(source: &ParsedSource, call: Node<'_>) -> bool {
    let name = callee(source, call);
    let mut locks = EXCLUSIVE_LOCKS.iter();
    let writes = locks.find(|(shared, _)| *shared == name);
    let style = |name: &str| {
        CALLS
            .iter()
            .find(|(word, ..)| *word == name)
            .map(|(_, style, _)| *style)
    };
    writes.is_some()
        && EXCLUSIVE_UNLOCKS
            .iter()
            .any(|(_, unlock)| style(unlock) == style(name))
}

/// Returns whether a call acquires a lock for writing that can be held for reading as well.
pub fn is_exclusive_call(source: &ParsedSource, call: Node<'_>) -> bool {
    let name = callee(source, call);
    EXCLUSIVE_LOCKS
        .iter()
        .any(|(_, exclusive)| *exclusive == name)
}

impl Mutex {
    /// The statement that acquires it.
    pub fn lock(&self, source: &ParsedSource) -> String {
        self.call(source, LockOperation::Lock)
    }

    /// The statement that releases it; empty where its scope does.
    pub fn unlock(&self, source: &ParsedSource) -> String {
        self.call(source, LockOperation::Unlock)
    }

    fn call(&self, source: &ParsedSource, wanted: LockOperation) -> String {
        match self.style {
            LockStyle::Guard => match wanted {
                LockOperation::Lock => {
                    format!("std::lock_guard<std::mutex> guard({});", self.object)
                }
                LockOperation::Unlock => String::new(),
            },
            LockStyle::Method => {
                let name = if wanted == LockOperation::Lock {
                    "lock"
                } else {
                    "unlock"
                };
                match self.object.strip_prefix('*') {
                    Some(pointer) => format!("{pointer}->{name}();"),
                    None => format!("{}.{name}();", self.object),
                }
            }
            LockStyle::Wrapper(at) => {
                let pair = source.lock_calls().pairs.get(usize::from(at));
                let name = pair.map_or("", |pair| match wanted {
                    LockOperation::Lock => &pair.lock,
                    LockOperation::Unlock => &pair.unlock,
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

    /// Returns whether a local variable in the object's name is declared in these lines, after the first
    /// statement.
    pub fn is_declared_within(&self, source: &ParsedSource, first: u32, last: u32) -> bool {
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

    /// Returns whether the call's only argument is the lock itself, as far as the text tells, so that the lock
    /// has an address to compare.
    pub fn has_address(&self) -> bool {
        !self.object.is_empty() && !self.object.contains(RECEIVER) && !self.object.contains(',')
    }

    /// The object without its receiver.
    pub fn name(&self) -> &str {
        let object = self.object.rsplit(RECEIVER).next().unwrap_or("");
        object.trim_start_matches('*')
    }

    /// Effect of a statement on this mutex, if it has no other.
    pub fn operation(&self, source: &ParsedSource, statement: Node<'_>) -> Option<LockOperation> {
        statement_operation(source, statement)
            .filter(|found| same(&found.object, &self.object))
            .map(|found| found.what)
    }
}

/// The call that a statement consists of, if it locks or unlocks.
pub fn statement_operation(source: &ParsedSource, statement: Node<'_>) -> Option<LockCallText> {
    let call = *children(statement).first()?;
    let is_call = statement.kind() == "expression_statement" && call.kind() == "call_expression";
    is_call.then(|| operation(source, call))?
}

/// Returns whether the two are the same object, up to white space.
pub fn same(a: &str, b: &str) -> bool {
    let squeezed = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    squeezed(a) == squeezed(b)
}

/// A call that locks or unlocks.
pub struct LockCallText {
    /// The mutex.
    pub object: String,
    /// The style of locking.
    pub style: LockStyle,
    /// The operation.
    pub what: LockOperation,
}

/// Separator between `account.` and the arguments in the object of a method of the program's own.
const RECEIVER: char = '\u{1f}';

/// An object as an argument: `m` becomes `&m`, `*lock` becomes `lock`; an empty one stays empty.
fn argument(object: &str) -> String {
    match object.strip_prefix('*') {
        Some(pointer) => pointer.to_owned(),
        None if object.is_empty() => String::new(),
        None => format!("&{object}"),
    }
}

/// Operation of one of the program's own lock functions: the arguments together are the object.
fn own_operation(source: &ParsedSource, call: Node<'_>) -> Option<LockCallText> {
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
    Some(LockCallText {
        object: receiver.unwrap_or(all),
        style,
        what,
    })
}

/// Operation of a call on a mutex.
pub fn operation(source: &ParsedSource, call: Node<'_>) -> Option<LockCallText> {
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
        return Some(LockCallText {
            object,
            style: *style,
            what: *what,
        });
    }
    if function.kind() != "field_expression" || !arguments.is_empty() || !source.is_cpp() {
        return None;
    }
    let what = match source.str(function.child_by_field_name("field")?) {
        "lock" => LockOperation::Lock,
        "unlock" => LockOperation::Unlock,
        _ => return None,
    };
    let owner = function.child_by_field_name("argument")?;
    let is_pointer = source
        .slice(owner.end_byte(), function.end_byte())
        .starts_with("->");
    Some(LockCallText {
        object: format!("{}{}", if is_pointer { "*" } else { "" }, source.str(owner)),
        style: LockStyle::Method,
        what,
    })
}

/// The object of an argument: `&account.lock` becomes `account.lock`, `lock` becomes `*lock`.
fn object(argument: &str) -> String {
    match argument.trim().strip_prefix('&') {
        Some(object) => object.trim().to_owned(),
        None => format!("*{}", argument.trim()),
    }
}

/// A declaration whose object holds mutexes during its lifetime.
pub struct Guard<'t> {
    /// The whole declaration.
    pub statement: Node<'t>,
    /// The mutexes given to it.
    pub held: Vec<Node<'t>>,
    /// Name of the guard.
    pub name: Node<'t>,
}

impl Guard<'_> {
    /// Returns whether the mutex is held for reading only.
    pub fn is_shared(&self, source: &ParsedSource) -> bool {
        source.str(self.statement).contains(SHARED)
    }

    /// The same declaration with another name and one mutex, under which writes are allowed.
    pub fn with(&self, source: &ParsedSource, name: &str, mutex: &str) -> String {
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
        text.replace(SHARED, EXCLUSIVE)
    }
}

/// The mutexes that a declaration such as `std::lock_guard<std::mutex> guard(m)` holds, and the guard's name.
pub fn guarded<'s>(
    source: &'s ParsedSource,
    statement: Node<'_>,
) -> Option<(Vec<&'s str>, &'s str)> {
    let guard = guard(source, statement)?;
    let held = guard.held.into_iter().map(|node| source.str(node));
    Some((held.collect(), source.str(guard.name)))
}

/// The declaration of a guard.
pub fn guard<'t>(source: &ParsedSource, statement: Node<'t>) -> Option<Guard<'t>> {
    if statement.kind() != "declaration" {
        return None;
    }
    by_call(source, statement).or_else(|| by_class(source, statement))
}

/// A guard by its class: `std::lock_guard<std::mutex> guard(m)`.
fn by_class<'t>(source: &ParsedSource, statement: Node<'t>) -> Option<Guard<'t>> {
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

/// A guard returned by a call: `const auto held = hold(m)`.
fn by_call<'t>(source: &ParsedSource, statement: Node<'t>) -> Option<Guard<'t>> {
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

/// The last name of a type: `Holder` of `base::Holder<std::mutex>`.
pub fn last_name_of_type(class: &str) -> &str {
    let plain = class.split('<').next().unwrap_or(class).trim();
    plain.rsplit("::").next().unwrap_or(plain)
}

/// Calls within a node, except for those in nested functions.
pub fn calls<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let all = descendants(node).into_iter();
    all.filter(|node| node.kind() == "call_expression")
}

/// The name of the function that a call calls: `f` of `f(x)`, `get` of `list.get(i)`.
pub fn callee<'s>(source: &'s ParsedSource, call: Node<'_>) -> &'s str {
    callee_name(call).map_or("", |name| source.str(name))
}

/// That name in the text; none of what is no call.
pub fn callee_name(call: Node<'_>) -> Option<Node<'_>> {
    let function = call.child_by_field_name("function")?;
    let mut named = function
        .child_by_field_name("field")
        .or_else(|| function.child_by_field_name("name"))
        .unwrap_or(function);
    // The last part, as in `std::this_thread::yield`.
    while named.kind() == "qualified_identifier"
        && let Some(inner) = named.child_by_field_name("name")
    {
        named = inner;
    }
    Some(named)
}

/// The last part of an object's name: `lock` of `queue->lock`.
pub fn last_name(object: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    object
        .rsplit(|c| !is_word(c))
        .find(|part| !part.is_empty())
        .unwrap_or(object)
}
