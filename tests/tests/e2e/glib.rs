//! GLib's locks, conditions, once-only initializations and queues are steps of a recording, as those of POSIX threads are.

use anyhow::{Context, Result, ensure};
use std::process::Command;
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::{EventKind, Run, read_run};

/// Options by which programs with this library are compiled and linked.
fn options(library: &str) -> Result<Vec<String>> {
    let words = ["--cflags", "--libs", library];
    let asked = Command::new("pkg-config").args(words).output()?;
    ensure!(asked.status.success(), "pkg-config does not know {library}");
    let text = String::from_utf8(asked.stdout)?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// The program of this name, compiled with these options, and the command that runs it.
fn compiled(
    name: &str,
    compiler: TestedCompiler,
    more: &[&str],
) -> Result<(Workspace, TestProgram, String)> {
    let (workspace, program) = (Workspace::new()?, TestProgram::of_glib(name)?);
    let options = options("glib-2.0")?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let command = program.compile_with(&workspace, compiler, &[more, &options].concat())?;
    Ok((workspace, program, command))
}

fn run_of(workspace: &Workspace, name: &str) -> Result<Run> {
    Ok(read_run(&workspace.path().join(workspace.run_path(name)))?)
}

/// A run of this outcome repeats event by event.
fn repeats(workspace: &Workspace, outcome: &str) -> Result<()> {
    let runs = workspace.runs_that(outcome)?;
    let last = runs.last().context("no run was kept")?;
    workspace
        .unsnarl(&["replay", &workspace.run_path(last), "-n", "5"])?
        .exits(0)?
        .says(&["the same run 5 of 5 times"])?;
    Ok(())
}

/// The bug is found, its explanation is the right one and contains these words, and the failing run repeats.
fn is_explained(name: &str, outcome: &str, says: &[&str]) -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let (workspace, program, command) = compiled(name, compiler, &[])?;
        let options = ["-n", "2000", "--until-failing", "3"];
        workspace.record(&options, &command)?.exits(1)?;
        repeats(&workspace, outcome)?;
        let (_, explanations) = workspace.explain()?;
        let first = explanations.first().context("nothing is explained")?;
        program.expectation.check(first, &program.source)?;
        workspace.unsnarl(&["explain"])?.exits(1)?.says(says)?;
    }
    Ok(())
}

#[test]
fn a_lost_update_between_two_sections() -> Result<()> {
    let says = [
        "another thread's update of `account.balance` was lost",
        "Both accesses hold `account.lock`, but withdraw releases it between them",
        "keep `account.lock` from line 28 to line 37 (built and run: no failure",
    ];
    is_explained("cash_machine", "failed", &says)
}

#[test]
fn a_deadlock_of_two_mutexes() -> Result<()> {
    let says = [
        "holds `left.lock` (warehouse.c:22) and waits for `right.lock`",
        "in the order of their addresses (built and run: no failure",
    ];
    is_explained("warehouse", "deadlocked", &says)
}

#[test]
fn a_readers_lock_that_is_given_up_before_the_writers() -> Result<()> {
    let says = [
        "Both accesses hold `table.lock`, but price_of releases it between them",
        "keep `table.lock` from line",
    ];
    is_explained("price_table", "failed", &says)
}

/// Each lock and each release is an event at its line, on the mutex that the source names.
#[test]
fn each_lock_is_an_event() -> Result<()> {
    let (workspace, ..) = compiled("cash_machine", TestedCompiler::Gcc, &[])?;
    workspace.record(&["-n", "1"], "./cash_machine")?;
    let run = run_of(&workspace, workspace.runs()?.first().context("no run")?)?;
    let of = |kind: EventKind| {
        let events = run.events.iter().map(|(_, event)| event);
        let events = events.filter(move |event| event.kind == kind);
        events.map(|event| (run.location(event.location), run.meta.site(event.site).line))
    };
    let mut locks: Vec<_> = of(EventKind::Lock).collect();
    let mut unlocks: Vec<_> = of(EventKind::Unlock).collect();
    locks.sort_unstable();
    unlocks.sort_unstable();
    let at = |lines: [u32; 3]| lines.map(|line| ("account.lock", line));
    ensure!(locks == at([21, 28, 35]), "{locks:?}");
    ensure!(unlocks == at([23, 30, 37]), "{unlocks:?}");
    Ok(())
}

/// It passes without the recorder, in each of these many runs of each strategy, and on repetition.
fn never_fails(name: &str, compiler: TestedCompiler, runs: &str) -> Result<Workspace> {
    let (workspace, _, command) = compiled(name, compiler, &["-O1"])?;
    workspace.run(&command, &[""; 0])?.exits(0)?;
    for strategy in ["portfolio", "sequential", "free"] {
        let options = ["-n", runs, "--strategy", strategy];
        workspace.record(&options, &command)?.exits(0)?;
        if strategy == "portfolio" {
            repeats(&workspace, "passed")?;
        }
    }
    Ok(workspace)
}

#[test]
fn a_correct_buffer_never_fails() -> Result<()> {
    never_fails("bounded_buffer", TestedCompiler::Gcc, "200")?;
    let (workspace, _, command) = compiled("bounded_buffer", TestedCompiler::Gcc, &["-DWATCHED"])?;
    let options = ["-n", "200", "--chances", "early-timeouts"];
    workspace.record(&options, &command)?.exits(0)?;
    repeats(&workspace, "passed")
}

#[test]
fn each_function_does_what_it_does_in_the_library() -> Result<()> {
    never_fails("primitives", TestedCompiler::Gcc, "100")?;
    never_fails("primitives", TestedCompiler::Clang, "100")?;
    Ok(())
}

#[test]
fn a_queue_does_what_it_does_in_the_library() -> Result<()> {
    never_fails("queues", TestedCompiler::Gcc, "100")?;
    Ok(())
}

/// The pool's threads wait within the library; the queue is one of the program's own.
#[test]
fn pools_and_queues_never_hang() -> Result<()> {
    let workspace = never_fails("thread_pool", TestedCompiler::Gcc, "100")?;
    let runs = workspace.runs_that("passed")?;
    let mut waits = false;
    for name in &runs {
        let run = run_of(&workspace, name)?;
        waits |= run.events.iter().any(|(_, event)| {
            let line = &run.meta.site(event.site).text;
            event.kind == EventKind::Wait && line.contains("g_async_queue_pop")
        });
    }
    ensure!(waits, "no thread waits for an item in {} runs", runs.len());
    Ok(())
}

#[test]
fn a_path_build_sees_them_too() -> Result<()> {
    let (workspace, ..) = compiled("cash_machine", TestedCompiler::Gcc, &[])?;
    let words = "cc --path -g cash_machine.c -o paths -pthread";
    let options = options("glib-2.0")?;
    let options = options.iter().map(String::as_str);
    let words: Vec<&str> = words.split(' ').chain(options).collect();
    workspace.unsnarl(&words)?.exits(0)?;
    workspace.record(&["-n", "1", "--strategy", "path"], "./paths")?;
    let run = run_of(&workspace, workspace.runs()?.first().context("no run")?)?;
    let locks = run.events.iter().map(|(_, event)| event);
    let locks = locks.filter(|event| event.kind == EventKind::Lock);
    let names: Vec<&str> = locks.map(|lock| run.location(lock.location)).collect();
    ensure!(names == ["account.lock"; 3], "{names:?}");
    Ok(())
}

/// The entries for GLib are not exported by a program without it, so a library that is loaded later has its own.
#[test]
fn a_program_without_glib_exports_nothing_of_it() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("main.c", "int main(void) { return 0; }\n")?;
    let words = ["cc", "-g", "main.c", "-o", "prog", "-pthread"];
    workspace.unsnarl(&words)?.exits(0)?;
    let symbols = workspace.run("nm", &["-D", "prog"])?.exits(0)?;
    ensure!(!symbols.stdout.contains("g_mutex_lock"), "{symbols}");
    Ok(())
}

const PLUGIN: &str = "#include <glib-object.h>
static GMutex lock;
static int calls;
int plug(void)
{
    g_mutex_lock(&lock);
    calls++;
    g_mutex_unlock(&lock);
    return calls + (g_type_from_name(\"GObject\") != 0);
}
";
const HOST: &str = "#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
static int (*plug)(void);
static void *work(void *unused)
{
    plug();
    return unused;
}
int main(void)
{
    void *plugin = dlopen(\"./plugin.so\", RTLD_NOW | RTLD_LOCAL);
    assert(plugin);
    *(void **)&plug = dlsym(plugin, \"plug\");
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    plug();
    pthread_join(thread, 0);
    assert(plug() == 4);
    return 0;
}
";

/// A program that exports all that it has, and knows nothing of GLib until it loads a library that was built without the
/// recorder. The library's constructors end in calls of GLib's functions, which seem to come from the loader.
#[test]
fn a_library_that_is_loaded_later_brings_it_along() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("plugin.c", PLUGIN)?;
    workspace.write("host.c", HOST)?;
    let flags = options("gobject-2.0")?;
    let flags = flags.iter().map(String::as_str);
    let words = "-g -shared -fPIC plugin.c -o plugin.so".split(' ');
    let words: Vec<&str> = words.chain(flags).collect();
    workspace.run("gcc", &words)?.exits(0)?;
    let words = "cc -g -rdynamic host.c -o host -pthread";
    workspace
        .unsnarl(&words.split(' ').collect::<Vec<_>>())?
        .exits(0)?;
    workspace.run("./host", &[""; 0])?.exits(0)?;
    workspace.record(&["-n", "20"], "./host")?.exits(0)?;
    repeats(&workspace, "passed")?;
    let options = ["-n", "3", "--strategy", "free"];
    workspace.record(&options, "./host")?.exits(0)?;
    Ok(())
}

/// A search of a program that uses GLib's locks only has seen everything, and says so by not saying more.
#[test]
fn a_search_follows_all_of_them() -> Result<()> {
    let (workspace, _, command) = compiled("warehouse", TestedCompiler::Gcc, &[])?;
    let options = ["--strategy", "exhaustive", "--keep-passing", "1"];
    let searched = workspace.record(&options, &command)?.exits(1)?;
    let text = format!("{searched}");
    ensure!(text.contains("bound 2: all "), "{text}");
    ensure!(!text.contains("were not looked for"), "{text}");
    Ok(())
}
