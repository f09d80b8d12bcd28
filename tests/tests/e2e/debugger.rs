//! `unsnarl replay RUN --gdb`: gdb itself, driven by scripts.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace, program::compile};
use unsnarl_recorder::replay::registers;
use unsnarl_trace::{EventId, EventKind, Run, read_run};

/// A failing run of a program, and the program to debug it with.
struct DebuggedProgram {
    workspace: Workspace,
    name: String,
    run: Run,
}

impl DebuggedProgram {
    fn failing(program: &str, outcome: &str, compiler: TestedCompiler) -> Result<DebuggedProgram> {
        let workspace = Workspace::new()?;
        let command = TestProgram::open(program)?.compile(&workspace, compiler)?;
        DebuggedProgram::of(workspace, &command, outcome)
    }

    fn of(workspace: Workspace, command: &str, outcome: &str) -> Result<DebuggedProgram> {
        workspace
            .record(&["-n", "2000", "--until-failing", "2"], command)?
            .exits(1)?;
        let names = workspace.runs_that(outcome)?;
        let name = names.first().context("no run of this outcome")?.clone();
        let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
        Ok(DebuggedProgram {
            workspace,
            name,
            run,
        })
    }

    /// Runs these commands in gdb.
    fn gdb(&self, commands: &[&str]) -> Result<Finished> {
        let script = self
            .workspace
            .write("script.gdb", &format!("{}\n", commands.join("\n")))?;
        let script = script.to_string_lossy();
        let run = self.workspace.run_path(&self.name);
        let words = [
            "replay", &run, "--gdb", "--", "-nx", "-batch", "-x", &script,
        ];
        self.workspace.unsnarl(&words)
    }

    /// The line that gdb prints at an event of the run file, up to the value.
    fn line(&self, row: u32) -> Result<String> {
        let event = self.run.events.get(EventId(row)).context("no such row")?;
        let rows = self.run.events.len();
        let thread = &self.run.meta.thread(event.thread).name;
        Ok(format!("event {row} of {rows}: {thread} "))
    }

    fn first(&self, kind: EventKind, location: &str) -> Result<u32> {
        let mut rows = self.run.events.iter();
        rows.find(|(_, event)| event.kind == kind && self.run.location(event.location) == location)
            .map(|(row, _)| row.0)
            .with_context(|| format!("no {} of {location}", kind.name()))
    }

    fn failure(&self) -> Result<&str> {
        let failure = self.run.meta.failure.as_ref().context("it did not fail")?;
        Ok(&failure.message)
    }
}

#[test]
fn events_have_the_numbers_of_the_run_file() -> Result<()> {
    let bank = DebuggedProgram::failing("bank_account", "failed", TestedCompiler::Gcc)?;
    let write = bank.first(EventKind::Write, "account.balance")?;
    let goto = format!("goto-event {write}");
    let said = bank
        .gdb(&[
            "next-event",
            "next-event 2",
            &goto,
            "bt",
            "next-event",
            "info schedule",
        ])?
        .exits(0)?;
    let number = write.to_string();
    said.says(&[
        &bank.line(0)?,
        &bank.line(2)?,
        &format!("{}writes account.balance = ", bank.line(write)?),
        &bank.line(write + 1)?,
        &format!("now event {}", write + 1),
        &format!("next event {}", write + 2),
        "the program repeated the recorded run as far as it came",
        &number,
    ])?;
    Ok(())
}

/// A gdb that cannot call functions says so, and variables are shown and set all the same.
#[test]
fn variables_are_shown_and_set() -> Result<()> {
    let bank = DebuggedProgram::failing("bank_account", "failed", TestedCompiler::Gcc)?;
    let read = bank.first(EventKind::Read, "account.balance")?;
    let said = bank.gdb(&[
        &format!("goto-event {read}"),
        "print account.balance",
        "set variable account.balance = account.balance + 1",
        "print account.balance",
        "set variable account.balance = account.balance - 1",
        "run-to-failure",
        "continue",
    ])?;
    let said = said.exits(0)?.says(&[
        "$1 = 300",
        "$2 = 301",
        "here the run failed: assertion `account.balance == 450` failed",
        "the program repeated the recorded run",
    ])?;
    let is_said = said.stderr.contains("cannot call functions");
    ensure!(is_said == registers::limit().is_some(), "{said}");
    Ok(())
}

#[test]
fn expressions_do_not_disturb_the_run() -> Result<()> {
    if let Some(limit) = registers::limit() {
        eprintln!("skipped: {limit}");
        return Ok(());
    }
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let bank = DebuggedProgram::failing("bank_account", "failed", compiler)?;
        let read = bank.first(EventKind::Read, "account.balance")?;
        let said = bank.gdb(&[
            &format!("goto-event {read}"),
            "print account.balance",
            "print fee_for(1500)",
            // Takes the lock that the stopped thread holds, and gives the money back.
            "print account.balance",
            "call deposit(11)",
            "print account.balance",
            "set variable account.balance = account.balance - 11",
            "set variable account.deposits = account.deposits - 1",
            "next-event",
            "call fee_for(700)",
            "run-to-failure",
            "call fee_for(300)",
            "continue",
        ])?;
        said.exits(0)?.says(&[
            "$1 = 300",
            "$2 = 15",
            "$4 = 311",
            "here the run failed: assertion `account.balance == 450` failed",
            "the program has ended, after all",
            "the program repeated the recorded run",
        ])?;
    }
    Ok(())
}

#[test]
fn the_steps_of_the_explanation() -> Result<()> {
    let bank = DebuggedProgram::failing("bank_account", "failed", TestedCompiler::Gcc)?;
    let said = bank
        .gdb(&[
            "next-step",
            "next-step",
            "info threads",
            "next-step",
            "next-step",
            "next-step",
        ])?
        .exits(1)?;
    let at = |text: &str| {
        said.stdout
            .find(text)
            .with_context(|| format!("no `{text}`:\n{said}"))
    };
    let places = [
        at("step 1 of 4: main.2 bank_account.c:46  long available = account.balance;  reads 300")?,
        at("step 2 of 4: main.1 bank_account.c:38  account.balance += amount;  writes 500")?,
        at("\"main.2\"")?,
        at("step 3 of 4: main.2 bank_account.c:54")?,
        at("step 4 of 4: main bank_account.c:86")?,
    ];
    ensure!(places.is_sorted(), "{said}");
    said.says(&["that was the last step of the explanation"])?;
    let said = bank
        .gdb(&["next-step 3", "next-step 5", "next-step 0"])?
        .exits(1)?;
    let said = said.says(&[
        "step 3 of 4: main.2",
        "step 4 of 4: main ",
        "0 is no count, which is a number from 1",
    ])?;
    ensure!(!said.stdout.contains("step 1 of 4"), "{said}");
    Ok(())
}

/// Stepping and breakpoints hand the turn over correctly: nothing hangs.
#[test]
fn gdbs_own_commands() -> Result<()> {
    let bank = DebuggedProgram::failing("bank_account", "failed", TestedCompiler::Gcc)?;
    let said = bank
        .gdb(&[
            "break withdraw",
            "run",
            "next",
            "next",
            "next",
            "next",
            "step",
            "finish",
            "next",
            "next",
            "next",
            "info schedule",
            "delete",
            "run-to-failure",
            "kill",
            "next-event 3",
            "goto-event 1",
        ])?
        // gdb's own status of a script that ended in an error.
        .exits(1)?;
    said.says(&[
        "withdraw (amount=50)",
        bank.failure()?,
        &bank.line(2)?,
        "is over",
    ])?;
    Ok(())
}

#[test]
fn deadlocks_and_crashes_are_failures() -> Result<()> {
    let deadlock = DebuggedProgram::failing("lock_order", "deadlocked", TestedCompiler::Gcc)?;
    let row = deadlock
        .run
        .events
        .iter()
        .find(|(_, event)| event.kind == EventKind::Blocked)
        .context("nobody is blocked")?
        .0;
    deadlock
        .gdb(&["run-to-failure", "info threads", "continue"])?
        .exits(0)?
        .says(&[
            &deadlock.line(row.0)?,
            "here the run failed: no thread can go on",
            "\"main.1\"",
            "the program repeated the recorded run",
        ])?;

    let workspace = Workspace::new()?;
    workspace.write("crash.c", CRASH)?;
    compile(
        &workspace,
        Path::new("crash.c"),
        "crash",
        TestedCompiler::Gcc,
    )?;
    let crash = DebuggedProgram::of(workspace, "./crash", "failed")?;
    crash
        .gdb(&["run-to-failure", "continue"])?
        .exits(0)?
        .says(&[
            "SIGSEGV",
            "*shared = 1;",
            "the program repeated the recorded run",
        ])?;
    Ok(())
}

/// A program that fails if the writer comes before the pointer is set.
const CRASH: &str = "#include <pthread.h>
static int *shared, place;
static void *writer(void *arg)
{
    *shared = 1;
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    shared = &place;
    pthread_join(thread, 0);
    return 0;
}
";

/// A check of a test framework does not end the program, and the debugger stops at it all the same.
#[test]
fn a_failed_check_of_a_framework_is_a_failure() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("expect.c", EXPECT)?;
    compile(
        &workspace,
        Path::new("expect.c"),
        "expect",
        TestedCompiler::Gcc,
    )?;
    let expect = DebuggedProgram::of(workspace, "./expect", "failed")?;
    expect
        .gdb(&["run-to-failure", "print done", "print later", "continue"])?
        .exits(0)?
        .says(&[
            "EXPECT(done == 2);",
            "here the run failed: ",
            "$1 = 1",
            "$2 = 0",
            "the program repeated the recorded run",
        ])?;
    Ok(())
}

/// A program that goes on after its check has failed.
const EXPECT: &str = "#include <pthread.h>
#include <stdio.h>
static int done, later, failures;
#define EXPECT(CONDITION) \
    if (!(CONDITION)) failures++, printf(\"%s:%d: Failure\\nof \" #CONDITION \"\\n\", __FILE__, __LINE__)
static void *worker(void *arg)
{
    int now = done;
    done = now + 1;
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    EXPECT(done == 2);
    later = 1;
    return failures > 0;
}
";

#[test]
fn cpp_threads_and_lambdas() -> Result<()> {
    let cache = DebuggedProgram::failing("cpp_cache", "failed", TestedCompiler::Gcc)?;
    cache
        .gdb(&[
            "next-step",
            "bt 4",
            "next-step",
            "run-to-failure",
            "continue",
        ])?
        .exits(0)?
        .says(&[
            "step 1 of",
            "step 2 of",
            "cpp_cache.cpp",
            "the program repeated the recorded run",
        ])?;
    Ok(())
}

/// A difference from the recorded run under the debugger is reported there and afterwards.
#[test]
fn a_changed_variable_is_a_divergence() -> Result<()> {
    let bank = DebuggedProgram::failing("bank_account", "failed", TestedCompiler::Gcc)?;
    let read = bank.first(EventKind::Read, "account.balance")?;
    bank.gdb(&[
        &format!("goto-event {read}"),
        "set variable account.balance = 12345",
        "continue",
    ])?
    .exits(1)?
    .says(&[
        "the program left the recorded run at event",
        "recorded",
        "debugged",
    ])?;
    Ok(())
}
