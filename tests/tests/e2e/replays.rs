//! `unsnarl replay RUN` where the program cannot do the same again: which event it was, and both sides.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use unsnarl_e2e::{Compiler, Finished, Workspace, program::compile};

/// A thread that keeps what `mood()` says; `main` looks at it.
fn program(mood: &str) -> String {
    format!(
        "#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long mood;
{mood}
static void *work(void *arg)
{{
    mood = find_mood();
    return arg;
}}
int main(void)
{{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return mood == 1;
}}
"
    )
}

fn recorded(mood: &str) -> Result<(Workspace, String)> {
    let workspace = Workspace::new()?;
    workspace.write("moody.c", &program(mood))?;
    compile(&workspace, Path::new("moody.c"), "moody", Compiler::Gcc)?;
    workspace.record(&["-n", "1"], "./moody")?;
    let runs = workspace.runs()?;
    let run = workspace.run_path(runs.first().context("no run")?);
    Ok((workspace, run))
}

#[test]
fn another_environment() -> Result<()> {
    let (workspace, run) = recorded(
        "static long find_mood(void) { const char *m = getenv(\"MOOD\"); return m ? atol(m) : 3; }",
    )?;
    workspace.unsnarl(&["replay", &run, "-n", "5"])?.exits(0)?;
    let mut command = workspace.unsnarl_command(&["replay", &run])?;
    command.env("MOOD", "7");
    // `atol` reads the variable, before what it made of it is kept.
    Finished::of(command)?.exits(1)?.says(&[
        "left the recorded one at event",
        "recorded main.1: write mood = 3",
        "replayed main.1: read environment",
        "moody.c:5 in find_mood",
        "something that is not recorded",
    ])?;
    Ok(())
}

#[test]
fn another_file() -> Result<()> {
    let mood = "static long find_mood(void)
{ FILE *f = fopen(\"mood\", \"r\"); long m = 3; if (f && fscanf(f, \"%ld\", &m) != 1) m = 4; return m; }";
    let (workspace, run) = recorded(mood)?;
    workspace.unsnarl(&["replay", &run, "-n", "5"])?.exits(0)?;
    workspace.write("mood", "12")?;
    // The program is told that there is no such file, as it was then.
    let said = workspace.unsnarl(&["replay", &run])?.exits(0)?;
    said.says(&["other input", "moody.c:6 in main.1", "No such file"])?;
    Ok(())
}

/// The processor's own clock asks nobody, so nobody can answer for it.
#[test]
fn the_processors_clock() -> Result<()> {
    let mood =
        "static long find_mood(void) { return (long)(__builtin_ia32_rdtsc() >> 4 | 1L << 40); }";
    let (workspace, run) = recorded(mood)?;
    let said = workspace
        .unsnarl(&["replay", &run, "-n", "100"])?
        .exits(1)?;
    said.says(&[
        "run 1 of 100 left",
        "main.1: write mood = ",
        "moody.c:8 in work",
    ])?;
    Ok(())
}

/// Where the loader put things is not part of a run, but a program can make it so.
#[test]
fn an_address_as_a_number() -> Result<()> {
    let (workspace, run) =
        recorded("static long find_mood(void) { return (long)&mood >> 12 & 0xffffff; }")?;
    let said = workspace
        .unsnarl(&["replay", &run, "-n", "100"])?
        .exits(1)?;
    said.says(&["main.1: write mood = ", "moody.c:8 in work"])?;
    Ok(())
}

#[test]
fn another_build_is_refused() -> Result<()> {
    let (workspace, run) = recorded("static long find_mood(void) { return 3; }")?;
    workspace.write(
        "moody.c",
        &program("static long find_mood(void) { return 4; }"),
    )?;
    compile(&workspace, Path::new("moody.c"), "moody", Compiler::Gcc)?;
    let said = workspace.unsnarl(&["replay", &run])?.exits(2)?;
    ensure!(said.stderr.contains("another build"), "{said}");
    Ok(())
}
