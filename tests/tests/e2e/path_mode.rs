//! Path mode: the path of each thread, in programs that run freely.

use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace};
use unsnarl_trace::{EventKind, OrderMode, PathStep, Run, ThreadId, read_run};

/// A program whose threads take the lock as many times as the argument says; the last iteration of `main.1` fails.
const PROGRAM: &str = "#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static long times, bad;
static int odd(long i) {
    if (i % 2)
        return 1;
    return 0;
}
static void *worker(void *mine) {
    for (long i = 0; i < times; i++) {
        pthread_mutex_lock(&lock);
        sum += odd(i);
        pthread_mutex_unlock(&lock);
        assert(mine || i + 1 != bad);
    }
    return 0;
}
int main(int count, char **arguments) {
    pthread_t one, two;
    times = atol(arguments[1]);
    bad = count > 2 ? times : -1;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&two, 0, worker, &two);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return sum != times / 2 * 2;
}
";

fn build(compiler: TestedCompiler, level: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("odd.c", PROGRAM)?;
    let words = ["cc", "--path", level, "-pthread", "odd.c", "-o", "odd"];
    let mut build = workspace.unsnarl_command(&words)?;
    build.env(
        "UNSNARL_CC",
        compiler.command(false).context("no such compiler")?,
    );
    Finished::of(build)?.exits(0)?;
    Ok(workspace)
}

fn recorded(workspace: &Workspace, arguments: &[&str], status: i32) -> Result<Run> {
    let words = ["record", "-n", "1", "--strategy", "path", "--", "./odd"];
    workspace
        .unsnarl(&[&words, arguments].concat())?
        .exits(status)?;
    let name = workspace.runs()?.into_iter().next().context("no run")?;
    Ok(read_run(&workspace.path().join(workspace.run_path(&name)))?)
}

fn count(run: &Run, thread: u16, kind: EventKind) -> usize {
    let is_it = |event: &unsnarl_trace::Event| event.thread.0 == thread && event.kind == kind;
    run.events.iter().filter(|(_, event)| is_it(event)).count()
}

/// Number of times that a thread entered a block that begins on this line, and number of its events between blocks.
fn entered(run: &Run, thread: u16, line: u32) -> Result<(usize, usize)> {
    let path = run.meta.path(ThreadId(thread)).context("no path")?;
    let (mut blocks, mut events) = (0, 0);
    for step in path.steps() {
        match step {
            PathStep::Block(block) => {
                blocks += usize::from(run.meta.site(run.meta.block(block).site).line == line);
            }
            PathStep::Event => events += 1,
        }
    }
    Ok((blocks, events))
}

#[test]
fn the_path_of_every_thread() -> Result<()> {
    // The longer ones fill a thread's memory several times over.
    for (compiler, level, times) in [
        (TestedCompiler::Gcc, "-O0", 1000),
        (TestedCompiler::Gcc, "-O0", 20_000),
        (TestedCompiler::Clang, "-O0", 20_000),
    ] {
        let workspace = build(compiler, level)?;
        let run = recorded(&workspace, &[&times.to_string()], 0)?;
        ensure!(run.meta.mode == OrderMode::Path && !run.meta.exact);
        for thread in [1, 2] {
            ensure!(count(&run, thread, EventKind::Lock) == times);
            ensure!(count(&run, thread, EventKind::Unlock) == times);
            let of_thread = run
                .events
                .threads()
                .iter()
                .filter(|id| **id == thread)
                .count();
            let (odd, events) = entered(&run, thread, 9)?;
            ensure!((odd, events) == (times / 2, of_thread), "{odd} {events}");
        }
        ensure!(!run.events.iter().any(|(_, event)| event.kind.is_access()));
        ensure!(one_at_a_time(&run), "two threads hold the lock at once");
    }
    Ok(())
}

/// Returns whether the order of the events is one in which they can have happened.
fn one_at_a_time(run: &Run) -> bool {
    let mut owner = None;
    run.events.iter().all(|(_, event)| match event.kind {
        EventKind::Lock => owner.replace(event.thread).is_none(),
        EventKind::Unlock => owner.take() == Some(event.thread),
        _ => true,
    })
}

#[test]
fn a_failure_is_captured_and_the_path_goes_up_to_it() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = build(compiler, "-O0")?;
        let run = recorded(&workspace, &["5000", "fails"], 1)?;
        let failure = run.meta.failure.as_ref().context("no failure")?;
        ensure!(failure.message.contains("assertion"), "{failure:?}");
        ensure!(
            run.meta
                .thread(failure.thread.context("nobody failed")?)
                .name
                == "main.1"
        );
        ensure!(entered(&run, 1, 9)?.0 == 2500, "{:?}", entered(&run, 1, 9)?);
        let finished = workspace.unsnarl(&["explain"])?;
        ensure!(matches!(finished.status, Some(1 | 3)), "{finished}");
    }
    Ok(())
}

#[test]
fn what_it_was_not_built_for_is_refused() -> Result<()> {
    let workspace = build(TestedCompiler::Gcc, "-O1")?;
    workspace
        .unsnarl(&["record", "-n", "1", "--", "./odd", "3"])?
        .exits(2)?
        .says(&["was built for --strategy path", "UNSNARL_BUILD=path"])?;
    workspace
        .unsnarl(&["cc", "odd.c", "-o", "exact", "-pthread"])?
        .exits(0)?;
    workspace
        .unsnarl(&[
            "record",
            "-n",
            "1",
            "--strategy",
            "path",
            "--",
            "./exact",
            "3",
        ])?
        .exits(2)?
        .says(&["was not built for --strategy path", "unsnarl cc --path"])?;
    recorded(&workspace, &["10"], 0)?;
    let name = workspace.runs()?.into_iter().next().context("no run")?;
    workspace
        .unsnarl(&["replay", &workspace.run_path(&name)])?
        .exits(2)?
        .says(&["path mode"])?;
    Ok(())
}

/// The marking functions of `tests/runtime/path/ways.cpp` that a thread entered.
fn marks(run: &Run, thread: u16) -> Result<String> {
    let path = run.meta.path(ThreadId(thread)).context("no path")?;
    let mark = |step| match step {
        PathStep::Block(block) => {
            let block = run.meta.block(block);
            let line = run.meta.site(block.site).line;
            let is_mark = block.is_entry && (11..=18).contains(&line);
            is_mark.then(|| char::from_digit(line - 10, 10)).flatten()
        }
        PathStep::Event => None,
    };
    Ok(path.steps().filter_map(mark).collect())
}

#[test]
fn every_way_through_a_program_is_followed() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        for flags in ["-O0", "-O1", "-O2", "-O2 -fPIC", "-O3 -march=native"] {
            let workspace = Workspace::new()?;
            let source = unsnarl_e2e::project().join("tests/runtime/path/ways.cpp");
            let source = source.to_string_lossy();
            let words = [
                &["c++", "--path", &source, "-o", "ways", "-pthread"],
                &*flags.split(' ').collect::<Vec<_>>(),
            ];
            let mut build = workspace.unsnarl_command(&words.concat())?;
            build.env(
                "UNSNARL_CXX",
                compiler.command(true).context("no such compiler")?,
            );
            Finished::of(build)?.exits(0)?;
            let words = "record -n 1 --strategy path -- ./ways 300";
            let finished = workspace.unsnarl(&words.split(' ').collect::<Vec<_>>())?;
            finished.exits(0)?;
            let plain = workspace.run("./ways", &["300"])?;
            let name = workspace.runs()?.into_iter().next().context("no run")?;
            let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
            ensure!(run.meta.problems.is_empty(), "{:?}", run.meta.problems);
            let (found, real) = (marks(&run, 0)?, plain.stdout.trim());
            let same = found.bytes().zip(real.bytes()).take_while(|(a, b)| a == b);
            let same = same.count();
            ensure!(
                found == real,
                "{compiler:?} {flags}: the same for {same} of {} and {}",
                found.len(),
                real.len()
            );
        }
    }
    Ok(())
}
