//! Refusals: programs and input that cannot be served are refused with the reason and the next step, and runs that
//! were recorded before stay usable.

use anyhow::{Result, ensure};
use std::{fs, path::Path};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, workspace::RUNS};

const RACE: &str = "#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int count;

static void *add(void *arg)
{
    count++;
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(count == 2);
    return 0;
}
";

/// A workspace with `race.c`.
fn with_source() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("race.c", RACE)?;
    Ok(workspace)
}

/// A workspace with `race.c` compiled to `race`.
fn with_program() -> Result<Workspace> {
    let workspace = with_source()?;
    workspace
        .unsnarl(&["cc", "-g", "race.c", "-o", "race", "-pthread"])?
        .exits(0)?;
    Ok(workspace)
}

/// A workspace with `race` and its failing and passing runs.
fn with_runs() -> Result<Workspace> {
    let workspace = with_program()?;
    record(&workspace)?;
    Ok(workspace)
}

fn record(workspace: &Workspace) -> Result<()> {
    workspace
        .record(&["-n", "500", "--until-failing", "2"], "./race")?
        .exits(1)?;
    Ok(())
}

fn still_explains(workspace: &Workspace) -> Result<()> {
    let (finished, explanations) = workspace.explain()?;
    let finished = finished.exits(1)?;
    ensure!(
        !explanations.is_empty(),
        "nothing is explained any more:\n{finished}"
    );
    Ok(())
}

#[test]
fn a_program_that_unsnarl_did_not_compile() -> Result<()> {
    let workspace = with_source()?;
    workspace
        .run("gcc", &["-g", "race.c", "-o", "race", "-pthread"])?
        .exits(0)?;
    workspace
        .unsnarl(&["record", "--", "./race"])?
        .exits(2)?
        .says(&["./race", "unsnarl cc"])?;
    ensure!(workspace.runs()?.is_empty(), "runs were written");
    Ok(())
}

#[test]
fn a_program_with_the_thread_sanitizer_in_it() -> Result<()> {
    let workspace = with_source()?;
    let words = [
        "-g",
        "-fsanitize=thread",
        "race.c",
        "-o",
        "race",
        "-pthread",
    ];
    workspace.run("gcc", &words)?.exits(0)?;
    workspace
        .unsnarl(&["record", "--", "./race"])?
        .exits(2)?
        .says(&["libtsan", "unsnarl cc"])?;
    Ok(())
}

#[test]
fn a_static_program() -> Result<()> {
    let workspace = with_source()?;
    let words = ["cc", "-g", "-static", "race.c", "-o", "race", "-pthread"];
    let finished = workspace.unsnarl(&words)?.says(&["-static"])?;
    ensure!(finished.status != Some(0), "it was linked:\n{finished}");
    Ok(())
}

#[test]
fn a_program_that_is_not_there() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace
        .unsnarl(&["record", "--", "./nothing"])?
        .exits(2)?
        .says(&["./nothing"])?;
    workspace.write("text", "no program\n")?;
    workspace
        .unsnarl(&["record", "--", "./text"])?
        .exits(2)?
        .says(&["./text"])?;
    workspace.unsnarl(&["record"])?.exits(2)?;
    workspace
        .unsnarl(&["record", "--strategy", "luck", "--", "./text"])?
        .exits(2)?;
    Ok(())
}

#[test]
fn a_stripped_program() -> Result<()> {
    let workspace = with_runs()?;
    workspace.run("strip", &["race"])?.exits(0)?;
    workspace
        .record(&["-n", "5"], "./race")?
        .says(&["debug info", "-g"])?;
    still_explains(&workspace)
}

#[test]
fn a_program_without_debug_info() -> Result<()> {
    let workspace = with_source()?;
    workspace
        .unsnarl(&["cc", "-g0", "race.c", "-o", "race", "-pthread"])?
        .exits(0)?;
    workspace
        .run("strip", &["--strip-debug", "race"])?
        .exits(0)?;
    workspace
        .record(&["-n", "200", "--until-failing", "1"], "./race")?
        .says(&["debug info", "-g"])?;
    Ok(())
}

#[test]
fn a_source_file_that_is_gone() -> Result<()> {
    let workspace = with_program()?;
    fs::remove_file(workspace.path().join("race.c"))?;
    record(&workspace)?;
    still_explains(&workspace)?;
    workspace
        .unsnarl(&["explain"])?
        .exits(1)?
        .says(&["race.c:9"])?;
    Ok(())
}

#[test]
fn a_source_file_that_has_changed_since() -> Result<()> {
    let workspace = with_runs()?;
    workspace.write("race.c", &format!("\n\n\n{RACE}"))?;
    still_explains(&workspace)?;
    workspace
        .unsnarl(&["explain"])?
        .exits(1)?
        .says(&["count++", "changed"])?;
    Ok(())
}

#[test]
fn a_run_folder_with_a_thousand_foreign_files() -> Result<()> {
    let workspace = with_runs()?;
    for n in 0..1000 {
        let name = match n % 4 {
            0 => format!("{RUNS}/notes-{n}.txt"),
            1 => format!("{RUNS}/picture-{n}.png"),
            2 => format!("{RUNS}/other-{n}.arrow"),
            _ => format!("{RUNS}/.hidden-{n}"),
        };
        workspace.write(&name, &"not a run\n".repeat(n % 50))?;
    }
    fs::create_dir(workspace.path().join(RUNS).join("folder.arrow"))?;
    still_explains(&workspace)?;
    let finished = workspace.unsnarl(&["explain"])?.exits(1)?;
    ensure!(
        finished.stderr.lines().count() < 30,
        "a flood of messages:\n{finished}"
    );
    record(&workspace)
}

#[test]
fn run_files_that_are_cut_off() -> Result<()> {
    let workspace = with_runs()?;
    let before = workspace.runs()?;
    let victim = before
        .iter()
        .find(|run| run.starts_with("passed"))
        .cloned()
        .unwrap_or_default();
    let path = workspace.path().join(workspace.run_path(&victim));
    let bytes = fs::read(&path)?;
    for (number, length) in [0, 1, 7, bytes.len() / 2, bytes.len() - 1]
        .into_iter()
        .enumerate()
    {
        let cut = path.with_file_name(format!("passed-random-{number}-00000000.arrow"));
        fs::write(cut, bytes.get(..length).unwrap_or_default())?;
    }
    still_explains(&workspace)?;
    workspace
        .unsnarl(&["explain"])?
        .exits(1)?
        .says(&["passed-random-0-00000000.arrow"])?;
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_written() -> Result<()> {
    let workspace = with_program()?;
    workspace.write(".unsnarl", "a file where the folder should be\n")?;
    let words = ["record", "-n", "3", "--", "./race"];
    workspace.unsnarl(&words)?.exits(2)?.says(&[".unsnarl"])?;
    let words = [
        "record",
        "-n",
        "3",
        "--out",
        "/proc/unsnarl",
        "--",
        "./race",
    ];
    workspace
        .unsnarl(&words)?
        .exits(2)?
        .says(&["/proc/unsnarl"])?;
    Ok(())
}

/// Records to a file system of a few pages. If a machine does not let a test mount one (exit status 77 or a complaint
/// of `unshare`) only the earlier runs are checked.
#[test]
fn a_disk_that_is_full() -> Result<()> {
    let workspace = with_runs()?;
    fs::create_dir(workspace.path().join("small"))?;
    let script = "mount -t tmpfs -o size=16k none small || exit 77
        \"$0\" record -n 200 --seed 1 --out small -- ./race; status=$?
        echo left: small/.* small/*
        exit $status";
    let unsnarl = unsnarl_e2e::binary::unsnarl()?.to_string_lossy();
    let finished = workspace.run("unshare", &["-rm", "sh", "-c", script, &unsnarl])?;
    if finished.status != Some(77) && !finished.stderr.contains("unshare") {
        let finished = finished.exits(2)?.says(&["small", "space"])?;
        ensure!(
            !finished.stdout.contains("small/.passed"),
            "half a file is left:\n{finished}"
        );
    }
    still_explains(&workspace)
}

#[test]
fn a_folder_without_runs() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace
        .unsnarl(&["explain"])?
        .exits(2)?
        .says(&["unsnarl record"])?;
    workspace
        .unsnarl(&["explain", "nowhere"])?
        .exits(2)?
        .says(&["nowhere"])?;
    workspace
        .unsnarl(&["replay", "nowhere.arrow"])?
        .exits(2)?
        .says(&["nowhere.arrow"])?;
    Ok(())
}

#[test]
fn runs_of_an_older_build_are_told_apart() -> Result<()> {
    let workspace = with_runs()?;
    let healed = RACE.replace("static int count;", "static _Atomic int count;");
    workspace.write("race.c", &healed)?;
    workspace
        .unsnarl(&["cc", "-g", "race.c", "-o", "race", "-pthread"])?
        .exits(0)?;
    workspace.record(&["-n", "50"], "./race")?.exits(0)?;
    let failing = workspace.runs_that("failed")?;
    let first = failing.first().cloned().unwrap_or_default();
    let replayed = workspace.unsnarl(&["replay", &workspace.run_path(&first)])?;
    replayed.says(&["build"])?;
    Ok(())
}

#[test]
fn the_page_of_a_program_names_its_own_file() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("bank_account")?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "1"], &command)?
        .exits(1)?;
    let (_, explanations) = workspace.explain()?;
    let copied = workspace.path().join("bank_account.c").canonicalize()?;
    for site in explanations
        .iter()
        .flat_map(|explanation| &explanation.sites)
    {
        ensure!(
            Path::new(&site.place.file) == copied,
            "{} is not {copied:?}",
            site.place.file
        );
    }
    Ok(())
}
