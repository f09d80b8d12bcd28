//! Suggested fixes: offered, tried as a constraint, built from an edited copy and explored, written when asked for.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_core::{
    Explanation,
    fixes::{FixKind, TrialVerdict},
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// Records a program until it fails and returns the id of its first explanation, which has a fix.
fn explained(workspace: &Workspace, program: &TestProgram) -> Result<String> {
    let first = first(workspace, program)?;
    ensure!(!first.fixes.is_empty(), "no fix: {:?}", first.not_fixed);
    Ok(first.id)
}

/// Records a program until it fails and returns its first explanation.
fn first(workspace: &Workspace, program: &TestProgram) -> Result<Explanation> {
    let command = program.compile(workspace, TestedCompiler::Gcc)?;
    let words = [
        &["-n", "3000", "--until-failing", "3"],
        &program.recording()[..],
    ]
    .concat();
    workspace.record(&words, &command)?.exits(1)?;
    let (finished, explanations) = workspace.explain()?;
    explanations.into_iter().next().context(finished.stdout)
}

/// The command that builds a program in its folder.
fn build(program: &TestProgram, compiler: TestedCompiler) -> Result<String> {
    let name = program.source.file_name().context("a source has a name")?;
    let (variable, word) = match program.is_cpp() {
        true => ("UNSNARL_CXX", "$CXX"),
        false => ("UNSNARL_CC", "$CC"),
    };
    let own = compiler.command(program.is_cpp());
    let own = own.with_context(|| format!("{compiler:?} is missing"))?;
    Ok(format!(
        "{variable}={own} {word} -g {} -o {} -pthread",
        name.to_string_lossy(),
        program.name
    ))
}

macro_rules! hold {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() -> Result<()> {
            holds(stringify!($name))
        }
    )*};
}

hold! {
    bank_account bank_total bounded_queue dealt_numbers lost_counter wrong_access_order
    running_average use_before_init lock_order array_list
    missing_join window_geometry binlog_header linked_list
}

/// Checks that with the edit the program neither fails nor deadlocks, as both compilers build it, and that the user's
/// files stay.
fn holds(name: &str) -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open(name)?;
    let id = explained(&workspace, &program)?;
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let build = build(&program, compiler)?;
        let words = [
            "verify", &id, "--budget", "20s", "--random", "100", "--build", &build,
        ];
        workspace
            .unsnarl(&words)?
            .exits(0)?
            .says(&["holds: no failure and no deadlock in "])?;
    }
    let copied = workspace
        .path()
        .join(program.source.file_name().context("a name")?);
    ensure!(
        fs::read(&copied)? == fs::read(&program.source)?,
        "the source was changed"
    );
    ensure!(
        fs::read_dir(workspace.path().join(".unsnarl/verify"))?
            .next()
            .is_none(),
        "a copy is left"
    );
    Ok(())
}

#[test]
fn a_constraint_on_the_program_as_it_is() -> Result<()> {
    let workspace = Workspace::new()?;
    let id = explained(&workspace, &TestProgram::open("bank_account")?)?;
    workspace.unsnarl(&["verify", &id])?.exits(0)?.says(&[
        "keep `account.lock` from line 45 to line 56",
        "that fail are impossible with it",
    ])?;
    Ok(())
}

#[test]
fn what_explain_offers_was_tried() -> Result<()> {
    let workspace = Workspace::new()?;
    explained(&workspace, &TestProgram::open("bank_account")?)?;
    let told = workspace.unsnarl(&["explain"])?.exits(1)?;
    told.says(&[
        "Fix: keep `account.lock` from line 45 to line 56 (built and run: no failure in ",
    ])?;
    let untried = workspace.unsnarl(&["explain", "--no-run"])?.exits(1)?;
    untried.says(&["Fix: keep `account.lock` from line 45 to line 56 (not tried: --no-run)"])?;
    let (_, explanations) = workspace.explain()?;
    let fix = explanations.first().and_then(|one| one.fixes.first());
    let fix = fix.context("there is no fix")?;
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(tried.verdict == TrialVerdict::Holds, "{tried:?}");
    ensure!(tried.built && tried.without > 0, "{tried:?}");
    ensure!(
        tried.allowed > 0 && tried.allowed == tried.schedules,
        "{tried:?}"
    );
    let share = fix.share.context("the cost is not measured")?;
    ensure!(share.held > 0 && share.held < share.of, "{share:?}");
    Ok(())
}

/// The first explanation of sources that are compiled by these commands of the wrapper, and put into libraries by `ar`.
fn of_sources(sources: &[(&str, &str)], commands: &[&[&str]]) -> Result<(Workspace, Explanation)> {
    let workspace = Workspace::new()?;
    for (name, text) in sources {
        fs::write(workspace.path().join(name), text)?;
    }
    for command in commands {
        match command {
            ["ar", arguments @ ..] => workspace.run("ar", arguments)?.exits(0)?,
            _ => workspace.unsnarl(command)?.exits(0)?,
        };
    }
    workspace
        .record(&["-n", "1000", "--until-failing", "3"], "./prog")?
        .exits(1)?;
    let (finished, explanations) = workspace.explain()?;
    let first = explanations.into_iter().next();
    Ok((workspace, first.context(finished.stdout)?))
}

/// `wake` is called with the lock held by one of its callers: taking it there, too, would be waited for by itself.
#[test]
fn what_deadlocks_when_it_is_built_is_not_offered() -> Result<()> {
    let source = r#"
#include <condition_variable>
#include <mutex>
#include <thread>

struct Inbox {
    std::mutex m;
    std::condition_variable changed;
    bool stopped = false;
    int letters = 0;

    void wake()
    {
        changed.notify_all();
    }

    void post()
    {
        std::lock_guard<std::mutex> guard(m);
        letters++;
        wake();
    }

    void read()
    {
        std::unique_lock<std::mutex> lock(m);
        while (!stopped && letters == 0)
            changed.wait(lock);
        letters = 0;
        while (!stopped)
            changed.wait(lock);
    }

    void stop()
    {
        m.lock();
        m.unlock();
        __atomic_store_n(&stopped, true, __ATOMIC_SEQ_CST);
        wake();
    }
};

int main()
{
    Inbox inbox;
    std::thread reader([&] { inbox.read(); });
    inbox.post();
    inbox.stop();
    reader.join();
}
"#;
    let build: &[&str] = &[
        "c++",
        "-std=c++17",
        "-g",
        "inbox.cpp",
        "-o",
        "prog",
        "-pthread",
    ];
    let (_workspace, first) = of_sources(&[("inbox.cpp", source)], &[build])?;
    let holds = |fix: &unsnarl_core::fixes::Fix| {
        let tried = fix.tried.as_ref();
        tried.is_some_and(|trial| trial.verdict == TrialVerdict::Holds)
    };
    ensure!(first.fixes.iter().all(holds), "{:?}", first.fixes);
    let built = |why: &String| why.contains("built and run: failed in ");
    ensure!(first.not_fixed.iter().any(built), "{:?}", first.not_fixed);
    Ok(())
}

/// A till that loses money, in three files.
const TILL: [(&str, &str); 3] = [
    (
        "till.h",
        "#include <pthread.h>\nstruct till { pthread_mutex_t lock; int cents; };\nvoid add(struct till *till, int cents);\n",
    ),
    (
        "till.c",
        "#include \"till.h\"\nvoid add(struct till *till, int cents)\n{\n    pthread_mutex_lock(&till->lock);\n    int had = till->cents;\n    pthread_mutex_unlock(&till->lock);\n    pthread_mutex_lock(&till->lock);\n    till->cents = had + cents;\n    pthread_mutex_unlock(&till->lock);\n}\n",
    ),
    (
        "main.c",
        "#include \"till.h\"\n#include <assert.h>\nstatic struct till till = { PTHREAD_MUTEX_INITIALIZER, 0 };\nstatic void *sell(void *unused)\n{\n    add(&till, 5);\n    return unused;\n}\nint main(void)\n{\n    pthread_t one, other;\n    pthread_create(&one, 0, sell, 0);\n    pthread_create(&other, 0, sell, 0);\n    pthread_join(one, 0);\n    pthread_join(other, 0);\n    assert(till.cents == 10);\n}\n",
    ),
];

/// Objects that were compiled by themselves, in a folder of their own, are linked with the edited one.
#[test]
fn what_is_built_in_steps_is_built_again() -> Result<()> {
    let compile = |name| ["cc", "-g", "-c", "-MMD", name];
    let link: &[&str] = &["cc", "till.o", "main.o", "-o", "prog", "-pthread"];
    let steps: [&[&str]; 3] = [&compile("till.c"), &compile("main.c"), link];
    let (workspace, first) = of_sources(&TILL, &steps)?;
    let before = fs::read(workspace.path().join("till.o"))?;
    let fix = first.fixes.first().context("no fix")?;
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(
        tried.built && tried.verdict == TrialVerdict::Holds,
        "{tried:?}"
    );
    workspace.explain()?;
    ensure!(
        fs::read(workspace.path().join("till.o"))? == before,
        "an object was written"
    );
    ensure!(
        fs::read(workspace.path().join("till.c"))? == TILL[1].1.as_bytes(),
        "a source was"
    );
    Ok(())
}

/// The new object of a library's member is linked instead of the old one.
#[test]
fn what_is_in_a_static_library_is_built_again() -> Result<()> {
    let compile = |name| ["cc", "-g", "-c", name];
    let steps: [&[&str]; 4] = [
        &compile("till.c"),
        &compile("main.c"),
        &["ar", "qc", "libtill.a", "till.o"],
        &["cc", "main.o", "libtill.a", "-o", "prog", "-pthread"],
    ];
    let (_workspace, first) = of_sources(&TILL, &steps)?;
    let fix = first.fixes.first().context("no fix")?;
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(
        tried.built && tried.verdict == TrialVerdict::Holds,
        "{tried:?}"
    );
    Ok(())
}

/// A session whose thread outlives it, in a header.
const SESSION: [(&str, &str); 2] = [
    (
        "session.hpp",
        "#include <atomic>\n#include <thread>\nclass Heartbeat {\npublic:\n    void start() { thread_ = std::thread([this] { loop(); }); }\n    ~Heartbeat()\n    {\n        running_ = false;\n        thread_.detach();\n    }\nprivate:\n    void loop()\n    {\n        for (int i = 0; i < 3; i++)\n            if (running_)\n                beats_ = i;\n    }\n    int beats_ = 0;\n    std::atomic<bool> running_{true};\n    std::thread thread_;\n};\n",
    ),
    (
        "main.cpp",
        "#include \"session.hpp\"\nint main()\n{\n    Heartbeat *h = new Heartbeat;\n    h->start();\n    delete h;\n}\n",
    ),
];

/// Returns whether a fix was built and run, and holds.
fn is_built_and_holds(fix: &unsnarl_core::fixes::Fix) -> bool {
    let tried = fix.tried.as_ref();
    tried.is_some_and(|trial| trial.built && trial.verdict == TrialVerdict::Holds)
}

/// The program is built again with edits in a header: a lock is kept in a loop that gave it back for each element.
#[test]
fn what_is_in_a_header_is_built_again() -> Result<()> {
    let registry = "#include <atomic>\n#include <mutex>\n#include <vector>\nclass Subject {\npublic:\n    void attach(int one)\n    {\n        std::lock_guard<std::mutex> g(m_);\n        all_.push_back(one);\n    }\n    void notify(int value)\n    {\n        std::unique_lock<std::mutex> g(m_);\n        for (int &one : all_) {\n            g.unlock();\n            seen_ += one * value;\n            g.lock();\n        }\n    }\nprivate:\n    std::mutex m_;\n    std::atomic<int> seen_{0};\n    std::vector<int> all_;\n};\n";
    let main = "#include \"registry.hpp\"\n#include <thread>\nint main()\n{\n    Subject s;\n    s.attach(1);\n    std::thread one([&] { s.notify(1); }), other([&] { s.attach(2); });\n    one.join();\n    other.join();\n}\n";
    let compile: &[&str] = &["c++", "-std=c++17", "-g", "-c", "main.cpp"];
    let link: &[&str] = &["c++", "main.o", "-o", "prog", "-pthread"];
    let sources = [("registry.hpp", registry), ("main.cpp", main)];
    let (workspace, first) = of_sources(&sources, &[compile, link])?;
    let fix = first.fixes.first();
    let fix = fix.with_context(|| format!("{:?}", first.not_fixed))?;
    ensure!(fix.title.contains("do not release"), "{fix:?}");
    ensure!(is_built_and_holds(fix), "{fix:?}");
    let header = fs::read(workspace.path().join("registry.hpp"))?;
    ensure!(header == registry.as_bytes(), "a header was written");
    Ok(())
}

/// A thread is joined where a destructor detached it, in an object of a static library.
#[test]
fn what_is_in_a_library_is_built_again() -> Result<()> {
    let compile: &[&str] = &["c++", "-std=c++17", "-g", "-c", "main.cpp"];
    let library: &[&str] = &["ar", "qc", "libmain.a", "main.o"];
    let link: &[&str] = &["c++", "-o", "prog", "libmain.a", "-pthread"];
    let (_workspace, first) = of_sources(&SESSION, &[compile, library, link])?;
    let fix = first.fixes.first();
    let fix = fix.with_context(|| format!("{:?}", first.not_fixed))?;
    ensure!(
        fix.kind == FixKind::JoinBefore && is_built_and_holds(fix),
        "{fix:?}"
    );
    Ok(())
}

/// A pointer is published before what it points to is built: both are done in a local variable first.
#[test]
fn what_is_built_late_is_built_before_it_is_seen() -> Result<()> {
    let codec = "#include <pthread.h>\n#include <stdlib.h>\nstruct codec { int (*encode)(int); };\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic struct codec *codec;\nstatic int plus(int x) { return x + 3; }\nstatic void setup(struct codec *c) { c->encode = plus; }\nstatic struct codec *get(void)\n{\n    if (codec == NULL) {\n        pthread_mutex_lock(&lock);\n        if (codec == NULL) {\n            codec = calloc(1, sizeof *codec);\n            setup(codec);\n        }\n        pthread_mutex_unlock(&lock);\n    }\n    return codec;\n}\nstatic void *encoder(void *unused)\n{\n    struct codec *c = get();\n    c->encode(2);\n    return unused;\n}\nint main(void)\n{\n    pthread_t one, other;\n    pthread_create(&one, 0, encoder, 0);\n    pthread_create(&other, 0, encoder, 0);\n    pthread_join(one, 0);\n    pthread_join(other, 0);\n}\n";
    let build: &[&str] = &["cc", "-g", "codec.c", "-o", "prog", "-pthread"];
    let (_workspace, first) = of_sources(&[("codec.c", codec)], &[build])?;
    let fix = first.fixes.first();
    let fix = fix.with_context(|| format!("{:?}", first.not_fixed))?;
    ensure!(fix.kind == FixKind::MoveBehind, "{fix:?}");
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(
        tried.built && tried.verdict == TrialVerdict::Holds,
        "{tried:?}"
    );
    Ok(())
}

/// A function that returns early keeps its lock, and others wait for it for ever.
#[test]
fn a_lock_that_a_way_out_forgets_is_released() -> Result<()> {
    let shop = "#include <pthread.h>\nstatic struct { pthread_mutex_t lock; int left; } shop = { PTHREAD_MUTEX_INITIALIZER, 1 };\nstatic int take(int wanted)\n{\n    pthread_mutex_lock(&shop.lock);\n    if (shop.left < wanted)\n        return -1;\n    shop.left -= wanted;\n    pthread_mutex_unlock(&shop.lock);\n    return 0;\n}\nstatic void *buy(void *unused)\n{\n    take(1);\n    return unused;\n}\nstatic void *restock(void *unused)\n{\n    pthread_mutex_lock(&shop.lock);\n    shop.left++;\n    pthread_mutex_unlock(&shop.lock);\n    return unused;\n}\nint main(void)\n{\n    pthread_t one, other, keeper;\n    pthread_create(&one, 0, buy, 0);\n    pthread_create(&keeper, 0, restock, 0);\n    pthread_create(&other, 0, buy, 0);\n    pthread_join(one, 0);\n    pthread_join(keeper, 0);\n    pthread_join(other, 0);\n}\n";
    let build: &[&str] = &["cc", "-g", "shop.c", "-o", "prog", "-pthread"];
    let (_workspace, first) = of_sources(&[("shop.c", shop)], &[build])?;
    let fix = first.fixes.first().context("no fix")?;
    ensure!(fix.kind == FixKind::Unlock, "{fix:?}");
    let edit = fix.edits.first().context("no edit")?;
    ensure!(
        edit.text.contains("pthread_mutex_unlock(&shop.lock)"),
        "{edit:?}"
    );
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(
        tried.built && tried.verdict == TrialVerdict::Holds,
        "{tried:?}"
    );
    Ok(())
}

/// `put` does not wait for room, although `get` says when there is some.
#[test]
fn a_wait_for_what_is_asserted_is_put_where_it_is_missing() -> Result<()> {
    let store = "#include <assert.h>\n#include <pthread.h>\n#define MOST 2\nstatic struct store { pthread_mutex_t lock; pthread_cond_t filled, emptied; int used; } store = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };\nstatic void put(struct store *s)\n{\n    pthread_mutex_lock(&s->lock);\n    s->used++;\n    assert(s->used <= MOST);\n    pthread_cond_signal(&s->filled);\n    pthread_mutex_unlock(&s->lock);\n}\nstatic void get(struct store *s)\n{\n    pthread_mutex_lock(&s->lock);\n    while (s->used == 0)\n        pthread_cond_wait(&s->filled, &s->lock);\n    s->used--;\n    pthread_cond_signal(&s->emptied);\n    pthread_mutex_unlock(&s->lock);\n}\nstatic void *taker(void *unused)\n{\n    for (int i = 0; i < 4; i++)\n        get(&store);\n    return unused;\n}\nint main(void)\n{\n    pthread_t other;\n    pthread_create(&other, 0, taker, 0);\n    for (int i = 0; i < 4; i++)\n        put(&store);\n    pthread_join(other, 0);\n}\n";
    let build: &[&str] = &["cc", "-g", "store.c", "-o", "prog", "-pthread"];
    let (_workspace, first) = of_sources(&[("store.c", store)], &[build])?;
    let waits = |fix: &&unsnarl_core::fixes::Fix| fix.kind == FixKind::Wait;
    let mut fixes = first.fixes.iter();
    let fix = fixes.find(waits).context("no wait")?;
    let edit = fix.edits.first().context("no edit")?;
    let text =
        "\n    while (s->used + 1 > MOST)\n        pthread_cond_wait(&s->emptied, &s->lock);";
    ensure!(edit.text == text, "{edit:?}");
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(
        tried.built && tried.verdict == TrialVerdict::Holds,
        "{tried:?}"
    );
    Ok(())
}

/// Whoever waits cannot free what is signalled while the lock is held.
#[test]
fn a_signal_comes_before_the_lock_is_given_back() -> Result<()> {
    let workspace = Workspace::new()?;
    let first = first(&workspace, &TestProgram::open("freed_request")?)?;
    let fix = first.fixes.first().context("no fix")?;
    ensure!(
        fix.kind == FixKind::WidenSection
            && fix.title == "keep `lock` of `request` from line 35 to line 39",
        "{fix:?}"
    );
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(
        tried.built && tried.verdict == TrialVerdict::Holds,
        "{tried:?}"
    );
    Ok(())
}

#[test]
fn a_join_that_would_wait_for_ever_is_not_offered() -> Result<()> {
    for name in ["object_cache", "pool_shutdown"] {
        let workspace = Workspace::new()?;
        let first = first(&workspace, &TestProgram::open(name)?)?;
        ensure!(
            first
                .fixes
                .iter()
                .all(|fix| fix.kind != FixKind::JoinBefore),
            "{name}: {:?}",
            first.fixes
        );
        let waits =
            |why: &String| why.contains("waits on line ") && why.contains("what comes after");
        ensure!(
            first.not_fixed.iter().any(waits),
            "{name}: {:?}",
            first.not_fixed
        );
    }
    Ok(())
}

#[test]
fn the_failure_of_another_bug_stays_and_is_said() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("sensor_hub")?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "60"], &command)?
        .exits(1)?;
    let (_, explanations) = workspace.explain()?;
    let fixes = explanations.iter().flat_map(|one| &one.fixes);
    let mut joins = fixes.filter(|fix| fix.kind == FixKind::JoinBefore);
    let join = joins.next().context("no thread is joined earlier")?;
    let tried = join.tried.as_ref().context("it was not tried")?;
    ensure!(tried.verdict == TrialVerdict::Holds, "{tried:?}");
    ensure!(
        tried
            .stays
            .iter()
            .any(|stays| stays.contains("sum == READING * count")),
        "{tried:?}"
    );
    Ok(())
}

#[test]
fn the_diff_is_one_that_patch_takes() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("bank_account")?;
    let id = explained(&workspace, &program)?;
    let diff = workspace
        .unsnarl(&["verify", &id, "--diff"])?
        .exits(0)?
        .stdout;
    fs::write(workspace.path().join("fix.diff"), diff)?;
    workspace
        .run("git", &["apply", "-p0", "fix.diff"])?
        .exits(0)?;
    let patched = fs::read_to_string(workspace.path().join("bank_account.c"))?;
    let locks = patched.matches("pthread_mutex_lock(").count();
    ensure!(locks == 2, "{patched}");
    Ok(())
}

#[test]
fn an_edit_that_does_not_help_is_told_with_its_schedule() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("bank_account")?;
    let id = explained(&workspace, &program)?;
    // The build undoes the edit, and makes another program of it.
    let source = program.source.display();
    let command =
        format!("cp {source} . && $CC -g -DOTHER -O1 bank_account.c -o bank_account -pthread");
    let told = workspace
        .unsnarl(&["verify", &id, "--build", &command])?
        .exits(1)?;
    let told = told.says(&[
        "does not hold: assertion `account.balance == 450` failed",
        "unsnarl replay failed-",
    ])?;
    let run = told
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("failed-"));
    let run = run.context("no run is named")?;
    let copy = workspace.path().join(format!(".unsnarl/verify/{id}-1"));
    let file = copy.join(".unsnarl/runs").join(run).with_extension("arrow");
    ensure!(file.is_file(), "{} is not there", file.display());
    Ok(())
}

#[test]
fn what_is_asked_for_is_written() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("lost_counter")?;
    let id = explained(&workspace, &program)?;
    let build = build(&program, TestedCompiler::Gcc)?;
    workspace
        .unsnarl(&[
            "verify", &id, "--budget", "10s", "--random", "20", "--build", &build, "--apply",
        ])?
        .exits(0)?
        .says(&["written: lost_counter.c"])?;
    let text = fs::read_to_string(workspace.path().join("lost_counter.c"))?;
    ensure!(text.contains("pthread_mutex_t words_lock"), "{text}");
    Ok(())
}

#[test]
fn wrong_names_and_builds_are_refused() -> Result<()> {
    let workspace = Workspace::new()?;
    let id = explained(&workspace, &TestProgram::open("bank_account")?)?;
    let check = |words: &[&str], says: &str| -> Result<()> {
        let words = [&["verify"], words].concat();
        workspace.unsnarl(&words)?.exits(2)?.says(&[says])?;
        Ok(())
    };
    check(&["00000000"], "there is no explanation 00000000")?;
    check(&[&format!("{id}:9")], "not 9")?;
    check(&[&format!("{id}:x")], "is no fix")?;
    check(&[&id, "--build", "false"], "`false` failed")?;
    check(&[&id, "--build", "true"], "made the same program again")?;
    ensure!(
        Path::new(&workspace.path().join("bank_account.c")).is_file(),
        "the source is gone"
    );
    Ok(())
}
