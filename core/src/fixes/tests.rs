//! Tests of fixes for runs written as text.

use super::{
    Fix, FixKind, GuardedLines, Offered, Ordered, apply,
    constraint::{OrderVerdict, verdict},
    in_file, offer,
    sections::{Again, EditRegion, RegionStatement, sections},
};
use crate::{
    budget::Budget,
    corpus::{Corpora, RunSummary},
    explain,
    fixture::corpus,
};
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_trace::{Run, script};

fn run(text: &str) -> Run {
    script::parse(text).unwrap()
}

fn plain() -> Fix {
    Fix::edit(
        FixKind::WidenSection,
        String::new(),
        Vec::new(),
        String::new(),
    )
}

fn lines_10_to_12() -> Fix {
    Fix {
        exclusive: vec![GuardedLines {
            file: "test.c".to_owned(),
            first: 10,
            last: 12,
            function: "f".to_owned(),
        }],
        ..plain()
    }
}

#[test]
fn lines_that_were_interrupted_are_excluded() {
    let whole =
        "main.1 R x @10 f\nmain.1 W x @12\nmain.1 R y @13\nmain.2 R x @10 f\nmain.2 W x @12\n";
    assert_eq!(
        verdict(&lines_10_to_12(), &run(whole)),
        OrderVerdict::Allowed
    );
    let parted = "main.1 R x @10 f\nmain.2 R x @10 f\nmain.1 W x @12\nmain.2 W x @12\n";
    assert_eq!(
        verdict(&lines_10_to_12(), &run(parted)),
        OrderVerdict::Excluded
    );
    // The first thread never left.
    let stuck = "main.1 R x @10 f\nmain.2 R x @10 f\nmain.2 W x @12\nmain.2 fails @12\n";
    assert_eq!(
        verdict(&lines_10_to_12(), &run(stuck)),
        OrderVerdict::Excluded
    );
    // Lines of another function are different ones.
    let other = "main.1 R x @10 f\nmain.2 R x @10 g\nmain.1 W x @12\n";
    assert_eq!(
        verdict(&lines_10_to_12(), &run(other)),
        OrderVerdict::Allowed
    );
}

#[test]
fn a_lock_that_a_thread_would_wait_for_itself_is_seen() {
    let twice = |text: &str| sections(&lines_10_to_12(), &run(text)).again;
    assert_eq!(
        twice("main R x via=12@f,20@main @11 f\n"),
        Some(Again::Taken { line: 11 })
    );
    assert_eq!(
        twice("main R x via=12@f,20@main @30 g\nmain R x via=20@main @11 f\n"),
        None
    );
}

/// An object holds the lock until its scope ends on line 14, where an object of these lines is destroyed: that takes it again.
#[test]
fn what_the_scope_of_a_lock_ends_with_is_in_its_section() {
    let lines = |function: &str, first: u32, last: u32, ends: u32| EditRegion {
        lines: GuardedLines {
            file: "test.c".to_owned(),
            first,
            last,
            function: function.to_owned(),
        },
        is_scoped: true,
        ends,
        parts: vec![RegionStatement {
            first,
            last,
            is_loop: false,
        }],
        ..EditRegion::default()
    };
    let again = |ends: u32| {
        let fix = Fix {
            regions: vec![lines("f", 10, 12, ends), lines("forget", 30, 31, 32)],
            ..plain()
        };
        let text = "main R x @10 f\nmain W x @12 f\nmain R x via=14@f @30 forget\n";
        sections(&fix, &run(text)).again
    };
    assert_eq!(again(14), Some(Again::Taken { line: 30 }));
    assert_eq!(again(0), None);
}

#[test]
fn sections_of_the_lock_exclude_the_lines() {
    let fix = Fix {
        lock: Some("m".to_owned()),
        ..lines_10_to_12()
    };
    let text = |lock: &str| {
        format!(
            "main.1 R x @10 f\nmain.2 lock {lock} @30 g\nmain.2 W x @31\nmain.2 unlock {lock} @32\nmain.1 W x @12\nmain.1 W y @13\n"
        )
    };
    assert_eq!(verdict(&fix, &run(&text("m"))), OrderVerdict::Excluded);
    assert_eq!(verdict(&fix, &run(&text("n"))), OrderVerdict::Allowed);
}

#[test]
fn a_thread_has_ended_before_a_line_or_not() {
    let fix = Fix {
        ordered: vec![Ordered::EndsBefore {
            thread: "main.1".to_owned(),
            file: "test.c".to_owned(),
            line: 9,
        }],
        ..plain()
    };
    let check = |text: &str, expected| assert_eq!(verdict(&fix, &run(text)), expected, "{text}");
    let fork = "main fork main.1 @1 main\nmain fork main.2 @1\n";
    let ends = "main.1 R x @5 f\nmain.1 end\n";
    let reached = "main W x @9 main\n";
    check(&format!("{fork}{ends}{reached}"), OrderVerdict::Allowed);
    check(&format!("{fork}{reached}{ends}"), OrderVerdict::Excluded);
    // The thread has not ended when the run fails.
    check(
        &format!("{fork}{reached}main.1 R x @5 f\n"),
        OrderVerdict::Excluded,
    );
    // The join does not wait for another thread, and the line need not be reached.
    check(
        &format!("{fork}{ends}{reached}main.2 W x @5 f\n"),
        OrderVerdict::Allowed,
    );
    check(&format!("{fork}main.1 R x @5 f\n"), OrderVerdict::Allowed);
    // The line before the thread's creation belongs to another iteration of a loop.
    check(
        &format!("{reached}{fork}{ends}{reached}"),
        OrderVerdict::Allowed,
    );
}

#[test]
fn a_thread_begins_after_a_line_or_not() {
    let fix = Fix {
        ordered: vec![Ordered::BeginsAfter {
            thread: "main.1".to_owned(),
            file: "test.c".to_owned(),
            line: 9,
        }],
        ..plain()
    };
    let check = |text: &str, expected| assert_eq!(verdict(&fix, &run(text)), expected, "{text}");
    check(
        "main fork main.1 @1 main\nmain W x @9\nmain.1 R x @5 f\n",
        OrderVerdict::Allowed,
    );
    check(
        "main fork main.1 @1 main\nmain.1 R x @5 f\nmain W x @9 main\n",
        OrderVerdict::Excluded,
    );
    check(
        "main fork main.1 @1 main\nmain.1 R x @5 f\n",
        OrderVerdict::Excluded,
    );
    check(
        "main fork main.1 @1 main\nmain R x @8\n",
        OrderVerdict::Allowed,
    );
}

const SOURCE: &str = "\
#include <pthread.h>
#include <assert.h>
static int words;
static void *count(void *arg)
{
    int seen = words;
    words = seen + 1;
    return arg;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, count, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(words == 2);
    return 0;
}
";

const LOST: &str = "main fork main.1 @14 main\nmain fork main.2 @14 main\n\
    main.1 R words =0 @6 count \"int seen = words;\"\n\
    main.2 R words =0 @6 count \"int seen = words;\"\n\
    main.2 W words =1 @7 count \"words = seen + 1;\"\n\
    main.1 W words =1 @7 count \"words = seen + 1;\"\n\
    main join main.1 @16\nmain join main.2 @16\n\
    main R words =1 @17 main \"assert(words == 2);\"\n\
    main fails @17 assertion `words == 2` failed\n";

/// The fixes offered for the first explanation of runs of `test.c`.
pub(super) fn offered_of(runs: &[(&str, &str)], text: &str) -> Offered {
    offered_for(runs, &[("test.c", text)])
}

/// The fixes offered for the first explanation of runs of a program of several files.
pub(super) fn offered_for(runs: &[(&str, &str)], sources: &[(&str, &str)]) -> Offered {
    let mut corpora = Corpora::default();
    let runs: Vec<(String, Arc<Run>)> = runs
        .iter()
        .map(|(name, script)| ((*name).to_owned(), Arc::new(run(script))))
        .collect();
    for (name, run) in &runs {
        corpora.insert(RunSummary::new(name.clone(), run.clone()));
    }
    let corpus = corpora.iter().next().unwrap();
    let explanation = explain(corpus, &Budget::unlimited()).findings.remove(0);
    let sources = sources.iter();
    let sources = sources.map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
    offer(
        &explanation,
        &runs,
        &sources.collect(),
        &Budget::unlimited(),
    )
}

fn offered(sources: &[(&str, &str)]) -> Offered {
    let lost = Arc::new(run(LOST));
    let mut corpora = Corpora::default();
    corpora.insert(RunSummary::new("failed-1", lost.clone()));
    let corpus = corpora.iter().next().unwrap();
    let explanation = explain(corpus, &Budget::unlimited()).findings.remove(0);
    let sources: BTreeMap<String, String> = sources
        .iter()
        .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
        .collect();
    let runs = [("failed-1".to_owned(), lost)];
    offer(&explanation, &runs, &sources, &Budget::unlimited())
}

#[test]
fn a_lost_update_gets_a_mutex_beside_its_variable() {
    let offered = offered(&[("test.c", SOURCE)]);
    let [fix] = offered.fixes.as_slice() else {
        panic!("{offered:?}")
    };
    assert_eq!(fix.kind, FixKind::NewMutex);
    assert_eq!(
        fix.title,
        "guard lines 6 to 7 with a new mutex `words_lock`"
    );
    let edited = apply(SOURCE, "test.c", &fix.edits).unwrap();
    let expected = SOURCE
        .replace(
            "static int words;",
            "static int words;\nstatic pthread_mutex_t words_lock = PTHREAD_MUTEX_INITIALIZER;",
        )
        .replace(
            "    int seen",
            "    pthread_mutex_lock(&words_lock);\n    int seen",
        )
        .replace("+ 1;", "+ 1;\n    pthread_mutex_unlock(&words_lock);");
    assert_eq!(edited, expected);
}

/// Both threads format into one buffer and copy it; the function that formats is called within the lines that become atomic.
#[test]
fn what_is_called_within_atomic_lines_is_not_guarded_once_more() {
    let source = "\
#include <pthread.h>
#include <string.h>
static char text[8];
static const char *format(int n)
{
    text[0] = '0' + n;
    return text;
}
static char out[2][8];
static void *one(void *arg)
{
    const char *made = format(1);
    strcpy(out[0], made);
    return arg;
}
static void *two(void *arg)
{
    const char *made = format(2);
    strcpy(out[1], made);
    return arg;
}
";
    let made = |who: &str, by: &str, at: u32, n: u32| {
        format!("{who} W text ={n} via={at}@{by} @6 format \"text[0] = '0' + n;\"\n")
    };
    let copied = |who: &str, by: &str, at: u32, n: u32| format!("{who} R text ={n} @{at} {by}\n");
    let begin = "start main.1 one\nstart main.2 two\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n";
    let fine = [
        begin,
        &made("main.1", "one", 12, 1),
        &copied("main.1", "one", 13, 1),
        &made("main.2", "two", 18, 2),
        &copied("main.2", "two", 19, 2),
    ];
    let bad = [
        begin,
        &made("main.1", "one", 12, 1),
        &made("main.2", "two", 18, 2),
        &copied("main.1", "one", 13, 2),
        &copied("main.2", "two", 19, 2),
        "main.1 fails @13 one\n",
    ];
    let (fine, bad) = (fine.concat(), bad.concat());
    let runs = [
        ("failed-1", &*bad),
        ("passed-1", &*fine),
        ("passed-2", &*fine),
    ];
    let offered = offered_of(&runs, source);
    let titles: Vec<&str> = offered.fixes.iter().map(|fix| &*fix.title).collect();
    assert_eq!(
        titles,
        ["guard lines 12 to 13 and lines 18 to 19 with a new mutex `text_lock`"],
        "{:?}",
        offered.refused
    );
}

/// Both change an atomic total in two steps; `peek` looks at it in one.
#[test]
fn who_looks_in_one_step_needs_no_new_mutex() {
    let source = "\
#include <pthread.h>
#include <stdatomic.h>
static _Atomic int n;
static void *add(void *arg)
{
    int seen = atomic_load(&n);
    atomic_store(&n, seen + 1);
    return arg;
}
static int peek(void)
{
    return atomic_load(&n);
}
";
    let begin = "start main.1 add\nstart main.2 add\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n";
    let titles = |read: &str, write: &str| {
        let load = |who: &str, n: u32| {
            format!("{who} {read} n ={n} @6 add \"int seen = atomic_load(&n);\"\n")
        };
        let store = |who: &str, n: u32| {
            format!("{who} {write} n ={n} @7 add \"atomic_store(&n, seen + 1);\"\n")
        };
        let end = |n: u32| {
            let join = "main join main.1 @33\nmain join main.2 @34\n";
            format!("{join}main {read} n ={n} via=35@main @12 peek \"return atomic_load(&n);\"\n")
        };
        let early = format!("main {read} n =0 via=32@main @12 peek \"return atomic_load(&n);\"\n");
        let fine = [
            begin,
            &early,
            &load("main.1", 0),
            &store("main.1", 1),
            &load("main.2", 1),
            &store("main.2", 2),
            &end(2),
        ];
        let bad = [
            begin,
            &early,
            &load("main.1", 0),
            &load("main.2", 0),
            &store("main.2", 1),
            &store("main.1", 1),
            &end(1),
            "main fails @35 main\n",
        ];
        let (fine, bad) = (fine.concat(), bad.concat());
        let runs = [
            ("failed-1", &*bad),
            ("passed-1", &*fine),
            ("passed-2", &*fine),
        ];
        let fixes = offered_of(&runs, source).fixes;
        let held = fixes
            .into_iter()
            .filter(|fix| fix.kind == FixKind::NewMutex);
        held.map(|fix| fix.title).collect::<Vec<_>>()
    };
    let narrow = "guard lines 6 to 7 with a new mutex `n_lock`";
    let wide = "guard lines 6 to 7 and line 12 with a new mutex `n_lock`";
    assert_eq!(titles("atomic-read", "atomic-write")[0], narrow);
    assert_eq!(titles("R", "W"), [wide]);
}

/// A passing run that ends before it comes to the lines has nothing to say about their cost.
#[test]
fn what_a_fix_costs_is_measured_where_its_lines_run() {
    let idle = "main fork main.1 @14 main\nmain join main.1 @16\nmain R words =0 @17 main\n";
    let busy = "main fork main.1 @14 main\nmain fork main.2 @14 main\n\
        main.1 R words =0 @6 count\nmain.1 W words =1 @7 count\n\
        main.2 R words =1 @6 count\nmain.2 W words =2 @7 count\n\
        main join main.1 @16\nmain join main.2 @16\nmain R words =2 @17 main\n";
    let runs = [("failed-1", LOST), ("passed-1", idle), ("passed-2", busy)];
    let fix = offered_of(&runs, SOURCE).fixes.remove(0);
    let share = fix.share.unwrap();
    assert_eq!((share.held, share.of), (4, 9));
}

/// Two calls of a test come in between: each of the functions that it calls keeps out, whoever calls it.
#[test]
fn two_calls_in_between_are_guarded_each_on_its_own() {
    let source = "\
#include <pthread.h>
#include <assert.h>
static int first, second;
static void set_first(int n)
{
    first = n;
}
static void set_second(int n)
{
    second = n;
}
void *look(void *arg)
{
    int a = first;
    int b = second;
    assert(a == b);
    return arg;
}
void *test(void *arg)
{
    set_first(1);
    set_second(1);
    return arg;
}
";
    let begin = "main W first =0 @3 main\nmain W second =0 @3 main\nstart main.1 look\nstart main.2 test\n\
                 main fork main.1 @30 main\nmain fork main.2 @31 main\n";
    let change = "main.2 W first =1 via=21@test @6 set_first\n\
                  main.2 W second =1 via=22@test @10 set_second\n";
    let look = |line: u32, of: &str, n: u32| format!("main.1 R {of} ={n} @{line} look\n");
    let fine = [begin, &look(14, "first", 0), &look(15, "second", 0), change].concat();
    let after = [begin, change, &look(14, "first", 1), &look(15, "second", 1)].concat();
    let bad = [
        begin,
        &look(14, "first", 0),
        change,
        &look(15, "second", 1),
        "main.1 fails @16 look\n",
    ];
    let bad = bad.concat();
    let runs = [
        ("failed-1", &*bad),
        ("passed-1", &*fine),
        ("passed-2", &*after),
    ];
    let offered = offered_of(&runs, source);
    let titles: Vec<&str> = offered.fixes.iter().map(|fix| &*fix.title).collect();
    assert_eq!(
        titles,
        [
            "guard lines 14 to 15, line 6 and line 10 with a new mutex `first_lock`",
            "guard lines 14 to 15 and lines 21 to 22 with a new mutex `first_lock`",
        ],
        "{:?}",
        offered.refused
    );
}

#[test]
fn a_new_mutex_is_known_in_all_files_that_need_it() {
    let main = "\
#include <pthread.h>
#include <assert.h>
extern int n;
void *one(void *arg)
{
    int seen = n;
    assert(n == seen);
    return arg;
}
";
    let other = "int n;\nvoid *two(void *arg)\n{\n    n++;\n    return arg;\n}\n";
    let begin = "start main.1 one\nstart main.2 two\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n";
    let change = "file other.c\nmain.2 W n =1 @4 two\nfile test.c\n";
    let look = |line: u32, n: u32| format!("main.1 R n ={n} @{line} one\n");
    let fine = [begin, &look(6, 0), &look(7, 0), change].concat();
    let bad = [begin, &look(6, 0), change, &look(7, 1)].concat() + "main.1 fails @7 one\n";
    let runs = [
        ("failed-1", &*bad),
        ("passed-1", &*fine),
        ("passed-2", &*fine),
    ];
    let offered = offered_for(&runs, &[("test.c", main), ("other.c", other)]);
    let fix = offered.fixes.first().unwrap();
    assert_eq!(
        fix.title,
        "guard lines 6 to 7 of test.c and line 4 of other.c with a new mutex `n_lock`"
    );
    let edited = |file: &str, text: &str| apply(text, file, &fix.edits).unwrap();
    let defined = "pthread_mutex_t n_lock = PTHREAD_MUTEX_INITIALIZER;";
    let declared = "extern pthread_mutex_t n_lock;";
    let (main, other) = (edited("test.c", main), edited("other.c", other));
    assert!(main.contains(declared) && !main.contains(defined), "{main}");
    assert!(other.contains(defined), "{other}");
    assert!(
        other.contains("pthread_mutex_lock(&n_lock);\n    n++;"),
        "{other}"
    );
}

/// Lines of several files are blamed: the lines of a title are of one of them.
#[test]
fn what_is_said_of_one_of_several_files_names_it() {
    let said = |text: &str| {
        let corpus = corpus(&[], &[text]);
        let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
        in_file(&told, "test.c", "move line 8 behind line 9")
    };
    assert_eq!(said(LOST), "move line 8 behind line 9");
    let of_two = LOST.replace("main.2 R words", "file other.c\nmain.2 R words");
    assert_eq!(said(&of_two), "in test.c: move line 8 behind line 9");
}

/// `look` has no access to a member beside the lock, but `set`, of the same class, locks it by its plain name.
#[test]
fn a_lock_is_named_as_another_method_of_the_class_names_it() {
    let text = "\
#include \"broker.h\"
void Broker::set(int n)
{
    std::lock_guard<std::mutex> order(lock_);
    store().put(n);
}
void Broker::look()
{
    int had = store().kept();
    check(had, store().kept());
}
";
    let begin = "file broker.cpp\nstart main.1 Broker::look\nstart main.2 Broker::set\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n";
    let set = "main.2 lock broker.lock_ @4 Broker::set\nmain.2 W broker.kept =1 @5 Broker::set\nmain.2 unlock broker.lock_ @6 Broker::set\n";
    let look = |line: u32, n: u32| format!("main.1 R broker.kept ={n} @{line} Broker::look\n");
    let fine = [begin, &look(9, 0), &look(10, 0), set].concat();
    let bad = [begin, &look(9, 0), set, &look(10, 1)].concat() + "main.1 fails @10 Broker::look\n";
    let runs = [
        ("failed-1", &*bad),
        ("passed-1", &*fine),
        ("passed-2", &*fine),
    ];
    let offered = offered_for(&runs, &[("broker.cpp", text)]);
    let titles: Vec<&str> = offered.fixes.iter().map(|fix| &*fix.title).collect();
    assert!(
        titles
            .iter()
            .any(|title| title.contains("`lock_` from line 9 to line 10")),
        "{titles:?} {:?}",
        offered.refused
    );
}

/// A service frees its buffer and joins its thread, which still uses that, only afterwards; another function has created it.
#[test]
fn a_join_below_comes_before_what_the_thread_uses() {
    let source = "\
#include <pthread.h>
struct service { pthread_t thread; int running; char *buffer; };
static void stop(struct service *s)
{
    s->running = 0;
    free(s->buffer);
    s->buffer = 0;
    pthread_join(s->thread, 0);
}
";
    let begin = "start main.1 serve\nmain alloc `heap(s.c:20 by main #0)` =16 @20 start\nmain W buffer =1 @21 start\n\
                 main fork main.1 @22 start\n";
    let used = "main.1 R buffer =1 @31 serve\nmain.1 W `heap(s.c:20 by main #0)` =5 @31 serve\n";
    let stops = "main W running =0 @5 stop\nmain free `heap(s.c:20 by main #0)` @6 stop\nmain W buffer =0 @7 stop\n";
    let joins = "main join main.1 @8 stop\n";
    let fine = [begin, used, stops, joins].concat();
    let bad = [
        begin,
        stops,
        "main.1 R buffer =0 @31 serve\nmain.1 fails @31 serve\n",
    ]
    .concat();
    let runs = [
        ("failed-1", &*bad),
        ("passed-1", &*fine),
        ("passed-2", &*fine),
    ];
    let offered = offered_of(&runs, source);
    let first = offered
        .fixes
        .first()
        .unwrap_or_else(|| panic!("{offered:?}"));
    assert_eq!(first.title, "join main.1 before line 6: move line 8 there");
    let edited = apply(source, "test.c", &first.edits).unwrap();
    let join = "    pthread_join(s->thread, 0);\n";
    let free = "    free(s->buffer);\n";
    let expected = source
        .replace(join, "")
        .replace(free, &[join, free].concat());
    assert_eq!(edited, expected);
}

/// Another thread's check comes too early since `main` detaches the one that counts.
#[test]
fn a_thread_is_joined_where_its_creator_detaches_it() {
    let source = "\
#include <thread>
static int count;
static bool done;
static void add() { count = 1; }
static void check() { while (!done) { } if (count != 1) fail(); }
int main()
{
    std::thread adder(add);
    std::thread checker(check);
    adder.detach();
    done = true;
    checker.join();
}
";
    let begin = "start main.1 add\nstart main.2 check\nmain fork main.1 @8 main\nmain fork main.2 @9 main\n";
    let add = "main.1 W count =1 @4 add\nmain.1 end\n";
    let done = "main W done =1 @11 main\nmain.2 R done =1 @5 check\n";
    let fine = [begin, add, done, "main.2 R count =1 @5 check\n"].concat();
    let early = [
        begin,
        done,
        "main.2 R count =0 @5 check\nmain.1 W count =1 @4 add\nmain.2 fails @5 check\n",
    ]
    .concat();
    let mut runs = vec![("failed-1", &*early)];
    runs.extend((0..6).map(|_| ("passed-1", &*fine)));
    let offered = offered_of(&runs, source);
    let mut fixes = offered.fixes.iter();
    let join = fixes.find(|fix| fix.kind == FixKind::JoinBefore);
    let join = join.unwrap_or_else(|| panic!("{offered:?}"));
    assert_eq!(join.title, "join main.1 before line 11");
    let edited = apply(source, "test.c", &join.edits).unwrap();
    assert_eq!(edited, source.replace("adder.detach", "adder.join"));
}

/// Joined as soon as it was created, or in the loop that creates several, a thread would have nothing to run beside.
#[test]
fn a_thread_that_would_run_alone_is_not_joined() {
    let source = "\
#include <pthread.h>
static int sum, rest;
static void *add(void *arg) { sum = 1; return arg; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    rest = 2;
    check(sum);
    pthread_join(thread, 0);
}
";
    let titles = |before: &str| {
        let begin = format!("start main.1 add\nmain fork main.1 @7 main\n{before}");
        let (add, read) = (
            "main.1 W sum =1 @3 add\nmain.1 end\n",
            "main R sum =1 @9 main\n",
        );
        let fine = [&*begin, add, read, "main join main.1 @10 main\n"].concat();
        let early = [
            &*begin,
            "main R sum =0 @9 main\n",
            add,
            "main fails @9 main\n",
        ]
        .concat();
        let mut runs = vec![("failed-1", &*early)];
        runs.extend((0..6).map(|_| ("passed-1", &*fine)));
        let fixes = offered_of(&runs, source).fixes.into_iter();
        fixes.filter(|fix| fix.kind == FixKind::JoinBefore).count()
    };
    assert_eq!(titles("main W rest =2 @8 main\n"), 1);
    assert_eq!(titles(""), 0);
}

/// The function that checks and the one that changes take the lock, and so does the fix around both: it is a lock that a
/// thread may take again, or one that it may not.
#[test]
fn a_recursive_lock_is_held_around_functions_that_take_it() {
    let source = |kind: &str| {
        format!(
            "\
static {kind} m;
static int holder;
static bool held_by(int who)
{{
    pthread_mutex_lock(&m);
    bool is = holder == who;
    pthread_mutex_unlock(&m);
    return is;
}}
static void grant(int who)
{{
    pthread_mutex_lock(&m);
    holder = who;
    pthread_mutex_unlock(&m);
}}
static bool renew(int who)
{{
    if (!held_by(who))
        return false;
    grant(who);
    return true;
}}
"
        )
    };
    let begin = "main fork main.1 @40\nmain fork main.2 @41\n";
    let looks = |via: &str| {
        format!(
            "main.1 lock m {via}@5 held_by\nmain.1 R holder =1 {via}@6 held_by\nmain.1 unlock m {via}@7 held_by\n"
        )
    };
    let grants = |thread: &str, who: u32, via: &str| {
        format!(
            "{thread} lock m {via}@12 grant\n{thread} W holder ={who} {via}@13 grant\n{thread} unlock m {via}@14 grant\n"
        )
    };
    let (first, own) = (looks("via=18@renew "), grants("main.1", 1, "via=20@renew "));
    let other = grants("main.2", 2, "");
    let ends = |holder: u32| format!("main R holder ={holder} @50 main\n");
    let fine = [begin, &first, &own, &other, &ends(2)].concat();
    let lost = [
        begin,
        &first,
        &other,
        &own,
        &ends(1),
        "main fails @51 main\n",
    ]
    .concat();
    let runs = [
        ("passed-1", &*fine),
        ("passed-2", &*fine),
        ("failed-1", &*lost),
    ];
    let sections = |kind: &str| {
        let offered = offered_for(&runs, &[("test.c", &source(kind))]);
        let mut kept = offered.fixes.into_iter();
        kept.find(|fix| fix.kind == FixKind::WidenSection && fix.doubt.is_none())
            .map(|fix| fix.title)
    };
    let title = "hold `m` from line 18 to line 20".to_owned();
    assert_eq!(sections("recursive_mutex"), Some(title));
    assert_eq!(sections("pthread_mutex_t"), None);
}

/// A sum over all elements, each read under its own lock: the loop is what has to be atomic.
#[test]
fn all_rounds_of_a_loop_are_guarded_where_others_come_between_two() {
    let source = "\
static int move(int from, int to)
{
    a[from]--;
    a[to]++;
    return 0;
}
static int total(void)
{
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        lock(i);
        sum += a[i];
        unlock(i);
    }
    return sum;
}
";
    let begin =
        "start main.1 move\nstart main.2 total\nmain fork main.1 @40\nmain fork main.2 @41\n";
    let moved = "main.1 lock m[0] @3 move\nmain.1 lock m[1] @3 move\nmain.1 R a[0] =5 @3 move\nmain.1 W a[0] =4 @3 move\n\
        main.1 R a[1] =5 @4 move\nmain.1 W a[1] =6 @4 move\nmain.1 unlock m[1] @4 move\nmain.1 unlock m[0] @4 move\n";
    let look = |i: u32, value: u32| {
        format!(
            "main.2 lock m[{i}] @11 total\nmain.2 R a[{i}] ={value} @12 total\nmain.2 unlock m[{i}] @13 total\n"
        )
    };
    let fine = [begin, &look(0, 5), &look(1, 5), moved].concat();
    let after = [begin, moved, &look(0, 4), &look(1, 6)].concat();
    let torn = [
        begin,
        &look(0, 5),
        moved,
        &look(1, 6),
        "main.2 fails @20 check\n",
    ]
    .concat();
    let mut runs = vec![("failed-1", &*torn)];
    runs.extend(["passed-1", "passed-2", "passed-3"].map(|name| (name, &*fine)));
    runs.extend(["passed-4", "passed-5", "passed-6"].map(|name| (name, &*after)));
    let offered = offered_of(&runs, source);
    let new = offered
        .fixes
        .iter()
        .find(|fix| fix.kind == FixKind::NewMutex);
    let new = new.unwrap_or_else(|| panic!("{offered:?}"));
    let lines: Vec<(u32, u32)> = new.exclusive.iter().map(|at| (at.first, at.last)).collect();
    assert!(lines.contains(&(10, 14)), "{}", new.title);
}

/// Copies by a library go round within a statement: that it comes to one of its lines again looks like another round.
#[test]
fn a_section_that_a_failing_run_seems_to_keep_is_in_doubt() {
    let fix = |doubt: Option<&str>| Fix {
        doubt: doubt.map(str::to_owned),
        title: "guard".to_owned(),
        ..plain()
    };
    let offered = Offered {
        fixes: vec![fix(None), fix(Some("failed-1 fails"))],
        refused: Vec::new(),
        advice: None,
    };
    let left = offered.without_doubt();
    assert_eq!(left.fixes, [fix(None)]);
    assert_eq!(left.refused, ["guard: failed-1 fails"]);
}

#[test]
fn sources_that_are_not_there_are_a_reason() {
    let offered = offered(&[]);
    assert!(offered.fixes.is_empty());
    assert!(
        offered
            .refused
            .iter()
            .any(|why| why.contains("is not the one that was recorded")),
        "{offered:?}"
    );
}

#[test]
fn a_fix_of_lock_orders_is_tried_as_an_order_of_locks() {
    let fix = Fix {
        ordered: vec![Ordered::TakesFirst {
            file: "test.c".to_owned(),
            line: 11,
            before: 10,
            by_address: false,
        }],
        ..plain()
    };
    let check = |text: &str, expected| assert_eq!(verdict(&fix, &run(text)), expected, "{text}");
    let first = "main.1 lock a via=10@f @lib.c:3 take\n";
    let second = "main.1 lock b via=11@f @lib.c:3 take\n";
    let ends = "main.1 unlock b @13 f\nmain.1 unlock a @14 f\n";
    let other =
        "main.2 lock b @20 g\nmain.2 lock a @21 g\nmain.2 unlock a @22 g\nmain.2 unlock b @23 g\n";
    check(
        &format!("{first}{second}{ends}{other}"),
        OrderVerdict::Allowed,
    );
    // A thread that holds the inner lock keeps the other one from acquiring the outer one.
    let inner = "main.2 lock b @20 g\nmain.2 unlock b @23 g\n";
    check(
        &format!("{first}{inner}{second}{ends}"),
        OrderVerdict::Excluded,
    );
    // The two are no critical section: an access without either lock may come in between.
    let free = "main.2 W x @30 h\n";
    check(
        &format!("{first}{free}{second}{ends}"),
        OrderVerdict::Allowed,
    );
    // Another function takes them one after the other as well.
    let third =
        "main.2 lock a @40 h\nmain.2 lock b @41 h\nmain.2 unlock b @42 h\nmain.2 unlock a @43 h\n";
    check(
        &format!("{third}{first}{second}{ends}"),
        OrderVerdict::Allowed,
    );
    let order = fix.ordered.first().unwrap();
    let text = format!("{first}{second}{ends}{other}");
    let runs = |text: &str| [("passed-1".to_owned(), Arc::new(run(text)))];
    assert_eq!(super::nested_locks::other_way(&runs(&text), order), None);
    let why = super::nested_locks::other_way(&runs(&format!("{text}{third}")), order).unwrap();
    assert!(
        why.contains("line 41 takes `b` with `a` held as well"),
        "{why}"
    );
}

#[test]
fn a_thread_that_waits_for_itself_needs_another_fix_than_an_order_of_locks() {
    let source = "\
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int shown;
static void show(void)
{
    pthread_mutex_lock(&m);
    shown = 1;
    pthread_mutex_unlock(&m);
}
static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    show();
    pthread_mutex_unlock(&m);
    return arg;
}
";
    let text = "\
start main.1 work
main.1 lock m @12 work
main.1 blocked lock m via=13@work @6 show
deadlocks
";
    let offered = offered_of(&[("deadlocked-1", text)], source);
    let why = "the thread that waits for `m` holds it itself, since line 12: what line 13 calls would have to be called without it";
    assert!(offered.refused.iter().any(|one| one == why), "{offered:?}");
}

/// A publisher calls its handlers with its lock held; one of them takes a lock with which another thread subscribes.
#[test]
fn a_lock_that_is_held_over_a_call_is_what_a_deadlock_lacks_an_edit_for() {
    let text = "\
start main.1 publish
start main.2 close
main.1 lock bus @5 publish
main.2 lock positions @12 close
main.1 lock-wait positions via=6@publish @20 on_fill
main.2 lock-wait bus via=13@close @9 unsubscribe
main.1 blocked lock positions via=6@publish @20 on_fill
main.2 blocked lock bus via=13@close @9 unsubscribe
deadlocks
";
    let source = "void publish(void)\n{\n}\n";
    let offered = offered_of(&[("deadlocked-1", text)], source);
    assert_eq!(offered.fixes, []);
    assert_eq!(
        offered.advice.as_deref(),
        Some(
            "`bus` is held over line 6 of test.c, whose call leads to `positions`, and `positions` is held over line 13 of test.c, \
             whose call leads to `bus`: one of these lines has to run without the lock, or both locks be taken in one order"
        )
    );
    let in_one_function = text
        .replace(" via=6@publish @20 on_fill", " @6 publish")
        .replace(" via=13@close @9 unsubscribe", " @13 close");
    let offered = offered_of(&[("deadlocked-1", &in_one_function)], source);
    assert_eq!(offered.advice, None);
}

/// An event loop that clears its flag only after it has looked for work.
#[test]
fn a_flag_is_cleared_before_the_look_for_work() {
    let source = "\
void run(void)
{
    for (;;) {
        sleep_until_told();
        job = jobs;
        told = 0;
        work(job);
    }
}
void push(int n)
{
    jobs = n;
    if (exchange(&told, 1) == 0)
        tell();
}
";
    let begin = "start main.1 push\nmain fork main.1 @40 main\nmain W jobs =0 @41 main\nmain atomic-write told =1 @42 main\n";
    let looks = "main R jobs =0 @5 run\n";
    let pushes = "main.1 W jobs =1 @12 push\nmain.1 rmw told 1->1 @13 push \"if (exchange(&told, 1) == 0)\"\n";
    let clears = "main atomic-write told =0 @6 run\n";
    let hangs = "main blocked io @4 run\ndeadlocks";
    let failed = [begin, looks, pushes, clears, hangs].concat();
    let offered = offered_of(&[("deadlocked-1", &failed)], source);
    let fix = offered
        .fixes
        .first()
        .unwrap_or_else(|| panic!("{offered:?}"));
    assert_eq!(fix.title, "move line 5 behind line 6");
    // A worker that looks without the lock by which it clears the flag: the flag is cleared in the section before that.
    let source = "\
void run(void)
{
    pthread_mutex_lock(&m);
    while (wait_until_told()) {
        pthread_mutex_unlock(&m);
        flush();
        pthread_mutex_lock(&m);
        told = 0;
    }
    pthread_mutex_unlock(&m);
}
void flush(void)
{
    job = jobs;
}
";
    let looks = "main unlock m @5 run\nmain R jobs =0 via=6@run @14 flush\n";
    let clears = "main lock m @7 run\nmain atomic-write told =0 @8 run\nmain unlock m @5 run\n";
    let begin = begin.to_owned() + "main lock m @3 run\n";
    let pushes = pushes.replace("@12", "@22").replace("@13", "@23");
    let failed = [&begin, looks, &pushes, clears, hangs].concat();
    let offered = offered_of(&[("deadlocked-1", &failed)], source);
    let titles: Vec<&str> = offered.fixes.iter().map(|fix| &*fix.title).collect();
    assert_eq!(titles, ["move line 8 before line 5"], "{offered:?}");
}

/// Three threads in a circle of locks: it is enough that one of them takes its two the other way round.
#[test]
fn a_circle_of_three_locks_is_broken_at_one_of_them() {
    let function = |name: &str, first: &str, second: &str| {
        format!("void *{name}(void *x)\n{{\n    lock(&{first});\n    lock(&{second});\n    n++;\n    unlock(&{second});\n    unlock(&{first});\n    return x;\n}}\n")
            .replace("lock(", "pthread_mutex_lock(")
            .replace("unpthread_mutex_lock(", "pthread_mutex_unlock(")
    };
    let source = [
        function("f", "a", "b"),
        function("g", "b", "c"),
        function("h", "c", "a"),
    ]
    .concat();
    let text = "\
start main.1 f
start main.2 g
start main.3 h
main.1 lock a @3 f
main.2 lock b @12 g
main.3 lock c @21 h
main.1 lock-wait b @4 f
main.2 lock-wait c @13 g
main.3 lock-wait a @22 h
main.1 blocked lock b @4 f
main.2 blocked lock c @13 g
main.3 blocked lock a @22 h
deadlocks
";
    let offered = offered_of(&[("deadlocked-1", text)], &source);
    let titles: Vec<&str> = offered.fixes.iter().map(|fix| &*fix.title).collect();
    assert_eq!(
        titles,
        ["take `b` (line 4) before `a` (line 3)"],
        "{offered:?}"
    );
}

/// A wrapper of one plain statement could be given an unlock of its own, after which it guards nothing.
#[test]
fn a_kept_lock_is_given_back_in_the_caller_of_a_wrapper() {
    let source = "\
#include <pthread.h>
struct book { pthread_mutex_t mu; int open; };
static void enter(struct book *b)
{
    pthread_mutex_lock(&b->mu);
}
static void leave(struct book *b)
{
    pthread_mutex_unlock(&b->mu);
}
int take(struct book *b)
{
    enter(b);
    if (b->open == 0)
        return -1;
    b->open--;
    leave(b);
    return 0;
}
";
    let text = "\
start main.1 teller
main fork main.1 @40 main
main.1 lock b.mu via=30@teller,13@take @5 enter
main.1 R b.open =1 via=30@teller @14 take
main.1 W b.open =0 via=30@teller @16 take
main.1 unlock b.mu via=30@teller,17@take @9 leave
main.1 lock b.mu via=30@teller,13@take @5 enter
main.1 R b.open =0 via=30@teller @14 take
main.1 end
main lock-wait b.mu via=41@main,13@take @5 enter
main blocked lock b.mu via=41@main,13@take @5 enter
deadlocks
";
    let offered = offered_of(&[("deadlocked-1", text)], source);
    let [fix] = offered.fixes.as_slice() else {
        panic!("{offered:?}")
    };
    assert_eq!(fix.title, "unlock on every way out of take after line 13");
    let edited = apply(source, "test.c", &fix.edits).unwrap();
    assert_eq!(edited.matches("leave(b);").count(), 2, "{edited}");
    assert!(edited.contains("    pthread_mutex_lock(&b->mu);\n}\n"));
}

/// The wrappers of `sem_wait` and `sem_post` are no locks anywhere else.
#[test]
fn a_kept_unit_is_given_back_on_every_way_out() {
    let source = "\
#include <semaphore.h>
static void slot_get(struct slots *s) { sem_wait(&s->free); }
static void slot_put(struct slots *s) { sem_post(&s->free); }
int upload(struct slots *s, int n)
{
    slot_get(s);
    if (s->file == 0)
        return -1;
    s->file += n;
    slot_put(s);
    return 0;
}
";
    let text = "\
start main.1 client
main fork main.1 @40 main
main.1 sem-wait s.free via=6@upload,30@client @2 slot_get
main.1 R s.file =1 via=30@client @7 upload
main.1 sem-post s.free via=10@upload,30@client @3 slot_put
main.1 sem-wait s.free via=6@upload,30@client @2 slot_get
main.1 R s.file =0 via=30@client @7 upload
main.1 end
main blocked semaphore s.free via=6@upload,41@main @2 slot_get
deadlocks
";
    let offered = offered_of(&[("deadlocked-1", text)], source);
    let [fix] = offered.fixes.as_slice() else {
        panic!("{offered:?}")
    };
    assert_eq!(
        fix.title,
        "give the unit back on every way out of upload after line 6"
    );
    let edited = apply(source, "test.c", &fix.edits).unwrap();
    assert_eq!(edited.matches("slot_put(s);").count(), 2, "{edited}");
}

/// A lock of the program's own is a word that is exchanged.
#[test]
fn a_kept_lock_of_the_programs_own_is_given_back_on_every_way_out() {
    let source = "\
#include <stdatomic.h>
static void spin_lock(atomic_int *s) { while (atomic_exchange(s, 1)); }
static void spin_unlock(atomic_int *s) { atomic_store(s, 0); }
int conn_send(struct conn *c, int n)
{
    spin_lock(&c->held);
    if (c->closed)
        return -1;
    c->queued += n;
    spin_unlock(&c->held);
    return n;
}
";
    let visit = "main.1 rmw c.held 0->1 via=6@conn_send,30@sender @2 spin_lock\n";
    let text = format!(
        "start main.1 sender
main fork main.1 @40 main
{visit}main.1 R c.closed =0 via=30@sender @7 conn_send
main.1 W c.queued =1 via=30@sender @9 conn_send
main.1 atomic-write c.held =0 via=10@conn_send,30@sender @3 spin_unlock
{visit}main.1 R c.closed =1 via=30@sender @7 conn_send
{}times-out nothing changes
",
        visit.replace("0->1", "1->1").repeat(100)
    );
    let offered = offered_of(&[("timed-out-1", &text)], source);
    let [fix] = offered.fixes.as_slice() else {
        panic!("{offered:?}")
    };
    assert_eq!(
        fix.title,
        "unlock on every way out of conn_send after line 6"
    );
    let edited = apply(source, "test.c", &fix.edits).unwrap();
    assert_eq!(
        edited.matches("spin_unlock(&c->held);").count(),
        2,
        "{edited}"
    );
}

/// A thread that counts itself out has let the block go, and looks at its count once more.
#[test]
fn a_count_is_looked_at_by_the_update_that_lets_the_block_go() {
    let source = "\
#include <stdatomic.h>
void obj_unref(struct obj *o)
{
    atomic_fetch_sub(&o->refs, 1);
    if (atomic_load(&o->refs) == 0)
        free(o);
}
";
    let refs = "`heap(test.c:20 by main #0).refs`";
    let begin = format!(
        "start main.1 request\nstart main.2 evict\nmain alloc `heap(test.c:20 by main #0)` =16 @20 main\n\
         main atomic-write {refs} =2 @21 main\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n"
    );
    let down = |who: &str, old: u32| {
        format!(
            "{who} rmw {refs} {old}->{} @4 obj_unref \"atomic_fetch_sub(&o->refs, 1);\"\n",
            old - 1
        )
    };
    let look = |who: &str, left: u32| {
        format!(
            "{who} atomic-read {refs} ={left} @5 obj_unref \"if (atomic_load(&o->refs) == 0)\"\n"
        )
    };
    let frees = "main.2 free `heap(test.c:20 by main #0)` @6 obj_unref \"free(o);\"\n";
    let first = [down("main.1", 2), look("main.1", 1)].concat();
    let fine = [
        &*begin,
        &first,
        &down("main.2", 1),
        &look("main.2", 0),
        frees,
    ]
    .concat();
    let both = [down("main.1", 2), down("main.2", 1), look("main.2", 0)].concat();
    let fails = "main.1 fails @5 segmentation fault";
    let bad = [&*begin, &both, frees, &look("main.1", 0), fails].concat();
    let runs = [
        ("failed-1", &*bad),
        ("passed-1", &*fine),
        ("passed-2", &*fine),
    ];
    let fix = offered_of(&runs, source).fixes.remove(0);
    assert_eq!(
        fix.title,
        "look on line 5 at the value of `o->refs` that the update of line 4 leaves"
    );
    let edited = apply(source, "test.c", &fix.edits).unwrap();
    assert!(
        edited.contains("if (atomic_fetch_sub(&o->refs, 1) == 1)"),
        "{edited}"
    );
}

/// The flag is set and the signal sent without the lock under which the other thread looks.
#[test]
fn the_lock_is_taken_for_what_is_signalled_too() {
    let source = "\
#include <pthread.h>
static pthread_mutex_t m;
static pthread_cond_t wake;
static int quit;
static void *writer(void *unused)
{
    pthread_mutex_lock(&m);
    while (!quit)
        pthread_cond_wait(&wake, &m);
    pthread_mutex_unlock(&m);
    return unused;
}
static void stop(void)
{
    quit = 1;
    pthread_cond_signal(&wake);
}
";
    let begin = "start main.1 writer\nmain fork main.1 @30 main\n\
        main.1 lock m @7 writer\nmain.1 R quit =0 @8 writer \"while (!quit)\"\n";
    let waits =
        "main.1 wait wake @9 writer \"pthread_cond_wait(&wake, &m);\"\nmain.1 unlock m @9\n";
    let sets = "main W quit =1 via=32@main @15 stop \"quit = 1;\"\n";
    let told = "main signal wake =1 via=32@main @16 stop \"pthread_cond_signal(&wake);\"\n";
    let lost = told.replace("=1", "=0");
    let wakes = "main.1 lock m @9 writer\nmain.1 wake wake =0 @9 writer\nmain.1 R quit =1 @8 writer\nmain.1 unlock m @10 writer\n";
    let hangs =
        "main.1 blocked condition wake @9 writer\nmain blocked join main.1 @33 main\ndeadlocks\n";
    let title = |sets: &str| {
        let fine = [begin, waits, sets, told, wakes].concat();
        let bad = [begin, sets, &lost, waits, hangs].concat();
        let runs = [
            ("failed-1", &*bad),
            ("passed-1", &*fine),
            ("passed-2", &*fine),
        ];
        offered_of(&runs, source).fixes.remove(0).title
    };
    assert_eq!(
        title(sets),
        "hold `m` from line 15 for the signal on line 16"
    );
    let unrelated = "main W other =1 via=32@main @15 stop\n";
    assert_eq!(
        title(&[sets, unrelated].concat()),
        "hold `m` for the signal on line 16"
    );
}

/// Two that ask and then do the same come between each other either way, however they lock within.
#[test]
fn who_comes_in_between_is_guarded_with_all_its_steps() {
    let text = "static pthread_mutex_t m;
static int done;
int is_done(void)
{
    pthread_mutex_lock(&m);
    int d = done;
    pthread_mutex_unlock(&m);
    return d;
}
void complete(void)
{
    pthread_mutex_lock(&m);
    assert(!done);
    done = 1;
    pthread_mutex_unlock(&m);
}
void answer(void)
{
    if (!is_done())
        complete();
}
void expire(void)
{
    if (!is_done())
        complete();
}
";
    let asks = |who: &str, via: &str| {
        format!(
            "{who} lock m via={via} @5 is_done\n{who} R done =0 via={via} @6 is_done\n{who} unlock m via={via} @7 is_done\n"
        )
    };
    let work = |who: &str| {
        let steps = (40..46).map(|line| format!("{who} W own_of_{who} ={line} @{line} work\n"));
        steps.collect::<String>()
    };
    let failing = [
        "main fork main.1 @30 main\nmain fork main.2 @31 main\n",
        &[work("main.1"), work("main.2")].concat(),
        // Whoever waits for it takes the lock as well.
        "main lock m via=33@main @5 is_done\nmain R done =0 via=33@main @6 is_done\nmain unlock m via=33@main @7 is_done\n",
        &asks("main.1", "19@answer"),
        &asks("main.2", "24@expire"),
        "main.1 lock m via=20@answer @12 complete\nmain.1 R done =0 via=20@answer @13 complete\n",
        "main.1 W done =1 via=20@answer @14 complete\nmain.1 unlock m via=20@answer @15 complete\n",
        "main.2 lock m via=25@expire @12 complete\nmain.2 R done =1 via=25@expire @13 complete\n",
        "main.2 fails @13 assertion `!done` failed\n",
    ];
    let offered = offered_of(&[("failed-1", &failing.concat())], text);
    let titles: Vec<&str> = offered.fixes.iter().map(|fix| fix.title.as_str()).collect();
    let guarded = "guard lines 24 to 25 and lines 19 to 20 with a new mutex `done_lock`";
    assert!(
        titles.contains(&guarded),
        "{titles:?}: {:?}",
        offered.refused
    );
}
