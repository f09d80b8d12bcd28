//! Symbolic traces of real programs: each program under `tests/programs` is compiled, recorded and followed through
//! its model, that of clang's text or that of gcc's machine code; the trace must agree with the recording.

use anyhow::{Context, Result, anyhow, ensure};
use unsnarl_core::Budget;
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, build::build_of, consistent};
use unsnarl_symbolic::{Action, Bug, SymbolId, SymbolicTrace, Walked, dsp, expr::Values, walk};
use unsnarl_trace::{EventKind, Run, Value, program, read_run};

/// Follows one run of a program that clang compiles: a failing one if there is one.
fn followed(name: &str, level: &str) -> Result<(Run, Walked)> {
    followed_as_by(TestedCompiler::Clang, name, level)
}

/// Follows one run of a program: a failing one if there is one.
fn followed_as_by(compiler: TestedCompiler, name: &str, level: &str) -> Result<(Run, Walked)> {
    let program = TestProgram::open(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile_with(&workspace, compiler, &[level])?;
    let options = [
        &["-n", "400", "--until-failing", "1"],
        &program.recording()[..],
    ]
    .concat();
    workspace.record(&options, &command)?;
    let runs = workspace.runs()?;
    let fails = |name: &&String| !name.starts_with("passed");
    let run = runs.iter().find(fails).or_else(|| runs.first());
    let path = workspace
        .path()
        .join(workspace.run_path(run.context("no runs")?));
    let run = read_run(&path)?;
    let folder = path.parent().context("runs lie in a folder")?;
    let model = program::load(folder, &run.meta.build_id)?;
    let walked = walk(&run, &model, &Budget::unlimited());
    Ok((run, walked))
}

/// Checks that under the recorded values all conditions hold, and that the written values are the recorded ones.
fn agrees(run: &Run, walked: &Walked) -> Result<()> {
    let trace = &walked.trace;
    let mut values = Values::new();
    let recorded = |symbol: SymbolId| trace.symbol(symbol)?.recorded;
    for (id, step) in trace.steps() {
        let place = || format!("{id:?} at {:?}", run.meta.site(step.site));
        match step.action {
            Action::Assume(condition) => {
                let value = trace.exprs.value(condition, &mut values, &recorded);
                let text = || format!("`{}` at {}", trace.show(condition), place());
                ensure!(value.is_none_or(|value| value == 1), "{}", text());
            }
            Action::Write { cell, value } => {
                let value = trace.exprs.value(value, &mut values, &recorded);
                let event = step.event.and_then(|event| run.events.get(event));
                let size = trace.cell(cell).map(|cell| u32::from(cell.size));
                let whole = event.filter(|event| Some(event.size) == size && event.size <= 8);
                if let Some(Value::Bits(bits)) = whole.and_then(|event| event.value) {
                    ensure!(
                        value == Some(bits.into()),
                        "{}: {value:?} for {bits}",
                        place()
                    );
                }
            }
            Action::Read { symbol, .. } => {
                let event = step.event.and_then(|event| run.events.get(event));
                let whole = event.filter(|event| event.kind != EventKind::Rmw && event.size <= 8);
                let width = trace
                    .symbol(symbol)
                    .map(|symbol| u32::from(symbol.width) / 8);
                let whole = whole.filter(|event| Some(event.size) == width);
                if let Some(Value::Bits(bits)) = whole.and_then(|event| event.value) {
                    ensure!(recorded(symbol) == Some(bits.into()), "{}", place());
                }
            }
            Action::Sync { .. } | Action::Release { .. } => {}
        }
    }
    let steps: usize = trace.threads.iter().map(|thread| thread.steps.len()).sum();
    ensure!(trace.order.len() == steps, "steps are missing in the order");
    Ok(())
}

/// Checks that the recorded order is one of the trace's: an independent checker follows it to its end, every read
/// gives the recorded value, and the run fails if the failure is known.
fn happens_as_recorded(trace: &SymbolicTrace) -> Result<()> {
    let order = dsp::check(trace, &trace.order);
    let order = order.map_err(|why| anyhow!("the recorded order is refused: {why:?}"))?;
    ensure!(order.cut.is_empty(), "steps are left out: {:?}", order.cut);
    // No write explains what was read of a block that had been freed.
    let is_explained = !matches!(trace.bug, Bug::AfterFree { .. });
    for (symbol, value) in trace.symbols.iter().zip(&order.symbols) {
        let both = value.zip(symbol.recorded).filter(|_| is_explained);
        ensure!(
            both.is_none_or(|(value, recorded)| value == recorded),
            "{symbol:?}: {value:?}"
        );
    }
    let is_known = !matches!(trace.bug, Bug::Unknown(_));
    ensure!(
        !is_known || order.fails != Some(false),
        "the recorded order passes: {:?}",
        trace.bug
    );
    Ok(())
}

/// The trace of a program agrees with its run, and its threads are followed to their ends: by the model that clang's text
/// gives, or the one that is lifted from gcc's machine code. The latter loses threads inside of the C++ library's containers,
/// which is reported.
fn is_followed(name: &str, compiler: TestedCompiler) -> Result<()> {
    let is_lossy =
        compiler == TestedCompiler::Gcc && ["correct_cpp", "ticket_limit"].contains(&name);
    let (run, walked) = followed_as_by(compiler, name, "-O0")?;
    consistent::check(&run, |location| {
        consistent::is_written_unseen(name, location)
    })?;
    agrees(&run, &walked)?;
    happens_as_recorded(&walked.trace)?;
    let (some, all) = walked.followed;
    ensure!(some == all || is_lossy, "{:?}", walked.trace.gaps);
    Ok(())
}

/// Each program by one of the compilers; by both under [`matrix`].
#[test]
fn traces_agree_with_what_was_recorded() -> Result<()> {
    for name in TestProgram::names()? {
        let (compiler, _) = build_of(&name);
        is_followed(&name, compiler).with_context(|| format!("{name} {compiler:?}"))?;
    }
    Ok(())
}

mod matrix {
    use super::*;

    #[test]
    fn traces_by_both_compilers_agree_with_what_was_recorded() -> Result<()> {
        for name in TestProgram::names()? {
            for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
                is_followed(&name, compiler).with_context(|| format!("{name} {compiler:?}"))?;
            }
        }
        Ok(())
    }
}

/// Optimized code is followed as long as its instructions are those of the model; otherwise that is reported.
#[test]
fn traces_of_optimized_programs_agree_as_well() -> Result<()> {
    for name in [
        "bank_account",
        "crasher",
        "bounded_queue",
        "bank_total",
        "airline",
    ] {
        let (run, walked) = followed(name, "-O2").with_context(|| name.to_owned())?;
        agrees(&run, &walked).with_context(|| name.to_owned())?;
        ensure!(
            walked.followed.0 == walked.followed.1,
            "{name}: {:?}",
            walked.trace.gaps
        );
    }
    Ok(())
}

/// Optimized machine code is followed as well.
#[test]
fn traces_of_lifted_optimized_programs_agree_as_well() -> Result<()> {
    let names = [
        "bank_account",
        "crasher",
        "bounded_queue",
        "block_pool",
        "airline",
    ];
    for (name, level) in names.iter().flat_map(|name| [(name, "-O1"), (name, "-O2")]) {
        let place = || format!("{name} {level}");
        let (run, walked) = followed_as_by(TestedCompiler::Gcc, name, level).with_context(place)?;
        agrees(&run, &walked).with_context(place)?;
        happens_as_recorded(&walked.trace).with_context(place)?;
        let (some, all) = walked.followed;
        ensure!(some == all, "{}: {:?}", place(), walked.trace.gaps);
    }
    Ok(())
}

/// Conditions come back in the source's words.
#[test]
fn failures_are_conditions_in_the_words_of_the_source() -> Result<()> {
    let expected = [
        ("bank_account", "account.balance != 450"),
        ("bounded_queue", "queue.filled <= 0"),
        ("airline", "seats < sold"),
        ("crasher", "current == 0"),
        ("linked_list", "sum != 6 & sum != 4"),
        ("object_cache", "!cleaner.sleeps"),
    ];
    for (name, condition) in expected {
        let (_, walked) = followed(name, "-O0").with_context(|| name.to_owned())?;
        let shown = match &walked.trace.bug {
            Bug::Condition { condition, .. } => walked.trace.show(*condition),
            other => format!("{other:?}"),
        };
        ensure!(shown == condition, "{name}: {shown}");
    }
    Ok(())
}

/// Runs without a model have values, and the loss is reported.
#[test]
fn without_a_model_only_values_are_known() -> Result<()> {
    let program = TestProgram::open("bank_account")?;
    let workspace = Workspace::new()?;
    let command = program.compile_with(&workspace, TestedCompiler::Gcc, &["-O0"])?;
    workspace.record(&["-n", "200", "--until-failing", "1"], &command)?;
    let name = workspace.runs_that("failed")?.into_iter().next();
    let path = workspace
        .path()
        .join(workspace.run_path(&name.context("no failing run")?));
    let run = read_run(&path)?;
    let walked = walk(&run, &program::Program::default(), &Budget::unlimited());
    agrees(&run, &walked)?;
    ensure!(
        matches!(walked.trace.bug, Bug::Unknown(_)),
        "{:?}",
        walked.trace.bug
    );
    let says = walked
        .trace
        .gaps
        .iter()
        .any(|gap| gap.contains("no program model"));
    ensure!(says, "{:?}", walked.trace.gaps);
    Ok(())
}

const BLOCKS: &str = r#"#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (64ul << 20)

static int finished;

static void *work(void *arg)
{
    char *block = malloc(BYTES), *copy = malloc(BYTES);
    memset(block, 7, BYTES);
    memcpy(copy, block, BYTES);
    int seen = finished;
    finished = seen + (copy[BYTES / 2] == 7);
    free(copy);
    free(block);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(finished == 2);
    return 0;
}
"#;

/// Costs of the analysis of a run depend on its events, not on the bytes that they touch.
#[test]
fn ranges_of_many_bytes_are_followed_as_ranges() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("blocks.c", BLOCKS)?;
    unsnarl_e2e::program::compile(
        &workspace,
        "blocks.c".as_ref(),
        "blocks",
        TestedCompiler::Clang,
    )?;
    workspace
        .record(&["-n", "300", "--until-failing", "1"], "./blocks")?
        .exits(1)?;
    // Twice the program's own memory would be more than this.
    let explain = format!(
        "ulimit -v 2500000; exec {} explain --engine dsp --no-run",
        unsnarl_e2e::binary::unsnarl()?.display()
    );
    let since = std::time::Instant::now();
    workspace
        .run("sh", &["-c", &explain])?
        .exits(1)?
        .says(&["finished"])?;
    ensure!(since.elapsed().as_secs() < 30, "{:?}", since.elapsed());
    Ok(())
}
