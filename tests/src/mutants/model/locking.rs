//! Statements that take and release locks: calls, guards, and the program's own functions for it.

use super::BaseProgram;
use crate::mutants::syntax::{MutatedSource, SyntaxCall, children, descendants, of_kind};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Calls that take a lock.
const ACQUIRE: [&str; 7] = [
    "pthread_mutex_lock",
    "pthread_spin_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "mtx_lock",
    "lock",
    "lock_shared",
];
/// Calls that give one back.
const RELEASE: [&str; 6] = [
    "pthread_mutex_unlock",
    "pthread_spin_unlock",
    "pthread_rwlock_unlock",
    "mtx_unlock",
    "unlock",
    "unlock_shared",
];
/// Types of the library whose objects hold a lock while they live.
const GUARDS: [&str; 4] = ["lock_guard", "unique_lock", "scoped_lock", "shared_lock"];

/// Effect of a statement on a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The statement takes the lock.
    Acquire,
    /// The statement releases the lock.
    Release,
}

/// A statement that takes a lock or gives it back.
#[derive(Clone, Debug)]
pub struct MutatedLockStatement<'s> {
    /// The statement.
    pub statement: Node<'s>,
    /// The effect.
    pub effect: Effect,
    /// The lock as it is written, `&queue->lock`.
    pub lock: String,
    /// The variable whose end releases the lock.
    pub guard: Option<String>,
}

impl<'s> BaseProgram<'s> {
    /// Functions whose body has only one of the two effects, and that once.
    pub(super) fn find_wrappers(&self) -> BTreeMap<&'s str, (Effect, String)> {
        let mut wrappers = BTreeMap::new();
        for function in &self.functions {
            let calls = self.source.calls(function.body).into_iter();
            let locking: Vec<_> = calls.filter_map(|call| self.locking_call(&call)).collect();
            let statements = descendants(function.body).into_iter();
            let mut guards = statements.filter_map(|one| self.guard_declaration(one));
            if let ([(effect, lock)], None) = (locking.as_slice(), guards.next()) {
                let lock = last_name(lock).to_owned();
                wrappers.insert(function.name, (*effect, lock));
            }
        }
        wrappers
    }

    /// Returns whether this function takes or releases a lock for its caller.
    pub fn is_wrapper(&self, name: &str) -> bool {
        self.wrappers.contains_key(name)
    }

    /// The effect of a statement on a lock.
    pub fn locking(&self, statement: Node<'s>) -> Option<MutatedLockStatement<'s>> {
        let call = self.source.statement_call(statement);
        let by_call = call.and_then(|call| self.locking_call(&call));
        if let Some((effect, lock)) = by_call {
            return Some(MutatedLockStatement {
                statement,
                effect,
                lock,
                guard: None,
            });
        }
        let (guard, lock) = self.guard_declaration(statement)?;
        Some(MutatedLockStatement {
            statement,
            effect: Effect::Acquire,
            lock,
            guard: Some(guard),
        })
    }

    fn locking_call(&self, call: &SyntaxCall<'s>) -> Option<(Effect, String)> {
        let effect = [
            (ACQUIRE.as_slice(), Effect::Acquire),
            (&RELEASE, Effect::Release),
        ];
        let known = effect.iter().find(|(names, _)| names.contains(&call.name));
        match (known, call.receiver, call.arguments.as_slice()) {
            (Some((_, effect)), Some(receiver), []) => Some((*effect, receiver.to_owned())),
            (Some((_, effect)), None, [lock]) => {
                Some((*effect, self.source.text(*lock).to_owned()))
            }
            _ => {
                let (effect, lock) = self.wrappers.get(call.name)?;
                let arguments = call.arguments.iter().map(|one| self.source.text(*one));
                let arguments: Vec<&str> = arguments.collect();
                Some((*effect, format!("{}#{lock}", arguments.join(", "))))
            }
        }
    }

    /// Variable and lock of `std::lock_guard<std::mutex> guard(lock);` and the like.
    fn guard_declaration(&self, statement: Node<'s>) -> Option<(String, String)> {
        let is_declaration = statement.kind() == "declaration" && self.source.is_cpp;
        let text = is_declaration.then(|| self.source.text(statement))?;
        let text = text.strip_prefix("const ").unwrap_or(text);
        let text = text.strip_prefix("std::").unwrap_or(text);
        let kind = text.split(|c: char| !is_name(c)).next()?;
        let is_guard = GUARDS.contains(&kind) || self.guards.contains(kind);
        let rest = is_guard.then(|| text.get(kind.len()..)).flatten()?;
        let rest = past_template(rest).trim_start();
        let end = rest.find(|c: char| !is_name(c))?;
        let (name, rest) = rest.split_at_checked(end)?;
        let inner = rest.trim().strip_suffix(';')?.trim();
        let inner = inner.strip_prefix(['(', '{'])?.strip_suffix([')', '}'])?;
        (!name.is_empty() && !inner.contains(',')).then(|| (name.to_owned(), inner.to_owned()))
    }
}

/// The last name in an expression: `lock` of `&queue->lock`.
pub fn last_name(expression: &str) -> &str {
    let end = expression.trim_end_matches(|c: char| !is_name(c));
    let begin = end.rfind(|c: char| !is_name(c)).map_or(0, |at| at + 1);
    end.get(begin..).unwrap_or(end)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text behind `<...>`.
fn past_template(text: &str) -> &str {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return text.get(at + 1..).unwrap_or(""),
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => return text,
            _ => {}
        }
    }
    text
}

/// Classes whose destructor calls something that gives a lock back.
pub(super) fn guards(source: &MutatedSource) -> BTreeSet<&str> {
    let kinds = ["class_specifier", "struct_specifier"];
    let classes = kinds.iter().flat_map(|kind| of_kind(source.root(), kind));
    let named = classes.filter_map(|class| {
        let name = source.text(class.child_by_field_name("name")?);
        let members = children(class.child_by_field_name("body")?);
        let destructor = format!("~{name}(");
        let releases = members.into_iter().any(|member| {
            let is_destructor = source.text(member).starts_with(&destructor);
            let calls = source.calls(member);
            is_destructor && calls.iter().any(|call| RELEASE.contains(&call.name))
        });
        releases.then_some(name)
    });
    named.collect()
}
