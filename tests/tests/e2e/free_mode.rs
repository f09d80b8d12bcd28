//! Free mode: its runs are marked as inexact everywhere, and properly locked data are exact all the same.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile_with};
use unsnarl_trace::{Event, EventKind, OrderMode, Run, Value, read_run};

/// Each thread notes what it reads under the lock and writes back one more.
const LOCKED: &str = "#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static int noted[2][3000];
static void *worker(void *notes) {
    int *mine = notes;
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&lock);
        int now = counter;
        counter = now + 1;
        pthread_mutex_unlock(&lock);
        mine[i] = now;
    }
    return 0;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, worker, noted[0]);
    pthread_create(&two, 0, worker, noted[1]);
    pthread_join(one, 0);
    pthread_join(two, 0);
    FILE *file = fopen(\"notes\", \"w\");
    for (int thread = 0; thread < 2; thread++)
        for (int i = 0; i < 3000; i++)
            fprintf(file, \"%d %d\\n\", thread + 1, noted[thread][i]);
    return fclose(file);
}
";

/// An update is lost although threads run freely: semaphores see to it.
const LOST: &str = "#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t between, after;
static int balance;
static void *deposit(void *unused) {
    int now = balance;
    sem_post(&between);
    sem_wait(&after);
    balance = now + 1;
    return unused;
}
static void *withdraw(void *unused) {
    sem_wait(&between);
    balance = balance + 10;
    sem_post(&after);
    return unused;
}
int main(void) {
    pthread_t one, two;
    sem_init(&between, 0, 0);
    sem_init(&after, 0, 0);
    pthread_create(&one, 0, deposit, 0);
    pthread_create(&two, 0, withdraw, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(balance == 11);
    return 0;
}
";

fn recorded(program: &str, compiler: TestedCompiler, status: i32) -> Result<(Workspace, Run)> {
    let workspace = Workspace::new()?;
    let source = workspace.write("free.c", program)?;
    compile_with(&workspace, &source, "free", compiler, &["-O1"])?;
    let words = ["record", "-n", "1", "--strategy", "free", "--", "./free"];
    workspace.unsnarl(&words)?.exits(status)?;
    let name = workspace.runs()?.into_iter().next().context("no run")?;
    let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
    ensure!(
        run.meta.mode == OrderMode::Free && !run.meta.exact,
        "it counts as exact"
    );
    Ok((workspace, run))
}

#[test]
fn locked_data_are_exact() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let (workspace, run) = recorded(LOCKED, compiler, 0)?;
        let notes = fs::read_to_string(workspace.path().join("notes"))?;
        let of_counter = |(_, event): &(_, Event)| {
            run.location(event.location) == "counter" && event.kind.is_access()
        };
        let accesses: Vec<Event> = run
            .events
            .iter()
            .filter(of_counter)
            .map(|(_, event)| event)
            .collect();
        let values = |thread: u16, kind: EventKind| -> Vec<u64> {
            let of = accesses
                .iter()
                .filter(|event| event.thread.0 == thread && event.kind == kind);
            of.filter_map(|event| match event.value? {
                Value::Bits(bits) => Some(bits),
                Value::Address(_) => None,
            })
            .collect()
        };
        for thread in [1, 2] {
            let prefix = format!("{thread} ");
            let noted: Vec<u64> = notes
                .lines()
                .filter_map(|line| line.strip_prefix(&prefix)?.parse().ok())
                .collect();
            ensure!(noted.len() == 3000, "{compiler:?}: {} notes", noted.len());
            ensure!(
                values(thread, EventKind::Read) == noted,
                "{compiler:?}: reads differ"
            );
            let written: Vec<u64> = noted.iter().map(|value| value + 1).collect();
            ensure!(
                values(thread, EventKind::Write) == written,
                "{compiler:?}: writes differ"
            );
        }
        let mut last = Some(Value::Bits(0));
        for event in &accesses {
            match event.kind {
                EventKind::Read => ensure!(
                    event.value == last,
                    "{compiler:?}: {event:?} after {last:?}"
                ),
                _ => last = event.value,
            }
        }
    }
    Ok(())
}

#[test]
fn explanations_say_that_it_is_inexact() -> Result<()> {
    let (workspace, _) = recorded(LOST, TestedCompiler::Gcc, 1)?;
    workspace.unsnarl(&["explain"])?.exits(1)?.says(&[
        "balance",
        "Threads ran freely",
        "inexact",
    ])?;
    let (_, explanations) = workspace.explain()?;
    for explanation in explanations {
        let says = explanation
            .caveats
            .iter()
            .any(|caveat| caveat.contains("inexact"));
        ensure!(says, "{explanation:?}");
    }
    Ok(())
}
