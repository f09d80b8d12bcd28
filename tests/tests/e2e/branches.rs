//! Replays record the branches that a run took, although the first recording had none of them.

use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace};
use unsnarl_trace::{EventKind, Run, Value, read_run};

/// The worker decides at line 4 and at line 9, the same way in every schedule.
const PROGRAM: &str = "#include <pthread.h>
static int shared;
static int grade(int n) {
    if (n > 1)
        return 1;
    return 0;
}
static void *worker(void *unused) {
    for (int i = 0; i < 3; i++)
        shared += grade(i);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    return shared != 1;
}
";

/// Line of the decision, line that it led to.
const PATH: [(u32, u32); 7] = [(9, 10), (4, 6), (9, 10), (4, 6), (9, 10), (4, 5), (9, 11)];

/// The branches that a thread took, by their lines.
fn path(run: &Run, thread: &str) -> Vec<(u32, u32)> {
    let branches = run.events.iter().filter(|(_, event)| {
        event.kind == EventKind::Branch && run.meta.thread(event.thread).name == thread
    });
    let lines = branches.map(|(_, event)| {
        let entered = run
            .meta
            .blocks
            .iter()
            .find(|block| Some(Value::Bits(block.id)) == event.value);
        let to = entered.map_or(0, |block| run.meta.site(block.site).line);
        (run.meta.site(event.site).line, to)
    });
    lines.collect()
}

#[test]
fn branches_of_a_replay() -> Result<()> {
    for (compiler, level) in [
        (TestedCompiler::Gcc, "-O0"),
        (TestedCompiler::Clang, "-O0"),
        (TestedCompiler::Gcc, "-O1"),
    ] {
        let workspace = Workspace::new()?;
        workspace.write("grade.c", PROGRAM)?;
        let compiler = compiler.command(false).context("no such compiler")?;
        let mut build =
            workspace.unsnarl_command(&["cc", level, "-pthread", "grade.c", "-o", "grade"])?;
        build.env("UNSNARL_CC", compiler);
        Finished::of(build)?.exits(0)?;
        workspace
            .unsnarl(&["record", "-n", "5", "--seed", "1", "--", "./grade"])?
            .exits(0)?;
        let name = workspace.runs()?.into_iter().next().context("no run")?;
        let light = workspace.run_path(&name);
        workspace
            .unsnarl(&["replay", &light, "-n", "3", "--branches"])?
            .exits(0)?
            .says(&["the same run 3 of 3 times", "branches: "])?;
        let rich = workspace.runs_in(".unsnarl/runs/branches")?;
        let rich = format!(
            ".unsnarl/runs/branches/{}",
            rich.first().context("no richer run")?
        );
        workspace
            .unsnarl(&["replay", &rich, "--branches"])?
            .exits(0)?;

        let light = read_run(&workspace.path().join(&light))?;
        let rich = read_run(&workspace.path().join(&rich))?;
        ensure!(
            light.meta.blocks.is_empty(),
            "{compiler}: the first recording has branches"
        );
        ensure!(light.meta.seed == rich.meta.seed && light.meta.strategy == rich.meta.strategy);
        // At -O1 gcc makes straight code of it.
        let expected: &[(u32, u32)] = if level == "-O0" { &PATH } else { &[] };
        let found = path(&rich, "main.1");
        ensure!(found == expected, "{compiler} {level}: {found:?}");
    }
    Ok(())
}
