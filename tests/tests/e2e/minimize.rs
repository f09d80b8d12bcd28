//! `unsnarl record --minimize`: what is left of a failing run is what its failure needs.

use anyhow::{Context, Result, ensure};
use std::{path::Path, sync::atomic::AtomicBool, time::Duration};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, permit};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    record::{Job, minimize::fails_without},
    target,
};
use unsnarl_trace::{Criteria, Minimized, Run, read_run};

macro_rules! programs {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() -> Result<()> {
            is_minimal(stringify!($name))
        }
    )*};
}

programs! {
    bank_account bounded_queue c11_atomics circular_list cpp_cache cpp_listeners lock_order log_buffer
    lost_counter lost_wakeup publication queue_pointer running_average string_buffer
    use_before_init wrong_access_order
}

/// The same failure with no more preemptions, of which none can be left out.
fn is_minimal(name: &str) -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open(name)?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    let recorded = workspace
        .record(
            &["-n", "3000", "--until-failing", "1", "--minimize"],
            &command,
        )?
        .exits(1)?
        .says(&["preemption"])?;
    let mut seen = 0;
    for file in workspace.runs()? {
        let run = read(&workspace, &file)?;
        let Some(minimized) = &run.meta.minimized else {
            continue;
        };
        seen += 1;
        let whole = read(&workspace, &format!("{}.arrow", minimized.from))?;
        fails_alike(&whole, &run).with_context(|| format!("{file}\n{recorded}"))?;
        needs_all(&workspace, &command, &run, minimized).with_context(|| file.clone())?;
        workspace
            .unsnarl(&["replay", &workspace.run_path(&file), "-n", "5"])?
            .exits(0)?;
    }
    ensure!(seen > 0, "nothing was minimized:\n{recorded}");
    Ok(())
}

fn read(workspace: &Workspace, file: &str) -> Result<Run> {
    let path = workspace.path().join(workspace.run_path(file));
    Ok(read_run(&path)?)
}

fn fails_alike(whole: &Run, minimized: &Run) -> Result<()> {
    let how = |run: &Run| {
        let failure = run.meta.failure.clone().context("it did not fail")?;
        let site = failure.site.map(|site| run.meta.site(site));
        let site = site.map(|site| (site.file.clone(), site.line, site.function.clone()));
        anyhow::Ok((run.meta.outcome, failure.kind, failure.message, site))
    };
    ensure!(how(whole)? == how(minimized)?, "it fails in another way");
    Ok(())
}

fn needs_all(workspace: &Workspace, command: &str, run: &Run, minimized: &Minimized) -> Result<()> {
    let count = minimized.preemptions.len();
    ensure!(
        count as u64 <= minimized.preemptions_before,
        "{minimized:?}"
    );
    ensure!(minimized.complete, "{minimized:?}");
    let words = vec![command.into()];
    let job = Job {
        parent: None,
        permit: permit(&workspace.path().join(command), &words, workspace.path()),
        command: words,
        directory: workspace.path().to_owned(),
        stdin: None,
        output: Output::Kept,
        timeout: Duration::from_secs(60),
        limits: Limits::default(),
        criteria: Criteria::default(),
        starter: Starter::default(),
    };
    let target = target::open(command.as_ref(), Path::new(&job.directory))?;
    for preemption in 0..count {
        let stop = AtomicBool::new(false);
        let fails = fails_without(&job, &target.program, run, preemption, &stop)?;
        ensure!(
            fails == Some(false),
            "without preemption {preemption} of {count}: {fails:?}"
        );
    }
    Ok(())
}
