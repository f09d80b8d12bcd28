//! The mutex that guards a location, and its name in a function.

use super::{
    seen::RunEvidence,
    text::{
        DeclaredVariable, EditRefusal, declared_type, guard_style,
        locks::{self, LockStyle, Mutex, last_name},
        source::{ParsedSource, children, descendants, lines},
        variables,
    },
};
use crate::facts::{self, family};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;
use unsnarl_trace::{EventId, Location, Run};

/// Location of a lock event, without the thread and the function of a stack variable.
pub(super) fn lock_name(run: &Run, row: EventId) -> String {
    let name = run
        .events
        .get(row)
        .map_or("", |event| run.variable(event.location));
    name.to_owned()
}

/// Returns whether this lock guards the location, as far as names tell: a lock in a struct guards that
/// struct.
pub(super) fn guards(lock: &str, location: &str) -> bool {
    let indexed = family(lock) != lock;
    let location = Location::variable(location);
    let is_near = Location::of(lock).block() == Location::of(location).block()
        && !is_other_element(lock, location);
    !indexed || base(lock) == base(location) || is_near
}

/// Returns whether two names lie in different elements of one array.
fn is_other_element(one: &str, other: &str) -> bool {
    let same = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let (Some(before), Some(rest), Some(other)) =
        (one.get(..same), one.get(same..), other.get(same..))
    else {
        return false;
    };
    let is_index = before.rfind('[') > before.rfind(']');
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    is_index && (digit(rest) || digit(other))
}

/// Returns whether the lock lies in the same object as the location.
pub(super) fn is_beside(lock: &str, location: &str) -> bool {
    owner(lock).is_some_and(|owner| lies_in(owner, location))
}

/// Returns whether the location is a member of the lock's object itself, and not of one within it.
pub(super) fn is_right_beside(lock: &str, location: &str) -> bool {
    owner(lock) == Some(base(Location::variable(location)))
}

/// The object that a lock is a member of.
pub(super) fn owner(lock: &str) -> Option<&str> {
    Some(base(lock)).filter(|owner| *owner != lock)
}

/// Returns whether a location lies in the object.
pub(super) fn lies_in(owner: &str, location: &str) -> bool {
    let rest = Location::variable(location).strip_prefix(owner);
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// The name by which texts know a location: of its member in the object of the lock, or of the variable.
pub(super) fn member<'a>(lock: &str, location: &'a str) -> &'a str {
    let name = Location::variable(location);
    let rest = owner(lock).and_then(|owner| name.strip_prefix(owner)?.strip_prefix('.'));
    let name = rest.unwrap_or(name);
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

/// The mutex that a line acquires.
pub(super) fn taken_on(source: &ParsedSource, line: u32) -> Option<Mutex> {
    let all = operations(source, source.function(line)?);
    let mut own = all.into_iter().filter(|(at, _)| *at == line);
    own.next().map(|(_, mutex)| mutex)
}

/// The containing object of a name: `accounts[0]` of `accounts[0].lock`.
fn base(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(base, _)| base)
}

/// The lock that is held at most of the accesses, if any.
pub(super) fn usual(seen: &RunEvidence) -> Option<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (access, times) in &seen.accesses {
        for lock in access
            .held
            .iter()
            .filter(|lock| guards(lock, &access.location))
        {
            *counts.entry(family(lock)).or_default() += times;
        }
    }
    let most = counts
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
    most.map(|(lock, _)| lock)
}

/// Name of the lock of this family in the function at `line`.
///
/// # Errors
/// An error when nothing there names it.
pub(super) fn in_function(
    source: &ParsedSource,
    file: &str,
    line: u32,
    lock: &str,
    seen: &RunEvidence,
) -> Result<Mutex, EditRefusal> {
    let function = source
        .function(line)
        .ok_or_else(|| format!("line {line} is in no function of {}", facts::basename(file)))?;
    let all = operations(source, source.root());
    let style = all
        .iter()
        .find(|(_, mutex)| last_name(&mutex.object) == last_name(lock))
        .map(|(_, mutex)| mutex.style);
    let inner = operations(source, function);
    let taken = |at: u32| {
        let names = seen.taken.get(&(file.to_owned(), at)).into_iter().flatten();
        names.into_iter().any(|name| family(name) == lock)
    };
    let own: Vec<&Mutex> = inner
        .iter()
        .filter(|(at, _)| taken(*at))
        .map(|(_, mutex)| mutex)
        .collect();
    if let Some(mutex) = own.first() {
        return of_element(source, function, line, lock, &own)
            .map(|found| found.unwrap_or(mutex).clone());
    }
    if let Some(mutex) = everywhere(source, file, lock, &all, seen) {
        return Ok(mutex);
    }
    if let Some(mutex) = of_own_class(source, function, (file, lock), &all, seen) {
        return Ok(mutex);
    }
    if matches!(Location::of(lock), Location::Heap { path, .. } if !path.contains('.')) {
        return Err(format!(
            "which part of its block the lock in {} is, is not known",
            facts::in_block(lock)
        ));
    }
    let name = last_name(lock);
    let style = style
        .or_else(|| style_of(declared_type(source, name)?))
        .unwrap_or_else(|| guard_style(source));
    let types = owner_type(source, (file, lock), &all, seen).map_or_else(
        || source.mutexes().owner(name),
        |kind| source.mutexes().names_of(kind),
    );
    let object = object_at(source, function, line, lock, &types)?;
    Ok(Mutex { object, style })
}

/// The type of the variable whose member the lock is where it is seen to be taken: `context` of `&ctx->lock`.
fn owner_type<'s>(
    source: &'s ParsedSource,
    (file, lock): (&str, &str),
    all: &[(u32, Mutex)],
    seen: &RunEvidence,
) -> Option<&'s str> {
    let own = all
        .iter()
        .filter(|(line, _)| takes(seen, (file, *line), lock));
    let mut types = own.filter_map(|(line, mutex)| {
        let known = variables(source, source.function(*line)?);
        let mut known = known.into_iter();
        let is_owner = |(name, variable): &(&str, DeclaredVariable<'_>)| {
            let rest = mutex.object.strip_prefix(name);
            let rest = rest.and_then(|rest| rest.strip_prefix(variable.leads));
            rest == Some(last_name(lock))
        };
        known.find(is_owner).map(|(_, variable)| variable.kind)
    });
    types.next()
}

/// The lock, among those that a function takes, of the array's element that a line uses; `None` where it names no element.
///
/// # Errors
/// An error when the function takes only locks of elements that it names otherwise.
fn of_element<'m>(
    source: &ParsedSource,
    function: Node<'_>,
    line: u32,
    lock: &str,
    own: &[&'m Mutex],
) -> Result<Option<&'m Mutex>, EditRefusal> {
    let beside = match lock.contains("[]") {
        true => sibling(source, function, (line, last_name(lock)), &[])
            .ok()
            .flatten(),
        false => None,
    };
    let Some((name, (array, _))) = beside
        .as_deref()
        .and_then(|it| Some((it, it.split_once('[')?)))
    else {
        return Ok(None);
    };
    if let Some(found) = own.iter().find(|mutex| locks::same(&mutex.object, name)) {
        return Ok(Some(found));
    }
    let is_other = |mutex: &&&Mutex| {
        mutex
            .object
            .split_once('[')
            .is_some_and(|(it, _)| it == array)
    };
    match own.iter().find(is_other) {
        Some(other) => Err(format!(
            "line {line} needs `{name}`, and `{}`, which the function takes, may be the same lock, or be waited for with that one held",
            other.object
        )),
        None => Ok(None),
    }
}

/// Name in a function for an object that the runs call `lock`, at a line that uses data beside it. `types` are the names of
/// the struct or class that it is a member of, as far as they are known.
///
/// # Errors
/// An error when nothing there names it.
pub(super) fn object_at(
    source: &ParsedSource,
    function: Node<'_>,
    line: u32,
    lock: &str,
    types: &[&str],
) -> Result<String, EditRefusal> {
    let name = last_name(lock);
    if is_member(source, function, name) {
        return Ok(name.to_owned());
    }
    let first = lock.split(['.', '[']).next().unwrap_or(lock);
    if family(lock) == lock && lock != name && is_global(source, first)
        || lock == name && is_global(source, name)
    {
        if is_private(source, function, name) {
            return Err(format!(
                "`{lock}` is private, and line {line} is not in its class"
            ));
        }
        if lock.contains("[]") {
            let unknown = format!("which of the locks `{lock}` it is, line {line} does not say");
            return sibling(source, function, (line, name), types)?.ok_or(unknown);
        }
        return Ok(lock.to_owned());
    }
    let named = sibling(source, function, (line, name), types)?;
    let named = named.or_else(|| of_type(source, function, (line, name), types));
    named.ok_or_else(|| {
        let lock = facts::in_block(lock);
        let line = source.line_in_words(line);
        format!("`{lock}` would have to be taken on {line}, where no name for it is known")
    })
}

/// Name of the lock in another function of the same class, where it is a member of both.
fn of_own_class(
    source: &ParsedSource,
    function: Node<'_>,
    (file, lock): (&str, &str),
    all: &[(u32, Mutex)],
    seen: &RunEvidence,
) -> Option<Mutex> {
    let class = class_of(source, function)?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_own = |line: u32| {
        let other = source.function(line)?;
        Some(class_of(source, other)? == class)
    };
    let mut own = all.iter().filter(|(line, mutex)| {
        takes(seen, (file, *line), lock) && mutex.object.chars().all(is_word)
    });
    let found = own.find(|(line, _)| is_own(*line) == Some(true));
    found.map(|(_, mutex)| mutex.clone())
}

/// The class of a function that is defined outside of it: `Broker` of `void Broker::publish()`.
fn class_of<'s>(source: &'s ParsedSource, function: Node<'_>) -> Option<&'s str> {
    let declarator = function.child_by_field_name("declarator")?;
    let mut all = descendants(declarator).into_iter();
    let name = all.find(|node| node.kind() == "qualified_identifier")?;
    Some(source.str(name.child_by_field_name("scope")?))
}

/// Returns whether a line is seen to take this lock, and no other one.
fn takes(seen: &RunEvidence, (file, line): (&str, u32), lock: &str) -> bool {
    let names = seen.taken.get(&(file.to_owned(), line));
    names.is_some_and(|names| names.len() == 1 && names.iter().all(|name| family(name) == lock))
}

/// Name of the lock in another function, if it has the same meaning in the whole file.
fn everywhere(
    source: &ParsedSource,
    file: &str,
    lock: &str,
    all: &[(u32, Mutex)],
    seen: &RunEvidence,
) -> Option<Mutex> {
    let is_plain = |mutex: &Mutex| {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let root = mutex.object.split('.').next().unwrap_or("");
        mutex.object.is_empty() || mutex.object.chars().all(is_path) && is_global(source, root)
    };
    let mut own = all
        .iter()
        .filter(|(line, _)| takes(seen, (file, *line), lock));
    let found = own.find(|(_, mutex)| is_plain(mutex));
    found.map(|(_, mutex)| mutex.clone())
}

/// The mutexes that a part of the text acquires, with lines.
fn operations(source: &ParsedSource, node: Node<'_>) -> Vec<(u32, Mutex)> {
    let (mut found, mut stack) = (Vec::new(), vec![node]);
    while let Some(node) = stack.pop() {
        let line = *lines(node).start();
        if node.kind() == "call_expression"
            && let Some(call) = locks::operation(source, node)
        {
            found.push((
                line,
                Mutex {
                    object: call.object,
                    style: call.style,
                },
            ));
        }
        if let Some((held, _)) = locks::guarded(source, node) {
            let one = |object: &str| Mutex {
                object: object.to_owned(),
                style: LockStyle::Guard,
            };
            found.extend(held.into_iter().map(|object| (line, one(object))));
        }
        stack.extend(children(node));
    }
    found.sort_by_key(|(line, _)| *line);
    found
}

/// Returns whether this names a member of the function's class.
fn is_member(source: &ParsedSource, function: Node<'_>, name: &str) -> bool {
    let mut around = function.parent();
    while let Some(node) = around {
        if matches!(node.kind(), "class_specifier" | "struct_specifier") {
            let all = descendants(node).into_iter();
            let mut fields = all.filter(|inner| inner.kind() == "field_declaration");
            return fields.any(|field| declares(source, field, name));
        }
        around = node.parent();
    }
    false
}

/// Returns whether a declaration of fields, as `std::mutex a, b;`, has one of this name.
fn declares(source: &ParsedSource, field: Node<'_>, name: &str) -> bool {
    let mut cursor = field.walk();
    let mut declared = field.children_by_field_name("declarator", &mut cursor);
    declared.any(|declarator| source.str(declarator) == name)
}

/// Returns whether this names a private member of a class that the function does not belong to.
fn is_private(source: &ParsedSource, function: Node<'_>, name: &str) -> bool {
    let all = descendants(source.root()).into_iter();
    let is_field = |node: &Node<'_>| node.kind() == "field_declaration";
    let mut fields = all.filter(|node| is_field(node) && declares(source, *node, name));
    let Some(body) = fields
        .next()
        .and_then(|field| Some((field, field.parent()?)))
    else {
        return false;
    };
    let (field, list) = body;
    let Some(class) = list.parent() else {
        return false;
    };
    let before = children(list).into_iter();
    let before = before.take_while(|node| node.start_byte() < field.start_byte());
    let access = before
        .filter(|node| node.kind() == "access_specifier")
        .last();
    let is_open = match access {
        Some(access) => source.str(access).contains("public"),
        None => class.kind() == "struct_specifier",
    };
    let is_inside =
        class.start_byte() <= function.start_byte() && function.end_byte() <= class.end_byte();
    let own = class
        .child_by_field_name("name")
        .map(|name| format!("{}::", source.str(name)));
    let declarator = function.child_by_field_name("declarator");
    let is_method = declarator
        .zip(own)
        .is_some_and(|(it, own)| source.str(it).contains(&own));
    !is_open && !is_inside && !is_method
}

fn is_global(source: &ParsedSource, name: &str) -> bool {
    let top = children(source.root())
        .into_iter()
        .filter(|node| node.kind() == "declaration");
    let mut names = top
        .flat_map(|node| descendants(node))
        .filter(|node| node.kind() == "identifier");
    names.any(|node| source.str(node) == name)
}

/// Style of locking for a lock of this type.
fn style_of(kind: &str) -> Option<LockStyle> {
    match kind {
        "pthread_mutex_t" => Some(LockStyle::Pthread),
        "pthread_spinlock_t" => Some(LockStyle::Spin),
        "pthread_rwlock_t" => Some(LockStyle::ReadWrite),
        "mtx_t" => Some(LockStyle::C11),
        "GMutex" => Some(LockStyle::Glib),
        "GRecMutex" => Some(LockStyle::GlibRecursive),
        "GRWLock" => Some(LockStyle::GlibReadWrite),
        kind if kind.contains("mutex") => Some(LockStyle::Guard),
        _ => None,
    }
}

/// The lock beside a field that the line names: `from->lock` where it contains `from->amount`; a member's own
/// name in a function of its class.
///
/// # Errors
/// An error when the line names members of several objects that have such a lock, or of none.
fn sibling(
    source: &ParsedSource,
    function: Node<'_>,
    (line, lock): (u32, &str),
    types: &[&str],
) -> Result<Option<String>, EditRefusal> {
    let fields = descendants(function).into_iter();
    let fields =
        fields.filter(|node| node.kind() == "field_expression" && lines(*node).contains(&line));
    let beside = beside(source, lock);
    let (variables, declared) = (variables(source, function), source.mutexes().owners(lock));
    // The struct may be declared in a file that is not at hand.
    let types = match declared.as_slice() {
        [] => types,
        declared => declared,
    };
    let has_none = |node: Node<'_>| {
        let object = node.child_by_field_name("argument");
        let variable = object.and_then(|object| variables.get(source.str(object)));
        // What is written in C++ may be of a class that is made from one of these.
        let is_sure = !types.is_empty() && !source.is_cpp();
        let mut variable = variable
            .filter(|variable| is_sure && variable.is_struct)
            .into_iter();
        variable.any(|variable| !types.contains(&variable.kind))
    };
    let owner = |node: Node<'_>| {
        let name = node.child_by_field_name("field")?;
        let is_beside = beside.is_empty() || beside.contains(source.str(name));
        let object = source.slice(node.start_byte(), name.start_byte());
        (is_beside && !has_none(node)).then_some(object)
    };
    let all: Vec<Node<'_>> = fields.collect();
    let owners: BTreeSet<&str> = all.iter().filter_map(|node| owner(*node)).collect();
    let mut owners = owners.into_iter();
    match (owners.next(), owners.next()) {
        (Some(owner), None) if !beside.is_empty() || is_used(source, lock) => {
            return Ok(Some(format!("{owner}{lock}")));
        }
        (Some(owner), Some(other)) => {
            let object = |owner: &str| owner.trim_end_matches(['.', '-', '>']).to_owned();
            return Err(format!(
                "{} uses `{}` and `{}`, and which of them has the `{lock}` that guards the data is not known",
                source.line_in_words(line),
                object(owner),
                object(other)
            ));
        }
        _ => {}
    }
    let is_method = function
        .child_by_field_name("declarator")
        .is_some_and(|declarator| source.str(declarator).contains("::"));
    Ok((is_method && all.is_empty()).then(|| lock.to_owned()))
}

/// The lock of the only variable on a line whose type has such a member: `best->io_lock` of `unchoke(all, best)`; where the
/// line has none, that of the only one of the function.
fn of_type(
    source: &ParsedSource,
    function: Node<'_>,
    (line, lock): (u32, &str),
    types: &[&str],
) -> Option<String> {
    let mut variables = variables(source, function);
    variables.retain(|_, variable| types.contains(&variable.kind));
    let all = descendants(function).into_iter();
    let on_it = all.filter(|node| node.kind() == "identifier" && lines(*node).contains(&line));
    let on_it: BTreeSet<&str> = on_it.map(|node| source.str(node)).collect();
    if variables.keys().any(|name| on_it.contains(name)) {
        variables.retain(|name, _| on_it.contains(name));
    }
    let mut named = variables.into_iter();
    let (name, variable) = named.next().filter(|_| named.next().is_none())?;
    Some(format!("{name}{}{lock}", variable.leads))
}

/// The members of the structs in this file that have a member of this name.
fn beside<'s>(source: &'s ParsedSource, lock: &str) -> BTreeSet<&'s str> {
    let mut found = BTreeSet::new();
    let (mut stack, root) = (Vec::new(), source.root());
    stack.push(root);
    while let Some(node) = stack.pop() {
        stack.extend(children(node));
        if node.kind() != "field_declaration_list" {
            continue;
        }
        let fields = children(node).into_iter().flat_map(descendants);
        let names = fields.filter(|inner| inner.kind() == "field_identifier");
        let names: BTreeSet<&str> = names.map(|inner| source.str(inner)).collect();
        if names.contains(lock) {
            found.extend(names);
        }
    }
    found
}

/// Returns whether the file uses `.lock` of some object. Then it is a member, wherever it is declared.
fn is_used(source: &ParsedSource, lock: &str) -> bool {
    let text = source.text();
    text.contains(&format!(".{lock}")) || text.contains(&format!("->{lock}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::declared::DeclaredMutexes;
    use std::sync::Arc;

    /// The lock that a line of `aio.c` would have to take, where line 3 takes `main.ctx.lock` and line 8 its other one.
    fn named(lock: &str, line: u32, has_header: bool) -> Result<String, EditRefusal> {
        let header = "struct bh { struct bh *next; unsigned flags; };\nstruct context { pthread_mutex_t lock, list_lock; struct bh *first; };\nstruct device { pthread_mutex_t lock; };\n";
        let text = "void stop(struct context *c)\n{\n    pthread_mutex_lock(&c->lock);\n    pthread_mutex_unlock(&c->lock);\n}\nvoid mark(struct context *ctx, int flag)\n{\n    pthread_mutex_lock(&ctx->list_lock);\n    for (struct bh *bh = ctx->first; bh; bh = bh->next)\n        bh->flags |= flag;\n    pthread_mutex_unlock(&ctx->list_lock);\n}\nvoid schedule(struct bh *bh)\n{\n    bh->flags |= 1;\n}\n";
        let header = ParsedSource::parse("aio.h", header).unwrap();
        let known = DeclaredMutexes::of(std::iter::once(&header).filter(|_| has_header));
        let source = ParsedSource::parse("aio.c", text).unwrap();
        let source = source.with_mutexes(Arc::new(known));
        let at = |line| ("aio.c".to_owned(), line);
        let is = |name: &str| BTreeSet::from([name.to_owned()]);
        let seen = RunEvidence {
            taken: BTreeMap::from([(at(3), is("ctx.lock")), (at(8), is("ctx.list_lock"))]),
            ..RunEvidence::default()
        };
        in_function(&source, "aio.c", line, lock, &seen).map(|mutex| mutex.object)
    }

    #[test]
    fn a_member_that_is_declared_beside_another_one_is_named() {
        let text = "class Channel {\n  void close()\n  {\n    closed_ = true;\n  }\n  std::condition_variable items_, room_;\n  bool closed_;\n};\n";
        let source = ParsedSource::parse("a.cc", text).unwrap();
        let function = source.function(4).unwrap();
        let named = |name| object_at(&source, function, 4, name, &[]);
        assert_eq!(named("room_"), Ok("room_".to_owned()));
        assert!(named("other_").is_err());
    }

    #[test]
    fn a_lock_is_named_behind_a_variable_of_the_type_that_has_it() {
        // No struct `bh` has a lock, and that of devices is another one.
        for has_header in [true, false] {
            let at = |lock: &str, line| named(lock, line, has_header);
            assert_eq!(at("ctx.lock", 10).as_deref(), Ok("ctx->lock"));
            assert_eq!(at("ctx.list_lock", 10).as_deref(), Ok("ctx->list_lock"));
            assert!(at("ctx.lock", 15).is_err());
        }
    }
}
