//! An order that fails, from the paths of a failing run alone; an exact build is made to have it.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::{OrderMode, read_run};

/// Two threads add without a lock; the sleeps make it fail nearly always.
const LOST_UPDATE: &str = "#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int sum;
static void *add(void *amount) {
    int before = sum;
    usleep(1000);
    sum = before + *(int *)amount;
    return 0;
}
int main(void) {
    static int amounts[2] = { 1, 2 };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, &amounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(sum == 3);
    return 0;
}
";

fn compile(workspace: &Workspace, words: &[&str], source: &str, output: &str) -> Result<()> {
    let words = [&["cc"], words, &["-O0", "-pthread", source, "-o", output]].concat();
    let mut build = workspace.unsnarl_command(&words)?;
    let compiler = TestedCompiler::Clang.command(false);
    build.env("UNSNARL_CC", compiler.context("no such compiler")?);
    Finished::of(build)?.exits(0)?;
    Ok(())
}

/// A failing run of path mode, `./prog`, and the same source built exactly, `./exact`.
fn recorded(source: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("prog.c", source)?;
    compile(&workspace, &["--path"], "prog.c", "prog")?;
    compile(&workspace, &[], "prog.c", "exact")?;
    let words = [
        "record",
        "--strategy",
        "path",
        "-n",
        "5000",
        "--until-failing",
        "1",
        "--",
        "./prog",
    ];
    workspace.unsnarl(&words)?.exits(1)?;
    Ok(workspace)
}

/// Failing runs that were kept, of one mode.
fn failing(workspace: &Workspace, mode: OrderMode) -> Result<usize> {
    let mut count = 0;
    for name in workspace.runs()? {
        let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
        count += usize::from(run.meta.mode == mode && run.meta.outcome.is_failure());
    }
    Ok(count)
}

const EXPLAIN: [&str; 3] = ["explain", "--engine", "dsp"];

/// The order fails for real, and the run that had it is kept and told about.
fn fails_for_real(source: &str) -> Result<()> {
    let workspace = recorded(source)?;
    let words = [&EXPLAIN[..], &["--program", "exact"]].concat();
    let said = workspace.unsnarl(&words)?.exits(1)?;
    said.says(&[
        "this order fails",
        "Confirmed: this order fails 10/10, the other passes 10/10",
        "the solver found one that fails, and",
    ])?;
    let kept = failing(&workspace, OrderMode::Controlled)?;
    ensure!(kept == 1, "{kept} exact failing runs");
    Ok(())
}

#[test]
fn a_lost_update_fails_for_real() -> Result<()> {
    fails_for_real(LOST_UPDATE)
}

/// Machine code begins the blocks behind `?:` and `&&` with copies of values, which have no place of their own.
#[test]
fn ways_through_conditional_expressions_are_followed() -> Result<()> {
    let started = "    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, &amounts[i]);
    for (int i = 0; i < 2; i++)";
    let conditional = "    int count = argc > 1 ? atoi(argv[1]) : 2, sent = 0;
    if (count < 2 || count > 2)
        return 2;
    while (sent < count && is_open()) {
        pthread_create(&threads[sent], 0, add, &amounts[sent]);
        sent++;
    }
    for (int i = 0; i < count; i++)";
    let asked = "static int open = 1;
static int is_open(void) { return open; }
int main(int argc, char **argv) {";
    let source = LOST_UPDATE
        .replace(started, conditional)
        .replace("int main(void) {", asked)
        .replace(
            "#include <unistd.h>",
            "#include <stdlib.h>\n#include <unistd.h>",
        );
    ensure!(source.contains("is_open()"), "{source}");
    fails_for_real(&source)
}

#[test]
fn a_check_between_locks_fails_for_real() -> Result<()> {
    let between = [
        ("    deposit(200);", "    usleep(500);\n    deposit(200);"),
        (
            "    long fee = fee_for(amount);",
            "    usleep(1000);\n    long fee = fee_for(amount);",
        ),
    ];
    fails_for_real(&slowed("bank_account", &between)?)
}

#[test]
fn a_total_with_its_check_elsewhere_fails_for_real() -> Result<()> {
    let between = [(
        "    if (amount > 1000)",
        "    usleep(1000);\n    if (amount > 1000)",
    )];
    fails_for_real(&slowed("bank_total", &between)?)
}

/// A program's source with sleeps in it: threads run freely here, and on a busy machine they would seldom meet.
fn slowed(name: &str, places: &[(&str, &str)]) -> Result<String> {
    let mut source = fs::read_to_string(&TestProgram::open(name)?.source)?;
    for (before, after) in places {
        ensure!(source.contains(before), "{name} has no line `{before}`");
        source = source.replace(before, after);
    }
    Ok(format!("#include <unistd.h>\n{source}"))
}

#[test]
fn without_an_exact_build_the_order_is_shown() -> Result<()> {
    let workspace = recorded(LOST_UPDATE)?;
    let said = workspace.unsnarl(&EXPLAIN)?.exits(3)?;
    said.says(&[
        "the solver found an order that fails:",
        "write at",
        "prog.c:8:9 in add",
        "next: build the same source without --path (unsnarl cc) as another program, then name it: --program",
    ])?;
    let words = [&EXPLAIN[..], &["--program", "exact", "--no-run"]].concat();
    let said = workspace.unsnarl(&words)?.exits(3)?;
    said.says(&["it was not executed (--no-run)"])?;
    ensure!(
        failing(&workspace, OrderMode::Controlled)? == 0,
        "it was executed"
    );
    Ok(())
}

/// The program is built exactly where the path build was.
#[test]
fn a_build_in_the_same_place_is_used() -> Result<()> {
    let workspace = recorded(LOST_UPDATE)?;
    fs::rename(
        workspace.path().join("exact"),
        workspace.path().join("prog"),
    )?;
    let words = [&EXPLAIN[..], &["--trust"]].concat();
    let said = workspace.unsnarl(&words)?.exits(1)?;
    said.says(&["Confirmed: this order fails 10/10, the other passes 10/10"])?;
    Ok(())
}

/// The handler of a signal, which is on nobody's path, makes it fail; the threads do it right in every order.
const HANDLER: &str = "#include <assert.h>
#include <pthread.h>
#include <signal.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void spoil(int number) {
    sum = number;
}
static void *add(void *amount) {
    pthread_mutex_lock(&lock);
    sum += *(int *)amount;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    static int amounts[2] = { 1, 2 };
    pthread_t threads[2];
    signal(SIGUSR1, spoil);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, &amounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    raise(SIGUSR1);
    assert(sum == 3);
    return 0;
}
";

#[test]
fn a_failure_that_no_order_explains_is_said() -> Result<()> {
    let workspace = recorded(HANDLER)?;
    let words = [&EXPLAIN[..], &["--program", "exact"]].concat();
    let said = workspace.unsnarl(&words)?.exits(3)?;
    said.says(&["no order of the recorded paths fails"])?;
    Ok(())
}

#[test]
fn a_failure_that_hangs_on_no_shared_data_is_said() -> Result<()> {
    let workspace = recorded(
        &LOST_UPDATE.replace("    assert(sum == 3);\n", "    assert(amounts[0] == 3);\n"),
    )?;
    let words = [&EXPLAIN[..], &["--program", "exact"]].concat();
    let said = workspace.unsnarl(&words)?.exits(3)?;
    said.says(&[
        "no order is known that fails on the recorded paths: ",
        "does not depend on what threads share",
    ])?;
    Ok(())
}

#[test]
fn without_a_model_it_says_what_to_do() -> Result<()> {
    let workspace = recorded(LOST_UPDATE)?;
    fs::remove_dir_all(workspace.path().join(".unsnarl/models"))?;
    let said = workspace.unsnarl(&EXPLAIN)?.exits(3)?;
    said.says(&["next: build with clang (UNSNARL_CC=clang unsnarl cc --path) and record again"])?;
    Ok(())
}
