//! Explanations say who called a helper that is called from several places.

use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace};
use unsnarl_trace::{Event, EventKind, FrameRow, StackId, ThreadId, read_run};

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

/// A library allocates for the exception: what `take` is inlined into is among the callers all the same.
const THROWS: &str = "#include <stdexcept>
struct Bin {
    int count = 0;
    void take(int n) {
        if (count < n)
            throw std::runtime_error(\"empty\"); // thrown
        count -= n;
    }
};
__attribute__((noinline)) static void take_all(Bin &bin) {
    bin.take(2); // taken
}
int main() {
    Bin bin;
    try {
        take_all(bin); // called
    } catch (const std::runtime_error &) {
        return 0;
    }
    return 1;
}
";

#[test]
fn what_a_library_does_has_the_callers_that_are_inlined() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = Workspace::new()?;
        workspace.write("bin.cpp", THROWS)?;
        let compiler = compiler.command(true).context("no such compiler")?;
        let mut build = workspace.unsnarl_command(&["c++", "-O1", "bin.cpp", "-o", "bin"])?;
        build.env("UNSNARL_CXX", compiler);
        Finished::of(build)?.exits(0)?;
        workspace
            .unsnarl(&["record", "-n", "1", "--", "./bin"])?
            .exits(0)?;
        let name = workspace.runs_that("passed")?.pop().context("no run")?;
        let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
        let thrown = |event: &Event| {
            let site = run.meta.site(event.site);
            event.kind == EventKind::Alloc && site.text.ends_with("// thrown")
        };
        let mut events = run.events.iter().map(|(_, event)| event);
        let event = events.find(thrown).context("nothing was thrown")?;
        let mut callers = Vec::new();
        let mut stack = event.stack;
        while stack != StackId(0) {
            let FrameRow(caller, call) = run.meta.frames[stack];
            callers.push(run.meta.site(call).text.clone());
            stack = caller;
        }
        let expected = ["bin.take(2); // taken", "take_all(bin); // called"];
        ensure!(callers == expected, "{callers:?}");
    }
    Ok(())
}

const BY_ADDRESS: &str = "#include <pthread.h>
static int requests, errors, reported;
static int take(int *count) {
    int taken = *count;
    return taken;
}
static int take_by(int **count) {
    int taken = **count;
    return taken;
}
static void clear(void) { requests = errors = 0; }
static void *report(void *unused) {
    int *at = &errors;
    reported += take(&requests);
    reported += take_by(&at);
    clear();
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, report, 0);
    pthread_create(&two, 0, report, 0);
    requests++;
    errors++;
    pthread_join(one, 0);
    pthread_join(two, 0);
    return reported > 9;
}
";

/// No other line than that of the helper names less of what it reads: there it stays.
#[test]
fn what_a_helper_reads_by_its_address_stays_on_its_line() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = Workspace::new()?;
        workspace.write("counts.c", BY_ADDRESS)?;
        let compiler = compiler.command(false).context("no such compiler")?;
        let mut build =
            workspace.unsnarl_command(&["cc", "-O1", "-pthread", "counts.c", "-o", "counts"])?;
        build.env("UNSNARL_CC", compiler);
        Finished::of(build)?.exits(0)?;
        workspace.record(&["-n", "1"], "./counts")?.exits(0)?;
        let name = workspace.runs_that("passed")?.pop().context("no run")?;
        let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
        let reads = |name: &str| -> Vec<u32> {
            let events = run.events.iter().map(|(_, event)| event);
            let own = events.filter(|event| {
                let is_of_helper = event.thread != ThreadId(0) && event.kind == EventKind::Read;
                is_of_helper && run.location(event.location) == name
            });
            own.map(|event| run.meta.site(event.site).line).collect()
        };
        ensure!(reads("requests") == [4, 4], "{:?}", reads("requests"));
        ensure!(reads("errors") == [8, 8], "{:?}", reads("errors"));
    }
    Ok(())
}
