//! Release of a mutex on the ways out of a block that forget it.

use super::{
    EditRefusal,
    change::{Change, line_after},
    flow::{FlowWalk, MutexState},
    locks::{self, LockOperation, LockStyle, Mutex, calls},
    source::{ParsedSource, children, lines, statements},
    watch::FileFunctions,
};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Releases the mutex that line `line` acquires on each way out of its block that leaves with it held; `None` when the line
/// is not seen to acquire one, or an object's lifetime releases it.
///
/// # Errors
/// An error when a way out is not understood, or none forgets it.
pub fn on_every_way_out(
    source: &ParsedSource,
    line: u32,
) -> Option<Result<Vec<Change>, EditRefusal>> {
    let function = source.function(line)?;
    let mut locking = calls(function).filter(|call| lines(*call).contains(&line));
    let taken = locking.find_map(|call| {
        let found = locks::operation(source, call)?;
        (found.what == LockOperation::Lock).then_some((call, found))
    });
    let (call, found) = taken?;
    let mutex = Mutex {
        object: found.object,
        style: found.style,
    };
    let statement = call
        .parent()
        .filter(|node| node.kind() == "expression_statement")?;
    let block = statement.parent()?;
    let is_released_otherwise = locks::has_unlock_for_reading(source, call);
    if mutex.style == LockStyle::Guard
        || is_released_otherwise
        || block.kind() != "compound_statement"
    {
        return None;
    }
    let changes = released(source, &mutex, function, (statement, block));
    Some(changes.and_then(|changes| match changes.is_empty() {
        true => Err(format!(
            "the lock of line {line} is given back on every way out"
        )),
        false => Ok(changes),
    }))
}

fn released(
    source: &ParsedSource,
    mutex: &Mutex,
    function: Node<'_>,
    (statement, block): (Node<'_>, Node<'_>),
) -> Result<Vec<Change>, EditRefusal> {
    let (end, mut changes) = every_way(source, mutex, function, (statement, block))?;
    if end.is_some_and(|held| held.was) {
        let last = children(block).into_iter().next_back().unwrap_or(statement);
        let last = if last.end_byte() < statement.end_byte() {
            statement
        } else {
            last
        };
        changes.push(line_after(
            source,
            last.start_byte(),
            last.end_byte(),
            &mutex.unlock(source),
        ));
    }
    Ok(changes)
}

/// Walks what follows the statement in its block; a label behind the release is one to which whoever jumps has released it,
/// too. Returns the state at the end, and the changes.
fn every_way(
    source: &ParsedSource,
    mutex: &Mutex,
    function: Node<'_>,
    (statement, block): (Node<'_>, Node<'_>),
) -> Result<(Option<MutexState>, Vec<Change>), EditRefusal> {
    let rest = statements(block).into_iter();
    let rest: Vec<Node<'_>> = rest
        .filter(|node| node.start_byte() >= statement.end_byte())
        .collect();
    let watch = FileFunctions::new(source, mutex);
    let held = MutexState {
        was: true,
        is: true,
    };
    let mut free_at = BTreeSet::new();
    loop {
        let mut flow = FlowWalk {
            source,
            mutex,
            watch: &watch,
            bytes: statement.end_byte()..block.end_byte(),
            region: lines(block),
            returns: super::hold::returned(source, function),
            releases: true,
            ahead: BTreeMap::new(),
            free_at: free_at.clone(),
            parted_at: None,
            changes: Vec::new(),
        };
        match flow.follow(&rest, held) {
            Ok(end) => return Ok((end, flow.changes)),
            Err(_) if flow.parted_at.is_some_and(|label| free_at.insert(label)) => {}
            Err(why) => return Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;
    use expect_test::{Expect, expect};

    /// Releases what the line with `/*1*/` acquires.
    fn check(file: &str, text: &str, expected: Expect) {
        let line = text
            .lines()
            .position(|line| line.contains("/*1*/"))
            .unwrap() as u32
            + 1;
        let plain = text.replace(" /*1*/", "");
        let source = ParsedSource::parse(file, &plain).unwrap();
        expected.assert_eq(&match on_every_way_out(&source, line) {
            Some(Ok(changes)) => apply(&plain, &changes).unwrap(),
            Some(Err(why)) => format!("refused: {why}\n"),
            None => "takes none\n".to_owned(),
        });
    }

    #[test]
    fn a_jump_behind_the_release_releases() {
        check(
            "a.c",
            "int set(struct conf *c, int v)\n{\n    int rc = 0;\n    pthread_mutex_lock(&c->m); /*1*/\n    if (v < 0) {\n        rc = -1;\n        goto unlock;\n    }\n    if (c->frozen)\n        goto out;\n    c->v = v;\nunlock:\n    pthread_mutex_unlock(&c->m);\nout:\n    return rc;\n}\n",
            expect![[r#"
                int set(struct conf *c, int v)
                {
                    int rc = 0;
                    pthread_mutex_lock(&c->m);
                    if (v < 0) {
                        rc = -1;
                        goto unlock;
                    }
                    if (c->frozen) {
                        pthread_mutex_unlock(&c->m);
                        goto out;
                    }
                    c->v = v;
                unlock:
                    pthread_mutex_unlock(&c->m);
                out:
                    return rc;
                }
            "#]],
        );
    }

    #[test]
    fn an_early_return_of_a_reader_releases() {
        check(
            "a.c",
            "int find(struct map *m, int k)\n{\n    pthread_rwlock_rdlock(&m->l); /*1*/\n    if (k < 0)\n        return -1;\n    int v = m->of[k];\n    pthread_rwlock_unlock(&m->l);\n    return v;\n}\n",
            expect![[r#"
                int find(struct map *m, int k)
                {
                    pthread_rwlock_rdlock(&m->l);
                    if (k < 0) {
                        pthread_rwlock_unlock(&m->l);
                        return -1;
                    }
                    int v = m->of[k];
                    pthread_rwlock_unlock(&m->l);
                    return v;
                }
            "#]],
        );
        check(
            "a.c",
            "int find(struct map *m, int k)\n{\n    g_rw_lock_reader_lock(&m->l); /*1*/\n    if (k < 0)\n        return -1;\n    g_rw_lock_reader_unlock(&m->l);\n    return 0;\n}\n",
            expect![[r#"
                takes none
            "#]],
        );
    }

    #[test]
    fn an_early_return_releases() {
        check(
            "a.c",
            "int take(struct shop *s, int n)\n{\n    pthread_mutex_lock(&s->m); /*1*/\n    if (s->left < n)\n        return -1;\n    s->left -= n;\n    pthread_mutex_unlock(&s->m);\n    return 0;\n}\n",
            expect![[r#"
                int take(struct shop *s, int n)
                {
                    pthread_mutex_lock(&s->m);
                    if (s->left < n) {
                        pthread_mutex_unlock(&s->m);
                        return -1;
                    }
                    s->left -= n;
                    pthread_mutex_unlock(&s->m);
                    return 0;
                }
            "#]],
        );
    }

    #[test]
    fn the_end_and_a_jump_out_release() {
        check(
            "a.cpp",
            "void Log::drain()\n{\n    while (more()) {\n        m_.lock(); /*1*/\n        if (closed_) {\n            break;\n        }\n        pop();\n    }\n}\n",
            expect![[r#"
                void Log::drain()
                {
                    while (more()) {
                        m_.lock();
                        if (closed_) {
                            m_.unlock();
                            break;
                        }
                        pop();
                        m_.unlock();
                    }
                }
            "#]],
        );
    }

    #[test]
    fn what_is_released_is_left_alone() {
        check(
            "a.c",
            "void put(void)\n{\n    pthread_mutex_lock(&m); /*1*/\n    n++;\n    pthread_mutex_unlock(&m);\n}\n",
            expect![[r#"
                refused: the lock of line 3 is given back on every way out
            "#]],
        );
        check(
            "a.cpp",
            "void put()\n{\n    std::lock_guard<std::mutex> held(m); /*1*/\n    n++;\n}\n",
            expect![[r#"
                takes none
            "#]],
        );
    }
}
