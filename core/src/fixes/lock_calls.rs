//! The program's own functions, macros and classes that lock, as the recorded runs show them: a call entered
//! without a lock and left with it acquires that lock, whatever its name and its file.

use super::text::{
    every,
    locks::{self, LockCalls, LockPair, callee, calls, last_name_of_type},
    source::{ParsedSource, children, descendants, lines},
};
use crate::{
    callers::call_sites,
    orders::{Locks, taken_at},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tree_sitter::Node;
use unsnarl_trace::{EventId, EventKind, Run, SiteId, SiteRow};

/// A call that locks or unlocks, in the function that it affects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct LockCall {
    file: String,
    line: u32,
    /// Name of the called function, without its class; empty for the primitive itself or a macro.
    callee: String,
}

/// Calls that acquired a lock and those that released it again, with their counts.
#[derive(Default, Debug)]
pub(super) struct PairedLockCalls {
    pairs: BTreeMap<(LockCall, LockCall), u64>,
}

impl PairedLockCalls {
    /// Collects the calls from the critical sections of all runs. Linear in the runs.
    pub fn of(runs: &[(String, Arc<Run>)]) -> PairedLockCalls {
        let mut seen = PairedLockCalls::default();
        for (_, run) in runs {
            seen.add(run, &Locks::new(run, &mut Vec::new()));
        }
        seen
    }

    /// The same with the semaphores of which units are taken at a place treated as locks.
    pub fn with_units(runs: &[(String, Arc<Run>)], place: &SiteRow) -> PairedLockCalls {
        let mut seen = PairedLockCalls::default();
        for (_, run) in runs {
            let semaphores = taken_at(run, place);
            let locks = Locks::with_semaphores(run, &semaphores, &mut Vec::new());
            seen.add(run, &locks);
        }
        seen
    }

    fn add(&mut self, run: &Run, locks: &Locks) {
        let mut known = BTreeSet::new();
        let key = |row: EventId| {
            let event = run.events.get(row)?;
            Some((event.site.0, event.stack.0))
        };
        let waits = of_waits(run);
        for section in locks.sections() {
            let Some(released) = section.released else {
                continue;
            };
            if waits.contains(&section.acquired) || waits.contains(&released) {
                continue;
            }
            if !known.insert((key(section.acquired), key(released))) {
                continue;
            }
            let (from, to) = parted(run, section.acquired, released);
            // Every call on the path to the acquisition that is not on the path to the release has returned
            // with the lock held.
            let Some(last) = to.last() else {
                continue;
            };
            let others = to.iter().chain(std::iter::repeat(last));
            for (lock, unlock) in from.iter().zip(others) {
                let pair = (lock.clone(), unlock.clone());
                *self.pairs.entry(pair).or_default() += 1;
            }
        }
    }

    /// Names of these functions and classes in the text of a file.
    pub fn in_file(&self, file: &str, source: &ParsedSource) -> LockCalls {
        let mut found = LockCalls::default();
        let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
        for ((lock, unlock), times) in &self.pairs {
            if lock.file != file {
                continue;
            }
            match in_text(source, lock) {
                Some(Named::Class(class)) => drop(found.guards.insert(class)),
                Some(Named::Holder(function)) if ends_with_scope(source, unlock) => {
                    found.holders.insert(function);
                }
                Some(Named::Function(one)) if unlock.file == file => {
                    if let Some(Named::Function(other)) = in_text(source, unlock)
                        && one != other
                    {
                        *pairs.entry((one, other)).or_default() += times;
                    }
                }
                _ => {}
            }
        }
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for ((lock, unlock), _) in pairs {
            // A name that locks in one place and unlocks in another is ambiguous.
            let is_other = |known: &LockPair| {
                known.lock != lock && known.lock != unlock && known.unlock != lock
            };
            if found.pairs.iter().all(is_other) {
                let by_name = is_by_name(source, &lock);
                found.pairs.push(LockPair {
                    lock,
                    unlock,
                    by_name,
                });
            }
        }
        found
    }
}

/// Rows at which waits on conditions release locks and reacquire them.
pub(super) fn of_waits(run: &Run) -> BTreeSet<EventId> {
    let is_wait = |kind: &u8| [EventKind::Wait as u8, EventKind::Wake as u8].contains(kind);
    if !run.events.kinds().iter().any(is_wait) {
        return BTreeSet::new();
    }
    let (mut found, mut last) = (BTreeSet::new(), BTreeMap::new());
    for row in (0..run.events.len() as u32).map(EventId) {
        let kind = run.events.kind(row);
        let before = last.insert(run.events.thread(row), (row, kind));
        match (before, kind) {
            (Some((_, EventKind::Wait)), EventKind::Unlock) => drop(found.insert(row)),
            (Some((lock, EventKind::Lock)), EventKind::Wake) => drop(found.insert(lock)),
            _ => {}
        }
    }
    found
}

/// Returns whether a function or a macro is given the lock itself, as its calls show.
fn is_by_name(source: &ParsedSource, function: &str) -> bool {
    let arguments = every(source).into_iter().filter_map(|node| {
        let is_call = node.kind() == "call_expression" && callee(source, node) == function;
        let arguments = is_call.then(|| node.child_by_field_name("arguments"))??;
        children(arguments).first().copied()
    });
    let arguments: Vec<Node<'_>> = arguments.collect();
    let is_it = |node: &Node<'_>| {
        node.kind() != "pointer_expression"
            && is_object(source, locks::last_name(source.str(*node)))
    };
    !arguments.is_empty() && arguments.iter().all(is_it)
}

/// Returns whether an object of this name is declared, and nowhere a pointer.
fn is_object(source: &ParsedSource, name: &str) -> bool {
    let names = every(source).into_iter().filter(|node| {
        matches!(node.kind(), "identifier" | "field_identifier") && source.str(*node) == name
    });
    let mut declared = names.filter_map(is_pointer).peekable();
    declared.peek().is_some() && declared.all(|is_pointer| !is_pointer)
}

/// Returns whether the declaration of a name declares a pointer of it. None when the name is not the declared
/// one.
fn is_pointer(name: Node<'_>) -> Option<bool> {
    let (mut inner, mut is_pointer) = (name, false);
    loop {
        let outer = inner.parent()?;
        if outer.child_by_field_name("declarator") != Some(inner)
            && !matches!(outer.kind(), "reference_declarator")
        {
            return None;
        }
        match outer.kind() {
            "declaration" | "field_declaration" | "parameter_declaration" => {
                return Some(is_pointer);
            }
            "pointer_declarator" => is_pointer = true,
            _ => {}
        }
        inner = outer;
    }
}

/// The calls on the paths to two rows, from the innermost function that leads to both inwards.
fn parted(run: &Run, first: EventId, second: EventId) -> (Vec<LockCall>, Vec<LockCall>) {
    let (a, b) = (call_sites(run, first), call_sites(run, second));
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let level = same.min(a.len().min(b.len()).saturating_sub(1));
    (inwards(run, &a, level), inwards(run, &b, level))
}

fn inwards(run: &Run, sites: &[SiteId], level: usize) -> Vec<LockCall> {
    let own = (level..).zip(sites.iter().skip(level));
    own.map(|(at, site)| {
        let site = run.meta.site(*site);
        let called = sites.get(at + 1).map(|next| run.meta.site(*next));
        LockCall {
            file: site.file.clone(),
            line: site.line,
            callee: called.map_or(String::new(), |next| plain(&next.function).to_owned()),
        }
    })
    .collect()
}

/// A function's name without class and template arguments: `Holder` of
/// `base::Holder<std::mutex>::Holder(std::mutex&)`.
fn plain(function: &str) -> &str {
    let head = function.split('(').next().unwrap_or(function);
    last_name_of_type(head.rsplit("::").next().unwrap_or(head))
}

/// Returns whether a lock is released at the end of an object's scope. Calls by the library's own classes
/// have no line of their own.
fn ends_with_scope(source: &ParsedSource, unlock: &LockCall) -> bool {
    if unlock.callee.starts_with('~') {
        return true;
    }
    let gives = |function: Node<'_>| {
        let mut own = calls(function).filter(|node| lines(*node).contains(&unlock.line));
        own.any(|node| callee(source, node).contains("unlock"))
    };
    unlock.callee.is_empty() && !source.function(unlock.line).is_some_and(gives)
}

enum Named {
    Function(String),
    Class(String),
    /// A function that returns an object of such a class.
    Holder(String),
}

/// Form of a call in the text.
fn in_text(source: &ParsedSource, call: &LockCall) -> Option<Named> {
    let function = source.function(call.line)?;
    let on_line = |node: &Node<'_>| lines(*node).contains(&call.line);
    let all = descendants(function);
    let declared = all.iter().filter(|node| node.kind() == "declaration");
    let class = declared.filter(|node| on_line(node)).find_map(|node| {
        let class = source.str(node.child_by_field_name("type")?);
        (last_name_of_type(class) == call.callee).then(|| call.callee.clone())
    });
    if let Some(class) = class {
        return Some(Named::Class(class));
    }
    let mut declared = all.iter().filter(|node| node.kind() == "init_declarator");
    let is_holder = declared.any(|node| {
        let value = node.child_by_field_name("value").filter(on_line);
        value.is_some_and(|value| callee(source, value) == call.callee)
    });
    if is_holder && !call.callee.is_empty() {
        return Some(Named::Holder(call.callee.clone()));
    }
    let own: Vec<Node<'_>> = calls(function).filter(on_line).collect();
    let named = own
        .iter()
        .find(|node| callee(source, **node) == call.callee);
    // A macro: the only call of a statement of its own.
    let node = match (named, own.as_slice()) {
        (Some(node), _) => node,
        (None, [one]) => one,
        _ => return None,
    };
    let is_primitive = locks::operation(source, *node).is_some();
    let is_method = matches!(callee(source, *node), "lock" | "unlock");
    (!is_primitive && !is_method).then(|| Named::Function(callee(source, *node).to_owned()))
}

/// The lines on which calls return with a lock held, by lock: names by file and line.
pub(super) fn taken(
    run: &Run,
    name: &dyn Fn(EventId) -> String,
    taken: &mut BTreeMap<(String, u32), BTreeSet<String>>,
) {
    for section in Locks::new(run, &mut Vec::new()).sections() {
        let sites = call_sites(run, section.acquired);
        let level = match section.released {
            Some(released) => {
                let other = call_sites(run, released);
                let same = sites.iter().zip(&other).take_while(|(a, b)| a == b).count();
                same.min(sites.len().min(other.len()).saturating_sub(1))
            }
            None => sites.len().saturating_sub(1),
        };
        for site in sites.iter().skip(level) {
            let site = run.meta.site(*site);
            let names = taken.entry((site.file.clone(), site.line)).or_default();
            names.insert(name(section.acquired));
        }
    }
}
