//! Tests of edits of small functions: the result of `hold`, or its reason to refuse. `>` begins and `<` ends
//! the lines that should be atomic.

use super::{
    change::apply,
    declare::{MutexUser, declare},
    declared::DeclaredMutexes,
    hold::{AtomicLines, hold},
    locks::{LockStyle, Mutex},
    member::declare_member,
    move_statement::{join_before, set_before},
    source::ParsedSource,
    waits::look_again,
};
use expect_test::{Expect, expect};
use std::sync::Arc;

/// The text without the marks, and the lines that they mark.
fn marked(text: &str) -> (String, AtomicLines) {
    let at = |mark: &str| text.lines().position(|line| line.contains(mark)).unwrap() as u32 + 1;
    let wanted = AtomicLines {
        first: at("/*>*/"),
        last: at("/*<*/"),
    };
    (text.replace("/*>*/", "").replace("/*<*/", ""), wanted)
}

fn edited(file: &str, text: &str, changes: &[super::change::Change]) -> String {
    let edited = apply(text, changes).unwrap();
    assert!(
        ParsedSource::parse(file, &edited).unwrap().is_whole(),
        "{edited}"
    );
    edited
}

fn check_in(file: &str, style: LockStyle, object: &str, text: &str, expected: Expect) {
    expected.assert_eq(&held(file, style, object, text));
}

/// The text with the lock held from one mark to the other, or the reason why not.
fn held(file: &str, style: LockStyle, object: &str, text: &str) -> String {
    let (text, wanted) = marked(text);
    let source = ParsedSource::parse(file, &text).unwrap();
    let mutex = Mutex {
        object: object.to_owned(),
        style,
    };
    match hold(&source, &mutex, &wanted) {
        Ok(kept) if kept.changes.is_empty() => "held already\n".to_owned(),
        Ok(kept) => edited(file, &text, &kept.changes),
        Err(why) => format!("refused: {why}\n"),
    }
}

fn check(text: &str, expected: Expect) {
    check_in("a.c", LockStyle::Pthread, "m", text, expected);
}

fn check_cpp(text: &str, expected: Expect) {
    check_in("a.cpp", LockStyle::Guard, "m", text, expected);
}

#[test]
fn glibs_locks_are_called_by_its_functions() {
    check_in(
        "a.c",
        LockStyle::GlibReadWrite,
        "m",
        "int look_up(void)
{
    g_rw_lock_reader_lock(&m);
    int slot = find(); /*>*/
    g_rw_lock_reader_unlock(&m);
    if (slot >= 0)
        return slot;
    g_rw_lock_writer_lock(&m);
    slot = add(); /*<*/
    g_rw_lock_writer_unlock(&m);
    return slot;
}
",
        expect![[r#"
            int look_up(void)
            {
                g_rw_lock_writer_lock(&m);
                int slot = find(); 
                if (slot >= 0) {
                    g_rw_lock_writer_unlock(&m);
                    return slot;
                }
                slot = add(); 
                g_rw_lock_writer_unlock(&m);
                return slot;
            }
        "#]],
    );
    check_in(
        "a.c",
        LockStyle::Glib,
        "m",
        "void put(void)
{
    used = used + 1; /*>*/
    left = left - 1; /*<*/
}
",
        expect![[r#"
            void put(void)
            {
                g_mutex_lock(&m);
                used = used + 1; 
                left = left - 1; 
                g_mutex_unlock(&m);
            }
        "#]],
    );
}

#[test]
fn a_readers_section_that_takes_in_a_writers_is_a_writers() {
    let style = LockStyle::ReadWrite;
    check_in(
        "a.c",
        style,
        "m",
        "void look_up(void)
{
    pthread_rwlock_rdlock(&m);
    int slot = find(); /*>*/
    pthread_rwlock_unlock(&m);
    pthread_rwlock_wrlock(&m);
    add(slot); /*<*/
    pthread_rwlock_unlock(&m);
}
",
        expect![[r#"
            void look_up(void)
            {
                pthread_rwlock_wrlock(&m);
                int slot = find(); 
                add(slot); 
                pthread_rwlock_unlock(&m);
            }
        "#]],
    );
    check_in(
        "a.c",
        style,
        "m",
        "int both(void)
{
    pthread_rwlock_rdlock(&m);
    int a = sum; /*>*/
    pthread_rwlock_unlock(&m);
    pthread_rwlock_rdlock(&m);
    int b = count; /*<*/
    pthread_rwlock_unlock(&m);
    return a / b;
}
",
        expect![[r#"
            int both(void)
            {
                pthread_rwlock_rdlock(&m);
                int a = sum; 
                int b = count; 
                pthread_rwlock_unlock(&m);
                return a / b;
            }
        "#]],
    );
}

#[test]
fn two_sections_become_one_and_early_exits_give_back() {
    check(
        "bool withdraw(long amount)
{
    pthread_mutex_lock(&m);
    long available = balance; /*>*/
    pthread_mutex_unlock(&m);

    long fee = fee_for(amount);
    if (available < amount + fee)
        return false;
    if (fee > 10) { log_it(); return false; }

    pthread_mutex_lock(&m);
    balance = available - amount - fee; /*<*/
    pthread_mutex_unlock(&m);
    return true;
}
",
        expect![[r#"
            bool withdraw(long amount)
            {
                pthread_mutex_lock(&m);
                long available = balance; 

                long fee = fee_for(amount);
                if (available < amount + fee) {
                    pthread_mutex_unlock(&m);
                    return false;
                }
                if (fee > 10) { log_it(); pthread_mutex_unlock(&m); return false; }

                balance = available - amount - fee; 
                pthread_mutex_unlock(&m);
                return true;
            }
        "#]],
    );
}

#[test]
fn a_section_that_gives_back_before_it_leaves_stays() {
    check(
        "int take(void)
{
    pthread_mutex_lock(&m);
    int n = count; /*>*/
    if (n == 0) {
        pthread_mutex_unlock(&m);
        return -1;
    }
    pthread_mutex_unlock(&m);
    work();
    pthread_mutex_lock(&m);
    count = n - 1; /*<*/
    pthread_mutex_unlock(&m);
    return n;
}
",
        expect![[r#"
            int take(void)
            {
                pthread_mutex_lock(&m);
                int n = count; 
                if (n == 0) {
                    pthread_mutex_unlock(&m);
                    return -1;
                }
                work();
                count = n - 1; 
                pthread_mutex_unlock(&m);
                return n;
            }
        "#]],
    );
}

#[test]
fn a_lock_around_plain_statements() {
    check(
        "void *worker(void *arg)
{
    for (int i = 0; i < 10; i++)
        words++; /*>*/ /*<*/
    return NULL;
}
",
        expect![[r#"
            void *worker(void *arg)
            {
                for (int i = 0; i < 10; i++) {
                    pthread_mutex_lock(&m);
                    words++;
                    pthread_mutex_unlock(&m);
                }  
                return NULL;
            }
        "#]],
    );
    check(
        "void *worker(void *arg)
{
    int a = x; /*>*/
    x = a + 1; /*<*/ // one more
    return NULL;
}
",
        expect![[r#"
            void *worker(void *arg)
            {
                pthread_mutex_lock(&m);
                int a = x; 
                x = a + 1;  // one more
                pthread_mutex_unlock(&m);
                return NULL;
            }
        "#]],
    );
}

#[test]
fn a_value_is_returned_after_the_lock_was_given_back() {
    check(
        "static long *top(struct stack *s)
{
    if (s->used == 0) /*>*/
        return NULL;
    return s->items[--s->used]; /*<*/
}
",
        expect![[r#"
            static long *top(struct stack *s)
            {
                pthread_mutex_lock(&m);
                if (s->used == 0) {
                    pthread_mutex_unlock(&m);
                    return NULL;
                }
                long *result = s->items[--s->used];
                pthread_mutex_unlock(&m);
                return result; 
            }
        "#]],
    );
}

#[test]
fn jumps_out_give_back_and_jumps_within_do_not() {
    check(
        "int f(void)
{
    while (more()) {
        if (a > 3) /*>*/
            break;
        if (a == 2)
            continue;
        for (int i = 0; i < a; i++)
            if (i == 1)
                break;
        if (a == 1)
            goto out;
        b = a; /*<*/
        done();
    }
out:
    return 1;
}
",
        expect![[r#"
            int f(void)
            {
                while (more()) {
                    pthread_mutex_lock(&m);
                    if (a > 3) {
                        pthread_mutex_unlock(&m);
                        break;
                    }
                    if (a == 2) {
                        pthread_mutex_unlock(&m);
                        continue;
                    }
                    for (int i = 0; i < a; i++)
                        if (i == 1)
                            break;
                    if (a == 1) {
                        pthread_mutex_unlock(&m);
                        goto out;
                    }
                    b = a; 
                    pthread_mutex_unlock(&m);
                    done();
                }
            out:
                return 1;
            }
        "#]],
    );
}

#[test]
fn what_cannot_be_followed_is_refused() {
    check(
        "#define TRY(x) if (!(x)) return -1
int f(void)
{
    a = 1; /*>*/
    TRY(g());
    b = 1; /*<*/
    return 0;
}
",
        expect![[r#"
            refused: the macro `TRY` on line 5 holds `return`
        "#]],
    );
    check(
        "int f(void)
{
    a = 1; /*>*/
    CHECK(g());
    b = 1; /*<*/
    return 0;
}
",
        expect![[r#"
            refused: `CHECK` on line 4 is a macro of another file, which may leave for all that is known
        "#]],
    );
    check(
        "int f(void)
{
    a = 1; /*>*/
    pthread_join(t, NULL);
    b = 1; /*<*/
    return 0;
}
",
        expect![[r#"
            refused: line 4 waits (`pthread_join`), and would keep the lock meanwhile
        "#]],
    );
    check(
        "int f(void)
{
    a = 1; /*>*/
again:
    if (a < 3)
        goto again;
    b = 1; /*<*/
    return 0;
}
",
        expect![[r#"
            refused: line 6 jumps back to a label within
        "#]],
    );
    check(
        "int f(void)
{
    a = 1; /*>*/
#ifdef X
    return 1;
#endif
    b = 1; /*<*/
    return 0;
}
",
        expect![[r#"
            refused: line 4 has preprocessor conditions within
        "#]],
    );
    check(
        "int f(void)
{
    pthread_mutex_lock(&m);
    a = 1; /*>*/
    if (a) {
        pthread_mutex_unlock(&m);
    }
    b = 1; /*<*/
    return 0;
}
",
        expect![[r#"
            refused: the critical section around line 4 also ends in a nested block (line 6)
        "#]],
    );
}

#[test]
fn a_section_that_ends_behind_a_label() {
    check(
        "int f(struct q *q, int v)
{
    int rc = -1;
    int slot;
    pthread_mutex_lock(&m);
    if (q->full)
        goto out;
    slot = q->used; /*>*/
    pthread_mutex_unlock(&m);
    v = checked(v);
    pthread_mutex_lock(&m);
    q->items[slot] = v;
    q->used = slot + 1; /*<*/
    rc = 0;
out:
    pthread_mutex_unlock(&m);
    return rc;
}
",
        expect![[r#"
            int f(struct q *q, int v)
            {
                int rc = -1;
                int slot;
                pthread_mutex_lock(&m);
                if (q->full)
                    goto out;
                slot = q->used; 
                v = checked(v);
                q->items[slot] = v;
                q->used = slot + 1; 
                rc = 0;
            out:
                pthread_mutex_unlock(&m);
                return rc;
            }
        "#]],
    );
    check(
        "int f(struct q *q)
{
    int rc = -1;
    q->calls++; /*>*/
    pthread_mutex_lock(&m);
    if (q->full)
        goto out;
    q->used++; /*<*/
    rc = 0;
out: pthread_mutex_unlock(&m);
    return rc;
}
",
        expect![[r#"
            int f(struct q *q)
            {
                int rc = -1;
                pthread_mutex_lock(&m);
                q->calls++; 
                if (q->full)
                    goto out;
                q->used++; 
                rc = 0;
            out: pthread_mutex_unlock(&m);
                return rc;
            }
        "#]],
    );
    check(
        "int f(struct q *q)
{
    if (q->closed)
        goto out;
    q->used++; /*>*/
out:
    q->calls++; /*<*/
    return 0;
}
",
        expect![[r#"
            refused: line 6 has a label that can be jumped to
        "#]],
    );
    check(
        "int f(struct q *q)
{
    q->used++; /*>*/
    pthread_mutex_lock(&m);
    if (q->full) {
        pthread_mutex_unlock(&m);
        goto out;
    }
    q->used++;
    pthread_mutex_unlock(&m);
    q->calls++; /*<*/
out:
    return 0;
}
",
        expect![[r#"
            int f(struct q *q)
            {
                pthread_mutex_lock(&m);
                q->used++; 
                if (q->full) {
                    pthread_mutex_unlock(&m);
                    goto out;
                }
                q->used++;
                q->calls++; 
                pthread_mutex_unlock(&m);
            out:
                return 0;
            }
        "#]],
    );
}

#[test]
fn a_mutex_is_not_taken_twice() {
    check(
        "static int size(void)
{
    pthread_mutex_lock(&m);
    int n = used;
    pthread_mutex_unlock(&m);
    return n;
}
static int last(void) { return size() - 1; }
int f(void)
{
    int n = last(); /*>*/
    return items[n]; /*<*/
}
",
        expect![[r#"
            refused: `last`, called on line 11, calls `size`, which takes `m` on line 3, which may be the same lock
        "#]],
    );
    check(
        "int f(void)
{
    pthread_mutex_lock(&m);
    a = 1; /*>*/
    b = 1; /*<*/
    pthread_mutex_unlock(&m);
    return 0;
}
",
        expect![[r#"
            held already
        "#]],
    );
}

/// Threads that a loop creates and detaches are joined behind it, and no longer detached.
#[test]
fn who_is_joined_is_not_detached() {
    let text = "int main(void)\n{\n    pthread_t t[2];\n    for (int i = 0; i < 2; i++) {\n        pthread_create(&t[i], NULL, run, q);\n        pthread_detach(t[i]);\n    }\n    produce(q);\n    drop(q);\n}\n";
    let source = ParsedSource::parse("a.c", text).unwrap();
    let joined = join_before(&source, 5, 9).unwrap();
    let expected = text.replace("        pthread_detach(t[i]);\n", "").replace(
        "    drop(q);",
        "    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);\n    drop(q);",
    );
    assert_eq!(apply(text, &joined.changes), Some(expected));
}

/// Whoever has set a pointer to a function may have given one that takes any lock.
#[test]
fn no_lock_is_held_while_a_pointer_to_a_function_is_called() {
    let text = |declares: &str, calls: &str| {
        format!(
            "static void *run(void *a)\n{{\n    {declares}\n    busy++; /*>*/\n    {calls};\n    busy--; /*<*/\n    return a;\n}}\n"
        )
    };
    let refused = |calls: &str, text: &str| {
        let (text, wanted) = marked(text);
        let source = ParsedSource::parse("a.c", &text).unwrap();
        let mutex = Mutex {
            object: "m".to_owned(),
            style: LockStyle::Pthread,
        };
        let why = hold(&source, &mutex, &wanted).unwrap_err();
        assert!(why.contains("may lock anything"), "{calls}: {why}");
    };
    for (declares, calls) in [
        ("void (*job)(void *) = t->job;", "job(a)"),
        ("struct timer *t = a;", "t->job(a)"),
        ("struct timer *t = a;", "(*t->job)(a)"),
    ] {
        refused(calls, &text(declares, calls));
    }
}

/// A function that was handed in may take any lock; a lambda of the function itself is known.
#[test]
fn no_lock_is_held_while_what_was_handed_in_is_called() {
    let text = |job: &str| {
        format!(
            "void Pool::run()
{{
    {job}
    busy_++; /*>*/
    job();
    busy_--; /*<*/
}}
"
        )
    };
    check_cpp(
        &text("Job job = next();"),
        expect![[r#"
            refused: line 5 calls `job`, which is not known and may lock anything, and would keep the lock meanwhile
        "#]],
    );
    check_cpp(
        &text("auto job = [this] { done_++; };"),
        expect![[r#"
            void Pool::run()
            {
                auto job = [this] { done_++; };
                std::lock_guard<std::mutex> guard(m);
                busy_++; 
                job();
                busy_--; 
            }
        "#]],
    );
}

/// A member is no object of its own class: its functions are others, whatever their names.
#[test]
fn a_function_of_a_member_is_not_one_of_the_class() {
    let text = |receiver: &str| {
        format!(
            "int Table::intern(const Table &other)
{{
    int id = {receiver}size(); /*>*/
    names_.push_back(id); /*<*/
    return id;
}}
int Table::size() const
{{
    std::lock_guard<std::mutex> hold(m);
    return names_.size();
}}
"
        )
    };
    check_cpp(
        &text("names_."),
        expect![[r#"
            int Table::intern(const Table &other)
            {
                std::lock_guard<std::mutex> guard(m);
                int id = names_.size(); 
                names_.push_back(id); 
                return id;
            }
            int Table::size() const
            {
                std::lock_guard<std::mutex> hold(m);
                return names_.size();
            }
        "#]],
    );
    for receiver in ["", "other.", "this->"] {
        check_cpp(
            &text(receiver),
            expect![[r#"
                refused: `size`, called on line 3, takes `m` on line 9, which may be the same lock
            "#]],
        );
    }
}

/// Two classes have a function of one name, and only one of them takes the lock.
#[test]
fn a_function_is_looked_for_in_the_class_of_its_object() {
    let text = |member: &str, own: &str| {
        format!(
            "class Waiter {{
    {own}
    int n = 0;
}};
class Variable {{
    void stop()
    {{
        bool is_set = waiter_ != nullptr; /*>*/
        waiter_->wake(); /*<*/
    }}
    void wake()
    {{
        std::lock_guard<std::mutex> hold(m);
        waiter_->wake();
    }}
    {member} waiter_;
}};
"
        )
    };
    let check = |member: &str, own: &str, taken: bool| {
        let said = held("a.cpp", LockStyle::Guard, "m", &text(member, own));
        assert_eq!(said.contains("refused"), !taken, "{said}");
    };
    check("std::unique_ptr<Waiter>", "void wake() { n++; }", true);
    check("Waiter", "void wake() { n++; }", true);
    check("Waiter", "virtual void wake() { n++; }", false);
    check(
        "Waiter",
        "void wake() { std::lock_guard<std::mutex> hold(m); n++; }",
        false,
    );
    check("Waiter", "void other() { n++; }", false);
    check("Other", "void wake() { n++; }", false);
}

#[test]
fn a_section_in_a_branch_is_taken_into_the_outer_one() {
    check(
        "void f(void)
{
    int old = a; /*>*/
    if (old) {
        pthread_mutex_lock(&m);
        b++;
        pthread_mutex_unlock(&m);
    } else {
        c++;
    }
    switch (old) {
    case 1:
        d++;
        break;
    case 2:
        return;
    }
    a = old + 1; /*<*/
}
",
        expect![[r#"
            void f(void)
            {
                pthread_mutex_lock(&m);
                int old = a; 
                if (old) {
                    b++;
                } else {
                    c++;
                }
                switch (old) {
                case 1:
                    d++;
                    break;
                case 2:
                    pthread_mutex_unlock(&m);
                    return;
                }
                a = old + 1; 
                pthread_mutex_unlock(&m);
            }
        "#]],
    );
}

#[test]
fn guards_of_cpp() {
    check_cpp(
        "int Cache::get(int key)
{
    {
        std::lock_guard<std::mutex> guard(m);
        if (pages.count(key)) /*>*/
            return pages[key];
    }
    int page = load(key);
    std::lock_guard<std::mutex> guard(m);
    pages[key] = page; /*<*/
    return page;
}
",
        expect![[r#"
            int Cache::get(int key)
            {
                std::lock_guard<std::mutex> guard(m);
                {
                    if (pages.count(key)) 
                        return pages[key];
                }
                int page = load(key);
                pages[key] = page; 
                return page;
            }
        "#]],
    );
    check_cpp(
        "void f()
{
    int n = a; /*>*/
    a = n + 1; /*<*/
    work();
    more();
    again();
}
",
        expect![[r#"
            void f()
            {
                {
                    std::lock_guard<std::mutex> guard(m);
                    int n = a; 
                    a = n + 1;
                } 
                work();
                more();
                again();
            }
        "#]],
    );
    check_cpp(
        "void f()
{
    if (a) /*>*/
        a--;
    b++; /*<*/

    work();
    more();
    again();
}
",
        expect![[r#"
            void f()
            {
                {
                    std::lock_guard<std::mutex> guard(m);
                    if (a) 
                        a--;
                    b++;
                } 

                work();
                more();
                again();
            }
        "#]],
    );
    check_cpp(
        "void f()
{
    {
        std::unique_lock<std::mutex> held(m);
        ready.wait(held); /*>*/
    }
    b++; /*<*/
}
",
        expect![[r#"
            refused: `held` of line 4 is used again on line 5
        "#]],
    );
    check_cpp(
        "void f()
{
    std::lock_guard<std::mutex> guard(m);
    a++; /*>*/
    b++; /*<*/
}
",
        expect![[r#"
            held already
        "#]],
    );
}

fn user(source: &ParsedSource, line: u32) -> [MutexUser<'_>; 1] {
    [MutexUser { source, line }]
}

/// The texts with a new mutex that the last line of each uses.
fn shared_mutex(files: &[(&str, &str)]) -> String {
    let parsed = files
        .iter()
        .map(|(file, text)| ParsedSource::parse(file, text).unwrap());
    let parsed: Vec<ParsedSource> = parsed.collect();
    let user = |(source, (_, text)): (_, &(&str, &str))| MutexUser {
        source,
        line: text.lines().count() as u32,
    };
    let users: Vec<MutexUser<'_>> = parsed.iter().zip(files).map(user).collect();
    match declare(&users, "words", &|_| false) {
        Ok((_, changes)) => {
            let all = files.iter().zip(&changes);
            let all =
                all.map(|((file, text), own)| format!("{file}:\n{}", edited(file, text, own)));
            all.collect()
        }
        Err(why) => format!("refused: {why}\n"),
    }
}

/// The texts with a new member, used by methods on these lines of the files.
fn with_member(files: &[(&str, &str)], users: &[(usize, u32)], data: &[&str]) -> String {
    let parsed = files
        .iter()
        .map(|(file, text)| ParsedSource::parse(file, text).unwrap());
    let parsed: Vec<ParsedSource> = parsed.collect();
    let users = users.iter().map(|(file, line)| MutexUser {
        source: &parsed[*file],
        line: *line,
    });
    let users: Vec<MutexUser<'_>> = users.collect();
    let sources: Vec<&ParsedSource> = parsed.iter().collect();
    match declare_member(&users, &sources, data, &|_| false) {
        Some(member) => {
            let (file, text) = files[member.home];
            let text = edited(file, text, &member.changes);
            format!("{file}, {}:\n{text}", member.mutex.object)
        }
        None => "none".to_owned(),
    }
}

const POOL: &str = "\
class Pool {
public:
    int size() const {
        return n_;
    }
    void add() {
        n_++;
        [this] {
            n_++;
        }();
    }
    static void all() {
        total++;
    }
    void drop();
    int n_ = 0;
    static int made_;
};
int sum(Pool &pool) {
    return pool.n_;
}
";

#[test]
fn methods_of_one_class_have_a_mutex_as_a_member() {
    let source = "#include \"pool.h\"\nvoid Pool::drop() {\n    n_ = 0;\n}\n";
    let files = [("pool.h", POOL), ("pool.cpp", source)];
    let both = with_member(&files, &[(0, 7), (1, 3)], &["pool.n_"]);
    assert!(
        both.starts_with("pool.h, n_lock_:\n#include <mutex>\n"),
        "{both}"
    );
    assert!(
        both.contains("int n_ = 0;\n    std::mutex n_lock_;\n    static"),
        "{both}"
    );
    let with_const = with_member(&files, &[(0, 4), (0, 7)], &["pools[0].n_.first"]);
    assert!(
        with_const.contains("mutable std::mutex n_lock_;"),
        "{with_const}"
    );
}

#[test]
fn other_functions_and_data_have_no_mutex_as_a_member() {
    let files = [("pool.h", POOL)];
    let lines = |lines: &[u32]| {
        let users: Vec<(usize, u32)> = lines.iter().map(|line| (0, *line)).collect();
        with_member(&files, &users, &["pool.n_"])
    };
    assert_ne!(lines(&[7]), "none");
    for (why, of) in [
        ("a lambda", &[9][..]),
        ("a static method", &[13]),
        ("a function of its own", &[7, 20]),
    ] {
        assert_eq!(lines(of), "none", "{why}");
    }
    assert_eq!(
        with_member(&files, &[(0, 7)], &["pool.n_", "total"]),
        "none"
    );
    assert_eq!(
        with_member(&files, &[(0, 7)], &["pool.n_", "Pool::made_"]),
        "none"
    );
    let two = [("pool.h", POOL), ("other.h", POOL)];
    assert_eq!(with_member(&two, &[(0, 7)], &["pool.n_"]), "none");
}

/// Another program than the test may use the headers: it has no `main` of this one.
#[test]
fn a_new_mutex_of_headers_is_defined_in_the_one_that_all_include() {
    let inner = ("a.hpp", "struct A { int f() { return 1; } };\n");
    let outer = ("b.hpp", "#include \"a.hpp\"\nint g() { return 2; }\n");
    let main = ("main.cpp", "#include \"a.hpp\"\nint main() { return 3; }\n");
    let all = shared_mutex(&[outer, inner, main]);
    assert!(
        all.contains("a.hpp:\n#include <mutex>\ninline std::mutex words_lock;"),
        "{all}"
    );
    assert_eq!(all.matches("words_lock").count(), 1, "{all}");
    let apart = shared_mutex(&[("b.hpp", "int g() { return 2; }\n"), inner, main]);
    assert!(apart.contains("extern std::mutex words_lock;"), "{apart}");
}

#[test]
fn a_new_mutex_of_several_files_is_defined_in_one() {
    expect![[r#"
        a.h:
        #include <mutex>
        extern std::mutex words_lock;

        namespace n {
        struct A { int f() { return 1; } }; }
        a.cpp:
        #include <mutex>
        #include "a.h"
        std::mutex words_lock;

        namespace n {
        int g() { return 2; } }
    "#]]
    .assert_eq(&shared_mutex(&[
        (
            "a.h",
            "namespace n {\nstruct A { int f() { return 1; } }; }\n",
        ),
        (
            "a.cpp",
            "#include \"a.h\"\nnamespace n {\nint g() { return 2; } }\n",
        ),
    ]));
    expect![[r#"
        a.c:
        #include <pthread.h>
        #include <stdio.h>
        pthread_mutex_t words_lock = PTHREAD_MUTEX_INITIALIZER;

        int f(void) { return 1; }
        b.c:
        #include <pthread.h>
        extern pthread_mutex_t words_lock;

        int g(void) { return 2; }
    "#]]
    .assert_eq(&shared_mutex(&[
        ("a.c", "#include <stdio.h>\nint f(void) { return 1; }\n"),
        ("b.c", "#include <pthread.h>\nint g(void) { return 2; }\n"),
    ]));
    expect![[r#"
        refused: it would be declared in headers only, and no source file is known to define it
    "#]]
    .assert_eq(&shared_mutex(&[
        ("a.hpp", "struct A { int f() { return 1; } };\n"),
        ("b.hpp", "struct B { int f() { return 1; } };\n"),
    ]));
}

#[test]
fn a_header_is_parsed_in_the_language_that_fits() {
    let is_cpp = |text: &str| ParsedSource::parse("a.h", text).unwrap().is_cpp();
    assert!(is_cpp(
        "#pragma once\nclass A {\npublic:\n    int f() const { return x_; }\nprivate:\n    int x_;\n};\n"
    ));
    assert!(is_cpp(
        "template <class T> T twice(T x) { return x + x; }\n"
    ));
    assert!(!is_cpp(
        "struct a { int class; };\nstatic inline int f(struct a *a) { return a->class; }\n"
    ));
}

#[test]
fn new_mutexes() {
    let check = |file: &str, text: &str, expected: Expect| {
        let source = ParsedSource::parse(file, text).unwrap();
        let (_, changes) = declare(&user(&source, 6), "words", &|_| false).unwrap();
        expected.assert_eq(&edited(file, text, &changes[0]));
    };
    check(
        "a.c",
        "#include <stdio.h>\nstatic int words;\nstatic int x;\n\nint f(void)\n{ return words; }\n",
        expect![[r#"
            #include <pthread.h>
            #include <stdio.h>
            static int words;
            static pthread_mutex_t words_lock = PTHREAD_MUTEX_INITIALIZER;
            static int x;

            int f(void)
            { return words; }
        "#]],
    );
    check(
        "a.cpp",
        "#include <thread>\nnamespace n {\nint x;\n// f\nint f()\n{ return 1; }\n}\n",
        expect![[r#"
            #include <mutex>
            #include <thread>
            namespace n {
            int x;
            static std::mutex words_lock;

            // f
            int f()
            { return 1; }
            }
        "#]],
    );
}

#[test]
fn a_new_mutex_in_a_header_is_the_same_in_all_sources() {
    let declared = |file: &str, text: &str| {
        let source = ParsedSource::parse(file, text).unwrap();
        let declared = declare(&user(&source, 2), "words", &|_| false);
        declared.map(|(_, changes)| edited(file, text, &changes[0]))
    };
    let cpp = declared("a.hpp", "#include <mutex>\ninline int f() { return 1; }\n").unwrap();
    assert!(cpp.contains("inline std::mutex words_lock;"), "{cpp}");
    let c = "#include <pthread.h>\nstatic int f(void) { return 1; }\n";
    let refused = declared("a.h", c).unwrap_err();
    assert!(refused.contains("a mutex of its own"), "{refused}");
}

#[test]
fn waits_look_again() {
    let check = |text: &str, line: u32, expected: Expect| {
        let source = ParsedSource::parse("a.c", text).unwrap();
        expected.assert_eq(&match look_again(&source, line) {
            Ok((changes, _)) => edited("a.c", text, &changes),
            Err(why) => format!("refused: {why}\n"),
        });
    };
    check(
        "void f(void)\n{\n    if (!ready)\n        pthread_cond_wait(&c, &m);\n    g();\n}\n",
        4,
        expect![[r#"
        void f(void)
        {
            while (!ready)
                pthread_cond_wait(&c, &m);
            g();
        }
    "#]],
    );
    check(
        "void f(void)\n{\n    while (!ready)\n        pthread_cond_wait(&c, &m);\n    g();\n}\n",
        4,
        expect![[r#"
        refused: the wait on line 4 is in a loop already
    "#]],
    );
    check(
        "void f(void)\n{\n    if (!ready)\n        pthread_cond_wait(&c, &m);\n    else\n        g();\n}\n",
        4,
        expect![[r#"
        refused: the `if` on line 3 has an `else`
    "#]],
    );
}

#[test]
fn statements_that_come_at_another_time() {
    let join = |text: &str, created, before, expected: Expect| {
        let source = ParsedSource::parse("a.c", text).unwrap();
        expected.assert_eq(
            &match join_before(&source, created, before).map(|joined| joined.changes) {
                Ok(changes) => edited("a.c", text, &changes),
                Err(why) => format!("refused: {why}\n"),
            },
        );
    };
    join(
        "int main(void)\n{\n    pthread_t t;\n    pthread_create(&t, NULL, w, NULL);\n    free(q);\n    return 0;\n}\n",
        4,
        5,
        expect![[r#"
            int main(void)
            {
                pthread_t t;
                pthread_create(&t, NULL, w, NULL);
                pthread_join(t, NULL);
                free(q);
                return 0;
            }
        "#]],
    );
    join(
        "int main(void)\n{\n    pthread_t t[2];\n    for (int i = 0; i < 2; i++)\n        pthread_create(&t[i], NULL, w, NULL);\n    free(q);\n    for (int i = 0; i < 2; i++)\n        pthread_join(t[i], NULL);\n    return 0;\n}\n",
        5,
        6,
        expect![[r#"
            int main(void)
            {
                pthread_t t[2];
                for (int i = 0; i < 2; i++)
                    pthread_create(&t[i], NULL, w, NULL);
                for (int i = 0; i < 2; i++)
                    pthread_join(t[i], NULL);
                free(q);
                return 0;
            }
        "#]],
    );
    let text = "int main(void)\n{\n    pthread_t t;\n    pthread_create(&t, NULL, w, NULL);\n    config = load();\n    pthread_join(t, NULL);\n    return 0;\n}\n";
    let source = ParsedSource::parse("a.c", text).unwrap();
    expect![[r#"
        int main(void)
        {
            pthread_t t;
            config = load();
            pthread_create(&t, NULL, w, NULL);
            pthread_join(t, NULL);
            return 0;
        }
    "#]]
    .assert_eq(&edited("a.c", text, &set_before(&source, &[5], 4).unwrap()));
    let text = "int main(void)\n{\n    pthread_t t;\n    pthread_create(&t, NULL, w, job);\n    job->size = 3;\n    log(\"made\");\n    job->total = job->size * 2;\n}\n";
    let source = ParsedSource::parse("a.c", text).unwrap();
    expect![[r#"
        int main(void)
        {
            pthread_t t;
            job->size = 3;
            job->total = job->size * 2;
            pthread_create(&t, NULL, w, job);
            log("made");
        }
    "#]]
    .assert_eq(&edited(
        "a.c",
        text,
        &set_before(&source, &[5, 7], 4).unwrap(),
    ));
    assert!(set_before(&source, &[7], 4).is_err());
    let text = "int start(struct timer *t)\n{\n    int rc = pthread_create(&t->thread, NULL, run, t);\n    t->fn = tick;\n    t->code = rc;\n    return rc;\n}\n";
    let source = ParsedSource::parse("a.c", text).unwrap();
    assert!(set_before(&source, &[4], 3).is_ok());
    assert!(set_before(&source, &[5], 3).is_err());
    let text = "int main(void)\n{\n#ifdef EARLY\n    config = load();\n#else\n    pthread_create(&t, NULL, w, NULL);\n    config = load();\n#endif\n}\n";
    let source = ParsedSource::parse("a.c", text).unwrap();
    let refused = set_before(&source, &[7], 6).unwrap_err();
    assert_eq!(refused, "line 7 has preprocessor conditions around it");
}

/// A body of statements without an error.
fn body() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just("a++;\n".to_owned()),
        Just("int n = a;\n".to_owned()),
        Just("if (a == 3)\n        return;\n".to_owned()),
        Just("if (a == 4) { b--; return; }\n".to_owned()),
        Just("pthread_mutex_lock(&m);\n    b++;\n    pthread_mutex_unlock(&m);\n".to_owned()),
        Just("work(a); // done\n".to_owned()),
    ];
    let nested = leaf.prop_recursive(3, 12, 3, |inner| {
        let list = proptest::collection::vec(inner, 1..4).prop_map(|all| all.join("    "));
        prop_oneof![
            list.clone().prop_map(|all| format!("if (a > 1) {{\n    {all}    }} else {{\n    b++;\n    }}\n")),
            list.clone().prop_map(|all| format!("while (a-- > 0) {{\n    {all}        if (a == 7)\n        break;\n    }}\n")),
            list.prop_map(|all| format!("switch (a) {{\n    case 1:\n    {all}        break;\n    default:\n        break;\n    }}\n")),
        ]
    });
    proptest::collection::vec(nested, 1..6).prop_map(|all| all.join("    "))
}

proptest::proptest! {
    /// Edited text parses as before, nothing changes outside of the lines, and another call finds the mutex
    /// held.
    #[test]
    fn any_body_is_edited_or_refused(inside in body(), before in body()) {
        let text = format!("int a, b;\nvoid f(void)\n{{\n    {before}    x = 1;\n    {inside}    y = 1;\n    z = 1;\n}}\n");
        let line = |what: &str| text.lines().position(|line| line.trim() == what).unwrap() as u32 + 1;
        let source = ParsedSource::parse("a.c", &text).unwrap();
        let mutex = Mutex { object: "m".to_owned(), style: LockStyle::Pthread };
        let wanted = AtomicLines { first: line("x = 1;"), last: line("y = 1;") };
        let kept = hold(&source, &mutex, &wanted).unwrap();
        let edited = edited("a.c", &text, &kept.changes);
        let end = |text: &str| text.find("    z = 1;").map(|at| text[at..].to_owned());
        assert_eq!(end(&edited), end(&text));
        let begin = text.find("    x = 1;").unwrap();
        assert_eq!(&edited[..begin], &text[..begin]);
        let again = ParsedSource::parse("a.c", &edited).unwrap();
        let line = |what: &str| edited.lines().position(|line| line.trim() == what).unwrap() as u32 + 1;
        let wanted = AtomicLines { first: line("x = 1;"), last: line("y = 1;") };
        let second = hold(&again, &mutex, &wanted).unwrap();
        assert!(second.changes.is_empty(), "{edited}\n{:?}", second.changes);
    }
}

#[test]
fn a_new_mutex_is_named_after_its_data() {
    let check = |data: &str, expected: &str| {
        let text = "int x;\nvoid f(void)\n{\n    x++;\n}\n";
        let source = ParsedSource::parse("a.c", text).unwrap();
        let (mutex, _) = declare(&user(&source, 4), data, &|name| name == "taken_lock").unwrap();
        assert_eq!(mutex.object, expected, "{data}");
    };
    check("balance", "balance_lock");
    check("taken", "taken_mutex");
    check("accounts[1].balance", "accounts_lock");
    check("main::machine.next", "machine_lock");
    check("heap(queue.c:12 by main #0).count_", "count_lock");
    check("heap(a.cpp:69 by main #0)._M_use_count", "step_lock");
}

#[test]
fn a_const_function_locks_a_mutable_member() {
    let class = |promise: &str, lock: &str| {
        format!(
            "class List {{\n    int sum() {promise}\n    {{\n        int sum = first;/*>*/\n        sum += second;/*<*/\n        return sum;\n    }}\n    {lock} m;\n}};\n"
        )
    };
    let held = |promise: &str, lock: &str| {
        let (text, wanted) = marked(&class(promise, lock));
        let source = ParsedSource::parse("a.cpp", &text).unwrap();
        let mutex = Mutex {
            object: "m".to_owned(),
            style: LockStyle::Guard,
        };
        edited(
            "a.cpp",
            &text,
            &hold(&source, &mutex, &wanted).unwrap().changes,
        )
    };
    let mutable = "    mutable std::mutex m;\n";
    assert!(held("const", "std::mutex").contains(mutable));
    assert!(held("const", "mutable std::mutex").contains(mutable));
    assert!(!held("const", "static std::mutex").contains("mutable"));
    assert!(!held("const", "inline static std::mutex").contains("mutable"));
    assert!(!held("", "std::mutex").contains("mutable"));
}

#[test]
fn a_guard_has_the_type_of_a_mutex_that_is_declared_in_another_file() {
    let held = |headers: &[&str], promise: &str| {
        let (text, wanted) = marked(&format!(
            "bool Lease::renew(int node) {promise}\n{{\n    bool mine = held_by(node);/*>*/\n    grant(node);/*<*/\n    return mine;\n}}\n"
        ));
        let headers = headers
            .iter()
            .filter_map(|it| ParsedSource::parse("a.h", it));
        let headers: Vec<ParsedSource> = headers.collect();
        let source = ParsedSource::parse("a.cpp", &text).unwrap();
        let source = source.with_mutexes(Arc::new(DeclaredMutexes::of(headers.iter())));
        let mutex = Mutex {
            object: "mu_".to_owned(),
            style: LockStyle::Guard,
        };
        let kept = hold(&source, &mutex, &wanted)?;
        Ok::<_, String>(edited("a.cpp", &text, &kept.changes))
    };
    let plain = "class Lease { std::mutex mu_; int n_; };";
    let twice = "class Lease { mutable std::recursive_mutex mu_; int n_; };";
    let guard = |kind: &str| format!("std::lock_guard<{kind}> guard(mu_);");
    assert!(held(&[plain], "").unwrap().contains(&guard("std::mutex")));
    let recursive = guard("std::recursive_mutex");
    assert!(held(&[twice], "").unwrap().contains(&recursive));
    // Where files differ, the usual one.
    assert!(
        held(&[plain, twice], "")
            .unwrap()
            .contains(&guard("std::mutex"))
    );
    assert!(held(&[twice], "const").unwrap().contains(&recursive));
    let refused = held(&[plain], "const").unwrap_err();
    assert!(refused.contains("`mutable`"), "{refused}");
}

#[test]
fn what_is_handed_in_is_called_under_a_lock_where_all_callers_show_what_it_is() {
    let held = |caller: &str| {
        let (text, wanted) = marked(&format!(
            "struct Table {{\n    template <class Change> void modify(Change change)\n    {{\n        auto copy = load();/*>*/\n        change(copy);\n        store(copy);/*<*/\n    }}\n    {caller}\n    Map map_;\n    std::mutex m;\n}};\n"
        ));
        let source = ParsedSource::parse("a.cpp", &text).unwrap();
        let mutex = Mutex {
            object: "m".to_owned(),
            style: LockStyle::Guard,
        };
        hold(&source, &mutex, &wanted).map(|_| ())
    };
    let with = |argument: &str| held(&format!("void put(int k) {{ modify({argument}); }}"));
    assert_eq!(with("[&](Map &map) { map[k] = 1; }"), Ok(()));
    let unknown = |result: Result<(), String>| result.unwrap_err().contains("may lock anything");
    assert!(unknown(with("job")));
    assert!(unknown(held("")));
    assert!(unknown(with("[&](Map &map) { other.lock(); map[k] = 1; }")));
    let guarded = "[&](Map &map) { std::lock_guard<std::mutex> g(other); map[k] = 1; }";
    assert!(unknown(with(guarded)));
    let (text, wanted) = marked(
        "struct Pool {\n    void run(Job job) { job(); }\n    void work()\n    {\n        auto job = next();/*>*/\n        run(job);/*<*/\n    }\n    std::mutex m;\n};\n",
    );
    let source = ParsedSource::parse("a.cpp", &text).unwrap();
    let mutex = Mutex {
        object: "m".to_owned(),
        style: LockStyle::Guard,
    };
    assert!(unknown(hold(&source, &mutex, &wanted).map(|_| ())));
    let waits = with("[&](Map &map) { ready.wait(1); }").unwrap_err();
    assert!(waits.contains("waits"), "{waits}");
}

#[test]
fn refusals_say_what_is_true() {
    check(
        "void f(void)
{
    int seen = x; /*>*/
    x = seen + 1; /*<*/
    pthread_mutex_lock(&m);
    if (seen) {
        pthread_mutex_unlock(&m);
    } else {
        y = 1;
        pthread_mutex_unlock(&m);
    }
}
",
        expect![[r#"
            void f(void)
            {
                pthread_mutex_lock(&m);
                int seen = x; 
                x = seen + 1; 
                pthread_mutex_unlock(&m);
                pthread_mutex_lock(&m);
                if (seen) {
                    pthread_mutex_unlock(&m);
                } else {
                    y = 1;
                    pthread_mutex_unlock(&m);
                }
            }
        "#]],
    );
    // Code that the preprocessor excludes acquires nothing.
    check(
        "void g(void)
{
#if 0
    pthread_mutex_lock(&m);
#endif
    y = 1;
}
void f(void)
{
    int seen = x; /*>*/
    g();
    x = seen + 1; /*<*/
}
",
        expect![[r#"
            void g(void)
            {
            #if 0
                pthread_mutex_lock(&m);
            #endif
                y = 1;
            }
            void f(void)
            {
                pthread_mutex_lock(&m);
                int seen = x; 
                g();
                x = seen + 1; 
                pthread_mutex_unlock(&m);
            }
        "#]],
    );
}

#[test]
fn a_section_that_ends_in_both_branches_ends_behind_them() {
    check(
        "long take(int n)
{
    pthread_mutex_lock(&m);
    long left = stock - n; /*>*/
    if (left > 0) {
        note(left);
        pthread_mutex_unlock(&m);
    } else {
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&m);
    stock = left; /*<*/
    pthread_mutex_unlock(&m);
    return left;
}
",
        expect![[r#"
            long take(int n)
            {
                pthread_mutex_lock(&m);
                long left = stock - n; 
                if (left > 0) {
                    note(left);
                } else {
                }
                stock = left; 
                pthread_mutex_unlock(&m);
                return left;
            }
        "#]],
    );
    check(
        "long look(int n)
{
    look_up(n); /*>*/
    pthread_mutex_lock(&m);
    long left = stock - n; /*<*/
    if (left > 0) {
        pthread_mutex_unlock(&m);
        note(left);
    } else
        pthread_mutex_unlock(&m);
    return left;
}
",
        expect![[r#"
            long look(int n)
            {
                pthread_mutex_lock(&m);
                look_up(n); 
                long left = stock - n; 
                if (left > 0) {
                    note(left);
                } else
                    ;
                pthread_mutex_unlock(&m);
                return left;
            }
        "#]],
    );
}

#[test]
fn a_wait_that_gives_the_lock_back_is_no_reason_to_say_it_keeps_it() {
    check(
        "void f(void)
{
    ready = look(); /*>*/
    pthread_cond_wait(&c, &m);
    use(ready); /*<*/
}
",
        expect![[r#"
            refused: line 4 waits and gives the lock back meanwhile: others come in between
        "#]],
    );
}

/// Refusal for lines over which a new lock would be held.
fn refusal(style: LockStyle, file: &str, line: &str) -> Option<String> {
    let text = format!("void run(void)\n{{\n    a = 1;\n    {line}\n    b = a;\n}}\n");
    let source = ParsedSource::parse(file, &text).unwrap();
    let object = "m".to_owned();
    let wanted = AtomicLines { first: 3, last: 5 };
    hold(&source, &Mutex { object, style }, &wanted).err()
}

#[test]
fn loops_that_wait_for_another_thread_keep_no_lock() {
    for line in [
        "while (!done) ;",
        "while (!done) {}",
        "while (!done) sched_yield();",
        "for (;;) { if (done) break; }",
        "do { usleep(10); } while (!done);",
    ] {
        let why = refusal(LockStyle::Pthread, "a.c", line).unwrap();
        assert!(why.contains("line 4 waits"), "{line}: {why}");
    }
    for line in [
        "while (!done.load()) std::this_thread::yield();",
        "while (lock.test_and_set()) _mm_pause();",
    ] {
        let why = refusal(LockStyle::Guard, "a.cpp", line).unwrap();
        assert!(why.contains("line 4 waits"), "{line}: {why}");
    }
    for line in [
        "for (int i = 0; i < n; i++) sum += table[i];",
        "while (head != 0) head = head->next;",
        "while (more(&at)) take(at);",
        "while (!empty()) pop();",
    ] {
        assert_eq!(refusal(LockStyle::Pthread, "a.c", line), None, "{line}");
    }
}

#[test]
fn a_function_that_waits_for_another_thread_is_not_called_with_a_new_lock() {
    check(
        "void request(void)
{
    while (!done)
        sched_yield();
}
void run(void)
{
    a = 1; /*>*/
    request();
    b = a; /*<*/
}
",
        expect![[r#"
            refused: line 9 leads to line 3 of `request`, which waits for another thread, and would keep the lock meanwhile
        "#]],
    );
}

#[test]
fn lines_outside_of_functions_are_told_apart() {
    let text = "struct Pump {\n    Pump();\n    int size;\n};\nPump::Pump()\n    : size(1)\n{\n    start();\n}\n";
    let source = ParsedSource::parse("a.cc", text).unwrap();
    assert!(source.body_around(8).is_ok());
    let why = |line| source.body_around(line).unwrap_err();
    assert!(
        why(6).starts_with("line 6 initializes members before the body"),
        "{}",
        why(6)
    );
    assert_eq!(why(3), "line 3 is in no function of this file");
}

/// The second guard holds the mutex to the end of the function: all of that stays guarded.
#[test]
fn what_a_second_guard_holds_to_its_end_stays_held() {
    check_cpp(
        "void Meter::rollover()
{
    Interval finished;
    {
        std::lock_guard<std::mutex> guard(m);
        finished = current_; /*>*/
    }
    tidy(finished);
    std::lock_guard<std::mutex> guard(m);
    for (auto &entry : current_)
        entry = 0; /*<*/
    history_.push_front(std::move(finished));
    if (history_.size() > 16)
        history_.pop_back();
    used_++;
}
",
        expect![[r#"
            void Meter::rollover()
            {
                Interval finished;
                std::lock_guard<std::mutex> guard(m);
                {
                    finished = current_; 
                }
                tidy(finished);
                for (auto &entry : current_)
                    entry = 0; 
                history_.push_front(std::move(finished));
                if (history_.size() > 16)
                    history_.pop_back();
                used_++;
            }
        "#]],
    );
}

/// The value of a return within the lines is read with the lock held: the unlock before it moves behind.
#[test]
fn a_value_that_is_returned_is_read_with_the_lock_held() {
    check(
        "int peek(struct feed *f)
{
    pthread_mutex_lock(&m);
    int *now = f->sample; /*>*/
    pthread_mutex_unlock(&m);
    return *now; /*<*/
}
",
        expect![[r#"
            int peek(struct feed *f)
            {
                pthread_mutex_lock(&m);
                int *now = f->sample; 
                int result = *now;
                pthread_mutex_unlock(&m);
                return result; 
            }
        "#]],
    );
}

/// The condition on the line is part of it: a lock in the body would come too late.
#[test]
fn a_statement_in_the_line_of_its_condition_is_held_with_it() {
    check_cpp(
        "int draw() {
    if (auto texture = texture_.lock()) return texture->draw(); /*>*//*<*/
    return 0;
}
",
        expect![[r#"
            int draw() {
                std::lock_guard<std::mutex> guard(m);
                if (auto texture = texture_.lock()) return texture->draw(); 
                return 0;
            }
        "#]],
    );
    check_cpp(
        "void run() {
    for (int i = 0; i < times; i++) {
        if (!transfer(i)) ++bounced; /*>*//*<*/
    }
}
",
        expect![[r#"
            void run() {
                for (int i = 0; i < times; i++) {
                    std::lock_guard<std::mutex> guard(m);
                    if (!transfer(i)) ++bounced; 
                }
            }
        "#]],
    );
    check_cpp(
        "void add(int n) {
    if (n < 0)
        ++negative; /*>*//*<*/
    else
        ++positive;
}
",
        expect![[r#"
            void add(int n) {
                if (n < 0)
                    {
                        std::lock_guard<std::mutex> guard(m);
                        ++negative;
                    } 
                else
                    ++positive;
            }
        "#]],
    );
}
