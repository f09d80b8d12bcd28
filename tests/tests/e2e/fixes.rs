//! Suggested fixes: offered, tried as a constraint, built from an edited copy and explored, written when asked for.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_core::{
    Explanation,
    fixes::{FixKind, TrialVerdict},
};
use unsnarl_e2e::{Compiler, Program, Workspace};

/// Records a program until it fails and returns the id of its first explanation, which has a fix.
fn explained(workspace: &Workspace, program: &Program) -> Result<String> {
    let first = first(workspace, program)?;
    ensure!(!first.fixes.is_empty(), "no fix: {:?}", first.not_fixed);
    Ok(first.id)
}

/// Records a program until it fails and returns its first explanation.
fn first(workspace: &Workspace, program: &Program) -> Result<Explanation> {
    let command = program.compile(workspace, Compiler::Gcc)?;
    let words = [
        &["-n", "3000", "--until-failing", "3"],
        &program.recording()[..],
    ]
    .concat();
    workspace.record(&words, &command)?.exits(1)?;
    let (finished, explanations) = workspace.explain()?;
    explanations.into_iter().next().context(finished.stdout)
}

/// The command that builds a program in its folder.
fn build(program: &Program, compiler: Compiler) -> Result<String> {
    let name = program.source.file_name().context("a source has a name")?;
    let (variable, word) = match program.is_cpp() {
        true => ("UNSNARL_CXX", "$CXX"),
        false => ("UNSNARL_CC", "$CC"),
    };
    let own = compiler.command(program.is_cpp());
    let own = own.with_context(|| format!("{compiler:?} is missing"))?;
    Ok(format!(
        "{variable}={own} {word} -g {} -o {} -pthread",
        name.to_string_lossy(),
        program.name
    ))
}

macro_rules! hold {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() -> Result<()> {
            holds(stringify!($name))
        }
    )*};
}

hold! {
    bank_account bank_total bounded_queue dealt_numbers lost_counter wrong_access_order
    running_average use_before_init lock_order array_list
    missing_join window_geometry binlog_header linked_list
}

/// With the edit the program neither fails nor deadlocks, as both compilers make it, and the user's files stay.
fn holds(name: &str) -> Result<()> {
    let workspace = Workspace::new()?;
    let program = Program::open(name)?;
    let id = explained(&workspace, &program)?;
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let build = build(&program, compiler)?;
        let words = [
            "verify", &id, "--budget", "20s", "--random", "100", "--build", &build,
        ];
        workspace
            .unsnarl(&words)?
            .exits(0)?
            .says(&["holds: no failure and no deadlock in "])?;
    }
    let copied = workspace
        .path()
        .join(program.source.file_name().context("a name")?);
    ensure!(
        fs::read(&copied)? == fs::read(&program.source)?,
        "the source was changed"
    );
    ensure!(
        fs::read_dir(workspace.path().join(".unsnarl/verify"))?
            .next()
            .is_none(),
        "a copy is left"
    );
    Ok(())
}

#[test]
fn a_constraint_on_the_program_as_it_is() -> Result<()> {
    let workspace = Workspace::new()?;
    let id = explained(&workspace, &Program::open("bank_account")?)?;
    workspace.unsnarl(&["verify", &id])?.exits(0)?.says(&[
        "keep `account.lock` from line 45 to line 56",
        "that fail are impossible with it",
    ])?;
    Ok(())
}

#[test]
fn what_explain_offers_was_tried() -> Result<()> {
    let workspace = Workspace::new()?;
    explained(&workspace, &Program::open("bank_account")?)?;
    let told = workspace.unsnarl(&["explain"])?.exits(1)?;
    told.says(&["Fix: keep `account.lock` from line 45 to line 56 (no failure in "])?;
    let untried = workspace.unsnarl(&["explain", "--no-run"])?.exits(1)?;
    untried.says(&["Fix: keep `account.lock` from line 45 to line 56 (not tried: --no-run)"])?;
    let (_, explanations) = workspace.explain()?;
    let fix = explanations.first().and_then(|one| one.fixes.first());
    let fix = fix.context("there is no fix")?;
    let tried = fix.tried.as_ref().context("it was not tried")?;
    ensure!(tried.verdict == TrialVerdict::Holds, "{tried:?}");
    ensure!(
        tried.allowed > 0 && tried.allowed < tried.schedules,
        "{tried:?}"
    );
    let share = fix.share.context("the cost is not measured")?;
    ensure!(share.held > 0 && share.held < share.of, "{share:?}");
    Ok(())
}

#[test]
fn a_join_that_would_wait_for_ever_is_not_offered() -> Result<()> {
    for name in ["object_cache", "pool_shutdown"] {
        let workspace = Workspace::new()?;
        let first = first(&workspace, &Program::open(name)?)?;
        ensure!(
            first
                .fixes
                .iter()
                .all(|fix| fix.kind != FixKind::JoinBefore),
            "{name}: {:?}",
            first.fixes
        );
        let waits =
            |why: &String| why.contains("waits on line ") && why.contains("what comes after");
        ensure!(
            first.not_fixed.iter().any(waits),
            "{name}: {:?}",
            first.not_fixed
        );
    }
    Ok(())
}

#[test]
fn the_failure_of_another_bug_stays_and_is_said() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = Program::open("sensor_hub")?;
    let command = program.compile(&workspace, Compiler::Gcc)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "60"], &command)?
        .exits(1)?;
    let (_, explanations) = workspace.explain()?;
    let fixes = explanations.iter().flat_map(|one| &one.fixes);
    let mut joins = fixes.filter(|fix| fix.kind == FixKind::JoinBefore);
    let join = joins.next().context("no thread is joined earlier")?;
    let tried = join.tried.as_ref().context("it was not tried")?;
    ensure!(tried.verdict == TrialVerdict::Holds, "{tried:?}");
    ensure!(
        tried
            .stays
            .iter()
            .any(|stays| stays.contains("sum == READING * count")),
        "{tried:?}"
    );
    Ok(())
}

#[test]
fn the_diff_is_one_that_patch_takes() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = Program::open("bank_account")?;
    let id = explained(&workspace, &program)?;
    let diff = workspace
        .unsnarl(&["verify", &id, "--diff"])?
        .exits(0)?
        .stdout;
    fs::write(workspace.path().join("fix.diff"), diff)?;
    workspace
        .run("git", &["apply", "-p0", "fix.diff"])?
        .exits(0)?;
    let patched = fs::read_to_string(workspace.path().join("bank_account.c"))?;
    let locks = patched.matches("pthread_mutex_lock(").count();
    ensure!(locks == 2, "{patched}");
    Ok(())
}

#[test]
fn an_edit_that_does_not_help_is_told_with_its_schedule() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = Program::open("bank_account")?;
    let id = explained(&workspace, &program)?;
    // The build undoes the edit, and makes another program of it.
    let source = program.source.display();
    let command =
        format!("cp {source} . && $CC -g -DOTHER -O1 bank_account.c -o bank_account -pthread");
    let told = workspace
        .unsnarl(&["verify", &id, "--build", &command])?
        .exits(1)?;
    let told = told.says(&[
        "does not hold: assertion `account.balance == 450` failed",
        "unsnarl replay failed-",
    ])?;
    let run = told
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("failed-"));
    let run = run.context("no run is named")?;
    let copy = workspace.path().join(format!(".unsnarl/verify/{id}-1"));
    let file = copy.join(".unsnarl/runs").join(run).with_extension("arrow");
    ensure!(file.is_file(), "{} is not there", file.display());
    Ok(())
}

#[test]
fn what_is_asked_for_is_written() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = Program::open("lost_counter")?;
    let id = explained(&workspace, &program)?;
    let build = build(&program, Compiler::Gcc)?;
    workspace
        .unsnarl(&[
            "verify", &id, "--budget", "10s", "--random", "20", "--build", &build, "--apply",
        ])?
        .exits(0)?
        .says(&["written: lost_counter.c"])?;
    let text = fs::read_to_string(workspace.path().join("lost_counter.c"))?;
    ensure!(text.contains("pthread_mutex_t words_lock"), "{text}");
    Ok(())
}

#[test]
fn wrong_names_and_builds_are_refused() -> Result<()> {
    let workspace = Workspace::new()?;
    let id = explained(&workspace, &Program::open("bank_account")?)?;
    let check = |words: &[&str], says: &str| -> Result<()> {
        let words = [&["verify"], words].concat();
        workspace.unsnarl(&words)?.exits(2)?.says(&[says])?;
        Ok(())
    };
    check(&["00000000"], "there is no explanation 00000000")?;
    check(&[&format!("{id}:9")], "not 9")?;
    check(&[&format!("{id}:x")], "is no fix")?;
    check(&[&id, "--build", "false"], "`false` failed")?;
    check(&[&id, "--build", "true"], "made the same program again")?;
    ensure!(
        Path::new(&workspace.path().join("bank_account.c")).is_file(),
        "the source is gone"
    );
    Ok(())
}
