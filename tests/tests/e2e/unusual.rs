//! Programs that do what makes recording hard: fork, exec, `_exit`, endless loops, a flood of output,
//! signals, spinning, sleeping.

use anyhow::{Result, ensure};
use std::{path::Path, time::Instant};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, program::compile};

const HEAD: &str = "#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int flag;
static int shared;

static void *helper(void *arg)
{
    shared++;
    flag = 1;
    return arg;
}
";

/// Compiles a `main` with these statements.
fn program(statements: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let text = format!("{HEAD}\nint main(void)\n{{\n    pthread_t thread;\n{statements}\n}}\n");
    workspace.write("odd.c", &text)?;
    compile(&workspace, Path::new("odd.c"), "odd", TestedCompiler::Gcc)?;
    Ok(workspace)
}

fn record(workspace: &Workspace, options: &[&str]) -> Result<Finished> {
    workspace.record(options, "./odd")
}

#[test]
fn a_program_that_forks() -> Result<()> {
    let workspace = program(
        "    pid_t child = fork();
    if (child == 0)
        _exit(5);
    int status;
    waitpid(child, &status, 0);
    pthread_create(&thread, NULL, helper, NULL);
    pthread_join(thread, NULL);
    return WEXITSTATUS(status) == 5 && shared == 1 ? 0 : 1;",
    )?;
    record(&workspace, &["-n", "5"])?
        .exits(0)?
        .says(&["fork"])?;
    ensure!(
        !workspace.runs_that("passed")?.is_empty(),
        "no run was kept"
    );
    Ok(())
}

#[test]
fn a_program_that_replaces_itself() -> Result<()> {
    let workspace = program("    execlp(\"true\", \"true\", (char *)NULL);\n    return 1;")?;
    record(&workspace, &["-n", "3"])?.says(&["exec"])?;
    Ok(())
}

#[test]
fn a_program_that_leaves_by_the_back_door() -> Result<()> {
    let workspace = program("    pthread_create(&thread, NULL, helper, NULL);\n    _exit(3);")?;
    record(&workspace, &["-n", "5"])?.exits(1)?;
    let runs = workspace.runs()?;
    ensure!(
        runs.iter().all(|run| run.starts_with("failed-")),
        "{runs:?}"
    );
    workspace.unsnarl(&["explain"])?.says(&["status 3"])?;
    Ok(())
}

#[test]
fn a_program_that_never_ends() -> Result<()> {
    let workspace = program(
        "    volatile unsigned n = 0;
    for (;;)
        n++;",
    )?;
    let begin = Instant::now();
    record(&workspace, &["-n", "1", "--timeout", "1"])?
        .exits(1)?
        .says(&["timed out"])?;
    ensure!(
        begin.elapsed().as_secs() < 20,
        "it took {:?}",
        begin.elapsed()
    );
    ensure!(
        !workspace.runs_that("timed-out")?.is_empty(),
        "{:?}",
        workspace.runs()?
    );
    Ok(())
}

#[test]
fn a_program_that_waits_for_its_input() -> Result<()> {
    let workspace = program("    char line[8];\n    return fgets(line, 8, stdin) ? 1 : 0;")?;
    record(&workspace, &["-n", "2"])?.exits(0)?;
    Ok(())
}

#[test]
fn a_program_that_prints_a_gigabyte() -> Result<()> {
    let workspace = program(
        "    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1024; i++)
        if (write(1, block, sizeof block) < 0)
            return 2;
    return 0;",
    )?;
    let finished = record(&workspace, &["-n", "1"])?.exits(0)?;
    ensure!(
        finished.stdout.len() < 1 << 20,
        "{} bytes came through",
        finished.stdout.len()
    );
    Ok(())
}

#[test]
fn a_program_that_spins_until_another_thread_is_ready() -> Result<()> {
    let workspace = program(
        "    pthread_create(&thread, NULL, helper, NULL);
    while (!flag)
        ;
    pthread_join(thread, NULL);
    return 0;",
    )?;
    record(&workspace, &["-n", "20"])?.exits(0)?;
    Ok(())
}

#[test]
fn a_program_that_sleeps_costs_no_time() -> Result<()> {
    let workspace = program(
        "    pthread_create(&thread, NULL, helper, NULL);
    struct timespec hour = {3600, 0};
    nanosleep(&hour, NULL);
    sleep(3600);
    usleep(500000);
    pthread_join(thread, NULL);
    return 0;",
    )?;
    let begin = Instant::now();
    record(&workspace, &["-n", "10"])?.exits(0)?;
    ensure!(
        begin.elapsed().as_secs() < 20,
        "it took {:?}",
        begin.elapsed()
    );
    Ok(())
}

#[test]
fn signals_abort_and_exit_status_are_told_apart() -> Result<()> {
    for (statements, message) in [
        (
            "    int *nowhere = (int *)(long)shared;\n    return *nowhere;",
            "segmentation fault",
        ),
        ("    abort();", "abort"),
        ("    return 9;", "9"),
        ("    exit(12);", "12"),
        ("    assert(shared == 1);\n    return 0;", "shared == 1"),
        ("    raise(8);\n    return 0;", "arithmetic"),
    ] {
        let workspace = program(statements)?;
        record(&workspace, &["-n", "2"])?.exits(1)?;
        workspace.unsnarl(&["explain"])?.says(&[message])?;
    }
    Ok(())
}

#[test]
fn a_fault_that_a_handler_of_the_program_ends_is_the_failure() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write(
        "odd.c",
        "#include <signal.h>\n#include <unistd.h>\nstatic int *nowhere;\n\
         static void die(int signal) { _exit(signal == SIGSEGV); }\n\
         int main(void)\n{\n    signal(SIGSEGV, die);\n    return *nowhere;\n}\n",
    )?;
    compile(&workspace, Path::new("odd.c"), "odd", TestedCompiler::Gcc)?;
    record(&workspace, &["-n", "2"])?.exits(1)?;
    workspace
        .unsnarl(&["explain"])?
        .says(&["segmentation fault", "null pointer at odd.c:8"])?;
    Ok(())
}

#[test]
fn a_program_that_closes_everything_and_leaves_its_folder() -> Result<()> {
    let workspace = program(
        "    assert(chdir(\"/\") == 0);
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    close_range(3, ~0U, 0);
    pthread_create(&thread, NULL, helper, NULL);
    pthread_join(thread, NULL);
    return shared == 1 ? 7 : 1;",
    )?;
    record(&workspace, &["-n", "3"])?.exits(1)?;
    workspace.unsnarl(&["explain"])?.says(&["status 7"])?;
    Ok(())
}

#[test]
fn a_program_that_goes_into_the_background() -> Result<()> {
    let workspace = program(
        "    assert(daemon(1, 0) == 0);
    pthread_create(&thread, NULL, helper, NULL);
    pthread_join(thread, NULL);
    return shared == 1 ? 7 : 1;",
    )?;
    record(&workspace, &["-n", "3"])?
        .exits(1)?
        .says(&["foreground"])?;
    workspace.unsnarl(&["explain"])?.says(&["status 7"])?;
    Ok(())
}

#[test]
fn threads_that_nobody_else_can_wake_from_their_pipes_are_a_deadlock() -> Result<()> {
    let workspace = program(
        "    int ends[2];
    char byte;
    assert(pipe(ends) == 0);
    pthread_create(&thread, NULL, helper, NULL);
    return read(ends[0], &byte, 1) == 1;",
    )?;
    let begin = Instant::now();
    record(&workspace, &["-n", "2"])?
        .exits(1)?
        .says(&["2 deadlocked"])?;
    ensure!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
    Ok(())
}

#[test]
fn output_and_arguments_reach_the_program() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write(
        "odd.c",
        "#include <string.h>\n#include <stdlib.h>\nint main(int n, char **v) { return n == 3 && \
         !strcmp(v[1], \"-n\") && !strcmp(v[2], \"a b\") && getenv(\"HOME\") ? 0 : 1; }\n",
    )?;
    compile(&workspace, Path::new("odd.c"), "odd", TestedCompiler::Clang)?;
    workspace
        .unsnarl(&["record", "-n", "2", "--", "./odd", "-n", "a b"])?
        .exits(0)?;
    Ok(())
}
