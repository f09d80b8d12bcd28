//! Locals that other threads use: after their function has returned they are told as such, and only then.

use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::{Outcome, Run, read_run};

/// A boss hands a local to its helper again and again, at the same address each time, and waits until it is done with.
const HANDED: &str = r#"
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int *task;
static int done;

static void *helper(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 3; i++) {
        while (task == NULL)
            pthread_cond_wait(&changed, &lock);
        *task += 1;
        done += *task;
        task = NULL;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void hand_over(int number)
{
    int local = number;

    pthread_mutex_lock(&lock);
    task = &local;
    pthread_cond_broadcast(&changed);
    while (task != NULL)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, helper, NULL);
    for (int i = 0; i < 3; i++)
        hand_over(i);
    pthread_join(thread, NULL);
    printf("%d\n", done);
    return 0;
}
"#;

fn runs(workspace: &Workspace) -> Result<Vec<Run>> {
    let names = workspace.runs()?;
    let path = |name: &String| workspace.path().join(workspace.run_path(name));
    let runs = names.iter().map(|name| Ok(read_run(&path(name))?));
    runs.collect()
}

#[test]
fn a_local_is_gone_when_its_function_has_returned() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let program = TestProgram::open("late_worker")?;
        let workspace = Workspace::new()?;
        let command = program.compile(&workspace, compiler)?;
        workspace
            .record(&["-n", "500", "--until-failing", "3"], &command)?
            .exits(1)?;
        for run in runs(&workspace)? {
            let gone: Vec<&str> = run
                .meta
                .left_locals
                .iter()
                .map(|local| local.variable.as_str())
                .collect();
            let fails = run.meta.outcome == Outcome::Failed;
            ensure!(fails == (gone == ["job"]), "{gone:?}");
            if let Some(local) = run.meta.left_locals.first() {
                let called = run.meta.site(run.meta.frame(local.stack).1);
                ensure!(called.text.contains("start(2)"), "{called:?}");
            }
        }
        let (_, told) = workspace.explain()?;
        let first = told.first().context("no explanation")?;
        ensure!(
            first.headline == "`job` was used after start had returned",
            "{}",
            first.headline
        );
    }
    Ok(())
}

#[test]
fn a_local_that_is_waited_for_is_there() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("handed.c", HANDED)?;
    let words = ["-g", "-O0", "-pthread", "handed.c", "-o", "handed"];
    workspace
        .unsnarl(&[&["cc"], &words[..]].concat())?
        .exits(0)?;
    workspace.record(&["-n", "50"], "./handed")?.exits(0)?;
    for run in runs(&workspace)? {
        ensure!(
            run.meta.left_locals.is_empty(),
            "{:?}",
            run.meta.left_locals
        );
    }
    Ok(())
}
