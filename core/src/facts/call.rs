//! The object of a call that locks, waits or signals, found in the text of its line.

use unsnarl_trace::{
    EventKind,
    kinds::{LibraryFunction, ObjectClass},
};

/// C++ guards, with the object in parentheses or braces after the guard's name.
const GUARDS: [&str; 4] = ["lock_guard", "unique_lock", "scoped_lock", "shared_lock"];
/// C++ member functions called on the object.
const LOCK_MEMBERS: [&str; 6] = [
    "lock",
    "unlock",
    "try_lock",
    "lock_shared",
    "unlock_shared",
    "try_lock_shared",
];
const CONDITION_MEMBERS: [&str; 5] = ["wait", "wait_for", "wait_until", "notify_one", "notify_all"];

/// The object of a call: `queue->lock` of `pthread_mutex_lock(&queue->lock);`, `mutex_` of
/// `std::lock_guard<std::mutex> guard(mutex_);`; none where the line has no such call, or several objects.
pub(super) fn object(text: &str, kind: EventKind) -> Option<String> {
    let by_argument = argument(text, kind);
    match kind.class() {
        ObjectClass::Lock => by_argument
            .or_else(|| guarded(text))
            .or_else(|| receiver(text, &LOCK_MEMBERS)),
        ObjectClass::Condition => by_argument.or_else(|| receiver(text, &CONDITION_MEMBERS)),
        _ => by_argument,
    }
}

/// The first argument of a function that makes such events, without `&`.
fn argument(text: &str, kind: EventKind) -> Option<String> {
    let mut functions = LibraryFunction::ALL.iter();
    let behind = functions.find_map(|function| {
        let (_, rest) = text.split_once(function.name)?;
        let behind = rest.trim_start().strip_prefix('(');
        behind.filter(|_| function.is_about(kind))
    })?;
    named(first_of(behind)?)
}

/// The lock of a C++ guard: its only argument, or the first one beside a tag.
fn guarded(text: &str) -> Option<String> {
    let at = GUARDS.iter().find_map(|guard| text.find(guard))?;
    let rest = text.get(at..)?;
    let name = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let behind = match name.strip_prefix('<') {
        Some(types) => types.get(types.find('>')? + 1..)?,
        None => name,
    };
    let open = behind.find(['(', '{'])?;
    named(first_of(behind.get(open + 1..)?)?)
}

/// The receiver of a member call: `queue.lock` of `queue.lock.lock();`.
fn receiver(text: &str, members: &[&str]) -> Option<String> {
    members.iter().find_map(|member| {
        [".", "->"].iter().find_map(|join| {
            let call = format!("{join}{member}(");
            let before = text.get(..text.find(&call)?)?;
            let is_part = |c: char| c.is_alphanumeric() || "_.->[]:".contains(c);
            let start = before
                .char_indices()
                .rev()
                .take_while(|(_, c)| is_part(*c))
                .last()?;
            named(before.get(start.0..)?)
        })
    })
}

/// The text up to the comma or bracket that ends an argument.
fn first_of(text: &str) -> Option<&str> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' | ',' if depth == 0 => return text.get(..at),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The name in an argument, without `&`; none for a call.
fn named(argument: &str) -> Option<String> {
    let name = argument.trim().trim_start_matches('&').trim();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*');
    (is_name && !name.contains('(')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_calls() {
        let check = |text, kind, expected| {
            assert_eq!(object(text, kind).as_deref(), expected, "{text}");
        };
        use EventKind::{Lock, SemPost, Signal, Wait, Write};
        check(
            "pthread_mutex_lock(&queue->lock);",
            Lock,
            Some("queue->lock"),
        );
        check("pthread_mutex_lock(m);", Lock, Some("m"));
        check("pthread_mutex_lock(&locks[index(i, 2)]);", Lock, None);
        check(
            "std::lock_guard<std::mutex> guard(mutex_);",
            Lock,
            Some("mutex_"),
        );
        check(
            "std::unique_lock lock{box->mutex};",
            Lock,
            Some("box->mutex"),
        );
        check(
            "std::unique_lock<std::mutex> own(office.mutex, std::defer_lock);",
            Lock,
            Some("office.mutex"),
        );
        check("if (r->mutex.try_lock())", Lock, Some("r->mutex"));
        check(
            "pthread_cond_wait(&q->ready, &q->lock);",
            Wait,
            Some("q->ready"),
        );
        check("changed.notify_all();", Signal, Some("changed"));
        check("sem_post(&free_slots);", SemPost, Some("free_slots"));
        check("take_lock(m);", Lock, None);
        check("pthread_mutex_lock(m);", Write, None);
    }
}
