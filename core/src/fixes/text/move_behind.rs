//! Moves a statement that comes too early after another one of its block.

use super::{
    EditRefusal,
    change::{Change, line_after, remove},
    local,
    locks::{self, callee, calls},
    move_statement::at,
    source::{ParsedSource, children, descendants, lines},
};
use tree_sitter::Node;
use unsnarl_trace::{EventKind, kinds::LibraryFunction};

/// Moves the statement of line `early` after that of line `after`, which stands below it in the same block. `stored` is the
/// variable that a call on that line sets, as runs show it.
///
/// # Errors
/// An error when the two are not in one block, or a statement between them leaves, locks, or uses a moved name.
pub fn set_behind(
    source: &ParsedSource,
    early: u32,
    after: u32,
    stored: Option<&str>,
) -> Result<Vec<Change>, EditRefusal> {
    let (function, setting) = at(source, early)?;
    let (other, behind) = at(source, after)?;
    let apart = || {
        format!(
            "line {early} cannot be moved behind line {after}: they are no plain statements of one block"
        )
    };
    let (Some(&what), Some(&setter)) = (setting.statements().first(), behind.statements().first())
    else {
        return Err(apart());
    };
    let anchor = beside(setter, what).ok_or_else(apart)?;
    let is_below = what.end_byte() <= anchor.start_byte();
    let is_plain = what.kind() == "expression_statement";
    if function != other || !is_below || !is_plain {
        return Err(apart());
    }
    let is_call = children(what)
        .first()
        .is_some_and(|node| node.kind() == "call_expression");
    let target = stored
        .filter(|_| is_call)
        .or_else(|| target(source, what))
        .ok_or_else(|| format!("what line {early} sets is not seen"))?;
    let passed = setting.list.iter();
    let passed =
        passed.filter(|node| (what.end_byte()..=anchor.start_byte()).contains(&node.start_byte()));
    let passed: Vec<Node<'_>> = passed.copied().collect();
    let user = passed.iter().find(|node| names(source, **node, target));
    for node in passed.iter().copied() {
        let line = *lines(node).start();
        let locks = calls(node).any(|call| locks::operation(source, call).is_some());
        let is_passed = node != anchor || setter != anchor;
        if is_passed && (leaves(node) || locks) {
            return Err(format!("line {line} locks or leaves in between"));
        }
    }
    if let Some(user) = user {
        let used = || {
            let line = *lines(*user).start();
            format!("line {line} uses `{target}`, which line {early} sets")
        };
        return local::made_first(source, what, (target, &passed)).ok_or_else(used);
    }
    Ok(vec![
        remove(source, what.start_byte(), what.end_byte()),
        line_after(
            source,
            anchor.start_byte(),
            anchor.end_byte(),
            source.str(what),
        ),
    ])
}

/// The statement that contains another one, or is it, in the block of `what`: the loop, say, that sets the elements of an array.
pub(super) fn beside<'s>(node: Node<'s>, what: Node<'_>) -> Option<Node<'s>> {
    let above = std::iter::successors(Some(node), |node| node.parent());
    let mut above = above.take_while(|node| node.kind() != "function_definition");
    above.find(|node| node.parent() == what.parent())
}

/// Methods by which an object is changed for other threads to see.
const METHODS: [&str; 9] = [
    "store",
    "exchange",
    "fetch_add",
    "fetch_sub",
    "release",
    "count_down",
    "set_value",
    "notify_one",
    "notify_all",
];

/// Returns whether a function changes its first argument for other threads to see.
fn tells(function: &str) -> bool {
    const ATOMIC: [&str; 3] = ["atomic_", "__atomic_", "__sync_"];
    let announces = |known: &LibraryFunction| {
        let mut ends = known.ends.iter();
        ends.any(|end| {
            matches!(
                end,
                EventKind::SemPost | EventKind::Signal | EventKind::Broadcast
            )
        })
    };
    ATOMIC.iter().any(|prefix| function.starts_with(prefix))
        || LibraryFunction::named(function).is_some_and(announces)
}

/// The variable that a statement sets: `count` of `list->count += 2`, of `list->count++`, of `list->count.store(2)` and of
/// `sem_post(&list->count)`.
pub(super) fn target<'s>(source: &'s ParsedSource, statement: Node<'_>) -> Option<&'s str> {
    let node = children(statement).into_iter().next()?;
    let set = match node.kind() {
        "assignment_expression" => node.child_by_field_name("left")?,
        "update_expression" => node.child_by_field_name("argument")?,
        "call_expression" => {
            let function = node.child_by_field_name("function")?;
            match function.child_by_field_name("argument") {
                Some(object) if METHODS.contains(&callee(source, node)) => object,
                None if tells(callee(source, node)) => {
                    let arguments = node.child_by_field_name("arguments")?;
                    children(arguments).into_iter().next()?
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let set = pointee(set);
    let all = descendants(set).into_iter();
    let mut named = all.filter(|node| matches!(node.kind(), "identifier" | "field_identifier"));
    // The last name counts in `table[i].used`, the only one in `*slot`.
    let last = set.child_by_field_name("field").or_else(|| named.next())?;
    Some(source.str(last))
}

/// `list->count` of `&list->count` and of `(list->count)`.
fn pointee(node: Node<'_>) -> Node<'_> {
    let inner = match node.kind() {
        "pointer_expression" => node.child_by_field_name("argument"),
        "parenthesized_expression" => children(node).into_iter().next(),
        _ => None,
    };
    inner.map_or(node, pointee)
}

pub(super) fn names(source: &ParsedSource, node: Node<'_>, name: &str) -> bool {
    let mut all = descendants(node).into_iter();
    all.any(|node| {
        matches!(node.kind(), "identifier" | "field_identifier") && source.str(node) == name
    })
}

pub(super) fn leaves(node: Node<'_>) -> bool {
    const LEAVE: [&str; 5] = [
        "return_statement",
        "goto_statement",
        "break_statement",
        "continue_statement",
        "throw_statement",
    ];
    let mut all = descendants(node).into_iter();
    all.any(|node| LEAVE.contains(&node.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;
    use expect_test::{Expect, expect};

    /// Moves the line with `/*1*/` after that with `/*2*/`.
    fn check(file: &str, text: &str, expected: Expect) {
        let line =
            |mark: &str| text.lines().position(|line| line.contains(mark)).unwrap() as u32 + 1;
        let (early, after) = (line("/*1*/"), line("/*2*/"));
        let plain = text.replace(" /*1*/", "").replace(" /*2*/", "");
        let source = ParsedSource::parse(file, &plain).unwrap();
        expected.assert_eq(&match set_behind(&source, early, after, None) {
            Ok(changes) => apply(&plain, &changes).unwrap(),
            Err(why) => format!("refused: {why}\n"),
        });
    }

    #[test]
    fn a_flag_is_raised_when_everything_is_there() {
        check(
            "a.cpp",
            "void Catalogs::get()\n{\n    if (empty) {\n        loaded_.store(true); /*1*/\n        load(); /*2*/\n    }\n}\n",
            expect![[r#"
                void Catalogs::get()
                {
                    if (empty) {
                        load();
                        loaded_.store(true);
                    }
                }
            "#]],
        );
    }

    #[test]
    fn data_is_changed_when_both_locks_are_held() {
        check(
            "a.c",
            "int move(struct box *a, struct box *b)\n{\n    a->n -= 2; /*1*/\n    if (pthread_mutex_trylock(&b->lock) != 0) { /*2*/\n        pthread_mutex_unlock(&a->lock);\n        return 0;\n    }\n    b->n += 2;\n    return 1;\n}\n",
            expect![[r#"
                int move(struct box *a, struct box *b)
                {
                    if (pthread_mutex_trylock(&b->lock) != 0) {
                        pthread_mutex_unlock(&a->lock);
                        return 0;
                    }
                    a->n -= 2;
                    b->n += 2;
                    return 1;
                }
            "#]],
        );
    }

    #[test]
    fn an_object_is_built_before_its_pointer_is_seen() {
        let build = "static void build(struct box *b)\n{\n    b->n = 2;\n}\n";
        let get = "void get(int i)\n{\n    if (boxes[i] == NULL) {\n        boxes[i] = calloc(1, 4); /*1*/\n        build(boxes[i]); /*2*/\n    }\n}\n";
        check(
            "a.c",
            &format!("static struct box *boxes[2];\n{build}{get}"),
            expect![[r#"
                static struct box *boxes[2];
                static void build(struct box *b)
                {
                    b->n = 2;
                }
                void get(int i)
                {
                    if (boxes[i] == NULL) {
                        struct box *made = calloc(1, 4);
                        build(made);
                        boxes[i] = made;
                    }
                }
            "#]],
        );
        // What it calls looks at the variable itself.
        let build = build.replace("b->n = 2", "boxes[0]->n = 2");
        check(
            "a.c",
            &format!("static struct box *boxes[2];\n{build}{get}"),
            expect![[r#"
                refused: line 10 uses `boxes`, which line 9 sets
            "#]],
        );
        check(
            "a.cpp",
            "void get()\n{\n    box_ = new Box; /*1*/\n    box_->n = 4;\n    box_->ready = true; /*2*/\n}\n",
            expect![[r#"
                void get()
                {
                    auto *made = new Box;
                    made->n = 4;
                    made->ready = true;
                    box_ = made;
                }
            "#]],
        );
    }

    #[test]
    fn other_fields_of_the_same_object_are_no_use() {
        check(
            "a.c",
            "void send(void)\n{\n    atomic_store(&msg.ready, 1); /*1*/\n    msg.len = 4;\n    msg.sum = 9; /*2*/\n}\n",
            expect![[r#"
                void send(void)
                {
                    msg.len = 4;
                    msg.sum = 9;
                    atomic_store(&msg.ready, 1);
                }
            "#]],
        );
    }

    #[test]
    fn what_is_used_or_left_in_between_is_not_passed() {
        check(
            "a.c",
            "void f(void)\n{\n    done = 1; /*1*/\n    if (done)\n        g();\n    value = 2; /*2*/\n}\n",
            expect![[r#"
                refused: line 4 uses `done`, which line 3 sets
            "#]],
        );
        check(
            "a.c",
            "void f(void)\n{\n    done = 1; /*1*/\n    if (early)\n        return;\n    value = 2; /*2*/\n}\n",
            expect![[r#"
                refused: line 4 locks or leaves in between
            "#]],
        );
        check(
            "a.c",
            "void f(void)\n{\n    sem_post(&q->filled); /*1*/\n    q->ring[at] = v; /*2*/\n}\n",
            expect![[r#"
                void f(void)
                {
                    q->ring[at] = v;
                    sem_post(&q->filled);
                }
            "#]],
        );
        check(
            "a.c",
            "void f(void)\n{\n    if (go)\n        done = 1; /*1*/\n    value = 2; /*2*/\n}\n",
            expect![[r#"
                refused: line 4 cannot be moved behind line 5: they are no plain statements of one block
            "#]],
        );
    }

    #[test]
    fn a_flag_is_raised_behind_the_loop_that_sets_the_rest() {
        let all = |body: &str| {
            [
                "void fill(void)\n{\n    ready = 1; /*1*/\n    for (int i = 0; i < 4; i++)\n",
                body,
                "}\n",
            ]
            .concat()
        };
        check(
            "a.c",
            &all("        add(i); /*2*/\n"),
            expect![[r#"
                void fill(void)
                {
                    for (int i = 0; i < 4; i++)
                        add(i);
                    ready = 1;
                }
            "#]],
        );
        check(
            "a.c",
            &all("        if (!add(i)) return; /*2*/\n"),
            expect![[r#"
                refused: line 4 locks or leaves in between
            "#]],
        );
    }
}
