//! Moves a statement that comes too late, behind work that is done without a lock, before that work.

use super::{
    EditRefusal,
    change::{Change, line_before, remove},
    locks::{LockOperation, guard, same, statement_operation},
    move_behind::{beside, leaves, names, target},
    move_statement::at,
    source::{ParsedSource, lines, statements},
};
use tree_sitter::Node;

/// A statement that has moved up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedUp {
    /// Changes to make.
    pub changes: Vec<Change>,
    /// The line of the statement that comes behind it now.
    pub before: u32,
}

/// Moves the statement of line `late`, with the locking that is its own, before that of line `work`, which stands above it in the
/// same block or around which that block's lock is given back: `unlock(m); work(); lock(m); asked = 0;`.
///
/// # Errors
/// An error when the two are not in one block, a statement between them does more than lock, or the work uses what is set.
pub fn set_before_work(
    source: &ParsedSource,
    work: u32,
    late: u32,
) -> Result<MovedUp, EditRefusal> {
    let (_, place) = at(source, late)?;
    let (_, working) = at(source, work)?;
    let apart = || format!("lines {work} and {late} are no statements of one block");
    let what = *place.statements().first().ok_or_else(apart)?;
    let worker = *working.statements().first().ok_or_else(apart)?;
    let set = target(source, what).filter(|_| what.kind() == "expression_statement");
    let set = set.ok_or_else(|| format!("what line {late} sets is not seen"))?;
    let list = SectionAround::of(source, what).ok_or_else(apart)?;
    let anchor = list.beside(worker).ok_or_else(apart)?;
    if names(source, anchor, set) {
        return Err(format!("line {work} uses `{set}`, which line {late} sets"));
    }
    if leaves(anchor) {
        return Err(format!("line {work} leaves before line {late}"));
    }
    list.moved(source, anchor).ok_or_else(|| {
        format!("more than a lock is between line {work} and line {late}, or is not given back")
    })
}

/// A statement in its block, with the calls around it that lock for it alone.
struct SectionAround<'t> {
    /// All statements of the block.
    list: Vec<Node<'t>>,
    /// The positions of the first and the last of those that can move together.
    own: (usize, usize),
    /// The position of the statement itself.
    what: usize,
}

impl<'t> SectionAround<'t> {
    fn of(source: &ParsedSource, what: Node<'t>) -> Option<SectionAround<'t>> {
        let list = statements(what.parent()?);
        let at = list.iter().position(|node| *node == what)?;
        let call = |at: Option<usize>| statement_operation(source, *list.get(at?)?);
        let before = call(at.checked_sub(1)).filter(|call| call.what == LockOperation::Lock);
        let after = call(Some(at + 1)).filter(|call| call.what == LockOperation::Unlock);
        let own = match before.zip(after) {
            Some((lock, unlock)) if same(&lock.object, &unlock.object) => (at - 1, at + 1),
            _ => (at, at),
        };
        // A block that holds a guard for this statement alone moves as a whole.
        let block = what.parent()?;
        let is_guarded = at == 1 && list.len() == 2 && guard(source, *list.first()?).is_some();
        if is_guarded && block.parent()?.kind() == "compound_statement" {
            let list = statements(block.parent()?);
            let at = list.iter().position(|node| *node == block)?;
            return Some(SectionAround {
                list,
                own: (at, at),
                what: at,
            });
        }
        Some(SectionAround {
            list,
            own,
            what: at,
        })
    }

    /// The statement of the block that contains another one, or is it.
    fn beside(&self, node: Node<'t>) -> Option<Node<'t>> {
        beside(node, *self.list.get(self.what)?)
    }

    /// The move before the work, or before the call that gives the lock back for it.
    fn moved(&self, source: &ParsedSource, anchor: Node<'t>) -> Option<MovedUp> {
        let working = self.list.iter().position(|node| *node == anchor)?;
        let between = self.list.get(working + 1..self.own.0)?;
        let before = working.checked_sub(1).and_then(|at| self.list.get(at));
        let (moved, behind) = match between {
            [] => (self.list.get(self.own.0..=self.own.1)?, anchor),
            [lock] => {
                let (unlock, lock) = (
                    statement_operation(source, *before?)?,
                    statement_operation(source, *lock)?,
                );
                let is_open = unlock.what == LockOperation::Unlock
                    && lock.what == LockOperation::Lock
                    && same(&unlock.object, &lock.object);
                is_open.then_some((self.list.get(self.what..=self.what)?, *before?))?
            }
            _ => return None,
        };
        let (start, end) = (moved.first()?.start_byte(), moved.last()?.end_byte());
        Some(MovedUp {
            changes: vec![
                line_before(source, behind.start_byte(), source.slice(start, end)),
                remove(source, start, end),
            ],
            before: *lines(behind).start(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;
    use expect_test::{Expect, expect};

    /// Moves the line with `/*2*/` before that with `/*1*/`.
    fn check(file: &str, text: &str, expected: Expect) {
        let line =
            |mark: &str| text.lines().position(|line| line.contains(mark)).unwrap() as u32 + 1;
        let (work, late) = (line("/*1*/"), line("/*2*/"));
        let plain = text.replace(" /*1*/", "").replace(" /*2*/", "");
        let source = ParsedSource::parse(file, &plain).unwrap();
        expected.assert_eq(&match set_before_work(&source, work, late) {
            Ok(moved) => apply(&plain, &moved.changes).unwrap(),
            Err(why) => format!("refused: {why}\n"),
        });
    }

    #[test]
    fn a_request_is_taken_back_in_the_section_before_the_work() {
        check(
            "a.c",
            "void run(void)\n{\n    lock(&m);\n    for (;;) {\n        wait(&c, &m);\n        pthread_mutex_unlock(&m);\n        flush(); /*1*/\n        pthread_mutex_lock(&m);\n        asked = 0; /*2*/\n    }\n}\n",
            expect![[r#"
                void run(void)
                {
                    lock(&m);
                    for (;;) {
                        wait(&c, &m);
                        asked = 0;
                        pthread_mutex_unlock(&m);
                        flush();
                        pthread_mutex_lock(&m);
                    }
                }
            "#]],
        );
    }

    #[test]
    fn what_locks_for_the_statement_alone_moves_with_it() {
        check(
            "a.c",
            "void run(void)\n{\n    flush(); /*1*/\n    pthread_mutex_lock(&m);\n    asked = 0; /*2*/\n    pthread_mutex_unlock(&m);\n}\n",
            expect![[r#"
                void run(void)
                {
                    pthread_mutex_lock(&m);
                    asked = 0;
                    pthread_mutex_unlock(&m);
                    flush();
                }
            "#]],
        );
        check(
            "a.cpp",
            "void run()\n{\n    flush(); /*1*/\n    {\n        std::lock_guard<std::mutex> held(m);\n        asked = false; /*2*/\n    }\n}\n",
            expect![[r#"
                void run()
                {
                    {
                        std::lock_guard<std::mutex> held(m);
                        asked = false;
                    }
                    flush();
                }
            "#]],
        );
        check(
            "a.cpp",
            "void run()\n{\n    flush(); /*1*/\n    asked.store(false); /*2*/\n}\n",
            expect![[r#"
                void run()
                {
                    asked.store(false);
                    flush();
                }
            "#]],
        );
    }

    #[test]
    fn a_block_that_is_no_section_stays() {
        check(
            "a.cpp",
            "void run()\n{\n    flush(); /*1*/\n    {\n        bool more = ready();\n        asked = more; /*2*/\n    }\n}\n",
            expect![[r#"
                refused: lines 3 and 6 are no statements of one block
            "#]],
        );
    }

    #[test]
    fn work_that_uses_it_and_other_steps_in_between_refuse_it() {
        check(
            "a.c",
            "void run(void)\n{\n    flush(&asked); /*1*/\n    asked = 0; /*2*/\n}\n",
            expect![[r#"
                refused: line 3 uses `asked`, which line 4 sets
            "#]],
        );
        check(
            "a.c",
            "void run(void)\n{\n    flush(); /*1*/\n    pthread_mutex_lock(&m);\n    asked = 0; /*2*/\n    count = 0;\n    pthread_mutex_unlock(&m);\n}\n",
            expect![[r#"
                refused: more than a lock is between line 3 and line 5, or is not given back
            "#]],
        );
        check(
            "a.c",
            "void run(void)\n{\n    if (flush() < 0) /*1*/\n        return;\n    asked = 0; /*2*/\n}\n",
            expect![[r#"
                refused: line 3 leaves before line 5
            "#]],
        );
        check(
            "a.c",
            "void run(void)\n{\n    flush(); /*1*/\n    count = 0;\n    asked = 0; /*2*/\n}\n",
            expect![[r#"
                refused: more than a lock is between line 3 and line 5, or is not given back
            "#]],
        );
    }
}
