//! `unsnarl replay RUN` for a program that cannot repeat the run: it names the event that differs, and both sides.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, program::compile};

/// A program with a thread that keeps the result of `mood()`, which `main` looks at.
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
    compile(
        &workspace,
        Path::new("moody.c"),
        "moody",
        TestedCompiler::Gcc,
    )?;
    let mut command = workspace.unsnarl_command(&["record", "-n", "1", "--", "./moody"])?;
    command.env("LANG", "C.UTF-8");
    Finished::of(command)?;
    let runs = workspace.runs()?;
    let run = workspace.run_path(runs.first().context("no run")?);
    Ok((workspace, run))
}

#[test]
fn another_environment() -> Result<()> {
    let (workspace, run) = recorded(
        "static long find_mood(void) { const char *m = getenv(\"MOOD\"); return m ? atol(m) : 3; }",
    )?;
    for value in ["7", &"1".repeat(5000)] {
        let mut command = workspace.unsnarl_command(&["replay", &run, "-n", "3"])?;
        command.env("MOOD", value).env("ANOTHER", value);
        Finished::of(command)?
            .exits(0)?
            .says(&["the same run 3 of 3 times"])?;
    }
    Ok(())
}

/// Reading a variable is the same accesses, wherever the shell's other variables have moved it.
#[test]
fn other_variables_of_any_length() -> Result<()> {
    let (workspace, run) = recorded(
        "#include <string.h>
static long find_mood(void) { return !strcmp(getenv(\"LANG\"), \"C.UTF-8\") + 2; }",
    )?;
    for length in 1..=8 {
        let mut command = workspace.unsnarl_command(&["replay", &run])?;
        command.env("A_VARIABLE", "a".repeat(length));
        Finished::of(command)?.exits(0)?.says(&["the same run"])?;
    }
    Ok(())
}

/// Variables that the program does not ask for are not reported.
#[test]
fn only_what_is_looked_up_is_kept() -> Result<()> {
    let workspace = Workspace::new()?;
    let mood =
        "static long find_mood(void) { const char *m = getenv(\"MOOD\"); return m ? atol(m) : 3; }";
    workspace.write("moody.c", &program(mood))?;
    compile(
        &workspace,
        Path::new("moody.c"),
        "moody",
        TestedCompiler::Gcc,
    )?;
    let words = ["record", "-n", "1", "--", "./moody"];
    let mut command = workspace.unsnarl_command(&words)?;
    command.env("MOOD", "12").env("SECRET_TOKEN", "squeamish");
    Finished::of(command)?;
    let runs = workspace.runs()?;
    let path = workspace.run_path(runs.first().context("no run")?);
    let run = unsnarl_trace::read_run(&workspace.path().join(&path))?;
    let mood = run.meta.input.environment.iter();
    let mut mood = mood.filter(|variable| variable.name == "MOOD");
    ensure!(mood.next().and_then(|mood| mood.value.as_deref()) == Some("12"));
    ensure!(!format!("{:?}", run.meta).contains("SECRET_TOKEN"));
    workspace
        .unsnarl(&["replay", &path])?
        .exits(0)?
        .says(&["the same run"])?;
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

/// The processor's own clock and random numbers, which a replay cannot answer for: the value is reported. It decides nothing.
#[test]
fn what_the_processor_itself_says() -> Result<()> {
    let clock =
        "static long find_mood(void) { return (long)(__builtin_ia32_rdtsc() >> 4 | 1L << 40); }";
    let random = "__attribute__((target(\"rdrnd\"))) static long find_mood(void)
{ unsigned long long mood; while (!__builtin_ia32_rdrand64_step(&mood)) { } return (long)(mood | 2); }";
    for mood in [clock, random] {
        let (workspace, run) = recorded(mood)?;
        let said = workspace.unsnarl(&["replay", &run])?.exits(0)?;
        said.says(&[
            "reproduced 1 of 1 times",
            "values that differ",
            "recorded  main.1: ",
            "mood = ",
            "moody.c:",
        ])?;
    }
    Ok(())
}

/// A run that depends on the processor's clock and is therefore another one.
#[test]
fn the_processors_clock_decides() -> Result<()> {
    let mood = "static long find_mood(void)
{ static long once; for (long i = __builtin_ia32_rdtsc() >> 4 & 0xfff; i >= 0; i--) once++; return 3; }";
    let (workspace, run) = recorded(mood)?;
    let said = workspace.unsnarl(&["replay", &run, "-n", "20"])?.exits(1)?;
    said.says(&[
        "left the recorded one at event",
        "something that is not recorded",
    ])?;
    Ok(())
}

#[test]
fn another_build_is_refused() -> Result<()> {
    let (workspace, run) = recorded("static long find_mood(void) { return 3; }")?;
    workspace.write(
        "moody.c",
        &program("static long find_mood(void) { return 4; }"),
    )?;
    compile(
        &workspace,
        Path::new("moody.c"),
        "moody",
        TestedCompiler::Gcc,
    )?;
    let said = workspace.unsnarl(&["replay", &run])?.exits(2)?;
    ensure!(said.stderr.contains("another build"), "{said}");
    Ok(())
}
