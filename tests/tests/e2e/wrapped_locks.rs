//! Fixes of programs that take their locks by functions, macros and classes of their own: they hold when they are
//! built. `cargo xtask bench wrapped` looks at more of them.

use anyhow::{Context, Result, ensure};
use unsnarl_core::Explanation;
use unsnarl_e2e::{
    TestProgram, Workspace,
    wrapped::{Form, Wrapped},
};

/// Builds a program in this form and records it; the first explanation, and the command that builds it.
fn explained(workspace: &Workspace, name: &str, form: Form) -> Result<(Explanation, String)> {
    let program = TestProgram::open(name)?;
    let wrapped = Wrapped::new(&program, form)?.context("there is no such form")?;
    wrapped.compile(workspace)?;
    workspace
        .record(&["-n", "3000", "--until-failing", "3"], "./prog")?
        .exits(1)?;
    let (_, explanations) = workspace.explain()?;
    let first = explanations.into_iter().next();
    Ok((first.context("nothing is explained")?, wrapped.build()))
}

/// The first fix begins with these words, and holds when it is built.
fn holds(name: &str, form: Form, title: &str) -> Result<()> {
    let workspace = Workspace::new()?;
    let (first, build) = explained(&workspace, name, form)?;
    let fix = first.fixes.first();
    let fix = fix.with_context(|| format!("no fix: {:?}", first.not_fixed))?;
    ensure!(fix.title.starts_with(title), "{}", fix.title);
    workspace
        .unsnarl(&["verify", &first.id, "--random", "50", "--build", &build])?
        .exits(0)?
        .says(&["no failure and no deadlock in ", "without it schedule "])?;
    Ok(())
}

#[test]
fn a_lock_behind_a_function() -> Result<()> {
    holds("bank_account", Form::Function, "keep `account.lock`")
}

#[test]
fn a_lock_behind_a_function_of_another_file() -> Result<()> {
    holds("running_average", Form::OtherFile, "keep `average.lock`")
}

#[test]
fn a_lock_in_a_struct_with_functions() -> Result<()> {
    holds("log_rotation", Form::Holder, "hold `lock.mutex`")
}

#[test]
fn a_lock_behind_a_macro() -> Result<()> {
    holds("proc_info", Form::Macro, "hold `list_lock`")
}

#[test]
fn a_lock_behind_a_class() -> Result<()> {
    holds("linked_list", Form::Holder, "hold `lock`")
}

#[test]
fn a_lock_behind_what_a_function_returns() -> Result<()> {
    holds("linked_list", Form::Function, "hold `lock`")
}

#[test]
fn two_locks_in_one_order() -> Result<()> {
    holds(
        "lock_order",
        Form::Function,
        "take the locks of lines 40 and 41 in the order",
    )?;
    holds(
        "lock_order",
        Form::Macro,
        "take the locks of lines 33 and 34 in the order",
    )
}

#[test]
fn a_signal_under_a_lock_in_a_struct() -> Result<()> {
    holds(
        "unlocked_signal",
        Form::Holder,
        "hold `download.lock` from line 48 for the signal",
    )
}

const CONFIGURED: &str = r#"#include "settings.h"
#include <assert.h>
#include <pthread.h>

static int shared;

static void *add(void *arg)
{
    int seen = shared;
    shared = seen + STEP;
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(shared == 2 * STEP);
    return 0;
}
"#;

/// An edit is compiled as its source was, with the folders and macros that the wrapper was given: here the name of the
/// new mutex is another thing's in a header.
#[test]
fn an_edit_is_compiled_as_its_source_was() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("prog.c", CONFIGURED)?;
    workspace.write("include/settings.h", "extern long shared_lock;\n")?;
    let words = "cc -g -DSTEP=1 -I include -o prog prog.c -pthread";
    let words: Vec<&str> = words.split(' ').collect();
    workspace.unsnarl(&words)?.exits(0)?;
    workspace
        .record(&["-n", "3000", "--until-failing", "3"], "./prog")?
        .exits(1)?;
    let (_, explanations) = workspace.explain()?;
    let first = explanations.first().context("nothing is explained")?;
    ensure!(first.fixes.is_empty(), "{:?}", first.fixes);
    let why = first.not_fixed.join("; ");
    ensure!(
        why.contains("`shared_lock`: the edited source would not compile: "),
        "{why}"
    );
    Ok(())
}
