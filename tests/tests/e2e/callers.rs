//! Explanations say who called a helper that is called from several places.

use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace};

const PROGRAM: &str = "#include <assert.h>
#include <pthread.h>
static int balance;
static int get(void) { return balance; }
static void set(int value) { balance = value; }
static void *deposit(void *unused) {
    int now = get();
    set(now + 1);
    return unused;
}
static void *withdraw(void *unused) {
    int now = get();
    set(now + 10);
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, deposit, 0);
    pthread_create(&two, 0, withdraw, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(balance == 11);
    return 0;
}
";

#[test]
fn callers_of_small_functions() -> Result<()> {
    // At -O1 the helpers are inlined: their callers are in the debug info only.
    for (compiler, level) in [(TestedCompiler::Gcc, "-O0"), (TestedCompiler::Clang, "-O1")] {
        let workspace = Workspace::new()?;
        workspace.write("bank.c", PROGRAM)?;
        let compiler = compiler.command(false).context("no such compiler")?;
        let mut build =
            workspace.unsnarl_command(&["cc", level, "-pthread", "bank.c", "-o", "bank"])?;
        build.env("UNSNARL_CC", compiler);
        Finished::of(build)?.exits(0)?;
        workspace
            .unsnarl(&[
                "record",
                "--seed",
                "1",
                "--until-failing",
                "3",
                "--",
                "./bank",
            ])?
            .exits(1)?;
        workspace.unsnarl(&["explain"])?.says(&[
            "called from deposit at bank.c:",
            "called from withdraw at bank.c:",
        ])?;
        let (_, explanations) = workspace.explain()?;
        let best = explanations.first().context("no explanation")?;
        let called = best.steps.iter().filter(|step| !step.via.is_empty());
        for step in called.clone() {
            let callers: Vec<_> = step
                .via
                .iter()
                .map(|via| (via.line, via.function.as_str()))
                .collect();
            let expected = match step.place.function.as_str() {
                "get" => [[(7, "deposit")], [(12, "withdraw")]],
                _ => [[(8, "deposit")], [(13, "withdraw")]],
            };
            ensure!(
                expected.contains(&[callers[0]]) && callers.len() == 1,
                "{level}: {step:?}"
            );
        }
        ensure!(called.count() >= 3, "{level}: {best:?}");
    }
    Ok(())
}
